# SPDX-License-Identifier: MIT
#
# For the examples that use the default schema: a database of their own, on the
# server that CASCADE_TEST_PG names. To be sourced.
#
#   database_create NAME    makes it, with a name that begins so; sets
#                           DATABASE, its conninfo
#   database_drop           it is gone, and whoever is connected to it

database_admin() {
    PGOPTIONS='-c client_min_messages=warning' \
        psql -X -q -v ON_ERROR_STOP=1 -c "$1" "${CASCADE_TEST_PG:?names no server}"
}

database_create() {
    database_name=$1_$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
    database_admin "CREATE DATABASE $database_name"
    DATABASE="$CASCADE_TEST_PG dbname=$database_name"
}

# FORCE gives whoever is connected five seconds, which may be too few.
database_drop() {
    [ -n "${database_name:-}" ] || return 0
    database_end=$(($(date +%s) + 60))
    until database_admin "DROP DATABASE IF EXISTS $database_name WITH (FORCE)"
    do
        [ "$(date +%s)" -lt "$database_end" ] || return 1
        sleep 0.1
    done
}
