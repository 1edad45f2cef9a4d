/* SPDX-License-Identifier: MIT
 *
 * Where two features meet: what is completed from outside and comes after
 * others, or beside a node that nobody knows; a cancellation, and what is told
 * apart by its name, or has been seen before.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"

/* What the nodes of a play met. */
typedef struct course {
    int cleaned;
    int undone;
    int version;
    char outcomes[2][400]; /* the first, and the last */
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* ---- From outside ------------------------------------------------------- */

static cascade_err
wait_for_ever(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "never", -1, NULL);
}

/* The first to end lets the form be filled in. */
static cascade_err
spawn_form(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1, 2};
    const cascade_spawn_options joined = {
        .size = sizeof(joined), .after = after, .after_count = 2, .first = 1};
    cascade_err err = cascade_node_spawn(node, "quick", NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "waits", NULL, NULL);
    return err == CASCADE_OK ? cascade_node_spawn(node, "form", NULL, &joined)
                             : err;
}

/* Hydrated, it is decided as before, and its deadline passes. Where that passes
 * before the cascade is parked, another with more time is played. */
static void
a_form_that_comes_after_the_first_has_its_deadline(test_db *db)
{
    bool parked = false;

    for (int64_t ms = 300; !parked; ms *= 10) {
        play p = {.nodes = {{"spawns", spawn_form},
                            {"quick", stores_nothing},
                            {"waits", wait_for_ever}},
                  .externals = {{"form", {.timeout_ms = ms}}},
                  .park_after_ms = 1};

        play_begin(&p, db, CASCADE_MODE_THREADS, "spawns");
        play_await(&p, &p.id, CASCADE_ERROR);
        parked = db_stats(p.engine).parked > 0;
        play_end(&p);
    }
}

static cascade_err
spawn_form_and_unknown(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "form", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "unknown", NULL, NULL)
                             : err;
}

static bool
is_left(void *context)
{
    return db_stats(((play *)context)->engine).unknown_nodes > 0;
}

/* It is the node that is missing, not the form, which others wait for. */
static void
a_node_nobody_knows_is_left_beside_a_form(test_db *db)
{
    play p = {.nodes = {{"spawns", spawn_form_and_unknown}},
              .externals = {{"form", {.timeout_ms = 0}}}};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 1};
    cascade_engine *knows = NULL;
    cascade_info *info = NULL;

    play_begin(&p, db, CASCADE_MODE_THREADS, "spawns");
    play_on(&p, is_left, &p);
    assert_ok(cascade_get(p.store, &p.id, &info));
    assert_string_equal(info->needs, "unknown");
    cascade_info_free(info);
    knows = db_engine(db, db_store(db), &options);
    assert_ok(
        cascade_engine_register(knows, "unknown", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(knows));
    play_until(&p, "unknown", CASCADE_EXECUTION_COMPLETED, 1);
    db_close_engine(db, knows);
    play_end(&p);
}

/* ---- A cancellation ----------------------------------------------------- */

static cascade_err
clean(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    (*(int *)arg)++;
    return CASCADE_OK;
}

static cascade_err
undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)input;
    course_of(user)->undone++;
    return CASCADE_OK;
}

/* Its clean-up has the name of the wait that was cancelled, and is newer than
 * a change of the code. */
static cascade_err
wait_and_clean(cascade_node *node, void *user)
{
    course *c = course_of(user);
    int ignored = 0;
    cascade_err err =
        cascade_node_step(node, "book", clean, &ignored, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "book", undo, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "payment", -1, NULL);
    if (err != CASCADE_ERR_CANCELLED)
        return err;
    err = cascade_node_version(node, "change", 0, 1, &c->version);
    if (err == CASCADE_OK)
        err =
            cascade_node_step(node, "payment", clean, &c->cleaned, NULL, NULL);
    return err == CASCADE_OK ? CASCADE_ERR_CANCELLED : err;
}

static void
a_cancelled_wait_is_behind_the_clean_up(test_db *db, cascade_mode mode)
{
    course c = {.version = -1};
    play p = {.nodes = {{"waits", wait_and_clean}}, .user = &c};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:payment", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(c.version, 1);
    assert_int_equal(c.cleaned, 1);
    assert_int_equal(c.undone, 1);
    play_end(&p);
}

PLAY_MODES(a_cancelled_wait_is_behind_the_clean_up)

/* The first of two lets the join begin; the other one is due in an hour. */
static cascade_err
spawn_join(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1, 2};
    const cascade_spawn_options joined = {
        .size = sizeof(joined), .after = after, .after_count = 2, .first = 1};
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = 3600000};
    cascade_err err = cascade_node_spawn(node, "quick", NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "quick", NULL, &later);
    return err == CASCADE_OK ? cascade_node_spawn(node, "joins", NULL, &joined)
                             : err;
}

static cascade_err
look_and_wait(cascade_node *node, void *user)
{
    course *c = course_of(user);
    const cJSON *outcomes = NULL;
    char *text = NULL;

    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    text = cJSON_PrintUnformatted(outcomes);
    snprintf(c->outcomes[c->outcomes[0][0] != '\0'], sizeof(c->outcomes[0]),
             "%s", text);
    cJSON_free(text);
    return cascade_node_await(node, "payment", -1, NULL);
}

static void
a_cancellation_does_not_change_outcomes(test_db *db, cascade_mode mode)
{
    course c = {.version = 0};
    play p = {.nodes = {{"spawns", spawn_join},
                        {"quick", stores_nothing},
                        {"joins", look_and_wait}},
              .user = &c};

    play_begin(&p, db, mode, "spawns");
    play_until(&p, "cascade.await:payment", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_non_null(strstr(c.outcomes[0], "RUNNING"));
    assert_string_equal(c.outcomes[1], c.outcomes[0]);
    play_end(&p);
}

PLAY_MODES(a_cancellation_does_not_change_outcomes)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_form_that_comes_after_the_first_has_its_deadline",
         a_form_that_comes_after_the_first_has_its_deadline, STORES_ALL},
        {"a_node_nobody_knows_is_left_beside_a_form",
         a_node_nobody_knows_is_left_beside_a_form, STORES_ALL},
        PLAY_TESTS(a_cancelled_wait_is_behind_the_clean_up),
        PLAY_TESTS(a_cancellation_does_not_change_outcomes),
    };

    return stores_run("meetings", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
