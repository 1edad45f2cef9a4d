/* SPDX-License-Identifier: MIT
 *
 * The seal of a cascade: by it an edit of its rows is found. Pure: rows in, a
 * text out; no store, clock or randomness.
 *
 *   term      a keyed hash of a row. An execution has two: of what never
 *             changes (STILL), and of status, full_output, error, completed_at
 *             (MOVING). An event has one.
 *   sum       of the terms of all rows that the cascade has now, as numbers of
 *             256 bits. A commit adds the terms of what it inserts. Of an
 *             execution that it updates it takes the old moving term away, and
 *             adds the new one. So a commit costs by its own rows.
 *   tag       a keyed hash of the cascade's row, the seal's number and the sum
 *   seal      number, 1 at first, one more with each commit of the cascade; and
 *             KIND:KEY:SUM:TAG, where SUM is masked by a keyed hash of the tag
 *
 * Who has updated an execution knows its moving term: while it is RUNNING the
 * term is kept beside the state (`open`), and one that has ended is never
 * updated again. Nothing is read for it.
 *
 * KINDS
 *   "c1"  checksum: SipHash-2-4-128 with a key that everybody knows, KEY is
 *         empty. It finds accidents, and edits by hand.
 *   "h1"  HMAC-SHA-256 with a secret, by the id KEY. It finds what somebody
 *         does who may write the tables, but has not the secret.
 *
 * WHY A SUM HOLDS
 *   Each term names cascade and function_id, and what else it is of, so a term
 *   of one place fits no other. Who does not know the secret knows no term, and
 *   would have to guess a sum of 256 bits. Differences of sums that were seen
 *   would be terms; they are not seen, as each sum is masked by a hash of its
 *   own tag, which is another for other contents (a synthetic nonce, as in
 *   RFC 5297: what is made twice with the same contents is the same text).
 *
 * WHAT IS IN IT
 *   All columns of the three tables but the ids of events, which the store
 *   gives out and the writer does not know. The place of an event among those
 *   of its function_id is in it instead, so that they cannot change places:
 *   whoever writes the events of an execution knows how many it has, since it
 *   is RUNNING until then. The times of executions and of cascades are in it by
 *   the millisecond, those of events by the microsecond.
 *   A message has a tag of its own, made by its sender. Runs, keys and what
 *   else dispatches is not in it: that follows from the rows, or harms nobody.
 *
 * WHAT IT DOES NOT FIND
 *   A cascade that is deleted together with its seal, or restored with it to
 *   what it was; a message that is deleted. The first two are found by who
 *   keeps numbers elsewhere.
 */
#ifndef CSC_STORE_SEAL_H
#define CSC_STORE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/digest/hmac.h"
#include "cascade/cascade.h"
#include "cascade/integrity.h"
#include "cascade/rows.h"
#include "cascade/store.h"

#define CSC_SEAL_KEY_ID_MAX CASCADE_SECRET_ID_MAX
#define CSC_SEAL_SECRET_MIN CASCADE_SECRET_MIN
/* The longest text of a seal, and of a message's, with their NUL. */
#define CSC_SEAL_TEXT_SIZE (CSC_SEAL_KEY_ID_MAX + 2 * (2 * 32 + 1) + 5)

/* What rows are hashed with. Holds a secret: csc_seal_key_fini(). */
typedef struct csc_seal_key {
    char id[CSC_SEAL_KEY_ID_MAX + 1]; /* "" of checksums */
    bool secret;                      /* hmac; else checksum */
    csc_hmac_key hmac;
} csc_seal_key;

/* 256 bits, the lowest word first. */
typedef struct csc_seal_sum {
    uint64_t words[4];
} csc_seal_sum;

/* What is known of an execution that is RUNNING. */
typedef struct csc_seal_live {
    csc_seal_sum term;    /* the moving one */
    uint64_t event_count; /* others may have written some */
} csc_seal_live;

/* That of a cascade as it is in the tables. */
typedef struct csc_seal {
    const csc_seal_key *key; /* whoever made it keeps it */
    cascade_uuid id;
    int64_t number; /* of the last commit; 0: none yet */
    csc_seal_sum sum;
    csc_map open;              /* function_id -> csc_seal_live */
    int32_t event_function_id; /* of the last event that was added */
    uint64_t event_count;      /* that it has so far; 0: there was none */
} csc_seal;

/* Its row as a load has given it. */
typedef struct csc_seal_kept {
    int64_t number;
    char text[CASCADE_SEAL_MAX + 1];
    bool found; /* one came */
} csc_seal_kept;

/* What the seal becomes by a commit; its parts lie in an arena, and the change
 * stays until it is applied. */
typedef struct csc_seal_turn {
    int32_t function_id;
    bool open; /* RUNNING, with that moving term; else ended */
    csc_seal_sum term;
} csc_seal_turn;

typedef struct csc_seal_next {
    const char *text;
    int64_t number;
    csc_seal_sum sum;
    const csc_seal_turn *turns;
    size_t turn_count;
    const cascade_change *change; /* whose events count then */
} csc_seal_next;

/* ---- Keys ---------------------------------------------------------------- */

void csc_seal_key_checksum(csc_seal_key *key);
/* `id` is 1-CSC_SEAL_KEY_ID_MAX of [A-Za-z0-9._-], and the secret has
 * CSC_SEAL_SECRET_MIN bytes or more: CASCADE_ERR_INVALID. */
cascade_err csc_seal_key_secret(csc_seal_key *key, const char *id,
                                const void *secret, size_t len);
void csc_seal_key_fini(csc_seal_key *key);

/* Which key a text was made with: false where it is no text of a seal or of a
 * message. `id` has room for CSC_SEAL_KEY_ID_MAX bytes and the NUL. */
bool csc_seal_text_key(const char *text, bool *secret, char *id);

/* ---- Rows ---------------------------------------------------------------- */

/* A cascade without rows. */
void csc_seal_init(csc_seal *seal, const csc_seal_key *key,
                   const cascade_uuid *id);
void csc_seal_fini(csc_seal *seal);

/* What it has of the heap; of what is RUNNING, so it moves with the state. */
size_t csc_seal_bytes(const csc_seal *seal);

void csc_seal_keep(csc_seal_kept *kept, const cascade_seal_row *row);

/* Rows as they are in the tables: executions in any order, events in that of a
 * load. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_seal_add_execution(csc_seal *seal,
                                   const cascade_execution_row *row);
void csc_seal_add_event(csc_seal *seal, const cascade_event_row *row);
/* Without the sum: an execution is RUNNING, and may be updated. For who has
 * taken the sum from the text. */
cascade_err csc_seal_note_execution(csc_seal *seal,
                                    const cascade_execution_row *row);

/* All rows were added: whether they are those that the text is of. Takes the
 * number. CASCADE_ERR_CORRUPT says what does not fit: the tag (the cascade's
 * row, or the seal's own), or the sum (other rows). */
cascade_err csc_seal_check(csc_seal *seal, const cascade_row *row,
                           int64_t number, const char *text);
/* Not all rows were read: checks the tag alone, and takes number and sum. */
cascade_err csc_seal_open(csc_seal *seal, const cascade_row *row,
                          int64_t number, const char *text);

/* ---- Commits ------------------------------------------------------------- */

/* What the seal becomes by a change of this cascade, of which nothing is
 * changed yet. `row` is its row as it will be. CASCADE_ERR_NO_MEMORY;
 * CASCADE_ERR_CORRUPT where an execution is updated that was not RUNNING. */
cascade_err csc_seal_make(const csc_seal *seal, const cascade_row *row,
                          const cascade_change *change, csc_arena *arena,
                          csc_seal_next *next);
/* It was committed. CASCADE_ERR_NO_MEMORY: the seal is of no use then. */
cascade_err csc_seal_apply(csc_seal *seal, const csc_seal_next *next);

/* ---- Messages ------------------------------------------------------------ */

/* The tag of a message, KIND:KEY:TAG; its id is not in it. `text` has
 * CSC_SEAL_TEXT_SIZE bytes. */
void csc_seal_make_message(const csc_seal_key *key,
                           const cascade_message_row *row, char *text);
/* CASCADE_ERR_CORRUPT. */
cascade_err csc_seal_check_message(const csc_seal_key *key,
                                   const cascade_message_row *row,
                                   const char *text);

#endif
