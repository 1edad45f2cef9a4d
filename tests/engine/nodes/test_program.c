/* SPDX-License-Identifier: MIT
 *
 * Other programs as steps: run once and recorded (G3), run again when they were
 * not (G4), what fails an attempt and what is a result, and that a program does
 * not go on for a cascade that has ended. What a process inherits and how it
 * ends is tested in tests/base/test_process.c.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/support/play.h"

/* What one play does and finds. The programs write to a file in a folder. */
typedef struct scene {
    char folder[64];
    char file[96];
    cascade_err errs[16];
    long pid;      /* of a program, */
    int64_t begun; /* which is told by this from one that has its pid later */
    atomic_bool dead; /* the engine reaches no store any more */
    bool die;
    wrap_store wrap;
} scene;

static scene *
open_scene(void)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/cascade-program.XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    (void)snprintf(s->file, sizeof(s->file), "%s/file", s->folder);
    return s;
}

static void
close_scene(scene *s)
{
    (void)unlink(s->file);
    assert_int_equal(rmdir(s->folder), 0);
    free(s);
}

static scene *
scene_of(void *user)
{
    return ((play *)user)->user;
}

/* The text of the file; "" when there is none. Valid until the next call. */
static const char *
file_text(const scene *s)
{
    static char text[1024];
    FILE *file = fopen(s->file, "r");
    size_t len = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[len] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return text;
}

/* A shell that runs `script` in the scene's folder. */
static cascade_err
run_script(cascade_node *node, const scene *s, const char *script,
           cascade_program program, const cascade_step_options *options,
           cJSON **result)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    program.size = sizeof(program);
    program.argv = argv;
    program.folder = s->folder;
    return cascade_node_program(node, "program", &program, options, result);
}

static const char *
string_of(const cJSON *result, const char *name)
{
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(result, name));

    return text != NULL ? text : "(none)";
}

static int
number_of(const cJSON *result, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(result, name);

    return cJSON_IsNumber(item) ? item->valueint : -1;
}

static bool
is_true(const cJSON *result, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, name));
}

/* ---- Results ------------------------------------------------------------ */

static cascade_err
run_once(cascade_node *node, void *user)
{
    scene *s = scene_of(user);
    const cascade_program program = {.input_text = "in"};
    cJSON *result = NULL;
    cascade_err err =
        run_script(node, s,
                   "echo x >>file; cat; printf '\\000\\377\\303\\244' >&2; "
                   "exit 3",
                   program, NULL, &result);

    if (err != CASCADE_OK)
        return err;
    expect(number_of(result, "exit") == 3);
    expect(number_of(result, "elapsed_ms") >= 0);
    expect(strcmp(string_of(result, "stdout"), "in") == 0);
    expect(strcmp(string_of(result, "stderr"),
                  "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4") == 0);
    expect(cJSON_GetArraySize(result) == 4);
    cJSON_Delete(result);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "after the program");
    return CASCADE_OK;
}

static void
a_program_is_run_once_and_recorded(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"run", run_once}}, .user = s};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "run", NULL, CASCADE_COMPLETED);
    assert_string_equal(file_text(s), "x\n");
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 2);
    assert_string_equal(play_execution(snapshot, 1)->node_name,
                        "cascade.step:program");
    cascade_snapshot_free(snapshot);
    play_end(&p);
    close_scene(s);
}

/* Each of the results that are not just an exit. */
static cascade_err
run_all_ends(cascade_node *node, void *user)
{
    const scene *s = scene_of(user);
    const cascade_program none = {0};
    const cascade_program brief = {
        .timeout_ms = 20, .grace_ms = -1, .keep_timeout = true, .check = true};
    cJSON *result = NULL;
    cascade_err err = run_script(node, s, "kill -USR1 $$", none, NULL, &result);

    if (err == CASCADE_OK) {
        expect(number_of(result, "signal") == SIGUSR1);
        expect(number_of(result, "exit") == -1);
        cJSON_Delete(result);
        err = run_script(node, s, "sleep 600", brief, NULL, &result);
    }
    if (err == CASCADE_OK) {
        expect(is_true(result, "timed_out"));
        expect(number_of(result, "signal") > 0);
        cJSON_Delete(result);
        err = run_script(node, s, "exit 0", none, NULL, NULL);
    }
    return err;
}

static void
signals_and_timeouts_can_be_results(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"ends", run_all_ends}}, .user = s};

    play_run(&p, db, mode, "ends", NULL, CASCADE_COMPLETED);
    play_end(&p);
    close_scene(s);
}

/* Each control character takes six bytes as JSON. */
static cascade_err
run_flood(cascade_node *node, void *user)
{
    const scene *s = scene_of(user);
    const cascade_program small = {.output_max = 10};
    const cascade_program large = {.output_max = SIZE_MAX};
    const char *flood =
        "head -c 3000000 /dev/zero | tr '\\0' '\\001'; echo 1234567890 >&2";
    cJSON *result = NULL;
    cascade_err err = run_script(node, s, flood, small, NULL, &result);

    if (err != CASCADE_OK)
        return err;
    expect(strlen(string_of(result, "stdout")) == 10);
    expect(strlen(string_of(result, "stderr")) == 10);
    expect(is_true(result, "stdout_truncated"));
    expect(is_true(result, "stderr_truncated"));
    cJSON_Delete(result);
    err = run_script(node, s, flood, large, NULL, &result);
    if (err != CASCADE_OK)
        return err;
    expect(strlen(string_of(result, "stdout")) > 80000);
    expect(is_true(result, "stdout_truncated"));
    expect(strcmp(string_of(result, "stderr"), "1234567890\n") == 0);
    expect(!is_true(result, "stderr_truncated"));
    cJSON_Delete(result);
    /* Short enough as it comes, and too long as JSON. */
    err = run_script(node, s, "head -c 200000 /dev/zero | tr '\\0' '\\001'",
                     large, NULL, &result);
    if (err != CASCADE_OK)
        return err;
    expect(strlen(string_of(result, "stdout")) < 200000);
    expect(is_true(result, "stdout_truncated"));
    cJSON_Delete(result);
    return CASCADE_OK;
}

static void
an_output_is_cut_so_that_it_can_be_recorded(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"flood", run_flood}}, .user = s};

    play_run(&p, db, mode, "flood", NULL, CASCADE_COMPLETED);
    play_end(&p);
    close_scene(s);
}

/* ---- Attempts ----------------------------------------------------------- */

/* Fails until the third attempt; then gives what the environment held. */
static cascade_err
run_shaky(cascade_node *node, void *user)
{
    const scene *s = scene_of(user);
    const cascade_program program = {.check = true};
    const cascade_step_options options = {
        .size = sizeof(options), .attempts_max = 3, .backoff_ms = 2};
    cJSON *result = NULL;
    cascade_err err = run_script(
        node, s,
        "echo $CASCADE_REQUEST_ID >>file; [ $(wc -l <file) = 3 ] && cat file",
        program, &options, &result);

    if (err == CASCADE_OK) {
        expect(number_of(result, "exit") == 0);
        cJSON_Delete(result);
    }
    return err;
}

static void
attempts_have_the_same_request_id(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"shaky", run_shaky}}, .attempts_max = 1, .user = s};
    cascade_snapshot *snapshot = NULL;
    char expected[1024];
    const char *id = NULL;

    play_run(&p, db, mode, "shaky", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 1)->attempts, 3);
    id = play_execution(snapshot, 1)->node_instance_id;
    (void)snprintf(expected, sizeof(expected), "%s\n%s\n%s\n", id, id, id);
    assert_string_equal(file_text(s), expected);
    cascade_snapshot_free(snapshot);
    play_end(&p);
    close_scene(s);
}

static cascade_err
run_by_input(cascade_node *node, void *user)
{
    const char *script = string_of(cascade_node_input(node), "script");
    const cascade_program program = {
        .check = true, .timeout_ms = number_of(cascade_node_input(node), "ms")};
    const cascade_program unlimited = {.check = true};

    return run_script(node, scene_of(user), script,
                      program.timeout_ms > 0 ? program : unlimited, NULL, NULL);
}

static void
check_error(test_db *db, cascade_mode mode, const char *input,
            const char *error)
{
    scene *s = open_scene();
    play p = {.nodes = {{"fails", run_by_input}}, .attempts_max = 1, .user = s};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "fails", input, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_error(snapshot), error);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 1);
    cascade_snapshot_free(snapshot);
    play_end(&p);
    close_scene(s);
}

static void
a_failed_attempt_says_why(test_db *db, cascade_mode mode)
{
    check_error(db, mode, "{\"script\":\"exit 4\"}",
                "program program: sh exited with 4");
    check_error(db, mode, "{\"script\":\"kill -KILL $$\"}",
                "program program: sh was ended by signal 9");
    check_error(db, mode, "{\"script\":\"exec sleep 600\",\"ms\":20}",
                "program program: sh was ended after timeout_ms = 20");
}

/* ---- Misuse ------------------------------------------------------------- */

static cascade_err
run_in_step(cascade_node *node, void *arg, cJSON **result)
{
    scene *s = arg;
    const cascade_program program = {0};

    s->errs[0] = run_script(node, s, "echo x >>file", program, NULL, result);
    return CASCADE_OK;
}

static cascade_err
run_badly(cascade_node *node, void *user)
{
    const char *argv[] = {"no-such-program", NULL};
    const cascade_program missing = {.size = sizeof(missing), .argv = argv};
    scene *s = scene_of(user);

    if (cascade_node_attempt(node) == 1) {
        s->errs[1] =
            cascade_node_program(node, "program", &missing, NULL, NULL);
        return s->errs[1];
    }
    return cascade_node_step(node, "step", run_in_step, s, NULL, NULL);
}

static void
programs_out_of_place_are_refused(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"badly", run_badly}}, .user = s};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "badly", NULL, CASCADE_COMPLETED);
    assert_int_equal(s->errs[0], CASCADE_ERR_MISUSE);
    assert_int_equal(s->errs[1], CASCADE_ERR_SYSTEM);
    assert_string_equal(file_text(s), "");
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    cascade_snapshot_free(snapshot);
    play_end(&p);
    close_scene(s);
}

static cascade_err
run_unheard(cascade_node *node, void *user)
{
    const cascade_step_options options = {.size = sizeof(options),
                                          .attempts_max = 3};
    const cascade_program program = {0};
    scene *s = scene_of(user);

    s->errs[0] = run_script(node, s, "echo x >>file", program, &options, NULL);
    return s->errs[0] == CASCADE_ERR_MISUSE ? CASCADE_OK : s->errs[0];
}

/* It is no attempt of the step: the call tells it at once. */
static void
a_program_whose_end_would_be_lost_is_refused(test_db *db, cascade_mode mode)
{
    scene *s = open_scene();
    play p = {.nodes = {{"n", run_unheard}}, .user = s};
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "n", NULL, CASCADE_COMPLETED);
    (void)signal(SIGCHLD, before);
    assert_int_equal(s->errs[0], CASCADE_ERR_MISUSE);
    assert_string_equal(file_text(s), "");
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 1);
    cascade_snapshot_free(snapshot);
    play_end(&p);
    close_scene(s);
}

/* ---- A cascade ends while a program of it runs --------------------------- */

static cascade_err
spawn_both(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "runs", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "ends", NULL, NULL)
                             : err;
}

static cascade_err
run_for_long(cascade_node *node, void *user)
{
    scene *s = scene_of(user);
    const cascade_program program = {0};

    s->errs[0] =
        run_script(node, s, "echo $$ >new; mv new file; exec sleep 600",
                   program, NULL, NULL);
    expect(strstr(cascade_errmsg(), "the program was ended") != NULL);
    return s->errs[0];
}

static bool
has_file(void *context)
{
    return file_text(context)[0] != '\0';
}

static cascade_err
end_once_it_runs(cascade_node *node, void *user)
{
    scene *s = scene_of(user);

    expect(stores_until(has_file, s));
    s->pid = strtol(file_text(s), NULL, 10);
    s->begun = csc_clock_process_start(s->pid);
    expect(s->pid > 1 && s->begun >= 0);
    return cascade_node_fail(node, "wanted no more");
}

static void
a_program_ends_with_its_cascade(test_db *db)
{
    scene *s = open_scene();
    play p = {.nodes = {{"both", spawn_both},
                        {"runs", run_for_long},
                        {"ends", end_once_it_runs}},
              .user = s};

    play_suspend_steps = false;
    play_run(&p, db, CASCADE_MODE_THREADS, "both", NULL, CASCADE_ERROR);
    play_end(&p);
    assert_int_equal(s->errs[0], CASCADE_ERR_FENCED);
    assert_true(csc_clock_process_start(s->pid) != s->begun);
    close_scene(s);
}

/* ---- An engine dies ----------------------------------------------------- */

static cascade_err
die(void *context, const wrap_call *call)
{
    scene *s = context;

    if (call->move == WRAP_COMMIT && s->die)
        s->dead = true;
    return s->dead ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static bool
is_dead(void *context)
{
    return ((scene *)context)->dead;
}

/* The engine dies when it is to record the second program. */
static cascade_err
run_two(cascade_node *node, void *user)
{
    scene *s = user;
    const cascade_program program = {0};
    cascade_err err =
        run_script(node, s, "echo first >>file", program, NULL, NULL);

    if (err != CASCADE_OK)
        return err;
    s->die = true;
    return run_script(node, s, "echo second >>file", program, NULL, NULL);
}

static void
a_program_runs_again_only_if_it_was_not_recorded(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 200,
                                      .poll_interval_ms = 20};
    scene *s = open_scene();
    cascade_store *store = NULL;
    cascade_engine *engines[2];
    cascade_uuid id;
    db_ends ends;

    db->fake_time = db->backend->virtual_time;
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = die;
    for (size_t i = 0; i < 2; i++) {
        store = i == 0 ? db_wrapped(db, &s->wrap) : db_store(db);
        engines[i] = db_engine(db, store, &options);
        assert_ok(cascade_engine_register(engines[i], "n", run_two, s, NULL));
        assert_ok(cascade_engine_start(engines[i]));
    }
    id = db_start(store, "n");
    assert_true(db_poll_until(db, &engines[0], 1, is_dead, s));
    assert_string_equal(file_text(s), "first\nsecond\n");
    ends = (db_ends){store, &id, 1, 0};
    assert_true(db_poll_until(db, &engines[1], 1, db_all_ended, &ends));
    assert_string_equal(file_text(s), "first\nsecond\nsecond\n");
    (void)cascade_engine_stop(engines[0], 0);
    db_close_engine(db, engines[0]);
    db_close_engine(db, engines[1]);
    db_close_store(db, db->stores[0]);
    wrap_store_fini(&s->wrap);
    close_scene(s);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_program_is_run_once_and_recorded)
PLAY_MODES(signals_and_timeouts_can_be_results)
PLAY_MODES(an_output_is_cut_so_that_it_can_be_recorded)
PLAY_MODES(attempts_have_the_same_request_id)
PLAY_MODES(a_failed_attempt_says_why)
PLAY_MODES(programs_out_of_place_are_refused)
PLAY_MODES(a_program_whose_end_would_be_lost_is_refused)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_program_is_run_once_and_recorded),
        PLAY_TESTS(signals_and_timeouts_can_be_results),
        PLAY_TESTS(an_output_is_cut_so_that_it_can_be_recorded),
        PLAY_TESTS(attempts_have_the_same_request_id),
        PLAY_TESTS(a_failed_attempt_says_why),
        PLAY_TESTS(programs_out_of_place_are_refused),
        PLAY_TESTS(a_program_whose_end_would_be_lost_is_refused),
        {"a_program_ends_with_its_cascade", a_program_ends_with_its_cascade,
         STORES_ALL},
        {"a_program_runs_again_only_if_it_was_not_recorded",
         a_program_runs_again_only_if_it_was_not_recorded, STORES_ALL},
    };

    return stores_run("run", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
