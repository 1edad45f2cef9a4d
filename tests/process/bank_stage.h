/* SPDX-License-Identifier: MIT
 *
 * What a director of the bank's tests has in hand: a place with the tables, and
 * how many transfers it has started there.
 */
#ifndef TESTS_PROCESS_BANK_STAGE_H
#define TESTS_PROCESS_BANK_STAGE_H

#include "process/bank.h"
#include "process/worker.h"

#define BANK_LIMIT_MS 60000 /* until a test gives up waiting */

typedef struct bank_stage {
    test_place place;
    cascade_store *store;
    size_t started;   /* transfers */
    bank_books books; /* as of the last look */
} bank_stage;

void bank_stage_open(bank_stage *s, place_kind kind);

void bank_stage_start(bank_stage *s, size_t transfers);

/* Looks at the books; fails the test where they do not balance. */
void bank_stage_check(bank_stage *s);

/* Waits until all cascades have completed: somebody runs them. */
void bank_stage_await(bank_stage *s);

/* All have, nobody runs: each transfer was made once, nothing is left over, and
 * what the library has written is sound. */
void bank_stage_close(bank_stage *s);

#endif
