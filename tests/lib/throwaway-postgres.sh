#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A throwaway server as a command, for tests that need one of their own:
#
#   throwaway-postgres.sh create [NAME=VALUE...]        prints its folder
#   throwaway-postgres.sh crash FOLDER                  as in a power cut
#   throwaway-postgres.sh start FOLDER [NAME=VALUE...]  after a crash
#   throwaway-postgres.sh remove FOLDER
#
# Its conninfo is "host=FOLDER user=cascade dbname=cascade".
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/stage.sh"
. "$here/postgres.sh"

[ "$#" -ge 1 ] || die "usage: throwaway-postgres.sh create|crash|start|remove"
command=$1
shift
if [ "$command" != create ]; then
    [ -d "${1:-}/data" ] || die "no throwaway server in '${1:-}'"
    PG_FOLDER=$1
    shift
fi

case $command in
create)
    trap pg_remove EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    pg_create
    pg_start "$@"
    trap - EXIT
    printf '%s\n' "$PG_FOLDER"
    ;;
start) pg_start "$@" ;;
crash) pg_crash ;;
remove) pg_remove ;;
*) die "unknown command '$command'" ;;
esac
