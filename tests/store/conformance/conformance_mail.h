/* SPDX-License-Identifier: MIT
 *
 * Short forms for conformance tests of messages, keys and deletions: an
 * incarnation with the number of its last batch, and inboxes, which are copies
 * of the messages that a move gave. Everything belongs to the rows of the
 * database.
 */
#ifndef TESTS_STORE_CONFORMANCE_CONFORMANCE_MAIL_H
#define TESTS_STORE_CONFORMANCE_CONFORMANCE_MAIL_H

#include "store/conformance/conformance.h"

typedef struct mail_scene {
    conformance_db *db;
    test_rows *rows;
    cascade_uuid engine;
    int64_t number; /* of the last batch that took effect */
} mail_scene;

typedef struct mail_item {
    cascade_message_row row;
    bool repeated;
} mail_item;

typedef struct mail_inbox {
    mail_item *items;
    size_t count;
} mail_inbox;

/* Attaches an incarnation. */
mail_scene mail_begin(conformance_db *db);
/* Starts a cascade that it owns. */
cascade_uuid mail_own(mail_scene *it);
/* Commits a batch of one change. */
cascade_err mail_write(mail_scene *it, cascade_change *change);
/* Ends a cascade: its run row is gone. */
cascade_err mail_end(mail_scene *it, cascade_uuid id, cascade_status status);
/* A change that receives `item` and inserts its receipt. */
cascade_change *mail_receipt(mail_scene *it, cascade_uuid id,
                             int32_t function_id, const mail_item *item);
/* `start` may be NULL. */
cascade_err mail_submit(mail_scene *it, const cascade_change *start,
                        bool *existed, const cascade_message_row *messages,
                        size_t count, cascade_sent *sent);
/* Submits one message. */
cascade_sent mail_send(mail_scene *it, const cascade_message_row *message);
cascade_sent mail_send_path(mail_scene *it, cascade_uuid to, const char *path);

/* Up to `limit` messages, sorted by their ids. */
mail_inbox mail_receive(mail_scene *it, size_t limit);
/* As the move gives them. */
mail_inbox mail_receive_as(mail_scene *it, const cascade_receive *receive);
mail_inbox mail_load(mail_scene *it, const cascade_uuid *ids, size_t count);
void mail_assert_same(mail_inbox a, mail_inbox b);
/* The run row of a cascade that has one. */
cascade_run_row mail_run(mail_scene *it, const cascade_uuid *id);

cascade_err mail_pass_cascade(void *context, const cascade_row *row);

#endif
