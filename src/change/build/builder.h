/* SPDX-License-Identifier: MIT
 *
 * What the files that build changes share with one another only.
 */
#ifndef CSC_CHANGE_BUILD_BUILDER_H
#define CSC_CHANGE_BUILD_BUILDER_H

#include "base/data/buf.h"
#include "base/data/tree.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/join_cutoff.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/state.h"

typedef struct csc_build_env csc_build_env;
typedef struct csc_effects csc_effects;
typedef struct csc_late_end csc_late_end;
typedef struct csc_message csc_message;
typedef struct csc_next_run csc_next_run;
typedef struct csc_post csc_post;
typedef struct csc_spawn csc_spawn;

/* A change under construction. */
struct csc_builder {
    const csc_build_env *env;
    const csc_state *state;
    char cascade_id[CASCADE_UUID_TEXT_SIZE];
    cascade_execution_row *inserts;
    size_t insert_count;
    cascade_execution_row *updates;
    size_t update_count;
    size_t insert_room;
    size_t update_room;
    cascade_event_row *events;
    size_t event_count;
    int64_t *received; /* ids of messages */
    size_t received_count;
    cascade_uuid *ids;   /* one for each insert */
    csc_late late;       /* ends that come too late for joins */
    csc_buf text;        /* scratch */
    int32_t fn_id;       /* the last one given out */
    size_t promised;     /* ids that posts will need, while messages come */
    bool no_stand_ins;   /* there are none for what runs instead of others */
    int32_t instead_of;  /* what spawns with `instead` stand for */
    csc_tree names;      /* whose signals are looked at: message.c */
    csc_tree unread;     /* signals of this change */
    csc_ids ended_early; /* what messages have ended */
    size_t ended;
    size_t running; /* inserted as RUNNING */
    bool terminated;
    int32_t terminator; /* the lowest function_id of those that do so */
    const char *error;  /* its text */
    bool erases;        /* the change deletes the cascade, unless it sends: then
                           the next one does, which receives the same message */
    cascade_execution_row *cancel; /* the cancellation's row, if it begins, goes
                                      on or ends in this change */
    int32_t cancel_from; /* what it has still to look at: csc_state, as of what
                            is built so far */
    const csc_post *posts;
    cascade_message_row *sends; /* NULL: none so far */
    size_t send_count;
    size_t send_room;
    size_t children;             /* parts of children inserted as RUNNING */
    size_t children_gone;        /* those that have ended in this change */
    csc_result_rank result_rank; /* of `result` */
    const char *result;          /* NULL: none in this change */
    const csc_post *free;        /* the FREE post among them, or NULL */
    const csc_post *next;        /* the one that continues as new, or NULL */
    bool marks;                  /* records of other programs' rows: mark.c */
    const csc_plan *plan;        /* the retry or rerun that is carried out, or
                                    NULL */
    const csc_plan *slices; /* one of which this is a slice, or NULL: then */
    cascade_status told;    /* the cascade's status is that */
    int32_t family_from; /* children from there on are still to be told of the
                             end: family_end.c; 0: none */
    int64_t family_id;   /* the message that says so */
    bool is_cut;         /* there may be more messages than those received */
    bool only_deletions; /* and these are nothing else */
    bool awaits_others;  /* and one of these waits for the others */
};

/* ---- build.c ------------------------------------------------------------ */

/* The scratch text, which is empty then; NULL without memory. */
const char *csc_builder_text(struct csc_builder *b);
/* The next row, RUNNING with input {}, to be filled further: the nth of that
 * name under `parent`. */
cascade_execution_row *csc_builder_part(struct csc_builder *b, const char *name,
                                        int32_t parent, uint32_t occurrence);
cascade_execution_row *csc_builder_update(struct csc_builder *b,
                                          const csc_exec *exec,
                                          cascade_execution_status status);
/* Room for so many updates more. */
void csc_builder_more_updates(struct csc_builder *b, size_t more);
/* A record as text, in the arena; NULL without memory. */
const char *csc_builder_record(struct csc_builder *b, const csc_record *record);
/* What a record says of an execution whatever becomes of it: what it comes
 * after, what it stands for, its attempts where there were some. */
csc_record csc_builder_record_of(struct csc_builder *b, const csc_exec *exec);
/* A list as text, in the arena; none when it is empty. */
csc_json_span csc_builder_ids(struct csc_builder *b, const int32_t *ids,
                              size_t count);
/* Member `late`: the joins in which the end of `exec` does not count. Once for
 * each end, in the order of the ends. */
csc_json_span csc_builder_late(struct csc_builder *b, const csc_exec *exec,
                               const csc_late_end *end);
/* The row ends the cascade as ERROR. */
void csc_builder_note_terminated(struct csc_builder *b,
                                 const cascade_execution_row *row);
/* The cascade's status as of what is built so far. */
cascade_status csc_builder_status(const struct csc_builder *b);

/* ---- command.c ---------------------------------------------------- */

/* Whether the cascade is cancelled, by this change or before. */
bool csc_builder_is_cancelled(const struct csc_builder *b);
/* The row of a command, with its input; true when it was one. */
bool csc_command_add(struct csc_builder *b, const csc_message *message);
/* The cascade is to be deleted. */
void csc_command_add_delete(struct csc_builder *b, const csc_message *message);
/* An execution that is there fails as cancelled. */
void csc_command_cancel_one(struct csc_builder *b, const csc_exec *exec);
/* A new execution that does not begin any more. */
void csc_builder_stillborn(struct csc_builder *b, cascade_execution_row *row);
/* The cancellation goes on. */
void csc_command_add_slice(struct csc_builder *b);
/* How many bytes a slice may write, about: env->slice_bytes. */
size_t csc_builder_slice_room(const struct csc_builder *b);
/* The function_id of the cancellation, if there is one. */
int32_t csc_command_cancel_id(const struct csc_builder *b);
/* Whether it is still to fail with the cancellation. */
bool csc_command_is_doomed(const struct csc_builder *b, const csc_exec *exec);
/* Ends the cancellation when nothing else is RUNNING. */
void csc_command_end_cancel(struct csc_builder *b);

/* The same before that, and so the cascade, as nothing can be recorded. */
void csc_command_close_cancel(struct csc_builder *b, const char *error);

/* ---- mark.c ------------------------------------------------------- */

/* Marks the records of what others have had to do with, when all else is built.
 */
void csc_mark_add(struct csc_builder *b);
/* The record (NULL: none) with that mark, and how many events are of others. */
const char *csc_mark_has(struct csc_builder *b, const char *record,
                         int32_t early);

/* ---- last_ids.c -------------------------------------------------------- */

/* Whether so many executions may still be inserted; `ends`: by what ends the
 * cascade. */
bool csc_builder_has_ids(const struct csc_builder *b, size_t count, bool ends);
/* There is no id for what ends the cascade: an execution does that is there. */
void csc_last_ids_end_other(struct csc_builder *b, const char *error);
/* Whether there is none for the receipt: then the cascade has ended. */
bool csc_last_ids_lack(struct csc_builder *b, const csc_message *message);
/* Nothing runs instead of what fails, and the cascade does not go on. */
void csc_builder_drop_spawns(csc_post *post);

/* ---- reset.c ----------------------------------------------------- */

/* The rows of a retry or a rerun; true when it was one. */
bool csc_reset_add(struct csc_builder *b, const csc_message *message);
/* The record of one that is AFRESH: its attempts begin anew; a time that it was
 * not to begin before still holds. `meta` is for execution 0 alone, else NULL.
 */
const char *csc_reset_afresh(struct csc_builder *b, const csc_plan *plan,
                             const csc_plan_item *item, int32_t resumes,
                             const char *meta);
const char *csc_reset_name(const csc_plan *plan);
const char *csc_reset_refusal_text(struct csc_builder *b, csc_refusal refusal);
/* The record of the receipt that supersedes what the plan says. */
const char *csc_reset_write_receipt(struct csc_builder *b, const csc_plan *plan,
                                    int32_t receipt);
/* The row of an heir, and that of a signal that is received once more. */
void csc_reset_add_heir(struct csc_builder *b, const csc_plan *plan,
                        const csc_plan_item *item, int32_t receipt);
void csc_reset_add_signal(struct csc_builder *b, const csc_plan_item *item,
                          int32_t receipt, uint32_t nth);
/* Ends what is RUNNING, unless it stands. */
void csc_reset_close(struct csc_builder *b, const csc_plan *plan,
                     const csc_exec *exec, int32_t receipt);

/* ---- reset_slice.c ----------------------------------------------------- */

/* The first slice of one that is not carried out at once; true when it is such
 * a message. It is not received then. */
bool csc_reset_begin(struct csc_builder *b, const csc_message *message);
/* The next one. */
void csc_reset_go_on(struct csc_builder *b);
/* How many rows a retry or a rerun inserts besides its own. */
size_t csc_reset_room(const csc_build_env *env);

/* ---- child.c ------------------------------------------------------ */

/* The parts of the children that a post starts. */
void csc_child_add_starts(struct csc_builder *b, const csc_post *post,
                          const csc_exec *parent);
/* A child has ended; true when the message tells that. */
bool csc_child_add_end(struct csc_builder *b, const csc_message *message);
/* A cancellation reaches a child that runs. */
void csc_child_add_cancel(struct csc_builder *b, const csc_exec *child);
/* A message to another cascade. */
void csc_builder_send(struct csc_builder *b,
                      const cascade_message_row *message);
/* The record of a child that has ended; `result` may be NULL. */
const char *csc_builder_child_ended(struct csc_builder *b,
                                    const cascade_uuid *child,
                                    cascade_child_end policy,
                                    const char *result, bool failed);
/* An execution completed with this: its output may be the cascade's result. */
void csc_child_note_result(struct csc_builder *b, const csc_exec *exec,
                           const csc_effects *effects);

/* ---- family_end.c ------------------------------------------------------ */

/* A parent asks once when it is cancelled, and once when it ends. */
void csc_builder_ask_child(struct csc_builder *b, const cascade_uuid *child,
                           cascade_child_end policy, bool ended);
/* The rest of the children of a cascade that has ended is to be told; true when
 * the message says that. */
bool csc_family_end_add(struct csc_builder *b, const csc_message *message);
/* What the end of the cascade means to its children and its parent. */
void csc_family_end_finish(struct csc_builder *b);

/* ---- external.c --------------------------------------------------- */

/* The row of a new execution of that node, whose completion comes from outside,
 * if it does: where it can begin to wait at once, its record; else NULL. */
const char *csc_external_spawn(struct csc_builder *b, const csc_spawn *spawn,
                               cascade_execution_row *row);
/* An execution that was to begin waits for its completion from outside. */
void csc_external_wait(struct csc_builder *b, const csc_post *post,
                       const csc_exec *exec);
/* An execution is completed from outside; true when the message tells that. */
bool csc_external_completion(struct csc_builder *b, const csc_message *message);
/* How many rows besides its own a message may insert. */
size_t csc_external_message_room(const csc_message *messages, size_t *events);
/* ---- next_run.c ------------------------------------------------------- */

/* The post by which the cascade continues as new, NULL without one. */
const csc_post *csc_next_run_add(const csc_state *state, const csc_post *posts);
/* The change that starts the next run. */
cascade_err csc_next_run_of(const csc_build_env *env, const csc_state *state,
                            const csc_next_run *next, const cascade_change *own,
                            cascade_change *change);
/* Sends a message on to the next run of a cascade that has ended so; false when
 * it is for this one. */
bool csc_next_run_forward(struct csc_builder *b, const csc_message *message);
/* Keeps a run that continued after its deletion was asked for; false when it is
 * to be deleted. */
bool csc_next_run_keep(struct csc_builder *b, const csc_message *message);
/* What the cascade was started with: a text, in the arena; NULL without it. */
const char *csc_builder_meta_text(const csc_build_env *env,
                                  const csc_state *state, const char *member);
/* What limits of its queue go by; NULL: nothing that can be. */
const char *csc_builder_limit_key(const csc_build_env *env,
                                  const csc_state *state);
/* The cascade's own queue. */
const char *csc_builder_queue(const csc_build_env *env, const csc_state *state);

/* ---- message.c ---------------------------------------------------- */

/* The rows of the messages of a RECEIVE post; nothing for other posts. */
void csc_message_receive(struct csc_builder *b, const csc_post *post);
/* An await that has just been inserted RUNNING: where there is a signal for it
 * the row becomes COMPLETED. Nothing for other waits. */
bool csc_message_take_signal(struct csc_builder *b, cascade_execution_row *row);
/* Whether the post is about an execution that has ended otherwise meanwhile. */
bool csc_message_is_late(const struct csc_builder *b, const csc_post *post,
                         const csc_exec *exec);
/* The row of a message, COMPLETED. */
cascade_execution_row *csc_builder_receipt(struct csc_builder *b,
                                           const csc_message *message,
                                           const char *name);
/* {"at":n}, and {"at":n,"continue":true} of what is no end of the cascade. */
const char *csc_builder_at(struct csc_builder *b, bool continued);
/* Makes a receipt FAILED, without effect on the cascade. */
void csc_builder_undelivered(struct csc_builder *b, cascade_execution_row *row,
                             const char *error);
/* An execution that was there has ended in this change. */
void csc_builder_note_ended(struct csc_builder *b, const csc_exec *exec);
/* The updated_at of the cascade. */
int64_t csc_builder_written_at(const struct csc_builder *b);

/* How many executions the cascade may still have before it has to end. */
int64_t csc_builder_ids_left(const csc_state *state);

#endif
