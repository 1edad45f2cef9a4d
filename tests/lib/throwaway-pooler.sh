#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A throwaway pgbouncer in transaction mode in front of a throwaway server. Its
# only socket lies in a temporary folder, it listens on no address.
#
#   throwaway-pooler.sh create SERVER-FOLDER SIZE   prints its folder; SIZE:
#                                                   connections to the server
#   throwaway-pooler.sh start FOLDER                after a kill
#   throwaway-pooler.sh signal FOLDER NAME          HUP: reads its settings
#                                                   again; KILL: it is gone
#   throwaway-pooler.sh remove FOLDER
#
# Its conninfo is "host=FOLDER port=6432 user=cascade dbname=cascade".
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/stage.sh"
. "$here/postgres.sh"

# Settings that are not here are pgbouncer's own, server_reset_query among them;
# after a server that went away it would wait for 15 seconds.
write_settings() {
    cat >"$PG_FOLDER/pgbouncer.ini" <<END
[databases]
cascade = host=$1 dbname=cascade user=cascade
[pgbouncer]
pool_mode = transaction
default_pool_size = $2
unix_socket_dir = $PG_FOLDER
listen_port = 6432
auth_type = any
logfile = $PG_FOLDER/log
pidfile = $PG_FOLDER/pid
server_login_retry = 0.2
END
}

did_not_start() {
    tail -n 20 "$PG_FOLDER/log" >&2 || :
    die "pgbouncer did not start"
}

# -d returns before it listens; what comes after that is the file with its
# number.
start_pooler() {
    quietly pg_as_user /usr/sbin/pgbouncer -q -d "$PG_FOLDER/pgbouncer.ini" ||
        did_not_start
    tries=0
    until [ -s "$PG_FOLDER/pid" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 6000 ] || did_not_start
        sleep 0.01
    done
}

# A dead process that nobody has waited for, as may be where the first process
# of a container waits for none, is gone as well.
is_alive() {
    kill -0 "$1" 2>/dev/null &&
        ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# Whoever wants to start it again must not meet the old one.
kill_pooler() {
    pid=$(cat "$PG_FOLDER/pid" 2>/dev/null) || return 0
    kill -KILL "$pid" 2>/dev/null || :
    while is_alive "$pid"; do
        sleep 0.01
    done
    rm -f "$PG_FOLDER/pid"
}

remove_pooler() {
    [ -n "${PG_FOLDER:-}" ] || return 0
    kill_pooler
    rm -rf "$PG_FOLDER"
}

[ "$#" -ge 2 ] || die "usage: throwaway-pooler.sh create|start|signal|remove"
command=$1
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
if [ "$command" != create ]; then
    [ -f "$2/pgbouncer.ini" ] || die "no throwaway pooler in '$2'"
    PG_FOLDER=$2
fi

case $command in
create)
    [ -x /usr/sbin/pgbouncer ] || die "pgbouncer is not installed"
    trap remove_pooler EXIT
    pg_make_any_folder
    write_settings "$2" "$3"
    start_pooler
    trap - EXIT
    printf '%s\n' "$PG_FOLDER"
    ;;
start) start_pooler ;;
signal)
    case $3 in
    KILL) kill_pooler ;;
    *) kill -"$3" "$(cat "$PG_FOLDER/pid")" ;;
    esac
    ;;
remove) remove_pooler ;;
*) die "unknown command '$command'" ;;
esac
