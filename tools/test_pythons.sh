#!/bin/sh
# usage: test_pythons.sh [PYTEST ARGUMENTS]
#
# Runs the test suite on every CPython from 3.10 on that this machine has, each in its own environment
# (.venv-3.12, ...), on the package as installed from a wheel. The first one gets the oldest supported NumPy.
# Interpreters are python3.X on PATH, then pyenv's.
#
# PYTHONS="3.12 3.13": only these.
# EVERY=12: every twelfth test (tests/conftest.py says which).
# TESTS="tests/test_x.py": only these.
# MARKS="quick": tests with this mark, instead of those not marked `soak`; MARKS= all tests.
# VENVS=folder: the folder of the environments, by default the checkout.

set -eu
cd "$(dirname "$0")/.."
root=$(pwd -P)
venvs=${VENVS:-$root}

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

# The arguments for pytest, which runs in another folder: paths are relative to this one.
tests=
for word in ${TESTS:---ignore=tests/peers tests}; do
    case $word in
    tests* | --ignore=tests*) word=$(echo "$word" | sed "s,tests,$root/tests,") ;;
    esac
    tests="$tests $word"
done

export CWRAPJIT_WERROR=1 # makes warnings of the C compiler errors
failed=
passed=
numpy="numpy==1.26.*"
for minor in 10 11 12 13 14 15; do
    case " ${PYTHONS:-3.$minor} " in
    *" 3.$minor "*) ;;
    *) continue ;;
    esac
    python=$(find_python "$minor")
    [ -n "$python" ] || continue
    venv=$venvs/.venv-3.$minor
    [ "$minor" -le 12 ] || numpy="numpy>=2"
    echo "== Python 3.$minor, $numpy ($python)"
    sh tools/prerequisites.sh "$python"
    [ -x "$venv/bin/python" ] || sh tools/uv.sh "$python" venv --quiet --python "$python" "$venv"
    echo "== building cwrapjit into $venv (half a minute)"
    sh tools/uv.sh "$python" pip install --quiet --python "$venv/bin/python" --reinstall-package cwrapjit \
        '.[test]' "$numpy"
    # Run from another folder, so that neither tests nor their processes import the checkout. test_versions.py
    # checks that it runs on these versions.
    {
        cd "$venv"
        status=0
        # shellcheck disable=SC2086
        CWRAPJIT_TEST_PYTHON="3.$minor $numpy" bin/pytest -c "$root/pyproject.toml" --rootdir "$root" \
            -q -p no:cacheprovider -m "${MARKS-not soak}" ${SPREAD:-} ${EVERY:+--every $EVERY} ${PYTEST_FLAGS:-} \
            $tests "$@" || status=$?
        echo "pytest ended with $status"
    } 2>&1 | tee "$venv/output"
    if [ "$(tail -n 1 "$venv/output")" = "pytest ended with 0" ]; then
        passed="$passed 3.$minor"
    else
        failed="$failed 3.$minor"
    fi
    numpy="numpy>=2"
done

if [ -n "$failed" ]; then
    for version in $failed; do # shown again, as other versions have been tested since
        echo "== Python $version"
        tail -n 40 "$venvs/.venv-$version/output"
    done
    echo "failed on Python$failed" >&2
    exit 1
fi
[ -n "$passed" ] || { echo "no CPython${PYTHONS:+ of $PYTHONS} from 3.10 up was found" >&2; exit 1; }
echo "passed on Python$passed"
