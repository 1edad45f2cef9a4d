/* SPDX-License-Identifier: MIT
 *
 * How a cascade has ended: waits for the end, and reads what came of it. One
 * that continues as new ends with the last of its runs.
 */
#include "cascade/cascade.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/snapshot.h"
#include "query/run_chain.h"

static const char *
put_text(char **at, const char *text)
{
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *place = *at;

    if (text == NULL)
        return NULL;
    memcpy(place, text, size);
    *at += size;
    return place;
}

/* One block: the texts stand behind it. */
static cascade_outcome *
make_outcome(const cascade_snapshot *snapshot)
{
    const char *result = cascade_snapshot_result(snapshot);
    const char *error = cascade_snapshot_error(snapshot);
    size_t texts = (result != NULL ? strlen(result) + 1 : 0) +
                   (error != NULL ? strlen(error) + 1 : 0);
    cascade_outcome *outcome = csc_mem_alloc(sizeof(*outcome) + texts);
    char *at = NULL;

    if (outcome == NULL)
        return NULL;
    at = (char *)(outcome + 1);
    *outcome =
        (cascade_outcome){.id = cascade_snapshot_info(snapshot)->id,
                          .status = cascade_snapshot_info(snapshot)->status};
    outcome->result = put_text(&at, result);
    if (outcome->status == CASCADE_ERROR)
        outcome->error = put_text(&at, error != NULL ? error : "");
    return outcome;
}

/* CASCADE_ERR_AGAIN: it goes on, as `*id`. A retry may have come between. */
static cascade_err
read_outcome(cascade_store *store, cascade_uuid *id, cascade_outcome **outcome)
{
    cascade_snapshot *snapshot = NULL;
    cascade_err err = cascade_snapshot_load(store, id, NULL, &snapshot);
    const cascade_uuid *next = NULL;

    if (err != CASCADE_OK)
        return err;
    next = cascade_snapshot_continued_as(snapshot);
    if (next != NULL)
        *id = *next;
    if (next != NULL ||
        cascade_snapshot_info(snapshot)->status == CASCADE_RUNNING) {
        err = CASCADE_ERR_AGAIN;
    } else {
        *outcome = make_outcome(snapshot);
        if (*outcome == NULL)
            err = csc_fail_memory();
    }
    cascade_snapshot_free(snapshot);
    return err;
}

cascade_err
cascade_wait_result(cascade_store *store, const cascade_uuid *id,
                    int64_t timeout_ms, cascade_outcome **outcome)
{
    size_t runs = 0;
    int64_t end_ms = csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system),
                                   timeout_ms < 0 ? INT64_MAX : timeout_ms);
    cascade_outcome *made = NULL;
    cascade_uuid run;
    cascade_err err = CASCADE_ERR_AGAIN;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || outcome == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "wait: an argument is NULL");
    run = *id;
    for (; err == CASCADE_ERR_AGAIN && runs < CSC_RUN_CHAIN_MAX; runs++) {
        int64_t left_ms = timeout_ms < 0 ? -1 : csc_clock_left_ms(end_ms);

        if (runs > 0 && left_ms == 0)
            break;
        err = cascade_wait(store, &run, left_ms, NULL);
        if (err == CASCADE_OK)
            err = read_outcome(store, &run, &made);
    }
    if (err == CASCADE_ERR_AGAIN)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "the last run of the cascade has not ended within "
                        "%lld ms",
                        (long long)timeout_ms);
    if (err != CASCADE_OK)
        return err;
    *outcome = made;
    return csc_ok();
}

void
cascade_outcome_free(cascade_outcome *outcome)
{
    csc_mem_free(outcome);
}
