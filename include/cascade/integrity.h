/* SPDX-License-Identifier: MIT
 *
 * libcascade: integrity of records. Whoever may write the tables can edit,
 * delete and add rows behind the library's back; a store with integrity finds
 * that.
 *
 *   mode       what it costs             what it finds
 *   NONE       nothing                   rows that make no sense
 *   CHECKSUM   a row for each cascade    also accidents, and edits by hand
 *   HMAC       the same, and a secret    also what is done on purpose, by
 *                                        somebody who has not the secret
 *
 * Each cascade has a seal, which its engine writes in the same transaction as
 * the rows it is of. An engine that loads a cascade compares them. What does
 * not fit is set aside: nothing of it runs on, the log says why, and nothing is
 * mended by itself. A message that has no good seal is not received.
 * cascade_verify() looks at all of them, cascade_explain() at those of one.
 *
 * WHAT IS NOT FOUND: a cascade that is deleted together with its seal, or
 * restored with it to what it was, and a message that is deleted. Nor is the
 * order of runs in their queues, which harms no record. The first two are found
 * by who keeps a counter outside.
 *
 * A COUNTER OUTSIDE
 *   cascade_verify() tells of each cascade the number of its seal, which goes
 *   up with each commit, and the seal (`counted` of its options). Who keeps
 *   that where those who write the database cannot write shows it to a later
 *   verification (`known`), which finds what is gone since, what has a lower
 *   number, and what has another seal of the same number, unless that is by a
 *   key behind the one of what was counted: an engine may write it over a seal
 *   that was renewed while it took the cascade. That a cascade was deleted by a
 *   command, or by retention, is told too: no row is left that would say so.
 *   What is put back and has gone on beyond its number by then is not found,
 *   nor one that was deleted before it was counted.
 *
 * ANOTHER KEY
 *   What an engine has loaded goes on with the key that its seal had; what
 *   begins is sealed with key number 0. To go over to another key: give it as
 *   number 0, and the old one behind it, to all engines, one after another;
 *   then call cascade_seal_renew() until nothing is left, and leave the old one
 *   out.
 *
 * THE STORE'S OWN ROW
 *   The first handle with integrity writes down the mode in the database, if no
 *   cascade is there yet. From then on each handle that looks at the schema has
 *   to have the same mode, and the keys. Handles that were open before are not
 *   asked: close all of them first. Whatever is written by a handle without
 *   integrity, or by an older release, has no seal, and does not run. The SQL
 *   functions of PostgreSQL refuse where there is a mode.
 *
 *     options   in the database   cascade_store_open()
 *     NONE      nothing           as ever
 *     NONE      a mode            CASCADE_ERR_INVALID; with
 *                                 CASCADE_MIGRATE_NEVER it is not looked for
 *     a mode    nothing           enters it; CASCADE_ERR_INVALID where there
 *                                 are cascades without seals (but `begin` is
 *                                 ANY), or `begin` is NEVER
 *     a mode    the same          compares the key
 *     a mode    another           CASCADE_ERR_INVALID
 */
#ifndef CASCADE_INTEGRITY_H
#define CASCADE_INTEGRITY_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_SECRETS_MAX 16
#define CASCADE_SECRET_MIN 16 /* bytes; 32 random ones are as good as more */
#define CASCADE_SECRET_ID_MAX 64

typedef enum cascade_integrity_mode {
    CASCADE_INTEGRITY_NONE = 0,
    CASCADE_INTEGRITY_CHECKSUM,
    CASCADE_INTEGRITY_HMAC
} cascade_integrity_mode;

/* A key. Its id is in each seal that is made with it: 1-CASCADE_SECRET_ID_MAX
 * bytes of [A-Za-z0-9._-]. An id is never given to other bytes. */
typedef struct cascade_secret {
    const char *id;
    const void *bytes;
    size_t len; /* CASCADE_SECRET_MIN or more */
} cascade_secret;

/* Gives key number 0, 1, ... of a store. The first one makes new seals, the
 * others are those that older seals were made with. CASCADE_ERR_NOT_FOUND:
 * there are no more. Any other error ends the opening, with that error. Called
 * by the thread that opens the store, before that returns, and never later.
 * What it gives may go at the next call, or when the store was opened: the
 * library keeps no secret, only what it hashes with, and wipes that when the
 * store is closed. */
typedef cascade_err (*cascade_secret_fn)(void *context, size_t number,
                                         cascade_secret *secret);

/* Which databases without a mode a handle may enter its own in. */
typedef enum cascade_integrity_begin {
    CASCADE_INTEGRITY_BEGIN_EMPTY = 0, /* those without cascades */
    CASCADE_INTEGRITY_BEGIN_NEVER,     /* none: for who only looks */
    CASCADE_INTEGRITY_BEGIN_ANY        /* all; those that are there have no
                                          seals, and are set aside until
                                          cascade_seal_renew() makes some */
} cascade_integrity_begin;

/* What is counted of a cascade. */
typedef struct cascade_seal_count {
    cascade_uuid id;
    int64_t number;   /* of its seal */
    const char *seal; /* 1-255 bytes without blanks */
} cascade_seal_count;

/* Receives it, by ascending id; valid during the call. Return false to end the
 * call, which then returns CASCADE_ERR_STOPPED. */
typedef bool (*cascade_counted_fn)(void *context,
                                   const cascade_seal_count *count);
/* Gives the next that was received earlier, in the same order; what it points
 * at may go at the next call. CASCADE_ERR_NOT_FOUND: there are no more. Any
 * other error ends the call, with that error. */
typedef cascade_err (*cascade_known_fn)(void *context,
                                        cascade_seal_count *count);

/* For cascade_store_options. */
struct cascade_integrity {
    size_t size;
    cascade_integrity_mode mode;
    cascade_secret_fn secret; /* HMAC: needed; else NULL */
    void *context;
    cascade_integrity_begin begin;
};

#ifdef __cplusplus
}
#endif

#endif
