/* SPDX-License-Identifier: MIT
 *
 * One cascade played through; see play.h.
 */
#include "engine/support/play.h"

#include <string.h>

#define LEASE_MS (INT64_C(60) * 60 * 1000) /* nobody takes it over */

bool play_suspend_steps;
bool play_fibers;

void
play_open(play *p, test_db *db, cascade_mode mode)
{
    cascade_engine_options options = {
        .size = sizeof(options),
        .mode = mode,
        .worker_count = p->worker_count != 0 ? p->worker_count : 3,
        .lease_ms = LEASE_MS,
        .poll_interval_ms = p->poll_interval_ms != 0 ? p->poll_interval_ms : 20,
        .suspend_steps = play_suspend_steps,
        .fibers = play_fibers ? 1 : 0,
        .park_after_ms = p->park_after_ms,
        .depth_max = p->depth_max,
        .execution_bytes_max = p->execution_bytes_max,
        .on_event = p->on_event,
        .event_context = p->event_context};
    cascade_node_options node = {.size = sizeof(node),
                                 .attempts_max = p->attempts_max,
                                 .backoff_ms =
                                     p->backoff_ms != 0 ? p->backoff_ms : 3};

    p->db = db;
    p->mode = mode;
    db->fake_time = mode == CASCADE_MODE_INLINE && db->backend->virtual_time;
    p->store = db_store(db);
    p->engine = db_engine(db, p->store, &options);
    for (size_t i = 0; i < PLAY_NODES && p->nodes[i].name != NULL; i++) {
        node.instead = p->instead[i];
        node.final_failure =
            node.instead != NULL ? CASCADE_FINAL_INSTEAD : p->final_failure;
        assert_ok(cascade_engine_register(p->engine, p->nodes[i].name,
                                          p->nodes[i].fn, p, &node));
    }
    for (size_t i = 0; i < PLAY_EXTERNALS && p->externals[i].name != NULL;
         i++) {
        cascade_external_options external = p->externals[i].options;

        external.size = sizeof(external);
        assert_ok(cascade_engine_register_external(
            p->engine, p->externals[i].name, &external));
    }
    assert_ok(cascade_engine_start(p->engine));
}

void
play_await(play *p, const cascade_uuid *id, cascade_status status)
{
    db_ends ends = {p->store, id, 1, 0};

    if (p->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(p->db, &p->engine, 1, db_all_ended, &ends));
    db_await(p->store, id, status);
}

void
play_run(play *p, test_db *db, cascade_mode mode, const char *node,
         const char *input, cascade_status status)
{
    play_open(p, db, mode);
    p->id = db_start_text(p->store, node, input != NULL ? input : "{}");
    play_await(p, &p->id, status);
}

void
play_begin(play *p, test_db *db, cascade_mode mode, const char *node)
{
    play_open(p, db, mode);
    p->id = db_start(p->store, node);
}

/* ---- While it plays ----------------------------------------------------- */

size_t
play_count(const play *p, const char *node, cascade_execution_status status)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t all = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t found = 0;

    for (size_t i = 0; i < all; i++)
        found += strcmp(play_execution(snapshot, i)->node_name, node) == 0 &&
                 play_execution(snapshot, i)->status == status;
    cascade_snapshot_free(snapshot);
    return found;
}

typedef struct sight {
    const play *p;
    const char *node;
    cascade_execution_status status;
    size_t count;
} sight;

static bool
is_seen(void *context)
{
    const sight *s = context;

    return play_count(s->p, s->node, s->status) >= s->count;
}

static bool
is_parked(void *context)
{
    const play *p = context;

    return db_stats(p->engine).parked > 0 && db_stats(p->engine).held == 0;
}

void
play_on(play *p, bool (*done)(void *context), void *context)
{
    if (p->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(p->db, &p->engine, 1, done, context));
    else
        assert_true(stores_until(done, context));
}

void
play_until(play *p, const char *node, cascade_execution_status status,
           size_t count)
{
    sight s = {p, node, status, count};

    play_on(p, is_seen, &s);
}

#define YEAR_MS (INT64_C(365) * 86400 * 1000)

static bool
is_left(void *context)
{
    const play *p = context;
    cascade_info *info = NULL;
    int64_t now_ms = 0;
    bool left = false;

    assert_ok(cascade_store_now(p->store, &now_ms));
    assert_ok(cascade_get(p->store, &p->id, &info));
    left = info->has_run && !info->owned && info->wake_at_ms > now_ms + YEAR_MS;
    cascade_info_free(info);
    return left;
}

void
play_until_left(play *p)
{
    play_on(p, is_left, p);
}

void
play_until_parked(play *p)
{
    play_on(p, is_parked, p);
}

/* ---- Looking ------------------------------------------------------------ */

cascade_uuid
play_find(const play *p, const char *node, cascade_status status)
{
    const cascade_list_options options = {
        .size = sizeof(options), .node = node, .status = status};
    cascade_page *page = NULL;
    cascade_uuid id;

    assert_ok(cascade_list(p->store, &options, &page));
    assert_int_equal(cascade_page_count(page), 1);
    id = cascade_page_get(page, 0)->id;
    cascade_page_free(page);
    return id;
}

cascade_snapshot *
play_snapshot(const play *p)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(p->store, &p->id, NULL, &snapshot));
    return snapshot;
}

const cascade_execution_info *
play_execution(const cascade_snapshot *snapshot, size_t index)
{
    const cascade_execution_info *info =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);

    assert_non_null(info);
    return info;
}

cJSON *
play_number(int n)
{
    cJSON *object = cJSON_CreateObject();

    assert_non_null(object);
    assert_non_null(cJSON_AddNumberToObject(object, "n", n));
    return object;
}

int
play_read_number(const cJSON *object)
{
    return (int)cJSON_GetNumberValue(
        cJSON_GetObjectItemCaseSensitive(object, "n"));
}

void
play_end(play *p)
{
    db_close_engine(p->db, p->engine);
    db_close_store(p->db, p->store);
}
