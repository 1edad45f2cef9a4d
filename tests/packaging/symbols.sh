#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   symbols.sh ROOT SHARED_LIBRARY STATIC_LIBRARY
#
# What the library gives and takes, read from its symbol tables:
#   - it exports exactly the functions that the public headers mark CASCADE_API;
#   - every other external name is csc_*, so a program that links the archive
#     meets none of ours by accident;
#   - it does not print, end the process, change signal handlers or the locale,
#     nor configure libraries that belong to the host; what a child needs
#     before it becomes another program is called in base/process/process_child.c only;
#   - memory is allocated in base/mem.c and nowhere else, mutexes and conditions
#     are made in base/lock.c.
set -eu

root=$1
shared=$2
static=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-symbols.XXXXXX")
trap 'rm -rf "$work"' EXIT
status=0

fail() {
    echo "$1:" >&2
    sed 's/^/    /' "$2" >&2
    status=1
}

# Declarations end in a semicolon; the name is the first one before a "(".
cat "$root"/include/cascade/*.h | awk '
    BEGIN { RS = ";" }
    /CASCADE_API/ {
        sub(/.*CASCADE_API/, "")
        if (match($0, /cascade_[a-z0-9_]+\(/))
            print substr($0, RSTART, RLENGTH - 1)
    }' | sort >"$work/declared"
nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort >"$work/exported"
[ -s "$work/declared" ] || { echo "no declarations found" >&2; exit 1; }
diff "$work/declared" "$work/exported" >"$work/diff" ||
    fail "declared (<) and exported (>) differ" "$work/diff"

nm --defined-only --extern-only "$static" |
    awk 'NF == 3 && $3 !~ /^(cascade|csc)_/ { print $3 }' >"$work/foreign"
[ ! -s "$work/foreign" ] || fail "external names without our prefix" \
    "$work/foreign"

forbidden='stdout|stderr|stdin|v?f?printf|__v?f?printf_chk|puts|putchar|perror'
forbidden="$forbidden|v?err|v?errx|v?warn|v?warnx|v?syslog|openlog|setlocale"
forbidden="$forbidden|abort|exit|_Exit|quick_exit|atexit|signal"
forbidden="$forbidden|srand|rand|srandom|random|setenv|putenv|umask"
forbidden="$forbidden|cJSON_InitHooks|cJSONUtils_.*|cJSON_Compare"
forbidden="$forbidden|sqlite3_config|sqlite3_shutdown|PQescape.*"
nm -D --undefined-only "$shared" | awk '{ sub(/@.*/, "", $2); print $2 }' |
    grep -Ex "$forbidden" >"$work/forbidden" || :
[ ! -s "$work/forbidden" ] || fail "a library may not call" "$work/forbidden"

# only_in OBJECT NAMES WHAT: no other object of the archive calls these, nor
# what _FORTIFY_SOURCE puts in their place.
only_in() {
    nm -A --undefined-only "$static" |
        sed -n 's/^[^:]*:\([^:]*\):.* U \(.*\)$/\1 \2/p' |
        awk -v object="$1" '$1 != object' | grep -Ex "[^ ]+ (__)?($2)(_chk)?" \
        >"$work/calls" || :
    [ ! -s "$work/calls" ] || fail "$3" "$work/calls"
}

allocators='malloc|calloc|realloc|reallocarray|free|strdup|strndup|v?asprintf'
allocators="$allocators|aligned_alloc|posix_memalign|open_memstream|getline"
only_in mem.c.o "$allocators" 'allocations outside base/mem.c'

locks='pthread_(mutex|cond)_(init|destroy)'
only_in lock.c.o "$locks" 'mutexes and conditions made outside base/lock.c'

of_child='_exit|v?fork|_Fork|exec[a-z]*|sigaction|sigprocmask|f?chdir|setrlimit'
of_child="$of_child|setsid|setpgid|prctl|posix_spawnp?|system|popen"
only_in process_child.c.o "$of_child" 'outside base/process/process_child.c'

exit "$status"
