#!/usr/bin/env bash
# usage: release_check.sh
#
# Runs all checks in full before a release, which takes hours. After a failure the rest still runs; the last
# lines show how long each part took. Only this script writes docs/tested.md.
#
# PYTHON=python3.12   the usual interpreter, instead of python3

set -euo pipefail
cd "$(dirname "$0")/.."
export KEEP_GOING=yes CWRAPJIT_NO_SKIPS=1 CWRAPJIT_WERROR=1
. tools/parts.sh

# Sets the name in docs/tested.md of the runs of pytest below.
as() # what, command
{
    CWRAPJIT_RESULTS_PART=$1 "${@:2}"
}

wheel_for_arm64()
{
    local minor wheel
    minor=$(sed -n 's/^MINOR=\([0-9]*\).*/\1/p' tools/test_arm64.sh)
    wheel=$(ls -t dist/cwrapjit-*-cp3"$minor"-cp3"$minor"-*_aarch64.whl | head -n 1)
    WHEEL=$wheel as "the wheel, chosen for emulation" make test-arm64
}

write_page()
{
    "${PYTHON:-python3}" tools/tested.py "$CWRAPJIT_RESULTS" docs/tested.md "$(git describe --always --dirty)"
}

part "lint" make lint
part "demo" make demo
part "tests" as whole make test TESTS="tests --ignore=tests/peers"
part "tests with peers" as "tests/peers" make test-peers
part "every Python here" as "without soak" make test-all-pythons
part "new Pythons" as "without soak" make test-new-pythons
part "wheels" make wheel
for version in $(ls dist/cwrapjit-*_"$(uname -m)".whl | sed 's/.*-cp3\([0-9]*\)-.*/3.\1/' | sort -u); do
    part "the wheel for $version, without a compiler" as "from the wheel" sh tools/test_wheel.sh "$version"
done
part "AddressSanitizer" as "sanitized" make asan
part "ThreadSanitizer" as "threads, sanitized" make tsan
part "arm64" as "chosen for emulation" make test-arm64
part "arm64, from the wheel" wheel_for_arm64
part "fuzzing, new random cases, soaking, faults" as "what make trust runs" make trust
part "benchmarks, once through" make bench BENCH_FLAGS=--quick
part "the page of what was tested" write_page
end
