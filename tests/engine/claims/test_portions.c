/* SPDX-License-Identifier: MIT
 *
 * A cascade that cannot be read in one go is read in portions, which become
 * smaller until the deadline suffices for one; others go on meanwhile (B1, B2).
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/uuid.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define WIDE 700     /* executions of the giant, and as many events of one */
#define ROWS_MAX 100 /* that can be read before the deadline */
#define FILLS 40     /* executions that put much, */
#define FILL_PUTS 20 /* so often */
#define FILL_BYTES 50000

typedef struct scene {
    test_db *db;
    wrap_store *wrap;
    cascade_store *starter;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid giant;
    cascade_uuid small;
    atomic_size_t pages;   /* that were read */
    atomic_size_t seen;    /* nodes that read what was put last */
    atomic_bool slow;      /* more than ROWS_MAX are too many */
    atomic_bool held_up;   /* until `small` has ended no page is read */
    atomic_size_t lose_at; /* the page behind which it is fenced */
    bool fills;            /* it is large by its values */
} scene;

/* ---- The nodes ----------------------------------------------------------- */

static cascade_err
fan_out(cascade_node *node, void *user)
{
    scene *s = user;

    for (int i = 0; i < (s->fills ? FILLS : WIDE); i++)
        expect(cascade_node_spawn(node, s->fills ? "fill" : "work", NULL,
                                  NULL) == CASCADE_OK);
    for (int i = 0; i < WIDE; i++)
        expect(cascade_node_put_text(node, "first", "1", NULL) == CASCADE_OK);
    expect(cascade_node_put_text(node, "last", "[1]", NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "work", NULL, NULL);
}

static cascade_err
fill(cascade_node *node, void *user)
{
    char *text = malloc(FILL_BYTES + 1);

    (void)user;
    expect(text != NULL);
    memset(text, 'x', FILL_BYTES);
    text[0] = '"';
    text[FILL_BYTES - 1] = '"';
    text[FILL_BYTES] = '\0';
    for (int i = 0; i < FILL_PUTS; i++)
        expect(cascade_node_put_text(node, "much", text, NULL) == CASCADE_OK);
    free(text);
    return CASCADE_OK;
}

/* It sees what came last of what it may see. */
static cascade_err
work(cascade_node *node, void *user)
{
    const cJSON *value = NULL;

    if (cascade_node_get(node, "last", &value) == CASCADE_OK &&
        cJSON_GetArraySize(value) == 1)
        atomic_fetch_add(&((scene *)user)->seen, 1);
    return CASCADE_OK;
}

/* ---- The store ----------------------------------------------------------- */

static bool
has_ended(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    bool ended = cascade_get(store, id, &info) == CASCADE_OK &&
                 info->status != CASCADE_RUNNING;

    cascade_info_free(info);
    return ended;
}

/* The next claim tells that the engine was removed. */
static cascade_err
lose(scene *s)
{
    wrap_store_fail(s->wrap, WRAP_CLAIM, 0, 1, WRAP_BEFORE, CASCADE_ERR_FENCED);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
}

static cascade_err
read_page(scene *s, const cascade_scan *scan)
{
    if (atomic_load(&s->held_up) && !has_ended(s->starter, &s->small))
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    if (atomic_load(&s->slow) && scan->limit > ROWS_MAX)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    if (atomic_load(&s->pages) == atomic_load(&s->lose_at) &&
        wrap_store_count(s->wrap, WRAP_ATTACH) < 2)
        return lose(s);
    atomic_fetch_add(&s->pages, 1);
    return CASCADE_OK;
}

/* What is asked for together with the giant's executions is too much. */
static cascade_err
read_slowly(void *context, const wrap_call *call)
{
    scene *s = context;

    if (call->move == WRAP_SCAN && call->scan->cascade_id != NULL &&
        csc_uuid_equal(call->scan->cascade_id, &s->giant))
        return read_page(s, call->scan);
    if (call->move != WRAP_LOAD || !atomic_load(&s->slow) ||
        (call->parts & CASCADE_LOAD_EXECUTIONS) == 0)
        return CASCADE_OK;
    for (size_t i = 0; i < call->id_count; i++)
        if (csc_uuid_equal(&call->ids[i], &s->giant))
            return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    return CASCADE_OK;
}

/* ---- The scene ----------------------------------------------------------- */

static cascade_engine *
open_engine(scene *s, cascade_store *store, bool works)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20};
    cascade_engine *engine = db_engine(s->db, store, &options);

    assert_ok(cascade_engine_register(engine, "fan", fan_out, s, NULL));
    assert_ok(cascade_engine_register(engine, "fill", fill, s, NULL));
    if (works)
        assert_ok(cascade_engine_register(engine, "work", work, s, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static cascade_err
note_need(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    *(bool *)context =
        run != NULL && csc_uuid_is_nil(&run->engine_id) && run->needs != NULL;
    return CASCADE_OK;
}

static bool
needs_work(void *context)
{
    scene *s = context;
    cascade_query query = {.id = &s->giant, .limit = 1};
    bool needs = false;

    expect(s->starter->driver->list(s->starter->self, &query, note_need,
                                    &needs) == CASCADE_OK);
    return needs;
}

/* The giant is there, and nobody works at it. */
static scene *
scene_open(test_db *db, bool fills)
{
    scene *s = calloc(1, sizeof(*s));
    cascade_engine *engine = NULL;

    assert_non_null(s);
    s->db = db;
    atomic_store(&s->lose_at, SIZE_MAX);
    s->fills = fills;
    s->starter = db_store(db);
    engine = open_engine(s, s->starter, false);
    s->giant = db_start(s->starter, "fan");
    assert_true(stores_until(needs_work, s));
    db_close_engine(db, engine);
    s->wrap = wrap_store_create(db->url);
    assert_non_null(s->wrap);
    s->wrap->context = s;
    s->wrap->before = read_slowly;
    s->store = db_wrapped(db, s->wrap);
    return s;
}

static void
scene_end(scene *s, size_t works)
{
    db_await(s->starter, &s->giant, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s->seen), works);
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_free(s->wrap);
    free(s);
}

/* ---- Tests --------------------------------------------------------------- */

static void
what_no_deadline_suffices_for_is_read_in_portions(test_db *db)
{
    scene *s = scene_open(db, false);

    atomic_store(&s->slow, true);
    s->engine = open_engine(s, s->store, true);
    db_await(s->starter, &s->giant, CASCADE_COMPLETED);
    assert_true(atomic_load(&s->pages) >= 2 * WIDE / ROWS_MAX);
    assert_int_equal(db_stats(s->engine).fences, 0);
    scene_end(s, WIDE + 1);
}

/* Its function_ids do not tell: its bytes do, when they come. */
static void
one_large_by_its_events_is_read_in_portions(test_db *db)
{
    scene *s = scene_open(db, true);

    s->engine = open_engine(s, s->store, true);
    db_await(s->starter, &s->giant, CASCADE_COMPLETED);
    assert_true(atomic_load(&s->pages) > 2);
    assert_int_equal(db_stats(s->engine).fences, 0);
    scene_end(s, 1);
}

static bool
small_has_ended(void *context)
{
    scene *s = context;

    return has_ended(s->starter, &s->small);
}

static void
others_go_on_while_one_is_read_in_portions(test_db *db)
{
    scene *s = scene_open(db, false);

    atomic_store(&s->slow, true);
    atomic_store(&s->held_up, true);
    s->small = db_start(s->starter, "work");
    s->engine = open_engine(s, s->store, true);
    assert_true(stores_until(small_has_ended, s));
    scene_end(s, WIDE + 1);
}

/* What was read for the incarnation that is lost is dropped. */
static void
a_reading_whose_owner_is_fenced_begins_anew(test_db *db)
{
    scene *s = scene_open(db, false);

    atomic_store(&s->slow, true);
    atomic_store(&s->lose_at, 5);
    s->engine = open_engine(s, s->store, true);
    db_await(s->starter, &s->giant, CASCADE_COMPLETED);
    assert_in_range(db_stats(s->engine).fences, 1, 2);
    scene_end(s, WIDE + 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_no_deadline_suffices_for_is_read_in_portions",
         what_no_deadline_suffices_for_is_read_in_portions, STORES_ALL},
        {"one_large_by_its_events_is_read_in_portions",
         one_large_by_its_events_is_read_in_portions, STORES_ALL},
        {"others_go_on_while_one_is_read_in_portions",
         others_go_on_while_one_is_read_in_portions, STORES_ALL},
        {"a_reading_whose_owner_is_fenced_begins_anew",
         a_reading_whose_owner_is_fenced_begins_anew, STORES_ALL},
    };

    return stores_run("engine_portions", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
