/* SPDX-License-Identifier: MIT
 *
 * Load for a store that is about to suffer: engines in this process that run
 * the flow (process/flow.h), and threads that each start one cascade after the
 * other. Each start's id is chosen here, so what became of it can be looked up
 * whatever the call said:
 *
 *   the call gave      the cascade
 *   OK                 is there, and ends
 *   OUTCOME_UNKNOWN    is there or not
 *   another error      is not there
 *
 *     test_load *load = load_open(&place, &options);
 *     load_begin(load);
 *     ...                                  the fault
 *     load_end(load);                      no more starts
 *     load_settle(load, LIMIT_MS);         all that is there ends
 *     load_check(load);                    the rows, and the log of effects
 *     load_close(load);
 */
#ifndef TESTS_FAULTS_LOAD_H
#define TESTS_FAULTS_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "process/flow.h"
#include "process/ledger.h"
#include "process/place.h"

#define LOAD_ENGINES 2
#define LOAD_STORES (LOAD_ENGINES + 1)
#define LOAD_STARTERS 4
#define LOAD_STARTS 100000 /* more than any test comes to */

typedef struct load_start {
    cascade_uuid id;
    cascade_err err;
} load_start;

typedef struct load_options {
    bool pooler;            /* the engines' stores are behind one */
    bool outsider;          /* a store without an engine starts some as well */
    bool many;              /* some calls start several */
    const char *url;        /* of the stores; NULL: the place's */
    const char *second_url; /* of the second engine's; NULL: `url` */
    const char *name;       /* the stores' application_name; NULL: theirs */
    const char *reason;     /* what the text of a failing start should say */
    int64_t deadline_ms;    /* of the stores; 0: 30,000 */
    int64_t lease_ms;       /* of the engines; 0: longer than any test */
    int64_t park_after_ms;  /* of the engines; 0: theirs */
    size_t connection_max;  /* of each store; 0: its own */
    size_t slow_from;       /* after that many starts they come slowly; 0: 1,000
                             */
    /* Called for each line of the log, at the lowest level; NULL: kept here. */
    cascade_log_fn log;
    /* Called in the starter's thread for each start that fails, while the
     * error's text is there; `started` is what the call wrote. NULL: nobody. */
    void (*on_failed)(void *context, const load_start *start,
                      const cascade_started *started);
    void *context; /* of both */
} load_options;

typedef struct test_load test_load;

/* A thread that starts cascades. */
typedef struct load_starter {
    pthread_t thread;
    test_load *load;
    atomic_size_t turns; /* calls it has come back from */
} load_starter;

struct test_load {
    const test_place *place;
    load_options options;
    test_ledger ledger;
    test_flow flow;
    cascade_store *stores[LOAD_STORES]; /* NULL where there is none */
    cascade_engine *engines[LOAD_ENGINES];
    load_starter starters[LOAD_STARTERS];
    bool starting;
    atomic_bool stop;
    load_start starts[LOAD_STARTS];
    atomic_size_t begun; /* of `starts` */
    atomic_size_t acknowledged;
    atomic_size_t failed;  /* with another answer than OK */
    atomic_size_t clear;   /* of them: whose text held `reason` */
    pthread_mutex_t mutex; /* guards what follows */
    FILE *log;             /* writes to the text */
    char *log_text;
    size_t log_len;
};

/* Opens a store, also where its deadline is too short for that at times. */
cascade_store *load_open_store(const char *url,
                               const cascade_store_options *options);
/* Opens the stores and starts the engines. `options` may be NULL. */
test_load *load_open(const test_place *place, const load_options *options);
/* Stops and closes engines and stores, which load_close() does as well. */
void load_stop(test_load *load);
/* Closes everything, and frees it. (A test that fails leaves it running.) */
void load_close(test_load *load);

/* Starts cascades until load_end(); the more slowly, the more of them have not
 * ended. */
void load_begin(test_load *load);
void load_end(test_load *load);

/* Waits until the engines have recorded so many executions more, or so many
 * starts more were acknowledged, or failed, or failed for the reason that was
 * given. The test fails when they do not. */
void load_await_executions(test_load *load, size_t more);
void load_await_acknowledged(test_load *load, size_t more);
void load_await_failed(test_load *load, size_t more);
void load_await_clear(test_load *load, size_t more);
/* Waits until each starter has come back from a call: whatever was under way is
 * acknowledged by then, or has failed. */
void load_await_turns(test_load *load);
/* Waits until a log line of the library has held `words`. */
void load_await_logged(test_load *load, const char *words);

/* Waits until every cascade has ended. */
void load_settle(test_load *load, int64_t limit_ms);
/* What was acknowledged is there, what failed is not; each cascade is whole and
 * everything ran as the ledger demands. */
void load_check(test_load *load);
/* The number of acknowledged starts that are not there. */
size_t load_count_missing(test_load *load);

/* Whether a log line of the library held `words`. */
bool load_has_logged(test_load *load, const char *words);
/* The sum over the engines. */
cascade_engine_stats load_stats(test_load *load);

#endif
