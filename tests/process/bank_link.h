/* SPDX-License-Identifier: MIT
 *
 * A connection to either database, as an application without the library has
 * it: SQL as texts, numbers as results.
 */
#ifndef TESTS_PROCESS_BANK_LINK_H
#define TESTS_PROCESS_BANK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "process/place.h"

typedef struct bank_link {
    place_kind kind;
    const char *schema; /* "": the default */
    void *handle;       /* sqlite3 * or PGconn * */
    bool conflict;      /* the last statement failed by what another does */
    char error[160];    /* of the last that failed */
} bank_link;

/* False with `error`. It is to be closed all the same. */
bool bank_link_open(bank_link *link, const test_place *place);
void bank_link_close(bank_link *link);

/* That of a transactional node. */
cascade_err bank_link_take(bank_link *link, const test_place *place,
                           cascade_node *node);

/* Runs one statement; "{}" in it stands for the schema and its dot. False with
 * `error`. Up to `count` columns of the first row, 0 where there is none. */
bool bank_link_run(bank_link *link, const char *sql, int64_t *values,
                   int count);

#endif
