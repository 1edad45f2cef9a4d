/* SPDX-License-Identifier: MIT
 *
 * A bank in the application's own tables, in the database of the store:
 *
 *   bank_accounts   id, balance                  BANK_ACCOUNTS of BANK_EACH
 *   bank_moves      cascade, payer, payee, amount, notices
 *                                                a row for each that was made;
 *                                                cascade is NULL where somebody
 *                                                else made it than a cascade
 *
 * A transfer is a cascade whose first node, "transfer", is transactional: it
 * moves the money, writes the row, puts a value, spawns the node "receipt", and
 * with `notices` starts a cascade of the node "notice". No constraint keeps any
 * of it from being there twice. So, whoever is killed, in every look at the
 * database, at any time (G11):
 *
 *   the accounts hold together what they held at first
 *   each holds what the rows make of it
 *   there is one row, one receipt, and as many notices as the row says, for
 *   each execution of "transfer" that is recorded as COMPLETED, and no others
 *
 * which is what bank_look() looks at, by one statement.
 */
#ifndef TESTS_PROCESS_BANK_H
#define TESTS_PROCESS_BANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "process/worker.h"

#define BANK_ACCOUNTS 8
#define BANK_EACH 1000

/* Makes the tables; the store's are there. */
void bank_create(const test_place *place);

/* Starts so many transfers by chance, in one commit. */
void bank_start(cascade_store *store, size_t count);

/* What is wrong in the books; all 0 where nothing is. */
typedef struct bank_books {
    int64_t lost;     /* of the sum of all accounts */
    int64_t accounts; /* whose balance is not what the rows make of it */
    int64_t twice;    /* transfers with several rows */
    int64_t unmade;   /* recorded as done, without a row */
    int64_t unknown;  /* with a row, not recorded as done */
    int64_t receipts; /* more than there should be, or less */
    int64_t notices;  /* the same */
    /* No faults: */
    int64_t made;    /* transfers */
    int64_t outside; /* moves of others */
    int64_t open;    /* cascades that have not completed */
} bank_books;

void bank_look(const test_place *place, bank_books *books);
bool bank_balances(const bank_books *books);
void bank_print(const bank_books *books);

/* ---- In the worker ------------------------------------------------------- */

/* Registers the nodes. What they do is in shared->options.bank. */
cascade_err bank_register(cascade_engine *engine, worker_shared *shared);

/* Moves money by itself, without the library, until *ended; false where it
 * could not. */
bool bank_be_outside(worker_shared *shared, const _Atomic bool *ended);

/* The worker process of these tests: an engine with the nodes, or, as an
 * `outsider`, somebody who moves money. */
int bank_worker(const char *path);

#endif
