#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A check that cannot fail is no check: each one here meets a small tree that it
# must accept, and the same tree with one thing wrong.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-checks.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree
licence='/* SPDX-License-Identifier: MIT */'

good_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/include/cascade" "$tree/src/base" "$tree/src/time" \
        "$tree/src/engine" "$tree/src/store/sqlite" "$tree/src/held/run" \
        "$tree/src/store/memory" "$tree/src/store/postgres" "$tree/src/state" \
        "$tree/src/cli" "$tree/examples" "$tree/docs/programs" \
        "$tree/tests/packaging" "$tree/cmake" "$tree/sql" "$tree/.ci"
    cp "$here/../../.clang-format" "$tree"
    printf '# SPDX-License-Identifier: MIT\n' >"$tree/CMakeLists.txt"
    printf '%s\n#include <stddef.h>\n' "$licence" \
        >"$tree/include/cascade/cascade.h"
    printf '%s\n#include "base/a.h"\n' "$licence" >"$tree/src/store/store.c"
    printf '%s\nint cascade_use(void);\n' "$licence" \
        >"$tree/tests/packaging/options.inc"
    printf '%s\nint x;\n' "$licence" >"$tree/docs/programs/a.c"
    printf '```c\nint x;\n```\n' >"$tree/docs/README.md"
}

check() {
    sh "$here/$1" "$tree" >"$work/log" 2>&1
}

accepts() {
    good_tree
    check "$1" || { cat "$work/log"; echo "$1 refuses a good tree"; exit 1; }
}

# refuses CHECK FILE TEXT: with this file added.
refuses() {
    good_tree
    printf "$3" >"$tree/$2"
    ! check "$1" || { echo "$1 accepts $2: $3"; exit 1; }
}

accepts headers.sh
refuses headers.sh include/cascade/x.h 'size_t cascade_x(void);\n'
refuses headers.sh include/cascade/x.h 'int cascade_x(int class);\n'
refuses headers.sh tests/packaging/options.inc 'int x = { .size = 1 };\n'

accepts layering.sh
refuses layering.sh src/base/a.c '#include "state/state.h"\n'
refuses layering.sh src/base/a.c '#include "time/civil.h"\n'
refuses layering.sh src/time/a.c '#include "state/state.h"\n'
refuses layering.sh src/time/a.c '#include "store/store.h"\n'
refuses layering.sh src/engine/a.c '#include "store/sqlite/internal.h"\n'
refuses layering.sh src/engine/a.c '#include <libpq-fe.h>\n'
refuses layering.sh src/store/a.c '#include "query/wait.h"\n'
refuses layering.sh src/state/a.c '#include "held/run/run.h"\n'
refuses layering.sh src/held/run/a.c '#include "commit/lane.h"\n'
refuses layering.sh src/held/run/a.c '#include "attic/lane.h"\n'
refuses layering.sh src/store/memory/a.c '#include "store/sqlite/internal.h"\n'
refuses layering.sh src/store/memory/a.c '#include <sqlite3.h>\n'
refuses layering.sh examples/a.c '#include "base/json/json.h"\n'
refuses layering.sh docs/programs/a.c '#include "base/json/json.h"\n'
refuses layering.sh src/cli/a.c '#include "base/json/json.h"\n'
refuses layering.sh src/cli/a.c '#include <libpq-fe.h>\n'
refuses layering.sh include/cascade/a.h '#include "base/json/json.h"\n'
refuses layering.sh src/engine/a.c 'run("SELECT 1");\n'
refuses layering.sh src/store/postgres/a.c 'run("SELECT 1");\n'
refuses layering.sh src/store/postgres/a.c 'add(sql, "\\n  AND c.id = ");\n'
refuses layering.sh src/store/postgres/a.c 'run("BEGIN;");\n'
refuses layering.sh src/store/sqlite/a.c 'run("PRAGMA synchronous = OFF");\n'
refuses layering.sh src/held/run/a.c 'pthread_mutex_lock(&engine->mutex);\n'
refuses layering.sh src/base/a.c 'pthread_mutex_unlock(mutex);\n'
refuses layering.sh src/store/a.c 'if (pthread_mutex_trylock(m) == 0)\n'
refuses layering.sh src/store/memory/a.c 'pthread_rwlock_wrlock (&lock);\n'

# objects LINE...: what floors.sh is given, made of "FILE C-TEXT".
objects() {
    rm -rf "$work/objects"
    : >"$work/objects.list"
    for line in "$@"; do
        object=$work/objects/x.dir/${line%% *}.o
        mkdir -p "$(dirname "$object")"
        printf '%s\n' "${line#* }" | gcc -w -x c -c -o "$object" -
        printf '%s\n' "$object" >>"$work/objects.list"
    done
}

calls_of() {
    sh "$here/floors.sh" "$work/objects.list" >"$work/log" 2>&1
}

objects 'state/a.c void a(void) {}' 'held/run/b.c void b(void) { a(); }' \
    'held/c.c void c(void) { b(); d(); }' 'held/d.c void d(void) { c(); }'
calls_of || { cat "$work/log"; echo "floors.sh refuses good calls"; exit 1; }
objects 'state/a.c void a(void) { b(); }' 'held/run/b.c void b(void) {}'
! calls_of || { echo "floors.sh accepts a call upward"; exit 1; }
objects 'attic/a.c void a(void) {}'
! calls_of || { echo "floors.sh accepts a floor of no name"; exit 1; }
objects 'state/a.c void a(void) { sem_post(); }'
! calls_of || { echo "floors.sh accepts a semaphore in a pure floor"; exit 1; }
objects 'time/a.c void a(void) { open(); }'
! calls_of || { echo "floors.sh accepts a file in the floor of time"; exit 1; }
objects 'held/a.c void a(void) { b(); }' 'held/b.c void b(void) { c(); }' \
    'held/c.c void c(void) { d(); }' 'held/d.c void d(void) { e(); }' \
    'held/run/e.c void e(void) { a(); }'
! calls_of || { echo "floors.sh accepts a circle of five"; exit 1; }

accepts documents.sh
refuses documents.sh A.md '`src/base/gone.c`\n'
refuses documents.sh A.md '[here](GONE.md)\n'
refuses documents.sh docs/A.md '[here](GONE.md)\n'
refuses documents.sh docs/A.md '`cascade_gone()`\n'

accepts ../docs/blocks.sh
refuses ../docs/blocks.sh README.md '```c\nint y;\n```\n'
refuses ../docs/blocks.sh docs/A.md '```c\nint y;\n```\n'
refuses ../docs/blocks.sh docs/A.md '```c\nint x\n```\n'
refuses ../docs/blocks.sh docs/A.md '```c\nint x;\n'

# The tables of the guide are those of the tree itself, with one thing changed.
root=$here/../..
tables_of() {
    rm -rf "$tree"
    mkdir -p "$tree/include/cascade" "$tree/src/state"
    cp -R "$root/sql" "$root/docs" "$tree"
    cp "$root/include/cascade/cascade.h" "$tree/include/cascade"
    cp "$root/src/state/full_output.h" "$tree/src/state"
    cp -R "$root/src/change" "$tree/src"
    sed -i "$1" "$tree/docs/sql.md" "$tree/docs/errors.md" \
        "$tree/docs/README.md"
    check ../docs/tables.sh
}

tables_of '' || { cat "$work/log"; echo "tables.sh refuses the tree"; exit 1; }
for change in '/^| `fn_id`/d' 's/^| `ui_value`/| `gone`/' '/^| `late`/d' \
    's/^| `over` | running/| `over` | ended/' '/^| `cascade_keys`/d' \
    '/^| `CASCADE_ERR_LOST`/d' 's/^| `CASCADE_OK`/| `CASCADE_GONE`/' \
    '/^| `forked_from`/d' '/queues.md/d'; do
    ! tables_of "$change" || { echo "tables.sh accepts $change"; exit 1; }
done

accepts style.sh
refuses style.sh src/base/a.c 'int x;\n'
refuses style.sh src/base/a.c "$licence\\n\\tint x;\\n"
refuses style.sh src/base/a.c "$licence\\n/* TO""DO: x */\\n"
refuses style.sh src/base/a.c "$licence\\n/* $(printf '%080d' 0) */\\n"
refuses style.sh src/base/a.c "$licence\\n$(seq -f '/* %g */\n' -s '' 1000)"
refuses style.sh src/base/a.c \
    "$licence\\nint\\nf(void)\\n{$(seq -f '\n    g(%g);' -s '' 70)\\n}\\n"
refuses style.sh src/base/a.c "$licence\\n/* It waits. Locked. */\\n"
refuses style.sh src/base/a.c "$licence\\n/* With the mutex held. */\\n"
refuses style.sh cmake/a.cmake 'set(x 1)\n'

accepts format.sh
refuses format.sh src/base/a.c "$licence\\nint  x;\\n"

# library TEXT...: the two libraries made of this one source.
library() {
    printf '%s\n' "$@" >"$work/a.c"
    gcc -w -fPIC -c -o "$work/a.o" "$work/a.c"
    gcc -shared -o "$work/liba.so" "$work/a.o"
    rm -f "$work/liba.a"
    ar rc "$work/liba.a" "$work/a.o"
}

check_symbols() {
    sh "$here/symbols.sh" "$tree" "$work/liba.so" "$work/liba.a" \
        >"$work/log" 2>&1
}

refuses_library() {
    library "$@"
    ! check_symbols || { echo "symbols.sh accepts: $*"; exit 1; }
}

good_tree
printf 'CASCADE_API int cascade_x(int (*f)(int));\n' \
    >"$tree/include/cascade/cascade.h"
x='int cascade_x(void *f) { return 0; }'
library "$x"
check_symbols || { cat "$work/log"; echo "symbols.sh refuses it"; exit 1; }
refuses_library 'int cascade_y;' "$x"
refuses_library ''
refuses_library 'int foreign(void) { return 0; }' "$x"
refuses_library 'int cascade_x(void *f) { return printf("x%p", f); }'
refuses_library 'int cascade_x(void *f) { abort(); }'
refuses_library 'int cascade_x(void *f) { return !malloc((unsigned long)f); }'
refuses_library 'int cascade_x(void *f) { _exit(1); }'
refuses_library 'int cascade_x(void *f) { return vfork(); }'
refuses_library 'int cascade_x(void *f) { return sigaction(1, f, 0); }'
refuses_library 'int cascade_x(char **f) { return __vasprintf_chk(f, 1, "", 0); }'

# hardened OPTION...: a library and an archive that need all that is looked for,
# made with all of the options, and then these.
hardened() {
    cat >"$work/b.c" <<'END'
#include <string.h>
int fill(char *text);
int b(const char *from);
int b(const char *from)
{
    char text[20000];
    strcpy(text, from);
    return fill(text);
}
END
    gcc -g0 -O2 -fPIC -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
        -fstack-clash-protection $cf "$@" -c -o "$work/b.o" "$work/b.c"
    gcc -shared -Wl,-z,relro,-z,now,-z,noexecstack "$@" -o "$work/libb.so" \
        "$work/b.o"
    rm -f "$work/libb.a"
    ar rc "$work/libb.a" "$work/b.o"
}

check_hardening() {
    sh "$here/hardening.sh" gcc "$1" "$work/$2" fortified >"$work/log" 2>&1
}

# refuses_hardening KIND FILE OPTION...
refuses_hardening() {
    kind=$1
    file=$2
    shift 2
    hardened "$@"
    ! check_hardening "$kind" "$file" ||
        { echo "hardening.sh accepts a $kind with $*"; exit 1; }
}

cf=
x86=$(gcc -dumpmachine | grep -x 'x86_64-.*' || :)
[ -z "$x86" ] || cf=-fcf-protection
hardened
for made in 'library libb.so' 'archive libb.a'; do
    check_hardening $made || { cat "$work/log"; exit 1; }
done
refuses_hardening library libb.so -Wl,-z,lazy
refuses_hardening library libb.so -Wl,-z,norelro
refuses_hardening library libb.so -Wl,-z,execstack
refuses_hardening library libb.so -fno-stack-protector
refuses_hardening library libb.so -U_FORTIFY_SOURCE
refuses_hardening command libb.so
if [ -n "$x86" ]; then
    refuses_hardening library libb.so -fno-stack-clash-protection
    refuses_hardening archive libb.a -fcf-protection=none
fi
