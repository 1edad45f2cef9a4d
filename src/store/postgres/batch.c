/* SPDX-License-Identifier: MIT
 *
 * The rows of a batch, gathered by what is done with them, so that each kind is
 * one statement whatever the number of cascades:
 *
 *   change of a start    start_cascades, _runs, _executions, _events, _keys,
 *                        and links of one that continues others
 *   change of an owner   cascades, inserts, updates, events,
 *                        and one of resets, frees, revives, ends; or deletes
 *                        alone
 *   both                 received, sends
 *
 * Changes come sorted by cascade, so every set but the last two and the links
 * is: rows are locked in one order by all batches. Those are sorted by the
 * statements.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

#define ROW_SETS 20
#define KEPT_BYTES_MAX ((size_t)1 << 20)

/* One that comes as it ended has no run. */
static void
add_start_run(csc_postgres_rows *rows, const cascade_change *change)
{
    cascade_run_row run = change->run;

    if (change->cascade.status != CASCADE_RUNNING)
        return;
    run.cascade_id = change->cascade.id;
    csc_postgres_rows_add(rows, &csc_table_runs, &run);
}

/* What makes a statement of its own necessary is counted. */
static void
add_start_key(csc_postgres_batch *batch, const cascade_change *change)
{
    csc_postgres_rows *rows = &batch->start_keys;

    csc_postgres_rows_text(rows, 0, change->key);
    csc_postgres_rows_i32(rows, 1, change->run_number);
    rows->count++;
    batch->keyed += change->key != NULL;
}

/* A row that names another cascade than its change goes without its path (an
 * event without its key), which the server refuses: behind the fence, where
 * refusing belongs. */
static void
add_execution(csc_postgres_rows *rows, const cascade_uuid *cascade_id,
              const cascade_execution_row *given)
{
    cascade_execution_row row = *given;

    if (!csc_uuid_equal(&row.cascade_id, cascade_id))
        row.node_instance_id = NULL;
    row.cascade_id = *cascade_id;
    csc_postgres_rows_add(rows, &csc_table_executions, &row);
}

static void
add_update(csc_postgres_rows *rows, const cascade_uuid *cascade_id,
           const cascade_execution_row *row)
{
    csc_postgres_rows_uuid(rows, 0, cascade_id);
    csc_postgres_rows_i32(rows, 1, row->function_id);
    csc_postgres_rows_text(rows, 2, csc_status_execution_word(row->status));
    csc_postgres_rows_text(rows, 3, row->full_output);
    csc_postgres_rows_text(rows, 4, row->error);
    csc_postgres_rows_time(rows, 5, row->completed_at_ms);
    rows->count++;
}

static void
add_event(csc_postgres_rows *rows, const cascade_uuid *cascade_id,
          const cascade_event_row *given)
{
    cascade_event_row row = *given;

    if (!csc_uuid_equal(&row.cascade_id, cascade_id))
        row.key = NULL;
    row.cascade_id = *cascade_id;
    csc_postgres_rows_add(rows, &csc_table_events, &row);
}

static void
add_cascade(csc_postgres_rows *rows, const cascade_row *row)
{
    csc_postgres_rows_uuid(rows, 0, &row->id);
    csc_postgres_rows_text(rows, 1, csc_status_word(row->status));
    csc_postgres_rows_i32(rows, 2, row->fn_id);
    csc_postgres_rows_time(rows, 3, row->updated_at_ms);
    rows->count++;
}

static void
add_id(csc_postgres_rows *rows, const cascade_uuid *id)
{
    csc_postgres_rows_uuid(rows, 0, id);
    rows->count++;
}

static void
add_free(csc_postgres_rows *rows, const cascade_change *change)
{
    csc_postgres_rows_uuid(rows, 0, &change->cascade.id);
    csc_postgres_rows_i64(rows, 1, change->run.wake_at_ms);
    csc_postgres_rows_text(rows, 2, change->run.needs);
    rows->count++;
}

static void
add_revive(csc_postgres_rows *rows, const cascade_change *change)
{
    csc_postgres_rows_uuid(rows, 0, &change->cascade.id);
    csc_postgres_rows_text(rows, 1, change->run.queue);
    csc_postgres_rows_i32(rows, 2, change->run.priority);
    csc_postgres_rows_text(rows, 3, change->run.limit_key);
    rows->count++;
}

static void
add_seal(csc_postgres_rows *rows, const cascade_change *change)
{
    cascade_seal_row seal;

    if (change->seal == NULL)
        return;
    seal = *change->seal;
    seal.cascade_id = change->cascade.id;
    csc_postgres_rows_add(rows, &csc_table_seals, &seal);
}

const cascade_uuid *
csc_postgres_batch_first_id(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++) {
        if (change->inserts[i].function_id == 0)
            return &change->inserts[i].id;
    }
    return NULL;
}

static void
add_messages(csc_postgres_batch *batch, const cascade_change *change)
{
    const cascade_uuid *first = change->run_action == CASCADE_RUN_START
                                    ? csc_postgres_batch_first_id(change)
                                    : NULL;

    for (size_t i = 0; i < change->received_count; i++) {
        csc_postgres_rows_i64(&batch->received, 0, change->received[i]);
        csc_postgres_rows_uuid(&batch->received, 1, &change->cascade.id);
        batch->received.count++;
    }
    for (size_t i = 0; i < change->send_count; i++) {
        csc_postgres_rows_add(&batch->sends, &csc_table_messages,
                              &change->sends[i]);
        csc_postgres_rows_uuid(&batch->sends, 7, first);
    }
}

static void
add_run(csc_postgres_batch *batch, const cascade_change *change)
{
    switch (change->run_action) {
    case CASCADE_RUN_KEEP:
    case CASCADE_RUN_START:
    case CASCADE_RUN_DELETE:
        return;
    case CASCADE_RUN_RESET:
        add_id(&batch->resets, &change->cascade.id);
        return;
    case CASCADE_RUN_FREE:
        add_free(&batch->frees, change);
        return;
    case CASCADE_RUN_REVIVE:
        add_revive(&batch->revives, change);
        return;
    case CASCADE_RUN_END:
        add_id(&batch->ends, &change->cascade.id);
        return;
    }
}

static void
add_change(csc_postgres_batch *batch, const cascade_change *change)
{
    bool start = change->run_action == CASCADE_RUN_START;
    csc_postgres_rows *executions =
        start ? &batch->start_executions : &batch->inserts;
    const cascade_uuid *id = &change->cascade.id;
    csc_postgres_rows *events = start ? &batch->start_events : &batch->events;

    if (change->run_action == CASCADE_RUN_DELETE) {
        add_id(&batch->deletes, id);
        return;
    }
    if (start) {
        add_start_key(batch, change);
        csc_postgres_rows_add(&batch->start_cascades, &csc_table_cascades,
                              &change->cascade);
        add_start_run(&batch->start_runs, change);
        if (change->root != NULL)
            csc_postgres_links_add(&batch->links, change->root, id,
                                   change->run_number,
                                   csc_postgres_batch_first_id(change));
    } else {
        add_cascade(&batch->cascades, &change->cascade);
    }
    for (size_t i = 0; i < change->insert_count; i++)
        add_execution(executions, id, &change->inserts[i]);
    for (size_t i = 0; i < change->update_count && !start; i++)
        add_update(&batch->updates, id, &change->updates[i]);
    for (size_t i = 0; i < change->event_count; i++)
        add_event(events, id, &change->events[i]);
    add_messages(batch, change);
    add_seal(start ? &batch->start_seals : &batch->seals, change);
    add_run(batch, change);
}

/* The sets of a batch, to go over all of them. */
static size_t
all_rows(csc_postgres_batch *batch, csc_postgres_rows *rows[ROW_SETS])
{
    csc_postgres_rows *all[ROW_SETS] = {
        &batch->start_cascades, &batch->start_runs, &batch->start_executions,
        &batch->start_events,   &batch->inserts,    &batch->updates,
        &batch->events,         &batch->cascades,   &batch->resets,
        &batch->frees,          &batch->ends,       &batch->start_keys,
        &batch->received,       &batch->sends,      &batch->submitted,
        &batch->deletes,        &batch->revives,    &batch->links,
        &batch->seals,          &batch->start_seals};

    memcpy(rows, all, sizeof(all));
    return ROW_SETS;
}

static void
start_rows(csc_postgres_batch *batch)
{
    csc_postgres_rows_start_table(&batch->start_cascades, &csc_table_cascades,
                                  "");
    csc_postgres_rows_start_table(&batch->start_runs, &csc_table_runs, "");
    csc_postgres_rows_start_table(&batch->start_executions,
                                  &csc_table_executions, "");
    csc_postgres_rows_start_table(&batch->start_events, &csc_table_events, "");
    csc_postgres_rows_start_table(&batch->inserts, &csc_table_executions, "");
    csc_postgres_rows_start(&batch->updates, "uissst");
    csc_postgres_rows_start_table(&batch->events, &csc_table_events, "");
    csc_postgres_rows_start(&batch->cascades, "usit");
    csc_postgres_rows_start(&batch->resets, "u");
    csc_postgres_rows_start(&batch->frees, "uls");
    csc_postgres_rows_start(&batch->revives, "usis");
    csc_postgres_rows_start(&batch->ends, "u");
    csc_postgres_rows_start(&batch->start_keys, "si");
    csc_postgres_rows_start(&batch->received, "lu");
    csc_postgres_rows_start_table(&batch->sends, &csc_table_messages, "u");
    csc_postgres_rows_start_table(&batch->submitted, &csc_table_messages, "");
    csc_postgres_rows_start(&batch->deletes, "u");
    csc_postgres_rows_start(&batch->links, CSC_POSTGRES_LINK_TYPES);
    csc_postgres_rows_start_table(&batch->seals, &csc_table_seals, "");
    csc_postgres_rows_start_table(&batch->start_seals, &csc_table_seals, "");
    batch->keyed = 0;
}

cascade_err
csc_postgres_batch_fill(csc_postgres_batch **batch,
                        const cascade_change *changes, size_t count,
                        const cascade_message_row *messages,
                        size_t message_count)
{
    csc_postgres_rows *rows[ROW_SETS];
    size_t row_sets;

    if (*batch == NULL)
        *batch = csc_mem_zalloc(1, sizeof(**batch));
    if (*batch == NULL)
        return csc_fail_memory();
    start_rows(*batch);
    for (size_t i = 0; i < count; i++)
        add_change(*batch, &changes[i]);
    for (size_t i = 0; i < message_count; i++)
        csc_postgres_rows_add(&(*batch)->submitted, &csc_table_messages,
                              &messages[i]);
    row_sets = all_rows(*batch, rows);
    for (size_t i = 0; i < row_sets; i++) {
        if (!csc_postgres_rows_good(rows[i]))
            return csc_fail_memory();
    }
    return CASCADE_OK;
}

void
csc_postgres_batch_trim(csc_postgres_batch **batch)
{
    csc_postgres_rows *rows[ROW_SETS];
    size_t row_sets;
    size_t bytes = 0;

    if (*batch == NULL)
        return;
    row_sets = all_rows(*batch, rows);
    for (size_t i = 0; i < row_sets; i++) {
        for (size_t k = 0; k < rows[i]->column_count; k++)
            bytes += rows[i]->columns[k].bytes.room;
    }
    if (bytes <= KEPT_BYTES_MAX)
        return;
    csc_postgres_batch_free(*batch);
    *batch = NULL;
}

void
csc_postgres_batch_free(csc_postgres_batch *batch)
{
    csc_postgres_rows *rows[ROW_SETS];
    size_t row_sets;

    if (batch == NULL)
        return;
    row_sets = all_rows(batch, rows);
    for (size_t i = 0; i < row_sets; i++)
        csc_postgres_rows_fini(rows[i]);
    csc_mem_free(batch);
}
