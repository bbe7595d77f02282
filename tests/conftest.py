"""Configures pytest and hypothesis for all test files, and provides fixtures that they share."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import pathlib
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator

import leaks
import pytest
import results
from helpers import compiler
from packaging.requirements import Requirement

import cwrapjit

# hypothesis writes files, which must not land in the checkout.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "cwrapjit-hypothesis")
)

try:
    import hypothesis
    import hypothesis.database
except ImportError:
    pass  # the test files that need it skip themselves
else:
    hypothesis.settings.register_profile(
        "cwrapjit",
        derandomize=True,  # the same examples in every run
        deadline=None,
        max_examples=100,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    # CWRAPJIT_EXPLORE runs the failures of earlier runs, and then new examples. It stores a failure in
    # tests/corpus; commit that together with the fix.
    CORPUS = hypothesis.database.DirectoryBasedExampleDatabase(
        os.environ.get("CWRAPJIT_CORPUS") or pathlib.Path(__file__).parent / "corpus"
    )
    hypothesis.settings.register_profile(
        "explore",
        hypothesis.settings.get_profile("cwrapjit"),
        derandomize=False,
        database=CORPUS,
        print_blob=True,
    )
    # CWRAPJIT_REPLAY runs the stored failures only (test_features.py); with derandomize none is read.
    hypothesis.settings.register_profile(
        "replay",
        hypothesis.settings.get_profile("cwrapjit"),
        derandomize=False,
        database=hypothesis.database.ReadOnlyDatabase(CORPUS),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.reuse],
    )
    wanted = [name for name in ("explore", "replay") if os.environ.get(f"CWRAPJIT_{name.upper()}")]
    hypothesis.settings.load_profile(wanted[0] if wanted else "cwrapjit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", metavar="N[:K]", help="run every Nth test, from the Kth; K changes by commit")


def pytest_configure(config: pytest.Config) -> None:
    """Turns --every 12 into --every 12:5. The processes of xdist get the same number."""
    every = config.getoption("every")
    if every and ":" not in every:
        commit = os.environ.get("CWRAPJIT_COMMIT") or _commit()
        config.option.every = f"{every}:{int(commit[:8], 16) % int(every)}"


def _commit() -> str:
    git = ["git", "-C", str(results.TESTS), "rev-parse", "HEAD"]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "0"
    return "0"


def _deselect(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    every = config.getoption("every")
    if every:
        step, first = map(int, every.split(":"))
        _deselect(config, items, items[first::step])
    if os.environ.get("CWRAPJIT_REPLAY"):
        random = [item for item in items if getattr(getattr(item, "obj", None), "is_hypothesis_test", False)]
        _deselect(config, items, random)


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    """Freezes all objects that exist before the tests of a file, so that gc.collect() need not visit them."""
    gc.collect()
    gc.freeze()


# tools/test_wheel.sh sets CWRAPJIT_WHEELS to the folder of the wheels.
collect_ignore = [] if "CWRAPJIT_WHEELS" in os.environ else ["release/test_wheels.py"]

# ---- results --------------------------------------------------------------------------------------

STARTED = time.monotonic()
# pop() removes it from the environment, so that processes started by tests do not write there.
RESULTS = os.environ.pop("CWRAPJIT_RESULTS", "")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if config.getoption("every"):
        terminalreporter.write_line(f"ran a part of the tests: --every {config.getoption('every')}")
    if RESULTS:
        counts = {name: len(reports) for name, reports in terminalreporter.stats.items()}
        results.write(RESULTS, config, int(exitstatus), counts, time.monotonic() - STARTED)


# ---- skips ----------------------------------------------------------------------------------------


def packages_without_a_build(project: str, environment: dict[str, str] | None = None) -> set[str]:
    """Returns the packages that the markers of pyproject.toml's extras exclude on this interpreter."""
    marked = re.findall(r'^    "([\w.-]+[^"]*; *python_version [^"]*)",', project, re.MULTILINE)
    requirements = [Requirement(text) for text in marked]
    return {each.name for each in requirements if each.marker and not each.marker.evaluate(environment)}


@functools.cache
def _left_out() -> set[str]:
    return packages_without_a_build((results.TESTS.parent / "pyproject.toml").read_text())


# tools/test_wheel.sh reduces PATH to one environment. Reasons for skips that are then allowed:
_OF_PROGRAMS = re.compile(
    r"no (C |C\+\+ |optimizing )?compiler\b|no (gfortran|clang|gcc|valgrind|localedef)\b|there is no \w+$"
    r"|has no C\+\+ compiler|(git|gfortran|strace|nm|Graphviz) is not installed"
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("compiler")
    if mark is not None and cwrapjit._cwrapjit.optimizer()["compiler"] is None:
        pytest.skip(f"no C compiler on this machine: it {mark.args[0]}")


def _may_skip(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """With CWRAPJIT_NO_SKIPS=1 the machine must have all that the tests need. These skips stay allowed:
    reasons that begin with "this" ("this kernel has no ..."), for things that not every machine can have, and
    pytest.importorskip() of a package that pyproject.toml excludes here."""
    if os.environ.get("CWRAPJIT_NO_SKIPS") != "1" or not isinstance(report.longrepr, tuple):
        return True
    reason = report.longrepr[2].removeprefix("Skipped: ")
    absent = re.match(r"could not import '(\w+)", reason)
    if os.environ.get("CWRAPJIT_WITHOUT_PROGRAMS") == "1" and _OF_PROGRAMS.search(reason):
        return True
    return reason.startswith("this ") or (absent is not None and absent[1] in _left_out())


def _fail_for_skipping(report: pytest.TestReport | pytest.CollectReport) -> None:
    assert isinstance(report.longrepr, tuple)
    path, line, reason = report.longrepr
    report.outcome = "failed"
    reason = reason.removeprefix("Skipped: ")
    report.longrepr = f"{path}:{line}: skipped, against CWRAPJIT_NO_SKIPS=1: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not _may_skip(report):
        _fail_for_skipping(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and not _may_skip(report):
        _fail_for_skipping(report)
    return report


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Returns a folder for files that this session compiles with the system's compiler."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture(autouse=True)
def _leak_tests_are_marked(request: pytest.FixtureRequest, _settings_go_back: None) -> None:
    mark = request.node.get_closest_marker("leak")
    leaks.in_leak_test = mark is not None
    if mark is not None and not mark.kwargs.get("jobs"):
        cwrapjit.config.optimize = "off"


@pytest.fixture(autouse=True)
def _settings_go_back() -> Iterator[None]:
    """Resets cwrapjit.config after each test, so that settings follow their environment variables again.
    monkeypatch would store the value that the variable gave."""
    yield
    for name in ("optimize", "threads", "compiler", "processes", "debug", "compile_memory"):
        setattr(cwrapjit.config, name, None)


@pytest.fixture
def strict_warnings() -> Iterator[None]:
    """Turns every warning inside the test into an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def cc(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Callable[[str], pathlib.Path]:
    """Returns install(script): that makes it the test's C compiler. REAL in it is the real compiler."""

    def install(script: str) -> pathlib.Path:
        path = tmp_path / "fake-cc"
        path.write_text("#!/bin/sh\n" + script.replace("REAL", compiler()))
        path.chmod(0o755)
        monkeypatch.setenv("CWRAPJIT_CC", str(path))
        return path

    return install
