#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   terminal.sh COMMAND PLAYER sqlite
#
# In a real terminal (script(1) makes one): colours and when there are none,
# the question and its answers, a table that is watched, SIGINT, and what a
# stored text must not do to it. And where standard output is no good.
set -eu
. "$(dirname -- "$0")/lib.sh"

script=
cleanup() {
    [ -z "$script" ] || kill "$script" 2>/dev/null || :
    cli_cleanup
}
trap cleanup EXIT

export TERM=xterm
cli_begin
cli_cast
escape=$(printf '\033')

fail() {
    echo "$1:" >&2
    cat -v "$work/screen" >&2
    exit 1
}

# until_shown TEXT: until the screen has it.
until_shown() {
    give_up=$(($(date +%s) + 100))
    until grep -qF -- "$1" "$work/screen"; do
        kill -0 "$script" 2>/dev/null || fail "ended too soon"
        [ "$(date +%s)" -lt "$give_up" ] || fail "not shown in time: $1"
        sleep 0.01
    done
}

# begin COMMAND: on a terminal. What is still on its way to the screen when all
# behind the terminal have ended may be lost: its shell ends when it is told
# that the end has been seen.
begin() {
    rm -f "$work/keys"
    mkfifo "$work/keys"
    : >"$work/screen"
    # A shell lets what it starts behind itself ignore SIGINT.
    SHELL=/bin/sh env --default-signal=INT script -qfec "stty rows 9 cols 60
        trap : INT
        $1
        printf '<%s over>\\n' \$?
        until read -r line && [ \"\$line\" = seen ]; do :; done" /dev/null \
        <"$work/keys" >"$work/screen" 2>&1 &
    script=$!
    exec 8>"$work/keys"
}

# end: once it has ended; the screen is in $work/screen, the exit code in
# $status, and $ended_line says whether the last line was ended.
end() {
    until_shown ' over>'
    echo seen >&8
    wait "$script" || :
    script=
    exec 8>&-
    status=$(sed -n 's/.*<\([0-9]*\) over>.*/\1/p' "$work/screen")
    ended_line=no
    ! grep -q '^<[0-9]* over>' "$work/screen" || ended_line=yes
    sed -i -e '/^<[0-9]* over>/,$d' \
        -e '/<[0-9]* over>/{s/<[0-9]* over>.*//;q}' "$work/screen"
}

# on_terminal ANSWER COMMAND: types ANSWER, if any, once it is asked for, and
# waits until the command has ended.
on_terminal() {
    begin "$2"
    if [ -n "$1" ]; then
        until_shown ' [y/N] '
        printf '%b' "$1" >&8
    fi
    end
}

shows() {
    grep -qF -- "$1" "$work/screen" || fail "not shown: $1"
}

shows_not() {
    ! grep -qF -- "$1" "$work/screen" || fail "shown: $1"
}

exits() {
    [ "$status" -eq "$1" ] || fail "exit code $status, not $1"
}

# ---- Colour ------------------------------------------------------------------

on_terminal '' "$command ps"
exits 0
shows "$escape[1mID"
shows "$escape[31mERROR"
shows "$escape[32mCOMPLETED"
for environment in NO_COLOR=1 TERM=dumb TERM=; do
    on_terminal '' "$environment $command ps"
    shows ERROR
    shows_not "$escape"
done
on_terminal '' "NO_COLOR= $command ps"
shows "$escape[31mERROR"
on_terminal '' "$command ps --json"
shows_not "$escape"
run ps >"$work/screen"
shows_not "$escape"

# The error of this one means harm.
on_terminal '' "$command show $(id 2)"
shows 'no \x1b[31mmoney\x1b[0m\nleft \u202e'
shows_not "$escape[31mmoney"
on_terminal '' "$command show $(id 2) --json"
shows 'no \u001b[31mmoney\u001b[0m\nleft \u202e'
shows_not "$escape"

# ---- The question --------------------------------------------------------------

for answer in '\n' 'n\n' 'no, yes\n' 'yellow\n' 'yes, I do\n' '\004'; do
    on_terminal "$answer" "$command terminate $(id 3) $(id 4)"
    shows 'Terminate 2 cascades? [y/N]'
    exits 4
done
on_terminal 'n\n' "$command pause --all --user ben"
shows 'Pause 10 cascades? [y/N]'
exits 4
on_terminal 'y\n' "$command pause --all --user nobody"
shows 'Pause 0 cascades? [y/N]'
shows '0 seen, 0 asked, 0 failed'
exits 0
# How far it is stands on one line that is written over.
on_terminal 'y\n' "$command pause --all --user ben"
shows "10 seen, 10 done, 0 failed"
shows "$escape[K10 seen, 10 asked, 0 failed"
on_terminal 'y\n' "$command terminate $(id 3)"
shows 'Terminate 1 cascade? [y/N]'
shows "$(id 3) asked"
exits 0
on_terminal 'n\n' "$command purge --completed 1d --failed 2d"
shows 'Delete all cascades that completed before 20'
shows ', or ended in error before 20'
exits 4
on_terminal 'yes\n' "$command delete $(id 3)"
shows "$(id 3) asked"
# Neither half of a terminal is one to ask on.
on_terminal '' "$command delete $(id 4) 2>/dev/null"
exits 4
on_terminal '' "$command delete $(id 4) </dev/null"
shows 'needs --yes'
exits 4

# ---- Watching, and SIGINT ------------------------------------------------------

# interrupted COMMAND TEXT: starts it, waits until TEXT is on its screen, and
# types Ctrl-C.
interrupted() {
    begin "$1"
    until_shown "$2"
    printf '\003' >&8
    end
}

# What is written last: typed before, ^C would stand among the rows.
interrupted "$command ps --watch=1h" "$escape[?7h"
exits 130
# Six rows of cascades, below a line with the time and one with the heads; what
# is too wide is cut, and wraps again behind it.
shows "$escape[?7l"
shows "$(id 4)"
shows "$(id 7)"
shows_not "$(id 8)"
tail -n 1 "$work/screen" | grep -q '\^C' || fail "not ended by itself"
[ "$ended_line" = yes ] || fail "no end of the line"
[ "$(grep -c "$(id 7)" "$work/screen")" -eq 1 ] || fail "drawn more than once"
interrupted "$command ps --watch=20ms --json" '{"id"'
exits 130

# ---- Standard output that is no good ----------------------------------------------

status=0
run ps >/dev/full 2>"$work/screen" || status=$?
exits 1
shows 'standard output cannot be written: No space left on device'
run help >/dev/full 2>"$work/screen" && fail "a full disk is no failure"
shows 'standard output cannot be written'
# A reader that goes away ends it without a word.
(
    status=0
    env --default-signal=PIPE "$command" ps --watch=20ms --json \
        2>"$work/screen" || status=$?
    echo "$status" >"$work/status"
) | head -n 1 >/dev/null
status=$(cat "$work/status")
exits 141
[ ! -s "$work/screen" ] || fail "complaint about a reader that went away"
