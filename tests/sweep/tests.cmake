# SPDX-License-Identifier: MIT
#
# Sweeps: the fault moves one call on in each play, until the play comes to its
# end without it. See sweep.h; CASCADE_SWEEP=full tries every place.

set(sweep_support
    events.c
    journal.c
    picture.c
    scenarios.c
    scenarios_commands.c
    scenarios_sealed.c
    scene.c
    scene_messages.c
    sweep.c
    witness.c)

cascade_test(sweep_store test_store.c ${sweep_support} NEEDS stores LABELS long)
cascade_test(sweep_alloc test_alloc.c ${sweep_support} NEEDS stores LABELS long)

# Calls of other libraries that can fail: the linker sends those of the program
# to calls_*.c. Which there are, a test looks up in the library itself.
function(cascade_wrap_calls name)
    foreach(call IN LISTS ARGN)
        target_link_options(test_${name} PRIVATE LINKER:--wrap=${call})
    endforeach()
endfunction()

set(sqlite_calls
    sqlite3_bind_blob64
    sqlite3_bind_int64
    sqlite3_bind_null
    sqlite3_bind_pointer
    sqlite3_bind_text
    sqlite3_column_text
    sqlite3_create_function_v2
    sqlite3_db_filename
    sqlite3_exec
    sqlite3_extended_result_codes
    sqlite3_open_v2
    sqlite3_prepare_v2
    sqlite3_prepare_v3
    sqlite3_step
    sqlite3_value_text
    sqlite3_wal_checkpoint_v2)

if(CASCADE_SQLITE)
    cascade_test(sweep_sqlite_calls test_sqlite_calls.c calls_sqlite.c
        ${sweep_support} LABELS long)
    cascade_wrap_calls(sweep_sqlite_calls ${sqlite_calls})
    cascade_test(sweep_sqlite_guest test_sqlite_guest.c calls_sqlite.c events.c
        LABELS long)
    cascade_wrap_calls(sweep_sqlite_guest ${sqlite_calls})
endif()

set(libpq_calls
    PQconnectPoll
    PQconnectStartParams
    PQconninfoParse
    PQconsumeInput
    PQenterPipelineMode
    PQregisterEventProc
    PQexitPipelineMode
    PQflush
    PQgetResult
    PQpipelineSync
    PQsendFlushRequest
    PQsendPrepare
    PQsendQuery
    PQsendQueryParams
    PQsendQueryPrepared
    PQsetSingleRowMode
    PQsetnonblocking)

if(CASCADE_POSTGRES)
    cascade_test(sweep_libpq_calls test_libpq_calls.c calls_libpq.c
        ${sweep_support} NEEDS server LABELS long)
    cascade_wrap_calls(sweep_libpq_calls ${libpq_calls})
endif()

if(CASCADE_SQLITE AND CASCADE_POSTGRES)
    cascade_test(sweep_crash test_crash.c calls_sqlite.c calls_libpq.c
        ${sweep_support} NEEDS stores LABELS long)
    cascade_wrap_calls(sweep_crash ${sqlite_calls} ${libpq_calls})
endif()

# The library's own symbols are compared with what the sweeps stand in for.
cascade_test(sweep_coverage test_coverage.c ${sweep_support} NEEDS stores)
list(JOIN sqlite_calls " " wrapped_sqlite)
list(JOIN libpq_calls " " wrapped_libpq)
target_compile_definitions(test_sweep_coverage PRIVATE
    "SWEEP_NM=\"${CMAKE_NM}\""
    "SWEEP_STORE=\"$<TARGET_FILE:cascade_floor_store>\""
    "SWEEP_CLIENT=\"$<TARGET_FILE:cascade_floor_client>\""
    "SWEEP_WRAPPED_CALLS=\" ${wrapped_sqlite} ${wrapped_libpq} \"")
