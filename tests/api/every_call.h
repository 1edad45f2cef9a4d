/* SPDX-License-Identifier: MIT
 *
 * Every public call with a handle, as it is refused in a child of the process
 * that made the handle. test_forked.c compares the names with what the headers
 * declare, so that none can be forgotten.
 */
#ifndef TESTS_API_EVERY_CALL_H
#define TESTS_API_EVERY_CALL_H

#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/postgres.h"
#include "cascade/sqlite.h"

typedef struct every_handle {
    cascade_store *store;
    cascade_engine *engine;
    cascade_cursor *cursor;
    cascade_node *node;
    cascade_uuid id;
} every_handle;

/* name, what it is with the handles `h`: CASCADE_ERR_MISUSE where refused. The
 * places of outputs are never written to. */
#define EVERY_STORE_CALL(X)                                                    \
    X(cascade_store_close, cascade_store_close(h->store))                      \
    X(cascade_store_now, cascade_store_now(h->store, &out.time))               \
    X(cascade_start, cascade_start(h->store, "pass", cJSON_CreateObject(),     \
                                   NULL, &out.started))                        \
    X(cascade_start_many,                                                      \
      cascade_start_many(h->store, &out.spec, 1, &out.started))                \
    X(cascade_start_with_signal,                                               \
      cascade_start_with_signal(h->store, "pass", cJSON_CreateObject(), NULL,  \
                                "go", cJSON_CreateObject(), NULL,              \
                                &out.started))                                 \
    X(cascade_wake, cascade_wake(h->store))                                    \
    X(cascade_signal,                                                          \
      cascade_signal(h->store, &h->id, "go", cJSON_CreateObject(), NULL))      \
    X(cascade_signal_key, cascade_signal_key(h->store, NULL, "k", "go",        \
                                             cJSON_CreateObject(), NULL))      \
    X(cascade_update, cascade_update(h->store, &h->id, "ask",                  \
                                     cJSON_CreateObject(), NULL, NULL))        \
    X(cascade_get_published,                                                   \
      cascade_get_published(h->store, &h->id, "it", &out.tree))                \
    X(cascade_start_text,                                                      \
      cascade_start_text(h->store, "pass", "{}", NULL, &out.started))          \
    X(cascade_start_with_signal_text,                                          \
      cascade_start_with_signal_text(h->store, "pass", "{}", NULL, "go", "{}", \
                                     NULL, &out.started))                      \
    X(cascade_signal_text,                                                     \
      cascade_signal_text(h->store, &h->id, "go", "{}", NULL))                 \
    X(cascade_signal_key_text,                                                 \
      cascade_signal_key_text(h->store, NULL, "k", "go", "{}", NULL))          \
    X(cascade_update_text,                                                     \
      cascade_update_text(h->store, &h->id, "ask", "{}", NULL, NULL))          \
    X(cascade_get_published_text,                                              \
      cascade_get_published_text(h->store, &h->id, "it", &out.document))       \
    X(cascade_cancel, cascade_cancel(h->store, &h->id, NULL))                  \
    X(cascade_terminate, cascade_terminate(h->store, &h->id, NULL))            \
    X(cascade_delete, cascade_delete(h->store, &h->id, NULL))                  \
    X(cascade_complete,                                                        \
      cascade_complete(h->store, &h->id, "i", "t", NULL, NULL))                \
    X(cascade_wait, cascade_wait(h->store, &h->id, 0, NULL))                   \
    X(cascade_wait_result,                                                     \
      cascade_wait_result(h->store, &h->id, 0, &out.outcome))                  \
    X(cascade_run_result,                                                      \
      cascade_run_result(h->store, "pass", cJSON_CreateObject(), NULL, 0,      \
                         &out.started, &out.outcome))                          \
    X(cascade_run_result_text,                                                 \
      cascade_run_result_text(h->store, "pass", "{}", NULL, 0, &out.started,   \
                              &out.outcome))                                   \
    X(cascade_get, cascade_get(h->store, &h->id, &out.info))                   \
    X(cascade_key_current, cascade_key_current(h->store, NULL, "k", &out.id))  \
    X(cascade_list, cascade_list(h->store, NULL, &out.page))                   \
    X(cascade_snapshot_load,                                                   \
      cascade_snapshot_load(h->store, &h->id, NULL, &out.snapshot))            \
    X(cascade_engine_open, cascade_engine_open(h->store, NULL, &out.engine))   \
    X(cascade_pause, cascade_pause(h->store, &h->id, NULL))                    \
    X(cascade_resume, cascade_resume(h->store, &h->id, NULL))                  \
    X(cascade_retry, cascade_retry(h->store, &h->id, NULL))                    \
    X(cascade_rerun, cascade_rerun(h->store, &h->id, NULL))                    \
    X(cascade_fork, cascade_fork(h->store, &h->id, NULL, &out.started))        \
    X(cascade_queue_pause, cascade_queue_pause(h->store, "default", NULL))     \
    X(cascade_queue_resume, cascade_queue_resume(h->store, "default"))         \
    X(cascade_queue_set, cascade_queue_set(h->store, "default", NULL, NULL))   \
    X(cascade_queue_get, cascade_queue_get(h->store, "default", NULL))         \
    X(cascade_queue_unset, cascade_queue_unset(h->store, "default"))           \
    X(cascade_request_many,                                                    \
      cascade_request_many(h->store, CASCADE_REQUEST_CANCEL, NULL, NULL))      \
    X(cascade_explain, cascade_explain(h->store, &h->id, &out.explanation))    \
    X(cascade_engine_list_load,                                                \
      cascade_engine_list_load(h->store, &out.engines))                        \
    X(cascade_queue_list_load, cascade_queue_list_load(h->store, &out.queues)) \
    X(cascade_counts_load, cascade_counts_load(h->store, &out.counts))         \
    X(cascade_migration_list,                                                  \
      cascade_migration_list(h->store, NULL, 0, &out.count))                   \
    X(cascade_store_migrate, cascade_store_migrate(h->store))                  \
    X(cascade_cursor_open, cascade_cursor_open(h->store, NULL, &out.cursor))   \
    X(cascade_verify, cascade_verify(h->store, NULL, &out.report))             \
    X(cascade_adopt, cascade_adopt(h->store, NULL, &out.report))               \
    X(cascade_seal_renew, cascade_seal_renew(h->store, NULL, &out.report))     \
    X(cascade_purge, cascade_purge(h->store, &out.purge, NULL))                \
    X(cascade_export, cascade_export(h->store, &h->id, NULL, &out.document))   \
    X(cascade_import, cascade_import(h->store, "{}", NULL, &out.started))

/* Those that cannot give an error do nothing, and say so as they can. */
#define EVERY_ENGINE_CALL(X)                                                   \
    X(cascade_engine_register,                                                 \
      cascade_engine_register(h->engine, "n", every_function, NULL, NULL))     \
    X(cascade_engine_register_guarded,                                         \
      cascade_engine_register_guarded(h->engine, "n", NULL, NULL, NULL, NULL)) \
    X(cascade_engine_register_external,                                        \
      cascade_engine_register_external(h->engine, "n", NULL))                  \
    X(cascade_engine_start, cascade_engine_start(h->engine))                   \
    X(cascade_engine_poll, cascade_engine_poll(h->engine, 0, NULL))            \
    X(cascade_engine_fd, every_misuse(cascade_engine_fd(h->engine) == -1))     \
    X(cascade_engine_timeout_ms,                                               \
      every_misuse(cascade_engine_timeout_ms(h->engine) > 0))                  \
    X(cascade_engine_request_stop,                                             \
      (cascade_engine_request_stop(h->engine), every_misuse(true)))            \
    X(cascade_engine_wait, cascade_engine_wait(h->engine, 0))                  \
    X(cascade_engine_stop, cascade_engine_stop(h->engine, 0))                  \
    X(cascade_engine_close, cascade_engine_close(h->engine))                   \
    X(cascade_engine_get_stats, cascade_engine_get_stats(h->engine, &out.now)) \
    X(cascade_cursor_next, cascade_cursor_next(h->cursor, 0, &out.news))       \
    X(cascade_cursor_close,                                                    \
      (cascade_cursor_close(h->cursor), every_misuse(true)))

#define EVERY_NODE_CALL(X)                                                     \
    X(cascade_node_store, cascade_node_store(h->node, &out.store))             \
    X(cascade_node_sqlite, cascade_node_sqlite(h->node, &out.db))              \
    X(cascade_node_postgres, cascade_node_postgres(h->node, &out.conn))        \
    X(cascade_node_input, every_misuse(cascade_node_input(h->node) == NULL))   \
    X(cascade_node_get, cascade_node_get(h->node, "k", &out.seen))             \
    X(cascade_node_history, cascade_node_history(h->node, "k", &out.seen))     \
    X(cascade_node_history_part,                                               \
      cascade_node_history_part(h->node, "k", 0, 1, &out.seen, NULL))          \
    X(cascade_node_put, cascade_node_put(h->node, "k", cJSON_CreateObject()))  \
    X(cascade_node_put_ui,                                                     \
      cascade_node_put_ui(h->node, "k", cJSON_CreateObject(),                  \
                          cJSON_CreateObject()))                               \
    X(cascade_node_put_text, cascade_node_put_text(h->node, "k", "{}", NULL))  \
    X(cascade_node_output, cascade_node_output(h->node, cJSON_CreateObject())) \
    X(cascade_node_spawn,                                                      \
      cascade_node_spawn(h->node, "n", cJSON_CreateObject(), NULL))            \
    X(cascade_node_outcomes, cascade_node_outcomes(h->node, &out.seen))        \
    X(cascade_node_step,                                                       \
      cascade_node_step(h->node, "s", every_step, NULL, NULL, NULL))           \
    X(cascade_node_program,                                                    \
      cascade_node_program(h->node, "s", &out.program, NULL, NULL))            \
    X(cascade_node_get_text, cascade_node_get_text(h->node, "k", &out.text))   \
    X(cascade_node_history_text,                                               \
      cascade_node_history_text(h->node, "k", &out.text))                      \
    X(cascade_node_history_part_text,                                          \
      cascade_node_history_part_text(h->node, "k", 0, 1, &out.text, NULL))     \
    X(cascade_node_output_text, cascade_node_output_text(h->node, "{}"))       \
    X(cascade_node_spawn_text,                                                 \
      cascade_node_spawn_text(h->node, "n", "{}", NULL))                       \
    X(cascade_node_outcomes_text,                                              \
      cascade_node_outcomes_text(h->node, &out.text))                          \
    X(cascade_node_step_text,                                                  \
      cascade_node_step_text(h->node, "s", every_step, NULL, NULL, NULL))      \
    X(cascade_node_step_result_text,                                           \
      cascade_node_step_result_text(h->node, "{}"))                            \
    X(cascade_node_program_text,                                               \
      cascade_node_program_text(h->node, "s", &out.program, NULL, NULL))       \
    X(cascade_node_await_text, cascade_node_await_text(h->node, "a", 0, NULL)) \
    X(cascade_node_await_update_text,                                          \
      cascade_node_await_update_text(h->node, "u", 0, NULL, &out.text))        \
    X(cascade_node_answer_text,                                                \
      cascade_node_answer_text(h->node, "u/t", "{}"))                          \
    X(cascade_node_publish_text,                                               \
      cascade_node_publish_text(h->node, "p", "{}"))                           \
    X(cascade_node_start_child_text,                                           \
      cascade_node_start_child_text(h->node, "c", "n", "{}", NULL, &out.id))   \
    X(cascade_node_start_children_text,                                        \
      cascade_node_start_children_text(h->node, "c", "n", &out.text, 1, NULL,  \
                                       &out.id))                               \
    X(cascade_node_await_child_text,                                           \
      cascade_node_await_child_text(h->node, &h->id, NULL))                    \
    X(cascade_node_compensate_text,                                            \
      cascade_node_compensate_text(h->node, "u", every_undo, "{}", NULL))      \
    X(cascade_node_heartbeat_text, cascade_node_heartbeat_text(h->node, "{}")) \
    X(cascade_node_progress_text,                                              \
      cascade_node_progress_text(h->node, &out.text))                          \
    X(cascade_node_continue_as_new_text,                                       \
      cascade_node_continue_as_new_text(h->node, NULL, "{}"))                  \
    X(cascade_node_sleep, cascade_node_sleep(h->node, "z", 1))                 \
    X(cascade_node_sleep_until, cascade_node_sleep_until(h->node, "z", 1))     \
    X(cascade_node_await, cascade_node_await(h->node, "a", 0, NULL))           \
    X(cascade_node_await_update,                                               \
      cascade_node_await_update(h->node, "u", 0, NULL, &out.text))             \
    X(cascade_node_answer,                                                     \
      cascade_node_answer(h->node, "u/t", cJSON_CreateObject()))               \
    X(cascade_node_publish,                                                    \
      cascade_node_publish(h->node, "p", cJSON_CreateObject()))                \
    X(cascade_node_start_child,                                                \
      cascade_node_start_child(h->node, "c", "n", cJSON_CreateObject(), NULL,  \
                               &out.id))                                       \
    X(cascade_node_start_children,                                             \
      cascade_node_start_children(h->node, "c", "n", &out.tree, 1, NULL,       \
                                  &out.id))                                    \
    X(cascade_node_await_child,                                                \
      cascade_node_await_child(h->node, &h->id, NULL))                         \
    X(cascade_node_await_children, cascade_node_await_children(h->node))       \
    X(cascade_node_result, cascade_node_result(h->node, cJSON_CreateTrue()))   \
    X(cascade_node_result_text, cascade_node_result_text(h->node, "{}"))       \
    X(cascade_node_now, cascade_node_now(h->node, "n", &out.time))             \
    X(cascade_node_random, cascade_node_random(h->node, "n", &out.random))     \
    X(cascade_node_uuid, cascade_node_uuid(h->node, "n", &out.id))             \
    X(cascade_node_version,                                                    \
      cascade_node_version(h->node, "v", 0, 1, &out.number))                   \
    X(cascade_node_compensate,                                                 \
      cascade_node_compensate(h->node, "u", every_undo, NULL, NULL))           \
    X(cascade_node_is_cancelled,                                               \
      every_misuse(cascade_node_is_cancelled(h->node)))                        \
    X(cascade_node_heartbeat,                                                  \
      cascade_node_heartbeat(h->node, cJSON_CreateObject()))                   \
    X(cascade_node_progress, cascade_node_progress(h->node, &out.seen))        \
    X(cascade_node_fail, cascade_node_fail(h->node, "no"))                     \
    X(cascade_node_error, cascade_node_error(h->node, "no"))                   \
    X(cascade_node_continue_as_new,                                            \
      cascade_node_continue_as_new(h->node, NULL, NULL))

#define EVERY_CALL(X) \
    EVERY_STORE_CALL(X) EVERY_ENGINE_CALL(X) EVERY_NODE_CALL(X)

#endif
