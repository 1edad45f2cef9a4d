/* SPDX-License-Identifier: MIT
 *
 * A queue with limits, "default", and claims from it: for the tests of S96 to
 * S100.
 */
#ifndef TESTS_STORE_CONFORMANCE_CONFORMANCE_LIMITS_H
#define TESTS_STORE_CONFORMANCE_CONFORMANCE_LIMITS_H

#include "store/conformance/conformance_mail.h"

#define LATER_MS INT64_C(3600000)
#define CLAIM_MAX 100
#define SUSPECT_FROM 3

/* What a claim from "default" gave. */
typedef struct limits_got {
    cascade_claimed claimed[CLAIM_MAX];
    size_t count;
    size_t with_slot;
    bool paused;
    bool kept;
    bool again;
    bool suspects;
    int64_t next_wake_at_ms;
} limits_got;

/* The sub-table, or the end of the test, as skipped. */
const cascade_store_limits *limits_table(const conformance_db *db);
/* Whatever there is before. */
void limits_set(mail_scene *it, const char *queue, int32_t max,
                int32_t key_max);
/* A due run of a key, and the same submitted: one, or many. */
cascade_change *limits_start(mail_scene *it, const char *key);
cascade_uuid limits_submit(mail_scene *it, cascade_change *start);
void limits_start_many(mail_scene *it, const char *key, size_t count);
/* A claim from the queue, with what is said in `claim`. */
limits_got limits_claim_as(mail_scene *it, cascade_claim claim);
limits_got limits_claim(mail_scene *it, size_t slots);
/* It gives so many, all with slots. */
void limits_assert_gets(mail_scene *it, size_t slots, size_t count);
void limits_assert_got_one(const limits_got *got, const cascade_uuid *id,
                           bool slot);
cascade_change *limits_write(mail_scene *it, const cascade_uuid *id,
                             cascade_run_action action);
void limits_do(mail_scene *it, const cascade_uuid *id,
               cascade_run_action action);
/* The one run that has the one slot, and another that waits for it. */
cascade_uuid limits_take_the_slot(mail_scene *it);

#endif
