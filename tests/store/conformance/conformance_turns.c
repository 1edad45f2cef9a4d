/* SPDX-License-Identifier: MIT
 *
 * Queues with limits: who comes when (S98), and in what they are as others
 * (S99).
 */
#include <string.h>

#include "base/uuid.h"
#include "store/conformance/conformance_limits.h"

/* ---- S98: turns ---------------------------------------------------------- */

#define FLOOD 10000

/* S98: one key floods the queue; another's only run is next. */
static void
a_key_with_many_runs_does_not_keep_another_waiting(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid other;
    limits_got first;
    limits_got second;

    limits_set(&it, "default", 0, 0);
    limits_start_many(&it, "flood", FLOOD);
    other = limits_submit(&it, limits_start(&it, "z"));
    first = limits_claim(&it, 1);
    assert_int_equal(first.count, 1);
    second = limits_claim(&it, 1);
    limits_assert_got_one(&second, &other, true);
    limits_assert_gets(&it, 1, 1);
}

/* Room for many is shared. */
static void
keys_share_the_room_of_a_claim(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;
    size_t of_a = 0;

    limits_set(&it, "default", 0, 0);
    limits_start_many(&it, "a", 50);
    limits_start_many(&it, "b", 50);
    got = limits_claim(&it, 10);
    assert_int_equal(got.count, 10);
    for (size_t i = 0; i < got.count; i++)
        of_a += strcmp(mail_run(&it, &got.claimed[i].cascade_id).limit_key,
                       "a") == 0;
    assert_int_equal(of_a, 5);
}

/* Of each key the first comes before the second of any. */
static void
no_key_is_left_out_where_there_is_room_for_all(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *keys[] = {"a", "b", "c"};
    size_t found[3] = {0, 0, 0};
    limits_got got;

    limits_set(&it, "default", 0, 0);
    for (size_t i = 0; i < 3; i++)
        limits_start_many(&it, keys[i], 5);
    got = limits_claim(&it, 4);
    assert_int_equal(got.count, 4);
    for (size_t i = 0; i < got.count; i++) {
        cascade_run_row run = mail_run(&it, &got.claimed[i].cascade_id);

        for (size_t k = 0; k < 3; k++)
            found[k] += strcmp(run.limit_key, keys[k]) == 0;
    }
    for (size_t k = 0; k < 3; k++)
        assert_in_range(found[k], 1, 2);
}

/* Claims until there is nothing more; of each key once. */
static size_t
drain(mail_scene *it, size_t slots, size_t *claims)
{
    size_t count = 0;

    for (*claims = 0; *claims < 5000; (*claims)++) {
        limits_got got = limits_claim(it, slots);

        count += got.count;
        if (got.count == 0 && !got.again)
            return count;
    }
    fail_msg("it never ends");
    return 0;
}

#define KEYS 1000

/* S98: a walk over many keys comes to each of them, though a claim looks at a
 * part; when all are full it ends. */
static void
every_key_has_its_turn(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *starts[KEYS];
    bool existed[KEYS];
    size_t claims = 0;

    limits_set(&it, "default", 0, 1);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < KEYS; i++)
            starts[i] = limits_start(&it, rows_text(it.rows, "key %zu", i));
        assert_ok(db_submit(it.db, starts, KEYS, existed));
    }
    assert_int_equal(drain(&it, 50, &claims), KEYS);
    assert_in_range(claims, KEYS / CASCADE_CLAIM_KEYS_MAX, KEYS);
    assert_int_equal(drain(&it, 50, &claims), 0);
    assert_in_range(claims, KEYS / CASCADE_CLAIM_KEYS_MAX,
                    3 * (KEYS / CASCADE_CLAIM_KEYS_MAX + 2));
    limits_set(&it, "default", 0, 2);
    assert_int_equal(drain(&it, 100, &claims), KEYS);
}

/* Of a key the order is as of other queues: S8. */
static void
the_runs_of_a_key_come_by_priority_and_time(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *starts[4];
    int64_t now_ms = db_now(it.db);

    limits_set(&it, "default", 0, 0);
    for (size_t i = 0; i < 4; i++) {
        starts[i] = limits_start(&it, "a");
        starts[i]->run.priority = i < 2 ? 2 : 7;
        starts[i]->run.wake_at_ms = now_ms - (i % 2 == 0 ? 1000 : 2000);
        limits_submit(&it, starts[i]);
    }
    for (size_t i = 4; i-- > 0;) {
        limits_got got = limits_claim(&it, 1);

        limits_assert_got_one(&got, &starts[i]->cascade.id, true);
    }
}

/* Keys of any text are kept apart, and the longest are whole. */
static void
keys_of_any_text_are_kept_apart(void **state)
{
    mail_scene it = mail_begin(*state);
    char longest[CASCADE_LIMIT_KEY_MAX + 1];
    char like_it[CASCADE_LIMIT_KEY_MAX + 1];
    const char *keys[] = {
        "",      "a",     "A",
        "a ",    "a\001", "a\001b",
        "'; --", "%s %n", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
        longest, like_it};
    size_t count = sizeof(keys) / sizeof(keys[0]);
    size_t claims = 0;

    memset(longest, 'x', sizeof(longest));
    longest[CASCADE_LIMIT_KEY_MAX] = '\0';
    memcpy(like_it, longest, sizeof(longest));
    like_it[CASCADE_LIMIT_KEY_MAX - 1] = 'y';
    limits_set(&it, "default", 0, 1);
    for (size_t i = 0; i < count; i++)
        limits_start_many(&it, keys[i], 2);
    assert_int_equal(drain(&it, 1, &claims), count);
    for (size_t i = 0; i < count; i++) {
        cascade_uuid id = limits_submit(&it, limits_start(&it, keys[i]));

        assert_string_equal(mail_run(&it, &id).limit_key, keys[i]);
    }
}

/* Two queues with limits: one that floods does not keep the other waiting. */
static void
queues_with_limits_take_turns(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *queues[] = {"default", "other"};
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 10,
                           .slots = 1,
                           .suspect_from = SUSPECT_FROM};
    cascade_change *start = limits_start(&it, "");
    cascade_claimed claimed[10];
    bool kept[2] = {false, false};
    cascade_claim_result result = {.kept = kept};
    size_t found = 0;

    limits_set(&it, "default", 0, 0);
    limits_set(&it, "other", 0, 0);
    limits_start_many(&it, "", 10);
    start->run.queue = "other";
    limits_submit(&it, start);
    for (int i = 0; i < 3; i++) {
        assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
        assert_int_equal(result.count, 1);
        assert_true(kept[0] && kept[1]);
        found += csc_uuid_equal(&claimed[0].cascade_id, &start->cascade.id);
    }
    assert_int_equal(found, 1);
}

/* What others have due does not keep a queue with limits waiting, nor the
 * other way round. */
static void
queues_without_limits_are_claimed_beside(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *queues[] = {"default", "free"};
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 4,
                           .slots = 4,
                           .suspect_from = SUSPECT_FROM};
    cascade_claimed claimed[4];
    cascade_claim_result result = {.count = 0};
    size_t with_slot = 0;

    limits_set(&it, "default", 0, 0);
    limits_start_many(&it, "", 10);
    for (size_t i = 0; i < 10; i++) {
        cascade_change *start = limits_start(&it, "a");

        start->run.queue = "free";
        limits_submit(&it, start);
    }
    assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
    assert_int_equal(result.count, 4);
    for (size_t i = 0; i < result.count; i++)
        with_slot += claimed[i].slot;
    assert_int_equal(with_slot, 2);
    assert_true(result.again); /* more was asked for */
}

/* ---- S99: as others ------------------------------------------------------ */

static bool
waits_by_key(mail_scene *it, const cascade_uuid *id)
{
    cascade_run_row run = mail_run(it, id);

    return run.needs != NULL && strcmp(run.needs, CASCADE_NEEDS_TURN) == 0;
}

/* A start that is due waits by its key from the beginning; one that comes
 * later, or was there before the limits, when a claim has seen it. */
static void
what_is_due_waits_by_its_key(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid before = limits_submit(&it, limits_start(&it, "a"));
    cascade_change *later = limits_start(&it, "a");
    cascade_uuid now;

    limits_set(&it, "default", 1, 0);
    now = limits_submit(&it, limits_start(&it, "a"));
    later->run.wake_at_ms = db_now(it.db) + LATER_MS;
    limits_submit(&it, later);
    assert_true(waits_by_key(&it, &now));
    assert_false(waits_by_key(&it, &before));
    assert_false(waits_by_key(&it, &later->cascade.id));
    limits_assert_gets(&it, 5, 1);
    assert_true(waits_by_key(&it, &now) != waits_by_key(&it, &before));
    assert_false(waits_by_key(&it, &later->cascade.id));
}

static void
a_queue_with_limits_tells_when_it_has_more(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *later = limits_start(&it, "a");
    limits_got got;

    limits_set(&it, "default", 1, 0);
    later->run.wake_at_ms = db_now(it.db) + LATER_MS;
    limits_submit(&it, later);
    got = limits_claim(&it, 5);
    assert_int_equal(got.count, 0);
    assert_false(got.again);
    assert_int_equal(got.next_wake_at_ms, later->run.wake_at_ms);
    got = limits_claim(&it, 0);
    assert_int_equal(got.next_wake_at_ms, later->run.wake_at_ms);
    limits_start_many(&it, "b", 1);
    limits_assert_gets(&it, 5, 1);
}

static void
a_queue_with_limits_can_be_paused(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_store_manage *manage = conformance_manage(it.db->driver);
    bool changed = false;
    limits_got got;

    limits_set(&it, "default", 1, 0);
    limits_start_many(&it, "a", 3);
    assert_ok(manage->pause(it.db->self, "default", true, "{}", &changed));
    assert_true(changed);
    assert_ok(manage->pause(it.db->self, "default", true, "{}", &changed));
    assert_false(changed);
    got = limits_claim(&it, 5);
    assert_int_equal(got.count, 0);
    assert_true(got.paused && got.kept);
    limits_set(&it, "default", 2, 0);
    limits_assert_gets(&it, 5, 0);
    assert_ok(manage->pause(it.db->self, "default", false, NULL, &changed));
    assert_true(changed);
    assert_ok(manage->pause(it.db->self, "default", false, NULL, &changed));
    assert_false(changed);
    got = limits_claim(&it, 5);
    assert_int_equal(got.with_slot, 2);
    assert_true(got.kept);
    assert_false(got.paused);
}

static cascade_uuid
start_of(mail_scene *it, const char *user, const char *key)
{
    cascade_change *start = limits_start(it, key);

    start->cascade.user_id = user;
    return limits_submit(it, start);
}

/* S98: as it was written by a release before, or by a function of the
 * database. */
static void
what_has_no_key_goes_by_its_user(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    limits_set(&it, "default", 0, 1);
    (void)start_of(&it, "anna", NULL);
    (void)start_of(&it, "anna", "");
    (void)start_of(&it, "berta", "anna");
    (void)start_of(&it, "carl", NULL);
    got = limits_claim(&it, 5);
    assert_int_equal(got.with_slot, 2);
    limits_assert_gets(&it, 5, 0);
    for (size_t i = 0; i < got.count; i++)
        limits_do(&it, &got.claimed[i].cascade_id, CASCADE_RUN_END);
    limits_assert_gets(&it, 5, 1);
}

/* S99, S20: whoever is asked something is there, however full the queue is; the
 * claim needs no slot, and takes none. */
static void
a_message_needs_no_slot(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id;
    limits_got got;

    limits_take_the_slot(&it);
    id = limits_submit(&it, limits_start(&it, "b"));
    assert_int_equal(mail_send_path(&it, id, "a"), CASCADE_SENT);
    got = limits_claim(&it, 5);
    limits_assert_got_one(&got, &id, false);
    assert_string_equal(got.claimed[0].message_kind, "signal");
    assert_int_equal(mail_run(&it, &id).slot, 0);
    assert_null(mail_run(&it, &id).needs);
    assert_int_equal(mail_receive(&it, 10).count, 1);
    limits_set(&it, "default", 2, 0);
    limits_assert_gets(&it, 5, 1);
    limits_do(&it, &id, CASCADE_RUN_END);
}

/* Behind its message it waits again. */
static void
a_run_that_has_its_message_waits_again(void **state)
{
    mail_scene it = mail_begin(*state);
    mail_inbox inbox;
    cascade_change *change;
    cascade_uuid id;
    limits_got got;

    limits_take_the_slot(&it);
    id = limits_submit(&it, limits_start(&it, "b"));
    mail_send_path(&it, id, "a");
    got = limits_claim(&it, 5);
    limits_assert_got_one(&got, &id, false);
    inbox = mail_receive(&it, 10);
    assert_int_equal(inbox.count, 1);
    change = mail_receipt(&it, id, 1, &inbox.items[0]);
    change->run_action = CASCADE_RUN_FREE;
    change->run.wake_at_ms = db_now(it.db) - 1;
    assert_ok(mail_write(&it, change));
    limits_assert_gets(&it, 5, 0);
    limits_set(&it, "default", 3, 0);
    limits_assert_gets(&it, 5, 2);
    assert_int_equal(mail_run(&it, &id).slot, 1);
}

/* S8, S99: who does not know the node is not given what needs it. */
static void
needs_count_in_a_queue_with_limits(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *node = "pack";
    cascade_change *start = limits_start(&it, "a");
    limits_got got;

    limits_set(&it, "default", 1, 0);
    start->run.needs = "pack";
    limits_submit(&it, start);
    limits_assert_gets(&it, 5, 0);
    got = limits_claim_as(
        &it, (cascade_claim){.slots = 5, .nodes = &node, .node_count = 1});
    limits_assert_got_one(&got, &start->cascade.id, true);
    assert_null(mail_run(&it, &start->cascade.id).needs);
}

/* S47, S99. */
static void
suspects_need_a_slot_and_come_one_at_a_time(void **state)
{
    mail_scene it = mail_begin(*state);
    limits_got got;

    limits_set(&it, "default", 2, 1);
    for (size_t i = 0; i < 3; i++) {
        cascade_change *start = limits_start(&it, i < 2 ? "a" : "b");

        start->run.takeovers = SUSPECT_FROM;
        start->run.priority = i < 2 ? 5 : 4;
        limits_submit(&it, start);
    }
    got = limits_claim(&it, 5);
    assert_int_equal(got.count, 0);
    assert_false(got.suspects); /* it was not for them */
    for (size_t i = 0; i < 2; i++) {
        got =
            limits_claim_as(&it, (cascade_claim){.slots = 5, .suspects = true});
        assert_int_equal(got.count, 1);
        assert_false(got.suspects);
        assert_int_equal(got.with_slot, 1);
        assert_int_equal(got.claimed[0].trials, 1);
        assert_string_equal(mail_run(&it, &got.claimed[0].cascade_id).limit_key,
                            i == 0 ? "a" : "b");
    }
    got = limits_claim_as(&it, (cascade_claim){.slots = 5, .suspects = true});
    assert_int_equal(got.count, 0);
    assert_true(got.suspects);
    limits_set(&it, "default", 0, 2);
    got = limits_claim_as(&it, (cascade_claim){.slots = 0, .suspects = true});
    assert_int_equal(got.count, 0);
    assert_true(got.suspects);
    got = limits_claim_as(&it, (cascade_claim){.slots = 5, .suspects = true});
    assert_int_equal(got.with_slot, 1);
    got = limits_claim_as(&it, (cascade_claim){.slots = 5, .suspects = true});
    assert_int_equal(got.count, 0);
    assert_false(got.suspects);
}

/* Of all queues of the claim. */
static void
a_claim_gives_one_suspect_of_all_its_queues(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *queues[] = {"default", "other"};
    cascade_claim claim = {.engine_id = it.engine,
                           .queues = queues,
                           .queue_count = 2,
                           .limit = 10,
                           .slots = 10,
                           .suspect_from = SUSPECT_FROM,
                           .suspects = true};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 0};

    for (size_t i = 0; i < 2; i++) {
        cascade_change *start = limits_start(&it, "a");

        limits_set(&it, queues[i], 0, 0);
        start->run.queue = queues[i];
        start->run.takeovers = SUSPECT_FROM;
        limits_submit(&it, start);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_ok(it.db->driver->claim(it.db->self, &claim, claimed, &result));
        assert_int_equal(result.count, i < 2);
    }
}

/* What says that it waits by its key where there are no limits: an engine that
 * knows nothing of them may have taken them away. */
static void
what_waits_in_a_queue_without_limits_is_given(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_change *start = limits_start(&it, "a");
    limits_got got;

    start->run.needs = CASCADE_NEEDS_TURN;
    limits_submit(&it, start);
    got = limits_claim(&it, 0);
    limits_assert_got_one(&got, &start->cascade.id, false);
    assert_false(got.kept);
    assert_null(mail_run(&it, &start->cascade.id).needs);
}

static cascade_err
keep_numbers(void *context, const cascade_queue_row *row)
{
    *(cascade_queue_row *)context = *row;
    return CASCADE_OK;
}

/* Those that wait by their keys are due, and need nothing, to whoever lists the
 * queues; of those that are owned the slots are counted. */
static void
a_queue_with_limits_is_listed_with_its_slots(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_queue_row row = {.queue = NULL};
    limits_got got;
    cascade_uuid id;

    limits_take_the_slot(&it);
    limits_start_many(&it, "a", 1);
    id = limits_submit(&it, limits_start(&it, "b"));
    assert_int_equal(mail_send_path(&it, id, "a"), CASCADE_SENT);
    got = limits_claim(&it, 5);
    limits_assert_got_one(&got, &id, false);
    assert_ok(conformance_manage(it.db->driver)
                  ->queues(it.db->self, keep_numbers, &row));
    assert_int_equal(row.owned, 2);
    assert_int_equal(row.slots, 1);
    assert_int_equal(row.due, 2);
    assert_int_equal(row.later + row.needing, 0);
    assert_false(row.paused);
    assert_true(row.due_since_ms != CASCADE_TIME_NONE);
}

conformance_group
conformance_turns(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_with_many_runs_does_not_keep_another_waiting),
        cmocka_unit_test(keys_share_the_room_of_a_claim),
        cmocka_unit_test(no_key_is_left_out_where_there_is_room_for_all),
        cmocka_unit_test(every_key_has_its_turn),
        cmocka_unit_test(the_runs_of_a_key_come_by_priority_and_time),
        cmocka_unit_test(keys_of_any_text_are_kept_apart),
        cmocka_unit_test(queues_with_limits_take_turns),
        cmocka_unit_test(queues_without_limits_are_claimed_beside),
        cmocka_unit_test(what_is_due_waits_by_its_key),
        cmocka_unit_test(a_queue_with_limits_tells_when_it_has_more),
        cmocka_unit_test(a_queue_with_limits_can_be_paused),
        cmocka_unit_test(what_has_no_key_goes_by_its_user),
        cmocka_unit_test(a_message_needs_no_slot),
        cmocka_unit_test(a_run_that_has_its_message_waits_again),
        cmocka_unit_test(needs_count_in_a_queue_with_limits),
        cmocka_unit_test(suspects_need_a_slot_and_come_one_at_a_time),
        cmocka_unit_test(a_claim_gives_one_suspect_of_all_its_queues),
        cmocka_unit_test(what_waits_in_a_queue_without_limits_is_given),
        cmocka_unit_test(a_queue_with_limits_is_listed_with_its_slots),
    };

    return (conformance_group){"turns", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
