# SPDX-License-Identifier: MIT
#
# The conformance suite, once for each store, and the store handle.

set(conformance
    conformance.c
    conformance_claim.c
    conformance_commit.c
    conformance_dump.c
    conformance_engines.c
    conformance_fence.c
    conformance_keys.c
    conformance_letters.c
    conformance_mail.c
    conformance_messages.c
    conformance_model.c
    conformance_race.c
    conformance_read.c
    conformance_schema.c
    conformance_text.c
    conformance_wait.c)

cascade_test(store_memory test_memory.c ${conformance} TIMEOUT 120)
if(CASCADE_SQLITE)
    cascade_test(store_sqlite test_sqlite.c ${conformance} TIMEOUT 300)
endif()
if(CASCADE_POSTGRES)
    cascade_test(store_postgres test_postgres.c schema_fixture.c ${conformance}
        TIMEOUT 300)
    cascade_test(store_pooler test_pooler.c schema_fixture.c ../faults/pooler.c
        ../process/server.c ${conformance} TIMEOUT 300)
    cascade_test(store_postgres_server test_postgres_server.c
        postgres_faults.c postgres_fixture.c postgres_messages.c
        postgres_proxy.c postgres_schema.c postgres_session.c TIMEOUT 300)
endif()
cascade_test(store_handle test_store.c)
cascade_test(store_memory_parts test_memory_parts.c)
if(CASCADE_SQLITE)
    cascade_test(store_sqlite_file test_sqlite_file.c sqlite_fixture.c
        TIMEOUT 120)
    cascade_test(store_sqlite_messages test_sqlite_messages.c sqlite_fixture.c
        TIMEOUT 120)
    cascade_test(store_sqlite_crash test_sqlite_crash.c sqlite_fixture.c
        TIMEOUT 300)
    cascade_test(sqlite_power test_sqlite_power.c power_life.c sqlite_disk.c
        sqlite_fixture.c sqlite_vfs.c TIMEOUT 300)
endif()
