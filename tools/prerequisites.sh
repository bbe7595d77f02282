#!/bin/sh
# usage: prerequisites.sh PYTHON [VENV_PYTHON]
#
# Checks the prerequisites of a build from source, and prints all missing ones at once. With VENV_PYTHON, also
# refuses an environment made by another version than PYTHON's.

python=${1:-python3}
venv_python=${2:-}
missing=

lacks()
{
    missing="$missing
  - $1"
}

if ! command -v "$python" >/dev/null 2>&1; then
    lacks "$python: no such interpreter on PATH (CPython 3.10 or newer; Debian: apt install python3)"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
    lacks "CPython 3.10 or newer: $python is $("$python" --version 2>&1)"
else
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        lacks "the venv module of $python (Debian: apt install python3-venv)"
    include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -f "$include/Python.h" ] ||
        lacks "the headers of $python: no $include/Python.h (Debian: apt install python3-dev)"
    # setuptools compiles with $CC, or with what the interpreter was built with.
    compiler=${CC:-$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("CC") or "cc")')}
    program=${compiler%% *}
    if ! command -v "$program" >/dev/null 2>&1; then
        lacks "a C compiler: no $program on PATH (Debian: apt install gcc libc6-dev; or set CC)"
    elif ! echo '#include <stdio.h>' | $compiler -fsyntax-only -x c - >/dev/null 2>&1; then
        lacks "the C library's headers: $compiler finds no stdio.h (Debian: apt install libc6-dev)"
    fi
fi
case "$(uname -s) $(uname -m)" in
"Linux x86_64" | "Linux aarch64") ;;
*) lacks "Linux on x86-64 or aarch64: this is $(uname -s) $(uname -m)" ;;
esac

if [ -n "$missing" ]; then
    echo "cwrapjit cannot be built here. Missing:$missing" >&2
    exit 1
fi

version='import sys; print(*sys.version_info[:2], sep=".")'
if [ -n "$venv_python" ] && [ -x "$venv_python" ] &&
    [ "$("$venv_python" -c "$version" 2>/dev/null)" != "$("$python" -c "$version")" ]; then
    echo "${venv_python%/bin/python} was made by another Python than $python: run \`make clean\` first" >&2
    exit 1
fi
