/* SPDX-License-Identifier: MIT
 *
 * A step that is left by longjmp(): nothing begins behind it, the attempt has
 * failed, the recorded error names the step, and the next attempt is as any
 * other. The same for a guard that says that something else left a function.
 */
#include <setjmp.h>
#include <string.h>

#include "cascade/exception.h"
#include "engine/support/play.h"

#define STEP "leaves"

typedef struct scene {
    jmp_buf back;
    bool attempts_own; /* of the step */
    int jumps;         /* so often, in as many attempts */
    int steps;         /* called behind it */
} scene;

static cascade_err
jump(cascade_node *node, void *arg, cJSON **result)
{
    scene *s = arg;

    (void)node;
    (void)result;
    if (s->jumps == 0)
        return CASCADE_OK;
    s->jumps--;
    longjmp(s->back, 1);
}

static cascade_err
count(cascade_node *node, void *arg, cJSON **result)
{
    scene *s = arg;

    (void)node;
    (void)result;
    s->steps++;
    return CASCADE_OK;
}

static void
check_refused(cascade_err err)
{
    expect(err == CASCADE_ERR_MISUSE);
    expect(strstr(cascade_errmsg(), "step " STEP "#") != NULL);
}

static cascade_err
undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)user;
    (void)input;
    return CASCADE_OK;
}

/* Behind the jump. What it returns does not count. */
static cascade_err
go_on(cascade_node *node, scene *s)
{
    check_refused(cascade_node_step(node, "other", count, s, NULL, NULL));
    check_refused(cascade_node_await(node, "go", -1, NULL));
    check_refused(cascade_node_compensate(node, "c", undo, NULL, NULL));
    check_refused(cascade_node_continue_as_new(node, NULL, NULL));
    return CASCADE_OK;
}

static cascade_err
leave(cascade_node *node, void *user)
{
    const play *p = user;
    scene *s = p->user;
    const cascade_step_options own = {.size = sizeof(own), .attempts_max = 9};
    cascade_err err = CASCADE_OK;

    if (setjmp(s->back) != 0)
        return go_on(node, s);
    err = cascade_node_step(node, STEP, jump, s, s->attempts_own ? &own : NULL,
                            NULL);
    return err == CASCADE_OK
               ? cascade_node_step(node, "other", count, s, NULL, NULL)
               : err;
}

static void
leave_steps(test_db *db, cascade_mode mode, bool attempts_own)
{
    scene s = {.jumps = 2, .attempts_own = attempts_own};
    play p = {.nodes = {{"node", leave}}, .attempts_max = 3, .user = &s};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "node", "{}", CASCADE_COMPLETED);
    assert_int_equal(s.steps, 1);
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 3);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
a_step_is_left(test_db *db, cascade_mode mode)
{
    leave_steps(db, mode, false);
    leave_steps(db, mode, true);
}

/* The last attempt too: the error says which step. */
static void
a_step_is_left_for_good(test_db *db, cascade_mode mode)
{
    scene s = {.jumps = 1};
    play p = {.nodes = {{"node", leave}}, .attempts_max = 1, .user = &s};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "node", "{}", CASCADE_ERROR);
    assert_int_equal(s.steps, 0);
    snapshot = play_snapshot(&p);
    assert_non_null(
        strstr(cascade_snapshot_error(snapshot), " was left by a jump"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Guards -------------------------------------------------------------- */

static int calls;
static int caught;

/* As if an exception had left the first call, and the third one, with a text
 * that is too long and is cut. */
static bool
catch_one(void (*call)(void *context), void *context, char *text, size_t size)
{
    if (caught < 2 && calls++ % 2 == 0) {
        caught++;
        memset(text, 'x', size);
        return false;
    }
    call(context);
    return true;
}

static cascade_err
one_step(cascade_node *node, void *user)
{
    return cascade_node_step(node, "step", count, user, NULL, NULL);
}

/* The first attempt does not come to the step, the second one fails in it. */
static void
a_guard_catches(test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE};
    const cascade_node_options node = {
        .size = sizeof(node), .attempts_max = 9, .backoff_ms = 1};
    scene s = {.steps = 0};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_uuid id;
    db_ends ends = {.ids = &id, .count = 1};

    calls = caught = 0;
    store = ends.store = db_store(db);
    engine = db_engine(db, store, &options);
    assert_ok(cascade_engine_register_guarded(engine, "node", one_step, &s,
                                              &node, catch_one));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "node");
    while (!db_all_ended(&ends))
        assert_ok(cascade_engine_poll(engine, 0, NULL));
    assert_int_equal(s.steps, 1);
    assert_int_equal(caught, 2);
    db_close_engine(db, engine);
    db_close_store(db, store);
}

PLAY_MODES(a_step_is_left)
PLAY_MODES(a_step_is_left_for_good)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_step_is_left),
        PLAY_TESTS(a_step_is_left_for_good),
        {"a_guard_catches", a_guard_catches, STORES_ALL},
    };

    return stores_run("jumps", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
