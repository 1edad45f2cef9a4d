/* SPDX-License-Identifier: MIT
 *
 * Trials: what counts the owners that died while they had a suspect, and
 * nothing else (S47).
 */
#include <stdint.h>

#include "store/conformance/conformance_mail.h"

#define SUSPECT_FROM 3

/* A free run with so many takeovers. */
static cascade_uuid
start_with(mail_scene *it, int32_t takeovers)
{
    cascade_uuid id = rows_id(it->rows);
    cascade_change *start = rows_start(it->rows, id);

    start->run.takeovers = takeovers;
    start->run.trial = 7; /* is not read */
    assert_ok(db_submit_one(it->db, start));
    return id;
}

/* What a claim of `suspects` gives, at most `limit`. */
static size_t
claim_as(mail_scene *it, int32_t suspect_from, bool suspects, size_t limit,
         cascade_claimed *claimed)
{
    const char *queue = "default";
    cascade_claim claim = {.engine_id = it->engine,
                           .queues = &queue,
                           .queue_count = 1,
                           .limit = limit,
                           .suspect_from = suspect_from,
                           .suspects = suspects};
    cascade_claim_result result = {0};

    assert_ok(it->db->driver->claim(it->db->self, &claim, claimed, &result));
    return result.count;
}

/* One suspect is claimed, as this trial. */
static void
try_once(mail_scene *it, const cascade_uuid *id, int32_t trial)
{
    cascade_claimed claimed[2];

    assert_int_equal(claim_as(it, SUSPECT_FROM, true, 2, claimed), 1);
    assert_memory_equal(&claimed[0].cascade_id, id, sizeof(*id));
    assert_int_equal(claimed[0].trials, trial);
    assert_int_equal(mail_run(it, id).trial, trial);
}

/* Its engine dies, and another one is there. */
static void
die(mail_scene *it)
{
    size_t freed = 0;

    assert_ok(it->db->driver->remove(it->db->self, &it->engine, 1, 10, &freed));
    assert_true(freed > 0);
    *it = mail_begin(it->db);
}

/* Its engine stops, and another one is there. */
static void
stop(mail_scene *it)
{
    assert_ok(it->db->driver->detach(it->db->self, &it->engine));
    *it = mail_begin(it->db);
}

/* S47: a run begins with none, each claim as a suspect is one, and a death
 * leaves it. */
static void
each_claim_of_a_suspect_is_a_trial(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = start_with(&it, SUSPECT_FROM);

    assert_int_equal(mail_run(&it, &id).trial, 0);
    for (int32_t trial = 1; trial <= 4; trial++) {
        try_once(&it, &id, trial);
        die(&it);
        assert_int_equal(mail_run(&it, &id).trial, trial);
        assert_int_equal(mail_run(&it, &id).takeovers, SUSPECT_FROM + trial);
    }
}

/* S47: what dies with its engine, and is no suspect, has none: not beside a
 * suspect either. */
static void
others_that_die_are_not_in_trial(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid other = start_with(&it, SUSPECT_FROM - 1);
    cascade_uuid id = start_with(&it, SUSPECT_FROM);
    cascade_claimed claimed[2];

    assert_int_equal(claim_as(&it, SUSPECT_FROM, false, 2, claimed), 1);
    assert_memory_equal(&claimed[0].cascade_id, &other, sizeof(other));
    assert_int_equal(claimed[0].trials, 0);
    try_once(&it, &id, 1);
    die(&it);
    assert_int_equal(mail_run(&it, &other).trial, 0);
    assert_int_equal(mail_run(&it, &other).takeovers, SUSPECT_FROM);
    assert_int_equal(mail_run(&it, &id).trial, 1);
}

/* S47: an engine that suspects nobody claims with others what is one to the
 * rest. It tells the trials that there were, and makes none. */
static void
a_claim_of_others_makes_no_trial(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = start_with(&it, SUSPECT_FROM);
    cascade_claimed claimed[2];

    try_once(&it, &id, 1);
    die(&it);
    assert_int_equal(claim_as(&it, INT32_MAX, false, 2, claimed), 1);
    assert_int_equal(claimed[0].trials, 1);
    assert_int_equal(mail_run(&it, &id).trial, 1);
    die(&it);
    try_once(&it, &id, 2);
}

/* S47: of several in one claim each has one. */
static void
each_suspect_of_a_claim_is_in_trial(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[3];
    cascade_claimed claimed[3];

    for (size_t i = 0; i < 3; i++)
        ids[i] = start_with(&it, SUSPECT_FROM + (int32_t)i);
    assert_int_equal(claim_as(&it, SUSPECT_FROM, true, 3, claimed), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(claimed[i].trials, 1);
        assert_int_equal(mail_run(&it, &ids[i]).trial, 1);
    }
}

/* S47, S8: also where a message names it. */
static void
a_suspect_that_a_message_names_is_in_trial(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_change *start = rows_start(it.rows, id);

    start->run.takeovers = SUSPECT_FROM;
    start->run.wake_at_ms = it.rows->now_ms + 10 * DB_LONG_LEASE_MS;
    assert_ok(db_submit_one(it.db, start));
    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    try_once(&it, &id, 1);
    die(&it);
    try_once(&it, &id, 2);
}

/* S47: a clean stop takes its own back, and no more than there are. */
static void
a_clean_stop_takes_its_trial_back(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = start_with(&it, SUSPECT_FROM);
    cascade_uuid other = start_with(&it, 0);
    cascade_claimed claimed[2];

    try_once(&it, &id, 1);
    die(&it);
    for (int i = 0; i < 3; i++) {
        try_once(&it, &id, 2);
        stop(&it);
        assert_int_equal(mail_run(&it, &id).trial, 1);
    }
    assert_int_equal(claim_as(&it, SUSPECT_FROM, false, 2, claimed), 1);
    stop(&it);
    assert_int_equal(mail_run(&it, &other).trial, 0);
    assert_int_equal(mail_run(&it, &id).trial, 1);
}

/* S47: progress ends it, a commit that tells of none does not. */
static void
progress_ends_the_trial(void **state)
{
    static const struct {
        cascade_run_action action;
        int32_t trial;
    } cases[] = {{CASCADE_RUN_KEEP, 1},
                 {CASCADE_RUN_RESET, 0},
                 {CASCADE_RUN_REVIVE, 0},
                 {CASCADE_RUN_FREE, 0}};
    mail_scene it = mail_begin(*state);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cascade_uuid id = start_with(&it, SUSPECT_FROM);
        cascade_change *write = rows_write(it.rows, id, 0);

        try_once(&it, &id, 1);
        write->run_action = cases[i].action;
        write->run.queue = "default";
        write->run.wake_at_ms = it.rows->now_ms + 10 * DB_LONG_LEASE_MS;
        assert_ok(mail_write(&it, write));
        assert_int_equal(mail_run(&it, &id).trial, cases[i].trial);
    }
}

conformance_group
conformance_trial(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_claim_of_a_suspect_is_a_trial),
        cmocka_unit_test(others_that_die_are_not_in_trial),
        cmocka_unit_test(a_claim_of_others_makes_no_trial),
        cmocka_unit_test(each_suspect_of_a_claim_is_in_trial),
        cmocka_unit_test(a_suspect_that_a_message_names_is_in_trial),
        cmocka_unit_test(a_clean_stop_takes_its_trial_back),
        cmocka_unit_test(progress_ends_the_trial),
    };

    return (conformance_group){"trial", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
