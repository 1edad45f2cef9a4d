/* SPDX-License-Identifier: MIT
 *
 * A start that waits for what comes of it.
 */
#include "cascade/cascade.h"

#include "base/error.h"
#include "base/origin.h"
#include "cascade/snapshot.h"
#include "cascade/text.h"
#include "store/store.h"

/* Where it could not wait it starts nothing either. */
static cascade_err
check(const cascade_store *store, cascade_outcome *const *outcome)
{
    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || outcome == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "run: an argument is NULL");
    return csc_store_refuse_within(store, "cascade_run_result()");
}

cascade_err
cascade_run_result_text(cascade_store *store, const char *node,
                        const char *text, const cascade_start_options *options,
                        int64_t timeout_ms, cascade_started *started,
                        cascade_outcome **outcome)
{
    cascade_started own = {.existed = false};
    cascade_started *s = started != NULL ? started : &own;
    cascade_err err = check(store, outcome);

    if (err == CASCADE_OK)
        err = cascade_start_text(store, node, text, options, s);
    return err == CASCADE_OK
               ? cascade_wait_result(store, &s->id, timeout_ms, outcome)
               : err;
}

cascade_err
cascade_run_result(cascade_store *store, const char *node, cJSON *input,
                   const cascade_start_options *options, int64_t timeout_ms,
                   cascade_started *started, cascade_outcome **outcome)
{
    cascade_started own = {.existed = false};
    cascade_started *s = started != NULL ? started : &own;
    cascade_err err = check(store, outcome);

    if (err != CASCADE_OK) {
        cJSON_Delete(input);
        return err;
    }
    err = cascade_start(store, node, input, options, s);
    return err == CASCADE_OK
               ? cascade_wait_result(store, &s->id, timeout_ms, outcome)
               : err;
}
