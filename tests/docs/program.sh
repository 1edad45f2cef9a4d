#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   program.sh PROGRAM STORE
#
# A program of the guide ends well, in a folder of its own.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-guide.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
timeout 300 "$1" "$2"
