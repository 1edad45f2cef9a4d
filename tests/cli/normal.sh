# SPDX-License-Identifier: MIT
#
# To be sourced: what the `cascade` command prints, without what differs from
# run to run.
#
#   normalised    ids that are not fixed (see player.c), times, durations and
#                 pids become words, of the same width where they stand in
#                 columns

normalised() {
    sed -E \
        -e 's/00000000-0000-4000-8000-([0-9a-f]{12})/FIXED\1/g' \
        -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx/g' \
        -e 's/FIXED([0-9a-f]{12})/00000000-0000-4000-8000-\1/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z/TTTT-TT-TTTTT:TT:TT.TTTZ/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(Z| UTC)/TTTT-TT-TTTTT:TT:TTZ/g' \
        -e 's/ +([0-9]+ms|[0-9]+\.[0-9]s|[0-9]+m[0-9]+s)( |$)/  DURATION\2/g' \
        -e 's/\([0-9.msh]+ ago\)/(DURATION ago)/g' \
        -e 's/\(pid [0-9]+\)/(pid PID)/g' \
        -e 's/"(duration_ms|lease_left_ms|pid)":[0-9]+/"\1":0/g'
}
