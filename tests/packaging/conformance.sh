#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   conformance.sh ROOT CMAKE BUILD COMPILER
#
# A store that is built elsewhere passes the conformance suite: the library and
# the suite are installed into a temporary folder; the store of the examples is
# copied, and built with its test program against that folder alone; it passes
# a part of the suite (all of it passes in the test store_file), and the suite
# tells what it has skipped. A store that breaks a promise fails.
set -eu

root=$1
cmake=$2
build=$3
compiler=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-conformance.XXXXXX")
trap 'rm -rf "$work"' EXIT

die() {
    echo "$*" >&2
    exit 1
}
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}

quietly "$cmake" --install "$build" --prefix "$work/first"
[ ! -e "$work/first/include/cascade/conformance.h" ] ||
    die "the suite is installed where nobody asked for it"
quietly "$cmake" --install "$build" --prefix "$work/first" \
    --component conformance
mv "$work/first" "$work/prefix"
! grep -rIl -e "$work/first" -e "$build" "$work/prefix" >&2 ||
    die "these installed files name the place they were made in"

cp -R "$root/examples/store_file" "$work/store"
quietly "$cmake" -S "$work/store" -B "$work/build" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$compiler"
quietly "$cmake" --build "$work/build"

cd "$work"
for tests in '*claim*' '*commit*' '*fence*' '*message*'; do
    TMPDIR=$work "$work/build/suite" "$tests" >"$work/said" 2>&1 ||
        { cat "$work/said" >&2; die "the store does not pass $tests"; }
    grep -q "tests skipped: the store has no sub-table .manage." "$work/said" ||
        die "the suite does not tell what it skips"
done

# One that takes a claim for granted.
sed -i 's/run->claim_no++;//' "$work/store/claim.c"
quietly "$cmake" --build "$work/build"
! TMPDIR=$work "$work/build/suite" '*claim*' >"$work/said" 2>&1 ||
    die "a store that does not count its claims passes"
