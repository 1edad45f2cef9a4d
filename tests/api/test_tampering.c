/* SPDX-License-Identifier: MIT
 *
 * Every row of a store with cascades of our own and of another program is
 * edited, column by column, taken out, copied and exchanged with the next, one
 * at a time, and cascade_verify() is asked each time. What it cannot find (as
 * nothing in the tables says what it was) is in tampering_list.h, how often,
 * and the three stores agree in all of it. A rule that finds less, or on one
 * store alone, fails; one that finds more makes the list shorter. In a store
 * with integrity all of it is found but what is no record.
 *
 * With CASCADE_TEST_TAMPERING set the list is printed as it is now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tamper.h"
#include "api/tampering_list.h"
#include "cascade/manage.h"
#include "held/run/sealing.h"
#include "store/store.h"
#include "support/rows.h"
#include "support/sealed.h"
#include "support/sound.h"

#define TIME "2031-01-31 10:00:00"
#define MISSES_MAX 400

/* ---- The cascades -------------------------------------------------------- */

static cascade_err
root(cascade_node *node, void *user)
{
    static const uint32_t both[2] = {1, 2};
    const cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cascade_err err = cascade_node_put_text(node, "k", "[1]", NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "branch", NULL, NULL);
    return err == CASCADE_OK ? cascade_node_spawn(node, "leaf", NULL, &after)
                             : err;
}

static cascade_err
waits(cascade_node *node, void *user)
{
    cJSON *news = NULL;
    cascade_err err = cascade_node_await(node, "news", -1, &news);

    (void)user;
    cJSON_Delete(news);
    return err;
}

static bool
is_parked(void *context)
{
    cascade_info *info = NULL;
    bool parked = false;
    const db_ends *e = context;

    assert_ok(cascade_get(e->store, &e->ids[0], &info));
    parked = info->fn_id == 1 && !info->owned;
    cascade_info_free(info);
    return parked;
}

static cascade_uuid
start_as(cascade_store *store, const char *user, const char *node)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = user, .key = "k"};
    cascade_started started;

    assert_ok(cascade_start(store, node, NULL, &options, &started));
    return started.id;
}

/* "own" has ended, "waits" goes on waiting, and a message waits for it. */
static void
make_own(test_db *db, cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .park_after_ms = 1};
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid ids[2];
    db_ends parked = {.store = store, .ids = &ids[1]};

    assert_ok(cascade_engine_register(engine, "root", root, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "leaf", stores_nothing, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "branch", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "waits", waits, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    ids[0] = start_as(store, "own", "root");
    ids[1] = start_as(store, "waits", "waits");
    db_await(store, &ids[0], CASCADE_COMPLETED);
    assert_true(stores_until(is_parked, &parked));
    db_close_engine(db, engine);
    assert_ok(cascade_signal(store, &ids[1], "later", NULL, NULL));
}

/* As Cascaide writes them: four executions, of which the last has ended or is
 * RUNNING; the latter was adopted. */
static cascade_change *
make_theirs(test_rows *rows, const char *user, bool running)
{
    cascade_change *change = rows_start(rows, rows_id(rows));
    cascade_execution_row *row = NULL;

    change->cascade.user_id = user;
    change->cascade.status = running ? CASCADE_RUNNING : CASCADE_COMPLETED;
    change->cascade.fn_id = 3;
    for (int i = 1; i < 4; i++)
        row = rows_insert(rows, change, i, i % 2 == 0 ? "plan" : "buy");
    row -= 3;
    for (int i = 0; i < 4; i++, row++) {
        row->node_instance_id = rows_text(rows, "n_0190%s_%d", user, i);
        row->input = rows_text(rows, "{\"n\":%d}", i);
        if (running && i == 3)
            break;
        row->status = CASCADE_EXECUTION_COMPLETED;
        row->completed_at_ms = row->started_at_ms + i;
        row->full_output = rows_text(rows, "{\"list\":[%d]}", i);
    }
    rows_event(rows, change, 0, "list", "{\"v\":1}");
    rows_event(rows, change, 2, "list", "{\"v\":2}");
    return change;
}

static void
make_others(cascade_store *store)
{
    test_rows rows;
    cascade_change *changes[2];
    bool existed[2];

    rows_init(&rows, rows_seed(), 1700000000000);
    changes[0] = make_theirs(&rows, "theirs", false);
    changes[1] = make_theirs(&rows, "taken", true);
    if (store->ring == NULL)
        assert_ok(rows_submit(store->driver, store->self,
                              rows_changes(&rows, changes, 2), 2, existed));
    else
        assert_ok(csc_sealing_submit(
            store,
            &(cascade_submission){.starts = rows_changes(&rows, changes, 2),
                                  .start_count = 2,
                                  .existed = existed}));
    rows_fini(&rows);
}

/* Their rows. `status`: what it is, so that an edit changes it. */
typedef struct place {
    tamper_row row;
    const char *status;
} place;

#define EXECUTION(user, id, status)           \
    {                                         \
        {TAMPER_EXECUTIONS, user, id}, status \
    }
#define EVENT(user, id)               \
    {                                 \
        {TAMPER_EVENTS, user, id}, "" \
    }

static const place places[] = {
    {{TAMPER_CASCADES, "own", 0}, "COMPLETED"},
    {{TAMPER_CASCADES, "waits", 0}, "RUNNING"},
    {{TAMPER_CASCADES, "theirs", 0}, "COMPLETED"},
    {{TAMPER_CASCADES, "taken", 0}, "RUNNING"},
    EXECUTION("own", 0, "COMPLETED"),
    EXECUTION("own", 1, "COMPLETED"),
    EXECUTION("own", 2, "COMPLETED"),
    EXECUTION("own", 3, "COMPLETED"),
    EXECUTION("waits", 0, "RUNNING"),
    EXECUTION("waits", 1, "RUNNING"),
    EXECUTION("theirs", 0, "COMPLETED"),
    EXECUTION("theirs", 1, "COMPLETED"),
    EXECUTION("theirs", 2, "COMPLETED"),
    EXECUTION("theirs", 3, "COMPLETED"),
    EXECUTION("taken", 0, "COMPLETED"),
    EXECUTION("taken", 1, "COMPLETED"),
    EXECUTION("taken", 2, "COMPLETED"),
    EXECUTION("taken", 3, "RUNNING"),
    EVENT("own", 0),
    EVENT("theirs", 0),
    EVENT("theirs", 2),
    EVENT("taken", 0),
    EVENT("taken", 2),
    {{TAMPER_RUNS, "waits", 0}, ""},
    {{TAMPER_RUNS, "taken", 0}, ""},
    {{TAMPER_MESSAGES, "waits", 0}, ""},
};

#define PLACES (sizeof(places) / sizeof(places[0]))

/* ---- What is done -------------------------------------------------------- */

typedef struct edit {
    tamper_table table;
    const char *column;
    const char *value;
} edit;

static const edit edits[] = {
    {TAMPER_CASCADES, "status", "RUNNING"},
    {TAMPER_CASCADES, "status", "COMPLETED"},
    {TAMPER_CASCADES, "status", "ERROR"},
    {TAMPER_CASCADES, "fn_id", "-1"},
    {TAMPER_CASCADES, "fn_id", "2"},
    {TAMPER_CASCADES, "fn_id", "9"},
    {TAMPER_CASCADES, "user_id", "somebody"},
    {TAMPER_CASCADES, "created_at", TIME},
    {TAMPER_CASCADES, "updated_at", TIME},
    {TAMPER_EXECUTIONS, "id", "0190aaaa-0000-4000-8000-0000000000dd"},
    {TAMPER_EXECUTIONS, "node_instance_id", "x_1"},
    {TAMPER_EXECUTIONS, "node_name", "other"},
    {TAMPER_EXECUTIONS, "function_id", "-1"},
    {TAMPER_EXECUTIONS, "function_id", "9"},
    {TAMPER_EXECUTIONS, "input_context", "{\"x\":1}"},
    {TAMPER_EXECUTIONS, "full_output", "{\"at\":0}"},
    {TAMPER_EXECUTIONS, "full_output", "{\"at\":9}"},
    {TAMPER_EXECUTIONS, "full_output", "[1]"},
    {TAMPER_EXECUTIONS, "full_output", NULL},
    {TAMPER_EXECUTIONS, "location", "elsewhere"},
    {TAMPER_EXECUTIONS, "status", "RUNNING"},
    {TAMPER_EXECUTIONS, "status", "COMPLETED"},
    {TAMPER_EXECUTIONS, "status", "FAILED"},
    {TAMPER_EXECUTIONS, "error", "an error"},
    {TAMPER_EXECUTIONS, "started_at", TIME},
    {TAMPER_EXECUTIONS, "completed_at", TIME},
    {TAMPER_EXECUTIONS, "completed_at", NULL},
    {TAMPER_EVENTS, "key", "other"},
    {TAMPER_EVENTS, "value", "3"},
    {TAMPER_EVENTS, "ui_value", "4"},
    {TAMPER_EVENTS, "function_id", "1"},
    {TAMPER_EVENTS, "function_id", "4"},
    {TAMPER_EVENTS, "function_id", "9"},
    {TAMPER_EVENTS, "function_id", "-1"},
    {TAMPER_EVENTS, "created_at", TIME},
    {TAMPER_RUNS, "queue", "other"},
    {TAMPER_RUNS, "queue", ""},
    {TAMPER_RUNS, "priority", "9"},
    {TAMPER_RUNS, "wake_at", "77"},
    {TAMPER_RUNS, "engine_id", "0190aaaa-0000-4000-8000-0000000000ee"},
    {TAMPER_RUNS, "claim_no", "0"},
    {TAMPER_RUNS, "claim_no", "-1"},
    {TAMPER_RUNS, "claim_no", "77"},
    {TAMPER_RUNS, "takeovers", "7"},
    {TAMPER_RUNS, "takeovers", "-1"},
    {TAMPER_RUNS, "trial", "99"},
    {TAMPER_RUNS, "needs", "other"},
    {TAMPER_MESSAGES, "kind", "other"},
    {TAMPER_MESSAGES, "name", "other"},
    {TAMPER_MESSAGES, "path", "other"},
    {TAMPER_MESSAGES, "payload", "{\"x\":1}"},
    {TAMPER_MESSAGES, "sent_at", "77"},
};

#define EDITS (sizeof(edits) / sizeof(edits[0]))

static const edit swaps[] = {
    {TAMPER_EXECUTIONS, "node_name", NULL},
    {TAMPER_EXECUTIONS, "input_context", NULL},
    {TAMPER_EXECUTIONS, "full_output", NULL},
    {TAMPER_EXECUTIONS, "status", NULL},
    {TAMPER_EXECUTIONS, "completed_at", NULL},
    {TAMPER_EVENTS, "value", NULL},
};

#define SWAPS (sizeof(swaps) / sizeof(swaps[0]))

/* ---- What is missed ------------------------------------------------------ */

typedef struct miss {
    char name[100];
    int count;
} miss;

typedef struct judge {
    tamper tamper;
    miss misses[MISSES_MAX];
    size_t count;
    int done;    /* of all */
    bool sealed; /* nothing is counted that leaves the records as they were */
} judge;

static void
add_miss(judge *j, const char *name)
{
    for (size_t i = 0; i < j->count; i++)
        if (strcmp(j->misses[i].name, name) == 0) {
            j->misses[i].count++;
            return;
        }
    assert_true(j->count < MISSES_MAX);
    (void)snprintf(j->misses[j->count].name, sizeof(j->misses[0].name), "%s",
                   name);
    j->misses[j->count++].count = 1;
}

/* It is done: looks, and takes it back. */
static void
judge_it(judge *j, const tamper_row *row, const char *what, const char *column,
         const char *value)
{
    cascade_check_report report = {.size = sizeof(report)};
    char name[100];

    assert_ok(cascade_verify(j->tamper.store, NULL, &report));
    tamper_mend(&j->tamper);
    j->done++;
    (void)snprintf(name, sizeof(name), "%s: %s %s%s%s%s%s", row->user, what,
                   tamper_table_name(row->table), column[0] != '\0' ? "." : "",
                   column, value[0] != '\0' ? " " : "", value);
    if (report.findings == 0)
        add_miss(j, name);
}

static bool
is_no_change(const place *p, const edit *e)
{
    bool running = strcmp(p->status, "RUNNING") == 0;

    if (strcmp(e->column, "status") == 0)
        return strcmp(p->status, e->value) == 0;
    if (strcmp(e->column, "function_id") == 0 && p->row.table == TAMPER_EVENTS)
        return false;
    return e->value == NULL && running;
}

static void
edit_each(judge *j, const place *p)
{
    for (size_t i = 0; i < EDITS; i++) {
        const edit *e = &edits[i];

        if (e->table != p->row.table || is_no_change(p, e))
            continue;
        tamper_edit(&j->tamper, &p->row, e->column, e->value);
        judge_it(j, &p->row, "edit", e->column,
                 e->value == NULL ? "NULL" : e->value);
    }
}

static void
copy_each(judge *j, const place *p)
{
    static const int32_t at[] = {-1, 4, 9};

    if (p->row.table != TAMPER_EXECUTIONS && p->row.table != TAMPER_EVENTS)
        return;
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        char number[16];

        (void)snprintf(number, sizeof(number), "%d", (int)at[i]);
        tamper_copy(&j->tamper, &p->row, at[i]);
        judge_it(j, &p->row, "copy", "", number);
    }
}

/* Its records as a document, or NULL where they make none. */
static char *
write_records(const judge *j, const char *user)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .user_id = user};
    cascade_page *page = NULL;
    char *document = NULL;

    if (!j->sealed)
        return NULL;
    assert_ok(cascade_list(j->tamper.store, &options, &page));
    assert_int_equal(cascade_page_count(page), 1);
    (void)cascade_export(j->tamper.store, &cascade_page_get(page, 0)->id, NULL,
                         &document);
    cascade_page_free(page);
    return document;
}

/* In a store with seals not where the values were equal. */
static void
swap_one(judge *j, const place *p, const char *column)
{
    char *was = write_records(j, p->row.user);
    char *is = NULL;

    tamper_swap(&j->tamper, &p->row, &(p + 1)->row, column);
    is = write_records(j, p->row.user);
    if (was != NULL && is != NULL && strcmp(was, is) == 0)
        tamper_mend(&j->tamper);
    else
        judge_it(j, &p->row, "swap", column, "");
    cascade_document_free(was);
    cascade_document_free(is);
}

/* With the next, of the same cascade, where they differ. */
static void
swap_each(judge *j, const place *p)
{
    const place *next = p + 1;

    if (p == &places[PLACES - 1] || next->row.table != p->row.table ||
        strcmp(next->row.user, p->row.user) != 0)
        return;
    for (size_t i = 0; i < SWAPS; i++) {
        if (swaps[i].table != p->row.table ||
            (strcmp(swaps[i].column, "status") == 0 &&
             strcmp(p->status, next->status) == 0))
            continue;
        swap_one(j, p, swaps[i].column);
    }
}

static void
print_misses(const judge *j)
{
    for (size_t i = 0; i < j->count; i++)
        printf("    {\"%s\", %d},\n", j->misses[i].name, j->misses[i].count);
}

static int
listed(const char *name)
{
    for (size_t i = 0; i < sizeof(tampering) / sizeof(tampering[0]); i++)
        if (strcmp(tampering[i].name, name) == 0)
            return tampering[i].count;
    return 0;
}

static void
check_misses(const judge *j)
{
    int wrong = 0;
    size_t known = sizeof(tampering) / sizeof(tampering[0]);

    for (size_t i = 0; i < j->count; i++)
        if (listed(j->misses[i].name) != j->misses[i].count) {
            print_message("%s: missed %d times, %d are listed\n",
                          j->misses[i].name, j->misses[i].count,
                          listed(j->misses[i].name));
            wrong++;
        }
    for (size_t i = 0; i < known; i++) {
        bool there = false;

        for (size_t k = 0; k < j->count; k++)
            there = there || strcmp(j->misses[k].name, tampering[i].name) == 0;
        if (!there) {
            print_message("%s: found now; take it off the list\n",
                          tampering[i].name);
            wrong++;
        }
    }
    assert_int_equal(0, wrong);
}

/* Nobody's records depend on how they are dispatched, and a message that is
 * gone leaves nothing behind. All else is found. */
static void
check_sealed(const judge *j)
{
    int wrong = 0;

    for (size_t i = 0; i < j->count; i++) {
        const char *name = j->misses[i].name;

        if (listed(name) == j->misses[i].count &&
            (strstr(name, "cascade_runs") != NULL ||
             strstr(name, "delete cascade_messages") != NULL))
            continue;
        print_message("%s: missed %d times\n", name, j->misses[i].count);
        wrong++;
    }
    assert_int_equal(0, wrong);
}

/* Does all of it, one at a time. */
static judge *
tamper_all(test_db *db)
{
    cascade_store *store = db_store(db);
    judge *j = calloc(1, sizeof(*j));

    assert_non_null(j);
    j->sealed = store->ring != NULL;
    make_own(db, store);
    make_others(store);
    assert_true(sound_all(store));
    tamper_open(&j->tamper, db, store);
    for (size_t i = 0; i < PLACES; i++) {
        const place *p = &places[i];

        edit_each(j, p);
        copy_each(j, p);
        swap_each(j, p);
        if (p->row.table != TAMPER_CASCADES) {
            tamper_delete(&j->tamper, &p->row);
            judge_it(j, &p->row, "delete", "", "");
        }
    }
    assert_true(sound_all(store));
    tamper_close(&j->tamper);
    print_message("%d tamperings\n", j->done);
    return j;
}

static void
what_cannot_be_found_is_listed(test_db *db)
{
    judge *j = tamper_all(db);

    if (getenv("CASCADE_TEST_TAMPERING") != NULL)
        print_misses(j);
    else
        check_misses(j);
    free(j);
}

static void
by_seals_every_change_of_a_record_is_found(test_db *db)
{
    judge *j = NULL;

    db->integrity = sealed_by_secret();
    j = tamper_all(db);
    check_sealed(j);
    free(j);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_cannot_be_found_is_listed", what_cannot_be_found_is_listed,
         STORES_ALL},
        {"by_seals_every_change_of_a_record_is_found",
         by_seals_every_change_of_a_record_is_found, STORES_ALL},
    };

    return stores_run("tampering", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
