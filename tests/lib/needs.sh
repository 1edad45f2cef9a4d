#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   needs.sh FOLDER NEED,NEED... COMMAND...
#
# How ctest runs a test that needs more than the build:
#
#   server    PostgreSQL: the server that CASCADE_TEST_PG names (a conninfo), or
#             the one that ctest-server.sh has started for this ctest, which it
#             has noted in FOLDER; the command finds it in CASCADE_TEST_PG
#   stores    the same, but the command runs on other stores as well: where
#             PostgreSQL is not installed it is told so by CASCADE_TEST_PG=none
#   root      to be root; with CASCADE_TEST_SUDO=yes sudo will do
#   libuv     a build with libuv: this one was made without
#   PACKAGE   the program of a Debian package: spin, openssl, pgbouncer, ...;
#             postgresql: those of a server, of which the test makes its own
#
# Where something is missing it says in one line what to do, and ends with 77:
# for ctest the test was skipped. With CASCADE_TEST_SKIP=never it has failed.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/stage.sh"
. "$here/postgres.sh"

folder=$1
needs=$2
shift 2

skip() {
    echo "skipped: $*"
    [ "${CASCADE_TEST_SKIP:-}" != never ] || exit 1
    exit 77
}

# may_install PACKAGE: what to do without it.
may_install() {
    echo "$1 is not installed (apt-get install $1)"
}

# The parent is ctest, also for the fixture: two of them in one build folder
# have a server each.
need_server() {
    noted=$folder/server.$PPID
    if [ -z "${CASCADE_TEST_PG:-}" ] && [ -r "$noted" ]; then
        CASCADE_TEST_PG=$(cat "$noted")
        export CASCADE_TEST_PG
    fi
    [ -z "${CASCADE_TEST_PG:-}" ] || return 0
    ! pg_is_installed || die "no PostgreSQL server was started for" \
        "the tests: leave ctest its fixture, or name one by CASCADE_TEST_PG"
    [ "$1" = stores ] || skip "$(may_install postgresql)"
    CASCADE_TEST_PG=none
    export CASCADE_TEST_PG
}

# With CASCADE_TEST_SUDO=yes the command is run by sudo.
need_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    [ "${CASCADE_TEST_SUDO:-}" = yes ] ||
        skip "only root may mount: run ctest as root"
    under="sudo env CASCADE_SOURCE_DIR=$CASCADE_SOURCE_DIR
        CASCADE_BINARY_DIR=$CASCADE_BINARY_DIR"
}

# need_program PACKAGE PROGRAM
need_program() {
    PATH=$PATH:/usr/sbin command -v "$2" >/dev/null || skip "$(may_install "$1")"
}

# The zones, and the C library's program that shows them.
need_zones() {
    [ -d /usr/share/zoneinfo/Europe ] || skip "$(may_install tzdata)"
    need_program libc-bin zdump
}

need() {
    case $1 in
    server | stores) need_server "$1" ;;
    root) need_root ;;
    postgresql) pg_is_installed || skip "$(may_install "$1")" ;;
    libuv) skip "built without libuv: install libuv1-dev, build again" ;;
    man-db) need_program man-db man ;;
    tzdata) need_zones ;;
    *) need_program "$1" "$1" ;;
    esac
}

# Unquoted: a list of names.
for name in $(echo "$needs" | tr , ' '); do
    need "$name"
done
# Unquoted: a command with its words, or none.
[ "${CASCADE_TEST_PG:-}" = none ] || exec ${under:-} "$@"
"$@"
skip "on PostgreSQL, and passed on the other stores:" \
    "$(may_install postgresql)"
