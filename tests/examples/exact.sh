#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   exact.sh PROGRAM
#
# An id that no double holds comes back digit by digit; a text that is no JSON is
# refused at the start, and what is no id in the node.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$1" >told
printf 'books 9007199254740993\n%s\n' \
    '{"id":9007199254740993,"next":9007199254740994}' | diff - told

! "$1" '{"id": 1' 2>told || exit 1
grep -q '^input: not acceptable JSON at byte 8' told
! "$1" '{"id": 9223372036854775808}' 2>told || exit 1
grep -q 'no id: get integer: the number is no integer of 64 bits' told
! "$1" '{}' 2>told || exit 1
grep -q 'no id: get integer: there is no such item' told
