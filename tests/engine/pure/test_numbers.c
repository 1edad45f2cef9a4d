/* SPDX-License-Identifier: MIT
 *
 * A cascade that has come to the end of its function_ids, as one may that
 * others have made: what would need one more is refused where that is seen, and
 * nobody else is held up; it can be cancelled, terminated and deleted all the
 * same, and so can one that has not a single id left.
 *
 * Two first nodes are RUNNING, "a" and "b". The second has the highest id so
 * far.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "change/build/build.h"
#include "engine/support/play.h"
#include "support/must.h"

#define LONG_MS 3600000
#define NEIGHBOURS 12
#define USED_UP "function_ids"

/* How many ids are left for all that may be recorded. */
static const int lefts[] = {0, 1, CSC_FUNCTION_IDS_KEPT,
                            CSC_FUNCTION_IDS_KEPT + 1};

/* ---- Such a cascade ------------------------------------------------------ */

/* Each `was` in `text` becomes `is`. */
static char *
replaced(char *text, const char *was, const char *is)
{
    char *at = NULL;

    while ((at = strstr(text, was)) != NULL) {
        char *made = NULL;

        assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, is,
                             at + strlen(was)) > 0);
        free(text);
        text = made;
    }
    return text;
}

static char *
export_text(cascade_store *store, const cascade_uuid *id)
{
    char *document = NULL;
    char *text = NULL;

    assert_ok(cascade_export(store, id, NULL, &document));
    text = must(strdup(document));
    cascade_document_free(document);
    return text;
}

/* The cascade as a document. */
static char *
write_far(int left, int64_t deadline_ms)
{
    static const cascade_first first[] = {
        {.size = sizeof(first[0]), .node = "a"},
        {.size = sizeof(first[0]), .node = "b"}};
    const cascade_start_options options = {.size = sizeof(options),
                                           .deadline_ms = deadline_ms};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = first,
                                     .first_count = 2,
                                     .options = &options};
    cascade_started started;
    cascade_store *store = NULL;
    char *text = NULL;
    char number[40];

    assert_ok(cascade_store_open("memory:", NULL, &store));
    assert_ok(cascade_start_many(store, &spec, 1, &started));
    text = export_text(store, &started.id);
    assert_ok(cascade_store_close(store));
    (void)snprintf(number, sizeof(number), "\"fn_id\":%d",
                   (int)CSC_FUNCTION_ID_MAX - left);
    text = replaced(text, "\"fn_id\":1,", strcat(number, ","));
    (void)snprintf(number, sizeof(number), "\"function_id\":%d,",
                   (int)CSC_FUNCTION_ID_MAX - left);
    return replaced(text, "\"function_id\":1,", number);
}

static void
import_far(play *p, int left, int64_t deadline_ms)
{
    char *text = write_far(left, deadline_ms);
    cascade_started started;

    p->db->unsound = true; /* V15: the numbers in between are not used */
    assert_ok(cascade_import(p->store, text, NULL, &started));
    assert_false(started.existed);
    p->id = started.id;
    free(text);
}

static atomic_size_t told; /* nodes, of what is used up */

/* ---- Nodes --------------------------------------------------------------- */

/* Is in memory, and waits for its next attempt. */
static cascade_err
fails(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_ERR_FAILED;
}

static cascade_err
called(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    *(bool *)arg = true;
    return CASCADE_OK;
}

/* The first that is told so ends the cascade by its failure: the other one may
 * be told of that instead, or be made to leave. */
static cascade_err
note_told(cascade_err err)
{
    if (err == CASCADE_ERR_FENCED || err == CASCADE_SUSPENDED)
        return err;
    expect(err == CASCADE_ERR_TOO_LARGE);
    expect(strstr(cascade_errmsg(), USED_UP) != NULL);
    atomic_fetch_add(&told, 1);
    return err;
}

static cascade_err
steps(cascade_node *node, void *user)
{
    bool was_called = false;
    cascade_err err =
        cascade_node_step(node, "s", called, &was_called, NULL, NULL);

    (void)user;
    expect(!was_called);
    return note_told(err);
}

static cascade_err
spawns(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "c", NULL, NULL);

    (void)user;
    return note_told(err);
}

static cascade_err
waits(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", LONG_MS, NULL);

    (void)user;
    return note_told(err);
}

/* Both see that there is room for one. */
static cascade_err
spawns_one(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn(node, "c", NULL, NULL);
}

/* ---- Plays --------------------------------------------------------------- */

typedef struct scene {
    play p;
    cascade_uuid neighbours[NEIGHBOURS];
} scene;

/* Of that cascade, whose nodes do that, beside others. */
static void
scene_begin(scene *s, test_db *db, cascade_node_fn fn, int left)
{
    s->p = (play){.nodes = {{"a", fn}, {"b", fn}, {"c", stores_nothing}},
                  .attempts_max = fn == fails ? 3 : 1,
                  .backoff_ms = LONG_MS,
                  .park_after_ms = 2 * LONG_MS};
    play_open(&s->p, db, CASCADE_MODE_THREADS);
    for (size_t i = 0; i < NEIGHBOURS; i++)
        s->neighbours[i] = db_start(s->p.store, "c");
    import_far(&s->p, left, 0);
}

static void
scene_end(scene *s)
{
    for (size_t i = 0; i < NEIGHBOURS; i++)
        play_await(&s->p, &s->neighbours[i], CASCADE_COMPLETED);
    play_end(&s->p);
}

static void
check_error(const play *p, const char *says)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const char *error = cascade_snapshot_error(snapshot);

    assert_non_null(error);
    if (strstr(error, says) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", says, error);
    cascade_snapshot_free(snapshot);
}

/* It is in memory, and waits for its next attempts. */
static bool
is_tried(void *context)
{
    const play *p = context;
    cascade_snapshot *snapshot = play_snapshot(p);
    const cascade_execution_info *last = play_execution(snapshot, 1);
    bool tried = last->attempts == 1 &&
                 play_execution(snapshot, 0)->attempts == last->attempts;

    cascade_snapshot_free(snapshot);
    return tried;
}

static bool
is_gone(void *context)
{
    const play *p = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(p->store, &p->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

typedef cascade_err command(cascade_store *store, const cascade_uuid *id,
                            const cascade_request_options *options);

/* `held`: as it is in memory; else as it is claimed for the command. */
static void
end_by(test_db *db, command *ask, bool held, const char *says)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .reason = "why"};

    for (size_t i = 0; i < sizeof(lefts) / sizeof(lefts[0]); i++) {
        play p = {
            .nodes = {{held ? "a" : "c", fails}, {held ? "b" : "d", fails}},
            .attempts_max = 3,
            .backoff_ms = LONG_MS,
            .park_after_ms = 2 * LONG_MS};

        play_open(&p, db, CASCADE_MODE_THREADS);
        import_far(&p, lefts[i], 0);
        if (held)
            play_on(&p, is_tried, &p);
        assert_ok(ask(p.store, &p.id, &options));
        if (says != NULL) {
            play_await(&p, &p.id, CASCADE_ERROR);
            check_error(&p, says);
            assert_ok(cascade_delete(p.store, &p.id, NULL));
        }
        play_on(&p, is_gone, &p);
        play_end(&p);
    }
}

static void
it_can_be_terminated(test_db *db)
{
    end_by(db, cascade_terminate, false, "terminated: why");
    end_by(db, cascade_terminate, true, "terminated: why");
}

static void
it_can_be_cancelled(test_db *db)
{
    end_by(db, cascade_cancel, true, "cancelled: why");
}

static void
it_can_be_deleted(test_db *db)
{
    end_by(db, cascade_delete, false, NULL);
    end_by(db, cascade_delete, true, NULL);
}

/* What would need an id is refused while some are left, for its end. */
static void
refuse(test_db *db, cascade_node_fn fn)
{
    for (size_t i = 0; lefts[i] <= CSC_FUNCTION_IDS_KEPT; i++) {
        scene s;

        atomic_store(&told, 0);
        scene_begin(&s, db, fn, lefts[i]);
        play_await(&s.p, &s.p.id, CASCADE_ERROR);
        check_error(&s.p, USED_UP);
        assert_in_range(atomic_load(&told), 1, 2);
        assert_int_equal(db_stats(s.p.engine).refusals, 0);
        scene_end(&s);
    }
}

static void
nodes_are_told(test_db *db)
{
    refuse(db, steps);
    refuse(db, spawns);
    refuse(db, waits);
}

/* Two ask for the last one: one of them gets it. */
static void
the_last_one_is_given_once(test_db *db)
{
    scene s;

    scene_begin(&s, db, spawns_one, CSC_FUNCTION_IDS_KEPT + 1);
    play_await(&s.p, &s.p.id, CASCADE_ERROR);
    check_error(&s.p, USED_UP);
    scene_end(&s);
}

/* A signal that cannot be recorded ends the cascade, which says so. */
static void
what_cannot_be_received_ends_it(test_db *db)
{
    for (size_t i = 0; i < sizeof(lefts) / sizeof(lefts[0]); i++) {
        int signals = lefts[i] > CSC_FUNCTION_IDS_KEPT ? 2 : 1;
        scene s;

        scene_begin(&s, db, fails, lefts[i]);
        play_on(&s.p, is_tried, &s.p);
        for (int n = 0; n < signals; n++)
            assert_ok(cascade_signal(s.p.store, &s.p.id, "go", NULL, NULL));
        play_await(&s.p, &s.p.id, CASCADE_ERROR);
        check_error(&s.p, USED_UP);
        assert_int_equal(db_stats(s.p.engine).refusals, 0);
        scene_end(&s);
    }
}

static void
its_deadline_ends_it(test_db *db)
{
    for (size_t i = 0; i < sizeof(lefts) / sizeof(lefts[0]); i++) {
        play p = {.nodes = {{"a", fails}, {"b", fails}},
                  .attempts_max = 3,
                  .backoff_ms = LONG_MS};

        play_open(&p, db, CASCADE_MODE_THREADS);
        import_far(&p, lefts[i], 1);
        play_await(&p, &p.id, CASCADE_ERROR);
        check_error(&p, "deadline");
        play_end(&p);
    }
}

/* There is no id for the node that is to run instead. */
static void
a_failure_without_an_id_for_another_is_final(test_db *db)
{
    for (size_t i = 0; lefts[i] <= CSC_FUNCTION_IDS_KEPT; i++) {
        play p = {.nodes = {{"a", fails}, {"b", fails}, {"c", stores_nothing}},
                  .instead = {"c", "c"},
                  .attempts_max = 1};

        play_open(&p, db, CASCADE_MODE_THREADS);
        import_far(&p, lefts[i], 0);
        play_await(&p, &p.id, CASCADE_ERROR);
        assert_int_equal(db_stats(p.engine).refusals, 0);
        play_end(&p);
    }
}

/* A retry needs ids of its own, and there is no place to say that in. */
static void
it_is_not_tried_again(test_db *db)
{
    for (size_t i = 0; i < sizeof(lefts) / sizeof(lefts[0]); i++) {
        const cascade_request_options options = {.size = sizeof(options)};
        scene s;
        cascade_uuid other;

        scene_begin(&s, db, fails, lefts[i]);
        assert_ok(cascade_terminate(s.p.store, &s.p.id, NULL));
        play_await(&s.p, &s.p.id, CASCADE_ERROR);
        assert_ok(cascade_retry(s.p.store, &s.p.id, &options));
        other = db_start(s.p.store, "c");
        play_await(&s.p, &other, CASCADE_COMPLETED);
        assert_ok(cascade_delete(s.p.store, &s.p.id, NULL));
        play_on(&s.p, is_gone, &s.p);
        scene_end(&s);
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"it_can_be_terminated", it_can_be_terminated, STORES_ALL},
        {"it_can_be_cancelled", it_can_be_cancelled, STORES_ALL},
        {"it_can_be_deleted", it_can_be_deleted, STORES_ALL},
        {"nodes_are_told", nodes_are_told, STORES_ALL},
        {"the_last_one_is_given_once", the_last_one_is_given_once, STORES_ALL},
        {"what_cannot_be_received_ends_it", what_cannot_be_received_ends_it,
         STORES_ALL},
        {"its_deadline_ends_it", its_deadline_ends_it, STORES_ALL},
        {"a_failure_without_an_id_for_another_is_final",
         a_failure_without_an_id_for_another_is_final, STORES_ALL},
        {"it_is_not_tried_again", it_is_not_tried_again, STORES_ALL},
    };

    return stores_run("numbers", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
