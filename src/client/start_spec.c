/* SPDX-License-Identifier: MIT
 *
 * What a start is asked to make: checked here, before the store is asked for
 * anything. Specs and first nodes stand in arrays of the caller's, whose
 * elements have the size that his header gave them: csc_check_item().
 */
#include "client/start_spec.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "store/store.h"

#define FIRST_MAX 1000
#define START_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define ROW_BYTES 512 /* of an execution beside its input, roughly */

static cascade_err
check_options(const cascade_start_options *given, cascade_start_options *known)
{
    cascade_err err =
        csc_check_options("start options", given, known, sizeof(*known));

    if (err != CASCADE_OK)
        return err;
    if (known->user_id == NULL)
        known->user_id = CSC_USER_DEFAULT;
    if (known->queue == NULL)
        known->queue = CSC_QUEUE_DEFAULT;
    err = csc_check_text("user id", known->user_id);
    if (err == CASCADE_OK)
        err = csc_check_name("queue", known->queue);
    if (err == CASCADE_OK && known->key != NULL)
        err = csc_check_text("key", known->key);
    if (err == CASCADE_OK && known->limit_key != NULL)
        err = csc_check_text("limit key", known->limit_key);
    if (err != CASCADE_OK)
        return err;
    if (known->key != NULL && known->id != NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "start: give a key or an id, not both");
    if (!csc_check_is_priority(known->priority))
        return csc_fail(CASCADE_ERR_INVALID,
                        "start: the priority is %d; give 0 to 9",
                        known->priority);
    if (known->reuse < 0 || known->reuse > CASCADE_REUSE_TERMINATE)
        return csc_fail(CASCADE_ERR_INVALID, "start: there is no such reuse");
    if (known->reuse != CASCADE_REUSE_NEVER && known->key == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "start: reuse is given, but no key; give both");
    return csc_check_start_limits("start", known->delay_ms, known->deadline_ms);
}

/* Canonical text of a first node's input, in `arena`. */
static cascade_err
keep_input(const cascade_store *store, const cascade_first *first,
           csc_arena *arena, const char **input)
{
    csc_json_given given = {0};
    cascade_err err = csc_json_given_either("start: input", first->input,
                                            first->input_text, &given);

    if (err == CASCADE_OK)
        err = csc_json_given_keep("input", given, store->config.payload_max,
                                  arena, input, NULL);
    return err;
}

cascade_err
csc_start_spec_read(const cascade_start_spec *specs, size_t at,
                    csc_start_spec *spec)
{
    cascade_start_spec known = {0};
    cascade_err err = csc_check_item("specs", specs, at, &known, sizeof(known));

    if (err == CASCADE_OK)
        err = check_options(known.options, &spec->options);
    if (err != CASCADE_OK)
        return err;
    if (known.first == NULL || known.first_count < 1 ||
        known.first_count > FIRST_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "start: a cascade needs 1 to %d first nodes, not %zu",
                        FIRST_MAX, known.first_count);
    spec->first = known.first;
    spec->first_count = known.first_count;
    return CASCADE_OK;
}

/* Number `at`. */
static cascade_err
keep_one(const csc_start_spec *spec, size_t at, const cascade_store *store,
         csc_arena *arena, csc_build_first *kept)
{
    cascade_first first = {0};
    cascade_err err =
        csc_check_item("first", spec->first, at, &first, sizeof(first));

    if (err == CASCADE_OK)
        err = csc_check_name("node name", first.node);
    if (err == CASCADE_OK)
        err = keep_input(store, &first, arena, &kept->input);
    if (err == CASCADE_OK)
        kept->name = csc_arena_strdup(arena, first.node);
    return err;
}

cascade_err
csc_start_spec_keep_first(const csc_start_spec *spec,
                          const cascade_store *store, csc_arena *arena,
                          size_t *bytes, csc_build_start *build)
{
    csc_build_first *first =
        csc_arena_alloc(arena, spec->first_count, sizeof(*first));
    cascade_err err = first != NULL ? CASCADE_OK : csc_fail_memory();

    for (size_t i = 0; i < spec->first_count && err == CASCADE_OK; i++) {
        err = keep_one(spec, i, store, arena, &first[i]);
        if (err != CASCADE_OK)
            break;
        *bytes += strlen(first[i].input) + ROW_BYTES;
        if (*bytes > START_BYTES_MAX)
            err = csc_fail(CASCADE_ERR_TOO_LARGE,
                           "start: the inputs of one call exceed %zu bytes; "
                           "spread them over several calls",
                           START_BYTES_MAX);
    }
    build->first = first;
    build->first_count = spec->first_count;
    return err;
}
