#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   tokens.sh ROOT
#
# Tokens are compared in constant time: by csc_uuid_compare_secret() alone, and
# nothing in that function ends its loop early.
set -eu

cd "$1/src"
status=0
grep -rnE '(csc_uuid_(equal|compare)|memcmp|str[n]?cmp)\([^;]*\<token\>' \
    engine store >&2 && { echo "compared as if it were no secret" >&2; status=1; }
sed -n '/^csc_uuid_compare_secret(/,/^}/p' base/uuid.c |
    grep -nE 'memcmp|break|&&|\|\||if \(' >&2 &&
    { echo "csc_uuid_compare_secret() may end early" >&2; status=1; }
exit "$status"
