/* SPDX-License-Identifier: MIT
 *
 * Reading: order, one moment, pages; and what failing moves leave behind.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"

#define WIDE 1000 /* executions of one cascade */

/* ---- What a load gave --------------------------------------------------- */

typedef enum sunk {
    SUNK_CASCADE = 1,
    SUNK_EXECUTION,
    SUNK_EVENT
} sunk;

typedef struct sunk_row {
    sunk kind;
    cascade_uuid cascade_id;
    int32_t function_id; /* of a cascade: its fn_id */
    int64_t id;          /* of an event */
    int status;
} sunk_row;

typedef struct loaded_rows {
    sunk_row *rows;
    size_t count;
    size_t room;
    size_t fail_at; /* the sink fails at this row; 0: never */
} loaded_rows;

static cascade_err
keep(loaded_rows *loaded, sunk_row row)
{
    if (loaded->fail_at != 0 && loaded->count + 1 == loaded->fail_at)
        return cascade_store_fail(CASCADE_ERR_CORRUPT, "this sink is full");
    assert_int_equal(0, csc_mem_grow((void **)&loaded->rows, &loaded->room,
                                     loaded->count + 1, sizeof(row)));
    loaded->rows[loaded->count++] = row;
    return CASCADE_OK;
}

static cascade_err
keep_cascade(void *context, const cascade_row *row)
{
    return keep(context, (sunk_row){.kind = SUNK_CASCADE,
                                    .cascade_id = row->id,
                                    .function_id = row->fn_id,
                                    .status = (int)row->status});
}

static cascade_err
keep_execution(void *context, const cascade_execution_row *row)
{
    return keep(context, (sunk_row){.kind = SUNK_EXECUTION,
                                    .cascade_id = row->cascade_id,
                                    .function_id = row->function_id,
                                    .status = (int)row->status});
}

static cascade_err
keep_event(void *context, const cascade_event_row *row)
{
    return keep(context, (sunk_row){.kind = SUNK_EVENT,
                                    .cascade_id = row->cascade_id,
                                    .function_id = row->function_id,
                                    .id = row->id});
}

static cascade_err
load(cascade_store *store, const cascade_uuid *ids, size_t count,
     unsigned parts, loaded_rows *loaded)
{
    cascade_load_sink sink = {.context = loaded,
                              .on_cascade = keep_cascade,
                              .on_execution = keep_execution,
                              .on_event = keep_event};

    loaded->count = 0;
    return store->driver->load(store->self, ids, count, parts, &sink);
}

/* Rows come as promised: kind, then cascade id, function_id, event id. */
static void
assert_ordered(const loaded_rows *loaded)
{
    for (size_t i = 1; i < loaded->count; i++) {
        const sunk_row *a = &loaded->rows[i - 1];
        const sunk_row *b = &loaded->rows[i];
        int by_id = csc_uuid_compare(&a->cascade_id, &b->cascade_id);

        if (a->kind != b->kind) {
            assert_true(a->kind < b->kind);
            continue;
        }
        assert_true(by_id <= 0);
        if (by_id < 0)
            continue;
        assert_true(b->kind != SUNK_CASCADE);
        assert_true(a->function_id <= b->function_id);
        if (a->function_id == b->function_id) {
            assert_true(b->kind == SUNK_EVENT);
            assert_true(a->id < b->id);
        }
    }
}

/* ---- S12 ---------------------------------------------------------------- */

static void
shuffle(conformance_db *db, int32_t *numbers, size_t count)
{
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = rows_below(&db->rows, i + 1);
        int32_t swapped = numbers[i];

        numbers[i] = numbers[k];
        numbers[k] = swapped;
    }
}

/* A cascade of WIDE executions and events, written in ten batches in a random
 * order of function_ids. */
static void
write_wide(conformance_db *db, cascade_uuid engine, cascade_uuid id,
           int64_t *number)
{
    int32_t function_ids[WIDE - 1];

    for (int32_t i = 0; i < WIDE - 1; i++)
        function_ids[i] = i + 1;
    shuffle(db, function_ids, WIDE - 1);
    assert_ok(db_commit_one(db, engine, (*number)++,
                            rows_start_owned(&db->rows, id, engine)));
    for (size_t at = 0; at < WIDE - 1;) {
        cascade_change *write = rows_write(&db->rows, id, 1);

        for (size_t i = 0; i < WIDE / 10 && at < WIDE - 1; i++, at++) {
            rows_insert(&db->rows, write, function_ids[at], "node");
            rows_event(&db->rows, write, function_ids[at], "key", "1");
            rows_event(&db->rows, write, function_ids[at], "key", "2");
        }
        assert_ok(db_commit_one(db, engine, (*number)++, write));
    }
}

/* S12, G7: 1,000 executions written in no order come in order, and once, though
 * a cascade is asked for twice. */
static void
a_load_gives_rows_in_order(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid ids[4];
    int64_t number = 1;
    loaded_rows loaded = {.rows = NULL};

    for (int i = 0; i < 3; i++)
        ids[i] = rows_id(&db->rows);
    ids[3] = ids[0];
    write_wide(db, engine, ids[0], &number);
    write_wide(db, engine, ids[2], &number);
    assert_ok(load(db->handles[0], ids, 4,
                   CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &loaded));
    assert_int_equal(loaded.count, 2 + 2 * WIDE + 4 * (WIDE - 1));
    assert_ordered(&loaded);
    csc_mem_free(loaded.rows);
}

/* S12: only the parts that were asked for, and the cascades always. */
static void
a_load_gives_the_parts_asked_for(void **state)
{
    static const struct {
        unsigned parts;
        size_t count;
    } cases[] = {{0, 3},
                 {CASCADE_LOAD_EXECUTIONS, 6},
                 {CASCADE_LOAD_EVENTS, 9},
                 {CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, 12}};
    conformance_db *db = *state;
    cascade_change *starts[3];
    cascade_uuid ids[5];
    loaded_rows loaded = {.rows = NULL};

    for (int i = 0; i < 3; i++) {
        ids[i] = rows_id(&db->rows);
        starts[i] = rows_start(&db->rows, ids[i]);
        rows_event(&db->rows, starts[i], 0, "a", "1");
        rows_event(&db->rows, starts[i], 0, "b", "1");
    }
    ids[3] = rows_id(&db->rows);
    ids[4] = rows_id(&db->rows);
    assert_ok(db_submit(db, starts, 3, NULL));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(load(db->handles[0], ids, 5, cases[i].parts, &loaded));
        assert_int_equal(loaded.count, cases[i].count);
        assert_ordered(&loaded);
    }
    assert_ok(load(db->handles[0], ids + 3, 2, CASCADE_LOAD_EVENTS, &loaded));
    assert_int_equal(loaded.count, 0);
    csc_mem_free(loaded.rows);
}

/* S12: the most ids that one load may ask for. */
static void
a_load_takes_a_thousand_ids(void **state)
{
    conformance_db *db = *state;
    cascade_uuid *ids = calloc(1000, sizeof(*ids));
    loaded_rows loaded = {.rows = NULL};

    assert_non_null(ids);
    db_start_many(db, ids, 1000);
    assert_ok(
        load(db->handles[0], ids, 1000, CASCADE_LOAD_EXECUTIONS, &loaded));
    assert_int_equal(loaded.count, 2000);
    assert_ordered(&loaded);
    csc_mem_free(loaded.rows);
    free(ids);
}

/* A cascade with children and others, of which some have ended. */
static void
write_family(conformance_db *db, cascade_uuid engine, cascade_uuid id)
{
    static const char *const nodes[] = {
        CASCADE_CHILD_PREFIX "a", "node",
        CASCADE_CHILD_PREFIX "b", CASCADE_CHILD_PREFIX "c",
        "cascade.chile:a",        "cascade.childless",
        CASCADE_CHILD_PREFIX};
    cascade_change *write = rows_write(&db->rows, id, 7);

    for (int32_t i = 0; i < 7; i++)
        rows_insert(&db->rows, write, i + 1, nodes[i]);
    rows_event(&db->rows, write, 1, "key", "1");
    assert_ok(db_commit_one(db, engine, 2, write));
    write = rows_write(&db->rows, id, 7);
    rows_update(&db->rows, write, 0, "{}");
    rows_update(&db->rows, write, 3, "{}");
    assert_ok(db_commit_one(db, engine, 3, write));
}

/* S24: the first, ended or not, and children that run; beside events; once
 * where all are asked for. */
static void
a_load_gives_the_family_alone(void **state)
{
    static const int32_t given[] = {0, 1, 4, 7};
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid ids[3];
    loaded_rows loaded = {.rows = NULL};

    ids[0] = rows_id(&db->rows);
    ids[1] = rows_id(&db->rows);
    ids[2] = rows_id(&db->rows);
    assert_ok(db_commit_one(db, engine, 1,
                            rows_start_owned(&db->rows, ids[0], engine)));
    assert_ok(db_submit_one(db, rows_start(&db->rows, ids[1])));
    write_family(db, engine, ids[0]);
    assert_ok(load(db->handles[0], ids, 1, CASCADE_LOAD_FAMILY, &loaded));
    assert_int_equal(loaded.count, 5);
    for (int i = 0; i < 4; i++)
        assert_int_equal(loaded.rows[i + 1].function_id, given[i]);
    assert_int_equal(loaded.rows[1].status, CASCADE_EXECUTION_COMPLETED);
    assert_ok(load(db->handles[0], ids, 3,
                   CASCADE_LOAD_FAMILY | CASCADE_LOAD_EVENTS, &loaded));
    assert_int_equal(loaded.count, 2 + 5 + 1);
    assert_ordered(&loaded);
    assert_ok(load(db->handles[0], ids, 3,
                   CASCADE_LOAD_FAMILY | CASCADE_LOAD_EXECUTIONS, &loaded));
    assert_int_equal(loaded.count, 2 + 9);
    assert_ordered(&loaded);
    csc_mem_free(loaded.rows);
}

/* S51: the first ones of each; the rest of one takes nothing from the next. */
static void
a_load_gives_so_many_of_a_family(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid ids[2] = {rows_id(&db->rows), rows_id(&db->rows)};
    loaded_rows loaded = {.rows = NULL};

    for (int64_t i = 0; i < 2; i++) {
        cascade_change *start = rows_start_owned(&db->rows, ids[i], engine);

        for (int32_t n = 1; n <= CASCADE_LOAD_FAMILY_MAX + 3; n++)
            rows_insert(&db->rows, start, n, CASCADE_CHILD_PREFIX "a");
        start->cascade.fn_id = CASCADE_LOAD_FAMILY_MAX + 3;
        assert_ok(db_commit_one(db, engine, 1 + i, start));
    }
    assert_ok(load(db->handles[0], ids, 2, CASCADE_LOAD_FAMILY, &loaded));
    assert_int_equal(loaded.count, 2 * (1 + 1 + CASCADE_LOAD_FAMILY_MAX));
    assert_ordered(&loaded);
    assert_int_equal(loaded.rows[loaded.count - 1].function_id,
                     CASCADE_LOAD_FAMILY_MAX);
    csc_mem_free(loaded.rows);
}

#define MOMENTS 60

typedef struct writer_state {
    pthread_t thread;
    conformance_db *db;
    cascade_uuid engine;
    cascade_uuid ids[2];
    sem_t turn; /* a batch, beside a load */
    atomic_bool done;
    cascade_err err;
} writer_state;

/* Each batch moves both cascades on by one execution and one event. */
static void *
write_on(void *context)
{
    writer_state *it = context;
    test_rows *rows = &it->db->rows;

    for (int32_t i = 1; i <= MOMENTS && it->err == CASCADE_OK; i++) {
        cascade_change *changes[2];

        while (sem_wait(&it->turn) != 0)
            ;
        for (int k = 0; k < 2; k++) {
            changes[k] = rows_write(rows, it->ids[k], i);
            rows_update(rows, changes[k], i - 1, "{}");
            rows_insert(rows, changes[k], i, "node");
            rows_event(rows, changes[k], i - 1, "key", "1");
        }
        it->err = db_commit(it->db, it->engine, 0, i + 1, changes, 2, NULL);
    }
    atomic_store(&it->done, true);
    return NULL;
}

/* The rows belong together: nothing of a batch is seen without the rest. */
static void
assert_one_moment(const loaded_rows *loaded)
{
    int32_t fn_id = loaded->rows[0].function_id;
    size_t executions = 0;
    size_t ended = 0;
    size_t events = 0;

    assert_int_equal(loaded->rows[1].function_id, fn_id);
    for (size_t i = 2; i < loaded->count; i++) {
        const sunk_row *row = &loaded->rows[i];

        executions += row->kind == SUNK_EXECUTION;
        events += row->kind == SUNK_EVENT;
        ended += row->kind == SUNK_EXECUTION &&
                 row->status == CASCADE_EXECUTION_COMPLETED;
    }
    assert_int_equal(executions, 2 * (fn_id + 1));
    assert_int_equal(ended, 2 * fn_id);
    assert_int_equal(events, 2 * fn_id);
}

/* S12, S2, G1, G7: a load beside commits shows each batch whole or not at
 * all, in both cascades of the batch. */
static void
a_load_shows_one_moment(void **state)
{
    conformance_db *db = *state;
    cascade_store *reader = db_open(db);
    writer_state writer = {.db = db,
                           .engine = db_attach(db, 1, DB_LONG_LEASE_MS)};
    cascade_change *starts[2];
    loaded_rows loaded = {.rows = NULL};
    bool done = false;

    for (int i = 0; i < 2; i++) {
        writer.ids[i] = rows_id(&db->rows);
        starts[i] = rows_start_owned(&db->rows, writer.ids[i], writer.engine);
    }
    assert_ok(db_commit(db, writer.engine, 0, 1, starts, 2, NULL));
    assert_int_equal(0, sem_init(&writer.turn, 0, 0));
    assert_int_equal(0,
                     pthread_create(&writer.thread, NULL, write_on, &writer));
    while (!done) {
        done = atomic_load(&writer.done);
        assert_int_equal(0, sem_post(&writer.turn));
        assert_ok(load(reader, writer.ids, 2,
                       CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &loaded));
        assert_one_moment(&loaded);
    }
    pthread_join(writer.thread, NULL);
    sem_destroy(&writer.turn);
    assert_int_equal(writer.err, CASCADE_OK);
    assert_int_equal(loaded.rows[0].function_id, MOMENTS);
    csc_mem_free(loaded.rows);
}

/* ---- S14 ---------------------------------------------------------------- */

#define LISTED 57

typedef struct listed_ids {
    cascade_uuid ids[1000];
    size_t count;
    size_t fail_at;
} listed_ids;

static cascade_err
keep_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    listed_ids *listed = context;

    (void)run;
    if (listed->fail_at != 0 && listed->count + 1 == listed->fail_at)
        return cascade_store_fail(CASCADE_ERR_CORRUPT, "this sink is full");
    assert_true(listed->count < 1000);
    listed->ids[listed->count++] = row->id;
    return CASCADE_OK;
}

/* All pages of a query, `limit` at a time. */
static void
list_all(conformance_db *db, cascade_query query, size_t limit, listed_ids *all)
{
    cascade_uuid last;
    size_t before;

    all->count = 0;
    query.limit = limit;
    do {
        before = all->count;
        assert_ok(db->driver->list(db->self, &query, keep_listed, all));
        assert_true(all->count - before <= limit);
        if (all->count > before) {
            last = all->ids[all->count - 1];
            query.after = &last;
        }
    } while (all->count - before == limit);
    for (size_t i = 1; i < all->count; i++)
        assert_true(csc_uuid_compare(&all->ids[i - 1], &all->ids[i]) < 0);
}

static cascade_err
fail_fault(void *context, const cascade_fault *fault)
{
    (void)context;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "unreadable: %s",
                              fault->text);
}

/* Cascade i: user u<i mod 3>, status by i mod 4, a node n<i mod 5>. */
static void
start_listed(conformance_db *db)
{
    static const cascade_status statuses[] = {
        CASCADE_RUNNING, CASCADE_ERROR, CASCADE_COMPLETED, CASCADE_RUNNING};
    cascade_change *starts[LISTED];

    for (int i = 0; i < LISTED; i++) {
        starts[i] = rows_start(&db->rows, rows_id(&db->rows));
        starts[i]->cascade.user_id = rows_text(&db->rows, "u%d", i % 3);
        starts[i]->cascade.status = statuses[i % 4];
        rows_insert(&db->rows, starts[i], 1,
                    rows_text(&db->rows, "n%d", i % 5));
        rows_insert(&db->rows, starts[i], 2,
                    rows_text(&db->rows, "n%d", i % 5));
    }
    assert_ok(db_submit(db, starts, LISTED, NULL));
}

static size_t
expected_count(int user, int status, int node)
{
    static const int statuses[] = {CASCADE_RUNNING, CASCADE_ERROR,
                                   CASCADE_COMPLETED, CASCADE_RUNNING};
    size_t count = 0;

    for (int i = 0; i < LISTED; i++)
        count += (user < 0 || i % 3 == user) &&
                 (status == 0 || statuses[i % 4] == status) &&
                 (node < 0 || i % 5 == node);
    return count;
}

/* S14: with each mix of filters and each size of page, every match comes once,
 * by ascending id. */
static void
pages_have_no_gaps_and_no_repetitions(void **state)
{
    static const size_t limits[] = {1, 7, 57, 1000};
    conformance_db *db = *state;
    listed_ids *all = calloc(1, sizeof(*all));

    assert_non_null(all);
    start_listed(db);
    for (int mix = 0; mix < 4 * 4 * 6; mix++) {
        int user = mix % 4 - 1;
        int status = mix / 4 % 4;
        int node = mix / 16 - 1;
        cascade_query query = {
            .user_id = user < 0 ? NULL : rows_text(&db->rows, "u%d", user),
            .status = (cascade_status)status,
            .node = node < 0 ? NULL : rows_text(&db->rows, "n%d", node)};

        list_all(db, query, limits[mix % 4], all);
        assert_int_equal(all->count, expected_count(user, status, node));
    }
    free(all);
}

/* S73: where all can be read, who asks to be told of others is told of none,
 * and given the same. */
static void
pages_with_a_place_for_faults_are_the_same(void **state)
{
    static const size_t limits[] = {1, 7, 57, 1000};
    conformance_db *db = *state;
    listed_ids *all = calloc(1, sizeof(*all));

    assert_non_null(all);
    start_listed(db);
    for (int user = -1; user < 3; user++) {
        const cascade_query query = {
            .user_id = user < 0 ? NULL : rows_text(&db->rows, "u%d", user),
            .on_fault = fail_fault};

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
            list_all(db, query, limits[i], all);
            assert_int_equal(all->count, expected_count(user, 0, -1));
        }
    }
    free(all);
}

/* S14: what is started behind the last id read appears, before it does not,
 * and nothing is repeated. */
static void
pages_go_on_while_cascades_are_started(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[10];
    listed_ids *all = calloc(1, sizeof(*all));
    cascade_uuid middle;
    cascade_query query = {.limit = 5};
    cascade_uuid low;
    cascade_uuid high;

    assert_non_null(all);
    db_start_many(db, ids, 10);
    assert_ok(db->driver->list(db->self, &query, keep_listed, all));
    assert_int_equal(all->count, 5);
    middle = all->ids[4];
    memset(&low, 0x00, sizeof(low));
    low.bytes[15] = 1;
    memset(&high, 0xff, sizeof(high));
    assert_ok(db_submit_one(db, rows_start(&db->rows, low)));
    assert_ok(db_submit_one(db, rows_start(&db->rows, high)));
    query.after = &middle;
    query.limit = 100;
    assert_ok(db->driver->list(db->self, &query, keep_listed, all));
    assert_int_equal(all->count, 11);
    for (int i = 0; i < 10; i++)
        assert_true(csc_uuid_equal(&all->ids[i], &ids[i]));
    assert_true(csc_uuid_equal(&all->ids[10], &high));
    query.after = &high;
    all->count = 0;
    assert_ok(db->driver->list(db->self, &query, keep_listed, all));
    assert_int_equal(all->count, 0);
    free(all);
}

/* S14: by id, alone and with other filters. */
static void
one_cascade_is_listed_by_its_id(void **state)
{
    conformance_db *db = *state;
    cascade_uuid ids[3];
    cascade_uuid nobody = rows_id(&db->rows);
    listed_ids *found = calloc(1, sizeof(*found));
    const struct {
        cascade_query query;
        size_t count;
    } cases[] = {
        {{.id = &ids[1], .limit = 10}, 1},
        {{.id = &nobody, .limit = 10}, 0},
        {{.id = &ids[1], .user_id = "user", .limit = 1}, 1},
        {{.id = &ids[1], .user_id = "nobody", .limit = 1}, 0},
        {{.id = &ids[1], .status = CASCADE_RUNNING, .limit = 1}, 1},
        {{.id = &ids[1], .status = CASCADE_ERROR, .limit = 1}, 0},
        {{.id = &ids[1], .node = "first", .limit = 1}, 1},
        {{.id = &ids[1], .node = "firs", .limit = 1}, 0},
        {{.id = &ids[1], .after = &ids[0], .limit = 1}, 1},
        {{.id = &ids[1], .after = &ids[1], .limit = 1}, 0},
        {{.id = &ids[1], .after = &ids[2], .limit = 1}, 0},
    };

    assert_non_null(found);
    db_start_many(db, ids, 3);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        found->count = 0;
        assert_ok(
            db->driver->list(db->self, &cases[i].query, keep_listed, found));
        assert_int_equal(found->count, cases[i].count);
        if (found->count == 1)
            assert_true(csc_uuid_equal(&found->ids[0], &ids[1]));
    }
    free(found);
}

/* ---- S16 ---------------------------------------------------------------- */

/* S16: an error of a sink ends the move, is its result, and leaves the store
 * usable by this handle and by others. */
static void
an_error_of_a_sink_is_the_result(void **state)
{
    conformance_db *db = *state;
    cascade_store *other = db_open(db);
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    listed_ids *listed = calloc(1, sizeof(*listed));
    cascade_query query = {.limit = 10};
    loaded_rows loaded = {.rows = NULL};

    assert_non_null(listed);
    rows_event(&db->rows, start, 0, "key", "1");
    assert_ok(db_submit_one(db, start));
    for (loaded.fail_at = 1; loaded.fail_at <= 3; loaded.fail_at++) {
        assert_fails(CASCADE_ERR_CORRUPT,
                     load(db->handles[0], &start->cascade.id, 1,
                          CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                          &loaded));
        assert_string_equal(cascade_errmsg(), "this sink is full");
        assert_int_equal(loaded.count, loaded.fail_at - 1);
        assert_ok(other->driver->renew(other->self, &engine, 60000, NULL));
        assert_ok(db_submit_one(db, rows_start(&db->rows, rows_id(&db->rows))));
    }
    listed->fail_at = 2;
    assert_fails(CASCADE_ERR_CORRUPT,
                 db->driver->list(db->self, &query, keep_listed, listed));
    assert_int_equal(listed->count, 1);
    assert_ok(other->driver->renew(other->self, &engine, 60000, NULL));
    assert_ok(db->driver->detach(db->self, &engine));
    csc_mem_free(loaded.rows);
    free(listed);
}

/* One of each move that fails. */
static void
fail_each_move(conformance_db *db, cascade_uuid engine)
{
    cascade_uuid nobody = rows_id(&db->rows);
    cascade_change *culprit = rows_write(&db->rows, nobody, 0);
    cascade_claimed claimed[1];
    cascade_claim_result result = {0};
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

    rows_insert(&db->rows, start, 0, "twice");
    assert_fails(CASCADE_ERR_REFUSED, db_commit_one(db, engine, 1, culprit));
    assert_fails(CASCADE_ERR_LOST, db_commit_one(db, engine, 5, culprit));
    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, nobody, 1, culprit));
    assert_fails(CASCADE_ERR_REFUSED, db_submit_one(db, start));
    assert_fails(CASCADE_ERR_FENCED,
                 db->driver->renew(db->self, &nobody, 1, NULL));
    assert_fails(CASCADE_ERR_FENCED,
                 db_claim(db, nobody, "default", 1, claimed, &result));
}

/* S16: failing moves leave no descriptor and no lock behind: another handle
 * writes at once, and so does this one. */
static void
failing_moves_leave_nothing_behind(void **state)
{
    conformance_db *db = *state;
    cascade_store *other = db_open(db);
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    size_t before;
    char *picture;

    fail_each_move(db, engine);
    assert_ok(other->driver->renew(other->self, &engine, 60000, NULL));
    before = db_count_descriptors();
    picture = db_picture(db);
    for (int i = 0; i < 50; i++) {
        fail_each_move(db, engine);
        assert_ok(other->driver->renew(other->self, &engine, 60000, NULL));
    }
    assert_int_equal(db_count_descriptors(), before);
    db_assert_unchanged(db, picture);
    assert_ok(db_commit(db, engine, 0, 1, NULL, 0, NULL));
}

conformance_group
conformance_read(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_gives_rows_in_order),
        cmocka_unit_test(a_load_gives_the_parts_asked_for),
        cmocka_unit_test(a_load_takes_a_thousand_ids),
        cmocka_unit_test(a_load_gives_the_family_alone),
        cmocka_unit_test(a_load_gives_so_many_of_a_family),
        cmocka_unit_test(a_load_shows_one_moment),
        cmocka_unit_test(pages_have_no_gaps_and_no_repetitions),
        cmocka_unit_test(pages_with_a_place_for_faults_are_the_same),
        cmocka_unit_test(pages_go_on_while_cascades_are_started),
        cmocka_unit_test(one_cascade_is_listed_by_its_id),
        cmocka_unit_test(an_error_of_a_sink_is_the_result),
        cmocka_unit_test(failing_moves_leave_nothing_behind),
    };

    return (conformance_group){"read", tests, sizeof(tests) / sizeof(tests[0])};
}
