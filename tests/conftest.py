"""Set-up that every test file shares: the marker `row`, hypothesis, and a few fixtures."""

from __future__ import annotations

import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator

import pytest

# hypothesis keeps files of its own; they do not belong into the checkout.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "cwrapjit-hypothesis")
)

try:
    import hypothesis
except ImportError:
    pass  # the files that need it skip themselves
else:
    hypothesis.settings.register_profile(
        "cwrapjit",
        derandomize=True,  # the same examples in every run
        deadline=None,
        max_examples=100,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("cwrapjit")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): the rows of the feature list that this test proves")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder for what this session compiles with the system's compiler."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def strict_warnings() -> Iterator[None]:
    """Every warning is an error inside the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
