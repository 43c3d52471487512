"""Derandomised: a run finds the same on every machine. `HYPOTHESIS_PROFILE=wild` searches anew, and longer
(with `pytest -o faulthandler_timeout=0`, or a long search is ended as if it hung).

Only the wild profile shrinks what it finds: whole clusters shrink slowly.
"""

import os

from hypothesis import HealthCheck, Phase, settings

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
_FIND = (Phase.explicit, Phase.generate)
settings.register_profile(
    "ci", derandomize=True, max_examples=40, deadline=None, suppress_health_check=_UNHURRIED, phases=_FIND
)
settings.register_profile("wild", max_examples=1000, deadline=None, suppress_health_check=_UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
