#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   wire.sh PROGRAM
#
# Runs the tests of the wire against a server of their own on the loopback that
# speaks TLS alone there and asks for passwords or certificates. All keys are
# made here, are good for a day, and are gone with the folder.
set -eu

wire=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../lib/stage.sh"
. "$here/../lib/postgres.sh"

cleanup() {
    pg_remove
    rm -rf "${keys:-}"
    quietly_cleanup
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

keys=$(mktemp -d "${TMPDIR:-/tmp}/cascade-wire.XXXXXX")
chmod 700 "$keys"

# make_root NAME: NAME.crt, NAME.key
make_root() {
    quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
        -nodes -days 1 -subj "/CN=$1" -keyout "$keys/$1.key" \
        -out "$keys/$1.crt"
}

# make_key NAME COMMON-NAME: signed by the root.
make_key() {
    quietly openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -subj "/CN=$2" -keyout "$keys/$1.key" -out "$keys/$1.csr"
    quietly openssl x509 -req -days 1 -in "$keys/$1.csr" -CA "$keys/root.crt" \
        -CAkey "$keys/root.key" -CAcreateserial -out "$keys/$1.crt"
}

make_root root
make_root stranger
make_key server localhost
make_key client wire_certificate
# The client's key is locked with a passphrase.
quietly openssl pkey -aes256 -passout pass:m4rker-passphrase \
    -in "$keys/client.key" -out "$keys/locked.key"
chmod 600 "$keys"/*.key

pg_create
for name in server.crt server.key root.crt; do
    cp "$keys/$name" "$PG_FOLDER/data/$name"
    [ "$(id -u)" -ne 0 ] || chown "$(pg_user)" "$PG_FOLDER/data/$name"
done
cat >"$PG_FOLDER/data/pg_hba.conf" <<'END'
local   all cascade                       trust
hostssl all wire_certificate 127.0.0.1/32 cert
hostssl all wire_password    127.0.0.1/32 scram-sha-256
END

# A port nobody has: the first of some that the server can listen on. Its
# socket's name has the port in it, so that is told too.
port=$((20000 + $$ % 20000))
tries=0
export PGPORT="$port"
until (pg_start "listen_addresses=127.0.0.1" "port=$port" ssl=on \
    ssl_ca_file=root.crt) >/dev/null 2>&1; do
    port=$((port + 101))
    PGPORT=$port
    tries=$((tries + 1))
    [ "$tries" -lt 10 ] || die "no server with TLS: $(tail -3 "$PG_FOLDER/log")"
done

WIRE_ADMIN="host=$PG_FOLDER port=$port user=cascade dbname=cascade"
pg_run psql -X -q -h "$PG_FOLDER" -p "$port" -U cascade -d postgres \
    -v ON_ERROR_STOP=1 -c "SET password_encryption = 'scram-sha-256'" \
    -c "CREATE ROLE wire_password LOGIN PASSWORD 'm4rker-password'" \
    -c "CREATE ROLE wire_certificate LOGIN" \
    -c "GRANT CREATE ON DATABASE cascade TO wire_password" \
    -c "GRANT wire_password TO wire_certificate"

status=0
WIRE_ADMIN=$WIRE_ADMIN WIRE_PORT=$port WIRE_KEYS=$keys "$wire" || status=$?
exit "$status"
