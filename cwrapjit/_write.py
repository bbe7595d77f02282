"""Writes the comment at the top of module.write()'s output: how to build it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence


def build_comment(name: str, lists: Sequence[Sequence[str]]) -> str:
    """Returns a compiler's command line, with the sources, libraries and macros that module() was given."""
    sources, include_dirs, define_macros, libraries, library_dirs = lists
    flags = [f"-I{shlex.quote(path)}" for path in include_dirs]
    flags += [f"-D{shlex.quote(macro)}" for macro in define_macros]
    flags += [shlex.quote(path) for path in sources]
    flags += [f"-L{shlex.quote(path)}" for path in library_dirs]
    flags += [_link(library) for library in libraries]
    extra = "".join(f" \\\n       {flag}" for flag in flags)
    # The file that this text goes to must not have the name of a source.
    own = f"{name}.c" if f"{name}.c" not in map(os.path.basename, sources) else f"{name}_module.c"
    include = "import sysconfig; print(sysconfig.get_paths()['include'])"
    suffix = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    return (
        "To build it with the Python that shall import it:\n\n"
        "    cc -O3 -fPIC -shared \\\n"
        f'       -I$(python3 -c "{include}") \\\n'
        '       -I$(python3 -c "import numpy; print(numpy.get_include())") \\\n'
        f"       {own}{extra} \\\n"
        f'       -o {name}$(python3 -c "{suffix}") -lm\n'
    )


def _link(library: str) -> str:
    if "/" in library:
        return shlex.quote(library)
    return f"-l:{shlex.quote(library)}" if ".so" in library else f"-l{shlex.quote(library)}"
