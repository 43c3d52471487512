"""Derandomised: a run finds the same on every machine. `HYPOTHESIS_PROFILE=wild` searches anew, and longer."""

import os

from hypothesis import HealthCheck, settings

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
settings.register_profile("ci", derandomize=True, max_examples=60, deadline=None, suppress_health_check=_UNHURRIED)
settings.register_profile("wild", max_examples=1000, deadline=None, suppress_health_check=_UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
