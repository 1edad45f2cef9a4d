/* SPDX-License-Identifier: MIT
 *
 * What the files of the memory store share: the model, which is its database,
 * and the handle, which is one opened connection to it.
 *
 *   store.c          the driver, handles, models shared by name
 *   rows.c     the records of the model: made, copied, freed
 *   runs.c     where runs wait: shelves of free runs, rings of owned
 *   incarnation.c  attach, renew, detach, engines, remove, claim
 *   commit.c   commit, submit
 *   delete.c   whole cascades, and pieces of them; erase
 *   messages.c where messages and keys are; receive, key
 *   queues.c   pause, queues
 *   turns.c    runs that wait by their keys, slots; limits.c: set, list, ...
 *   read.c     load, list
 *   scan.c     scan, totals
 *   repair.c     repair, purge
 *   strays.c   strays
 *   seals.c    seals: kept, changed, listed
 *   wait.c     wait, wake
 *   treap.c    ordered sets; text_map.c: a map of texts
 *
 * Everything of a model is guarded by its mutex, but `refs`, `name` and
 * `created_at_ms`. The moves take it once, so each is atomic against all
 * others; what can fail (allocating, checking) is done before the first change,
 * or undone.
 */
#ifndef CSC_STORE_MEMORY_INTERNAL_H
#define CSC_STORE_MEMORY_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/data/map.h"
#include "base/data/tree.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/text_map.h"
#include "store/memory/treap.h"
#include "store/turn.h"

#define CSC_MEMORY_PRIORITIES (CSC_PRIORITY_MAX + 1)

typedef struct csc_memory_execution {
    csc_memory_order_node node; /* in the model's order, at = 0 */
    cascade_execution_row row;  /* its texts lie behind the struct */
    char *late;                 /* or in here, once it was updated */
    bool touched;               /* by the commit that is being staged */
} csc_memory_execution;

typedef struct csc_memory_event {
    cascade_event_row row; /* its texts lie behind the struct */
} csc_memory_event;

/* A ring of runs; the head is a link that belongs to no run. */
typedef struct csc_memory_link {
    struct csc_memory_link *prev;
    struct csc_memory_link *next;
} csc_memory_link;

/* A path that leads to the last run of a chain. */
typedef struct csc_memory_tie {
    csc_tree_node node; /* of the chain's, by number */
    int64_t number;
    struct csc_memory_chain *chain;
    const char *path; /* behind the struct */
} csc_memory_tie;

typedef struct csc_memory_chain {
    cascade_uuid root;
    cascade_uuid next;
    int32_t run_number; /* of `next` */
    csc_tree ties;
    csc_memory_tie own; /* by the root's id; in no tree */
    char name[CASCADE_UUID_TEXT_SIZE];
} csc_memory_chain;

typedef struct csc_memory_run {
    csc_memory_link link;       /* first; owned: in the ring of its owner */
    csc_memory_order_node node; /* free: on its shelf */
    csc_tree_node turn;         /* of its queue: where it waits by its key, or
                                   has a slot */
    cascade_run_row row; /* queue and needs are the model's names; the key lies
                            behind the struct */
} csc_memory_run;

/* A row of cascade_seals. */
typedef struct csc_memory_seal {
    int64_t number;
    char text[];
} csc_memory_seal;

typedef struct csc_memory_cascade {
    csc_memory_order_node node;        /* in the model's order, at = 0 */
    cascade_row row;                   /* its text lies behind the struct */
    csc_memory_execution **executions; /* by function_id */
    size_t execution_count;
    size_t execution_room;
    csc_memory_event **events; /* by (function_id, id) */
    size_t event_count;
    size_t event_room;
    csc_memory_run *run;   /* NULL: no run row */
    csc_memory_seal *seal; /* NULL: none */
    cascade_uuid eraser; /* who erases it when it is marked; all zero: nobody */
} csc_memory_cascade;

/* The messages for one cascade, which need not exist. One that is empty is in
 * the model only while a commit is staged. */
typedef struct csc_memory_box {
    csc_memory_link link;       /* first; in the ring of boxes */
    csc_memory_order_node node; /* in the model's `named`, at = 0 */
    cascade_uuid cascade_id;
    csc_memory_order_node *messages; /* by id */
    size_t away;                     /* messages taken out, but not for good */
} csc_memory_box;

typedef struct csc_memory_message {
    csc_memory_order_node in_box;
    cascade_message_row row; /* its texts lie behind the struct */
    csc_memory_box *box;
} csc_memory_message;

/* A row of cascade_keys. */
typedef struct csc_memory_key {
    int32_t run_number;
    char name[]; /* of user and key: "4:userkey" */
} csc_memory_key;

/* How a key was moved on, to undo it. */
typedef struct csc_memory_key_move {
    csc_memory_key *row; /* the model's; NULL: nothing was changed */
    int32_t before;      /* what it said; 0: it was not there */
} csc_memory_key_move;

/* The free runs of one queue that agree in needs and takeovers: a claim takes
 * or leaves a shelf as a whole, so it never walks over runs it cannot have. */
typedef struct csc_memory_shelf {
    const char *needs; /* or NULL */
    int32_t takeovers;
    csc_memory_order_node *runs[CSC_MEMORY_PRIORITIES]; /* by wake_at */
    struct csc_memory_shelf *next;
} csc_memory_shelf;

typedef struct csc_memory_queue {
    csc_memory_shelf *shelves;
    char *about; /* of the pause; NULL: it is not paused */
    int64_t paused_at_ms;
    int64_t version; /* of its limits; 0: it has none */
    int32_t running_max;
    int32_t key_running_max;
    char *limits_about; /* NULL: it has none */
    csc_tree turns;     /* runs that wait by their keys */
    csc_tree slots;     /* runs that have a slot */
    char name[];
} csc_memory_queue;

typedef struct csc_memory_engine {
    cascade_incarnation row; /* its texts are the model's; lease_ms unused */
    int64_t expires_at_ms;   /* by the monotonic clock */
    csc_memory_link runs;
    int64_t lanes[]; /* the number of the last batch of each */
} csc_memory_engine;

typedef struct csc_memory_waiter {
    int fd; /* an eventfd */
    struct csc_memory_waiter *next;
} csc_memory_waiter;

typedef struct csc_memory_model {
    csc_origin origin;             /* one of another process is no one's here */
    struct csc_memory_model *next; /* of those shared by name */
    char *name;                    /* NULL: private to one handle */
    size_t refs;
    int64_t created_at_ms;
    pthread_mutex_t mutex;
    csc_map cascades;             /* id -> csc_memory_cascade */
    csc_memory_order_node *order; /* the same by id */
    csc_map erasures;             /* id -> csc_memory_cascade, marked */
    size_t piece_max;             /* rows of each kind that go at once */
    csc_map executions;           /* id -> csc_memory_execution */
    csc_memory_order_node *by_id; /* the same by id */
    csc_memory_names paths;       /* node_instance_id -> the same */
    csc_map boxes;                /* cascade id -> csc_memory_box */
    csc_memory_link box_ring;     /* the same, in no order */
    csc_memory_order_node *named; /* the same by cascade id */
    csc_memory_names letters;     /* path -> csc_memory_message */
    csc_memory_names keys;        /* name -> csc_memory_key */
    csc_map chains;               /* root -> csc_memory_chain */
    csc_memory_names links;       /* path -> csc_memory_tie */
    csc_map engines;              /* id -> csc_memory_engine */
    csc_memory_link orphans;      /* runs whose owner is no incarnation */
    csc_memory_names queues;      /* name -> csc_memory_queue */
    csc_memory_names texts;       /* needs: text -> the kept copy */
    csc_memory_seal *seal;        /* the store's own; NULL: none */
    int64_t event_id;             /* the last one given */
    int64_t message_id;           /* the same */
    uint64_t wakes;
    csc_memory_waiter *waiters;
} csc_memory_model;

typedef struct csc_memory {
    csc_memory_model *model;
    const cascade_store_config *config;
    csc_turn_places turns; /* guarded by the model's mutex */
    uint64_t seen; /* the model's wakes when a wait without a result last
                      looked */
} csc_memory;

/* ---- rows.c: NULL when out of memory ----------------------------- */

csc_memory_cascade *csc_memory_rows_cascade(const cascade_row *row);
/* Frees its executions, events and run with it. */
void csc_memory_rows_free(csc_memory_cascade *cascade);
csc_memory_execution *csc_memory_rows_execution(
    const cascade_execution_row *row);
void csc_memory_rows_free_execution(csc_memory_execution *execution);
csc_memory_event *csc_memory_rows_event(const cascade_event_row *row);
csc_memory_message *csc_memory_rows_message(const cascade_message_row *row);
/* The texts an update brings in one block: full_output, then error. */
char *csc_memory_rows_late(const cascade_execution_row *row);
/* Writes status, full_output, error and completed_at; takes `late`. */
void csc_memory_rows_update(csc_memory_execution *execution,
                            const cascade_execution_row *row, char *late);
/* The place of `function_id` among the executions: of the first that is not
 * below. */
size_t csc_memory_rows_find(const csc_memory_cascade *cascade,
                            int32_t function_id);
/* Room must be there. */
void csc_memory_rows_add_event(csc_memory_cascade *cascade,
                               csc_memory_event *event);

/* ---- rows.c: in the model ---------------------------------------- */

/* Makes an execution, whose id and path are not taken, known by them. -1 when
 * out of memory (nothing is changed). */
int csc_memory_rows_enter(csc_memory_model *model,
                          csc_memory_execution *execution);
void csc_memory_rows_withdraw(csc_memory_model *model,
                              csc_memory_execution *execution);
/* Takes a cascade, its executions and its run out of the model. What it is made
 * of stays together: it is put back, when everything that came between is
 * undone, or freed; neither allocates. */
void csc_memory_rows_take(csc_memory_model *model, csc_memory_cascade *cascade);
void csc_memory_rows_put_back(csc_memory_model *model,
                              csc_memory_cascade *cascade);

/* ---- delete.c ---------------------------------------------------- */

/* Rows of a cascade that are to go, or how many of a batch still may. */
typedef struct csc_memory_cut {
    size_t events;
    size_t executions;
    size_t messages;
} csc_memory_cut;

/* What becomes of a cascade that is to be deleted. */
typedef struct csc_memory_deletion {
    csc_memory_cascade *cascade; /* NULL: it is not there */
    bool staged;
    bool marked;         /* something of it is left */
    csc_memory_cut cut;  /* then this goes first */
    csc_memory_box *box; /* else its messages */
} csc_memory_deletion;

/* A batch begins. */
void csc_memory_delete_begin(const csc_memory_model *model,
                             csc_memory_cut *room);
/* Takes the cascade out of the model, or marks it where there is no room for
 * all of it. -1 when out of memory (nothing is changed). Then it is undone, or
 * applied. */
int csc_memory_delete_stage(csc_memory_model *model, const cascade_uuid *id,
                            csc_memory_cut *room,
                            csc_memory_deletion *deletion);
/* Nothing where it was not staged. */
void csc_memory_delete_undo(csc_memory_model *model,
                            csc_memory_deletion *deletion);
void csc_memory_delete_apply(csc_memory_model *model,
                             csc_memory_deletion *deletion);
bool csc_memory_delete_is_marked(const csc_memory_model *model,
                                 const cascade_uuid *id);

/* ---- runs.c ------------------------------------------------------ */

/* The queue of that name, made when there is none; NULL when out of memory. */
csc_memory_queue *csc_memory_runs_queue(csc_memory_model *model,
                                        const char *name);
/* A run with that row for that cascade, not in the model; NULL when out of
 * memory. */
csc_memory_run *csc_memory_runs_make(const cascade_uuid *cascade_id,
                                     const cascade_run_row *row);
/* Makes sure that a run with this queue, needs and takeovers can be freed later
 * without allocating, as it is or with one takeover more. On success the two
 * texts are replaced by the model's. */
cascade_err csc_memory_runs_reserve(csc_memory_model *model,
                                    cascade_run_row *row);
/* Puts a run on its shelf or in its owner's ring (or among the orphans), as its
 * row says. */
void csc_memory_runs_place(csc_memory_model *model, csc_memory_run *run);
/* Takes it from there. To change a row: take, change, place. */
void csc_memory_runs_take(csc_memory_model *model, csc_memory_run *run);
/* Frees an owned or orphaned run. Without more takeovers it is given back, with
 * a trial less: S47. */
void csc_memory_runs_release(csc_memory_model *model, csc_memory_run *run,
                             int64_t now_ms, int32_t more_takeovers);
void csc_memory_runs_fini(csc_memory_model *model);

/* ---- turns.c ------------------------------------------------------ */

bool csc_memory_turns_is_kept(const csc_memory_queue *queue);
/* It waits by its key. */
bool csc_memory_turns_is_waiting(const cascade_run_row *row);
/* A start of that run is due in a queue that has limits: it is to wait. */
bool csc_memory_turns_is_to_wait(const csc_memory_queue *queue,
                                 const cascade_run_row *row, int64_t now_ms);
/* A run comes to its place, or leaves it. */
void csc_memory_turns_enter(csc_memory_model *model, csc_memory_run *run);
void csc_memory_turns_leave(csc_memory_model *model, csc_memory_run *run);
/* Runs of the queue, and of the key, that can get a slot; up to `most`. */
size_t csc_memory_turns_room(const csc_memory_queue *queue, size_t most);
size_t csc_memory_turns_key_room(const csc_memory_queue *queue, const char *key,
                                 size_t most);
/* Gives those that have a slot, by their keys, or those of a key. */
cascade_err csc_memory_turns_slots(const csc_memory_queue *queue,
                                   const char *key, size_t limit,
                                   cascade_slot_sink sink, void *context);
/* Goes over the keys from `walk->from` on: writes up to `most` runs, in the
 * order in which they should run, and how it has ended. */
void csc_memory_turns_walk(const csc_memory_queue *queue, size_t most,
                           csc_memory_run **runs, csc_turn_walk *walk);

/* ---- links.c ----------------------------------------------------- */

/* That of a root; NULL when out of memory. One that is made leads nowhere. */
csc_memory_chain *csc_memory_links_chain(csc_memory_model *model,
                                         const cascade_uuid *root, bool *made);
/* Unless it leads to a later run. */
void csc_memory_links_lead(csc_memory_chain *chain, const cascade_uuid *next,
                           int32_t run_number);
void csc_memory_links_drop(csc_memory_model *model, csc_memory_chain *chain);
/* The last run, which is there, of a cascade that is not; NULL without one. */
const cascade_uuid *csc_memory_links_last(const csc_memory_model *model,
                                          const cascade_uuid *gone);
/* Enters what the last `count` executions of a cascade have received, if it
 * leads on: S83. -1 when out of memory: what was entered stands beside them. */
int csc_memory_links_keep(csc_memory_model *model,
                          const csc_memory_cascade *cascade, size_t count);
void csc_memory_links_fini(csc_memory_model *model);

/* ---- seals.c ------------------------------------------------------ */

/* NULL when out of memory. */
csc_memory_seal *csc_memory_seals_make(const cascade_seal_row *row);
/* Whether the seal is `was`; each may be NULL: none. */
bool csc_memory_seals_is(const csc_memory_seal *seal,
                         const cascade_seal_row *was);
/* Gives it to the sink, where there is one. */
cascade_err csc_memory_seals_give(const cascade_uuid *id,
                                  const csc_memory_seal *seal,
                                  cascade_seal_sink sink, void *context);

/* ---- messages.c: where messages and keys are ---------------------- */

/* Whether an execution has that path, or one that is gone had it. */
bool csc_memory_messages_was_received(const csc_memory_model *model,
                                      const char *path);
/* The same, or a message has it. */
bool csc_memory_messages_taken(const csc_memory_model *model, const char *path);
/* Enters a new message, whose path is not taken, and gives it its id. -1 when
 * out of memory (nothing is changed). */
int csc_memory_messages_enter(csc_memory_model *model,
                              csc_memory_message *message);
/* The message `id` for this cascade; NULL for none. */
csc_memory_message *csc_memory_messages_find(const csc_memory_model *model,
                                             const cascade_uuid *cascade_id,
                                             int64_t id);
/* Takes a message out. Then it is put back, when everything that came between
 * is undone, or freed; neither allocates. */
void csc_memory_messages_take(csc_memory_model *model,
                              csc_memory_message *message);
void csc_memory_messages_put_back(csc_memory_model *model,
                                  csc_memory_message *message);
void csc_memory_messages_free(csc_memory_model *model,
                              csc_memory_message *message);
/* Sends a message on to another cascade, behind what that has. -1 when out of
 * memory (nothing is changed). */
int csc_memory_messages_send_on(csc_memory_model *model,
                                csc_memory_message *message,
                                const cascade_uuid *to);
/* The same for all messages for a cascade. NULL, which the others accept, when
 * there are none. */
csc_memory_box *csc_memory_messages_take_box(csc_memory_model *model,
                                             const cascade_uuid *cascade_id);
void csc_memory_messages_put_back_box(csc_memory_model *model,
                                      csc_memory_box *box);
void csc_memory_messages_free_box(csc_memory_box *box);
/* The message after `message` in its box; NULL `message`: the first. */
csc_memory_message *csc_memory_messages_next(const csc_memory_box *box,
                                             const csc_memory_message *message);
/* The first of its last `count`; NULL where it has none. */
csc_memory_message *csc_memory_messages_last(const csc_memory_box *box,
                                             size_t count);
/* A row for a key, not in the model; NULL when out of memory. */
csc_memory_key *csc_memory_messages_make_key(const char *user_id,
                                             const char *key,
                                             int32_t run_number);
/* Moves the row of a key on to the number that `key` has, if it says less. No
 * row says 1. Where there is none, `key` becomes the row, and the model's. */
cascade_err csc_memory_messages_move_key(csc_memory_model *model,
                                         csc_memory_key *key,
                                         csc_memory_key_move *move);
/* `key` is the caller's again. */
void csc_memory_messages_undo_key(csc_memory_model *model,
                                  csc_memory_key_move *move);
void csc_memory_messages_fini(csc_memory_model *model);

/* ---- The moves; see cascade/store.h ------------------------------------- */

cascade_err csc_memory_engines_attach(void *self,
                                      const cascade_incarnation *incarnation);
cascade_err csc_memory_engines_renew(void *self, const cascade_uuid *engine_id,
                                     int64_t lease_ms, int64_t *now_ms);
cascade_err csc_memory_engines_detach(void *self,
                                      const cascade_uuid *engine_id);
cascade_err csc_memory_engines_list(void *self, cascade_engine_sink sink,
                                    void *context, bool *orphans);
cascade_err csc_memory_engines_remove(void *self, const cascade_uuid *dead,
                                      size_t dead_count, size_t limit,
                                      size_t *freed);
cascade_err csc_memory_engines_settle(void *self, const cascade_uuid *engine_id,
                                      uint32_t lane, int64_t number,
                                      bool *committed);
cascade_err csc_memory_runs_claim(void *self, const cascade_claim *claim,
                                  cascade_claimed *claimed,
                                  cascade_claim_result *result);
cascade_err csc_memory_commit_batch(void *self, const cascade_batch *batch,
                                    bool *existed);
cascade_err csc_memory_commit_submit(void *self,
                                     const cascade_submission *submission);
cascade_err csc_memory_messages_receive(void *self,
                                        const cascade_receive *receive,
                                        cascade_message_sink sink,
                                        void *context);
cascade_err csc_memory_messages_key(void *self, const char *user_id,
                                    const char *key, int32_t *run_number);
cascade_err csc_memory_links_find(void *self, const char *const *paths,
                                  size_t count, cascade_found *found);
cascade_err csc_memory_links_write(void *self, const cascade_link *link);
cascade_err csc_memory_links_sweep(void *self, const cascade_uuid *root,
                                   size_t limit, cascade_uuid *cursor,
                                   bool *more);
cascade_err csc_memory_strays_list(void *self, cascade_stray kind, size_t limit,
                                   cascade_uuid *cursor,
                                   cascade_fault_sink sink, void *context,
                                   bool *more);
cascade_err csc_memory_queues_pause(void *self, const char *queue, bool paused,
                                    const char *about, bool *changed);
cascade_err csc_memory_queues_list(void *self, cascade_queue_sink sink,
                                   void *context);
cascade_err csc_memory_limits_set(void *self, const cascade_limits_row *row,
                                  bool *done, int64_t *version);
cascade_err csc_memory_limits_list(void *self, const char *only,
                                   const char *after, size_t limit,
                                   cascade_limits_sink sink, void *context);
cascade_err csc_memory_limits_drop(void *self, const char *queue, bool *done);
cascade_err csc_memory_limits_slots(void *self, const char *queue,
                                    const char *key, size_t limit,
                                    cascade_slot_sink sink, void *context);
cascade_err csc_memory_scan_rows(void *self, const cascade_scan *scan,
                                 const cascade_load_sink *sink);
cascade_err csc_memory_scan_totals(void *self, cascade_totals *totals);
cascade_err csc_memory_mend_repair(void *self, const cascade_repair *repairs,
                                   size_t count, bool *done);
cascade_err csc_memory_mend_purge(void *self, const cascade_uuid *ids,
                                  size_t count, int64_t updated_before_ms,
                                  size_t *deleted);
cascade_err csc_memory_delete_erase(void *self, const cascade_uuid *engine_id,
                                    bool *more);
cascade_err csc_memory_seals_change(void *self, const cascade_reseal *reseals,
                                    size_t count, bool *done);
cascade_err csc_memory_seals_list(void *self, const cascade_uuid *after,
                                  size_t limit, cascade_seal_sink sink,
                                  void *context);
/* A child that is RUNNING. */
bool csc_memory_read_is_child(const cascade_execution_row *row);
cascade_err csc_memory_read_load(void *self, const cascade_uuid *ids,
                                 size_t count, unsigned parts,
                                 const cascade_load_sink *sink);
cascade_err csc_memory_read_list(void *self, const cascade_query *query,
                                 cascade_list_sink sink, void *context);
cascade_err csc_memory_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                                cascade_waited *result);
cascade_err csc_memory_wait_wake(void *self);

#endif
