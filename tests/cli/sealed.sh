#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sealed.sh COMMAND PLAYER sqlite|postgres
#
# A store with integrity: which mode and which keys the command opens it with,
# where these come from, and that none of them is ever repeated.
set -eu
. "$(dirname -- "$0")/lib.sh"

first=000102030405060708090a0b0c0d0e0f1011121314151617
other=AABBCCDDEEFF00112233445566778899
printf '# made for a test\n\n  first:%s # the first\n' "$first" >"$work/keys"
printf 'other:%s first:%s\n' "$other" "$first" >"$work/both"
printf 'first:%s\n' "$other" >"$work/wrong"
unset CASCADE_SECRETS CASCADE_INTEGRITY

# migrates ARGUMENT...: notes how it exits; its table is another on each backend.
migrates() {
    status=0
    run migrate "$@" >"$work/out" 2>"$work/err" || status=$?
    printf '$ cascade migrate %s\n' "$*" >>"$work/noted"
    sed 's/^/! /' "$work/err" >>"$work/noted"
    printf '[exit %d]\n\n' "$status" >>"$work/noted"
}

# ---- One that is sealed by a secret ----
cli_begin
migrates
t ps --secrets "$work/keys"
migrates --secrets "$work/keys"
migrates --secrets "$work/keys"
migrates --secrets "$work/wrong"
migrates
t start order --id "$(id 1)" --secrets "$work/keys"
t ps
t ps --integrity checksum
t ps --secrets "$work/wrong"
t ps --secrets "$work/both" --json
t start order --id "$(id 2)" --integrity hmac --secrets "$work/both"
t ps --secrets "$work/keys"
t show "$(id 2)" --secrets "$work/both"
t verify --secrets "$work/both"
t verify --secrets "$work/keys"

# Tampered with, by another program.
case $backend in
sqlite) sql() { sqlite3 "${CASCADE_STORE#sqlite:}" "$1"; } ;;
postgres) sql() {
    psql -X -q -v ON_ERROR_STOP=1 -c "SET search_path = \"$schema\"; $1" \
        "$CASCADE_STORE"
} ;;
esac
change() {
    sql "UPDATE node_executions SET location = '$1'
        WHERE cascade_id = '$(id 2)'" >/dev/null
}
t explain "$(id 2)" --secrets "$work/both"
change elsewhere
t explain "$(id 2)" --secrets "$work/both"
t verify --secrets "$work/both" --json
change server
t explain "$(id 2)" --secrets "$work/both" --json

# ---- A counter outside ----
t verify --counter "$work/counter" --secrets "$work/both"
[ "$(ls -l "$work/counter" | cut -c1-10)" = -rw------- ]
sed 's/ [hc]1:.*/ SEAL/' "$work/counter" >>"$work/noted"
t verify --counter "$work/counter" --secrets "$work/both"
t start order --id "$(id 5)" --secrets "$work/both"
t verify --against "$work/counter" --secrets "$work/both"
t verify "$(id 2)" --against "$work/counter" --secrets "$work/both"
sed 's/ 1 h1/ 3 h1/' "$work/counter" >"$work/higher"
t verify --against "$work/higher" --counter "$work/next" \
    --secrets "$work/both"
t delete "$(id 2)" --yes --wait --secrets "$work/both"
t verify --against "$work/counter" --secrets "$work/both"
t verify --against "$work/next" --json --secrets "$work/both"
# What is none, or not whole.
for edit in '1d' '$d' '1s/1$/2/' '2s/ / x/' '2s/ 1 / 0 /' '2s/-.*//' \
    '$s/3/4/' '$a more' '2{h;d};3{G}' 's/h1:.*/h1:/;2s/$/'"$first$first"'/' \
    "2s/\$/$(printf '%0400d' 0)/"; do
    sed "$edit" "$work/next" >"$work/edited"
    t verify --against "$work/edited" --secrets "$work/both"
done
t verify --against "$work/missing" --secrets "$work/both"
t verify --counter "$work/missing/file" --secrets "$work/both"
t verify --against "$work/missing" --counter "$work/unmade" \
    --secrets "$work/both"
[ ! -e "$work/unmade" ]
t start order --id "$(id 2)" --integrity hmac --secrets "$work/both"

# ---- From the environment ----
export CASCADE_SECRETS="first:$first other:$other"
t verify
t verify --integrity none
t verify --secrets "$work/wrong"
export CASCADE_SECRETS="@$work/both"
t verify --json
export CASCADE_INTEGRITY=checksum
t verify
t verify --integrity hmac
export CASCADE_INTEGRITY=much
t verify
unset CASCADE_SECRETS CASCADE_INTEGRITY

# ---- What is no key ----
t verify --integrity hmac
t verify --integrity most
t verify --integrity checksum --secrets "$work/keys"
t verify --secrets "first:$first"
t verify --secrets "$work/none"
for text in '' '# first:00' first "first:$first-" "first:${first}0" "first:00" \
    "fir/st:$first" "first:$first first:$other" "first:"; do
    printf '%s\n' "$text" >"$work/bad"
    t verify --secrets "$work/bad"
done
i=0
while [ $i -le 16 ]; do
    printf 'key%d:%s\n' $i "$first"
    i=$((i + 1))
done >"$work/many"
t verify --secrets "$work/many"

# ---- Checksums, and one that has cascades already ----
cli_begin
migrates --integrity checksum
t start order --id "$(id 3)" --integrity checksum
t verify --integrity checksum
t verify
t verify --secrets "$work/keys"
cli_begin
migrates --integrity none
t start order --id "$(id 4)"
migrates --secrets "$work/keys"
t verify
t verify --counter "$work/unsealed"
t verify --against "$work/next"
[ ! -e "$work/unsealed" ]

# ---- Another key, and trust ----
migrates --trust --secrets "$work/keys"
t verify --secrets "$work/keys"
t reseal --secrets "$work/keys"
t reseal --trust --secrets "$work/keys"
t reseal --trust --yes --secrets "$work/keys"
t verify --secrets "$work/keys"
t reseal --secrets "$work/both" --dry-run --json
t signal "$(id 4)" go --secrets "$work/keys"
t reseal --secrets "$work/both"
printf 'other:%s\n' "$other" >"$work/next"
t verify --secrets "$work/next"
t reseal "$(id 9)" --secrets "$work/both"
t cancel "$(id 4)" --wait --secrets "$work/both"
t reseal --secrets "$work/both"
t verify --secrets "$work/next"


# ---- Adopting ----
t adopt --secrets "$work/next"
t adopt --trust --secrets "$work/next"
t adopt --trust --yes --secrets "$work/next" --json

# No secret is in what was written.
! sed 's/--secrets .*//' "$work/noted" | grep -qiF -e "$first" -e "$other" ||
    { echo "a secret is repeated" >&2; exit 1; }
sed -i "s/$first/FIRST/" "$work/noted"
cli_end sealed.txt
