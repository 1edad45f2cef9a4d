# SPDX-License-Identifier: MIT
#
# Stages with their minutes. To be sourced, after stage.sh.
#
#   timed_stage WORDS...   the timed stage before this one ends, and its minutes
#                          are printed; announce what comes next
#   timed_table            it ends; print the minutes of every one so far

# minutes SECONDS: with one digit.
minutes() {
    minutes_tenths=$((($1 + 3) / 6))
    printf '%4d.%d min' $((minutes_tenths / 10)) $((minutes_tenths % 10))
}

timed_end() {
    [ -n "${timed_name:-}" ] || return 0
    timed_line="$(minutes $(($(date +%s) - timed_began)))  $timed_name"
    timed_lines="${timed_lines:-}$timed_line
"
    timed_name=
    printf '%s\n' "$timed_line"
}

timed_stage() {
    timed_end
    stage "$@"
    timed_name=$*
    timed_began=$(date +%s)
    : "${timed_first:=$timed_began}"
}

timed_table() {
    timed_end
    stage "The stages so far"
    printf '%s%s  all of them\n' "${timed_lines:-}" \
        "$(minutes $(($(date +%s) - ${timed_first:-$(date +%s)})))"
}
