#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   style.sh ROOT
#
# The limits of the style that a machine can see: 80 columns, no tabs, no
# function over 70 lines, no file over 1,000, one licence line a file, nothing
# left to do in a comment, and none that says of a function in src/ that it is
# called with a mutex held: its name does, by the suffix _locked.
set -eu

cd "$1"
sources=$(find include src docs examples tests bench -name '*.[ch]' | sort)
[ -n "$sources" ] || { echo "no sources in $1" >&2; exit 1; }

# A function goes from the line with its name in the first column to the brace
# in the first column; the format check makes sure that they stand there.
# Continuation bytes of UTF-8 do not count as columns.
LC_ALL=C awk '
function report(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}
FNR == 1 {
    start = 0
    if ($0 !~ /SPDX-License-Identifier: MIT/)
        report("the first line does not name the licence")
}
FNR == 1001 { report("over 1,000 lines") }
/\t/ { report("a tab") }
/[ \t]$/ { report("a blank at the end of the line") }
/(^|[^A-Za-z])(TODO|FIXME|XXX|HACK)([^A-Za-z]|$)/ { report("something left to do") }
FILENAME ~ /^src\// &&
/(^|[^A-Za-z])Locked[.,:;]|[Ww]ith the mutex held|\/\* locked \*\// {
    report("a comment says that it is locked: give the name a _locked")
}
{
    columns = $0
    gsub(/[\200-\277]/, "", columns)
    if (length(columns) > 80)
        report("over 80 columns")
}
/^[A-Za-z_][A-Za-z0-9_]*\(/ { start = FNR }
/^}/ {
    if (start && FNR - start + 1 > 70)
        report("the function ends here after " FNR - start + 1 " lines")
    start = 0
}
END { exit bad }
' $sources >&2

# Scripts and build files: the licence alone.
status=0
for file in $(find CMakeLists.txt src docs examples tests bench cmake .ci sql \
    -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.sql' \
    -o -name '*.map' -o -path .ci/run 2>/dev/null | sort); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
        { echo "$file: no licence in its first two lines" >&2; status=1; }
done
exit "$status"
