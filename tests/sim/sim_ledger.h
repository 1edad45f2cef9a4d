/* SPDX-License-Identifier: MIT
 *
 * The application's data that transactional nodes write: accounts, and a book
 * of the transfers between them, both of the whole world. sim_ledger.c tells
 * how it is one transaction with the store.
 */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/store.h"
#include "support/wrap_store.h"

#define SIM_TRANSFER_NODE "t.move" /* each of its executions is a transfer */
#define SIM_ACCOUNTS 6
#define SIM_LEGS_MAX 2
#define SIM_UNDECIDED_MAX 32 /* of one process, the last ones */

struct sim;
struct sim_process;

typedef struct sim_leg {
    unsigned account;
    int amount;
} sim_leg;

/* An open transaction: what it has written, kept aside. */
typedef struct sim_transaction {
    char *path; /* of the execution that wrote; NULL: nothing yet */
    sim_leg legs[SIM_LEGS_MAX];
    size_t leg_count;
    int64_t begun_ms;
    int64_t limit_ms;
    bool ended;  /* by the function */
    bool broken; /* what it wrote cannot be committed */
} sim_transaction;

/* A transfer that was committed. */
typedef struct sim_transfer {
    char *path;
    cascade_uuid cascade_id;
    bool recorded; /* found while the book is checked */
} sim_transfer;

typedef struct sim_ledger {
    int balances[SIM_ACCOUNTS];
    sim_transfer *transfers;
    size_t count;
    size_t room;
} sim_ledger;

/* A finish whose outcome the engine does not know, until it was settled. */
typedef struct sim_undecided {
    cascade_uuid engine_id;
    cascade_uuid cascade_id;
    uint32_t lane;
    bool open;
} sim_undecided;

/* A finish that the engine was told is in doubt, and which has not come to the
 * store yet. What the batch points at is the lane's until it is decided. */
typedef struct sim_late {
    sim_transaction *transaction; /* NULL: none */
    cascade_batch batch;
    bool *existed;
} sim_late;

typedef struct sim_doubts {
    sim_undecided undecided[SIM_UNDECIDED_MAX];
    size_t next;
    bool comes_late;  /* the next finish does */
    int64_t takes_ms; /* or is that long on its way to the store */
    sim_late late;
} sim_doubts;

void sim_ledger_init(sim_ledger *ledger);
void sim_ledger_fini(sim_ledger *ledger);
/* Of a process, which is the context of these. */
extern const wrap_natives sim_ledger_natives;
void sim_ledger_forget(struct sim_process *p);

/* ---- For functions of nodes --------------------------------------------- */

/* The transaction that it runs in. */
sim_transaction *sim_ledger_of(const cascade_node *node);
/* Writes one leg of the transfer that the execution is. */
void sim_ledger_write(const cascade_node *node, unsigned account, int amount);
/* Ends it, which a function must not. */
void sim_ledger_end(const cascade_node *node);
/* As a deferred constraint that does not hold. */
void sim_ledger_break(const cascade_node *node);

/* ---- Looking ------------------------------------------------------------ */

/* Before a call: no commit carries a cascade with a transaction undecided. */
void sim_ledger_check_call(struct sim_process *p, const wrap_call *call);
/* The cascade that a settle is about, while that is undecided, or NULL. */
const cascade_uuid *sim_ledger_doubt(const struct sim_process *p,
                                     const wrap_call *call);
/* What the engine was told: wrap_store.answered. */
void sim_ledger_answered(void *context, const wrap_call *call,
                         cascade_err answer);
/* A process dies or leaves: whether one of its transactions is undecided. */
bool sim_ledger_in_doubt(const struct sim_process *p);
/* The book against the rows: what is recorded as completed is in it once, and
 * nothing else is; and no money was made. */
void sim_ledger_check(struct sim *s);

#endif
