#!/bin/sh
# usage: test_pythons.sh [PYTEST ARGUMENTS]
#
# Runs the test suite on every CPython from 3.10 up that this machine has, each
# in an environment of its own (.venv-3.12, ...), on the package as installed
# from a wheel. The oldest one gets the oldest NumPy that is supported.
# Interpreters are looked for as python3.X on PATH, then among pyenv's.

set -eu
cd "$(dirname "$0")/.."

runs()
{
    "$1" -c "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, $2))" >/dev/null 2>&1
}

find_python() # minor version
{
    for candidate in "python3.$1" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$1".*/bin/python; do
        if runs "$candidate" "$1"; then
            echo "$candidate"
            return
        fi
    done
}

failed=
tested=
numpy="numpy==1.26.*"
for minor in 10 11 12 13; do
    python=$(find_python "$minor")
    [ -n "$python" ] || continue
    venv=.venv-3.$minor
    if [ -z "$tested" ] && [ "$minor" -le 12 ]; then
        wanted=$numpy
    else
        wanted="numpy>=2"
    fi
    echo "== Python 3.$minor, $wanted ($python)"
    sh tools/prerequisites.sh "$python"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    # Installed before the wheel, so that the wheel is tested with it.
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$wanted"
    CWRAPJIT_WERROR=1 "$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
        --force-reinstall --no-deps .
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet '.[test]' "$wanted"
    # pytest's own script, unlike python -m pytest, does not put the checkout in front of sys.path.
    if "$venv/bin/pytest" "$@"; then
        tested="$tested 3.$minor"
    else
        failed="$failed 3.$minor"
    fi
done

if [ -n "$failed" ]; then
    echo "failed on Python$failed" >&2
    exit 1
fi
[ -n "$tested" ] || { echo "no CPython from 3.10 up was found" >&2; exit 1; }
echo "passed on Python$tested"
