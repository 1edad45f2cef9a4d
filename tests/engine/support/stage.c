/* SPDX-License-Identifier: MIT
 *
 * An engine with limits; see stage.h.
 */
#include "engine/support/stage.h"

#include <string.h>
#include <time.h>

static cascade_engine *
stage_engine(stage *s)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = s->mode,
                                      .worker_count = s->worker_count,
                                      .poll_interval_ms = 20,
                                      .park_after_ms = s->park_after_ms,
                                      .lease_ms = HOUR_MS * 5};
    cascade_engine *engine = db_engine(s->db, s->store, &options);

    for (size_t i = 0; i < NODES && s->nodes[i].name != NULL; i++) {
        s->nodes[i].options.size = sizeof(cascade_node_options);
        if (s->nodes[i].options.backoff_ms == 0)
            s->nodes[i].options.backoff_ms = 1;
        assert_ok(cascade_engine_register(
            engine, s->nodes[i].name, s->nodes[i].fn, s, &s->nodes[i].options));
    }
    return engine;
}

void
stage_start_engine(stage *s)
{
    s->engine = stage_engine(s);
    assert_ok(cascade_engine_start(s->engine));
}

void
stage_open(stage *s, test_db *db, cascade_mode mode)
{
    s->db = db;
    s->mode = mode;
    if (s->worker_count == 0)
        s->worker_count = 4;
    if (mode == CASCADE_MODE_INLINE)
        db->fake_time = db->backend->virtual_time;
    s->store = db_store(db);
    stage_start_engine(s);
}

void
stage_await(stage *s, cascade_status status)
{
    db_ends ends = {s->store, &s->id, 1, 0};

    if (s->mode != CASCADE_MODE_THREADS)
        assert_true(db_poll_until(s->db, &s->engine, 1, db_all_ended, &ends));
    db_await(s->store, &s->id, status);
}

void
stage_run(stage *s, const char *node, cascade_status status)
{
    s->id = db_start(s->store, node);
    stage_await(s, status);
}

cascade_snapshot *
stage_snapshot(const stage *s)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(s->store, &s->id, NULL, &snapshot));
    return snapshot;
}

const cascade_execution_info *
stage_execution(const cascade_snapshot *snapshot, size_t index)
{
    const cascade_execution_info *info =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);

    assert_non_null(info);
    return info;
}

void
stage_check(const stage *s, size_t index, int attempts, const char *text)
{
    cascade_snapshot *snapshot = stage_snapshot(s);
    const cascade_execution_info *info = stage_execution(snapshot, index);

    assert_int_equal(info->attempts, attempts);
    if (text == NULL)
        assert_null(info->error);
    else if (info->error == NULL || strstr(info->error, text) == NULL)
        fail_msg("the error is: %s", info->error);
    cascade_snapshot_free(snapshot);
}

void
stage_poll(const stage *s)
{
    for (int i = 0; i < 5; i++)
        assert_ok(cascade_engine_poll(s->engine, 0, NULL));
}

void
stage_end(stage *s)
{
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
}

void
stage_block(const atomic_bool *go)
{
    const struct timespec pause = {0, 1000000};

    for (int i = 0; i < DB_WAIT_MS && !atomic_load(go); i++)
        (void)nanosleep(&pause, NULL);
    expect(atomic_load(go));
}
