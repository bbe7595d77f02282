#!/bin/sh
# usage: test_wheel.sh VERSION...
#
# Installs the wheels that `make wheel` made for these Pythons ("3.11") into empty environments, and runs the
# test suite there with only the environment's own programs on PATH: no compiler, no other tool. Skips that
# this does not explain fail (tests/conftest.py). First the wheels themselves are checked, also those for the
# other machine.
#
# PYTEST_FLAGS="-x"   further arguments of pytest
# EVERY=12   every twelfth test (tests/conftest.py says which)

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
    sh tools/uv.sh "$builder" venv --quiet --clear --python "$builder" "$folder"
    sh tools/uv.sh "$builder" pip install --quiet --python "$folder/bin/python" "cwrapjit[test] @ file://$root/$wheel"
    # Run from another folder, so that nothing imports the checkout.
    cd "$folder"
    # shellcheck disable=SC2086
    CWRAPJIT_WHEELS=$root/dist bin/pytest -q -c ../../../pyproject.toml --rootdir ../../.. -p no:cacheprovider \
        ${PYTEST_FLAGS:-} ../../../tests/release/test_wheels.py || failed="$failed $version"
    # shellcheck disable=SC2086
    env -i PATH="$folder/bin" HOME="$folder" LANG=C.UTF-8 CWRAPJIT_CC=none CWRAPJIT_NO_SKIPS=1 \
        CWRAPJIT_WITHOUT_PROGRAMS=1 CWRAPJIT_COMMIT="${CWRAPJIT_COMMIT:-}" CWRAPJIT_RESULTS="${CWRAPJIT_RESULTS:-}" \
        CWRAPJIT_RESULTS_PART="from the wheel" \
        bin/pytest -q -c ../../../pyproject.toml --rootdir ../../.. -p no:cacheprovider -m "not soak" \
        ${SPREAD:-} ${EVERY:+--every $EVERY} ${PYTEST_FLAGS:-} --ignore=../../../tests/peers ../../../tests ||
        failed="$failed $version"
    cd "$root"
done
[ -z "$failed" ] || fail "wheels failed on Python$failed"
