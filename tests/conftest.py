"""Property tests draw the same examples on every machine, and no machine is too slow for them."""

from hypothesis import HealthCheck, settings

settings.register_profile("course", deadline=None, derandomize=True, max_examples=100,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")
