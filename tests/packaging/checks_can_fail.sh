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
    mkdir -p "$tree/include/cascade" "$tree/src/base" "$tree/src/engine" \
        "$tree/src/store" "$tree/src/cli" "$tree/examples" "$tree/tests" "$tree/cmake" \
        "$tree/sql" "$tree/.ci"
    cp "$here/../../.clang-format" "$tree"
    printf '# SPDX-License-Identifier: MIT\n' >"$tree/CMakeLists.txt"
    printf '%s\n#include <stddef.h>\n' "$licence" \
        >"$tree/include/cascade/cascade.h"
    printf '%s\n#include "base/a.h"\n' "$licence" >"$tree/src/store/store.c"
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

accepts layering.sh
refuses layering.sh src/base/a.c '#include "engine/state.h"\n'
refuses layering.sh src/engine/a.c '#include "store/sqlite.h"\n'
refuses layering.sh src/engine/a.c '#include <libpq-fe.h>\n'
refuses layering.sh src/store/a.c '#include "engine/state.h"\n'
refuses layering.sh src/store/memory.c '#include <sqlite3.h>\n'
refuses layering.sh examples/a.c '#include "base/json.h"\n'
refuses layering.sh src/cli/a.c '#include "base/json.h"\n'
refuses layering.sh src/cli/a.c '#include <libpq-fe.h>\n'
refuses layering.sh include/cascade/a.h '#include "base/json.h"\n'
refuses layering.sh src/engine/a.c 'run("SELECT 1");\n'

accepts style.sh
refuses style.sh src/base/a.c 'int x;\n'
refuses style.sh src/base/a.c "$licence\\n\\tint x;\\n"
refuses style.sh src/base/a.c "$licence\\n/* TO""DO: x */\\n"
refuses style.sh src/base/a.c "$licence\\n/* $(printf '%080d' 0) */\\n"
refuses style.sh src/base/a.c "$licence\\n$(seq -f '/* %g */\n' -s '' 1000)"
refuses style.sh src/base/a.c \
    "$licence\\nint\\nf(void)\\n{$(seq -f '\n    g(%g);' -s '' 70)\\n}\\n"
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
