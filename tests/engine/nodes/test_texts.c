/* SPDX-License-Identifier: MIT
 *
 * JSON as text, and integers that no double holds: what is handed from place to
 * place is the same at its end, digit by digit, by trees and by texts; and both
 * forms of a call do the same. What is no JSON is refused at the call: that is
 * in test_texts_refused.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/support/play.h"

#define BIG INT64_C(9007199254740993) /* 2^53 + 1 */
#define BIG_TEXT "9007199254740993"
#define EXACT                                                               \
    "{\"d\":1.50,\"n\":" BIG_TEXT ",\"min\":-9223372036854775808,\"long\":" \
    "0.1234567890123456789}"

/* A tree that was made of it, or of some of it. */
static bool
is_exact(const cJSON *tree)
{
    int64_t n = 0;
    int64_t min = 0;

    return cascade_json_get_int64(cJSON_GetObjectItem(tree, "n"), &n) ==
               CASCADE_OK &&
           n == BIG &&
           cascade_json_get_int64(cJSON_GetObjectItem(tree, "min"), &min) ==
               CASCADE_OK &&
           min == INT64_MIN;
}

static bool
is_text(const char *text)
{
    return text != NULL && strcmp(text, EXACT) == 0;
}

/* The node's input, as whoever wants to change something takes it. */
static cJSON *
copy(cascade_node *node)
{
    return cJSON_Duplicate(cascade_node_input(node), 1);
}

/* As C makes it. */
static cJSON *
made(void)
{
    cJSON *tree = cJSON_CreateObject();

    assert_ok(cascade_json_add_int64(tree, "n", BIG));
    assert_ok(cascade_json_add_int64(tree, "min", INT64_MIN));
    return tree;
}

/* ---- Inside a cascade ---------------------------------------------------- */

static cascade_err
give_tree(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = copy(node);
    return CASCADE_OK;
}

static cascade_err
give_text(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    expect(cascade_node_step_result_text(node, "[1]") == CASCADE_OK);
    return cascade_node_step_result_text(node, EXACT);
}

static cascade_err
make_by_trees(cascade_node *node, cJSON *result)
{
    cascade_err err =
        cascade_node_put_ui(node, "ui", copy(node), cJSON_CreateTrue());

    if (err == CASCADE_OK)
        err = cascade_node_put(node, "step", cJSON_Duplicate(result, 1));
    if (err == CASCADE_OK)
        err = cascade_node_publish(node, "now", copy(node));
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "take", copy(node), NULL);
    return err == CASCADE_OK ? cascade_node_output(node, copy(node)) : err;
}

static cascade_err
by_trees(cascade_node *node, void *user)
{
    const cJSON *seen = NULL;
    cJSON *result = NULL;
    cascade_err err =
        cascade_node_step(node, "s", give_tree, NULL, NULL, &result);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    expect(is_exact(result));
    err = cascade_node_heartbeat(node, copy(node));
    expect(cascade_node_progress(node, &seen) == CASCADE_OK && is_exact(seen));
    if (err == CASCADE_OK)
        err = make_by_trees(node, result);
    expect(cascade_node_get(node, "step", &seen) == CASCADE_OK &&
           is_exact(seen));
    expect(cascade_node_outcomes(node, &seen) == CASCADE_OK &&
           cJSON_GetArraySize(seen) == 0);
    cJSON_Delete(result);
    return err;
}

static cascade_err
make_by_texts(cascade_node *node, const char *result)
{
    cascade_err err = cascade_node_put_text(node, "ui", EXACT, " true ");

    if (err == CASCADE_OK)
        err = cascade_node_put_text(node, "step", result, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_publish_text(node, "now", EXACT);
    if (err == CASCADE_OK)
        err = cascade_node_spawn_text(node, "take", EXACT, NULL);
    return err == CASCADE_OK ? cascade_node_output_text(node, EXACT) : err;
}

static cascade_err
by_texts(cascade_node *node, void *user)
{
    const char *seen = NULL;
    const char *result = NULL;
    size_t count = 0;
    cascade_err err =
        cascade_node_step_text(node, "s", give_text, NULL, NULL, &result);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    expect(is_text(result) && is_text(cascade_node_input_text(node)));
    err = cascade_node_heartbeat_text(node, EXACT);
    expect(cascade_node_progress_text(node, &seen) == CASCADE_OK &&
           is_text(seen));
    if (err == CASCADE_OK)
        err = make_by_texts(node, result);
    expect(cascade_node_get_text(node, "step", &seen) == CASCADE_OK &&
           is_text(seen));
    expect(cascade_node_history_text(node, "step", &seen) == CASCADE_OK &&
           strcmp(seen, "[" EXACT "]") == 0);
    expect(cascade_node_history_part_text(node, "step", -1, 0, &seen, &count) ==
               CASCADE_OK &&
           strcmp(seen, "[]") == 0 && count == 1);
    expect(cascade_node_get_text(node, "none", &seen) == CASCADE_ERR_NOT_FOUND);
    expect(cascade_node_outcomes_text(node, &seen) == CASCADE_OK &&
           strcmp(seen, "[]") == 0);
    return err;
}

static cascade_err
take(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    const cJSON *value = NULL;
    const char *text = NULL;

    (void)user;
    expect(is_text(cascade_node_input_text(node)));
    expect(cascade_node_get(node, "step", &value) == CASCADE_OK &&
           is_exact(value));
    expect(cascade_node_get_text(node, "step", &text) == CASCADE_OK &&
           is_text(text));
    expect(cascade_node_history(node, "step", &values) == CASCADE_OK &&
           is_exact(cJSON_GetArrayItem(values, 0)));
    return cascade_node_output(node, cJSON_Duplicate(value, 1));
}

static void
check_records(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 3);
    for (size_t i = 0; i < 3; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
        assert_string_equal(info->output, EXACT);
        if (strncmp(info->node_name, "cascade.", 8) != 0)
            assert_string_equal(info->input, EXACT);
    }
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"ui\":[" EXACT "],\"step\":[" EXACT
                        "],\"published:now\":[" EXACT "]}");
    assert_string_equal(cascade_snapshot_result(snapshot), EXACT);
    cascade_snapshot_free(snapshot);
}

static void
check_published(const play *p)
{
    cJSON *tree = NULL;
    char *text = NULL;

    assert_ok(cascade_get_published(p->store, &p->id, "now", &tree));
    assert_true(is_exact(tree));
    cJSON_Delete(tree);
    assert_ok(cascade_get_published_text(p->store, &p->id, "now", &text));
    assert_string_equal(text, EXACT);
    cascade_text_free(text);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_get_published_text(p->store, &p->id, "no", &text));
}

static void
what_is_handed_on_is_the_same_digit_by_digit(test_db *db, cascade_mode mode)
{
    static const char *const names[] = {"trees", "texts"};
    play p = {
        .nodes = {{"trees", by_trees}, {"texts", by_texts}, {"take", take}}};

    play_open(&p, db, mode);
    for (size_t i = 0; i < 2; i++) {
        cascade_started started = {0};

        assert_ok(cascade_start_text(p.store, names[i], " " EXACT "\n", NULL,
                                     &started));
        p.id = started.id;
        play_await(&p, &p.id, CASCADE_COMPLETED);
        check_records(&p);
        check_published(&p);
    }
    play_end(&p);
}

/* ---- From outside, and back ---------------------------------------------- */

/* Two signals, and an update that is answered with its request. */
static cascade_err
talk_by_texts(cascade_node *node, void *user)
{
    const char *texts[3] = {NULL, NULL, NULL};
    const char *ticket = NULL;
    cascade_err err = cascade_node_await_text(node, "go", -1, &texts[0]);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_text(node, "go", -1, &texts[1]);
    if (err == CASCADE_OK)
        err =
            cascade_node_await_update_text(node, "ask", -1, &texts[2], &ticket);
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < 3; i++)
        expect(is_text(texts[i]));
    err = cascade_node_answer_text(node, ticket, texts[2]);
    return err == CASCADE_OK ? cascade_node_output_text(node, texts[0]) : err;
}

static cascade_err
answer_by_tree(cascade_node *node, cJSON **result)
{
    const char *ticket = NULL;
    cJSON *request = NULL;
    cascade_err err =
        cascade_node_await_update(node, "ask", -1, &request, &ticket);

    if (err != CASCADE_OK)
        return err;
    expect(is_exact(request));
    *result = cJSON_Duplicate(request, 1);
    return cascade_node_answer(node, ticket, request);
}

static cascade_err
talk_by_trees(cascade_node *node, void *user)
{
    cJSON *payload = NULL;
    cJSON *result = NULL;
    cascade_err err = cascade_node_await(node, "go", -1, &payload);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    expect(is_exact(payload));
    cJSON_Delete(payload);
    err = cascade_node_await(node, "go", -1, NULL);
    if (err == CASCADE_OK)
        err = answer_by_tree(node, &result);
    if (err == CASCADE_OK)
        return cascade_node_output(node, result);
    cJSON_Delete(result);
    return err;
}

static cascade_update_options
update_options(const play *p)
{
    return (cascade_update_options){
        .size = sizeof(cascade_update_options),
        .request_id = "r",
        .timeout_ms = p->mode == CASCADE_MODE_THREADS ? 30000 : 1};
}

static void
ask_by_texts(play *p)
{
    const cascade_update_options options = update_options(p);
    cascade_err err = CASCADE_ERR_TIMEOUT;
    char *answer = NULL;

    while (err == CASCADE_ERR_TIMEOUT) {
        err = cascade_update_text(p->store, &p->id, "ask", EXACT, &options,
                                  &answer);
        if (p->mode != CASCADE_MODE_THREADS)
            assert_ok(cascade_engine_poll(p->engine, 0, NULL));
    }
    assert_int_equal(err, CASCADE_OK);
    assert_string_equal(answer, EXACT);
    cascade_text_free(answer);
}

static void
ask_by_trees(play *p)
{
    const cascade_update_options options = update_options(p);
    cascade_err err = CASCADE_ERR_TIMEOUT;
    cJSON *answer = NULL;

    while (err == CASCADE_ERR_TIMEOUT) {
        err =
            cascade_update(p->store, &p->id, "ask", made(), &options, &answer);
        if (p->mode != CASCADE_MODE_THREADS)
            assert_ok(cascade_engine_poll(p->engine, 0, NULL));
    }
    assert_int_equal(err, CASCADE_OK);
    assert_true(is_exact(answer));
    cJSON_Delete(answer);
}

static void
expect_result(const play *p, const char *text)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_string_equal(cascade_snapshot_result(snapshot), text);
    cascade_snapshot_free(snapshot);
}

static void
signals_and_updates_are_the_same_digit_by_digit(test_db *db, cascade_mode mode)
{
    const cascade_start_options options = {.size = sizeof(options), .key = "k"};
    play p = {.nodes = {{"texts", talk_by_texts}, {"trees", talk_by_trees}}};
    cascade_started started = {0};

    play_open(&p, db, mode);
    assert_ok(cascade_start_with_signal_text(p.store, "texts", EXACT, &options,
                                             "go", EXACT, NULL, &started));
    p.id = started.id;
    assert_ok(cascade_signal_key_text(p.store, NULL, "k", "go", EXACT, NULL));
    ask_by_texts(&p);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_result(&p, EXACT);
    assert_ok(cascade_start_with_signal(p.store, "trees", made(), NULL, "go",
                                        made(), NULL, &started));
    p.id = started.id;
    assert_ok(cascade_signal_text(p.store, &p.id, "go", EXACT, NULL));
    ask_by_trees(&p);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_result(&p, "{\"n\":" BIG_TEXT ",\"min\":-9223372036854775808}");
    play_end(&p);
}

/* ---- Families, runs, what is undone -------------------------------------- */

static cascade_err
echo(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output_text(node, cascade_node_input_text(node));
}

static cascade_err
await_all(cascade_node *node, const cascade_uuid ids[3])
{
    const char *result = NULL;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < 3 && err == CASCADE_OK; i++) {
        err = cascade_node_await_child_text(node, &ids[i], &result);
        expect(err != CASCADE_OK ||
               strcmp(result, i == 2 ? "[2]" : EXACT) == 0);
    }
    return err;
}

static cascade_err
raise_texts(cascade_node *node, void *user)
{
    static const char *const inputs[] = {EXACT, "[2e0]"};
    cascade_uuid ids[3];
    cascade_err err =
        cascade_node_start_child_text(node, "one", "echo", EXACT, NULL, ids);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_start_children_text(node, "two", "echo", inputs, 2,
                                               NULL, &ids[1]);
    return err == CASCADE_OK ? await_all(node, ids) : err;
}

static cascade_err
raise_trees(cascade_node *node, void *user)
{
    cascade_uuid id;
    cJSON *result = NULL;
    cascade_err err =
        cascade_node_start_child(node, "one", "echo", copy(node), NULL, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, &result);
    expect(err != CASCADE_OK || is_exact(result));
    cJSON_Delete(result);
    return err;
}

static void
children_are_given_what_was_meant(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"texts", raise_texts},
                        {"trees", raise_trees},
                        {"echo", echo}}};

    play_run(&p, db, mode, "texts", NULL, CASCADE_COMPLETED);
    p.id = db_start_text(p.store, "trees", EXACT);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

static cascade_err
again_by_text(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new_text(node, "again_by_tree", EXACT);
}

static cascade_err
again_by_tree(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new(node, "echo", copy(node));
}

static void
the_next_run_is_given_what_was_meant(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"again", again_by_text},
                        {"again_by_tree", again_by_tree},
                        {"echo", echo}}};

    play_run(&p, db, mode, "again", NULL, CASCADE_COMPLETED);
    for (int run = 2; run <= 3; run++) {
        cascade_snapshot *snapshot = play_snapshot(&p);

        p.id = *cascade_snapshot_continued_as(snapshot);
        cascade_snapshot_free(snapshot);
        play_await(&p, &p.id, CASCADE_COMPLETED);
    }
    expect_result(&p, EXACT);
    play_end(&p);
}

static cascade_err
undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)user;
    expect(is_exact(input));
    expect(cascade_node_step_result_text(node, "1") == CASCADE_ERR_MISUSE);
    return cascade_node_put(node, "undone", cJSON_Duplicate(input, 1));
}

static cascade_err
fail_for_good(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_compensate_text(node, "a", undo, EXACT, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "b", undo, copy(node), NULL);
    return err == CASCADE_OK ? cascade_node_fail(node, "no") : err;
}

static void
a_compensation_is_given_what_was_meant(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"fails", fail_for_good}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "fails", EXACT, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"undone\":[" EXACT "," EXACT "]}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- What is completed from outside -------------------------------------- */

static bool
waits_for_it(void *context)
{
    const play *p = context;
    cascade_snapshot *snapshot = play_snapshot(p);
    bool waits = play_execution(snapshot, 0)->token != NULL;

    cascade_snapshot_free(snapshot);
    return waits;
}

static void
complete(const play *p, const cascade_completion *completion, cascade_err err)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_execution_info *info = play_execution(snapshot, 0);

    stores_check(cascade_complete(p->store, &p->id, info->node_instance_id,
                                  info->token, completion, NULL),
                 err, "cascade_complete", __FILE__, __LINE__);
    cascade_snapshot_free(snapshot);
}

static void
a_completion_is_given_as_text(test_db *db, cascade_mode mode)
{
    cascade_completion_put put = {.size = sizeof(put),
                                  .key = "k",
                                  .value_text = EXACT,
                                  .ui_value_text = "[ ]"};
    cascade_completion_spawn spawn = {
        .size = sizeof(spawn), .node = "echo", .input_text = EXACT};
    const cascade_completion completion = {.size = sizeof(completion),
                                           .output_text = EXACT,
                                           .puts = &put,
                                           .put_count = 1,
                                           .spawns = &spawn,
                                           .spawn_count = 1};
    const cJSON tree = {.type = cJSON_True};
    play p = {.nodes = {{"echo", echo}}, .externals = {{"task", {0}}}};
    cascade_snapshot *snapshot = NULL;

    play_begin(&p, db, mode, "task");
    play_on(&p, waits_for_it, &p);
    put.value = &tree;
    complete(&p, &completion, CASCADE_ERR_INVALID);
    put.value = NULL;
    spawn.input = &tree;
    complete(&p, &completion, CASCADE_ERR_INVALID);
    spawn.input = NULL;
    put.ui_value_text = "[";
    complete(&p, &completion, CASCADE_ERR_JSON);
    put.ui_value_text = NULL;
    complete(&p, &completion, CASCADE_OK);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(play_execution(snapshot, 0)->output, EXACT);
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"k\":[" EXACT "]}");
    cascade_snapshot_free(snapshot);
    expect_result(&p, EXACT);
    play_end(&p);
}

/* ---- Without memory ------------------------------------------------------ */

typedef cascade_err (*giver)(const play *p, char **text);

static cascade_err
published(const play *p, char **text)
{
    return cascade_get_published_text(p->store, &p->id, "now", text);
}

static cascade_err
answered(const play *p, char **text)
{
    const cascade_update_options options = update_options(p);

    return cascade_update_text(p->store, &p->id, "ask", EXACT, &options, text);
}

/* However much memory there is, the text is given or that is said. */
static void
expect_given(const play *p, giver give)
{
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    size_t nth = 0;

    while (err != CASCADE_OK) {
        char *text = NULL;
        size_t live = csc_mem_live();

        (void)csc_mem_fail_at(++nth, 0);
        err = give(p, &text);
        (void)csc_mem_fail_at(0, 0);
        if (err == CASCADE_OK)
            assert_string_equal(text, EXACT);
        else
            assert_true(text == NULL && csc_mem_live() == live);
        cascade_text_free(text);
        assert_true(nth < 1000);
    }
    assert_true(nth > 1);
}

static void
a_text_is_given_or_memory_is_short(test_db *db)
{
    play p = {.nodes = {{"texts", by_texts},
                        {"take", take},
                        {"talks", talk_by_texts}}};

    play_run(&p, db, CASCADE_MODE_INLINE, "texts", EXACT, CASCADE_COMPLETED);
    expect_given(&p, published);
    p.id = db_start_text(p.store, "talks", EXACT);
    for (int i = 0; i < 2; i++)
        assert_ok(cascade_signal_text(p.store, &p.id, "go", EXACT, NULL));
    ask_by_texts(&p);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    expect_given(&p, answered);
    play_end(&p);
}

/* ---- In each mode -------------------------------------------------------- */

PLAY_MODES(what_is_handed_on_is_the_same_digit_by_digit)
PLAY_MODES(signals_and_updates_are_the_same_digit_by_digit)
PLAY_MODES(children_are_given_what_was_meant)
PLAY_MODES(the_next_run_is_given_what_was_meant)
PLAY_MODES(a_compensation_is_given_what_was_meant)
PLAY_MODES(a_completion_is_given_as_text)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(what_is_handed_on_is_the_same_digit_by_digit),
        PLAY_TESTS(signals_and_updates_are_the_same_digit_by_digit),
        PLAY_TESTS(children_are_given_what_was_meant),
        PLAY_TESTS(the_next_run_is_given_what_was_meant),
        PLAY_TESTS(a_compensation_is_given_what_was_meant),
        PLAY_TESTS(a_completion_is_given_as_text),
        {"a_text_is_given_or_memory_is_short",
         a_text_is_given_or_memory_is_short, STORES_MEMORY},
    };

    return stores_run("texts", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
