/* SPDX-License-Identifier: MIT
 *
 * Time and chance of a node: the same at each entry, attempt and try of a step,
 * another under each name.
 */
#include <string.h>

#include "engine/support/play.h"

typedef struct drawn {
    int64_t now_ms;
    uint64_t number;
    cascade_uuid id;
} drawn;

/* What the node was given first, and how often it asked. */
typedef struct lot {
    int entries;
    int tries; /* of its step */
    drawn first;
    drawn in_step;
} lot;

static bool
is_version_8(const cascade_uuid *id)
{
    return id->bytes[6] >> 4 == 8 && id->bytes[8] >> 6 == 2;
}

static bool
is_same(const drawn *a, const drawn *b)
{
    return a->now_ms == b->now_ms && a->number == b->number &&
           memcmp(&a->id, &b->id, sizeof(a->id)) == 0;
}

static cascade_err
draw(cascade_node *node, const char *name, drawn *d)
{
    cascade_err err = cascade_node_random(node, name, &d->number);

    return err == CASCADE_OK ? cascade_node_uuid(node, name, &d->id) : err;
}

/* Fails once: the next try draws the same. */
static cascade_err
draw_in_step(cascade_node *node, void *arg, cJSON **result)
{
    lot *l = arg;
    drawn d = {.now_ms = 0};
    int64_t now_ms = -1;

    (void)result;
    expect(draw(node, "a", &d) == CASCADE_OK);
    expect(cascade_node_now(node, "a", &now_ms) == CASCADE_ERR_MISUSE);
    expect(now_ms == -1);
    if (l->tries++ == 0) {
        l->in_step = d;
        return CASCADE_ERR_FAILED;
    }
    expect(is_same(&d, &l->in_step));
    return CASCADE_OK;
}

static cascade_err
check_others(cascade_node *node, const drawn *d)
{
    drawn other = {.now_ms = 0};
    cascade_err err = draw(node, "b", &other);

    expect(err == CASCADE_OK && other.number != d->number);
    expect(memcmp(&other.id, &d->id, sizeof(d->id)) != 0);
    expect(is_version_8(&d->id));
    return err;
}

/* Sleeps, and fails at its first attempt: it is entered again for both. */
static cascade_err
ask(cascade_node *node, void *user)
{
    const cascade_step_options often = {
        .size = sizeof(often), .attempts_max = 2, .backoff_ms = 1};
    lot *l = ((play *)user)->user;
    drawn d = {.now_ms = 0};
    cascade_err err = cascade_node_now(node, "a", &d.now_ms);

    if (err == CASCADE_OK)
        err = draw(node, "a", &d);
    if (err != CASCADE_OK)
        return err;
    if (l->entries++ == 0)
        l->first = d;
    expect(is_same(&d, &l->first));
    expect(check_others(node, &d) == CASCADE_OK);
    err = cascade_node_sleep(node, "s", 1);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "t", draw_in_step, l, &often, NULL);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        err = CASCADE_ERR_FAILED;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, cJSON_CreateNumber((double)d.now_ms));
}

static void
a_node_is_told_the_same_at_each_entry(test_db *db, cascade_mode mode)
{
    lot l = {.entries = 0};
    play p = {.nodes = {{"asks", ask}}, .attempts_max = 2, .user = &l};
    int64_t before_ms = 0;
    int64_t after_ms = 0;
    cascade_snapshot *snapshot = NULL;

    play_open(&p, db, mode);
    assert_ok(cascade_store_now(p.store, &before_ms));
    play_end(&p);
    play_run(&p, db, mode, "asks", NULL, CASCADE_COMPLETED);
    assert_ok(cascade_store_now(p.store, &after_ms));
    assert_true(l.entries >= 3 && l.tries == 2);
    assert_in_range(l.first.now_ms, before_ms, after_ms);
    assert_true(l.in_step.number != l.first.number);
    assert_int_equal(
        play_count(&p, "cascade.step:now/a", CASCADE_EXECUTION_COMPLETED), 1);
    snapshot = play_snapshot(&p);
    assert_non_null(cascade_snapshot_result(snapshot));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
ask_badly(cascade_node *node, void *user)
{
    int64_t now_ms = -1;
    uint64_t number = 1;
    cascade_uuid id;

    (void)user;
    expect(cascade_node_now(node, "a b", &now_ms) == CASCADE_ERR_INVALID);
    expect(cascade_node_now(node, NULL, &now_ms) == CASCADE_ERR_INVALID);
    expect(cascade_node_now(NULL, "a", &now_ms) == CASCADE_ERR_INVALID);
    expect(cascade_node_now(node, "a", NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_random(node, "", &number) == CASCADE_ERR_INVALID);
    expect(cascade_node_random(NULL, "a", &number) == CASCADE_ERR_INVALID);
    expect(cascade_node_random(node, "a", NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_uuid(node, "cascade.x", &id) == CASCADE_ERR_INVALID);
    expect(cascade_node_uuid(NULL, "a", &id) == CASCADE_ERR_INVALID);
    expect(cascade_node_uuid(node, "a", NULL) == CASCADE_ERR_INVALID);
    expect(now_ms == -1 && number == 1);
    return CASCADE_OK;
}

static void
bad_questions_are_refused(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"badly", ask_badly}}};

    play_run(&p, db, mode, "badly", NULL, CASCADE_COMPLETED);
    assert_int_equal(play_count(&p, "badly", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

PLAY_MODES(a_node_is_told_the_same_at_each_entry)
PLAY_MODES(bad_questions_are_refused)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_node_is_told_the_same_at_each_entry),
        PLAY_TESTS(bad_questions_are_refused),
    };

    return stores_run("once", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
