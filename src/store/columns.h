/* SPDX-License-Identifier: MIT
 *
 * The columns of the tables, once. What is read into a struct, is written of
 * one, is copied, is in a document, or is looked for in a schema goes down
 * these lists. A column that comes to a table comes here, to its SQL, and
 * where a migration adds it to sqlite/schema.c, with its number.
 *
 *   kind               in the struct            PostgreSQL    SQLite
 *   UUID               cascade_uuid             uuid          36 characters
 *   STATUS             cascade_status           its enum      its word
 *   EXECUTION_STATUS   cascade_execution_status its enum      its word
 *   I32                int32_t                  int4          integer
 *   I64                int64_t                  int8          integer
 *   SERIAL             int64_t                  int4 or int8  integer
 *   TEXT               const char *             text          text
 *   JSON               const char *             jsonb         text
 *   PAYLOAD            const char *             jsonb         text: of a table
 *                      that no other program makes
 *   TIME               int64_t, milliseconds    timestamp     text
 *   TIME_US            int64_t, microseconds    timestamp     text
 *
 * NULL, where a column may be, is in the struct:
 *
 *   UUID               all zero
 *   I64 TIME           CASCADE_TIME_NONE
 *   TEXT JSON          NULL
 */
#ifndef CSC_STORE_COLUMNS_H
#define CSC_STORE_COLUMNS_H

#include <stddef.h>

typedef enum csc_column_kind {
    CSC_COLUMN_UUID,
    CSC_COLUMN_STATUS,
    CSC_COLUMN_EXECUTION_STATUS,
    CSC_COLUMN_I32,
    CSC_COLUMN_I64,
    CSC_COLUMN_SERIAL,
    CSC_COLUMN_TEXT,
    CSC_COLUMN_JSON,
    CSC_COLUMN_PAYLOAD,
    CSC_COLUMN_TIME,
    CSC_COLUMN_TIME_US
} csc_column_kind;

#define CSC_COLUMN_NULL 1u   /* may be NULL */
#define CSC_COLUMN_GIVEN 2u  /* by the store: no insert has it */
#define CSC_COLUMN_OWNER 4u  /* the cascade that the row is of */
#define CSC_COLUMN_COUNT 8u  /* of a number: not negative */
#define CSC_COLUMN_UTF8 16u  /* it becomes a member of JSON objects */
#define CSC_COLUMN_LOCAL 32u /* not in a document */
#define CSC_COLUMN_LATER 64u /* a migration adds it to an earlier table */

typedef struct csc_column {
    const char *name;
    csc_column_kind kind;
    unsigned rules; /* CSC_COLUMN_* */
    size_t at;      /* in the struct */
} csc_column;

/* Its columns are in the order in which statements select and insert them,
 * which is that of the struct. */
typedef struct csc_table {
    const char *name;
    const csc_column *columns;
    size_t count;
    size_t row_size; /* of the struct; 0: there is none */
} csc_table;

#define CSC_COLUMNS_MAX 12

extern const csc_table csc_table_cascades;    /* cascade_row */
extern const csc_table csc_table_executions;  /* cascade_execution_row */
extern const csc_table csc_table_events;      /* cascade_event_row */
extern const csc_table csc_table_runs;        /* cascade_run_row */
extern const csc_table csc_table_messages;    /* cascade_message_row */
extern const csc_table csc_table_seals;       /* cascade_seal_row */
extern const csc_table csc_table_queue_list;  /* cascade_queue_row: counted */
extern const csc_table csc_table_limits_list; /* cascade_limits_row */
extern const csc_table csc_table_slot_list;   /* cascade_slot_row */

/* All that a schema has to have, in every store; cascade_engines is each
 * store's own. Those that no struct is read from have no `at`. */
extern const csc_table *const csc_tables[];
extern const size_t csc_table_count;

/* NULL when the table has no such column. */
const csc_column *csc_column_find(const csc_table *table, const char *name,
                                  int (*compare)(const char *, const char *));
/* A block of `size` bytes, zero but for the row at `at`, whose texts are behind
 * them. To be freed as one; NULL when memory is out. */
void *csc_table_copy(const csc_table *table, const void *row, size_t size,
                     size_t at);

#endif
