/* SPDX-License-Identifier: MIT
 *
 * Builders of rows; see rows.h.
 */
#include "support/rows.h"
#include "base/clock.h"
#include "base/data/arena.h"
#include "base/uuid.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/must.h"
#include "support/splitmix.h"

uint64_t
rows_seed(void)
{
    static uint64_t seed;
    const char *given = getenv("CASCADE_TEST_SEED");

    if (seed != 0)
        return seed;
    if (given != NULL) {
        seed = strtoull(given, NULL, 10);
    } else {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 20) ^
               ((uint64_t)getpid() << 40);
    }
    seed = seed == 0 ? 1 : seed;
    printf("CASCADE_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}

void
rows_init(test_rows *rows, uint64_t seed, int64_t now_ms)
{
    csc_arena_init(&rows->arena);
    rows->random = seed == 0 ? 1 : seed;
    rows->now_ms = now_ms;
}

void
rows_clear(test_rows *rows)
{
    csc_arena_clear(&rows->arena);
}

void
rows_fini(test_rows *rows)
{
    csc_arena_fini(&rows->arena);
}

uint64_t
rows_random(test_rows *rows)
{
    return splitmix_next(&rows->random);
}

size_t
rows_below(test_rows *rows, size_t below)
{
    return (size_t)(rows_random(rows) % below);
}

cascade_uuid
rows_id(test_rows *rows)
{
    cascade_uuid id;
    uint64_t halves[2] = {rows_random(rows), rows_random(rows)};

    memcpy(id.bytes, halves, sizeof(id.bytes));
    id.bytes[6] = (unsigned char)((id.bytes[6] & 0x0f) | 0x40);
    id.bytes[8] = (unsigned char)((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

char *
rows_text(test_rows *rows, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return must(csc_arena_strdup(&rows->arena, text));
}

cascade_change *
rows_write(test_rows *rows, cascade_uuid id, int32_t fn_id)
{
    cascade_change *change =
        must(csc_arena_alloc(&rows->arena, 1, sizeof(*change)));

    change->cascade = (cascade_row){.id = id,
                                    .status = CASCADE_RUNNING,
                                    .fn_id = fn_id,
                                    .user_id = "user",
                                    .created_at_ms = rows->now_ms,
                                    .updated_at_ms = rows->now_ms};
    change->run.cascade_id = id;
    change->run.queue = "default";
    return change;
}

cascade_change *
rows_start(test_rows *rows, cascade_uuid id)
{
    cascade_change *change = rows_write(rows, id, 0);

    change->run_action = CASCADE_RUN_START;
    change->run.wake_at_ms = rows->now_ms;
    rows_insert(rows, change, 0, "first");
    return change;
}

cascade_change *
rows_start_owned(test_rows *rows, cascade_uuid id, cascade_uuid engine_id)
{
    cascade_change *change = rows_start(rows, id);

    change->run.engine_id = engine_id;
    change->run.claim_no = 1;
    return change;
}

/* A copy of `items` with room for one more: it moves when `count` is zero or a
 * power of two, so adding one by one stays linear. */
static void *
with_room(test_rows *rows, const void *items, size_t count, size_t size)
{
    void *bigger;

    if (count != 0 && (count & (count - 1)) != 0)
        return (void *)(uintptr_t)items;
    bigger =
        must(csc_arena_alloc(&rows->arena, count == 0 ? 1 : count * 2, size));
    if (count > 0)
        memcpy(bigger, items, count * size);
    return bigger;
}

cascade_execution_row *
rows_insert(test_rows *rows, cascade_change *change, int32_t function_id,
            const char *node)
{
    cascade_execution_row *items =
        with_room(rows, change->inserts, change->insert_count, sizeof(*items));
    cascade_execution_row *row = &items[change->insert_count++];
    char id[CASCADE_UUID_TEXT_SIZE];

    change->inserts = items;
    cascade_uuid_format(&change->cascade.id, id);
    *row = (cascade_execution_row){
        .id = rows_id(rows),
        .cascade_id = change->cascade.id,
        .function_id = function_id,
        .status = CASCADE_EXECUTION_RUNNING,
        .node_instance_id =
            rows_text(rows, "%s/-/%s#%d", id, node, (int)function_id),
        .node_name = must(csc_arena_strdup(&rows->arena, node)),
        .input = "{}",
        .location = "server",
        .started_at_ms = rows->now_ms,
        .completed_at_ms = CASCADE_TIME_NONE};
    return row;
}

cascade_execution_row *
rows_update(test_rows *rows, cascade_change *change, int32_t function_id,
            const char *full_output)
{
    cascade_execution_row *items =
        with_room(rows, change->updates, change->update_count, sizeof(*items));
    cascade_execution_row *row = &items[change->update_count++];

    change->updates = items;
    *row = (cascade_execution_row){.cascade_id = change->cascade.id,
                                   .function_id = function_id,
                                   .status = CASCADE_EXECUTION_COMPLETED,
                                   .full_output = full_output,
                                   .completed_at_ms = rows->now_ms};
    return row;
}

cascade_event_row *
rows_event(test_rows *rows, cascade_change *change, int32_t function_id,
           const char *key, const char *value)
{
    cascade_event_row *items =
        with_room(rows, change->events, change->event_count, sizeof(*items));
    cascade_event_row *row = &items[change->event_count++];

    change->events = items;
    *row =
        (cascade_event_row){.cascade_id = change->cascade.id,
                            .function_id = function_id,
                            .key = key,
                            .value = value,
                            .created_at_us = csc_clock_ms_to_us(rows->now_ms)};
    return row;
}

cascade_message_row *
rows_message(test_rows *rows, cascade_uuid to, const char *path)
{
    cascade_message_row *row =
        must(csc_arena_alloc(&rows->arena, 1, sizeof(*row)));

    *row = (cascade_message_row){.cascade_id = to,
                                 .kind = "signal",
                                 .name = "go",
                                 .path = path,
                                 .payload = "{}",
                                 .sent_at_ms = rows->now_ms};
    return row;
}

void
rows_send(test_rows *rows, cascade_change *change,
          const cascade_message_row *message)
{
    cascade_message_row *items =
        with_room(rows, change->sends, change->send_count, sizeof(*items));

    items[change->send_count++] = *message;
    change->sends = items;
}

void
rows_receive(test_rows *rows, cascade_change *change, int64_t id)
{
    int64_t *items = with_room(rows, change->received, change->received_count,
                               sizeof(*items));

    items[change->received_count++] = id;
    change->received = items;
}

static int
compare_changes(const void *a, const void *b)
{
    const cascade_change *left = a;
    const cascade_change *right = b;

    return csc_uuid_compare(&left->cascade.id, &right->cascade.id);
}

cascade_change *
rows_changes(test_rows *rows, cascade_change **changes, size_t count)
{
    cascade_change *sorted = must(
        csc_arena_alloc(&rows->arena, count == 0 ? 1 : count, sizeof(*sorted)));

    for (size_t i = 0; i < count; i++)
        sorted[i] = *changes[i];
    qsort(sorted, count, sizeof(sorted[0]), compare_changes);
    return sorted;
}

cascade_incarnation
rows_incarnation(test_rows *rows, uint32_t lane_count, int64_t lease_ms)
{
    return (cascade_incarnation){.engine_id = rows_id(rows),
                                 .host = "host/boot/1",
                                 .pid = 4711,
                                 .process_start = 815,
                                 .lease_ms = lease_ms,
                                 .lane_count = lane_count};
}

cascade_err
rows_submit(const cascade_store_driver *driver, void *self,
            const cascade_change *starts, size_t count, bool *existed)
{
    cascade_submission submission = {
        .starts = starts, .start_count = count, .existed = existed};

    return driver->submit(self, &submission);
}
