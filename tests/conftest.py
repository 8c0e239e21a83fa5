"""Settings for all tests: a run gives the same verdict every time, except the nightly one, which explores."""

import os
import random
import sys
import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

collect_ignore_glob = ["conftest.py", "*/conftest.py"]  # as modules with doctests: all have one name

# Time limits and the check for slow strategies fail on a busy machine. All examples of a test share one tmp_path.
_common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("default", _common, derandomize=True, database=None)
# Examples are random and stay in .hypothesis/; a failure prints the decorator that repeats it.
settings.register_profile("nightly", _common, max_examples=1000, print_blob=True)

if "VPEVAL_FUZZ" in os.environ:
    settings.load_profile("nightly")
else:
    settings.load_profile("default")
    # Hypothesis also tries constants from the source of all modules imported so far, even if it is derandomised:
    # examples would depend on the tests that ran before in the same process. The set of these constants stays empty.
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", lambda: providers._local_constants)


def pytest_configure(config: pytest.Config) -> None:
    """Give every worker of the unit tests a cache of numba of its own.

    Two processes that compile librosa at the same time break a common one, and all that use it later crash.
    """
    if config.getoption("markexpr") == "not e2e":
        compiled = tempfile.TemporaryDirectory(prefix="numba-")
        config.add_cleanup(compiled.cleanup)
        os.environ["NUMBA_CACHE_DIR"] = compiled.name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the global generators, so that no test depends on those that ran before."""
    random.seed(0)
    np.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
