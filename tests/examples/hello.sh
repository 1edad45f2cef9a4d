#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   hello.sh PROGRAM
#
# Run twice, the program gives its result twice, and its node runs once.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$1" >first
"$1" >second
printf 'greet runs\n"hello, world"\n' | diff - first
printf '"hello, world"\n' | diff - second
