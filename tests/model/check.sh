#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   check.sh ROOT
#
# The models of ownership and of limits, checked exhaustively, and each of their
# wrong variants, which must be found wrong by the assertion that is meant:
#
#   states    every state within the bounds keeps the assertions, and where
#             nothing can happen any more all has ended
#   cycles    no run within the bounds goes on for ever
#
# And every function that they name is in src/. A search that is cut off (depth,
# memory) fails. Tables and programs are made in a temporary folder.
set -eu

root=$(CDPATH='' cd -- "$1" && pwd)
command -v spin >/dev/null || { echo "spin is missing" >&2; exit 1; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/cascade-model.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$folder"

fail() {
    echo "$*" >&2
    [ ! -s answer ] || tail -n 25 answer >&2
    exit 1
}

# search BOUNDS states|cycles [VARIANT]: of $model, with bounds as "FAULTS=1
# CHANGES=0"; leaves what pan says in `answer`. Only the long search is worth an
# optimised program.
search() {
    rm -f answer pan pan.* ./*.trail
    flags="-O0 -DSAFETY"
    options="-m10000"
    if [ "$2" = cycles ]; then
        flags="-O1 -DNP"
        options="-m10000 -l"
    fi
    [ "$#" -gt 2 ] || flags="$flags -O2"
    bounds=
    for bound in $1; do
        bounds="$bounds -D$bound"
    done
    # Unquoted: lists of options.
    spin -a $bounds ${3:+-D"$3"} "$model" >spin.log 2>&1 ||
        fail "spin does not accept the model: $(cat spin.log)"
    # The code is not ours: no warnings.
    gcc -w $flags -DNOCLAIM -DMEMLIM=3000 -o pan pan.c ||
        fail "what spin made does not compile"
    ./pan $options -w22 >answer 2>&1 || fail "pan ended with $?"
    ! grep -q 'max search depth too small\|out of memory' answer ||
        fail "the search was cut off: $*"
}

# The number of states, with what else is told of them, and the seconds.
figures() {
    states=$(sed -n 's/^ *\([0-9][0-9]*\) states, stored.*/\1/p' answer)
    seconds=$(sed -n 's/^pan: elapsed time \([^ ]*\) seconds/\1/p' answer)
    printf '%s states, %s s' "${states:-?}" "${seconds:-?}"
}

holds() {
    search "$1" "$2"
    grep -q 'errors: 0$' answer || fail "the model does not hold ($2)"
    ! grep -q 'Search not completed' answer || fail "not complete ($2)"
    echo "holds: $2, $1: $(figures)"
}

# breaks VARIANT BOUNDS states|cycles WORDS: what pan must say of it.
breaks() {
    search "$2" "$3" "$1"
    grep '^pan:1:' answer | grep -Fq -- "$4" ||
        fail "$1 was not found wrong by: $4"
    echo "found: $1: $(figures)"
}

# names COUNT: functions that $model names, at least.
names() {
    grep -o 'csc_[a-z0-9_]*' "$model" | sort -u >named
    [ "$(wc -l <named)" -ge "$1" ] || fail "the model names too few functions"
    while read -r name; do
        grep -rq "^$name(" "$root/src" --include='*.c' ||
            fail "the model names $name, which is not in src/"
    done <named
}

model=$root/tests/model/ownership.pml
names 20

ended='assertion violated ( !(running[0])&& !(running[1]))'
remembers='assertion violated ( !(alive[E[e].id])||'
holds FAULTS=2 states
holds FAULTS=1 cycles
breaks NO_FENCE FAULTS=1 states "(owner[1]==T[t].id)"
breaks SHARED_LOCK FAULTS=1 states "(owner[1]==T[t].id)"
breaks EXPIRY_FREES FAULTS=1 states "$remembers"
breaks GUESSES FAULTS=1 states "assertion violated  !(running[1])"
breaks SENDS_OTHER FAULTS=1 states "$remembers"
breaks SENDER_WRITES_RUN FAULTS=0 states "$ended"
breaks KEEPS_CLAIM FAULTS=1 states "$ended"
breaks NO_UNBLOCK FAULTS=2 states "$ended"
breaks RESTLESS FAULTS=0 cycles "non-progress cycle"

model=$root/tests/model/limits.pml
names 10
ended='assertion violated (((phase[0]==1)&&(phase[1]==1))&&(phase[2]==1))'
slots='(slot[2]&&(owner[2]!=0)))'
begins='|| !(could_know[e])'
holds 'FAULTS=1 MESSAGES=1 PARKS=1 NEXT=1 KEYS=2' states
holds 'CHANGES=2 MESSAGES=1 PARKS=1 KEYS=2' states
holds 'FAULTS=1 CHANGES=1 MESSAGES=1 PARKS=1' states
holds 'LATE=1 MESSAGES=1 PARKS=1 NEXT=1' states
holds 'LATE=1 MESSAGES=1' cycles
holds 'FAULTS=1 MESSAGES=1 CANCELS=1 PARKS=1 KEYS=2 POLLS=1' states
holds 'FAULTS=1 MESSAGES=1 CANCELS=1 PARKS=1 KEYS=2 POLLS=1 RARELY' cycles
for variant in COUNTS_WITH_LOCK NO_LOCK; do
    breaks $variant FAULTS=0 states "$slots<=maximum)"
done
breaks NO_KEY KEYS=2 states ')<=1)'
breaks TAKES_BLINDLY MESSAGES=1 states '(owner[2]==0)'
breaks KEEPS_SLOT 'FAULTS=1 MESSAGES=1' states "$slots<=promised)"
breaks NEXT_RUN_TWICE NEXT=1 states "$slots<=promised)"
breaks NEXT_RUN_LATE NEXT=1 states "$slots<=maximum)"
breaks MESSAGE_RUNS MESSAGES=1 states "$begins"
breaks NEVER_TOLD LATE=1 states "$begins"
breaks ATTACHES_UNTOLD 'FAULTS=1 MESSAGES=1' states "$begins"
for variant in FORGETS_OVERLAP ENDS_QUIETLY STARTS_QUIETLY; do
    breaks $variant FAULTS=0 states "$ended"
done
breaks FORGETS_BUSY LATE=1 states "$ended"
breaks ROBS_QUIETLY FAULTS=1 states "$ended"
for variant in FREES_QUIETLY CANCELS; do
    breaks $variant MESSAGES=1 states "$ended"
done
for variant in PARKS_KEEPING NO_TIMES; do
    breaks $variant PARKS=1 states "$ended"
done
