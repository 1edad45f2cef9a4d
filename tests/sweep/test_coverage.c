/* SPDX-License-Identifier: MIT
 *
 * That the sweeps leave nothing out. What there is comes from the source: the
 * moves from cascade_store_driver, the kinds of executions from CSC_KINDS (and
 * no reserved name stands anywhere else), the calls of other libraries from the
 * library's own symbols. So whoever adds one finds a test that fails until a
 * scenario reaches it, or a stand-in is made for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/state.h"
#include "store/store.h"
#include "sweep/sweep.h"

/* ---- Moves and kinds ----------------------------------------------------- */

typedef struct tally {
    size_t calls[WRAP_MOVES];
    size_t kinds[JOURNAL_KINDS];
} tally;

static void
add_up(void *context, const journal *j)
{
    tally *all = context;

    for (size_t i = 0; i < WRAP_MOVES; i++)
        all->calls[i] += j->calls[i];
    for (size_t i = 0; i < JOURNAL_KINDS; i++)
        all->kinds[i] += j->kinds[i];
}

/* Each table is of function pointers from its first move on. */
#define MOVES(first, table, end) \
    ((end - offsetof(table, first)) / sizeof(void (*)(void)))

static void
the_wrapping_store_knows_every_move(void **state)
{
    size_t count =
        MOVES(open, cascade_store_driver,
              offsetof(cascade_store_driver, chain)) +
        MOVES(key, cascade_store_chain, sizeof(cascade_store_chain)) +
        MOVES(pause, cascade_store_manage, sizeof(cascade_store_manage)) +
        MOVES(seal, cascade_store_integrity, sizeof(cascade_store_integrity)) +
        MOVES(set, cascade_store_limits, sizeof(cascade_store_limits)) +
        MOVES(begin, cascade_store_node_txn, sizeof(cascade_store_node_txn));

    (void)state;
    assert_int_equal(count, WRAP_MOVES);
}

/* Those of transactions of nodes, where the store has none. */
static bool
is_for_others(const test_db *db, size_t move)
{
    const cascade_store_driver *driver = NULL;

    assert_int_equal(csc_store_driver_find(db->url, &driver), CASCADE_OK);
    return driver->node_txn == NULL && move >= WRAP_BEGIN &&
           move <= WRAP_SETTLE;
}

static void
every_move_and_kind_is_reached(test_db *db)
{
    static const char *const kinds[] = CSC_KINDS;
    tally all = {{0}, {0}};

    sweep_play_all(db, add_up, &all);
    for (size_t i = 0; i < WRAP_MOVES; i++)
        if (all.calls[i] == 0 && !is_for_others(db, i))
            fail_msg("no scenario calls move %zu of wrap_move", i);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (all.kinds[i] == 0)
            fail_msg("no scenario makes a %s", kinds[i]);
}

/* ---- What stands in the source ------------------------------------------- */

/* Calls `look` for each line that a command writes; how many there were. */
static size_t
each_line(const char *command, void (*look)(const char *line))
{
    FILE *from = popen(command, "r");
    char line[200];
    size_t count = 0;

    assert_non_null(from);
    while (fgets(line, sizeof(line), from) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        look(line);
        count++;
    }
    assert_int_equal(pclose(from), 0);
    return count;
}

static void
expect_kind(const char *literal)
{
    static const char *const kinds[] = CSC_KINDS;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(literal + 1, kinds[i]) == 0)
            return;
    fail_msg("%s\" is not in CSC_KINDS", literal);
}

static void
every_reserved_name_is_a_kind(void **state)
{
    const char *source = getenv("CASCADE_SOURCE_DIR");
    char command[600];

    (void)state;
    assert_non_null(source);
    snprintf(command, sizeof(command),
             "grep -rhoE '\"cascade\\.[a-z][^\"]*' '%s/src' "
             "--include=*.[ch] --exclude-dir=cli",
             source);
    assert_true(each_line(command, expect_kind) > 0);
}

/* ---- Calls of other libraries -------------------------------------------- */

/* What cannot fail, as the library calls it: it reads what is there, frees, or
 * sets a function; or what it says is not looked at. */
static const char harmless[] =
    " sqlite3_busy_handler sqlite3_changes sqlite3_close sqlite3_close_v2 "
    "sqlite3_bind_parameter_count sqlite3_column_bytes sqlite3_column_count "
    "sqlite3_column_int sqlite3_column_int64 "
    "sqlite3_column_type sqlite3_commit_hook sqlite3_context_db_handle "
    "sqlite3_db_config sqlite3_errmsg sqlite3_extended_errcode "
    "sqlite3_db_readonly sqlite3_file_control sqlite3_finalize "
    "sqlite3_get_autocommit "
    "sqlite3_initialize sqlite3_libversion sqlite3_libversion_number "
    "sqlite3_limit sqlite3_mutex_alloc sqlite3_mutex_enter "
    "sqlite3_mutex_leave sqlite3_next_stmt "
    "sqlite3_progress_handler sqlite3_reset sqlite3_rollback_hook "
    "sqlite3_result_error sqlite3_result_error_code "
    "sqlite3_result_error_nomem sqlite3_result_int sqlite3_result_text "
    "sqlite3_set_authorizer sqlite3_stmt_busy sqlite3_stmt_readonly "
    "sqlite3_stricmp sqlite3_strnicmp sqlite3_total_changes "
    "sqlite3_user_data sqlite3_value_bytes sqlite3_value_int64 "
    "sqlite3_value_pointer sqlite3_value_type sqlite3_wal_autocheckpoint "
    "sqlite3_system_errno sqlite3_threadsafe sqlite3_trace_v2 "
    "sqlite3_update_hook sqlite3_wal_hook "
    "PQbackendPID PQclear PQclientEncoding PQcmdStatus PQconninfoFree "
    "PQerrorMessage PQfinish PQfreemem PQgetisnull PQgetlength PQgetvalue "
    "PQhost PQisBusy PQisnonblocking PQnotifies PQntuples PQparameterStatus "
    "PQpipelineStatus PQport PQresultErrorField PQresultStatus PQserverVersion "
    "PQsetErrorContextVisibility PQsetErrorVerbosity PQsetNoticeReceiver "
    "PQsocket PQstatus PQtransactionStatus PQuntrace ";
/* Those that the sweeps stand in for: " name name ". */
static const char wrapped[] = SWEEP_WRAPPED_CALLS;

static void
expect_call(const char *symbol)
{
    char name[256];

    snprintf(name, sizeof(name), " %s ", symbol);
    if (strstr(harmless, name) == NULL && strstr(wrapped, name) == NULL)
        fail_msg("%s is called, but no sweep fails it: make a stand-in in "
                 "calls_*.c, or say why it cannot fail",
                 symbol);
}

static void
every_call_that_can_fail_is_failed(void **state)
{
    (void)state;
    assert_true(each_line(SWEEP_NM " -u '" SWEEP_STORE "' '" SWEEP_CLIENT
                                   "' | awk '$1 == \"U\" && "
                                   "$2 ~ /^(sqlite3_|PQ|pq|lo_)/ {print $2}'",
                          expect_call) > 0);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(the_wrapping_store_knows_every_move),
        cmocka_unit_test(every_reserved_name_is_a_kind),
        cmocka_unit_test(every_call_that_can_fail_is_failed),
    };
    static const stores_test played[] = {
        {"every_move_and_kind_is_reached", every_move_and_kind_is_reached,
         STORES_ALL},
    };
    int failed = 0;

    sweep_use_memory();
    failed = cmocka_run_group_tests_name("sweep_source", plain, NULL, NULL);
    return failed + stores_run("sweep_coverage", played, 1, argc, argv);
}
