#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The whole test suite on a fresh Debian: installs what is missing, builds,
# starts a throwaway PostgreSQL server, runs ctest, cleans up.
#
#   sh tests/run.sh            everything
#   sh tests/run.sh --quick    one build (gcc) and the suite; leaves out the
#                              other builds and the run with sanitizers
#
# The builds lie in build/ of the source tree. CTEST_ARGS, when set, is given
# to the last ctest (CTEST_ARGS="-R json").
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/build.sh"

quick=no
for argument in "$@"; do
    case $argument in
    --quick) quick=yes ;;
    *) die "usage: sh tests/run.sh [--quick]" ;;
    esac
done

# run_suite BUILD [CTEST OPTIONS...]
run_suite() {
    (cd "$1" && shift &&
        ctest --output-on-failure --no-tests=error --parallel 2 "$@")
}

cleanup() {
    pg_remove
    packages_cleanup
    quietly_cleanup
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

stage "Checking packages"
packages_ensure $PACKAGES_BUILD $PACKAGES_TEST
packages_ensure_postgresql

stage "Building (gcc)"
build_tree "$root" "$root/build/tests" -DCMAKE_C_COMPILER=gcc \
    -DCASCADE_WERROR=ON

if [ "$quick" = no ]; then
    stage "Building (clang)"
    build_tree "$root" "$root/build/clang" -DCMAKE_C_COMPILER=clang \
        -DCASCADE_WERROR=ON
    stage "Building (the library alone, with neither database nor asserts)"
    build_tree "$root" "$root/build/bare" -DCASCADE_WERROR=ON \
        -DCASCADE_SQLITE=OFF -DCASCADE_POSTGRES=OFF \
        -DCASCADE_TESTS=OFF -DCASCADE_EXAMPLES=OFF
    stage "Building (gcc, address and undefined-behaviour sanitizers)"
    build_tree "$root" "$root/build/asan" -DCMAKE_C_COMPILER=gcc \
        -DCASCADE_WERROR=ON -DCASCADE_SANITIZE=address,undefined
fi

stage "Starting a throwaway PostgreSQL server"
pg_create
pg_start

if [ "$quick" = no ]; then
    stage "Running the suite with sanitizers"
    quietly run_suite "$root/build/asan" ||
        die "the suite failed under the sanitizers (build/asan)"
fi

stage "Running the suite"
# Unquoted: a list of options.
run_suite "$root/build/tests" ${CTEST_ARGS:-}
