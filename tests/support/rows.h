/* SPDX-License-Identifier: MIT
 *
 * Builders of rows and changes, for tests that talk to a store driver. What is
 * not said is filled in with something valid; a test changes what it is about:
 *
 *     cascade_change *start = rows_start(&rows, rows_id(&rows));
 *     start->run.priority = 7;
 *     rows_event(&rows, start, 0, "key", "[1]");
 *
 * Everything built belongs to `rows` until rows_clear() or rows_fini(). Running
 * out of memory ends the test program.
 */
#ifndef TESTS_SUPPORT_ROWS_H
#define TESTS_SUPPORT_ROWS_H

#include <stdint.h>

#include "base/data/arena.h"
#include "cascade/store.h"

typedef struct test_rows {
    csc_arena arena;
    uint64_t random; /* the state of the generator: never 0 */
    int64_t now_ms;  /* what new rows have as their times */
} test_rows;

/* The seed is random, or CASCADE_TEST_SEED, and is printed once. */
uint64_t rows_seed(void);

void rows_init(test_rows *rows, uint64_t seed, int64_t now_ms);
void rows_clear(test_rows *rows);
void rows_fini(test_rows *rows);

uint64_t rows_random(test_rows *rows);
/* 0 to below - 1. */
size_t rows_below(test_rows *rows, size_t below);
/* A new id; ascending in no order. */
cascade_uuid rows_id(test_rows *rows);
char *rows_text(test_rows *rows, const char *format, ...) CASCADE_PRINTF(2, 3);

/* A start: cascade RUNNING with fn_id 0, user "user", execution 0 of node
 * "first", a free run of queue "default" that is due. */
cascade_change *rows_start(test_rows *rows, cascade_uuid id);
/* A start whose run is owned from birth. */
cascade_change *rows_start_owned(test_rows *rows, cascade_uuid id,
                                 cascade_uuid engine_id);
/* A write: cascade RUNNING with `fn_id`, run KEEP, nothing else. */
cascade_change *rows_write(test_rows *rows, cascade_uuid id, int32_t fn_id);

/* Adds an execution RUNNING with input {}. Valid until the next one. */
cascade_execution_row *rows_insert(test_rows *rows, cascade_change *change,
                                   int32_t function_id, const char *node);
/* Adds an update to COMPLETED with `full_output`. Valid until the next one. */
cascade_execution_row *rows_update(test_rows *rows, cascade_change *change,
                                   int32_t function_id,
                                   const char *full_output);
/* Adds an event. Valid until the next one. */
cascade_event_row *rows_event(test_rows *rows, cascade_change *change,
                              int32_t function_id, const char *key,
                              const char *value);

/* A message of kind "signal" and name "go" with payload {}. */
cascade_message_row *rows_message(test_rows *rows, cascade_uuid to,
                                  const char *path);
/* Adds a copy of `message` to what the change sends. */
void rows_send(test_rows *rows, cascade_change *change,
               const cascade_message_row *message);
/* Adds the id of a message that the change received. */
void rows_receive(test_rows *rows, cascade_change *change, int64_t id);

/* The changes as one array, sorted by cascade id as a batch wants them. */
cascade_change *rows_changes(test_rows *rows, cascade_change **changes,
                             size_t count);

/* Submits starts alone. */
cascade_err rows_submit(const cascade_store_driver *driver, void *self,
                        const cascade_change *starts, size_t count,
                        bool *existed);

cascade_incarnation rows_incarnation(test_rows *rows, uint32_t lane_count,
                                     int64_t lease_ms);

#endif
