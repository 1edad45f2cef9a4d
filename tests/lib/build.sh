# SPDX-License-Identifier: MIT
#
# To be sourced, after stage.sh.
#
#   build_tree SOURCE BUILD [CMAKE OPTIONS...]   configure and build; a second
#                                                time only what has changed

build_tree() {
    tree=$1
    build=$2
    shift 2
    quietly cmake -S "$tree" -B "$build" "$@" || die "configuring failed"
    quietly cmake --build "$build" --parallel "$(nproc)" ||
        die "the build failed"
}
