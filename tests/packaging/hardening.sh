#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   hardening.sh COMPILER KIND FILE [fortified]
#
# What cmake/Hardening.cmake asks for, read from a built file. KIND is "library"
# for the shared one, "command" for a program, "archive" for objects. What the
# options leave behind differs with the architecture: probes of the stack and
# marks of jumps are looked for on x86-64. A linked file is marked only where
# the objects of the C library are, which the linker adds.
set -eu

compiler=$1
kind=$2
file=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-hardening.XXXXXX")
trap 'rm -rf "$work"' EXIT
status=0

fail() {
    echo "$file: $*" >&2
    status=1
}

# needs PATTERN WHAT: a line of what readelf has told.
needs() {
    grep -Eq -- "$1" "$work/told" || fail "$2"
}

# count PATTERN: how many lines of it.
count() {
    grep -Ec -- "$1" "$work/told" || :
}

check_linked() {
    LC_ALL=C readelf -hdlnW --dyn-syms "$file" >"$work/told"
    needs '(\(BIND_NOW\)|\(FLAGS\).*BIND_NOW|\(FLAGS_1\).* NOW)' \
        'symbols are bound late (-z now)'
    needs '^ +GNU_RELRO ' 'its tables stay writable (-z relro)'
    needs '^ +GNU_STACK .* RW +0x' 'its stack can be executed'
    needs ' UND __stack_chk_fail' 'no canaries (-fstack-protector-strong)'
    [ "$kind" = library ] || needs '\(FLAGS_1\).* PIE' \
        'it has one address for all runs (PIE)'
    [ "$1" != fortified ] || needs ' UND __[a-z]+_chk(@|$)' \
        'calls of libc do not know their target (_FORTIFY_SOURCE)'
    grep -q 'Machine: .*X86-64' "$work/told" || return 0
    objdump -d "$file" >"$work/code"
    grep -Eq '(or|mov)q +\$0x0,\(%rsp\)' "$work/code" ||
        fail 'large frames are not probed (-fstack-clash-protection)'
    ! LC_ALL=C readelf -nW "$("$compiler" -print-file-name=crti.o)" 2>&1 |
        grep -q IBT || needs 'x86 feature: .*IBT, SHSTK' \
        'it is not marked (IBT, SHSTK)'
}

check_archive() {
    LC_ALL=C readelf -hnW "$file" >"$work/told"
    [ "$(count 'Machine: .*X86-64')" -gt 0 ] || return 0
    [ "$(count 'x86 feature: .*IBT, SHSTK')" -eq "$(count 'Machine:')" ] ||
        fail 'objects without marked jumps (-fcf-protection)'
}

case $kind in
archive) check_archive ;;
library | command) check_linked "${4:-}" ;;
*) fail "'$kind' is no kind" ;;
esac
exit "$status"
