# SPDX-License-Identifier: MIT
#
# The conformance suite, once for each store, and the store handle.

include(${CMAKE_CURRENT_LIST_DIR}/conformance/sources.cmake)

cascade_test(store_seal test_seal.c ../base/support.c LABELS unit)
cascade_test(store_turn test_turn.c ../base/support.c LABELS unit)
cascade_test(store_memory test_memory.c ${conformance})

# The store of the examples, whose program is as it is outside: so the suite has
# the header that is installed. It compares the memory store with plain arrays.
set(file_store ${PROJECT_SOURCE_DIR}/examples/store_file)
configure_file(${CMAKE_CURRENT_LIST_DIR}/conformance/suite.h
    ${PROJECT_BINARY_DIR}/suite/cascade/conformance.h COPYONLY)
cascade_test_program(store_file ../../examples/store_file/conformance.c
    ${file_store}/claim.c ${file_store}/file.c ${file_store}/read.c
    ${file_store}/store_file.c ${file_store}/table.c ${file_store}/write.c
    ${conformance})
target_include_directories(test_store_file PRIVATE
    ${PROJECT_BINARY_DIR}/suite)
cascade_test_command(store_file "" "" $<TARGET_FILE:test_store_file>)
if(CASCADE_SQLITE)
    cascade_script_test(store_sqlite_statements paste.sh ${PROJECT_SOURCE_DIR}
        sqlite NEEDS sqlite3)
    cascade_test(store_sqlite sqlite/test_sqlite.c ${conformance})
    set_tests_properties(store_sqlite PROPERTIES COST 1000)
    cascade_test(store_sqlite_connection sqlite/test_sqlite_connection.c
        ${conformance}
        LABELS long)
endif()
if(CASCADE_POSTGRES)
    cascade_script_test(store_postgres_statements paste.sh ${PROJECT_SOURCE_DIR}
        postgres NEEDS server)
    cascade_test(store_postgres postgres/test_postgres.c schema_fixture.c
        ${conformance}
        NEEDS server)
    set_tests_properties(store_postgres PROPERTIES COST 1000)
    cascade_test(store_pooler postgres/test_pooler.c schema_fixture.c
        ../faults/pooler.c
        ../process/server.c ${conformance} NEEDS postgresql pgbouncer
        LABELS long)
    cascade_test(store_hostile postgres/test_hostile.c postgres/hostile.c
        schema_fixture.c
        ${conformance} NEEDS server LABELS long)
    cascade_test(store_postgres_hostile postgres/test_postgres_hostile.c
    postgres/hostile.c postgres/postgres_fixture.c postgres/postgres_node.c
    postgres/postgres_proxy.c FLOOR manage NEEDS server)
    cascade_test(store_guest_pooler postgres/test_guest_pooler.c
    ../faults/pooler.c ../process/server.c
    FLOOR client NEEDS postgresql pgbouncer)
    cascade_test(store_postgres_schema postgres/test_postgres_schema.c
        postgres/postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_faults postgres/test_postgres_faults.c
        postgres/postgres_fixture.c postgres/postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_session postgres/test_postgres_session.c
        postgres/postgres_fixture.c NEEDS server LABELS long)
    cascade_test(store_postgres_messages postgres/test_postgres_messages.c
        postgres/postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_manage postgres/test_postgres_manage.c
        postgres/postgres_fixture.c NEEDS server)
    cascade_test(store_postgres_native postgres/test_postgres_native.c
    postgres/postgres_fixture.c postgres/postgres_node.c
    postgres/postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_native_session
    postgres/test_postgres_native_session.c postgres/postgres_fixture.c
    postgres/postgres_node.c postgres/postgres_proxy.c NEEDS server)
    cascade_test(store_postgres_guest postgres/test_postgres_guest.c
        postgres/postgres_fixture.c postgres/postgres_app.c
    FLOOR client NEEDS server)
    cascade_test(store_postgres_functions postgres/test_postgres_functions.c
        postgres/postgres_fixture.c FLOOR client NEEDS server)
    cascade_test(store_postgres_sealed postgres/test_postgres_sealed.c
        postgres/postgres_fixture.c FLOOR client NEEDS server)
    cascade_test(store_postgres_held postgres/test_postgres_held.c
        postgres/postgres_fixture.c postgres/postgres_proxy.c NEEDS server)
endif()
cascade_test(store_handle test_store.c)
cascade_test(store_move test_move.c FLOOR client)
cascade_test(store_memory_parts test_memory_parts.c)
cascade_test(store_statement test_statement.c)
if(CASCADE_SQLITE)
    cascade_test(store_sqlite_file sqlite/test_sqlite_file.c
    sqlite/sqlite_fixture.c)
    cascade_test(store_sqlite_guest sqlite/test_sqlite_guest.c
    sqlite/sqlite_fixture.c FLOOR client)
    cascade_test(store_sqlite_hostile sqlite/test_sqlite_hostile.c
    sqlite/sqlite_fixture.c)
    cascade_test(store_sqlite_gone sqlite/test_sqlite_gone.c
    sqlite/sqlite_fixture.c FLOOR client)
    cascade_test(store_sqlite_hooks sqlite/test_sqlite_hooks.c
    sqlite/sqlite_fixture.c FLOOR client)
    cascade_test(store_sqlite_manage sqlite/test_sqlite_manage.c
    sqlite/sqlite_fixture.c FLOOR manage)
    cascade_test(store_sqlite_messages sqlite/test_sqlite_messages.c
    sqlite/sqlite_fixture.c)
    cascade_test(store_sqlite_native sqlite/test_sqlite_native.c
    sqlite/sqlite_fixture.c sqlite/sqlite_nodes.c FLOOR client)
    cascade_test(store_sqlite_native_faults sqlite/test_sqlite_native_faults.c
    sqlite/sqlite_disk.c sqlite/sqlite_fixture.c sqlite/sqlite_memory.c
    sqlite/sqlite_nodes.c sqlite/sqlite_vfs.c)
    target_link_options(test_store_sqlite_native_faults PRIVATE
        LINKER:--wrap=sqlite3_step)
    cascade_test(store_sqlite_paths sqlite/test_sqlite_paths.c
    sqlite/sqlite_fixture.c)
    cascade_test(store_sqlite_recovery sqlite/test_sqlite_recovery.c
    sqlite/sqlite_fixture.c)
    target_link_options(test_store_sqlite_recovery PRIVATE
        LINKER:--wrap=sqlite3_step)
    cascade_test(store_sqlite_prepared sqlite/test_sqlite_prepared.c
    sqlite/sqlite_fixture.c FLOOR manage)
    cascade_test(store_sqlite_crash sqlite/test_sqlite_crash.c
    sqlite/sqlite_fixture.c sqlite/sqlite_memory.c LABELS long)
    cascade_test(sqlite_power sqlite/test_sqlite_power.c sqlite/power_life.c
    sqlite/sqlite_disk.c sqlite/sqlite_fixture.c sqlite/sqlite_vfs.c
    FLOOR client LABELS
    long)
endif()
