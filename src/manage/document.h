/* SPDX-License-Identifier: MIT
 *
 * A cascade as a document: what export writes and import reads.
 *
 *   {"events":[EVENT...],"format":"libcascade","cascade":CASCADE,"version":2,
 *    "messages":[MESSAGE...],"executions":[EXECUTION...]}
 *
 *   CASCADE    {"id":ID,"fn_id":n,"status":"RUNNING","user_id":TEXT,
 *               "created_at":ms,"updated_at":ms}
 *   EXECUTION  {"id":ID,"error":TEXT,"status":"FAILED","location":TEXT,
 *               "node_name":TEXT,"started_at":ms,"full_output":JSON,
 *               "function_id":n,"completed_at":ms,"input_context":JSON,
 *               "node_instance_id":TEXT}
 *   EVENT      {"key":TEXT,"value":JSON,"ui_value":JSON,"created_at":TIME,
 *               "function_id":n}
 *   MESSAGE    {"kind":TEXT,"name":TEXT,"path":TEXT,"payload":JSON,
 *               "sent_at":ms}
 *
 * The members are the columns of the tables; one that is NULL there is left
 * out. Executions come by function_id, events in the order of the context
 * (moment.h), messages in the order in which they were sent. TIME is
 * "2026-01-31T23:59:59.999000Z", all other times are milliseconds since 1970;
 * in documents of version 1 those of events are so too. The text is canonical
 * (json.h), so that of two documents of the same rows every byte is the same.
 * What dispatch holds besides (the run) is not in it: it follows from the rows.
 *
 *   document_write.c  rows -> text
 *   document_sort.c   the order of events
 *   document_token.c  tokens that it does not hold: what stands for them
 *   document_read.c   text -> rows, each column by its own bounds
 *   document_check.c  whether the rows make sense together
 *   document_prove.c  whether the store shows what they say of other cascades
 *   document_make.c   rows -> the change that starts the cascade, with other
 *                     ids where these are asked for
 *   document.c        the calls
 *
 * A document is read strictly: it may come from anybody. But rows of another
 * program (those of a cascade whose first execution has no member `cascade` in
 * its record) have only to satisfy what the three tables demand.
 */
#ifndef CSC_MANAGE_DOCUMENT_H
#define CSC_MANAGE_DOCUMENT_H

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "state/moment.h"
#include "state/start_record.h"

#define CSC_DOCUMENT_FORMAT "libcascade"
#define CSC_DOCUMENT_VERSION 2
#define CSC_DOCUMENT_MAX ((size_t)64 * 1024 * 1024)

/* The rows of one cascade. All texts are in the arena. */
typedef struct csc_document {
    csc_arena arena;
    cascade_row cascade;
    cascade_execution_row *executions;
    size_t execution_count;
    cascade_event_row *events;
    size_t event_count;
    cascade_message_row *messages;
    size_t message_count;
    csc_json_span meta; /* member `cascade` of execution 0; data is NULL where
                           another program wrote the rows */
} csc_document;

void csc_document_read_fini(csc_document *document);

/* ---- document_write.c --------------------------------------------------- */

/* An event in the text. */
typedef struct csc_document_piece {
    csc_moment when;
    size_t at;
    size_t len;
} csc_document_piece;

typedef struct csc_document_writer {
    csc_buf cascade; /* the row; empty: there was none */
    csc_buf executions;
    csc_buf events;
    csc_document_piece *pieces; /* of the last execution that has events */
    size_t piece_count;
    size_t piece_room;
    bool unsorted; /* and these are not in their order */
    csc_buf messages;
    size_t message_count;
    bool with_tokens;
    csc_buf tokens;  /* those that were left out: document_token.c */
    csc_arena arena; /* texts without them, of the row at hand */
} csc_document_writer;

/* Sinks of a load; the context is the writer. CASCADE_ERR_TOO_LARGE. */
cascade_err csc_document_write_cascade(void *context, const cascade_row *row);
cascade_err csc_document_write_execution(void *context,
                                         const cascade_execution_row *read);
cascade_err csc_document_write_event(void *context,
                                     const cascade_event_row *row);
/* One that was received before is left out: it does nothing any more. */
cascade_err csc_document_write_message(void *context,
                                       const cascade_message_row *read,
                                       bool repeated);
/* The whole, to be freed with csc_mem_free(). */
cascade_err csc_document_write_end(csc_document_writer *writer, char **text);
void csc_document_write_fini(csc_document_writer *writer);

/* ---- document_sort.c ---------------------------------------------------- */

/* Notes an event that was written at that place of the text.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_sort_note_event(csc_document_writer *writer,
                                         const cascade_event_row *row,
                                         size_t at);
/* Puts those that were noted in their order, and forgets them.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_sort_events(csc_document_writer *writer);

/* ---- document_token.c --------------------------------------------------- */

/* Leave the token of a row out; the new texts are in the writer's arena. The
 * executions come first. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_token_hide_execution(csc_document_writer *writer,
                                              cascade_execution_row *row);
cascade_err csc_document_token_hide_message(csc_document_writer *writer,
                                            cascade_message_row *row);

/* Gives what was written without tokens new ones. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_token_give(csc_document *document,
                                    const cascade_random *random);

/* ---- document_read.c ---------------------------------------------------- */

/* Reads and checks a document. CASCADE_ERR_JSON, _INVALID, _REFUSED,
 * _TOO_LARGE, _NO_MEMORY. `document` is to be finished in any case. */
cascade_err csc_document_read(const char *text, csc_document *document);

/* ---- document_check.c --------------------------------------------------- */

/* CASCADE_ERR_REFUSED: the rows contradict each other. */
cascade_err csc_document_check(const csc_document *document);

/* ---- document_prove.c --------------------------------------------------- */

/* CASCADE_ERR_REFUSED: what it says of other cascades is not shown by the
 * store. `meta` is what it records. */
cascade_err csc_document_prove(cascade_store *store,
                               const csc_document *document,
                               const csc_meta *meta);

/* ---- document_make.c ---------------------------------------------------- */

/* Makes it another cascade: `id`, with executions and paths of its own, and
 * without key, parent and run before. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_make_rename(csc_document *document,
                                     const cascade_uuid *id, int64_t now_ms,
                                     const cascade_random *random);

/* Records another queue, where one is recorded. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_document_make_move(csc_document *document, const char *queue);

/* The change that starts it, without a key, free and due at `now_ms`; `meta` is
 * what it records. It refers to the document's texts and to `queue`. */
void csc_document_make(const csc_document *document, const csc_meta *meta,
                       const char *queue, int64_t now_ms,
                       cascade_change *change);

#endif
