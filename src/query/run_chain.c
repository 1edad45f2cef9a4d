/* SPDX-License-Identifier: MIT
 *
 * From a run that has continued as new to the next one, from outside: by the
 * record that the run ended with. Only reads.
 */
#include "query/run_chain.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/execution_info.h"
#include "query/link.h"
#include "state/full_output.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE_ROWS 1000
#define PAGE_BYTES (1 << 20)

/* A run among others. */
typedef struct run_link {
    cascade_status status; /* 0: it is not there */
    bool child;
    int32_t read;          /* the executions below are */
    const char *path;      /* of a message, or NULL */
    bool received;         /* it was, and is not undelivered */
    cascade_uuid previous; /* all zero without one, also below */
    cascade_uuid root;
    cascade_uuid next;
    int32_t number; /* 0: 1 */
} run_link;

static void
read_meta(csc_json_span meta, run_link *link)
{
    csc_json_iter iter;
    int64_t number = 0;

    csc_json_read_iter_init(&iter, meta.data, meta.len);
    while (csc_json_read_next(&iter)) {
        if (csc_json_read_is(iter.key, "previous"))
            (void)csc_full_output_uuid(iter.value, &link->previous);
        if (csc_json_read_is(iter.key, "root"))
            (void)csc_full_output_uuid(iter.value, &link->root);
        if (csc_json_read_is(iter.key, "parent"))
            link->child = true;
        if (csc_json_read_is(iter.key, "run_number") &&
            csc_json_read_i64(iter.value, &number) && number < INT32_MAX)
            link->number = (int32_t)number;
    }
}

static cascade_err
note_record(void *context, const cascade_execution_row *row)
{
    run_link *link = context;
    csc_record record;

    link->read = row->function_id + 1;
    csc_full_output_read(row, &record);
    if (row->function_id == 0 && record.meta.data != NULL)
        read_meta(record.meta, link);
    if (link->path != NULL && strcmp(row->node_instance_id, link->path) == 0)
        link->received =
            row->status != CASCADE_EXECUTION_FAILED || !record.continued;
    if (row->status == CASCADE_EXECUTION_COMPLETED &&
        !csc_uuid_is_nil(&record.continued_as))
        link->next = record.continued_as;
    return CASCADE_OK;
}

/* Page by page, so that no read takes long, however many there are. What is
 * looked for does not change any more, since the cascade has ended. */
static cascade_err
read_records(cascade_store *store, const cascade_uuid *id, run_link *link)
{
    cascade_load_sink sink = {.context = link, .on_execution = note_record};
    cascade_scan scan = {
        .cascade_id = id, .limit = PAGE_ROWS, .bytes_max = PAGE_BYTES};
    cascade_err err = CASCADE_OK;

    do {
        scan.from = link->read;
        err = csc_move_scan(store, &scan, &sink);
    } while (err == CASCADE_OK && link->read > scan.from);
    return err;
}

/* Only one that is COMPLETED may have continued, and whether `path` was
 * received matters only of one that has ended: of others the row is enough. */
static cascade_err
read_link(cascade_store *store, const cascade_uuid *id, const char *path,
          run_link *link)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(store, id, &info);

    *link = (run_link){.path = path};
    if (err == CASCADE_OK)
        link->status = info->status;
    cascade_info_free(info);
    if (err != CASCADE_OK || link->status == CASCADE_RUNNING ||
        (link->status == CASCADE_ERROR && path == NULL))
        return err;
    return read_records(store, id, link);
}

/* Execution 0, which tells what it is among others. */
static cascade_err
read_first(cascade_store *store, const cascade_uuid *id, run_link *link)
{
    const cascade_load_sink sink = {.context = link,
                                    .on_execution = note_record};
    const cascade_scan scan = {.cascade_id = id, .limit = 1};

    return csc_move_scan(store, &scan, &sink);
}

cascade_err
csc_run_chain_next(cascade_store *store, const cascade_uuid *id,
                   cascade_uuid *next)
{
    run_link link;
    cascade_err err = read_link(store, id, NULL, &link);

    if (err == CASCADE_OK && csc_uuid_is_nil(&link.next))
        err = csc_fail(CASCADE_ERR_NOT_FOUND,
                       "the cascade has not continued as new");
    if (err == CASCADE_OK)
        *next = link.next;
    return err;
}

typedef struct led {
    const cascade_uuid *to;
    bool leads;
    int32_t read; /* the executions below are */
} led;

static cascade_err
note_led(void *context, const cascade_execution_row *row)
{
    led *l = context;
    csc_record record;

    l->read = row->function_id + 1;
    if (row->status != CASCADE_EXECUTION_COMPLETED)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    l->leads = l->leads || csc_uuid_equal(&record.continued_as, l->to);
    return CASCADE_OK;
}

cascade_err
csc_run_chain_leads(cascade_store *store, const cascade_uuid *id,
                    const cascade_uuid *to, bool *leads)
{
    led l = {.to = to};
    const cascade_load_sink sink = {.context = &l, .on_execution = note_led};
    cascade_scan scan = {
        .cascade_id = id, .limit = PAGE_ROWS, .bytes_max = PAGE_BYTES};
    cascade_err err = CASCADE_OK;

    do {
        scan.from = l.read;
        err = csc_move_scan(store, &scan, &sink);
    } while (err == CASCADE_OK && !l.leads && l.read > scan.from);
    *leads = l.leads;
    return err;
}

bool
csc_run_chain_has_key(const cascade_uuid *own, const char *user_id,
                      const csc_meta *meta, const cascade_uuid *id)
{
    int64_t from = (int64_t)meta->run_number - CSC_RUN_CHAIN_MAX;
    cascade_uuid made;

    if (meta->key == NULL)
        return false;
    made = csc_uuid_v8(user_id, meta->key, meta->run_number);
    if (!csc_uuid_equal(&made, own))
        return false;
    made = csc_uuid_v8(user_id, meta->key, 1);
    if (csc_uuid_equal(&made, id))
        return meta->run_number > 1;
    for (int64_t run = meta->run_number - 1; run > 1 && run > from; run--) {
        made = csc_uuid_v8(user_id, meta->key, run);
        if (csc_uuid_equal(&made, id))
            return true;
    }
    return false;
}

cascade_err
csc_run_chain_root(cascade_store *store, const cascade_uuid *id,
                   cascade_uuid *root)
{
    run_link link = {.path = NULL};
    cascade_err err = read_first(store, id, &link);

    if (err == CASCADE_OK)
        *root = csc_uuid_is_nil(&link.root) ? *id : link.root;
    return err;
}

cascade_err
csc_run_chain_path(cascade_store *store, const char *path, cascade_uuid *run,
                   bool *gone)
{
    cascade_found found;
    cascade_err err = csc_move_find(store, &path, 1, &found);

    if (err != CASCADE_OK)
        return err;
    *gone = !csc_uuid_is_nil(&found.root);
    if (!*gone && !csc_uuid_is_nil(&found.id))
        *run = found.id;
    return CASCADE_OK;
}

cascade_err
csc_run_chain_fail_gone(const char *what)
{
    return csc_fail(CASCADE_ERR_NOT_FOUND,
                    "%s: it was received before, by a run that was deleted "
                    "since, and what came of it went with that; ask with "
                    "another request id",
                    what);
}

static cascade_link
own_link(const cascade_uuid *id, const run_link *link)
{
    return (cascade_link){.id = *id,
                          .root =
                              csc_uuid_is_nil(&link->root) ? *id : link->root,
                          .run_number = link->number > 0 ? link->number : 1};
}

/* To the run that was entered as the last one; where none was, to that which
 * its records tell. */
static cascade_err
find_next(cascade_store *store, const cascade_uuid *id, run_link *link)
{
    cascade_link last = own_link(id, link);
    cascade_err err = csc_link_look(store, &last, 1);

    if (err != CASCADE_OK)
        return err;
    if (csc_uuid_is_nil(&last.next))
        return read_records(store, id, link);
    link->next = last.next;
    return CASCADE_OK;
}

/* Whether the last run after `link` is RUNNING. */
static cascade_err
runs_on(cascade_store *store, run_link link, bool *running)
{
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && !csc_uuid_is_nil(&link.next)) {
        cascade_uuid next = link.next;

        err = read_link(store, &next, NULL, &link);
    }
    *running = err == CASCADE_OK && link.status == CASCADE_RUNNING;
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

/* Whether something may lead to a next run by this one. */
static cascade_err
is_needed(cascade_store *store, const cascade_uuid *id, run_link *link,
          bool *needed)
{
    cascade_info *info = NULL;
    cascade_err err = read_first(store, id, link);

    *needed = link->child;
    if (err != CASCADE_OK || *needed || csc_uuid_is_nil(&link->previous))
        return err;
    err = csc_get_read(store, &link->previous, &info);
    cascade_info_free(info);
    *needed = err == CASCADE_OK;
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

/* Whether a run that is COMPLETED leads to one that is RUNNING. */
static cascade_err
leads_on(cascade_store *store, const cascade_uuid *id, bool *leads,
         run_link *link)
{
    bool needed = false;
    cascade_err err = is_needed(store, id, link, &needed);

    *leads = false;
    if (err != CASCADE_OK || !needed)
        return err;
    err = find_next(store, id, link);
    if (err == CASCADE_OK && !csc_uuid_is_nil(&link->next))
        err = runs_on(store, *link, leads);
    return err;
}

cascade_err
csc_run_chain_may_delete(cascade_store *store, const cascade_uuid *id,
                         int32_t *ended_at, cascade_link *run)
{
    cascade_info *info = NULL;
    run_link link = {.path = NULL};
    bool completed = false;
    bool leads = false;
    cascade_err err = csc_get_read(store, id, &info);

    *ended_at = CSC_FOLLOW_RUNS;
    *run = (cascade_link){.id = {{0}}};
    if (err == CASCADE_OK && info->status != CASCADE_RUNNING)
        *ended_at = info->fn_id;
    completed = err == CASCADE_OK && info->status == CASCADE_COMPLETED;
    cascade_info_free(info);
    if (completed)
        err = leads_on(store, id, &leads, &link);
    if (completed && err == CASCADE_OK)
        *run = own_link(id, &link);
    if (!leads)
        return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
    return csc_fail(CASCADE_ERR_AGAIN,
                    "delete: the cascade has continued as new, and %s finds "
                    "the run that goes on by this one: delete it %s",
                    link.child ? "its parent" : "the run before",
                    link.child ? "when the last run has ended"
                               : "after that one, or when the last run has "
                                 "ended");
}

/* One that is gone may lead to the last run, which is read then. Of the one,
 * `id`, that it was sent to the path is not looked for. */
static cascade_err
read_on(cascade_store *store, const cascade_uuid *id, const char *path,
        cascade_uuid *at, run_link *link)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *name = cascade_uuid_format(at, text);
    cascade_found found = {.run_number = 0};
    cascade_err err =
        read_link(store, at, csc_uuid_equal(at, id) ? NULL : path, link);

    if (err != CASCADE_ERR_NOT_FOUND)
        return err;
    err = csc_move_find(store, &name, 1, &found);
    if (err != CASCADE_OK)
        return err;
    if (csc_uuid_is_nil(&found.root) || csc_uuid_equal(&found.id, at))
        return csc_fail(CASCADE_ERR_NOT_FOUND, "there is no such cascade");
    *at = found.id;
    return read_link(store, at, path, link);
}

cascade_err
csc_run_chain_sent(cascade_store *store, const cascade_uuid *id,
                   const char *path, cascade_sent *sent)
{
    run_link link;
    cascade_uuid at = *id;
    bool on = *sent == CASCADE_SENT_ENDED;
    cascade_err err = CASCADE_OK;

    while (on && err == CASCADE_OK) {
        err = read_on(store, id, path, &at, &link);
        if (err == CASCADE_OK && !csc_uuid_equal(&at, id) &&
            (link.status == CASCADE_RUNNING || link.received))
            *sent = CASCADE_SENT;
        on = err == CASCADE_OK && !csc_uuid_is_nil(&link.next);
        at = link.next;
    }
    if (err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "it was sent, and the cascade had ended; whether a later "
                    "run of it goes on cannot be read: %s",
                    cascade_errmsg());
}

const char *
csc_run_chain_signal_path(cascade_store *store, csc_arena *arena,
                          const cascade_uuid *root, const char *kind,
                          const char *request_id, int64_t now_ms)
{
    char own[CASCADE_UUID_TEXT_SIZE];
    char id[CASCADE_UUID_TEXT_SIZE];

    if (request_id == NULL) {
        cascade_uuid made = csc_uuid_v7(now_ms, &store->random);

        request_id = cascade_uuid_format(&made, own);
    }
    return csc_arena_format(arena, "%s/message/%s/%s",
                            cascade_uuid_format(root, id), kind, request_id);
}
