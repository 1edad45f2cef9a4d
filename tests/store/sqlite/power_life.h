/* SPDX-License-Identifier: MIT
 *
 * One life of a program on a SQLite file, for tests that end it anywhere: it
 * opens the database, starts cascades, runs them in the mode INLINE, closes.
 * All is determined by the plan: no thread, no real time, no real randomness.
 *
 * Meanwhile it keeps a ledger of what the library has acknowledged, and at
 * which operation of the disk. A call that came back counts, and so does a node
 * that was entered: what spawned it must be recorded by then.
 *
 *     "begin"   puts a value, takes the step "pay", spawns two "middle" and,
 *               after both, "last"
 *     "middle"  fails the first time; puts a value
 *     "last"    gives the output
 */
#ifndef TESTS_STORE_SQLITE_POWER_LIFE_H
#define TESTS_STORE_SQLITE_POWER_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "support/fake_clock.h"
#include "support/oracle.h"

#define LIFE_ACKS 1024
#define LIFE_REQUEST_SIZE 128
#define LIFE_TRIO 3 /* cascades that are started in one call */

typedef enum life_fact {
    LIFE_OPENED,  /* the schema is there */
    LIFE_STARTED, /* the cascade is there */
    LIFE_ENTERED, /* its execution `function_id` is there */
    LIFE_CALLED,  /* a step's function was entered: nothing is there of it */
    LIFE_DONE,    /* its execution `function_id` is COMPLETED */
    LIFE_PAID,    /* its step "pay" is COMPLETED */
    LIFE_ENDED    /* it is COMPLETED, and so are all its executions */
} life_fact;

typedef struct life_ack {
    life_fact fact;
    size_t at; /* operations of the disk there were */
    cascade_uuid id;
    int32_t function_id;
    int attempt;    /* ENTERED, CALLED */
    int64_t now_ms; /* ENTERED, CALLED */
    char request_id[LIFE_REQUEST_SIZE];
} life_ack;

typedef struct life_ledger {
    life_ack acks[LIFE_ACKS];
    size_t count;
} life_ledger;

typedef struct life_plan {
    const char *name;
    size_t rounds;        /* of two cascades each, one after the other */
    bool trio;            /* then three more in one call */
    int checkpoint_pages; /* 0: the library's */
    bool relaxed;         /* durability */
    size_t value_len;     /* of each put, roughly */
} life_plan;

typedef struct life {
    char url[320];
    const life_plan *plan;
    life_ledger *ledger; /* what is acknowledged; NULL: not kept */
    oracle *oracle;      /* is told of what is entered; NULL: nobody */
    size_t faults;       /* errors that may come: the calls are repeated */
    int64_t begin_ms;    /* behind the beginning of time */
    /* Called by life_recover(); NULL: nobody. False: all is over. */
    bool (*look)(void *context, const cascade_store *store, oracle_phase phase);
    void *context;
    uint64_t random;
    fake_clock clock;
    cascade_store *store;
    cascade_engine *engine;
    char wrong[512]; /* what must not be; "" while all is well */
} life;

/* Lives through the plan; false when something went wrong. Everything is
 * closed when it returns. */
bool life_run(life *it);

/* Opens, lets every cascade of the file run to its end, closes. `look` is
 * called at the beginning and at the end. */
bool life_recover(life *it);

/* Tells an oracle what was entered and started before operation `at`. */
void life_tell(const life_ledger *ledger, size_t at, oracle *to);

#endif
