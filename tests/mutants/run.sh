#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Does the simulation find bugs? Each patch in this folder plants one in a copy
# of the library; its first lines say which guarantee it breaks, or what it does
# to locks, states or lists that the library asserts by itself. The simulation,
# built with it, has to find it within as many seeds as the tree passes without
# it, or in those with giants of three times as many behind these. What lets one
# live is too weak, and so is this script if a patch no longer applies: every
# patch is tried on the tree in each run, whichever are built.
#
#   sh tests/mutants/run.sh [--count N] [--seed S] [--seeds K] [NAME...]
#
#   --count N   N of them, beginning at number S times N in the alphabet, round
#               about: the next S gets the next N;
#               without it, and without a NAME, all
#   --seed S    default: the number of today's day
#   --seeds K   how many seeds each gets; default 1000
#   --unmutated first the tree as it is: it has to pass the same seeds
#
# The status is 2 when one was not found, 1 when one could not be planted. A
# mutant that makes the program crash is found as well as one that breaks a
# rule. One that makes it hang is not.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$here/../..
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/build.sh"

HANG_SECONDS=1800

usage() {
    die "usage: sh tests/mutants/run.sh [--count N] [--seed S] [--seeds K]" \
        "[--unmutated] [NAME...]"
}

count=
seed=$(($(date +%s) / 86400))
seeds=1000
unmutated=no
names=
while [ $# -gt 0 ]; do
    case $1 in
    --count) count=$(number "${2:-}"); shift ;;
    --seed) seed=$(number "${2:-}"); shift ;;
    --seeds) seeds=$(number "${2:-}"); shift ;;
    --unmutated) unmutated=yes ;;
    -*) usage ;;
    *) names="$names $1" ;;
    esac
    shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-mutants.XXXXXX")
cleanup() {
    rm -rf "$work"
    packages_cleanup
    quietly_cleanup
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# choose: the names to build, one a line.
choose() {
    if [ -n "$names" ]; then
        # Unquoted: a list of names.
        printf '%s\n' $names
        return
    fi
    ls "$here" | sed -n 's/\.patch$//p' >"$work/all"
    total=$(wc -l <"$work/all")
    awk -v from="$((seed * ${count:-1} % total))" -v count="${count:-$total}" '
        { name[NR - 1] = $0 }
        END {
            for (i = 0; i < count && i < NR; i++)
                print name[(from + i) % NR]
        }' "$work/all"
}

# plant NAME [PATCH OPTIONS...]: no line of context may differ, and a bug that
# the tree has already is not taken out of it instead.
plant() {
    name=$1
    shift
    patch --directory="$work/tree" --strip=1 --fuzz=0 --force --silent "$@" \
        <"$here/$name.patch"
}

# simulate: builds the tree and runs it; the status of the program.
simulate() {
    quietly cmake --build "$work/build" --parallel "$(nproc)" \
        --target test_sim || die "$1 does not build"
    simulated=0
    for first in 1 $((seeds + 1)); do
        sized=
        [ "$first" -eq 1 ] || sized=--sized
        # Unquoted: one option or none.
        (cd "$work" && timeout "$HANG_SECONDS" build/tests/test_sim $sized \
            --first "$first" --seeds "$((seeds * (first > 1 ? 3 : 1)))" \
            --no-shrink) >"$work/log" 2>&1 || simulated=$?
        [ "$simulated" -eq 0 ] || break
    done
    return "$simulated"
}

# crashed STATUS: by what a program does itself. Not by SIGALRM, with which the
# simulation ends a seed that hangs, nor by SIGKILL, which comes from outside.
crashed() {
    case $(kill -l "$1" 2>/dev/null) in
    ABRT | BUS | FPE | ILL | SEGV | TRAP) return 0 ;;
    esac
    return 1
}

# found_at: where the program stopped.
found_at() {
    sed -n 's/^\(seed [0-9]* failed\).*/\1/p' "$work/log" | head -n 1
}

# judge NAME: builds the mutant, runs it, takes it back.
judge() {
    plant "$1" || die "mutant $1 no longer applies; make it anew"
    began=$(date +%s)
    status=0
    simulate "mutant $1" || status=$?
    took=$(($(date +%s) - began))
    plant "$1" --reverse || die "mutant $1 cannot be taken back"
    if [ "$status" -eq 1 ] && [ -n "$(found_at)" ]; then
        printf '%-28s %s, %d s\n' "$1" "$(found_at)" "$took"
    elif [ "$status" -gt 128 ] && crashed "$status"; then
        printf '%-28s crashed (status %d), %d s\n' "$1" "$status" "$took"
    else
        tail -n 20 "$work/log" >&2
        printf '%-28s NOT FOUND (status %d), %d s\n' "$1" "$status" "$took"
        lives="${lives:-} $1"
    fi
}

packages_ensure $PACKAGES_BUILD $PACKAGES_TEST
stage "Planting bugs (seed $seed, $seeds seeds each)"
mkdir "$work/tree"
(cd "$root" && tar cf - --exclude=./build --exclude=./.git .) |
    tar xf - -C "$work/tree"
for file in "$here"/*.patch; do
    name=$(basename "$file" .patch)
    plant "$name" --dry-run >/dev/null ||
        die "mutant $name no longer applies; make it anew"
done
quietly cmake -S "$work/tree" -B "$work/build" -DCASCADE_EXAMPLES=OFF \
    -DCASCADE_TESTS=ON || die "configuring failed"
if [ "$unmutated" = yes ]; then
    simulate "the tree" || {
        tail -n 20 "$work/log" >&2
        die "the tree without a bug does not pass $seeds seeds"
    }
    echo "the tree without a bug passes $seeds seeds"
fi
for name in $(choose); do
    [ -f "$here/$name.patch" ] || die "there is no mutant $name"
    judge "$name"
done
if [ -n "${lives:-}" ]; then
    echo "error: the simulation did not find:$lives" >&2
    exit 2
fi
