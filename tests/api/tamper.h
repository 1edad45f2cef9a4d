/* SPDX-License-Identifier: MIT
 *
 * Rows changed past the library, in the same way on every store: by SQL where
 * there is any, else by the records of the memory store, which is what its
 * database is.
 *
 *     tamper_open(&t, db, store);            keeps what there is
 *     tamper_edit(&t, &row, "status", "ERROR");
 *     ...                                    judged
 *     tamper_mend(&t);                       as it was kept
 *
 * Nothing else may use the store between the first and the last of these.
 */
#ifndef TESTS_API_TAMPER_H
#define TESTS_API_TAMPER_H

#include "support/stores.h"

typedef enum tamper_table {
    TAMPER_CASCADES,
    TAMPER_EXECUTIONS, /* by function_id */
    TAMPER_EVENTS,     /* of a function_id, the first */
    TAMPER_RUNS,
    TAMPER_MESSAGES, /* the first of a cascade */
    TAMPER_TABLES
} tamper_table;

typedef struct tamper_row {
    tamper_table table;
    const char *user; /* whose cascade it is; each has one */
    int32_t function_id;
} tamper_row;

/* What a record of the memory store was. */
typedef struct tamper_piece {
    void *at;
    size_t size;
    unsigned char was[512];
} tamper_piece;

#define TAMPER_PIECES 4

typedef struct tamper {
    test_db *db;
    cascade_store *store;
    tamper_piece pieces[TAMPER_PIECES];
    size_t piece_count;
    void *made[2]; /* freed by tamper_mend() */
    size_t made_count;
} tamper;

const char *tamper_table_name(tamper_table table);

void tamper_open(tamper *t, test_db *db, cascade_store *store);
/* `value` as a text of the column; NULL for NULL. */
void tamper_edit(tamper *t, const tamper_row *row, const char *column,
                 const char *value);
void tamper_delete(tamper *t, const tamper_row *row);
/* Adds a copy of an execution or an event under another function_id, with an
 * id and a path of its own. */
void tamper_copy(tamper *t, const tamper_row *row, int32_t function_id);
/* Exchanges a column of two rows of one cascade. */
void tamper_swap(tamper *t, const tamper_row *one, const tamper_row *other,
                 const char *column);
void tamper_mend(tamper *t);
void tamper_close(tamper *t);

#endif
