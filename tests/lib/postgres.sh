# SPDX-License-Identifier: MIT
#
# A throwaway PostgreSQL server: its data and its only socket lie in a temporary
# folder, it listens on no address, and nothing of it stays behind. To be
# sourced, after stage.sh.
#
#   pg_is_installed            whether there are the programs of a server
#   pg_create                  a new folder with a database; sets PG_FOLDER
#   pg_start [NAME=VALUE...]   start the server in PG_FOLDER, wait until it
#                              answers; sets and exports CASCADE_TEST_PG
#   pg_create_standby FOLDER   a new folder with a copy of the server in FOLDER,
#                              which will follow it by the name "standby"
#   pg_promote                 that becomes a server of its own
#   pg_answers CONNINFO        whether a server answers there
#   pg_crash                   the server dies at once, as in a crash
#   pg_stop                    the server ends all connections and itself
#   pg_keep, pg_restore        what a stopped server has is copied, put back
#   pg_remove                  the server and the folder are gone, and so is
#                              CASCADE_TEST_PG, where it named that server
#
# The folder's path is what identifies a server: another process may set
# PG_FOLDER and go on from there. A script that calls pg_create has to call
# pg_remove in a trap on EXIT.

# pg_bin: the folder of the newest server's programs; "" without any.
pg_bin() {
    newest=
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        [ ! -x "$initdb" ] || newest=${initdb%/initdb}
    done
    printf '%s\n' "$newest"
}

pg_is_installed() {
    [ -n "$(pg_bin)" ]
}

# The server refuses to run as root.
pg_user() {
    if id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# pg_as_user COMMAND...: as the server's user, in the server's folder.
pg_as_user() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd "$PG_FOLDER" && setpriv --reuid="$(pg_user)" \
            --regid="$(id -g "$(pg_user)")" --clear-groups \
            env HOME="$PG_FOLDER" "$@")
    else
        (cd "$PG_FOLDER" && "$@")
    fi
}

# pg_run PROGRAM ARGUMENTS...: one of PostgreSQL's programs.
pg_run() {
    program=$(pg_bin)/$1
    [ -x "$program" ] || die "no PostgreSQL server's $1 in /usr/lib/postgresql"
    shift
    pg_as_user "$program" "$@"
}

pg_make_folder() {
    PG_FOLDER=$(mktemp -d "$1/cascade-pg.XXXXXX")
    [ "$(id -u)" -ne 0 ] || chown "$(pg_user)" "$PG_FOLDER"
}

# A socket's path has at most 107 bytes, and the server's user must get to it:
# TMPDIR where that holds, otherwise /tmp.
pg_make_any_folder() {
    pg_make_folder "${TMPDIR:-/tmp}"
    if [ "${#PG_FOLDER}" -gt 80 ] || ! pg_as_user test -w "$PG_FOLDER"; then
        rm -rf "$PG_FOLDER"
        pg_make_folder /tmp
    fi
    chmod 700 "$PG_FOLDER"
}

pg_create() {
    pg_make_any_folder
    quietly pg_run initdb --pgdata="$PG_FOLDER/data" --username=cascade \
        --auth=trust --encoding=UTF8 --no-locale --no-sync ||
        die "initdb failed"
    cat >>"$PG_FOLDER/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$PG_FOLDER'
max_connections = 200
shared_buffers = 64MB
END
}

pg_create_standby() {
    primary=$1
    pg_make_any_folder
    quietly pg_run pg_basebackup --pgdata="$PG_FOLDER/data" --no-sync \
        --checkpoint=fast --write-recovery-conf \
        --dbname="host=$primary user=cascade application_name=standby" ||
        die "pg_basebackup failed"
    echo "unix_socket_directories = '$PG_FOLDER'" \
        >>"$PG_FOLDER/data/postgresql.conf"
}

pg_promote() {
    quietly pg_run pg_ctl promote --pgdata="$PG_FOLDER/data" --wait \
        --timeout=300 || die "the standby was not promoted"
}

pg_start() {
    options=
    for option in "$@"; do
        options="$options -c $option"
    done
    pg_run pg_ctl start --pgdata="$PG_FOLDER/data" --wait --timeout=300 \
        --log="$PG_FOLDER/log" --options="$options" >/dev/null 2>&1 </dev/null ||
        pg_start_failed
    pg_run psql -X -q -h "$PG_FOLDER" -U cascade -d postgres \
        -c "SELECT 1 FROM pg_database WHERE datname = 'cascade'" -At |
        grep -q 1 || quietly pg_run createdb -h "$PG_FOLDER" -U cascade cascade
    CASCADE_TEST_PG="host=$PG_FOLDER user=cascade dbname=cascade"
    export CASCADE_TEST_PG
}

pg_answers() {
    "$(pg_bin)/psql" -X -q -At -d "$1" -c 'SELECT 1' >/dev/null 2>&1
}

pg_start_failed() {
    tail -n 20 "$PG_FOLDER/log" >&2 || :
    die "the throwaway PostgreSQL server did not start"
}

pg_crash() {
    pg_run pg_ctl stop --pgdata="$PG_FOLDER/data" --mode=immediate --wait \
        >/dev/null 2>&1
}

pg_stop() {
    pg_run pg_ctl stop --pgdata="$PG_FOLDER/data" --mode=fast --wait \
        >/dev/null 2>&1
}

pg_keep() {
    rm -rf "$PG_FOLDER/kept"
    cp -a "$PG_FOLDER/data" "$PG_FOLDER/kept"
}

pg_restore() {
    rm -rf "$PG_FOLDER/data"
    cp -a "$PG_FOLDER/kept" "$PG_FOLDER/data"
}

pg_remove() {
    [ -n "${PG_FOLDER:-}" ] || return 0
    [ ! -f "$PG_FOLDER/data/postmaster.pid" ] || pg_crash || :
    rm -rf "$PG_FOLDER"
    case ${CASCADE_TEST_PG:-} in
    "host=$PG_FOLDER "*) unset CASCADE_TEST_PG ;;
    esac
    PG_FOLDER=
}
