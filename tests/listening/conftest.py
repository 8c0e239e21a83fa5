import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from browsing import browser  # noqa: F401
from toy import make_data, toy_test


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Data directories of the toy recipe; not to be changed."""
    return make_data(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def test(data, tmp_path):
    """A prepared toy test of three listeners."""
    return toy_test(data, tmp_path / "test")
