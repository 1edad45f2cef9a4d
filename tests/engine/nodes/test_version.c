/* SPDX-License-Identifier: MIT
 *
 * Another build goes on with what one has begun: steps and sleeps inserted,
 * removed and put in another order are matched by name; what cannot fit stops
 * the cascade with a text that says so; a branch that is marked is taken by new
 * runs only. Each with the first build dead at every commit (G3, G4).
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/crash.h"
#include "engine/support/play.h"

#define LETTERS 5
#define NO_VERSION (-1)

/* What a build does, letter by letter: a step under that name, or a sleep for a
 * capital one; 'v' asks for the version of change "fee", 'w' for that of
 * another one, and what follows is skipped in version 0. */
typedef struct build {
    const char *line;
    int min;
    int max;
} build;

/* Two builds, one after the other, and what they did. */
typedef struct plan {
    build builds[2];
    int calls[2][LETTERS];
    int version; /* the last one told */
    /* When the first one died: */
    bool steps[LETTERS];
    bool sleeps[LETTERS];
    int marked;
    bool ended; /* its last commit was durable */
} plan;

typedef struct letter_step {
    int *calls;
    const char *name;
} letter_step;

static cascade_err
give_letter(cascade_node *node, void *arg, cJSON **result)
{
    const letter_step *step = arg;

    (void)node;
    (*step->calls)++;
    *result = cJSON_CreateString(step->name);
    return CASCADE_OK;
}

static cascade_err
do_letter(cascade_node *node, plan *p, int nth, char letter)
{
    char name[] = {letter, '\0'};
    letter_step step = {.name = name};
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    if (letter < 'a') {
        name[0] = (char)(letter - 'A' + 'a');
        return cascade_node_sleep(node, name, 1);
    }
    step.calls = &p->calls[nth][letter - 'a'];
    err = cascade_node_step(node, name, give_letter, &step, NULL, &result);
    if (err == CASCADE_OK)
        expect(strcmp(result->valuestring, name) == 0);
    cJSON_Delete(result);
    return err;
}

static cascade_err
do_build(cascade_node *node, plan *p, int nth)
{
    const build *b = &p->builds[nth];
    cascade_err err = CASCADE_OK;

    for (const char *at = b->line; *at != '\0' && err == CASCADE_OK; at++) {
        if (*at < 'v') {
            err = do_letter(node, p, nth, *at);
            continue;
        }
        err = cascade_node_version(node, *at == 'v' ? "fee" : "other", b->min,
                                   b->max, &p->version);
        if (err == CASCADE_OK && p->version == 0)
            at++;
    }
    return err;
}

static cascade_err
do_first(cascade_node *node, void *user)
{
    return do_build(node, user, 0);
}

static cascade_err
do_second(cascade_node *node, void *user)
{
    return do_build(node, user, 1);
}

/* ---- What is recorded --------------------------------------------------- */

/* How many rows there are of that kind and letter. */
static size_t
count_rows(const cascade_snapshot *snapshot, const char *kind, int letter)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    char name[40];
    size_t found = 0;

    snprintf(name, sizeof(name), "cascade.%s:%c", kind, 'a' + letter);
    for (size_t i = 0; i < count; i++)
        if (strcmp(play_execution(snapshot, i)->node_name, name) == 0)
            found++;
    return found;
}

static int
recorded_version(const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    int version = NO_VERSION;

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        if (strcmp(info->node_name, "cascade.version:fee") != 0)
            continue;
        assert_int_equal(version, NO_VERSION);
        assert_int_equal(sscanf(info->output, "%d", &version), 1);
    }
    return version;
}

static void
note_recorded(crash *c)
{
    plan *p = c->user;
    cascade_snapshot *snapshot = crash_load(c);

    for (int i = 0; i < LETTERS; i++) {
        p->steps[i] = count_rows(snapshot, "step", i) > 0;
        p->sleeps[i] = count_rows(snapshot, "sleep", i) > 0;
    }
    p->marked = recorded_version(snapshot);
    p->ended = cascade_snapshot_info(snapshot)->status != CASCADE_RUNNING;
    cascade_snapshot_free(snapshot);
}

/* Nothing is there twice, and what was recorded when the first build died was
 * not done again. */
static void
check_once(const plan *p, const cascade_snapshot *snapshot)
{
    for (int i = 0; i < LETTERS; i++) {
        assert_true(count_rows(snapshot, "step", i) <= 1);
        assert_true(count_rows(snapshot, "sleep", i) <= 1);
        if (p->steps[i])
            assert_int_equal(p->calls[1][i], 0);
    }
}

/* The first build dies at every commit in turn, and `check` looks. */
static void
die_everywhere(test_db *db, const build *first, const build *second,
               void (*check)(const plan *p, const crash *c,
                             const cascade_snapshot *snapshot))
{
    bool dead = true;

    for (size_t at = 0; dead; at++) {
        plan p = {.builds = {*first, *second},
                  .version = NO_VERSION,
                  .marked = NO_VERSION};
        crash c = {.node = "n",
                   .before = do_first,
                   .after = do_second,
                   .between = note_recorded,
                   .user = &p};
        cascade_snapshot *snapshot = NULL;

        dead = crash_play(&c, db, at);
        snapshot = crash_load(&c);
        check_once(&p, snapshot);
        if (dead && !p.ended)
            check(&p, &c, snapshot);
        cascade_snapshot_free(snapshot);
        crash_end(&c);
    }
}

/* ---- Inserted, removed, put in another order ----------------------------- */

static void
check_completed(const plan *p, const crash *c, const cascade_snapshot *snapshot)
{
    (void)c;
    assert_int_equal(cascade_snapshot_info(snapshot)->status,
                     CASCADE_COMPLETED);
    for (const char *at = p->builds[1].line; *at != '\0'; at++)
        if (*at >= 'a')
            assert_int_equal(count_rows(snapshot, "step", *at - 'a'), 1);
        else
            assert_int_equal(count_rows(snapshot, "sleep", *at - 'A'), 1);
}

static void
another_order_of_steps_and_sleeps_goes_on(test_db *db)
{
    static const char *const lines[] = {"caDb", "acDEb", "ab", "bDa", "", "Dc"};
    const build first = {.line = "aDb"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        build second = {.line = lines[i]};

        die_everywhere(db, &first, &second, check_completed);
    }
}

/* ---- A mismatch ---------------------------------------------------------- */

static void
expect_stopped(const cascade_snapshot *snapshot, const char *text)
{
    const char *error = cascade_snapshot_error(snapshot);

    assert_int_equal(cascade_snapshot_info(snapshot)->status, CASCADE_ERROR);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 1);
    assert_non_null(error);
    if (strncmp(error, text, strlen(text)) != 0)
        fail_msg("%s", error);
}

static void
check_step_for_sleep(const plan *p, const crash *c,
                     const cascade_snapshot *snapshot)
{
    if (!p->sleeps[1])
        check_completed(p, c, snapshot);
    else
        expect_stopped(
            snapshot,
            "step \"b\" (#0) of node n (function_id 0): recorded is a sleep of "
            "that name (function_id 2), this build asks for a step; register "
            "the code that recorded it under the node's name, give the new "
            "step another name, or mark the change with "
            "cascade_node_version()");
}

static void
a_step_where_a_sleep_is_recorded_stops_the_cascade(test_db *db)
{
    const build first = {.line = "aB"};
    const build second = {.line = "ab"};

    die_everywhere(db, &first, &second, check_step_for_sleep);
}

static void
check_sleep_for_step(const plan *p, const crash *c,
                     const cascade_snapshot *snapshot)
{
    if (!p->steps[1])
        check_completed(p, c, snapshot);
    else
        expect_stopped(snapshot,
                       "sleep \"b\" (#0) of node n (function_id 0): recorded "
                       "is a step of that name (function_id 2), this build "
                       "asks for a sleep; ");
}

static void
a_sleep_where_a_step_is_recorded_stops_the_cascade(test_db *db)
{
    const build first = {.line = "abc"};
    const build second = {.line = "aBc"};

    die_everywhere(db, &first, &second, check_sleep_for_step);
}

static cascade_err
do_nothing(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

static cascade_err
await_first(cascade_node *node, void *user)
{
    int *entered = ((play *)user)->user;

    if ((*entered)++ == 0)
        return cascade_node_await(node, "b", -1, NULL);
    return cascade_node_step(node, "b", do_nothing, NULL, NULL, NULL);
}

static void
a_step_where_an_await_is_recorded_stops_the_cascade(test_db *db)
{
    int entered = 0;
    play p = {.nodes = {{"n", await_first}}, .user = &entered};
    cascade_snapshot *snapshot = NULL;

    play_begin(&p, db, CASCADE_MODE_INLINE, "n");
    assert_ok(cascade_signal(p.store, &p.id, "b", NULL, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_non_null(strstr(cascade_snapshot_error(snapshot),
                           "recorded is an await of that name (function_id "));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* It is asked for further on: inserted, not put in its place. */
static void
a_step_and_a_sleep_may_share_a_name(test_db *db)
{
    const build first = {.line = "aAb"};
    const build second = {.line = "aAbB"};

    die_everywhere(db, &first, &second, check_completed);
}

/* ---- Versions ------------------------------------------------------------ */

/* What was recorded says which branch; the branch is recorded then. */
static void
check_branch(const plan *p, const cascade_snapshot *snapshot, int version)
{
    assert_int_equal(cascade_snapshot_info(snapshot)->status,
                     CASCADE_COMPLETED);
    assert_int_equal(p->version, version);
    assert_int_equal(recorded_version(snapshot), version);
    assert_int_equal(count_rows(snapshot, "step", 2), version > 0 ? 1 : 0);
}

static void
check_old_and_new(const plan *p, const crash *c,
                  const cascade_snapshot *snapshot)
{
    (void)c;
    check_branch(p, snapshot, p->sleeps[3] || p->steps[1] ? 0 : 1);
}

static void
only_new_runs_take_a_marked_branch(test_db *db)
{
    const build first = {.line = "aDb"};
    const build second = {.line = "avcDb", .max = 1};

    die_everywhere(db, &first, &second, check_old_and_new);
}

static void
check_kept(const plan *p, const crash *c, const cascade_snapshot *snapshot)
{
    (void)c;
    check_branch(p, snapshot, p->marked != NO_VERSION ? p->marked : 2);
}

static void
a_branch_is_kept_when_the_code_changes_again(test_db *db)
{
    const build first = {.line = "avcb", .max = 1};
    const build second = {.line = "avcb", .max = 2};

    die_everywhere(db, &first, &second, check_kept);
}

/* Its mark is no sign of an old run for another change: only steps are. */
static void
check_other_change(const plan *p, const crash *c,
                   const cascade_snapshot *snapshot)
{
    int version = p->steps[1] || p->steps[2] ? 0 : 1;

    (void)c;
    assert_int_equal(cascade_snapshot_info(snapshot)->status,
                     CASCADE_COMPLETED);
    assert_int_equal(p->version, version);
    assert_int_equal(count_rows(snapshot, "step", 3), version);
}

static void
a_version_that_is_asked_for_no_more_does_no_harm(test_db *db)
{
    const build first = {.line = "avcb", .max = 1};
    const build second = {.line = "awdcb", .max = 1};

    die_everywhere(db, &first, &second, check_other_change);
}

static void
check_too_new(const plan *p, const crash *c, const cascade_snapshot *snapshot)
{
    (void)c;
    if (p->marked == NO_VERSION)
        check_branch(p, snapshot, 3);
    else
        expect_stopped(snapshot,
                       "change \"fee\" of node n (function_id 0): recorded is "
                       "version 1, this build supports 2 to 3; register a "
                       "build that supports version 1, or support it again");
}

static void
a_version_that_is_not_supported_stops_the_cascade(test_db *db)
{
    const build first = {.line = "avcb", .max = 1};
    const build second = {.line = "avcb", .min = 2, .max = 3};

    die_everywhere(db, &first, &second, check_too_new);
}

static void
check_no_old_code(const plan *p, const crash *c,
                  const cascade_snapshot *snapshot)
{
    (void)c;
    if (!p->steps[1])
        check_branch(p, snapshot, 1);
    else
        expect_stopped(snapshot,
                       "change \"fee\" of node n (function_id 0): recorded is "
                       "version 0 (before the change), this build supports 1 "
                       "to 1; ");
}

static void
a_run_from_before_stops_where_that_code_is_gone(test_db *db)
{
    const build first = {.line = "abd"};
    const build second = {.line = "avcbd", .min = 1, .max = 1};

    die_everywhere(db, &first, &second, check_no_old_code);
}

/* ---- In one run ---------------------------------------------------------- */

static cascade_err
fail_always(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    return cascade_node_fail(node, "never");
}

/* A step that failed for good lies behind the node too. */
static cascade_err
ask_twice(cascade_node *node, void *user)
{
    const cascade_step_options once = {.size = sizeof(once), .attempts_max = 1};
    int versions[3] = {-1, -1, -1};
    cascade_err err =
        cascade_node_step(node, "bad", fail_always, NULL, &once, NULL);

    (void)user;
    if (err != CASCADE_ERR_FINAL)
        return err;
    err = cascade_node_version(node, "fee", 0, 3, &versions[0]);
    if (err == CASCADE_OK)
        err = cascade_node_version(node, "fee", 0, 7, &versions[1]);
    if (err == CASCADE_OK)
        err = cascade_node_version(node, "other", 0, 0, &versions[2]);
    if (err != CASCADE_OK)
        return err;
    expect(versions[0] == 3 && versions[1] == 3 && versions[2] == 0);
    return cascade_node_version(node, "fee", 2, 3, &versions[0]);
}

static void
a_new_run_takes_the_highest_version(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"ask", ask_twice}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "ask", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    assert_string_equal(play_execution(snapshot, 2)->node_name,
                        "cascade.version:fee");
    assert_string_equal(play_execution(snapshot, 2)->output, "3");
    assert_string_equal(play_execution(snapshot, 3)->output, "0");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
ask_in_step(cascade_node *node, void *arg, cJSON **result)
{
    int version = -1;

    (void)arg;
    (void)result;
    expect(cascade_node_version(node, "fee", 0, 1, &version) ==
           CASCADE_ERR_MISUSE);
    expect(version == -1);
    return CASCADE_OK;
}

static cascade_err
ask_badly(cascade_node *node, void *user)
{
    int version = -1;

    (void)user;
    expect(cascade_node_version(node, "a b", 0, 1, &version) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_version(NULL, "fee", 0, 1, &version) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_version(node, "fee", 0, 1, NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_version(node, "fee", -1, 1, &version) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_version(node, "fee", 2, 1, &version) ==
           CASCADE_ERR_INVALID);
    expect(version == -1);
    return cascade_node_step(node, "s", ask_in_step, NULL, NULL, NULL);
}

static void
bad_versions_are_refused(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"badly", ask_badly}}};

    play_run(&p, db, mode, "badly", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

PLAY_MODES(a_new_run_takes_the_highest_version)
PLAY_MODES(bad_versions_are_refused)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"another_order_of_steps_and_sleeps_goes_on",
         another_order_of_steps_and_sleeps_goes_on, STORES_ALL},
        {"a_step_where_a_sleep_is_recorded_stops_the_cascade",
         a_step_where_a_sleep_is_recorded_stops_the_cascade, STORES_ALL},
        {"a_step_where_an_await_is_recorded_stops_the_cascade",
         a_step_where_an_await_is_recorded_stops_the_cascade, STORES_ALL},
        {"a_sleep_where_a_step_is_recorded_stops_the_cascade",
         a_sleep_where_a_step_is_recorded_stops_the_cascade, STORES_ALL},
        {"a_step_and_a_sleep_may_share_a_name",
         a_step_and_a_sleep_may_share_a_name, STORES_ALL},
        {"only_new_runs_take_a_marked_branch",
         only_new_runs_take_a_marked_branch, STORES_ALL},
        {"a_branch_is_kept_when_the_code_changes_again",
         a_branch_is_kept_when_the_code_changes_again, STORES_ALL},
        {"a_version_that_is_asked_for_no_more_does_no_harm",
         a_version_that_is_asked_for_no_more_does_no_harm, STORES_ALL},
        {"a_version_that_is_not_supported_stops_the_cascade",
         a_version_that_is_not_supported_stops_the_cascade, STORES_ALL},
        {"a_run_from_before_stops_where_that_code_is_gone",
         a_run_from_before_stops_where_that_code_is_gone, STORES_ALL},
        PLAY_TESTS(a_new_run_takes_the_highest_version),
        PLAY_TESTS(bad_versions_are_refused),
    };

    return stores_run("version", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
