#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A throwaway server as a command, for tests that need one of their own:
#
#   throwaway-postgres.sh create [NAME=VALUE...]        prints its folder
#   throwaway-postgres.sh standby FOLDER [NAME=VALUE...]
#                                                       one that follows it;
#                                                       prints its own folder
#   throwaway-postgres.sh promote FOLDER                of a standby
#   throwaway-postgres.sh crash FOLDER                  as in a power cut
#   throwaway-postgres.sh stop FOLDER                   as for a restart
#   throwaway-postgres.sh start FOLDER [NAME=VALUE...]  after either
#   throwaway-postgres.sh keep FOLDER                   copies what it has; it
#                                                       is stopped
#   throwaway-postgres.sh restore FOLDER                puts that back; the same
#   throwaway-postgres.sh remove FOLDER
#
# Its conninfo is "host=FOLDER user=cascade dbname=cascade".
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/stage.sh"
. "$here/postgres.sh"

[ "$#" -ge 1 ] ||
    die "usage: throwaway-postgres.sh create|standby|promote|crash|stop|start|" \
        "keep|restore|remove"
command=$1
shift
if [ "$command" != create ]; then
    [ -d "${1:-}/data" ] || die "no throwaway server in '${1:-}'"
    PG_FOLDER=$1
    shift
fi

# One that is interrupted while it makes a server leaves nothing.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

case $command in
create)
    trap pg_remove EXIT
    pg_create
    pg_start "$@"
    trap - EXIT
    printf '%s\n' "$PG_FOLDER"
    ;;
standby)
    followed=$PG_FOLDER
    PG_FOLDER=
    trap pg_remove EXIT
    pg_create_standby "$followed"
    pg_start "$@"
    trap - EXIT
    printf '%s\n' "$PG_FOLDER"
    ;;
promote) pg_promote ;;
start) pg_start "$@" ;;
crash) pg_crash ;;
stop) pg_stop ;;
keep) pg_keep ;;
restore) pg_restore ;;
remove) pg_remove ;;
*) die "unknown command '$command'" ;;
esac
