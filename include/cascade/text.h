/* SPDX-License-Identifier: MIT
 *
 * JSON as text, and integers of 64 bits. Part of cascade.h, whose head has the
 * words and the rules for threads, ownership and errors; including either of
 * the two is the same.
 *
 * TEXT FORMS
 *   NAME_text() is NAME() with its JSON as text, and the same call else: what
 *   is said of NAME() holds, and these rules.
 *     in   `const char *`: JSON as TEXTS at the head of cascade.h says, ended
 *          by a NUL. It is copied. NULL is CASCADE_ERR_INVALID: give "{}" where
 *          nothing is to be said. (To NAME() NULL is {}, also where it comes of
 *          a cJSON_Parse() that has failed: hand in the text instead.) What is
 *          not acceptable is CASCADE_ERR_JSON, or _TOO_LARGE, at the call, of
 *          which nothing is done then; cascade_errmsg() names the argument, the
 *          byte (from 0) and what is wrong, never what stands there.
 *     out  Canonical JSON, where NAME() gives a tree; NULL where that gives
 *          NULL. From a node `const char **`: it belongs to the node until its
 *          function returns. From a store `char **`: the caller frees it with
 *          cascade_text_free().
 *   Options and elements have a member NAME_text beside NAME; at most one of
 *   the two is given. What other calls give as text (cascade_node_input_text(),
 *   snapshots) is canonical JSON too.
 *
 * INTEGERS
 *   No number is read on its way through the library: as text each digit stays,
 *   and as 1e2 is the same number as 100, that is what is kept of it.
 *   cJSON has a double for each number, which holds integers up to 2^53. So
 *   cJSON_Parse() has changed 9007199254740993 before the library sees it, and
 *   cJSON_Print() prints what the double is: use the text forms, or the calls
 *   below. A tree that the library hands out has, in the valuestring of such a
 *   number, its digits; they stay with it in cJSON_Duplicate(), and are what is
 *   kept when it is handed in again, as long as its double is not set to
 *   another.
 */
#ifndef CASCADE_TEXT_H
#define CASCADE_TEXT_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees what a text form has given. NULL is accepted. */
CASCADE_API void cascade_text_free(char *text);

/* ---- From outside -------------------------------------------------------- */

CASCADE_API cascade_err cascade_start_text(cascade_store *store,
                                           const char *node, const char *text,
                                           const cascade_start_options *options,
                                           cascade_started *started);
CASCADE_API cascade_err cascade_run_result_text(
    cascade_store *store, const char *node, const char *text,
    const cascade_start_options *options, int64_t timeout_ms,
    cascade_started *started, cascade_outcome **outcome);
CASCADE_API cascade_err cascade_start_with_signal_text(
    cascade_store *store, const char *node, const char *input,
    const cascade_start_options *start_options, const char *name,
    const char *payload, const cascade_signal_options *signal_options,
    cascade_started *started);
CASCADE_API cascade_err cascade_signal_text(
    cascade_store *store, const cascade_uuid *id, const char *name,
    const char *text, const cascade_signal_options *options);
CASCADE_API cascade_err cascade_signal_key_text(
    cascade_store *store, const char *user_id, const char *key,
    const char *name, const char *text, const cascade_signal_options *options);
CASCADE_API cascade_err cascade_update_text(
    cascade_store *store, const cascade_uuid *id, const char *name,
    const char *request, const cascade_update_options *options, char **answer);
CASCADE_API cascade_err cascade_get_published_text(cascade_store *store,
                                                   const cascade_uuid *id,
                                                   const char *name,
                                                   char **value);

/* ---- The node side: what it reads ---------------------------------------- */

CASCADE_API cascade_err cascade_node_get_text(cascade_node *node,
                                              const char *key,
                                              const char **value);
CASCADE_API cascade_err cascade_node_history_text(cascade_node *node,
                                                  const char *key,
                                                  const char **values);
CASCADE_API cascade_err cascade_node_history_part_text(
    cascade_node *node, const char *key, int64_t begin, size_t limit,
    const char **values, size_t *count);
CASCADE_API cascade_err cascade_node_outcomes_text(cascade_node *node,
                                                   const char **outcomes);
CASCADE_API cascade_err cascade_node_progress_text(cascade_node *node,
                                                   const char **progress);

/* ---- The node side: what it makes ---------------------------------------- */

/* `ui_text` may be NULL: no other form. */
CASCADE_API cascade_err cascade_node_put_text(cascade_node *node,
                                              const char *key, const char *text,
                                              const char *ui_text);
CASCADE_API cascade_err cascade_node_output_text(cascade_node *node,
                                                 const char *output);
CASCADE_API cascade_err cascade_node_result_text(cascade_node *node,
                                                 const char *result);
CASCADE_API cascade_err cascade_node_spawn_text(
    cascade_node *node, const char *node_name, const char *input,
    const cascade_spawn_options *options);
CASCADE_API cascade_err cascade_node_publish_text(cascade_node *node,
                                                  const char *name,
                                                  const char *value);
CASCADE_API cascade_err cascade_node_heartbeat_text(cascade_node *node,
                                                    const char *progress);
CASCADE_API cascade_err cascade_node_continue_as_new_text(
    cascade_node *node, const char *first_node, const char *input);
CASCADE_API cascade_err cascade_node_compensate_text(
    cascade_node *node, const char *name, cascade_undo_fn undo,
    const char *input, const cascade_step_options *options);

/* ---- The node side: steps ------------------------------------------------ */

/* The result as it is recorded. `fn` may give its own either way. */
CASCADE_API cascade_err cascade_node_step_text(
    cascade_node *node, const char *name, cascade_step_fn fn, void *arg,
    const cascade_step_options *options, const char **result);
CASCADE_API cascade_err cascade_node_program_text(
    cascade_node *node, const char *name, const cascade_program *program,
    const cascade_step_options *options, const char **result);

/* Inside a step: sets its result; the last call counts, and a tree that its
 * function gives counts instead. CASCADE_ERR_MISUSE elsewhere, in a
 * compensation too, which has none. */
CASCADE_API cascade_err cascade_node_step_result_text(cascade_node *node,
                                                      const char *result);

/* ---- The node side: waits and children ----------------------------------- */

CASCADE_API cascade_err cascade_node_await_text(cascade_node *node,
                                                const char *name,
                                                int64_t timeout_ms,
                                                const char **payload);
CASCADE_API cascade_err cascade_node_await_update_text(cascade_node *node,
                                                       const char *name,
                                                       int64_t timeout_ms,
                                                       const char **request,
                                                       const char **ticket);
CASCADE_API cascade_err cascade_node_answer_text(cascade_node *node,
                                                 const char *ticket,
                                                 const char *answer);
CASCADE_API cascade_err cascade_node_start_child_text(
    cascade_node *node, const char *name, const char *child_node,
    const char *input, const cascade_child_options *options, cascade_uuid *id);
CASCADE_API cascade_err cascade_node_start_children_text(
    cascade_node *node, const char *name, const char *child_node,
    const char *const *inputs, size_t count,
    const cascade_child_options *options, cascade_uuid *ids);
CASCADE_API cascade_err cascade_node_await_child_text(cascade_node *node,
                                                      const cascade_uuid *id,
                                                      const char **result);

/* ---- Integers ------------------------------------------------------------ */

/* A number of exactly that value, to be put into a tree; NULL when out of
 * memory. The caller frees it with cJSON_Delete(), or the tree does. */
CASCADE_API cJSON *cascade_json_create_int64(int64_t value);

/* Adds one to `object` under `name`. CASCADE_ERR_INVALID: `object` is none, or
 * `name` is NULL. */
CASCADE_API cascade_err cascade_json_add_int64(cJSON *object, const char *name,
                                               int64_t value);

/* Reads the integer that `item` is; any tree will do. CASCADE_ERR_NOT_FOUND:
 * `item` is NULL, as cJSON gives it for a member that is not there.
 * CASCADE_ERR_JSON: it is no number, or none that is an integer of 64 bits, or
 * it would have to be guessed: of a number beyond 2^53 only a double is left,
 * as cJSON_Parse() and cJSON_CreateNumber() leave it. */
CASCADE_API cascade_err cascade_json_get_int64(const cJSON *item,
                                               int64_t *value);

#ifdef __cplusplus
}
#endif

#endif
