"""Derandomised: a run finds the same on every machine. `make soak` looks at more of the same; `HYPOTHESIS_PROFILE=wild`
searches anew, and longer (with `pytest -o faulthandler_timeout=0`, or a long search is ended as if it hung).

Only the wild profile shrinks what it finds: whole clusters shrink slowly.
"""

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
# It also tries constants of all modules of ours that are imported by then: which ones depends on what ran before.
# Nor are they to be looked for, which takes each worker half a second.
providers.HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]  # noqa: SLF001
providers._get_local_constants = Constants  # noqa: SLF001
_FIND = (Phase.explicit, Phase.generate)
for _name, _examples in (("ci", 10), ("soak", 100)):
    settings.register_profile(
        _name,
        derandomize=True,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=_UNHURRIED,
        phases=_FIND,
    )
settings.register_profile("wild", max_examples=1000, deadline=None, suppress_health_check=_UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
