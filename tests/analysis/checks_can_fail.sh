#!/bin/sh
# SPDX-License-Identifier: MIT
#
# An analysis that cannot fail is none: each one here meets a small tree or
# program that it must accept, and the same with one thing wrong.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-analyses.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
tree=$work/tree
mkdir -p "$tree/src/base" "$tree/src/engine" "$tree/include"
cp "$root/.clang-tidy" "$tree"
cp -r "$root/include/cascade" "$tree/include"
cp "$root/src/base/error.h" "$tree/src/base"

# source TEXT...: the only source of the tree besides base/error.h.
source_of() {
    printf '%s\n' '#include <stdio.h>' '#include <stdlib.h>' \
        '#include <string.h>' '#include "base/error.h"' "$@" \
        >"$tree/src/engine/a.c"
}

analysed() {
    sh "$here/analyse.sh" "$1" "$tree" >"$work/log" 2>&1
}

# accepts TOOL TEXT..., refuses TOOL WORD TEXT...: WORD names the fault.
accepts() {
    tool=$1
    shift
    source_of "$@"
    analysed "$tool" ||
        { cat "$work/log"; echo "$tool refuses: $*"; exit 1; }
}

refuses() {
    tool=$1
    word=$2
    shift 2
    source_of "$@"
    ! analysed "$tool" || { echo "$tool accepts: $*"; exit 1; }
    grep -q "$word" "$work/log" ||
        { cat "$work/log"; echo "$tool does not say $word"; exit 1; }
}

good='int a(char *at);
int a(char *at)
{
    *at = 1;
    return 0;
}'
leak='int a(void);
int a(void)
{
    char *at = malloc(4);
    if (at == NULL)
        return 1;
    *at = 0;
    return puts(at);
}'
null='int a(int *at);
int a(int *at)
{
    if (at == NULL)
        (void)puts("none");
    *at = 2;
    return 0;
}'
# Good only for one who knows that csc_fail() gives no CASCADE_OK.
failing='static cascade_err get(int x, int **out)
{
    if (x != 1)
        return csc_fail(CASCADE_ERR_INVALID, "x");
    *out = malloc(sizeof(**out));
    if (*out == NULL)
        return csc_fail_memory();
    **out = 1;
    return CASCADE_OK;
}
int a(int x);
int a(int x)
{
    int *at = NULL;
    int got;
    if (get(x, &at) != CASCADE_OK)
        return 0;
    got = *at;
    free(at);
    return got;
}'

for tool in gcc clang-tidy cppcheck; do
    accepts "$tool" "$good"
    accepts "$tool" "$failing"
done
refuses gcc analyzer-malloc-leak "$leak"
refuses gcc analyzer-null-dereference 'int a(void);
int a(void) { int *at = NULL; return *at; }'
refuses clang-tidy clang-analyzer-unix.Malloc "$leak"
refuses clang-tidy clang-analyzer-core.NullDereference "$null"
refuses clang-tidy cert-err33-c 'void a(char *to);
void a(char *to) { snprintf(to, 4, "%s", "abcdef"); }'
refuses clang-tidy bugprone-suspicious-string-compare 'int a(const char *x);
int a(const char *x) { if (strcmp(x, "y")) return 1; return 2; }'
refuses cppcheck nullPointerRedundantCheck 'int a(int *at);
int a(int *at) { *at = 2; return at == NULL ? 1 : 0; }'
refuses cppcheck unreadVariable 'int a(int x);
int a(int x) { int y = x; y = 4; return x; }'

# A source that does not compile is no clean source.
for tool in gcc clang-tidy; do
    refuses "$tool" error 'int a(void) { return b; }'
done

# program TEXT: its source.
program() {
    printf '%s\n' '#include <pthread.h>' '#include <stdio.h>' \
        '#include <stdlib.h>' "$1" >"$work/a.c"
}

# checked TEXT: as valgrind sees it.
checked() {
    program "$1"
    gcc -g -o "$work/test_a" "$work/a.c"
    sh "$here/memcheck.sh" "$work" a >"$work/log" 2>&1
}

lost='int main(void) { return malloc(4) == NULL; }'
unset='int main(void) { int *at = malloc(4); return *at == 1 ? 1 : 0; }'
# Often: two accesses at the very same moment may be seen by neither.
race='static volatile int x;
static void *add(void *at)
{
    for (int i = 0; i < 10000; i++)
        x++;
    return at;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    return pthread_join(thread, NULL);
}'
outside='int main(int argc, char **argv)
{
    char text[4] = "abc";
    (void)argv;
    return text[argc + 3] == 1 ? 1 : 0;
}'
overflow='int main(int argc, char **argv)
{
    (void)argv;
    return 0x7fffffff + argc == 1 ? 1 : 0;
}'

checked 'int main(void) { return 0; }' ||
    { cat "$work/log"; echo "valgrind refuses a good program"; exit 1; }

# found FAULT WORDS: valgrind says these words of it.
found() {
    ! checked "$1" || { echo "valgrind accepts: $1"; exit 1; }
    grep -q "$2" "$work/log" ||
        { cat "$work/log"; echo "valgrind does not say $2"; exit 1; }
}

found "$lost" 'definitely lost'
found "$unset" 'uninitialised'
found 'int main(void) { return 3; }' 'test_a failed'
if sh "$here/memcheck.sh" "$work" b >"$work/log" 2>&1; then
    echo "a program that is not there passes"
    exit 1
fi

# sanitized FAULT WORDS COMPILER SANITIZERS: the program ends badly, with these
# words.
sanitized() {
    program "$1"
    "$3" -g -w -fsanitize="$4" -fno-sanitize-recover=all -o "$work/a" \
        "$work/a.c" -pthread
    ! "$work/a" 2>"$work/log" || { echo "$3, $4 accepts: $1"; exit 1; }
    grep -q "$2" "$work/log" ||
        { cat "$work/log"; echo "$4 does not say $2"; exit 1; }
}

sanitized "$lost" 'detected memory leaks' gcc address,undefined
sanitized "$outside" 'stack-buffer-overflow' gcc address
sanitized "$overflow" 'signed integer overflow' gcc address,undefined
sanitized "$race" 'data race' clang thread

# Coverage: of two branches one is taken, or both.
counted=$work/counted
mkdir -p "$counted/src/engine" "$counted/tests/analysis" "$counted/build"
cp "$here/gcovr.cfg" "$counted/tests/analysis"

# covered MINIMUM VALUE: the tests have called it with these values.
covered() {
    printf 'engine %s\n' "$1" >"$counted/tests/analysis/coverage.minimum"
    shift
    (cd "$counted/build" && rm -f ./*.gcda &&
        gcc --coverage -O1 -o a ../src/engine/a.c &&
        for value in "$@"; do ./a $value || :; done)
    sh "$here/coverage.sh" "$counted" "$counted/build" >"$work/log" 2>&1
}

printf '%s\n' 'int main(int argc, char **argv)' '{' '    (void)argv;' \
    '    if (argc > 1)' '        return 1;' '    return 2;' '}' \
    >"$counted/src/engine/a.c"
covered '100 100' '' x ||
    { cat "$work/log"; echo "coverage.sh refuses all of it"; exit 1; }
! covered '100 100' '' || { echo "coverage.sh accepts half of it"; exit 1; }
grep -q below "$work/log" ||
    { cat "$work/log"; echo "coverage.sh failed of something else"; exit 1; }
covered '60 50' '' ||
    { cat "$work/log"; echo "coverage.sh refuses half of it"; exit 1; }
