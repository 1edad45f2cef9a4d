/* SPDX-License-Identifier: MIT
 *
 * The looking side on rows that others wrote (row_text.h): the snapshot of a
 * cascade now and as of any place. It must be there; both forms of the context
 * must be canonical JSON; its parts must add up, and agree with the state that
 * the same rows give.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "fuzz/row_text.h"
#include "state/state.h"
#include "store/store.h"

static dump_rows rows; /* what the driver below gives */

/* ---- A store of one cascade ---------------------------------------------- */

static cascade_err
give_list(void *self, const cascade_query *query, cascade_list_sink sink,
          void *context)
{
    (void)self;
    (void)query;
    return sink(context, &rows.cascade, NULL);
}

static cascade_err
give_all(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
         const cascade_load_sink *sink)
{
    cascade_err err = sink->on_cascade(sink->context, &rows.cascade);

    (void)self;
    (void)ids;
    (void)count;
    (void)parts;
    for (size_t i = 0; i < rows.execution_count && err == CASCADE_OK; i++)
        err = sink->on_execution(sink->context, &rows.executions[i]);
    for (size_t i = 0; i < rows.event_count && err == CASCADE_OK; i++)
        err = sink->on_event(sink->context, &rows.events[i]);
    return err;
}

static cascade_err
open_rows(const char *url, const cascade_store_config *config, void **self)
{
    (void)url;
    (void)config;
    *self = &rows;
    return CASCADE_OK;
}

static void
close_rows(void *self)
{
    (void)self;
}

/* All else is the memory store's, and never called. */
static cascade_store *
open_store(void)
{
    static cascade_store_driver driver;
    static const cascade_store_options options = {
        .size = sizeof(options), .migrate = CASCADE_MIGRATE_NEVER};
    cascade_store *store = NULL;

    driver = *csc_store_memory_driver();
    driver.open = open_rows;
    driver.close = close_rows;
    driver.list = give_list;
    driver.load = give_all;
    fuzz_check(cascade_store_open_driver(&driver, "rows", &options, &store) ==
               CASCADE_OK);
    return store;
}

/* ---- Checks -------------------------------------------------------------- */

/* The parts of a snapshot are views of its history, of what still counts. */
static void
check_parts(const cascade_snapshot *it)
{
    size_t active = 0;
    size_t wrong = 0;
    size_t count = cascade_snapshot_count(it, CASCADE_PART_HISTORY);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(it, CASCADE_PART_HISTORY, i);

        fuzz_check(info != NULL && info->node_name != NULL &&
                   info->input != NULL && info->node_instance_id != NULL);
        if (info->superseded_by < 0) {
            active += info->status == CASCADE_EXECUTION_RUNNING;
            wrong += info->error != NULL;
        }
        if (info->output != NULL)
            fuzz_check(fuzz_is_canonical(info->output));
    }
    fuzz_check(cascade_snapshot_get(it, CASCADE_PART_HISTORY, count) == NULL);
    fuzz_check(cascade_snapshot_count(it, CASCADE_PART_ERRORS) == wrong);
    count = cascade_snapshot_count(it, CASCADE_PART_ACTIVE);
    fuzz_check(count == active || count == 0);
}

static void
check_snapshot(cascade_store *store, int32_t as_of, bool ui)
{
    cascade_snapshot_options options = {
        .size = sizeof(options), .as_of = as_of, .ui = ui};
    cascade_snapshot *it = NULL;
    const char *text = NULL;
    cascade_err err =
        cascade_snapshot_load(store, &rows.cascade.id, &options, &it);

    fuzz_check(err == CASCADE_OK);
    fuzz_check(fuzz_is_canonical(cascade_snapshot_context(it)));
    text = cascade_snapshot_cascaide_context(it);
    fuzz_check(text == NULL || fuzz_is_canonical(text));
    if (cascade_snapshot_result(it) != NULL)
        fuzz_check(fuzz_is_canonical(cascade_snapshot_result(it)));
    check_parts(it);
    if (as_of == 0)
        fuzz_check(cascade_snapshot_count(it, CASCADE_PART_HISTORY) ==
                   rows.execution_count);
    cascade_snapshot_free(it);
}

/* A cascade that fails has failed in both. */
static void
check_with_state(cascade_store *store)
{
    cascade_snapshot *it = NULL;
    csc_state state;

    fuzz_check(dump_rows_hydrate(&rows, &state) == CASCADE_OK);
    fuzz_check(cascade_snapshot_load(store, &rows.cascade.id, NULL, &it) ==
               CASCADE_OK);
    fuzz_check((state.terminated != CSC_NOT_TERMINATED) ==
               (cascade_snapshot_error(it) != NULL));
    if (rows.cascade.status == CASCADE_RUNNING)
        fuzz_check(cascade_snapshot_count(it, CASCADE_PART_ACTIVE) ==
                   state.running);
    cascade_snapshot_free(it);
    csc_state_fini(&state);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();
    cascade_store *store = open_store();

    row_text_read(text, &rows);
    check_with_state(store);
    check_snapshot(store, 0, false);
    check_snapshot(store, 0, true);
    check_snapshot(store, 1, false);
    for (size_t i = 0; i < rows.execution_count && i < 4; i++) {
        if (rows.executions[i].function_id > 0)
            check_snapshot(store, rows.executions[i].function_id, false);
    }
    fuzz_check(cascade_store_close(store) == CASCADE_OK);
    dump_rows_fini(&rows);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
