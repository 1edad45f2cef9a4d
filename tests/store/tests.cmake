# SPDX-License-Identifier: MIT
#
# The conformance suite, once for each store, and the store handle.

set(conformance
    conformance.c
    conformance_claim.c
    conformance_commit.c
    conformance_dump.c
    conformance_engines.c
    conformance_erase.c
    conformance_fence.c
    conformance_keys.c
    conformance_paths.c
    conformance_receive.c
    conformance_letters.c
    conformance_mail.c
    conformance_mend.c
    conformance_messages.c
    conformance_model.c
    conformance_native.c
    conformance_native_none.c
    conformance_nodes.c
    conformance_queues.c
    conformance_race.c
    conformance_read.c
    conformance_scan.c
    conformance_schema.c
    conformance_seals.c
    conformance_tend.c
    conformance_text.c
    conformance_trial.c
    conformance_wait.c)

cascade_test(store_seal test_seal.c ../base/support.c LABELS unit)
cascade_test(store_memory test_memory.c ${conformance})
if(CASCADE_SQLITE)
    cascade_test(store_sqlite test_sqlite.c ${conformance})
    set_tests_properties(store_sqlite PROPERTIES COST 1000)
    cascade_test(store_sqlite_connection test_sqlite_connection.c ${conformance}
        LABELS long)
endif()
if(CASCADE_POSTGRES)
    cascade_test(store_postgres test_postgres.c schema_fixture.c ${conformance}
        NEEDS server)
    set_tests_properties(store_postgres PROPERTIES COST 1000)
    cascade_test(store_pooler test_pooler.c schema_fixture.c ../faults/pooler.c
        ../process/server.c ${conformance} NEEDS postgresql pgbouncer
        LABELS long)
    cascade_test(store_hostile test_hostile.c hostile.c schema_fixture.c
        ${conformance} NEEDS server LABELS long)
    cascade_test(store_postgres_hostile test_postgres_hostile.c hostile.c
        postgres_fixture.c postgres_node.c postgres_proxy.c NEEDS server)
    cascade_test(store_guest_pooler test_guest_pooler.c ../faults/pooler.c
        ../process/server.c NEEDS postgresql pgbouncer)
    cascade_test(store_postgres_schema test_postgres_schema.c
        postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_faults test_postgres_faults.c
        postgres_fixture.c postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_session test_postgres_session.c
        postgres_fixture.c NEEDS server LABELS long)
    cascade_test(store_postgres_messages test_postgres_messages.c
        postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_manage test_postgres_manage.c
        postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_native test_postgres_native.c
        postgres_fixture.c postgres_node.c postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_native_session test_postgres_native_session.c
        postgres_fixture.c postgres_node.c postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_guest test_postgres_guest.c
        postgres_fixture.c postgres_app.c NEEDS server)
    cascade_test(store_postgres_functions test_postgres_functions.c
        postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_held test_postgres_held.c
        postgres_fixture.c postgres_proxy.c NEEDS server)
endif()
cascade_test(store_handle test_store.c)
cascade_test(store_memory_parts test_memory_parts.c)
if(CASCADE_SQLITE)
    cascade_test(store_sqlite_file test_sqlite_file.c sqlite_fixture.c)
    cascade_test(store_sqlite_guest test_sqlite_guest.c sqlite_fixture.c)
    cascade_test(store_sqlite_hostile test_sqlite_hostile.c sqlite_fixture.c)
    cascade_test(store_sqlite_gone test_sqlite_gone.c sqlite_fixture.c)
    cascade_test(store_sqlite_hooks test_sqlite_hooks.c sqlite_fixture.c)
    cascade_test(store_sqlite_manage test_sqlite_manage.c sqlite_fixture.c)
    cascade_test(store_sqlite_messages test_sqlite_messages.c sqlite_fixture.c)
    cascade_test(store_sqlite_native test_sqlite_native.c sqlite_fixture.c
        sqlite_nodes.c)
    cascade_test(store_sqlite_native_faults test_sqlite_native_faults.c
        sqlite_disk.c sqlite_fixture.c sqlite_memory.c sqlite_nodes.c
        sqlite_vfs.c)
    target_link_options(test_store_sqlite_native_faults PRIVATE
        LINKER:--wrap=sqlite3_step)
    cascade_test(store_sqlite_paths test_sqlite_paths.c sqlite_fixture.c)
    cascade_test(store_sqlite_recovery test_sqlite_recovery.c sqlite_fixture.c)
    target_link_options(test_store_sqlite_recovery PRIVATE
        LINKER:--wrap=sqlite3_step)
    cascade_test(store_sqlite_crash test_sqlite_crash.c sqlite_fixture.c
        sqlite_memory.c LABELS long)
    cascade_test(sqlite_power test_sqlite_power.c power_life.c sqlite_disk.c
        sqlite_fixture.c sqlite_vfs.c LABELS long)
endif()
