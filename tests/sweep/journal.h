/* SPDX-License-Identifier: MIT
 *
 * What a play did, as far as a judge must know it beside the rows: which
 * cascades it set out to start and what it was told, which functions were
 * entered, what it found wrong. It lies in memory that a forked child shares
 * with its parent, so that the parent can judge a play that died.
 */
#ifndef TESTS_SWEEP_JOURNAL_H
#define TESTS_SWEEP_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "support/oracle.h"
#include "support/wrap_store.h"

#define JOURNAL_ENTRIES 512
#define JOURNAL_IDS 12
#define JOURNAL_KINDS 32
#define JOURNAL_TEXT 160
#define JOURNAL_NAME 24
#define JOURNAL_FAILURE 1024

typedef enum journal_kind {
    JOURNAL_STARTING, /* a start is about to be sent */
    JOURNAL_STARTED,  /* it returned OK; `flag`: the cascade existed */
    JOURNAL_SENDING,  /* a message is about to be sent */
    JOURNAL_SENT,     /* it returned `err` */
    JOURNAL_RAN       /* a function was entered */
} journal_kind;

typedef struct journal_entry {
    journal_kind kind_of;
    cascade_uuid id;
    bool flag;
    int attempt;
    int64_t now_ms;
    char request_id[JOURNAL_TEXT];
    char kind[JOURNAL_NAME]; /* of a message; and its name, "": none */
    char name[JOURNAL_NAME];
    cascade_err err;
} journal_entry;

typedef struct journal {
    int64_t ahead_ms; /* how far the play's clock was moved on */
    int64_t shown_ms; /* the latest that it has shown, as far */
    size_t seen;      /* events that a fault could have hit */
    size_t calls[WRAP_MOVES];
    size_t kinds[JOURNAL_KINDS];   /* executions, by place in CSC_KINDS */
    cascade_uuid ids[JOURNAL_IDS]; /* of cascades, in the order of the play */
    size_t id_count;
    size_t count;
    journal_entry entries[JOURNAL_ENTRIES];
    char failure[JOURNAL_FAILURE]; /* the first one; "": none */
} journal;

/* In shared memory; ends the program where there is none. */
journal *journal_create(void);
void journal_free(journal *j);
void journal_clear(journal *j);

void journal_fail(journal *j, const char *format, ...) CASCADE_PRINTF(2, 3);
void journal_starting(journal *j, const cascade_uuid *id);
void journal_started(journal *j, const cascade_uuid *id, bool existed);
void journal_ran(journal *j, const char *request_id, int attempt,
                 int64_t now_ms);

/* `sent`: the call has returned `err`. */
void journal_message(journal *j, const oracle_message *message, bool sent,
                     cascade_err err);

/* Whether a message to it was sent, of that kind (NULL: any). */
bool journal_was_sent(const journal *j, const cascade_uuid *id,
                      const char *kind);
/* Whether a start of it returned OK. */
bool journal_is_acknowledged(const journal *j, const cascade_uuid *id);
/* Tells an oracle what happened from entry `*from` on, in that order; moves
 * `*from` on. */
void journal_tell(const journal *j, oracle *o, size_t *from);

#endif
