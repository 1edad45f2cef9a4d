# SPDX-License-Identifier: MIT
#
# Real processes on one database, killed and stopped.

set(process_support
    crowd.c
    flow.c
    ledger.c
    place.c
    script.c
    starter.c
    watch.c
    worker.c
    worker_main.c)

cascade_test(process_takeover test_takeover.c ${process_support} NEEDS server
    LABELS long)
cascade_test(process_kills test_kills.c ${process_support} NEEDS server
    LABELS long)
cascade_test(process_each_commit test_each_commit.c picture.c remains.c
    ${process_support} NEEDS server LABELS long)
cascade_test(process_stopped test_stopped.c ${process_support} NEEDS server
    LABELS long)
cascade_test(process_limits test_limits.c verdict.c remains.c ${process_support}
    NEEDS server LABELS long)
cascade_test(process_poison test_poison.c ${process_support} NEEDS server)
cascade_test(process_pieces test_pieces.c place.c remains.c NEEDS server
    LABELS long)
cascade_test(process_torture test_torture.c torture.c remains.c long_run.c
    ${process_support} NEEDS server LABELS long)

set(process_bank
    bank.c
    bank_link.c
    bank_stage.c
    bank_worker.c
    place.c
    remains.c
    strike.c
    worker.c)

cascade_test(process_transfer test_transfer.c long_run.c ${process_bank}
    NEEDS server LABELS long)
cascade_test(process_contention test_contention.c ${process_bank} NEEDS server)

if(CASCADE_POSTGRES)
    cascade_test(process_server test_server.c server.c ${process_support}
        NEEDS postgresql LABELS long)
endif()
if(CASCADE_SQLITE)
    cascade_test(process_restore test_restore.c ${process_support})
endif()
