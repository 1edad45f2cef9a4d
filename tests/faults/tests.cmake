# SPDX-License-Identifier: MIT
#
# What surrounds the library fails: servers, disks, poolers.

option(CASCADE_TEST_MOUNTS "Tests may mount a tmpfs, which takes root" ON)

set(fault_load
    load.c
    ../process/flow.c
    ../process/ledger.c
    ../process/place.c)
if(CASCADE_POSTGRES)
    list(APPEND fault_load admin.c ../process/server.c)
    cascade_test(faults_standby test_standby.c ${fault_load} NEEDS postgresql
        LABELS long)
    cascade_test(faults_restored test_restored.c ${fault_load}
        NEEDS postgresql)
    cascade_test(faults_pooler test_pooler.c pooler.c ${fault_load}
        NEEDS postgresql pgbouncer LABELS long)
endif()
if(CASCADE_TEST_MOUNTS AND (CASCADE_POSTGRES OR CASCADE_SQLITE))
    cascade_test(faults_disk_full test_disk_full.c disk.c ${fault_load}
        NEEDS postgresql root LABELS long)
endif()

# A PostgreSQL that fails under the engines, made by each program for itself.
if(CASCADE_POSTGRES)
    set(postgres_siege
        postgres_siege.c
        postgres_stage.c
        ${fault_load}
        ../store/postgres/postgres_fixture.c
        ../store/postgres/postgres_proxy.c)

    cascade_test(faults_postgres_crash postgres_crash.c ${postgres_siege}
        NEEDS postgresql LABELS long)
    cascade_test(faults_postgres_network postgres_network.c ${postgres_siege}
        NEEDS postgresql LABELS long)
    cascade_test(faults_postgres_limits postgres_limits.c ${postgres_siege}
        NEEDS postgresql LABELS long)
    cascade_test(faults_postgres_storm postgres_storm.c ${postgres_siege}
        NEEDS postgresql LABELS long)

    # Calls that are cut off by their own deadline, on the shared server.
    cascade_test(faults_postgres_lost postgres_lost.c
    ../store/postgres/postgres_fixture.c ../store/postgres/postgres_proxy.c
    FLOOR manage
    NEEDS server LABELS long)
endif()
