# SPDX-License-Identifier: MIT
#
#   ctest ... | awk -f suite.awk -v suite=NAME -v times=FILE [-v table=yes]
#
# Passes on what ctest prints. The seconds of each program are appended to FILE,
# in which those of earlier suites may stand ("SECONDS SUITE NAME"); with
# `table` the ten slowest of all of them come before ctest's own summary.

function print_slowest(   command, line) {
    close(times)
    printf "The slowest programs, in seconds\n"
    fflush()
    command = "sort -rn " times " | head -n 10"
    while ((command | getline line) > 0) {
        split(line, word, " ")
        printf "%9.1f  %s (%s)\n", word[1], word[3], word[2]
    }
    close(command)
    print ""
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* sec/ {
    name = $0
    sub(/^[^:]*: */, "", name)
    sub(/ .*/, "", name)
    for (i = NF; i > 1 && $i !~ /^sec/; i--)
        ;
    print $(i - 1), suite, name >>times
}

/^[0-9]+% tests passed/ && table == "yes" { print_slowest() }

{
    print
    fflush()
}
