#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   statements.sh CMAKE ROOT
#
# Statements come out of the library as they stand in their files, without the
# comments, by their names; a file that is not of the form is refused. All are
# used.
set -eu

cmake=$1
root=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-statements.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sql" "$work/store/postgres"

embed() {
    "$cmake" -D BACKEND=postgres -D FOLDER="$work/sql" -D OUTPUT="$work/out.c" \
        -D HEADER="$work/store/postgres/statements.h" \
        -P "$root/cmake/EmbedStatements.cmake"
}

# refused TEXT: as a file beside the good one.
refused() {
    printf -- "$1" >"$work/sql/bad.sql"
    ! embed >/dev/null 2>&1 || { echo "not refused: $1" >&2; exit 1; }
    rm "$work/sql/bad.sql"
}

# compiles TEXT
compiles() {
    printf -- "$1" >"$work/sql/more.sql"
    embed
    rm "$work/sql/more.sql"
    clang -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$root/include" \
        -I"$root/src" -I"$work" $(pkg-config --cflags libcjson) \
        -o "$work/main" "$work/main.c" "$work/out.c" 2>"$work/log"
}

cat >"$work/sql/good.sql" <<'END'
-- A file.

-- name: first
-- verb: try
-- one: first_one
-- form: other = more rest
--
-- Words; [and more] "of them".
SELECT "a" /* not a limit */, '[{}' FROM unnest($1::int4[],
  $2::text[]) AS public.g
-- if more
WHERE ARRAY[1; 2]
-- unless rest
LIMIT 500 /* CASCADE_DELETE_ROWS_MAX */
-- end
;

-- name: last
A;
B;
END
cat >"$work/main.c" <<'END'
#include <stdio.h>
#include "store/postgres/statements.h"
int main(void)
{
    for (int i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        const csc_statement *it = &csc_postgres_statements[i];
        printf("%s|%s|%u|%d\n", it->sql, it->verb ? it->verb : "", it->parts,
               it->one);
    }
    return CSC_POSTGRES_FIRST + CSC_POSTGRES_OTHER + CSC_POSTGRES_LAST == 5 &&
        CSC_POSTGRES_FIRST_IF_MORE + CSC_POSTGRES_FIRST_IF_REST == 3 ? 0 : 1;
}
END
compiles '' || { cat "$work/log"; exit 1; }
"$work/main" >"$work/got"
head='SELECT "a" /* not a limit */, '"'[{}'"' FROM '
rest=' AS @.g
`aWHERE ARRAY[1; 2]
`.`BLIMIT 500
`.'
diff - "$work/got" <<END
${head}unnest(\$1::int4[],
  \$2::text[])$rest|try|0|1
${head}(VALUES (\$1::int4,
  \$2::text))$rest|try|0|0
${head}unnest(\$1::int4[],
  \$2::text[])$rest|try|3|0
A;
B||0|0
END
! compiles '-- name: x\nLIMIT 501 /* CASCADE_DELETE_ROWS_MAX */;\n' ||
    { echo "a wrong limit compiles" >&2; exit 1; }
! compiles '-- name: first\nA;\n' ||
    { echo "two of one name compile" >&2; exit 1; }

refused 'SELECT 1;\n'
refused '-- name: Bad name\nSELECT 1;\n'
refused '-- name: a\nSELECT 1\n'
refused '-- name: a\nSELECT 1 -- ;\n'
refused '-- name: a\n-- if x\nSELECT 1;\n'
refused '-- name: a\n-- form: b = x\nSELECT 1;\n'
refused '-- name: a\n-- one: b\nSELECT 1;\n'
refused '-- name: a\nSELECT $1 @> $2;\n'
refused '-- name: a\nSELECT `a`;\n'
refused '-- name: a\nSELECT E'"'"'\\\\n'"'"';\n'
rm "$work/sql/good.sql"
! embed >/dev/null 2>&1 || { echo "an empty folder is accepted" >&2; exit 1; }

# Every statement of the tree is used.
for backend in sqlite postgres; do
    prefix=CSC_$(echo "$backend" | tr a-z A-Z)
    sed -n 's/^-- name: //p; s/^-- form: \(.*\) =.*/\1/p' \
        "$root/sql/$backend/statements"/*.sql | tr a-z A-Z >"$work/names"
    while read -r name; do
        grep -rqw "${prefix}_$name" "$root/src/store/$backend" ||
            { echo "$backend: nobody uses $name" >&2; exit 1; }
    done <"$work/names"
    [ -s "$work/names" ]
done
