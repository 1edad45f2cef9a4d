#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   pages.sh COMMAND PLAYER sqlite
#
# Help, the manual page and the completion for bash are made from one table: the
# pages in src/cli are those of this build, man and bash read them without
# complaint, and what they name is what the command line takes.
set -eu
. "$(dirname -- "$0")/lib.sh"

pages=$here/../../src/cli/pages
cli_begin

t help
t --help
t help fork
t fork --help
t ps -h
cli_end help.txt

fail() {
    echo "$1: run tests/cli/renew.sh" >&2
    exit 1
}

run help --man | cmp - "$pages/cascade.1" || fail "src/cli/pages/cascade.1 is old"
run help --bash | cmp - "$pages/cascade.bash" ||
    fail "src/cli/pages/cascade.bash is old"

# Each command has a page, and takes each option that its page names; what an
# option wants of its value is said with the exit code 2, never that there is no
# such option.
commands=$(run help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(printf '%s\n' "$commands" | wc -l)" -ge 26 ] || fail "commands are missing"
for name in $commands; do
    run help "$name" >"$work/page"
    run "$name" --help | cmp - "$work/page"
    grep -q "^cascade $name: " "$work/page"
    cat "$work/page" >>"$work/help"
    grep -qF "cascade $name [OPTION...]" "$pages/cascade.1"
    options=$(sed -n 's/^    --\([a-z-]*\).*/\1/p' "$work/page")
    [ -n "$options" ] || fail "the page of $name names no option"
    for option in $options; do
        status=0
        said=$(run "$name" "--$option=1" --help 2>&1) || status=$?
        case $status,$said in
        *"there is no option"*)
            fail "cascade $name does not know its --$option" ;;
        0,* | 2,*) ;;
        *) fail "cascade $name --$option=1 ended with $status" ;;
        esac
    done
    # Nobody can see an option that its page does not name.
    run "$name" --nonsense >"$work/out" 2>&1 && fail "it takes --nonsense"
    grep -q "there is no option --nonsense" "$work/out"
done

# Lines of help are at most 79 columns wide.
run help >>"$work/help"
! grep -E '^.{80}' "$work/help" || fail "a line of help is too long"

MANWIDTH=80 man --warnings -l "$pages/cascade.1" >"$work/man" 2>"$work/warnings"
[ ! -s "$work/warnings" ] || { cat "$work/warnings" >&2; exit 1; }
grep -q 'End cascades at once' "$work/man"

# completes LINE...: the words that bash would offer for the last one.
completes() {
    bash -c '
        . "$1"
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _cascade
        printf "%s\n" "${COMPREPLY[@]}"
    ' bash "$pages/cascade.bash" "$@" | sort | tr '\n' ' '
}

expect() {
    [ "$1" = "$2" ] || { echo "completion gives '$1', not '$2'" >&2; exit 1; }
}

expect "$(completes cascade re)" "rerun reseal resume retry "
expect "$(completes cascade help ver)" "verify version "
expect "$(completes cascade ps --st)" "--status --store "
expect "$(completes cascade ps --status r)" "running "
expect "$(completes cascade start --reuse '')" "ended failed never terminate "
expect "$(completes cascade purge --)" "--completed --failed --help \
--integrity --json --pooler --schema --secrets --store --yes "
