# SPDX-License-Identifier: MIT
#
# Real processes on one database, killed and stopped.

set(process_support
    flow.c
    ledger.c
    place.c
    worker.c
    worker_main.c)

cascade_test(process_takeover test_takeover.c ${process_support} TIMEOUT 180)
cascade_test(process_kills test_kills.c ${process_support} TIMEOUT 300)
