# SPDX-License-Identifier: MIT
#
# One line a stage, and a clear end at the first failure. To be sourced.
#
#   stage WORDS...         announce what comes next
#   die WORDS...           say what is wrong and end with status 1
#   quietly COMMAND...     run it; only if it fails, show the end of its output
#                          and tell where all of it is kept
#   quietly_cleanup        for a trap on EXIT: an interrupted one leaves nothing
#   log_create NAME        print the path of a new log, in CASCADE_LOGS or
#                          where temporary files are
#   log_show FILE          the end of a log, and where it is
#   as_root COMMAND...     run it as root, with sudo when we are not
#   number TEXT            print it; call `usage`, the script's, when it is none

LOG_LINES=200

stage() {
    printf '==> %s\n' "$*"
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

log_create() {
    log_folder=${CASCADE_LOGS:-${TMPDIR:-/tmp}}
    mkdir -p "$log_folder"
    mktemp "$log_folder/cascade-$1.XXXXXX"
}

log_show() {
    tail -n "$LOG_LINES" "$1" >&2
    printf 'the whole log: %s\n' "$1" >&2
}

quietly() {
    quiet_log=$(log_create log)
    quiet_status=0
    "$@" >"$quiet_log" 2>&1 </dev/null || quiet_status=$?
    if [ "$quiet_status" -ne 0 ]; then
        printf 'failed (%d): %s\n' "$quiet_status" "$*" >&2
        log_show "$quiet_log"
        quiet_log=
    fi
    quietly_cleanup
    return "$quiet_status"
}

quietly_cleanup() {
    [ -z "${quiet_log:-}" ] || rm -f "$quiet_log"
    quiet_log=
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

number() {
    case $1 in
    '' | *[!0-9]*) usage ;;
    esac
    printf '%s\n' "$1"
}
