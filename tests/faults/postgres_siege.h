/* SPDX-License-Identifier: MIT
 *
 * A load (load.h) on a database of the program's own server, and a close watch
 * on it while a test strikes:
 *
 *   siege_open(&siege, &options);
 *   ... the faults, while siege_goes_on() ...
 *   siege_end(&siege);
 *
 * The log of the library is read for what it tells about the fault, and
 * searched for what it must not tell; what the program prints is caught.
 * siege_end() lets every cascade end and checks, beside what load_check() does:
 *   - a start that was not acknowledged failed as unavailable or as unknown,
 *     with a text, and with its id where it is to be looked up;
 *   - the guarantees hold by the rows alone (support/oracle.h);
 *   - no engine lost commits, had a change refused, or was fenced unless its
 *     lease is short; they attached anew exactly as often as one was fenced or
 *     the outcome of a claim was unknown;
 *   - the server has as many connections as the stores know of, none of them in
 *     a transaction, and none after the end; no descriptor or thread is left;
 *   - nothing was printed; no connection string in a log line or an error text.
 */
#ifndef TESTS_FAULTS_POSTGRES_SIEGE_H
#define TESTS_FAULTS_POSTGRES_SIEGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "faults/load.h"
#include "faults/postgres_stage.h"

#define SIEGE_LIMIT_MS 60000

/* What a log line can tell. */
typedef enum siege_word {
    SIEGE_STRUCK,       /* a batch was in the server and did not get through */
    SIEGE_CLAIM_FAILED, /* so did a claim: whose are the runs? */
    SIEGE_ATTACHED_ANEW,
    SIEGE_DEADLOCK,
    SIEGE_SERIALIZATION,
    SIEGE_LOCK_TIMEOUT,
    SIEGE_CANCELLED,
    SIEGE_TERMINATED,
    SIEGE_NO_ROOM,
    SIEGE_WORDS /* how many */
} siege_word;

typedef struct siege_options {
    const char *conninfo; /* how the stores reach the server; NULL: directly */
    bool second_direct;   /* the second engine's does so all the same */
    int64_t deadline_ms;  /* 0: 1,000 */
    int64_t lease_ms;     /* 0: longer than any fault: nobody is fenced */
} siege_options;

typedef struct pg_siege {
    siege_options options;
    char name[32]; /* the stores' application_name */
    test_place place;
    test_load *load;
    atomic_size_t words[SIEGE_WORDS];
    atomic_size_t unknown; /* starts whose outcome is unknown */
    pthread_mutex_t mutex; /* guards `complaint` */
    char complaint[512];   /* the first that is not as it should be */
    int caught_fd;         /* a file with what was printed; -1: not caught */
    int kept_fds[2];       /* where that would have gone */
    size_t fds;
    size_t threads;
    size_t fences;
    size_t strikes; /* as the test counts them */
} pg_siege;

/* Fails the test when it cannot. */
void siege_open(pg_siege *siege, const siege_options *options);
/* Waits until so many executions more are recorded. */
void siege_goes_on(pg_siege *siege, size_t executions);
/* How often a line of the log has told it; waits until it is that often. */
size_t siege_told(pg_siege *siege, siege_word word);
void siege_await_word(pg_siege *siege, siege_word word, size_t count);
/* Whether a test that makes `rounds` is to make the next, too: it goes on until
 * `word` was told, and fails where that takes far too many. */
bool siege_is_due(pg_siege *siege, size_t round, size_t rounds,
                  siege_word word);
/* Reads what is recorded: it must not run again. */
void siege_mark(pg_siege *siege);
/* No further starts; everything ends; checks; closes. */
void siege_end(pg_siege *siege);
/* For the teardown of a test that failed: lets go of what is still open. */
void siege_abandon(pg_siege *siege);

#endif
