/* SPDX-License-Identifier: MIT
 *
 * The rows of the file store: plain arrays, each sorted by its key, and the
 * file that all of them are written to.
 *
 *   array        | rows                  | key
 *   -------------+-----------------------+-----------------------------
 *   CASCADES     | cascade_row           | id
 *   EXECUTIONS   | cascade_execution_row | cascade_id, function_id
 *   EVENTS       | cascade_event_row     | cascade_id, function_id, id
 *   RUNS         | cascade_run_row       | cascade_id
 *   MESSAGES     | cascade_message_row   | cascade_id, id
 *   ENGINES      | engine_row            | id
 *   LANES        | lane_row              | engine_id, lane
 *
 * The texts of rows are counted and never changed, so a copy of all arrays is
 * cheap: a move that writes works on a copy, and takes it in place of the
 * original once it is in the file.
 */
#ifndef STORE_FILE_TABLE_H
#define STORE_FILE_TABLE_H

#include <cascade/store.h>

enum {
    CASCADES,
    EXECUTIONS,
    EVENTS,
    RUNS,
    MESSAGES,
    ENGINES,
    LANES,
    TABLES
};

typedef struct engine_row {
    cascade_incarnation row;
    const char *boot; /* what its lease counts from */
    int64_t expires_ms;
} engine_row;

typedef struct lane_row {
    cascade_uuid engine_id;
    int64_t lane;
    int64_t number; /* of the last batch */
} lane_row;

typedef struct row_key {
    cascade_uuid id;
    int64_t first;
    int64_t second;
} row_key;

typedef struct table {
    char *rows;
    size_t count;
    size_t room;
} table;

typedef struct state {
    int64_t version; /* of the file; 0: there is none */
    int64_t event_id;
    int64_t message_id;
    table tables[TABLES];
    bool failed; /* out of memory: what is here is not to be used */
} state;

int compare_ids(const cascade_uuid *a, const cascade_uuid *b);
bool is_nil(const cascade_uuid *id);

/* The place of the first row whose key is not below; the count where all are.
 */
size_t state_place(const state *s, int which, row_key key);
void *state_row(const state *s, int which, size_t at);
/* The row with that key, or NULL. Valid until one is added or removed. */
void *state_find(const state *s, int which, row_key key);
/* Adds a copy of a row, texts included. */
void state_add(state *s, int which, const void *row);
void state_remove(state *s, int which, size_t at);
/* Those whose key begins with that id. */
void state_remove_all(state *s, int which, const cascade_uuid *id);
/* Puts a copy of `text` in the place of a text of a row. */
void state_set_text(state *s, const char **place, const char *text);

void state_copy(state *copy, const state *s);
void state_free(state *s);

/* Reads the file, where it has another version than `s`. */
cascade_err state_read(state *s, const char *path);
/* Writes the file as its next version, all or nothing: beside it, to the disk,
 * then in its place. CASCADE_ERR_UNAVAILABLE: the new one may be there. */
cascade_err state_write(state *s, const char *path);

#endif
