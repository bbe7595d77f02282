#!/bin/sh
# usage: test_pythons.sh [PYTEST ARGUMENTS]
#
# Runs the test suite on every CPython from 3.10 up that this machine has, each
# in an environment of its own (.venv-3.12, ...), on the package as installed
# from a wheel. The first one gets the oldest NumPy that is supported.
# Interpreters are looked for as python3.X on PATH, then among pyenv's.
#
# PYTHONS="3.12 3.13": these alone.
# EVERY=12: every twelfth test (tests/conftest.py says which).
# TESTS="tests/test_x.py": these alone.
# MARKS="quick": what is marked so, in place of what is not marked `soak`; MARKS= all.
# VENVS=folder: where the environments are; the checkout.

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

# The arguments for pytest: from another folder, paths are seen from here.
tests=
for word in ${TESTS:---ignore=tests/peers tests}; do
    case $word in
    tests* | --ignore=tests*) word=$(echo "$word" | sed "s,tests,$root/tests,") ;;
    esac
    tests="$tests $word"
done

export CWRAPJIT_WERROR=1 # warnings of the C compiler are errors
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
    # From another folder, so that neither tests nor the processes that they start import the checkout.
    # test_versions.py looks whether it runs on what this says.
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
    for version in $failed; do # again, because other versions have been tested since
        echo "== Python $version"
        tail -n 40 "$venvs/.venv-$version/output"
    done
    echo "failed on Python$failed" >&2
    exit 1
fi
[ -n "$passed" ] || { echo "no CPython${PYTHONS:+ of $PYTHONS} from 3.10 up was found" >&2; exit 1; }
echo "passed on Python$passed"
