"""Says in one sentence why this package cannot be imported here.

Runs before the rest of the package is imported, and in setup.py. Pythons too old for the rest can read this
file."""

from __future__ import annotations

import os
import sys

MACHINES = ("x86_64", "aarch64")
OLDEST = (3, 10)


def reason() -> str | None:
    """Returns what about the interpreter or machine is unsupported, or None."""
    kind = sys.implementation.name
    if kind != "cpython":
        return f"cwrapjit needs CPython, and this interpreter is {kind}"
    if sys.version_info[:2] < OLDEST:
        return f"cwrapjit needs CPython {_dotted(OLDEST)} or newer, and this one is {_version()}"
    if sys.platform != "linux":
        return f"cwrapjit runs on Linux alone so far, and this platform is {sys.platform}"
    if "t" in sys.abiflags:
        return (
            "cwrapjit does not support free-threaded builds of CPython, as it relies on the global "
            f"interpreter lock: use python{_version()} instead of python{_version()}t"
        )
    machine, libc = built_for()
    if machine not in MACHINES or sys.maxsize < 2**32:
        bits = 64 if sys.maxsize > 2**32 else 32
        wanted = " and ".join(MACHINES)
        return f"cwrapjit runs on {wanted} with 64 bits, and this Python was built for {machine} with {bits}"
    if libc != "gnu" or _glibc() is None:
        return (
            "cwrapjit needs glibc, and this Python was built for another C library, as musl is (Alpine Linux)"
        )
    return None


def check_extension() -> None:
    """Imports the extension module. Raises ImportError if it was built for another Python or system."""
    try:
        import cwrapjit._cwrapjit  # noqa: F401
    except ImportError as error:
        text = _explain(error)
        if text is None:
            raise
        raise ImportError(text, name=error.name, path=error.path) from error


def _explain(error: ImportError) -> str | None:
    words = str(error).replace("`", "'").split("version 'GLIBC_")
    if len(words) > 1:
        return (
            f"this build of cwrapjit needs glibc {words[1].split(chr(39))[0]} or newer, and this system has "
            f"{_glibc()}: install a wheel for this system, or build cwrapjit on it"
        )
    if error.name == "cwrapjit._cwrapjit" and isinstance(error, ModuleNotFoundError):
        folder = os.path.dirname(os.path.abspath(__file__))
        built = sorted(name for name in os.listdir(folder) if name.startswith("_cwrapjit.") and ".so" in name)
        there = f", only {', '.join(built)}" if built else ""
        machine = built_for()[0]
        return (
            f"cwrapjit in {folder} has no compiled part for CPython {_version()} on {machine}{there}: "
            "install a wheel for this Python, or build cwrapjit with it"
        )
    return None


def built_for() -> tuple[str, str]:
    """Returns the machine and the C library, as ("x86_64", "gnu"). os.uname() alone does not do: the
    interpreter may be 32-bit, and a personality can change the kernel's answer."""
    parts = getattr(sys.implementation, "_multiarch", "").split("-")
    return (parts[0], parts[2]) if len(parts) == 3 else (os.uname().machine, "gnu")


def _glibc() -> str | None:
    """Returns the C library's name and version; None for musl, which older Pythons call gnu."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return None


def _version() -> str:
    return _dotted(sys.version_info[:2])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


if __name__ == "cwrapjit._unsupported":
    _text = reason()
    if _text is not None:
        raise ImportError(_text)
    check_extension()
