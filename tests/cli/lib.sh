# SPDX-License-Identifier: MIT
#
# The `cascade` command as a user types it. To be sourced, with the arguments
#
#   COMMAND PLAYER sqlite|postgres
#
# where COMMAND is the program, and PLAYER makes the cascades (player.c).
#
#   cli_begin          a new store in CASCADE_STORE; CASCADE_TEST_PG names the
#                      server for postgres
#   cli_cast           with the cast of player.c
#   cli_serve          an engine runs it until cli_rest
#   t ARGUMENT...      runs the command, and notes what it prints, what it says
#                      on standard error ("! "), and how it exits
#   cli_end NAME       what was noted is golden/NAME
#
# Ids that are not fixed, times and durations are noted as such. With RENEW=1
# the golden files are written, to be read before they are committed.

command=$1
player=$2
backend=$3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/normal.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-cli.XXXXXX")
unset NO_COLOR CASCADE_STORE
export CASCADE_BY=operator

cli_cleanup() {
    cli_rest || :
    rm -rf "$work"
}
trap cli_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The n-th of the cast.
id() {
    printf '00000000-0000-4000-8000-0000000000%02d' "$1"
}

# A schema of its own for each; the server is thrown away.
cli_begin() {
    cli_store=$((${cli_store:-0} + 1))
    case $backend in
    sqlite)
        CASCADE_STORE=sqlite:$work/store$cli_store.db
        schema=
        ;;
    postgres)
        CASCADE_STORE=${CASCADE_TEST_PG:?names no server}
        schema=cli_${work##*.}_$cli_store
        ;;
    esac
    export CASCADE_STORE
}

cli_cast() {
    timeout 1000 "$player" make "$CASCADE_STORE" $schema ||
        { echo "no cast" >&2; exit 1; }
}

# Its standard input is a pipe that cli_rest closes.
cli_serve() {
    mkfifo "$work/engine$cli_store"
    : >"$work/ready"
    timeout 1000 "$player" serve "$CASCADE_STORE" $schema \
        <"$work/engine$cli_store" >"$work/ready" &
    serving=$!
    exec 9>"$work/engine$cli_store"
    until grep -q ready "$work/ready"; do
        kill -0 "$serving"
        sleep 0.02
    done
}

cli_rest() {
    [ -n "${serving:-}" ] || return 0
    exec 9>&-
    wait "$serving"
    serving=
}

# run ARGUMENT...: the command on the store of the test.
run() {
    case ${1:-} in
    '' | help | version | -*) "$command" "$@" ;;
    *) "$command" "$@" ${schema:+--schema "$schema"} ;;
    esac
}

t() {
    {
        printf '$ cascade'
        for word in "$@"; do
            case $word in
            *[!A-Za-z0-9_./:@#=-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
            esac
        done
        printf '\n'
    } >>"$work/noted"
    status=0
    run "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    cat "$work/out" >>"$work/noted"
    sed 's/^/! /' "$work/err" >>"$work/noted"
    [ "$status" -eq 0 ] || printf '[exit %d]\n' "$status" >>"$work/noted"
    printf '\n' >>"$work/noted"
}

cli_end() {
    golden=$here/golden/$1
    normalised <"$work/noted" | sed "s#$work#WORK#g" >"$work/normalised"
    : >"$work/noted"
    if [ -n "${RENEW:-}" ]; then
        cp "$work/normalised" "$golden"
    fi
    diff -u "$golden" "$work/normalised" ||
        { echo "$1 is not what it was: see tests/cli/renew.sh" >&2; exit 1; }
}
