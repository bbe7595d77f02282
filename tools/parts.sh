# Runs the parts of a check in sequence, and prints the seconds of each: for .ci/run and tools/release_check.sh.

parts=()
failed=
export CWRAPJIT_RESULTS=$PWD/.results/runs # a line for each run of pytest (tests/results.py)
rm -rf .results
unset PYTHONDONTWRITEBYTECODE # otherwise each process would compile what it imports

# Runs one part. The first failure ends the check, unless KEEP_GOING=yes.
part() # name, command
{
    local name=$1 begun=$SECONDS result=
    shift
    printf '\n=== %s (after %d s)\n' "$name" "$begun"
    "$@" || result=", failed"
    parts+=("$name: $((SECONDS - begun)) s$result")
    failed+=$result
    [[ -z $result || ${KEEP_GOING:-} == yes ]] || end
}

# Prints the results of the tests, and the seconds of each part, as the last lines.
end()
{
    local passed=0 lost=0 counts
    if [[ -e $CWRAPJIT_RESULTS ]]; then
        counts=$(sed -n 's/.*"passed": \([0-9]*\), "failed": \([0-9]*\).*/\1 \2/p' "$CWRAPJIT_RESULTS" |
            awk '{ passed += $1; failed += $2 } END { print passed, failed }')
        read -r passed lost <<<"$counts"
    fi
    printf '\n%d passed, %d failed\n' "$passed" "$lost"
    printf '%s\n' "${parts[@]}" "in all: $SECONDS s${failed:+, with failures}"
    [[ -z $failed ]]
    exit
}
