#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   layering.sh ROOT
#
# Includes run one way:
#
#   public headers <- engine -> store interface <- backends;  under all of them
#   time, and under that base
#
# The examples and the `cascade` command use the public headers alone. SQL stands
# in sql/ and src/store/; and in the examples, whose tables are their own.
set -eu

cd "$1"
sources=$(find include src examples -name '*.[ch]' | sort)
[ -n "$sources" ] || { echo "no sources in $1" >&2; exit 1; }

# Names of files without blanks: the list may be split.
awk '
function allowed(file, header) {
    if (header ~ /^["<]cascade\/[a-z]+\.h[">]$/)
        return 1
    if (file ~ /^include\/cascade\/exception\.h$/ &&
        header ~ /^<(cstdio|exception|cxxabi\.h)>$/)
        return 1
    if (file ~ /^include\//)
        return header ~ /^<(cjson\/cJSON|std[a-z]+)\.h>$/
    if (header ~ /^<libpq-fe\.h>$/)
        return file ~ /^(src\/store\/postgres|examples\/)/
    if (header ~ /^<sqlite3\.h>$/)
        return file ~ /^(src\/store\/sqlite|examples\/)/
    if (file ~ /^examples\// || file ~ /^src\/cli\//)
        return header !~ /^"(\.\.|base|time|engine|store)\//
    if (header ~ /^</)
        return 1
    if (file ~ /^src\/base\//)
        return header ~ /^"base\//
    if (file ~ /^src\/time\//)
        return header ~ /^"(base|time)\//
    if (file ~ /^src\/engine\//)
        return header ~ /^"(base\/|time\/|engine\/|store\/store\.h)/
    if (file ~ /^src\/store\//)
        return header ~ /^"(base|time|store)\//
    return 0
}
/^[ \t]*#[ \t]*include/ {
    header = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
    sub(/[ \t].*/, "", header)
    if (!allowed(FILENAME, header)) {
        printf "%s:%d: may not include %s\n", FILENAME, FNR, header
        bad = 1
    }
}
/"(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|PRAGMA|WITH) / {
    if (FILENAME !~ /^(src\/store|examples)\//) {
        printf "%s:%d: SQL outside sql/, src/store/ and examples/\n",
            FILENAME, FNR
        bad = 1
    }
}
END { exit bad }
' $sources >&2
