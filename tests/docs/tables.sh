#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   tables.sh ROOT
#
# The tables of the guide have each column, each member of full_output, each
# table of the schema and each error code, and none that is not there; its
# contents name each chapter, none of which is over 250 lines.
set -eu

cd "$1"
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-tables.XXXXXX")
trap 'rm -rf "$work"' EXIT
status=0

# first_cells DOCUMENT HEADING: what stands in backquotes in the first cells of
# the table under that heading, a line each.
first_cells() {
    awk -v heading="$2" '
        /^## / { inside = $0 == "## " heading; next }
        inside && /^\| `/ {
            split($0, cells, "|")
            gsub(/[`, ]+/, "\n", cells[2])
            printf "%s", cells[2]
        }
    ' "$1" | grep . | sort
}

# told WHAT DOCUMENT HEADING: they are the lines of $work/there.
told() {
    [ -s "$work/there" ] || { echo "$1: none was found" >&2; status=1; }
    first_cells "$2" "$3" | diff "$work/there" - >"$work/differ" && return
    echo "$2, $1 (< is there, > is told):" >&2
    grep '^[<>]' "$work/differ" >&2
    status=1
}

# columns FOLDER TABLE: as its migrations make them.
columns() {
    cat "$1"/*.sql | awk -v table="$2" '
        $0 ~ "^CREATE TABLE IF NOT EXISTS " table " \\(" { inside = 1; next }
        inside && /^\)/ { inside = 0 }
        inside && /^    [a-z_]+ +[A-Za-z]/ { print $1 }
        /^ALTER TABLE / { altered = $3 == table }
        altered && /^    ADD COLUMN / {
            print $3 == "IF" ? $6 : $3
        }
        /;$/ { altered = 0 }
    ' | sort
}

for backend in sqlite postgres; do
    for table in cascades node_executions context_events; do
        columns "sql/$backend" $table >"$work/there"
        told "columns of $backend" docs/sql.md "\`$table\`"
    done
    sed -n 's/^CREATE TABLE IF NOT EXISTS \(cascade_[a-z]*\) .*/\1/p' \
        sql/$backend/*.sql | sort >"$work/there"
    told "tables of $backend" docs/sql.md "The other tables"
done

sed -n -e 's/^ *X([a-z_0-9 ]*, [a-z_]*, "\([a-z_]*\)", .*/\1/p' \
    -e 's/^#define CSC_RECORD_MARK "\(.*\)"/\1/p' \
    src/state/full_output.h | sort >"$work/there"
told members docs/sql.md "The members of \`full_output\`"

# With the rows that may have them.
sed -n 's/^ *X([a-z_0-9 ]*, [a-z_]*, "\([a-z_]*\)", [A-Z]*, \([A-Z]*\)).*/\1 \2/p' \
    src/state/full_output.h | tr A-Z a-z | sort >"$work/there"
[ -s "$work/there" ] || { echo "no members with rows" >&2; status=1; }
sed -n '/^## The members of .full/,/^## The members of .cascade/p' docs/sql.md |
    sed -n 's/^| `\([a-z_]*\)` | \([a-z]*\) | .*/\1 \2/p' |
    grep -v '^written_by_' | sort | diff "$work/there" - >&2 || status=1

grep -rhoE '&meta, *"[a-z_]+"' src/change/build | cut -d '"' -f 2 |
    sort -u >"$work/there"
told "members of a start" docs/sql.md "The members of \`cascade\`"

sed -n 's/^ *X(\(CASCADE_[A-Z_]*\), [0-9]*, .*/\1/p' include/cascade/cascade.h |
    sort >"$work/there"
told codes docs/errors.md "All codes"

for chapter in docs/*.md; do
    name=${chapter#docs/}
    [ "$name" = README.md ] || grep -qF "]($name):" docs/README.md ||
        { echo "docs/README.md does not name $name" >&2; status=1; }
    [ "$(wc -l <"$chapter")" -le 250 ] ||
        { echo "$chapter: over 250 lines" >&2; status=1; }
done

exit $status
