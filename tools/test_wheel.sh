#!/bin/sh
# usage: test_wheel.sh VERSION...
#
# Installs the wheels that `make wheel` made for these Pythons ("3.11") into empty environments and runs the
# test suite there, with nothing on PATH but the environment's own programs: no compiler, no other tool. Skips
# that this does not explain fail (tests/conftest.py). Before that, the wheels themselves are looked at,
# those for the other machine, too.
#
# PYTEST_FLAGS="-x"   what pytest is told
# TESTS="tests/test_x.py -k name"   instead of the whole suite
# BETWEEN=4   every fourth test of it

set -eu
cd "$(dirname "$0")/.."
root=$(pwd -P)
machine=$(uname -m)

fail()
{
    echo "test_wheel.sh: $*" >&2
    exit 1
}

[ $# -gt 0 ] || fail "for which Python? (make test-wheel)"
failed=
for version; do
    builder=build/wheel/venv-$version/bin/python
    tag=cp$(echo "$version" | tr -d .)
    wheel=$(ls -t dist/cwrapjit-*-"$tag-$tag"-*_"$machine".whl 2>/dev/null | head -n 1)
    [ -n "$wheel" ] && [ -x "$builder" ] || fail "no wheel for Python $version and $machine in dist/ (make wheel)"
    echo "== $wheel, without a compiler"
    folder=$root/build/wheel/test-$version
    base=$("$builder" -c 'import sys; print(sys._base_executable)')
    "$base" -m venv --clear "$folder"
    "$folder/bin/python" -m pip --disable-pip-version-check install --quiet "cwrapjit[test] @ file://$root/$wheel"
    # From another folder, so that nothing imports the checkout.
    cd "$folder"
    # shellcheck disable=SC2086
    CWRAPJIT_WHEELS=$root/dist bin/pytest -q -c ../../../pyproject.toml --rootdir ../../.. -p no:cacheprovider \
        ${PYTEST_FLAGS:-} ../../../tests/release/test_release.py || failed="$failed $version"
    tests=$(echo " ${TESTS:-tests}" | sed 's| tests| ../../../tests|g')
    part=
    [ "${TESTS:-tests}" != tests ] || part="from the wheel${BETWEEN:+, every $BETWEEN}"
    # shellcheck disable=SC2086
    env -i PATH="$folder/bin" HOME="$folder" LANG=C.UTF-8 CWRAPJIT_CC=none CWRAPJIT_NO_SKIPS=1 \
        CWRAPJIT_WITHOUT_PROGRAMS=1 CWRAPJIT_RESULTS="$root/.results/runs" CWRAPJIT_RESULTS_PART="$part" \
        bin/pytest -q -c ../../../pyproject.toml --rootdir ../../.. -p no:cacheprovider -m "not once" \
        ${SPREAD:-} ${BETWEEN:+--every $BETWEEN} ${PYTEST_FLAGS:-} $tests || failed="$failed $version"
    cd "$root"
done
[ -z "$failed" ] || fail "wheels failed on Python$failed"
