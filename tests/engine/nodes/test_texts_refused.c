/* SPDX-License-Identifier: MIT
 *
 * Texts that are no JSON, none at all, and too long ones: each call that takes
 * a text refuses them itself, says which argument and where, repeats nothing of
 * it, and has done nothing.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"

#define BAD "{\"s3cret\":tru}"
#define PLACE "at byte 10"
#define LONG "[\"0123456789012345678901234567890123456789\"]"
#define SHORT_MAX 30 /* bytes of a payload where LONG is too long */

static bool
says(const char *what, const char *place)
{
    const char *text = cascade_errmsg();

    return strncmp(text, what, strlen(what)) == 0 &&
           strstr(text, place) != NULL && strstr(text, "s3cret") == NULL;
}

/* ---- From outside -------------------------------------------------------- */

typedef cascade_err (*sender)(cascade_store *store, const cascade_uuid *id,
                              const char *text);

static cascade_err
as_start(cascade_store *store, const cascade_uuid *id, const char *text)
{
    cascade_started started;

    (void)id;
    return cascade_start_text(store, "waits", text, NULL, &started);
}

static cascade_err
as_input_with_signal(cascade_store *store, const cascade_uuid *id,
                     const char *text)
{
    cascade_started started;

    (void)id;
    return cascade_start_with_signal_text(store, "waits", text, NULL, "go",
                                          "{}", NULL, &started);
}

static cascade_err
as_payload_with_start(cascade_store *store, const cascade_uuid *id,
                      const char *text)
{
    cascade_started started;

    (void)id;
    return cascade_start_with_signal_text(store, "waits", "{}", NULL, "go",
                                          text, NULL, &started);
}

static cascade_err
as_signal(cascade_store *store, const cascade_uuid *id, const char *text)
{
    return cascade_signal_text(store, id, "go", text, NULL);
}

static cascade_err
as_signal_by_key(cascade_store *store, const cascade_uuid *id, const char *text)
{
    (void)id;
    return cascade_signal_key_text(store, NULL, "k", "go", text, NULL);
}

static cascade_err
as_update(cascade_store *store, const cascade_uuid *id, const char *text)
{
    return cascade_update_text(store, id, "ask", text, NULL, NULL);
}

static const struct {
    sender send;
    const char *what;
} senders[] = {
    {as_start, "input: "},
    {as_input_with_signal, "input: "},
    {as_payload_with_start, "payload: "},
    {as_signal, "payload: "},
    {as_signal_by_key, "payload: "},
    {as_update, "request: "},
};

static void
expect_refused(cascade_store *store, const cascade_uuid *id, const char *text,
               cascade_err wanted, const char *place)
{
    for (size_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++) {
        cascade_err err = senders[i].send(store, id, text);

        if (err != wanted || !says(senders[i].what, place))
            fail_msg("sender %zu: %s, %s", i, cascade_err_name(err),
                     cascade_errmsg());
    }
}

static cascade_err
wait_for_the_end(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "end", -1, NULL);
}

static size_t
count_cascades(cascade_store *store)
{
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(store, NULL, &page));
    count = cascade_page_count(page);
    cascade_page_free(page);
    return count;
}

/* The node, its await and the signal "end", of what was sent. */
static void
a_text_that_is_none_is_not_sent(test_db *db)
{
    const cascade_start_options options = {.size = sizeof(options), .key = "k"};
    cascade_store_options narrow = db_store_options(db);
    play p = {.nodes = {{"waits", wait_for_the_end}}};
    cascade_store *other = NULL;
    cascade_started started = {0};
    cascade_snapshot *snapshot = NULL;

    play_open(&p, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_start_text(p.store, "waits", "{}", &options, &started));
    p.id = started.id;
    expect_refused(p.store, &p.id, BAD, CASCADE_ERR_JSON, PLACE);
    expect_refused(p.store, &p.id, "", CASCADE_ERR_JSON, "at byte 0");
    expect_refused(p.store, &p.id, NULL, CASCADE_ERR_INVALID, "NULL");
    narrow.payload_max = SHORT_MAX;
    if (strncmp(db->url, "memory:", 7) != 0) {
        assert_ok(cascade_store_open(db->url, &narrow, &other));
        expect_refused(other, &p.id, LONG, CASCADE_ERR_TOO_LARGE, "30 bytes");
        assert_ok(cascade_store_close(other));
    }
    assert_int_equal(count_cascades(p.store), 1);
    assert_ok(cascade_signal_text(p.store, &p.id, "end", "{}", NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 3);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* Neither is a run of the key terminated for it. */
static void
a_run_is_not_terminated_for_what_is_refused(test_db *db)
{
    const cascade_start_options options = {
        .size = sizeof(options), .key = "k", .reuse = CASCADE_REUSE_TERMINATE};
    play p = {.nodes = {{"waits", wait_for_the_end}}};
    cascade_started started = {0};
    cascade_info *info = NULL;

    play_open(&p, db, CASCADE_MODE_THREADS);
    assert_ok(cascade_start_text(p.store, "waits", "{}", &options, &started));
    p.id = started.id;
    play_until(&p, "cascade.await:end", CASCADE_EXECUTION_RUNNING, 1);
    assert_fails(CASCADE_ERR_JSON,
                 cascade_start_text(p.store, "waits", BAD, &options, &started));
    assert_fails(CASCADE_ERR_JSON, cascade_start_with_signal_text(
                                       p.store, "waits", "{}", &options, "go",
                                       BAD, NULL, &started));
    assert_fails(CASCADE_ERR_JSON,
                 cascade_start_with_signal_text(p.store, "waits", BAD, &options,
                                                "go", "{}", NULL, &started));
    assert_fails(CASCADE_ERR_INVALID, cascade_start_with_signal_text(
                                          p.store, "waits", "{}", &options,
                                          "go", NULL, NULL, &started));
    assert_fails(CASCADE_ERR_INVALID, cascade_start_with_signal_text(
                                          p.store, "waits", "{}", &options,
                                          "g o", "{}", NULL, &started));
    assert_ok(cascade_get(p.store, &p.id, &info));
    assert_int_equal(info->status, CASCADE_RUNNING);
    cascade_info_free(info);
    assert_ok(cascade_signal_text(p.store, &p.id, "end", "{}", NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- In a node ----------------------------------------------------------- */

/* What each call makes of the texts: a wrong one, a long one, none. */
#define REFUSES(what, call_of)                                            \
    do {                                                                  \
        expect(call_of(BAD) == CASCADE_ERR_JSON && says(what, PLACE));    \
        expect(call_of(NULL) == CASCADE_ERR_INVALID && says("", "NULL")); \
    } while (0)

static cascade_err
undo_nothing(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)user;
    (void)input;
    return CASCADE_OK;
}

static cascade_err
give_none(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
#define RESULT(text) cascade_node_step_result_text(node, text)
    REFUSES("result of a step: ", RESULT);
#undef RESULT
    return CASCADE_OK;
}

static void
refuse_what_is_made(cascade_node *node)
{
#define PUT(text) cascade_node_put_text(node, "k", text, NULL)
    REFUSES("value of put: ", PUT);
#undef PUT
#define PUBLISH(text) cascade_node_publish_text(node, "p", text)
    REFUSES("value of put: ", PUBLISH);
#undef PUBLISH
#define OUTPUT(text) cascade_node_output_text(node, text)
    REFUSES("output: ", OUTPUT);
#undef OUTPUT
#define SPAWN(text) cascade_node_spawn_text(node, "refuses", text, NULL)
    REFUSES("input of spawn: ", SPAWN);
#undef SPAWN
    expect(cascade_node_put_text(node, "k", "1", BAD) == CASCADE_ERR_JSON &&
           says("ui value of put: ", PLACE));
}

static void
refuse_what_is_asked(cascade_node *node)
{
    cascade_uuid id;

#define BEAT(text) cascade_node_heartbeat_text(node, text)
    REFUSES("progress: ", BEAT);
#undef BEAT
#define AGAIN(text) cascade_node_continue_as_new_text(node, NULL, text)
    REFUSES("input: ", AGAIN);
#undef AGAIN
#define UNDO(text) \
    cascade_node_compensate_text(node, "u", undo_nothing, text, NULL)
    REFUSES("input of a compensation: ", UNDO);
#undef UNDO
#define CHILD(text) \
    cascade_node_start_child_text(node, "c", "refuses", text, NULL, &id)
    REFUSES("input: ", CHILD);
#undef CHILD
#define ANSWER(text) cascade_node_answer_text(node, "u/path", text)
    REFUSES("answer: ", ANSWER);
#undef ANSWER
    expect(cascade_node_step_result_text(node, "1") == CASCADE_ERR_MISUSE);
}

static cascade_err
refuse(cascade_node *node, void *user)
{
    const char *result = "";
    cascade_err err = CASCADE_OK;

    (void)user;
    refuse_what_is_made(node);
    refuse_what_is_asked(node);
    err = cascade_node_step_text(node, "s", give_none, NULL, NULL, &result);
    expect(err != CASCADE_OK || result == NULL);
    return err;
}

static void
a_node_is_told_at_the_call(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"refuses", refuse}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "refuses", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    assert_string_equal(cascade_snapshot_context(snapshot), "{}");
    assert_null(cascade_snapshot_result(snapshot));
    assert_null(play_execution(snapshot, 1)->output);
    assert_null(cascade_snapshot_continued_as(snapshot));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- The result of a step ------------------------------------------------ */

#define EXECUTION_MAX 1024 /* `much` fits once */

static char much[800];

static cascade_err
give_long(cascade_node *node, void *arg, cJSON **result)
{
    int *tree = arg;

    for (int i = 0; i < 3; i++)
        expect(cascade_node_step_result_text(node, much) == CASCADE_OK);
    expect(cascade_node_put_text(node, "k", much, NULL) ==
           CASCADE_ERR_TOO_LARGE);
    if (*tree != 0)
        *result = cJSON_Parse(much);
    return CASCADE_OK;
}

static cascade_err
step_twice(cascade_node *node, void *user)
{
    int trees[] = {0, 1};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (size_t i = 0; i < 2 && err == CASCADE_OK; i++) {
        const char *result = NULL;

        err = cascade_node_step_text(node, i == 0 ? "a" : "b", give_long,
                                     &trees[i], NULL, &result);
        expect(err != CASCADE_OK || strcmp(result, much) == 0);
    }
    return err;
}

static void
the_last_result_of_a_step_counts(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"steps", step_twice}},
              .execution_bytes_max = EXECUTION_MAX};

    (void)snprintf(much, sizeof(much), "\"%0700d\"", 0);
    play_run(&p, db, mode, "steps", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- In each mode -------------------------------------------------------- */

PLAY_MODES(a_node_is_told_at_the_call)
PLAY_MODES(the_last_result_of_a_step_counts)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_text_that_is_none_is_not_sent", a_text_that_is_none_is_not_sent,
         STORES_ALL},
        {"a_run_is_not_terminated_for_what_is_refused",
         a_run_is_not_terminated_for_what_is_refused, STORES_ALL},
        PLAY_TESTS(a_node_is_told_at_the_call),
        PLAY_TESTS(the_last_result_of_a_step_counts),
    };

    return stores_run("texts_refused", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
