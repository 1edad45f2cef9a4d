#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   migrations.sh CMAKE ROOT
#
# A migration comes out of the library as it stands in its file, whatever
# characters it holds and however long it is; a folder with a gap, a wrong name
# or a NUL byte is refused.
set -eu

cmake=$1
root=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-migrations.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/sql"

embed() {
    "$cmake" -D BACKEND=sqlite -D FOLDER="$work/sql" -D OUTPUT="$work/out.c" \
        -P "$root/cmake/EmbedMigrations.cmake"
}

refused() {
    if embed >/dev/null 2>&1; then
        echo "not refused: $*" >&2
        exit 1
    fi
}

cat >"$work/sql/001_nasty.sql" <<'END'
-- ; [[ ]] ]; "quotes" 'single' \n \; \\ ${X} @X@ $<X> $ENV{X} %d ??= é €
SELECT '];', "[a;b", '\', ';';;

	#]=] /* */ ]==]
END
seq -f 'SELECT %g;' 1 3000 >"$work/sql/002_long.sql"
printf 'SELECT 1' >"$work/sql/003_no_newline.sql"
cat >"$work/main.c" <<'END'
#include "store/migrations.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    fputs(csc_migrations_sqlite[argc - 1].sql, stdout);
    return csc_migrations_sqlite_count == 3 ? 0 : 1;
}
END

embed
for compiler in gcc clang; do
    "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror \
        -I"$root/src" -I"$root/include" -o "$work/main" "$work/main.c" "$work/out.c"
    "$work/main" | cmp - "$work/sql/001_nasty.sql"
    "$work/main" 2 | cmp - "$work/sql/002_long.sql"
    "$work/main" 2 3 | cmp - "$work/sql/003_no_newline.sql"
done

mv "$work/sql/002_long.sql" "$work/kept"
refused "a gap"
mv "$work/kept" "$work/sql/2_long.sql"
refused "a wrong name"
rm "$work/sql/2_long.sql"
printf 'a\0b' >"$work/sql/002_nul.sql"
refused "a NUL byte"
