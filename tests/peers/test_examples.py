"""Tests the programs in examples/ in a fresh clone; each compares its results with NumPy."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[[str], str]
CLUSTER = "cluster.py"  # needs dask; test_cluster.py runs it


pytestmark = pytest.mark.plain("runs what a clone of the checkout builds")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the files that git tracks, as they are now, and no others."""
    if not shutil.which("git"):
        pytest.skip("git is not installed (apt install git)")
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    listed = subprocess.run([*git, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    folder = tmp_path_factory.mktemp("clone")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # it may have been removed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_one(clone: Path, name: str, folder: Path) -> str:
    """Runs an example in another folder, and returns its output. It may write to examples/output."""
    command = [sys.executable, str(clone / "examples" / name)]
    before = {*clone.rglob("*")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []
    new = {path.relative_to(clone).parts[:2] for path in {*clone.rglob("*")} - before}
    assert new <= {("examples", "output"), ("examples", "__pycache__")}
    return done.stdout


@pytest.fixture(scope="module")
def runs(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[str]]]:
    """Runs all examples, two at a time."""
    names = sorted({path.name for path in (clone / "examples").glob("[!_]*.py")} - {CLUSTER})
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run_one, clone, name, tmp_path_factory.mktemp("run")) for name in names}


@pytest.fixture
def run(clone: Path, runs: dict[str, Future[str]], tmp_path: Path) -> Run:
    def run(name: str) -> str:
        first = runs.pop(name, None)  # a retried test runs the example again
        return first.result() if first else run_one(clone, name, tmp_path)

    return run


@pytest.mark.row("U10", "N08", "N36")
def test_inner_prints_what_its_docstring_says(run: Run, clone: Path) -> None:
    source = (clone / "examples" / "inner.py").read_text(encoding="utf-8")
    promised = re.findall(r"^    (\[.*|  ?\[.*)$", source.split('"""')[1], re.MULTILINE)
    assert run("inner.py").splitlines() == promised
    assert len(promised) == 3


@pytest.mark.row("U10")
def test_hillshade_agrees_with_numpy_and_draws(run: Run) -> None:
    printed = run("hillshade.py")
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-12
    assert re.search(r"^medians of 9 calls +tcc tier( +cc tier)? +NumPy$", printed, re.MULTILINE)
    assert "\nThe times leave out " in printed
    picture = re.search(r"picture +(\S.*)$", printed, re.MULTILINE)
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.row("U10", "K17")
def test_windows_agree_with_numpy_and_draw(run: Run) -> None:
    printed = run("windows.py")
    differences = re.findall(r"^(\w+) .*largest difference +(\S+)$", printed, re.MULTILINE)
    assert [name for name, _ in differences] == ["hillshade", "heat", "bilateral", "life"]
    assert max(float(difference) for _, difference in differences) <= 1e-5
    picture = re.search(r"picture +(\S.*)$", printed, re.MULTILINE)
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.row("U10", "K01", "K04", "K13", "K14")
def test_kernels_agree_with_numpy_and_draw(run: Run) -> None:
    printed = run("kernels.py")
    differences = re.findall(r"^(\S+) .*largest difference +(\S+)$", printed, re.MULTILINE)
    assert [name for name, _ in differences] == [
        "vectorize",
        "ElementwiseKernel",
        "ReductionKernel",
        "library",
        "f.ufunc",
    ]
    assert max(float(difference) for _, difference in differences) <= 2e-3
    picture = re.search(r"picture +(\S.*)$", printed, re.MULTILINE)
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.row("U10")
def test_the_graph_agrees_with_numpy(run: Run) -> None:
    printed = run("graph.py")
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-12
    assert re.search(r"cwrapjit +\S+ ms +\S+ us", printed)


@pytest.mark.row("U10")
def test_blas_agrees_with_numpy(run: Run) -> None:
    printed = run("blas.py")
    difference = re.search(r"largest difference from NumPy +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-10
    assert "LinAlgError: the matrix is singular: pivot 1 is zero" in printed
    assert re.search(r"^TypeError: .*argument A\b", printed, re.MULTILINE)
    assert re.search(r"^ValueError: .*\bk is \d", printed, re.MULTILINE)


@pytest.mark.row("U10")
def test_a_special_function_agrees_with_its_integral(run: Run) -> None:
    printed = run("special.py")
    difference = re.search(r"largest difference +(\S+)", printed)
    assert difference is not None
    assert float(difference[1]) <= 1e-13


@pytest.mark.row("U10", "L15")
def test_solvers_agree_with_what_is_known(run: Run) -> None:
    printed = run("solvers.py")
    difference = re.search(r"largest difference +(\S+)$", printed, re.MULTILINE)
    assert difference is not None
    assert float(difference[1]) <= 1e-4
    assert "by a Python function, and by C text" in printed
    assert ("integral of a C function: 1.772453850906" in printed) != ("GSL is not installed here" in printed)


@pytest.mark.row("U10", "S11")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("columns.py", r"20000 distances in .*\n.*\na trip from place\d+ to place\d+ in 9 steps"),
        ("picture.py", r"the median of \(120, 160, 3\) bytes took"),
        ("montecarlo.py", r"pi is about 3\.14"),
        ("nbody.py", r"20 steps of 300 stars in"),
        ("binary_log.py", r"2000 records in .*\nsensors were silent for up to \d+, \d+, \d+, \d+ ms"),
        ("moving.py", r"means of 1200 samples over a day"),
        ("shapes.py", r"circle\(centre=point\(x=1\.5, y=2\.0\), radius=2\.0, name='round'\)"),
    ],
)
def test_journeys_agree_with_numpy(run: Run, name: str, words: str) -> None:
    """The programs assert it."""
    assert re.search(words, run(name))
