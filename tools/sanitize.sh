#!/bin/sh
# usage: sanitize.sh address [PYTEST ARGUMENTS]
#
# Builds the extension with gcc's sanitizers into its own environment (.venv-asan), and runs the test suite
# with it, under AddressSanitizer and UndefinedBehaviorSanitizer. Python itself is not instrumented, but its
# allocations are watched. A finding ends its process; all findings are printed at the end, and make this
# script fail.
#
# Left out: tests marked `leak` (memory that is kept means nothing here; memory that is never freed is found
# without sanitizers), `plain` (each says why) and `soak`, and those of tests/peers.
#
# EVERY=12   every twelfth test (tests/conftest.py says which)

set -eu
cd "$(dirname "$0")/.."

kind=$1
shift
python=${PYTHON:-python3}
case $kind in
address)
    venv=.venv-asan
    library=libasan.so
    flags=address,undefined
    # Instruments optimised kernels, too. A kernel's object may have neither constructors nor data that it
    # writes, so it gets the sanitizer of Linux kernels, which calls libasan's checks; undefined behaviour
    # traps. Not checked: what C leaves undefined but cwrapjit defines (signed overflow wraps), or tests try
    # on purpose (shifts, conversions out of an integer's range).
    kernels="-fsanitize=kernel-address --param=asan-globals=0 --param=asan-stack=1
        --param=asan-instrumentation-with-call-threshold=0 -fno-sanitize-recover=kernel-address
        -fsanitize=bounds,vla-bound,return,unreachable,null,returns-nonnull-attribute,nonnull-attribute
        -fsanitize-undefined-trap-on-error"
    ;;
*)
    echo "usage: sanitize.sh address [PYTEST ARGUMENTS]" >&2
    exit 2
    ;;
esac

sh tools/prerequisites.sh "$python"
[ -x "$venv/bin/python" ] || sh tools/uv.sh "$python" venv --quiet --python "$python" "$venv"
echo "== building cwrapjit into $venv, with sanitizers (a minute)"
CC=gcc CWRAPJIT_SANITIZE="$flags" sh tools/uv.sh "$python" pip install --quiet --python "$venv/bin/python" \
    --reinstall-package cwrapjit '.[test]' pytest-timeout
grep -q "$library" "$venv"/lib/python3*/site-packages/cwrapjit/_cwrapjit*.so ||
    { echo "the extension in $venv has no sanitizer" >&2; exit 1; }

runtime=$(gcc -print-file-name="$library")
logs=$PWD/$venv/logs
rm -rf "$logs"
mkdir -p "$logs"

# A fault ends its process by the signal; some tests cause faults on purpose.
signals="handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
common="exitcode=99:log_path=$logs/log"
export PYTHONMALLOC=malloc
export CWRAPJIT_SANITIZED="$kind"
export ASAN_OPTIONS="$common:detect_leaks=0:allocator_may_return_null=1:$signals"
export UBSAN_OPTIONS="print_stacktrace=1:$common"
if [ -n "$kernels" ]; then
    CWRAPJIT_CC="gcc $(echo "$kernels" | tr '\n' ' ')"
    export CWRAPJIT_CC
fi
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- ${SPREAD:--n $(nproc) --dist loadfile} ${EVERY:+--every $EVERY} --ignore=../tests/peers tests

# Run from another folder, so that neither tests nor their processes import the checkout. libasan must know
# how C++ modules throw before that is used.
status=0
for argument; do
    case $argument in
    tests*) argument=../$argument ;;
    esac
    set -- "$@" "$argument"
    shift
done
(cd "$venv" && env LD_PRELOAD="$runtime $(gcc -print-file-name=libstdc++.so.6)" \
    setarch "$(uname -m)" -R bin/python -m pytest -c ../pyproject.toml --rootdir .. -p no:cacheprovider \
    -m "not leak and not plain and not soak" --timeout 300 ${PYTEST_FLAGS:-} "$@") || status=$?

# libasan says in each process that fibres need annotations; ours have them.
found=$(grep -lE "ERROR: |runtime error: " "$logs"/* 2>/dev/null | wc -l)
[ "$found" -eq 0 ] || cat $(grep -lE "ERROR: |runtime error: " "$logs"/*) | head -n 400
echo "sanitizer findings ($kind): $found"
[ "$found" -eq 0 ] && exit "$status"
exit 1
