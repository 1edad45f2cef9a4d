/* SPDX-License-Identifier: MIT
 *
 * What the files of the scenarios share: parts of plays, and the plays that are
 * not in the file of the table.
 */
#ifndef TESTS_SWEEP_PLAYS_H
#define TESTS_SWEEP_PLAYS_H

#include "sweep/scene.h"

/* ---- Parts: scenarios.c -------------------------------------------------- */

extern const scene_message plays_first_news;
extern const scene_message plays_second_news;

cascade_err plays_open_both(scene *s, cascade_store **store,
                            cascade_engine **engine);
/* A cascade of `node`, and that many polls. */
cascade_err plays_begin(scene *s, cascade_store **store, const char *node,
                        int polls);
/* Mends a play whose message may not have been sent. */
void plays_send_again(scene *s, cascade_store *store,
                      const scene_message *message);
/* The same with both of those above. */
void plays_send_both(scene *s, cascade_store *store);

/* ---- Commands: scenarios_commands.c -------------------------------------- */

cascade_err plays_cancel(scene *s);
cascade_err plays_cancel_parked(scene *s);
cascade_err plays_terminate(scene *s);
cascade_err plays_delete(scene *s);
cascade_err plays_delete_alone(scene *s);
cascade_err plays_care(scene *s);
cascade_err plays_cancel_many(scene *s);
cascade_err plays_leave_family(scene *s);
cascade_err plays_terminate_family(scene *s);
cascade_err plays_delete_family(scene *s);
cascade_err plays_retry(scene *s);
cascade_err plays_rerun(scene *s);
cascade_err plays_rerun_signals(scene *s);
cascade_err plays_pause(scene *s);
cascade_err plays_queue_pause(scene *s);
cascade_err plays_queue_limits(scene *s);
void plays_cancel_again(scene *s, cascade_store *store);
void plays_terminate_again(scene *s, cascade_store *store);
void plays_delete_again(scene *s, cascade_store *store);
void plays_resume_again(scene *s, cascade_store *store);
void plays_resume_queue_again(scene *s, cascade_store *store);

/* ---- Integrity: scenarios_sealed.c --------------------------------------- */

cascade_err plays_sealed(scene *s);
void plays_look_at_seals(scene *s, cascade_store *store);

#endif
