/* SPDX-License-Identifier: MIT
 *
 * Pictures of a cascade as text, for comparing field by field: two states or
 * two sets of rows are equal exactly when their texts are. One line a fact, so
 * that a difference can be read.
 *
 *   dump_state()   everything of a csc_state but what is not in the rows by
 *                  design: `dispatched` (shown as runnable, like queued), empty
 *                  slots, and room of arrays
 *   dump_rows      the rows of one cascade, as written by changes one after
 *                  another, or as read from a store; every column
 */
#ifndef TESTS_SUPPORT_DUMP_H
#define TESTS_SUPPORT_DUMP_H

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "cascade/store.h"
#include "state/state.h"

void dump_state(csc_buf *out, const csc_state *state);

typedef struct dump_message {
    cascade_message_row row;
    bool repeated;
} dump_message;

typedef struct dump_rows {
    csc_arena arena; /* of all texts */
    cascade_row cascade;
    bool found;
    cascade_execution_row *executions; /* by function_id */
    size_t execution_count;
    size_t execution_room;
    cascade_event_row *events; /* by function_id, then as they came */
    size_t event_count;
    size_t event_room;
    dump_message *messages; /* in their order: the first
                               CASCADE_LOAD_MESSAGES_MAX */
    size_t message_count;
    size_t message_room;
} dump_rows;

void dump_rows_fini(dump_rows *rows);
/* Writes what a commit of `change` writes. */
void dump_rows_apply(dump_rows *rows, const cascade_change *change);
/* Replaces all by what the store holds. */
cascade_err dump_rows_load(dump_rows *rows, const cascade_store_driver *driver,
                           void *self, const cascade_uuid *id);
void dump_rows_text(csc_buf *out, const dump_rows *rows);
/* What hydration makes of them; `state` is to be initialised here. */
cascade_err dump_rows_hydrate(const dump_rows *rows, csc_state *state);

/* Where two texts differ first: the lines, on stderr. */
void dump_differ(const char *what, const char *left, const char *right);

#endif
