# SPDX-License-Identifier: MIT
#
# One line a stage, and a clear end at the first failure. To be sourced.
#
#   stage WORDS...       announce what comes next
#   die WORDS...         say what is wrong and end with status 1
#   quietly COMMAND...   run it; show the end of its output only if it fails
#   quietly_cleanup      for a trap on EXIT: an interrupted one leaves nothing
#   as_root COMMAND...   run it as root, with sudo when we are not
#   number TEXT          print it; call `usage`, the script's, when it is none

stage() {
    printf '==> %s\n' "$*"
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

quietly() {
    quiet_log=$(mktemp "${TMPDIR:-/tmp}/cascade-log.XXXXXX")
    quiet_status=0
    "$@" >"$quiet_log" 2>&1 </dev/null || quiet_status=$?
    if [ "$quiet_status" -ne 0 ]; then
        printf 'failed: %s\n' "$*" >&2
        tail -n 400 "$quiet_log" >&2
    fi
    rm -f "$quiet_log"
    return "$quiet_status"
}

quietly_cleanup() {
    rm -f "${quiet_log:-}"
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
