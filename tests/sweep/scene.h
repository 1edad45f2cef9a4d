/* SPDX-License-Identifier: MIT
 *
 * A scene: one play of a scenario on a database of its own, in which a fault
 * may strike at any call.
 *
 *     template --copy--> database
 *          scene_begin    the fault is armed
 *          scenario->play   opens stores and engines, starts cascades, polls;
 *                           returns the first error that a call gave it
 *          scene_close    everything the play opened is closed
 *                         the fault is disarmed
 *          scene_finish   a fresh store and engine, without faults, bring to
 *                         an end what the play left; the judges look
 *
 * Engines are INLINE, so a play is one thread and the Nth call is the same one
 * in each play. On memory and SQLite time stands still but where the play moves
 * it; on PostgreSQL the server's clock goes on, and only pauses of the engine's
 * own are skipped. While engines stop, time flows everywhere: they wait for
 * what they have in flight.
 *
 * THE JUDGES
 *   a call that fails leaves a text, and a store move that fails leaves no
 *     transaction: another connection can write at once (witness.h)
 *   after one fault the engine goes on by itself: the play comes to its end
 *   after many, a fresh engine ends everything that was acknowledged
 *   each cascade then looks as it does without a fault (its picture), and the
 *     oracle finds every guarantee kept
 *   no descriptor, thread, process or block of memory is left, and nothing was
 *     printed
 */
#ifndef TESTS_SWEEP_SCENE_H
#define TESTS_SWEEP_SCENE_H

#include "store/store.h"
#include "support/nodes.h"
#include "support/stores.h"
#include "sweep/journal.h"
#include "sweep/witness.h"

#define SCENE_STORES 4
#define SCENE_ENGINES 4
#define SCENE_PICTURE 2048

typedef struct scene scene;

typedef struct scenario {
    const char *name;
    /* Returns the error of the first call that failed; CASCADE_OK when it came
     * to its end. */
    cascade_err (*play)(scene *s);
    bool fresh;  /* on a database without tables */
    bool sealed; /* which gets integrity */
    /* After a fault: makes the calls that the play may not have come to, on a
     * store without faults. NULL: none. */
    void (*mend)(scene *s, cascade_store *store);
    /* After the end, likewise: what can be asked then. NULL: nothing. */
    void (*look)(scene *s, cascade_store *store);
    bool continues;   /* its one cascade continues as new */
    bool varies;      /* how cascades end depends on where the fault struck */
    bool reorders;    /* the order of their executions does */
    int poison_limit; /* as in cascade_engine_options */
    bool family;      /* its cascade leaves children, which are to end too */
    bool small;       /* commits of a kilobyte: what is sliced is so finely */
    int64_t deadline_ms; /* of its stores, where time stands; 0: as ever */
} scenario;

/* A fault at the nth store move. */
typedef struct scene_fault {
    size_t nth; /* 0: none */
    size_t seen;
    uint64_t moves; /* a bit for each move that counts; 0: all */
    wrap_when when;
    cascade_err err; /* what the caller is told */
    bool lasting;    /* the nth and all that follow */
    bool crash;      /* the process ends there */
} scene_fault;

typedef struct scene_engine_slot {
    cascade_engine *engine;
    bool started;
} scene_engine_slot;

struct scene {
    test_db *db;
    const scenario *scenario;
    journal *journal;
    wrap_store *wrap;
    witness *witness;
    oracle *oracle;
    scene_fault fault;
    bool struck;  /* the fault strikes at the move under way */
    bool lasting; /* faults go on until the play has ended: none recovers */
    bool finishing;
    nodes_watcher watcher; /* the journal is told */
    cascade_clock clock;
    int64_t flows_since_ns; /* 0: time stands */
    char url[1024];
    char schema[64];
    cascade_store *keeper; /* keeps a database in memory alive */
    cascade_store *stores[SCENE_STORES];
    size_t store_count;
    scene_engine_slot engines[SCENE_ENGINES];
    size_t engine_count;
    size_t told;       /* journal entries that the oracle knows */
    size_t blocks;     /* of the library, before */
    int fds;           /* and descriptors */
    int tasks;         /* and threads */
    uint64_t id_state; /* of scene_id() */
};

/* ---- For the sweeps ------------------------------------------------------ */

/* Makes ready the database that each play gets a copy of. */
void scene_prepare(test_db *db);
/* `s` is zeroed but for db, scenario, journal and witness. */
void scene_begin(scene *s, uint64_t seed);
/* Closes what the play opened; to be called with the fault still armed. */
void scene_close(scene *s);
void scene_finish(scene *s);
/* Drops the database, looks for leaks. */
void scene_end(scene *s);
/* How the nth cascade of the play looks: "" when it is not there. */
void scene_picture(scene *s, size_t nth, char picture[SCENE_PICTURE]);

/* ---- For the plays ------------------------------------------------------- */

/* Notes a call of the library that failed without a text, or succeeded with
 * one; returns `err`. */
cascade_err scene_check(scene *s, cascade_err err, const char *call);
/* Notes what is not as it should be. */
void scene_expect(scene *s, bool condition, const char *text);
#define SCENE_EXPECT(s, condition) scene_expect((s), (condition), #condition)

/* An id that is the same in each play of the seed. */
cascade_uuid scene_id(scene *s);
cascade_err scene_open(scene *s, cascade_store **store);
/* With all nodes; `without` (NULL: none) is left out. */
cascade_err scene_engine(scene *s, cascade_store *store, const char *without,
                         cascade_engine **engine);
/* Starts cascades of which each id is given, or a key. */
cascade_err scene_start(scene *s, cascade_store *store,
                        const cascade_start_spec *specs, size_t count,
                        cascade_started *started);
/* Starts one cascade of `node`; `options` may be NULL. */
cascade_err scene_start_one(scene *s, cascade_store *store, const char *node,
                            const cascade_start_options *options);
/* A message with that request id: a signal `name` with {"n":n}, or (NULL)
 * without a name a command (a rerun from n). An answer that it has ended is
 * none. */
typedef struct scene_message {
    const char *kind;
    const char *name;
    const char *request_id;
    int n;
} scene_message;
cascade_err scene_send(scene *s, cascade_store *store, const cascade_uuid *id,
                       const scene_message *message);
/* A signal with a start, or to a key; those of user "u". */
cascade_err scene_start_with(scene *s, cascade_store *store, const char *key,
                             const scene_message *message);
cascade_err scene_send_key(scene *s, cascade_store *store, const char *key,
                           const scene_message *message);
/* The update `message->name` with {"n":n}, whose answer is {"n":2n}: asks once,
 * or until it is answered, polling. CASCADE_ERR_TIMEOUT: it is not yet. */
cascade_err scene_ask_once(scene *s, cascade_store *store,
                           const cascade_uuid *id,
                           const scene_message *message);
cascade_err scene_ask(scene *s, cascade_store *store, const cascade_uuid *id,
                      const scene_message *message);
/* Polls all engines once, in turn, and moves the time on when they wait. */
cascade_err scene_poll(scene *s);
/* Polls until everything that was started has ended, and every message was
 * received. */
cascade_err scene_run(scene *s);
/* Stops and closes an engine. */
cascade_err scene_stop(scene *s, cascade_engine *engine);
cascade_err scene_close_store(scene *s, cascade_store *store);
int64_t scene_now_ms(const scene *s);

#endif
