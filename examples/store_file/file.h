/* SPDX-License-Identifier: MIT
 *
 * The handle of the file store, and what all of its moves begin and end with.
 */
#ifndef STORE_FILE_FILE_H
#define STORE_FILE_FILE_H

#include <cascade/store.h>
#include <pthread.h>
#include <stdatomic.h>

#include "table.h"

typedef struct file_store {
    char path[1024];
    char boot[64];
    const cascade_store_config *config;
    int lock_fd;
    _Atomic uint64_t *wakes; /* in PATH.lock */
    _Atomic uint64_t seen;   /* by waiters that keep none */
    pthread_mutex_t mutex;   /* guards rows; with it, PATH.lock is held */
    state rows;              /* as they are in PATH, or were */
} file_store;

int64_t file_wall_ms(const file_store *f);
int64_t file_monotonic_ms(const file_store *f);
/* Not the injected clock: for waiting. */
int64_t file_real_ms(void);
int64_t file_add_ms(int64_t at_ms, int64_t ms);

/* ---- A move ------------------------------------------------------------- */

/* Until the file is ours alone; rows are as they were. */
cascade_err file_lock(file_store *f);
/* Gives `err` back, as all that end do. */
cascade_err file_end_read(file_store *f, cascade_err err);
cascade_err file_begin_read(file_store *f);
/* A move that writes works on `next`. */
cascade_err file_begin_write(file_store *f, state *next);
/* Where the move is an error, or has changed nothing, the copy goes. */
cascade_err file_end_write(file_store *f, state *next, cascade_err err,
                           bool changed);
cascade_err file_fail_fenced(const char *move);

/* ---- Looking ------------------------------------------------------------ */

row_key file_key(const cascade_uuid *id, int64_t first, int64_t second);
cascade_row *find_cascade(const state *s, const cascade_uuid *id);
cascade_run_row *find_run(const state *s, const cascade_uuid *id);
cascade_execution_row *find_execution(const state *s, const cascade_uuid *id,
                                      int32_t function_id);
engine_row *find_engine(const state *s, const cascade_uuid *id);
/* The place of the first row whose key begins with `id`. */
size_t first_of(const state *s, int which, const cascade_uuid *id);
/* Goes on from `*at` through those; NULL behind the last. */
void *next_of(const state *s, int which, const cascade_uuid *id, size_t *at);
/* 0 of NULL. */
size_t length(const char *text);
bool has_execution(const state *s, const char *path);
/* A message or an execution has it. */
bool is_taken(const state *s, const char *path);

/* ---- The moves: claim.c, write.c, read.c, store_file.c ------------------ */

cascade_err file_claim(void *self, const cascade_claim *claim,
                       cascade_claimed *claimed, cascade_claim_result *result);
cascade_err file_commit(void *self, const cascade_batch *batch, bool *existed);
cascade_err file_settle(void *self, const cascade_uuid *engine_id,
                        uint32_t index, int64_t number, bool *committed);
cascade_err file_submit(void *self, const cascade_submission *submission);
cascade_err file_load(void *self, const cascade_uuid *ids, size_t count,
                      unsigned parts, const cascade_load_sink *sink);
cascade_err file_list(void *self, const cascade_query *query,
                      cascade_list_sink sink, void *context);
cascade_err file_scan(void *self, const cascade_scan *scan,
                      const cascade_load_sink *sink);
cascade_err file_receive(void *self, const cascade_receive *receive,
                         cascade_message_sink sink, void *context);
cascade_err file_wake(void *self);

#endif
