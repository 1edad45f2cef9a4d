/* SPDX-License-Identifier: MIT
 *
 * The world of conformance_model.c: a store, the reference model beside it, and
 * what is known of both. conformance_letters.c makes its messages,
 * conformance_tend.c looks after what is stored, conformance_nodes.c has the
 * transactions of nodes.
 */
#ifndef TESTS_STORE_CONFORMANCE_CONFORMANCE_TWIN_H
#define TESTS_STORE_CONFORMANCE_CONFORMANCE_TWIN_H

#include "store/conformance/conformance.h"

#define ENGINES 5
#define CASCADES 999
#define OPEN_MAX 6
#define BATCH_MAX 5
#define LETTERS 4000
#define SENDS_MAX 3

typedef struct known_cascade {
    cascade_uuid id;
    cascade_change *start;
    int32_t next; /* function_id */
    int32_t open[OPEN_MAX];
    size_t open_count;
    int owner; /* of the engines; or one of these */
} known_cascade;

enum {
    OWNER_NONE = -1,
    OWNER_ENDED = -2,
    OWNER_DELETED = -3
};

/* A message that was sent, perhaps. */
typedef struct letter {
    const char *path;
    cascade_uuid to;
    int64_t real_id; /* 0: not received so far */
    int64_t model_id;
    bool waiting; /* it was received, and not named by a commit */
    bool lost;    /* for a cascade that is not there */
} letter;

typedef struct peer {
    cascade_uuid id;
    bool alive;
    int64_t number; /* of the last batch that took effect */
    cascade_batch last;
    bool deleted; /* something, since that batch */
} peer;

typedef struct twin_world {
    conformance_db *db;
    test_rows *rows;
    cascade_store *model;
    fake_clock model_clock;
    peer engines[ENGINES];
    known_cascade cascades[CASCADES];
    size_t count;
    letter letters[LETTERS];
    size_t letter_count;
    size_t received; /* by commits */
    size_t refused;  /* how often each answer came */
    size_t committed;
    size_t finished; /* of them, as those of nodes */
    size_t claimed;
    size_t mended; /* cascades repaired or purged */
} twin_world;

bool twin_chance(twin_world *world, size_t percent);
const char *twin_text(twin_world *world, const char *const *texts,
                      size_t count);
const char *twin_payload(twin_world *world);
const char *twin_node(twin_world *world);

/* A message to `to`, or (NULL) to a cascade that is there or not, under a new
 * path or a used one. */
cascade_message_row *twin_message(twin_world *world, const cascade_uuid *to);
/* What an engine gets to receive, which it may name in a commit then. */
void twin_receive(twin_world *world, int engine);
/* Receives some of what waits: into an execution, to forward it, or to drop
 * it. */
void twin_receipts(twin_world *world, const known_cascade *it,
                   cascade_change *write);
/* The change was committed. */
void twin_learn_received(twin_world *world, const cascade_change *write);

/* ---- conformance_model.c ------------------------------------------------ */

const char *twin_queue(twin_world *world);
int64_t twin_wake_at(twin_world *world);
/* One of those that were ever there; NULL when there was none. */
known_cascade *twin_cascade(twin_world *world);
bool twin_is_there(twin_world *world, const cascade_uuid *id);
void twin_learn_delete(twin_world *world, known_cascade *it);

/* ---- conformance_tend.c: moves on both stores --------------------------- */

/* What an incarnation or a pause says. */
const char *twin_about(twin_world *world);
void twin_pause(twin_world *world);
void twin_repair(twin_world *world);
void twin_purge(twin_world *world);
/* Compares queues, and a page. */
void twin_look(twin_world *world);

/* ---- conformance_nodes.c ------------------------------------------------ */

/* Commits to the store, which is to give what the model gave: `wanted`. Now and
 * then as the transaction of a node. */
cascade_err twin_commit(twin_world *world, const cascade_batch *batch,
                        cascade_err wanted, bool *existed);
/* Settles a lane: a batch that took effect, and one that never will. */
void twin_settle(twin_world *world);

#endif
