"""usage: wheel.py [--python 3.11 ...] [--machine x86_64|aarch64 ...] [--into FOLDER]

Makes the source distribution, and from it a wheel for each CPython from 3.10 on that this machine has
(python3.X on PATH, then pyenv's) and each machine that cwrapjit supports. `make wheel` runs it in its own
environment with auditwheel, and with Zig from PyPI as the compiler, which links against the stubs of an old
glibc and cross-compiles. It writes only to dist/ and build/wheel/.

A wheel for another machine is made with this machine's headers: NumPy's are the same for both, and
pyconfig.h, which Debian has for each machine, differs only in macros that CPython's own sources use."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "wheel"
MACHINES = ("x86_64", "aarch64")
MINORS = range(10, 16)
GLIBC = (2, 28)  # RHEL 8, Debian 10 and Ubuntu 20.04 have it
# Flags of interpreters that the code may rely on; setup.py sets the optimisation level.
C_FLAGS = "-DNDEBUG -fwrapv -Wno-nullability-completeness"


def run(command: list[str], **kw: object) -> str:
    """Runs the command, which must succeed, and returns its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)  # type: ignore[call-overload]
    if done.returncode:
        lines = done.stdout.splitlines()
        raise SystemExit("\n".join([*lines[-40:], f"{shlex.join(command)}: status {done.returncode}"]))
    return str(done.stdout)


def find_python(minor: int) -> str | None:
    """Returns an interpreter of this minor version that can make environments."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    code = f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}) or 't' in sys.abiflags)"
    for candidate in (f"python3.{minor}", *map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python")))):
        path = shutil.which(candidate)
        if path and subprocess.run([path, "-c", code], capture_output=True).returncode == 0:
            return path
    return None


def build_requirements() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"([^"]+)"', re.findall(r"^requires = \[(.*)\]$", text, re.MULTILINE)[0])


def make_environment(minor: int, python: str) -> pathlib.Path:
    """Makes an environment for builds, and returns the path of its interpreter."""
    folder = BUILD / f"venv-3.{minor}"
    made = folder / "bin" / "python"
    uv = ["sh", str(ROOT / "tools" / "uv.sh"), python]
    if not made.exists():
        run([*uv, "venv", "--python", python, str(folder)])
    run([*uv, "pip", "install", "--python", str(made), "--only-binary=:all:", *build_requirements()])
    return made


def call_backend(python: pathlib.Path | str, call: str, **kw: object) -> None:
    run([str(python), "-c", f"from setuptools import build_meta; build_meta.{call}"], **kw)


def make_sdist(python: pathlib.Path, into: pathlib.Path) -> pathlib.Path:
    call_backend(python, f"build_sdist({str(into)!r})", cwd=ROOT)
    return max(into.glob("cwrapjit-*.tar.gz"), key=lambda path: path.stat().st_mtime)


def debian_headers(folder: pathlib.Path, machine: str, minor: int) -> list[str]:
    """Debian's pyconfig.h includes the machine's own, in a folder that Zig does not search; that of another
    machine is in another package."""
    found = pathlib.Path(f"/usr/include/{os.uname().machine}-linux-gnu/python3.{minor}/pyconfig.h")
    if not found.is_file():
        return []
    copy = folder / "headers" / f"{machine}-linux-gnu" / f"python3.{minor}" / found.name
    copy.parent.mkdir(parents=True)
    shutil.copy(found, copy)
    return [f"-I{folder / 'headers'}"]


def make_wheel(
    sdist: pathlib.Path, python: pathlib.Path, minor: int, machine: str, into: pathlib.Path
) -> str:
    """Builds and audits a wheel, and returns a line about it."""
    begun = time.monotonic()
    folder = BUILD / f"3.{minor}-{machine}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(sdist) as file:
        file.extractall(folder)
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    target = f"{machine}-linux-gnu.{'.'.join(map(str, GLIBC))}"
    compiler = shlex.join([sys.executable, "-m", "ziglang", "cc", "-target", target])
    variables = {
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared -Wl,-s",
        "CFLAGS": " ".join([C_FLAGS, *debian_headers(folder, machine, minor)]),
        "ZIG_GLOBAL_CACHE_DIR": str(BUILD / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(BUILD / "zig"),
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-3{minor}-{machine}-linux-gnu.so",
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",  # the tag
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CWRAPJIT_")}
    call_backend(python, f"build_wheel({str(folder)!r})", cwd=source, env={**inherited, **variables})
    (built,) = folder.glob("*.whl")
    # The tag follows from the required symbols. Without a patcher, auditwheel refuses wheels that would need
    # a library inside.
    audit = [sys.executable, "-m", "auditwheel", "repair", "--patcher", "none", "--plat", "auto"]
    run([*audit, "--wheel-dir", str(folder / "audited"), str(built)])
    (audited,) = (folder / "audited").glob("*.whl")
    shutil.move(str(audited), into / audited.name)
    shutil.rmtree(source)
    size = (into / audited.name).stat().st_size
    return f"{audited.name}  {size / 1e6:.2f} MB, {time.monotonic() - begun:.0f} s"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n\n")[0].removeprefix("usage: "))
    parser.add_argument("--python", nargs="+", default=[f"3.{minor}" for minor in MINORS])
    parser.add_argument("--machine", nargs="+", choices=MACHINES, default=MACHINES)
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "dist")
    return parser.parse_args()


def main() -> None:
    given = read_arguments()
    for module in ("ziglang", "auditwheel"):
        if importlib.util.find_spec(module) is None:
            raise SystemExit(f"{sys.executable} has no package {module}: `make wheel` installs it from PyPI")
    minors = [int(version.removeprefix("3.")) for version in given.python]
    found = {minor: python for minor in minors if (python := find_python(minor)) is not None}
    missing = ", ".join(f"3.{minor}" for minor in minors if minor not in found)
    if missing:
        print(f"no CPython {missing} on this machine: no wheels for it")
    if not found:
        raise SystemExit("nothing to build with")
    into = given.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    pythons = {minor: make_environment(minor, python) for minor, python in found.items()}
    sdist = make_sdist(next(iter(pythons.values())), into)
    print(f"{sdist.name}  {sdist.stat().st_size / 1e6:.2f} MB", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(make_wheel, sdist, python, minor, machine, into)
            for minor, python in pythons.items()
            for machine in given.machine
        ]
        for job in concurrent.futures.as_completed(jobs):
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
