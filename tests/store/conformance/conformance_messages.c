/* SPDX-License-Identifier: MIT
 *
 * Messages: sent, found by a claim, received with what comes of them. Keys and
 * deletions are in conformance_keys.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/conformance/conformance.h"
#include "store/conformance/conformance_mail.h"

#define FAR_MS INT64_C(3600000)

/* ---- S19: order and paths ----------------------------------------------- */

/* S19: each was durable before the next was sent. */
static void
messages_come_back_in_the_order_they_were_sent(void **state)
{
    static const char *const paths[] = {"p3", "p1", "p5", "p2", "p4"};
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    mail_inbox got;

    for (int i = 0; i < 5; i++)
        assert_int_equal(mail_send_path(&it, id, paths[i]), CASCADE_SENT);
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(got.items[i].row.path, paths[i]);
        assert_true(i == 0 || got.items[i - 1].row.id < got.items[i].row.id);
    }
    mail_assert_same(got, mail_load(&it, &id, 1));
}

/* S19: those of one submit keep their order, to several cascades too. */
static void
messages_of_one_submit_keep_their_order(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[2] = {mail_own(&it), mail_own(&it)};
    cascade_message_row rows[20];
    cascade_sent sent[20];
    mail_inbox got;

    for (int i = 0; i < 20; i++)
        rows[i] = *rows_message(it.rows, ids[i % 3 == 0],
                                rows_text(it.rows, "p%d", (i * 7) % 20));
    assert_ok(mail_submit(&it, NULL, NULL, rows, 20, sent));
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sent[i], CASCADE_SENT);
        assert_string_equal(got.items[i].row.path, rows[i].path);
    }
}

/* S13, S18: whatever the texts are. */
static void
a_message_comes_back_as_it_was_sent(void **state)
{
    static const char *const names[] = {
        "",
        "'; DROP TABLE cascade_messages; --",
        "\"$1\" %s ?1 {\\\"} \\' \\x27 \\",
        "\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80",
        "tab\tand\nline\rand\x01\x7f",
        "NULL",
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_message_row *sent[6];
    mail_inbox got;

    for (int i = 0; i < 6; i++) {
        sent[i] = rows_message(it.rows, id, NULL);
        sent[i]->kind = "a kind that is 32 bytes long, no";
        sent[i]->name = names[i];
        sent[i]->path = rows_text(it.rows, "path %d %s", i, names[i]);
        sent[i]->payload = rows_text(it.rows, "[%d,{\"a\":\"it's %%s\"}]", i);
        sent[i]->sent_at_ms = it.rows->now_ms + i;
        assert_int_equal(mail_send(&it, sent[i]), CASCADE_SENT);
    }
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 6);
    for (int i = 0; i < 6; i++) {
        const cascade_message_row *row = &got.items[i].row;

        assert_memory_equal(&row->cascade_id, &id, sizeof(id));
        assert_string_equal(row->kind, sent[i]->kind);
        assert_string_equal(row->name, sent[i]->name);
        assert_string_equal(row->path, sent[i]->path);
        assert_string_equal(row->payload, sent[i]->payload);
        assert_int_equal(row->sent_at_ms, sent[i]->sent_at_ms);
        assert_false(got.items[i].repeated);
    }
    mail_assert_same(got, mail_load(&it, &id, 1));
}

/* S19: a path that a message has, of an earlier submit or of the same. */
static void
a_path_that_is_pending_is_repeated(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid other = mail_own(&it);
    cascade_message_row rows[3];
    cascade_sent sent[3];
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    rows[0] = *rows_message(it.rows, id, "p");
    rows[0].payload = "[\"another\"]";
    rows[1] = *rows_message(it.rows, other, "q");
    rows[2] = *rows_message(it.rows, id, "q");
    assert_ok(mail_submit(&it, NULL, NULL, rows, 3, sent));
    assert_int_equal(sent[0], CASCADE_SENT_REPEATED);
    assert_int_equal(sent[1], CASCADE_SENT);
    assert_int_equal(sent[2], CASCADE_SENT_REPEATED);
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 2);
    assert_string_equal(got.items[0].row.payload, "{}");
    assert_memory_equal(&got.items[1].row.cascade_id, &other, sizeof(other));
}

/* S19: a path that an execution has: the message was received. */
static void
a_path_that_was_received_is_repeated(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    got = mail_receive(&it, 100);
    assert_ok(mail_write(&it, mail_receipt(&it, id, 1, &got.items[0])));
    assert_int_equal(mail_receive(&it, 100).count, 0);
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_receive(&it, 100).count, 0);
}

static void
a_message_for_no_cascade_is_absent(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ABSENT);
    assert_ok(db_commit_one(it.db, it.engine, ++it.number,
                            rows_start_owned(it.rows, id, it.engine)));
    assert_int_equal(mail_receive(&it, 100).count, 0);
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
}

static void
a_message_for_an_ended_cascade_is_told_so(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid failed = mail_own(&it);

    assert_ok(mail_end(&it, id, CASCADE_COMPLETED));
    assert_ok(mail_end(&it, failed, CASCADE_ERROR));
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ENDED);
    assert_int_equal(mail_send_path(&it, failed, "q"), CASCADE_SENT_ENDED);
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_load(&it, &id, 1).count, 1);
}

/* S6, S19: a start counts for the messages beside it; both are told as repeated
 * the next time. */
static void
a_start_and_a_message_go_in_one_submit(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_change *start = rows_start(it.rows, id);
    cascade_change *another = rows_start(it.rows, id);
    cascade_message_row *first = rows_message(it.rows, id, "p");
    cascade_message_row *second = rows_message(it.rows, id, "q");
    cascade_sent sent;
    bool existed = true;

    assert_ok(mail_submit(&it, start, &existed, first, 1, &sent));
    assert_false(existed);
    assert_int_equal(sent, CASCADE_SENT);
    existed = true;
    assert_ok(mail_submit(&it, start, &existed, first, 1, &sent));
    assert_false(existed);
    assert_int_equal(sent, CASCADE_SENT_REPEATED);
    assert_ok(mail_submit(&it, another, &existed, second, 1, &sent));
    assert_true(existed);
    assert_int_equal(sent, CASCADE_SENT);
    assert_int_equal(mail_load(&it, &id, 1).count, 2);
}

/* S5: all or none. */
static void
a_refused_start_leaves_no_message(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *start = rows_start(it.rows, rows_id(it.rows));
    cascade_message_row *message = rows_message(it.rows, id, "p");
    cascade_sent sent;
    bool existed;
    char *picture;

    rows_insert(it.rows, start, 0, "function_id taken");
    picture = db_picture(it.db);
    assert_fails(CASCADE_ERR_REFUSED,
                 mail_submit(&it, start, &existed, message, 1, &sent));
    db_assert_unchanged(it.db, picture);
    assert_int_equal(mail_send(&it, message), CASCADE_SENT);
}

/* ---- S20: receiving ----------------------------------------------------- */

/* Others' runs and free ones are not the asking incarnation's affair. */
static void
only_messages_of_owned_runs_are_received(void **state)
{
    mail_scene it = mail_begin(*state);
    mail_scene other = mail_begin(*state);
    cascade_uuid mine = mail_own(&it);
    cascade_uuid others = mail_own(&other);
    cascade_uuid free_one = rows_id(it.rows);
    cascade_uuid nobody = rows_id(it.rows);
    mail_inbox got;

    assert_ok(db_submit_one(it.db, rows_start(it.rows, free_one)));
    assert_int_equal(mail_send_path(&it, free_one, "f"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, others, "o"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, mine, "m"), CASCADE_SENT);
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.items[0].row.path, "m");
    got = mail_receive(&other, 100);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.items[0].row.path, "o");
    other.engine = nobody;
    assert_int_equal(mail_receive(&other, 100).count, 0);
}

/* S20: the first ones, each time, until they are received. */
static void
receiving_stops_at_its_limit_and_takes_nothing(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    char *picture;

    for (int i = 0; i < 7; i++)
        assert_int_equal(mail_send_path(&it, id, rows_text(it.rows, "p%d", i)),
                         CASCADE_SENT);
    picture = db_picture(it.db);
    for (int round = 0; round < 2; round++) {
        mail_inbox got = mail_receive(&it, 3);

        assert_int_equal(got.count, 3);
        for (int i = 0; i < 3; i++)
            assert_string_equal(got.items[i].row.path,
                                rows_text(it.rows, "p%d", i));
    }
    db_assert_unchanged(it.db, picture);
}

static cascade_err
refuse_second(void *context, const cascade_message_row *row, bool repeated)
{
    size_t *count = context;

    (void)row;
    (void)repeated;
    return ++*count < 2
               ? CASCADE_OK
               : cascade_store_fail(CASCADE_ERR_CORRUPT, "the second one");
}

static void
an_error_of_the_sink_ends_receiving_and_loading(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    size_t count = 0;
    cascade_load_sink sink = {.context = &count,
                              .on_cascade = mail_pass_cascade,
                              .on_message = refuse_second};
    const cascade_receive all = {
        .engine_id = it.engine, .limit = 100, .each = 100};

    for (int i = 0; i < 4; i++)
        assert_int_equal(mail_send_path(&it, id, rows_text(it.rows, "p%d", i)),
                         CASCADE_SENT);
    assert_fails(
        CASCADE_ERR_CORRUPT,
        it.db->driver->receive(it.db->self, &all, refuse_second, &count));
    assert_int_equal(count, 2);
    count = 0;
    assert_fails(
        CASCADE_ERR_CORRUPT,
        it.db->driver->load(it.db->self, &id, 1, CASCADE_LOAD_MESSAGES, &sink));
    assert_int_equal(count, 2);
    assert_int_equal(mail_receive(&it, 100).count, 4);
}

/* An execution with the path of a message that is there: it was received
 * before, whoever inserted it again. */
static void
a_message_whose_path_an_execution_has_is_told_as_repeated(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[2] = {mail_own(&it), mail_own(&it)};
    cascade_change *write = rows_write(it.rows, ids[0], 1);
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, ids[0], "p"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, ids[1], "q"), CASCADE_SENT);
    rows_insert(it.rows, write, 1, "receipt")->node_instance_id = "q";
    assert_ok(mail_write(&it, write));
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 2);
    assert_false(got.items[0].repeated);
    assert_true(got.items[1].repeated);
    assert_false(mail_load(&it, &ids[0], 1).items[0].repeated);
    assert_true(mail_load(&it, &ids[1], 1).items[0].repeated);
}

/* S12: the first hundred of each, by cascade and id. */
static void
a_load_gives_the_first_messages_of_each_cascade(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[2];
    cascade_uuid low;
    cascade_message_row *rows = calloc(240, sizeof(*rows));
    cascade_sent sent[240];
    mail_inbox got;

    assert_non_null(rows);
    db_start_many(it.db, ids, 2);
    low = ids[0];
    for (int i = 0; i < 240; i++)
        rows[i] =
            *rows_message(it.rows, ids[i % 2], rows_text(it.rows, "p%03d", i));
    assert_ok(mail_submit(&it, NULL, NULL, rows, 240, sent));
    ids[0] = ids[1];
    ids[1] = low;
    got = mail_load(&it, ids, 2);
    assert_int_equal(got.count, 2 * CASCADE_LOAD_MESSAGES_MAX);
    for (size_t i = 0; i < got.count; i++) {
        size_t sent_as = i < 100 ? 2 * i : 2 * (i - 100) + 1;

        assert_string_equal(got.items[i].row.path, rows[sent_as].path);
        assert_memory_equal(&got.items[i].row.cascade_id,
                            &rows[sent_as].cascade_id, sizeof(low));
    }
    free(rows);
}

/* ---- S8: claims --------------------------------------------------------- */

/* S8, S9: neither the hour nor an unknown node keeps it. */
static void
a_message_makes_a_run_claimable_at_once(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid later = rows_id(it.rows);
    cascade_uuid needy = rows_id(it.rows);
    cascade_change *starts[2] = {rows_start(it.rows, later),
                                 rows_start(it.rows, needy)};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    starts[0]->run.wake_at_ms += FAR_MS;
    starts[1]->run.needs = "a node that nobody knows";
    assert_ok(db_submit(it.db, starts, 2, NULL));
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_int_equal(mail_send_path(&it, later, "p"), CASCADE_SENT);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &later, sizeof(later));
    assert_int_equal(claimed[0].claim_no, 1);
    assert_int_equal(claimed[0].takeovers, 0);
    assert_int_equal(mail_send_path(&it, needy, "q"), CASCADE_SENT);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &needy, sizeof(needy));
    assert_null(mail_run(&it, &needy).needs);
    assert_int_equal(mail_receive(&it, 100).count, 2);
}

/* S20: its run row was deleted, and is made anew. */
static void
a_message_makes_an_ended_cascade_claimable(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    const char *queues[] = {"mail", "default"};
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 10,
                           .suspect_from = 3,
                           .suspects = true};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    cascade_run_row run;

    assert_ok(mail_end(&it, id, CASCADE_COMPLETED));
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_ENDED);
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 0);
    claim.suspects = false;
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &id, sizeof(id));
    assert_int_equal(claimed[0].claim_no, 1);
    assert_int_equal(claimed[0].takeovers, 0);
    run = mail_run(&it, &id);
    assert_string_equal(run.queue, "mail");
    assert_int_equal(run.priority, 0);
    assert_int_equal(run.claim_no, 1);
    assert_int_equal(run.takeovers, 0);
    assert_null(run.needs);
    assert_memory_equal(&run.engine_id, &it.engine, sizeof(it.engine));
    assert_int_equal(mail_receive(&it, 10).count, 1);
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 0);
}

/* S8: those with messages, then by priority, then by wake_at. */
static void
runs_with_messages_are_claimed_first(void **state)
{
    static const int priorities[] = {9, 0, 5, 5};
    static const int64_t later_ms[] = {-1000, FAR_MS, FAR_MS, -500};
    static const int order[] = {3, 2, 1, 0};
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[4];
    cascade_claimed claimed;
    cascade_claim_result result = {0};

    for (int i = 0; i < 4; i++) {
        cascade_change *start;

        ids[i] = rows_id(it.rows);
        start = rows_start(it.rows, ids[i]);
        start->run.priority = priorities[i];
        start->run.wake_at_ms += later_ms[i];
        assert_ok(db_submit_one(it.db, start));
    }
    for (int i = 1; i < 4; i++)
        assert_int_equal(
            mail_send_path(&it, ids[i], rows_text(it.rows, "p%d", i)),
            CASCADE_SENT);
    for (int i = 0; i < 4; i++) {
        assert_ok(db_claim(it.db, it.engine, "default", 1, &claimed, &result));
        assert_int_equal(result.count, 1);
        assert_memory_equal(&claimed.cascade_id, &ids[order[i]], 16);
    }
}

/* S7, S8: a message changes nothing of whose run it is and of which queue. */
static void
a_message_gives_no_run_that_was_not_asked_for(void **state)
{
    mail_scene it = mail_begin(*state);
    mail_scene other = mail_begin(*state);
    cascade_uuid owned = mail_own(&other);
    cascade_uuid slow = rows_id(it.rows);
    cascade_uuid suspect = rows_id(it.rows);
    cascade_change *starts[2] = {rows_start(it.rows, slow),
                                 rows_start(it.rows, suspect)};
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    starts[0]->run.queue = "slow";
    starts[1]->run.takeovers = 3;
    starts[1]->run.wake_at_ms += FAR_MS;
    assert_ok(db_submit(it.db, starts, 2, NULL));
    assert_int_equal(mail_send_path(&it, owned, "o"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, slow, "s"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, suspect, "t"), CASCADE_SENT);
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 0);
    assert_false(result.messages);
    claim.suspects = true;
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, &suspect, sizeof(suspect));
    assert_int_equal(claimed[0].takeovers, 3);
}

/* Of runs that were its own before; what it takes now it loads anyhow. */
static void
a_claim_tells_of_messages_for_runs_it_owned(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    mail_inbox got;

    assert_ok(db_submit_one(it.db, rows_start(it.rows, id)));
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_false(result.messages);
    for (int i = 0; i < 2; i++) {
        assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
        assert_int_equal(result.count, 0);
        assert_true(result.messages);
    }
    got = mail_receive(&it, 10);
    assert_ok(mail_write(&it, mail_receipt(&it, id, 1, &got.items[0])));
    assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    assert_false(result.messages);
}

/* S20: nobody will ever receive it. What tells is that its path is free. */
static void
messages_for_absent_cascades_are_deleted_by_claims(void **state)
{
    enum {
        COUNT = 5
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *write = rows_write(it.rows, id, 1);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    for (int i = 0; i < COUNT; i++)
        rows_send(it.rows, write,
                  rows_message(it.rows, rows_id(it.rows),
                               rows_text(it.rows, "p%d", i)));
    rows_send(it.rows, write, rows_message(it.rows, id, "mine"));
    assert_ok(mail_write(&it, write));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(mail_send_path(&it, id, rows_text(it.rows, "p%d", i)),
                         CASCADE_SENT_REPEATED);
    for (int i = 0; i < COUNT; i++)
        assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(mail_send_path(&it, id, rows_text(it.rows, "p%d", i)),
                         CASCADE_SENT);
    assert_int_equal(mail_receive(&it, 100).count, COUNT + 1);
}

static int64_t
count_messages(mail_scene *it)
{
    cascade_totals totals;

    assert_ok(
        conformance_manage(it->db->driver)->totals(it->db->self, &totals));
    return totals.messages;
}

/* S60: however many there are, of one or of several. */
static void
a_claim_deletes_so_many_messages_for_nobody(void **state)
{
    enum {
        COUNT = 3 * CASCADE_CLAIM_STRAYS_MAX
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    const cascade_uuid absent[] = {rows_id(it.rows), rows_id(it.rows)};
    cascade_change *write = rows_write(it.rows, id, 1);
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};

    for (int i = 0; i < COUNT; i++)
        rows_send(it.rows, write,
                  rows_message(it.rows, absent[i < COUNT / 2],
                               rows_text(it.rows, "p%d", i)));
    assert_ok(mail_write(&it, write));
    for (int64_t left = COUNT; left > 0;) {
        int64_t before = left;

        assert_ok(db_claim(it.db, it.engine, "default", 10, claimed, &result));
        left = count_messages(&it);
        assert_in_range(before - left, 1, CASCADE_CLAIM_STRAYS_MAX);
    }
}

/* ---- S2-S5, S20: commits ------------------------------------------------ */

/* S2, S20: the message goes, its receipt and what comes of it are there. */
static void
receiving_and_sending_are_one_commit(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid other = mail_own(&it);
    cascade_change *write;
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, id, "q"), CASCADE_SENT);
    got = mail_receive(&it, 100);
    write = mail_receipt(&it, id, 1, &got.items[0]);
    rows_receive(it.rows, write, got.items[0].row.id);
    rows_receive(it.rows, write, got.items[1].row.id + 1000000);
    rows_send(it.rows, write, rows_message(it.rows, other, "r"));
    rows_send(it.rows, write, rows_message(it.rows, id, "s"));
    assert_ok(mail_write(&it, write));
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 3);
    assert_string_equal(got.items[0].row.path, "q");
    assert_string_equal(got.items[1].row.path, "r");
    assert_memory_equal(&got.items[1].row.cascade_id, &other, sizeof(other));
    assert_string_equal(got.items[2].row.path, "s");
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT_REPEATED);
}

/* S19: a path that is taken, by what the same commit inserts too. */
static void
a_commit_sends_no_path_twice(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *write = rows_write(it.rows, id, 1);
    cascade_message_row *again = rows_message(it.rows, id, "q");
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    again->payload = "[2]";
    rows_insert(it.rows, write, 1, "receipt")->node_instance_id = "r";
    rows_send(it.rows, write, rows_message(it.rows, id, "p"));
    rows_send(it.rows, write, rows_message(it.rows, id, "q"));
    rows_send(it.rows, write, again);
    rows_send(it.rows, write, rows_message(it.rows, id, "r"));
    assert_ok(mail_write(&it, write));
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 2);
    assert_string_equal(got.items[0].row.path, "p");
    assert_string_equal(got.items[1].row.path, "q");
    assert_string_equal(got.items[1].row.payload, "{}");
}

/* Received here and sent on under the same path, to a cascade that comes before
 * or after this one in the batch. */
static void
a_message_is_forwarded_in_one_commit(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[2] = {mail_own(&it), mail_own(&it)};

    for (int i = 0; i < 2; i++) {
        const char *path = rows_text(it.rows, "p%d", i);
        cascade_change *changes[2] = {rows_write(it.rows, ids[i], 1),
                                      rows_write(it.rows, ids[1 - i], 1)};
        mail_inbox got;

        assert_int_equal(mail_send_path(&it, ids[i], path), CASCADE_SENT);
        got = mail_load(&it, &ids[i], 1);
        rows_receive(it.rows, changes[0], got.items[got.count - 1].row.id);
        rows_send(it.rows, changes[0], rows_message(it.rows, ids[1 - i], path));
        assert_ok(
            db_commit(it.db, it.engine, 0, ++it.number, changes, 2, NULL));
        got = mail_load(&it, &ids[1 - i], 1);
        assert_string_equal(got.items[got.count - 1].row.path, path);
        assert_int_equal(mail_send_path(&it, ids[i], path),
                         CASCADE_SENT_REPEATED);
    }
}

/* A cascade may be told something before it is started. */
static void
a_message_waits_for_a_cascade_that_is_started_later(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid child = rows_id(it.rows);
    cascade_uuid twin = rows_id(it.rows);
    cascade_change *changes[2] = {rows_write(it.rows, id, 1),
                                  rows_start_owned(it.rows, twin, it.engine)};
    cascade_change *start = rows_start_owned(it.rows, child, it.engine);

    rows_send(it.rows, changes[0], rows_message(it.rows, child, "p"));
    rows_send(it.rows, changes[0], rows_message(it.rows, twin, "q"));
    rows_send(it.rows, changes[1], rows_message(it.rows, id, "r"));
    assert_ok(db_commit(it.db, it.engine, 0, ++it.number, changes, 2, NULL));
    assert_int_equal(mail_receive(&it, 10).count, 2);
    assert_ok(db_commit_one(it.db, it.engine, ++it.number, start));
    assert_int_equal(mail_receive(&it, 10).count, 3);
    assert_string_equal(mail_load(&it, &child, 1).items[0].row.path, "p");
    assert_string_equal(mail_load(&it, &twin, 1).items[0].row.path, "q");
    assert_string_equal(mail_load(&it, &id, 1).items[0].row.path, "r");
}

/* A change that receives "p" and sends "q". */
static cascade_change *
receive_and_send(mail_scene *it, cascade_uuid id)
{
    mail_inbox got = mail_load(it, &id, 1);
    cascade_change *write = mail_receipt(it, id, 1, &got.items[0]);

    rows_send(it->rows, write, rows_message(it->rows, id, "q"));
    return write;
}

/* S2, S5: the culprit is another change of the batch. */
static void
a_refused_commit_touches_no_message(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *changes[2];
    char *picture;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    for (int i = 0; i < 4; i++) {
        changes[0] = receive_and_send(&it, id);
        changes[1] = rows_write(it.rows, rows_id(it.rows), 1);
        rows_send(it.rows, changes[1], rows_message(it.rows, id, "r"));
        picture = db_picture(it.db);
        assert_fails(
            CASCADE_ERR_REFUSED,
            db_commit(it.db, it.engine, 0, it.number + 1, changes, 2, NULL));
        db_assert_unchanged(it.db, picture);
    }
    assert_int_equal(mail_receive(&it, 10).count, 1);
    assert_int_equal(mail_send_path(&it, id, "q"), CASCADE_SENT);
}

/* S4, G2. */
static void
a_fenced_commit_touches_no_message(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    char *picture;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    picture = db_picture(it.db);
    assert_fails(CASCADE_ERR_LOST,
                 db_commit_one(it.db, it.engine, it.number + 2,
                               receive_and_send(&it, id)));
    assert_fails(CASCADE_ERR_FENCED,
                 db_commit_one(it.db, rows_id(it.rows), it.number + 1,
                               receive_and_send(&it, id)));
    db_assert_unchanged(it.db, picture);
    assert_int_equal(mail_send_path(&it, id, "q"), CASCADE_SENT);
}

/* S3: what it sent was received meanwhile, and is not sent again. */
static void
a_repeated_batch_sends_nothing_twice(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    mail_scene sender = mail_begin(*state);
    cascade_uuid other = mail_own(&sender);
    cascade_change *write = rows_write(it.rows, other, 1);
    cascade_change *drop = rows_write(it.rows, id, 1);
    char *picture;

    rows_send(it.rows, write, rows_message(it.rows, id, "p"));
    assert_ok(mail_write(&sender, write));
    rows_receive(it.rows, drop, mail_receive(&it, 10).items[0].row.id);
    assert_ok(mail_write(&it, drop));
    picture = db_picture(it.db);
    for (int i = 0; i < 3; i++)
        assert_ok(db_commit_one(it.db, sender.engine, sender.number, write));
    db_assert_unchanged(it.db, picture);
    assert_int_equal(mail_receive(&it, 10).count, 0);
}

/* ---- Several at once ---------------------------------------------------- */

#define SENDERS 2
#define LETTERS 60

typedef struct sender {
    pthread_t thread;
    cascade_store *store;
    pthread_barrier_t *barrier;
    cascade_uuid to;
    char paths[LETTERS][24];
    cascade_sent sent[LETTERS];
    cascade_err err;
} sender;

static void *
send_all(void *context)
{
    sender *it = context;

    pthread_barrier_wait(it->barrier);
    for (int i = 0; i < LETTERS && it->err == CASCADE_OK; i++) {
        cascade_message_row row = {.cascade_id = it->to,
                                   .kind = "signal",
                                   .name = "go",
                                   .path = it->paths[i],
                                   .payload = "{}"};
        cascade_submission submission = {
            .messages = &row, .message_count = 1, .sent = &it->sent[i]};

        it->err = it->store->driver->submit(it->store->self, &submission);
    }
    return NULL;
}

/* Each has a handle of its own; `same`: they send the same paths. */
static sender *
run_senders(mail_scene *it, cascade_uuid to, bool same)
{
    sender *senders = calloc(SENDERS, sizeof(*senders));
    pthread_barrier_t barrier;

    assert_non_null(senders);
    pthread_barrier_init(&barrier, NULL, SENDERS);
    for (int i = 0; i < SENDERS; i++) {
        senders[i].store = db_open(it->db);
        senders[i].barrier = &barrier;
        senders[i].to = to;
        for (int k = 0; k < LETTERS; k++)
            snprintf(senders[i].paths[k], sizeof(senders[i].paths[k]), "%d-%d",
                     same ? 0 : i, k);
    }
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(
            0, pthread_create(&senders[i].thread, NULL, send_all, &senders[i]));
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(senders[i].err, CASCADE_OK);
    pthread_barrier_destroy(&barrier);
    return senders;
}

/* S19: none is lost, and each sender's come in its order. */
static void
two_senders_at_once_lose_no_message(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    sender *senders = run_senders(&it, id, false);
    mail_inbox got = mail_receive(&it, 1000);
    int next[SENDERS] = {0};

    assert_int_equal(got.count, SENDERS * LETTERS);
    for (size_t i = 0; i < got.count; i++) {
        int from = got.items[i].row.path[0] - '0';

        assert_string_equal(got.items[i].row.path,
                            senders[from].paths[next[from]++]);
        assert_true(i == 0 || got.items[i - 1].row.id < got.items[i].row.id);
    }
    free(senders);
}

/* S19: of two that send the same at the same time one is told that it is
 * repeated. */
static void
two_senders_of_one_path_send_one_message(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    sender *senders = run_senders(&it, id, true);

    for (int i = 0; i < LETTERS; i++)
        assert_int_equal(senders[0].sent[i] + senders[1].sent[i],
                         CASCADE_SENT + CASCADE_SENT_REPEATED);
    assert_int_equal(mail_receive(&it, 1000).count, LETTERS);
    free(senders);
}

typedef struct taker {
    pthread_t thread;
    cascade_store *store;
    cascade_uuid engine;
    pthread_barrier_t *barrier;
    size_t count;
    cascade_err err;
} taker;

static void *
claim_once(void *context)
{
    taker *it = context;
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = 10,
                           .suspect_from = 3};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 0};

    pthread_barrier_wait(it->barrier);
    it->err =
        it->store->driver->claim(it->store->self, &claim, claimed, &result);
    it->count = result.count;
    return NULL;
}

/* S7, S20: two make the same run row anew; one of them has it. */
static void
an_ended_cascade_is_claimed_by_one_only(void **state)
{
    mail_scene it = mail_begin(*state);
    taker takers[2] = {{.store = db_open(it.db), .engine = it.engine},
                       {.store = db_open(it.db),
                        .engine = db_attach(it.db, 1, DB_LONG_LEASE_MS)}};

    for (int round = 0; round < 20; round++) {
        cascade_uuid id = mail_own(&it);
        pthread_barrier_t barrier;

        assert_ok(mail_end(&it, id, CASCADE_COMPLETED));
        assert_int_equal(
            mail_send_path(&it, id, rows_text(it.rows, "p%d", round)),
            CASCADE_SENT_ENDED);
        pthread_barrier_init(&barrier, NULL, 2);
        for (int i = 0; i < 2; i++) {
            takers[i].barrier = &barrier;
            assert_int_equal(0, pthread_create(&takers[i].thread, NULL,
                                               claim_once, &takers[i]));
        }
        for (int i = 0; i < 2; i++)
            pthread_join(takers[i].thread, NULL);
        pthread_barrier_destroy(&barrier);
        assert_int_equal(takers[0].err, CASCADE_OK);
        assert_int_equal(takers[1].err, CASCADE_OK);
        assert_int_equal(takers[0].count + takers[1].count, 1);
        assert_int_equal(mail_run(&it, &id).claim_no, 1);
    }
}

conformance_group
conformance_messages(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back_in_the_order_they_were_sent),
        cmocka_unit_test(messages_of_one_submit_keep_their_order),
        cmocka_unit_test(a_message_comes_back_as_it_was_sent),
        cmocka_unit_test(a_path_that_is_pending_is_repeated),
        cmocka_unit_test(a_path_that_was_received_is_repeated),
        cmocka_unit_test(a_message_for_no_cascade_is_absent),
        cmocka_unit_test(a_message_for_an_ended_cascade_is_told_so),
        cmocka_unit_test(a_start_and_a_message_go_in_one_submit),
        cmocka_unit_test(a_refused_start_leaves_no_message),
        cmocka_unit_test(only_messages_of_owned_runs_are_received),
        cmocka_unit_test(receiving_stops_at_its_limit_and_takes_nothing),
        cmocka_unit_test(an_error_of_the_sink_ends_receiving_and_loading),
        cmocka_unit_test(
            a_message_whose_path_an_execution_has_is_told_as_repeated),
        cmocka_unit_test(a_load_gives_the_first_messages_of_each_cascade),
        cmocka_unit_test(a_message_makes_a_run_claimable_at_once),
        cmocka_unit_test(a_message_makes_an_ended_cascade_claimable),
        cmocka_unit_test(runs_with_messages_are_claimed_first),
        cmocka_unit_test(a_message_gives_no_run_that_was_not_asked_for),
        cmocka_unit_test(a_claim_tells_of_messages_for_runs_it_owned),
        cmocka_unit_test(messages_for_absent_cascades_are_deleted_by_claims),
        cmocka_unit_test(a_claim_deletes_so_many_messages_for_nobody),
        cmocka_unit_test(receiving_and_sending_are_one_commit),
        cmocka_unit_test(a_commit_sends_no_path_twice),
        cmocka_unit_test(a_message_is_forwarded_in_one_commit),
        cmocka_unit_test(a_message_waits_for_a_cascade_that_is_started_later),
        cmocka_unit_test(a_refused_commit_touches_no_message),
        cmocka_unit_test(a_fenced_commit_touches_no_message),
        cmocka_unit_test(a_repeated_batch_sends_nothing_twice),
        cmocka_unit_test(two_senders_at_once_lose_no_message),
        cmocka_unit_test(two_senders_of_one_path_send_one_message),
        cmocka_unit_test(an_ended_cascade_is_claimed_by_one_only),
    };

    return (conformance_group){"messages", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
