/* SPDX-License-Identifier: MIT
 *
 * Seals: what the commits of a cascade make of one is what reading all its rows
 * gives, and nothing else is taken for it.
 */
#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/support.h"
#include "store/seal.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define SECRET "0123456789abcdef"
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define ROWS_MAX 64

/* ---- Rows --------------------------------------------------------------- */

/* What the tables have of a cascade. */
typedef struct table {
    cascade_row row;
    cascade_execution_row executions[ROWS_MAX];
    size_t execution_count;
    cascade_event_row events[ROWS_MAX];
    size_t event_count;
    int64_t number;
    char seal[CSC_SEAL_TEXT_SIZE];
} table;

static cascade_uuid
id_of(const char *text)
{
    cascade_uuid id;

    assert_int_equal(cascade_uuid_parse(text, &id), CASCADE_OK);
    return id;
}

static cascade_execution_row
execution_of(int32_t function_id, cascade_execution_status status)
{
    cascade_execution_row row = {
        .id = id_of("01890000-0000-7000-8000-00000000e000"),
        .cascade_id = id_of(ID),
        .function_id = function_id,
        .status = status,
        .node_instance_id = function_id == 0 ? "p0" : "p1",
        .node_name = function_id == 0 ? "node" : "next",
        .input = function_id == 0 ? "{\"a\": 1}" : "{}",
        .full_output = status == RUNNING ? NULL : "{\"at\":0}",
        .location = "server",
        .error = function_id == 0 ? NULL : "",
        .started_at_ms = function_id == 0 ? 1000 : 1500,
        .completed_at_ms = status == RUNNING ? CASCADE_TIME_NONE : 2000};

    row.id.bytes[15] = (unsigned char)function_id;
    return row;
}

static cascade_event_row
event_of(const char *value, const char *ui_value)
{
    return (cascade_event_row){.cascade_id = id_of(ID),
                               .key = "k",
                               .value = value,
                               .ui_value = ui_value,
                               .created_at_us = 2000000};
}

static void
begin(table *t)
{
    memset(t, 0, sizeof(*t));
    t->row = (cascade_row){.id = id_of(ID),
                           .status = CASCADE_RUNNING,
                           .fn_id = 1,
                           .user_id = "user",
                           .created_at_ms = 900,
                           .updated_at_ms = 2000};
}

/* Two executions, one of which has written two events in one moment. */
static void
fill(table *t)
{
    begin(t);
    t->executions[0] = execution_of(0, COMPLETED);
    t->executions[1] = execution_of(1, RUNNING);
    t->execution_count = 2;
    t->events[0] = event_of("1", NULL);
    t->events[1] = event_of("2", "\"two\"");
    t->event_count = 2;
}

/* ---- Sealing ------------------------------------------------------------ */

static void
read_rows(const table *t, csc_seal *seal)
{
    for (size_t i = 0; i < t->execution_count; i++)
        assert_int_equal(csc_seal_add_execution(seal, &t->executions[i]),
                         CASCADE_OK);
    for (size_t i = 0; i < t->event_count; i++)
        csc_seal_add_event(seal, &t->events[i]);
}

/* As the first commit of all of it, but for the number. */
static void
seal_rows(table *t, const csc_seal_key *key, int64_t number)
{
    const cascade_change change = {.inserts = t->executions,
                                   .insert_count = t->execution_count,
                                   .events = t->events,
                                   .event_count = t->event_count};
    csc_arena arena = {0};
    csc_seal seal;
    csc_seal_next next;

    csc_seal_init(&seal, key, &t->row.id);
    seal.number = number - 1;
    assert_int_equal(csc_seal_make(&seal, &t->row, &change, &arena, &next),
                     CASCADE_OK);
    t->number = next.number;
    (void)snprintf(t->seal, sizeof(t->seal), "%s", next.text);
    csc_seal_fini(&seal);
    csc_arena_fini(&arena);
}

static cascade_err
check(const table *t, const csc_seal_key *key)
{
    csc_seal seal;
    cascade_err err = CASCADE_OK;

    csc_seal_init(&seal, key, &t->row.id);
    read_rows(t, &seal);
    err = csc_seal_check(&seal, &t->row, t->number, t->seal);
    if (err == CASCADE_OK)
        assert_int_equal(seal.number, t->number);
    csc_seal_fini(&seal);
    return err;
}

static void
make_keys(csc_seal_key keys[2])
{
    csc_seal_key_checksum(&keys[0]);
    assert_int_equal(
        csc_seal_key_secret(&keys[1], "2026-a", SECRET, strlen(SECRET)),
        CASCADE_OK);
}

/* ---- The form ------------------------------------------------------------ */

/* The texts were made by a program of its own from what the header says. */
static void
seals_have_the_form_that_is_written_down(void **state)
{
    csc_seal_key keys[2];
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    seal_rows(&t, &keys[0], 7);
    assert_string_equal(t.seal, "c1::11e50d7b0fe185981bc4be55526013fc:"
                                "135026cc2da1f15e583cf288b5a8a272");
    seal_rows(&t, &keys[1], 7);
    assert_string_equal(
        t.seal,
        "h1:2026-a:"
        "0720aba903f678555f5d5548a1b9017ab9cc335e6c01929c54cc24f4c55be7df:"
        "022d34604161f07b64d841499bac51dc074dbe08a4620b57dbbd5520dd52f5d4");
    assert_int_equal(check(&t, &keys[1]), CASCADE_OK);
}

static cascade_message_row
message_of(void)
{
    return (cascade_message_row){.id = 5,
                                 .cascade_id = id_of(ID),
                                 .kind = "signal",
                                 .name = "news",
                                 .path = "x/message/1",
                                 .payload = "{\"b\":2}",
                                 .sent_at_ms = 3000};
}

static void
messages_have_the_form_that_is_written_down(void **state)
{
    cascade_message_row row = message_of();
    char text[CSC_SEAL_TEXT_SIZE];
    csc_seal_key keys[2];

    (void)state;
    make_keys(keys);
    csc_seal_make_message(&keys[0], &row, text);
    assert_string_equal(text, "c1::ca51ff481825e1733d5342340a53763d");
    csc_seal_make_message(&keys[1], &row, text);
    assert_string_equal(
        text,
        "h1:2026-a:"
        "6aa402489b77e533bc9c8b35884d72414ac50122d0b5012a9b4903fa07c73eb3");
    row.id = 6;
    assert_int_equal(csc_seal_check_message(&keys[1], &row, text), CASCADE_OK);
    assert_int_equal(csc_seal_check_message(&keys[0], &row, text),
                     CASCADE_ERR_CORRUPT);
}

static void
keys_without_an_id_or_secret_are_refused(void **state)
{
    csc_seal_key key;
    char id[CSC_SEAL_KEY_ID_MAX + 2];

    (void)state;
    memset(id, 'a', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    assert_int_equal(csc_seal_key_secret(&key, "", SECRET, 16),
                     CASCADE_ERR_INVALID);
    assert_int_equal(csc_seal_key_secret(&key, "a:b", SECRET, 16),
                     CASCADE_ERR_INVALID);
    assert_int_equal(csc_seal_key_secret(&key, id, SECRET, 16),
                     CASCADE_ERR_INVALID);
    assert_int_equal(csc_seal_key_secret(&key, "a", SECRET, 15),
                     CASCADE_ERR_INVALID);
    assert_null(strstr(cascade_errmsg(), SECRET));
    id[sizeof(id) - 2] = '\0';
    assert_int_equal(csc_seal_key_secret(&key, id, SECRET, 16), CASCADE_OK);
    csc_seal_key_fini(&key);
}

/* ---- Commits ------------------------------------------------------------- */

/* A commit of some rows, chosen at random, goes to seal and table. */
typedef struct commit {
    cascade_change change;
    cascade_execution_row inserts[3];
    cascade_execution_row updates[ROWS_MAX];
    cascade_event_row events[4];
} commit;

static void
plan_inserts(support_rng *rng, table *t, commit *c)
{
    size_t count = support_rng_below(rng, 4);

    for (size_t i = 0; i < count && t->execution_count < ROWS_MAX; i++) {
        cascade_execution_status status =
            support_rng_below(rng, 4) == 0 ? COMPLETED : RUNNING;

        c->inserts[i] = execution_of((int32_t)t->execution_count, status);
        t->executions[t->execution_count++] = c->inserts[i];
        c->change.insert_count = i + 1;
    }
}

static void
plan_updates(support_rng *rng, table *t, size_t known, commit *c)
{
    static const char *const outputs[] = {"{\"attempts\":1}", NULL,
                                          "{\"attempts\":2}", "{}"};

    for (size_t i = 0; i < known; i++) {
        cascade_execution_row *row = &t->executions[i];

        if (row->status != RUNNING || support_rng_below(rng, 3) != 0)
            continue;
        row->full_output = outputs[support_rng_below(rng, 4)];
        row->error = support_rng_below(rng, 2) == 0 ? NULL : "it failed";
        if (support_rng_below(rng, 2) == 0) {
            row->status = CASCADE_EXECUTION_FAILED;
            row->completed_at_ms = 5000;
        }
        /* what an update names is all that it has */
        c->updates[c->change.update_count++] =
            (cascade_execution_row){.cascade_id = row->cascade_id,
                                    .function_id = row->function_id,
                                    .status = row->status,
                                    .full_output = row->full_output,
                                    .error = row->error,
                                    .completed_at_ms = row->completed_at_ms};
    }
}

/* They are of a function_id that has none yet, or is RUNNING; it comes last. */
static void
plan_events(support_rng *rng, table *t, int32_t writer, commit *c)
{
    size_t count = support_rng_below(rng, 5);

    for (size_t i = 0; i < count && t->event_count < ROWS_MAX; i++) {
        cascade_event_row row = event_of("{\"v\": 1}", NULL);

        row.function_id = writer;
        row.created_at_us = 3000000 + (int64_t)support_rng_below(rng, 2);
        if (i > 0 && row.created_at_us < c->events[i - 1].created_at_us)
            row.created_at_us = c->events[i - 1].created_at_us;
        c->events[i] = row;
        t->events[t->event_count++] = row;
        c->change.event_count = i + 1;
    }
}

static void
plan_commit(support_rng *rng, table *t, int32_t writer, commit *c)
{
    size_t known = t->execution_count;

    memset(c, 0, sizeof(*c));
    plan_inserts(rng, t, c);
    plan_updates(rng, t, known, c);
    plan_events(rng, t, writer, c);
    c->change.inserts = c->inserts;
    c->change.updates = c->updates;
    c->change.events = c->events;
    t->row.fn_id = writer;
    t->row.updated_at_ms++;
}

static size_t
count_running(const table *t)
{
    size_t count = 0;

    for (size_t i = 0; i < t->execution_count; i++)
        count += t->executions[i].status == RUNNING;
    return count;
}

/* The one before once more, which may be the last time, or the next. */
static int32_t
next_writer(support_rng *rng, const table *t, int32_t writer)
{
    bool again = writer >= 0 && (size_t)writer < t->execution_count &&
                 t->executions[writer].status == RUNNING;

    return again && support_rng_below(rng, 2) == 0 ? writer : writer + 1;
}

static void
make_life(support_rng *rng, const csc_seal_key *key)
{
    static commit c;
    static table t;
    csc_arena arena = {0};
    int32_t writer = -1;
    csc_seal seal;

    begin(&t);
    csc_seal_init(&seal, key, &t.row.id);
    for (int32_t i = 0; i < 12; i++) {
        csc_seal_next next;

        csc_arena_clear(&arena);
        writer = next_writer(rng, &t, writer);
        plan_commit(rng, &t, writer, &c);
        assert_int_equal(csc_seal_make(&seal, &t.row, &c.change, &arena, &next),
                         CASCADE_OK);
        if (support_rng_below(rng, 4) == 0) /* the same, made once more */
            assert_int_equal(
                csc_seal_make(&seal, &t.row, &c.change, &arena, &next),
                CASCADE_OK);
        assert_int_equal(csc_seal_apply(&seal, &next), CASCADE_OK);
        assert_int_equal(seal.open.count, count_running(&t));
        t.number = i + 1;
        (void)snprintf(t.seal, sizeof(t.seal), "%s", next.text);
        assert_int_equal(check(&t, key), CASCADE_OK);
        if (support_rng_below(rng, 3) != 0)
            continue;
        /* held by another from here on */
        csc_seal_fini(&seal);
        csc_seal_init(&seal, key, &t.row.id);
        read_rows(&t, &seal);
        assert_int_equal(csc_seal_check(&seal, &t.row, t.number, t.seal),
                         CASCADE_OK);
    }
    csc_seal_fini(&seal);
    csc_arena_fini(&arena);
}

static void
commits_make_the_seal_of_all_rows(void **state)
{
    support_rng rng = support_rng_open("seal");
    csc_seal_key keys[2];
    size_t blocks = csc_mem_live();

    (void)state;
    make_keys(keys);
    for (size_t i = 0; i < 400; i++)
        make_life(&rng, &keys[i % 2]);
    assert_int_equal(csc_mem_live(), blocks);
}

/* A commit of who has read no rows but those that are RUNNING. */
static void
a_sum_goes_on_from_its_text(void **state)
{
    cascade_execution_row ended = execution_of(1, COMPLETED);
    const cascade_change change = {.updates = &ended, .update_count = 1};
    csc_arena arena = {0};
    csc_seal_key keys[2];
    table t;

    (void)state;
    make_keys(keys);
    for (size_t i = 0; i < 2; i++) {
        csc_seal seal;
        csc_seal_next next;

        fill(&t);
        seal_rows(&t, &keys[i], 3);
        csc_seal_init(&seal, &keys[i], &t.row.id);
        assert_int_equal(csc_seal_open(&seal, &t.row, t.number, t.seal),
                         CASCADE_OK);
        for (size_t j = 0; j < 2; j++)
            assert_int_equal(csc_seal_note_execution(&seal, &t.executions[j]),
                             CASCADE_OK);
        assert_int_equal(csc_seal_make(&seal, &t.row, &change, &arena, &next),
                         CASCADE_OK);
        t.number = 4;
        (void)snprintf(t.seal, sizeof(t.seal), "%s", next.text);
        assert_int_equal(check(&t, &keys[i]), CASCADE_ERR_CORRUPT);
        t.executions[1] = ended;
        assert_int_equal(check(&t, &keys[i]), CASCADE_OK);
        csc_seal_fini(&seal);
    }
    csc_arena_fini(&arena);
}

static void
sums_carry_through_all_words(void **state)
{
    const csc_seal_sum most = {{~0ULL, ~0ULL, ~0ULL, ~0ULL}};
    const cascade_execution_row row = execution_of(1, RUNNING);
    const cascade_event_row event = event_of("1", NULL);
    const cascade_change change = {.updates = &row, .update_count = 1};
    csc_arena arena = {0};
    csc_seal_key keys[2];
    csc_seal_next next;
    csc_seal seals[2];

    (void)state;
    make_keys(keys);
    for (size_t i = 0; i < 2; i++) {
        csc_seal_init(&seals[i], &keys[1], &event.cascade_id);
        assert_int_equal(csc_seal_note_execution(&seals[i], &row), CASCADE_OK);
    }
    assert_int_equal(csc_seal_make(&seals[0], &(cascade_row){.user_id = "user"},
                                   &change, &arena, &next),
                     CASCADE_OK);
    assert_memory_equal(&next.sum, &seals[0].sum, sizeof(next.sum));
    seals[1].sum = most;
    csc_seal_add_event(&seals[0], &event);
    csc_seal_add_event(&seals[1], &event);
    seals[1].sum.words[0]++; /* no term is 0 */
    assert_memory_equal(&seals[1].sum, &seals[0].sum, sizeof(next.sum));
    csc_seal_fini(&seals[0]);
    csc_seal_fini(&seals[1]);
    csc_arena_fini(&arena);
}

static void
what_has_ended_is_not_updated(void **state)
{
    cascade_execution_row row = execution_of(0, COMPLETED);
    const cascade_change change = {.updates = &row, .update_count = 1};
    csc_arena arena = {0};
    csc_seal_key keys[2];
    csc_seal seal;
    csc_seal_next next;
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    csc_seal_init(&seal, &keys[1], &t.row.id);
    read_rows(&t, &seal);
    assert_int_equal(csc_seal_make(&seal, &t.row, &change, &arena, &next),
                     CASCADE_ERR_CORRUPT);
    csc_seal_fini(&seal);
    csc_arena_fini(&arena);
}

/* ---- Tampering ----------------------------------------------------------- */

static void
edit_times(table *t)
{
    t->executions[0].started_at_ms++;
}

static void
edit_end(table *t)
{
    t->executions[0].completed_at_ms = CASCADE_TIME_NONE;
}

static void
edit_status(table *t)
{
    t->executions[1].status = COMPLETED;
}

static void
edit_instance(table *t)
{
    t->executions[1].node_instance_id = "p2";
}

static void
edit_name(table *t)
{
    t->executions[1].node_name = "pay";
}

static void
edit_input(table *t)
{
    t->executions[0].input = "{\"a\": 2}";
}

static void
edit_output(table *t)
{
    t->executions[0].full_output = "{\"at\":1}";
}

static void
drop_output(table *t)
{
    t->executions[0].full_output = NULL;
}

static void
edit_location(table *t)
{
    t->executions[0].location = "client";
}

static void
drop_error(table *t)
{
    t->executions[1].error = NULL;
}

static void
edit_execution_id(table *t)
{
    t->executions[0].id.bytes[0]++;
}

static void
swap_executions(table *t)
{
    t->executions[0].function_id = 1;
    t->executions[1].function_id = 0;
}

/* Only what never changes, or only what does. */
static void
swap_halves(table *t)
{
    cascade_execution_row row = t->executions[0];

    t->executions[0].status = t->executions[1].status;
    t->executions[0].full_output = t->executions[1].full_output;
    t->executions[0].error = t->executions[1].error;
    t->executions[0].completed_at_ms = t->executions[1].completed_at_ms;
    t->executions[1].status = row.status;
    t->executions[1].full_output = row.full_output;
    t->executions[1].error = row.error;
    t->executions[1].completed_at_ms = row.completed_at_ms;
}

static void
delete_execution(table *t)
{
    t->execution_count--;
}

static void
insert_execution(table *t)
{
    t->executions[t->execution_count++] = execution_of(2, COMPLETED);
}

static void
double_execution(table *t)
{
    t->executions[t->execution_count++] = t->executions[0];
}

static void
edit_value(table *t)
{
    t->events[0].value = "7";
}

static void
edit_key(table *t)
{
    t->events[0].key = "l";
}

static void
add_ui_value(table *t)
{
    t->events[0].ui_value = "1";
}

static void
edit_writer(table *t)
{
    t->events[1].function_id = 1;
}

static void
edit_event_time(table *t)
{
    t->events[1].created_at_us++;
}

/* By their ids, which are in no seal. */
static void
swap_events(table *t)
{
    cascade_event_row row = t->events[0];

    t->events[0] = t->events[1];
    t->events[1] = row;
}

/* A column's text becomes part of another's. */
static void
move_bytes(table *t)
{
    t->executions[1].node_instance_id = "p1n";
    t->executions[1].node_name = "ext";
}

static void
delete_event(table *t)
{
    t->event_count--;
}

static void
insert_event(table *t)
{
    t->events[t->event_count++] = event_of("3", NULL);
}

static void
double_event(table *t)
{
    t->events[t->event_count++] = t->events[1];
}

static void
edit_cascade_status(table *t)
{
    t->row.status = CASCADE_COMPLETED;
}

static void
edit_fn_id(table *t)
{
    t->row.fn_id++;
}

static void
edit_user(table *t)
{
    t->row.user_id = "root";
}

static void
edit_created(table *t)
{
    t->row.created_at_ms++;
}

static void
edit_updated(table *t)
{
    t->row.updated_at_ms++;
}

static void
edit_cascade_id(table *t)
{
    t->row.id.bytes[15]++;
}

static void
edit_number(table *t)
{
    t->number++;
}

static void
drop_number(table *t)
{
    t->number = 0;
}

static void
every_edit_is_found(void **state)
{
    static void (*const edits[])(table *) = {
        edit_times,       edit_end,          edit_status,
        edit_instance,    edit_name,         edit_input,
        edit_output,      drop_output,       edit_location,
        drop_error,       edit_execution_id, swap_executions,
        swap_halves,      delete_execution,  insert_execution,
        double_execution, edit_value,        edit_key,
        add_ui_value,     edit_writer,       edit_event_time,
        swap_events,      move_bytes,        delete_event,
        insert_event,     double_event,      edit_cascade_status,
        edit_fn_id,       edit_user,         edit_created,
        edit_updated,     edit_cascade_id,   edit_number,
        drop_number};
    csc_seal_key keys[2];

    (void)state;
    make_keys(keys);
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
            table t;

            fill(&t);
            seal_rows(&t, &keys[k], 7);
            assert_int_equal(check(&t, &keys[k]), CASCADE_OK);
            edits[i](&t);
            if (check(&t, &keys[k]) != CASCADE_ERR_CORRUPT)
                fail_msg("edit %zu was not found", i);
        }
    }
}

/* Of two with one time, where the clock had stepped back between them. */
static void
a_swap_across_another_time_is_found(void **state)
{
    csc_seal_key keys[2];
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    t.events[2] = event_of("3", NULL);
    t.event_count = 3;
    t.events[1].created_at_us--;
    seal_rows(&t, &keys[1], 7);
    assert_int_equal(check(&t, &keys[1]), CASCADE_OK);
    t.events[0].value = "3";
    t.events[2].value = "1";
    assert_int_equal(check(&t, &keys[1]), CASCADE_ERR_CORRUPT);
}

/* Those of one execution keep their order, whatever stands between them. */
static void
events_of_several_may_stand_in_turns(void **state)
{
    csc_seal_key keys[2];
    cascade_event_row between;
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    between = event_of("3", NULL);
    between.function_id = 1;
    t.events[2] = t.events[1];
    t.events[1] = between;
    t.event_count = 3;
    seal_rows(&t, &keys[1], 7);
    t.events[1] = t.events[2];
    t.events[2] = between;
    assert_int_equal(check(&t, &keys[1]), CASCADE_OK);
}

static void
every_byte_of_a_seal_counts(void **state)
{
    csc_seal_key keys[2];

    (void)state;
    make_keys(keys);
    for (size_t k = 0; k < 2; k++) {
        table t;
        size_t len = 0;

        fill(&t);
        seal_rows(&t, &keys[k], 7);
        len = strlen(t.seal);
        for (size_t i = 0; i < len; i++) {
            char was = t.seal[i];

            t.seal[i] = was == '0' ? '1' : '0';
            assert_int_equal(check(&t, &keys[k]), CASCADE_ERR_CORRUPT);
            t.seal[i] = '\0';
            assert_int_equal(check(&t, &keys[k]), CASCADE_ERR_CORRUPT);
            t.seal[i] = was;
        }
        t.seal[len] = '0';
        assert_int_equal(check(&t, &keys[k]), CASCADE_ERR_CORRUPT);
    }
}

static void
another_secret_makes_another_seal(void **state)
{
    csc_seal_key keys[2];
    csc_seal_key other;
    table t;

    (void)state;
    make_keys(keys);
    assert_int_equal(
        csc_seal_key_secret(&other, "2026-a", "0123456789abcdeF", 16),
        CASCADE_OK);
    fill(&t);
    seal_rows(&t, &keys[1], 7);
    assert_int_equal(check(&t, &other), CASCADE_ERR_CORRUPT);
    assert_int_equal(check(&t, &keys[0]), CASCADE_ERR_CORRUPT);
    seal_rows(&t, &keys[0], 7);
    assert_int_equal(check(&t, &keys[1]), CASCADE_ERR_CORRUPT);
}

/* What is written of the sum does not tell what a row has added. */
static void
sums_are_masked_anew_each_time(void **state)
{
    char first[CSC_SEAL_TEXT_SIZE];
    csc_seal_key keys[2];
    size_t same = 0;
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    seal_rows(&t, &keys[1], 7);
    memcpy(first, t.seal, sizeof(first));
    seal_rows(&t, &keys[1], 8);
    for (size_t i = strlen("h1:2026-a:"); i < strlen("h1:2026-a:") + 64; i++)
        same += first[i] == t.seal[i];
    assert_true(same < 24);
    seal_rows(&t, &keys[1], 7);
    assert_string_equal(t.seal, first);
}

static void
edit_of_message(size_t which, cascade_message_row *row)
{
    switch (which) {
    case 0:
        row->cascade_id.bytes[0]++;
        break;
    case 1:
        row->kind = "cancel";
        break;
    case 2:
        row->name = "old";
        break;
    case 3:
        row->path = "x/message/2";
        break;
    case 4:
        row->payload = "{\"b\":3}";
        break;
    default:
        row->sent_at_ms++;
    }
}

static void
every_edit_of_a_message_is_found(void **state)
{
    csc_seal_key keys[2];

    (void)state;
    make_keys(keys);
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 6; i++) {
            cascade_message_row row = message_of();
            char text[CSC_SEAL_TEXT_SIZE];

            csc_seal_make_message(&keys[k], &row, text);
            edit_of_message(i, &row);
            assert_int_equal(csc_seal_check_message(&keys[k], &row, text),
                             CASCADE_ERR_CORRUPT);
        }
    }
}

/* The seal of a cascade and that of a message are no texts of each other. */
static void
texts_name_their_keys(void **state)
{
    static const char *const bad[] = {"",     "h1",    "h1:",       "c1:a:00",
                                      "h1::", "h2:a:", "c1",        "h1:a b:",
                                      "x1::", "c1:",   "h1:a/b:00", "C1::"};
    char id[CSC_SEAL_KEY_ID_MAX + 1];
    bool secret = false;

    (void)state;
    assert_true(csc_seal_text_key("h1:2026-a:00:00", &secret, id));
    assert_true(secret);
    assert_string_equal(id, "2026-a");
    assert_true(csc_seal_text_key("c1::00", &secret, id));
    assert_false(secret);
    assert_string_equal(id, "");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(csc_seal_text_key(bad[i], &secret, id));
}

/* ---- Memory -------------------------------------------------------------- */

static cascade_err
make_and_apply(const table *t, csc_seal *seal, csc_arena *arena)
{
    const cascade_change change = {.inserts = t->executions,
                                   .insert_count = t->execution_count,
                                   .events = t->events,
                                   .event_count = t->event_count};
    csc_seal_next next;
    cascade_err err = csc_seal_make(seal, &t->row, &change, arena, &next);

    return err == CASCADE_OK ? csc_seal_apply(seal, &next) : err;
}

static void
want_of_memory_is_told(void **state)
{
    size_t blocks = csc_mem_live();
    csc_seal_key keys[2];
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    table t;

    (void)state;
    make_keys(keys);
    fill(&t);
    for (size_t nth = 1; err == CASCADE_ERR_NO_MEMORY; nth++) {
        csc_arena arena = {0};
        csc_seal seal;

        assert_true(nth < 20);
        csc_seal_init(&seal, &keys[1], &t.row.id);
        (void)csc_mem_fail_at(nth, 0);
        err = make_and_apply(&t, &seal, &arena);
        (void)csc_mem_fail_at(0, 0);
        csc_seal_fini(&seal);
        csc_arena_fini(&arena);
        assert_int_equal(csc_mem_live(), blocks);
    }
    assert_int_equal(err, CASCADE_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seals_have_the_form_that_is_written_down),
        cmocka_unit_test(messages_have_the_form_that_is_written_down),
        cmocka_unit_test(keys_without_an_id_or_secret_are_refused),
        cmocka_unit_test(commits_make_the_seal_of_all_rows),
        cmocka_unit_test(a_sum_goes_on_from_its_text),
        cmocka_unit_test(sums_carry_through_all_words),
        cmocka_unit_test(what_has_ended_is_not_updated),
        cmocka_unit_test(every_edit_is_found),
        cmocka_unit_test(a_swap_across_another_time_is_found),
        cmocka_unit_test(events_of_several_may_stand_in_turns),
        cmocka_unit_test(every_byte_of_a_seal_counts),
        cmocka_unit_test(another_secret_makes_another_seal),
        cmocka_unit_test(sums_are_masked_anew_each_time),
        cmocka_unit_test(every_edit_of_a_message_is_found),
        cmocka_unit_test(texts_name_their_keys),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
