/* SPDX-License-Identifier: MIT
 *
 * Where a path is, and what outlives a run that is deleted: S43, S44,
 * S49, S54.
 *
 * The row of a chain is written by the commits that start its runs. Those of
 * one run are written in one transaction, before the one that deletes it, and
 * writing them again changes nothing: a lost answer is asked for once more. The
 * row of the chain comes first, and is locked by that, so two who write links
 * of one chain do so in turn.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/chain.h"
#include "store/store.h"

/* ---- Finding ------------------------------------------------------------- */

typedef struct path_state {
    csc_postgres_rows paths;
    size_t count;
    cascade_found *found;
} path_state;

static cascade_err
read_found(const PGresult *result, int row, path_state *state)
{
    static const csc_column columns[] = {{.name = "nth"},
                                         {.name = "next_id"},
                                         {.name = "root"},
                                         {.name = "run_number"}};
    csc_postgres_reader reader = {.result = result,
                                  .row = row,
                                  .table = "cascade_links",
                                  .columns = columns};
    size_t at = (size_t)csc_postgres_result_i64(result, row, 0) - 1;
    cascade_found *found = &state->found[at];

    csc_assert(at < state->count);
    *found = (cascade_found){.id = csc_postgres_row_uuid(&reader, 1)};
    if (!PQgetisnull(result, row, 2)) {
        found->root = csc_postgres_row_uuid(&reader, 2);
        found->run_number = csc_postgres_row_i32(&reader, 3);
    }
    return reader.err;
}

/* Where there is more of a path, what counts comes last. */
static cascade_err
find_paths(csc_postgres_conn *conn, void *context)
{
    path_state *state = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_FIND_PATHS,
                              .params = &params};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_rows(&params, &state->paths);
    err = csc_postgres_conn_read(conn, "find", &call, 1);
    for (size_t i = 0; i < state->count; i++)
        state->found[i] = (cascade_found){.id = {{0}}};
    for (int row = 0; err == CASCADE_OK && row < PQntuples(call.result); row++)
        err = read_found(call.result, row, state);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_links_find(void *self, const char *const *paths, size_t count,
                        cascade_found *found)
{
    path_state state = {.count = count, .found = found};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_rows_start(&state.paths, "s");
    for (size_t i = 0; i < count; i++)
        csc_postgres_rows_text(&state.paths, 0, paths[i]);
    err = csc_postgres_rows_good(&state.paths)
              ? csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, find_paths,
                                      &state)
              : csc_fail_memory();
    csc_postgres_rows_fini(&state.paths);
    return err;
}

/* ---- Linking ------------------------------------------------------------- */

typedef struct link_state {
    const cascade_link *link;
    csc_postgres_rows chain; /* one row */
    csc_postgres_rows paths;
} link_state;

static cascade_err
write_links(csc_postgres_conn *conn, void *context)
{
    link_state *state = context;
    const cascade_link *link = state->link;
    csc_postgres_params params[3];
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_LINK_CHAIN, .params = &params[0]},
        {.statement = CSC_POSTGRES_LINK_PATHS, .params = &params[1]},
        {.statement = CSC_POSTGRES_TRIM_LINKS, .params = &params[2]}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < 3; i++)
        csc_postgres_params_init(&params[i]);
    csc_postgres_params_row(&params[0], &state->chain);
    csc_postgres_params_uuid(&params[1], &link->root);
    csc_postgres_params_uuid(&params[2], &link->root);
    csc_postgres_params_rows(&params[1], &state->paths);
    csc_postgres_params_i64(&params[2], CASCADE_LINKS_MAX);
    err = csc_postgres_conn_write(conn, "link", calls, 3, NULL);
    csc_postgres_conn_clear(calls, 3);
    return err;
}

static void
add_path(link_state *state, const char *path, int32_t function_id)
{
    csc_postgres_rows_text(&state->paths, 0, path);
    csc_postgres_rows_i64(
        &state->paths, 1,
        csc_store_link_number(state->link->run_number, function_id));
}

static void
fill(link_state *state)
{
    const cascade_link *link = state->link;
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_postgres_rows_start(&state->chain, CSC_POSTGRES_LINK_TYPES);
    csc_postgres_rows_start(&state->paths, "sl");
    csc_postgres_links_add(&state->chain, &link->root, &link->next,
                           link->next_number, NULL);
    if (!csc_uuid_equal(&link->id, &link->root))
        add_path(state, cascade_uuid_format(&link->id, id), CSC_STORE_LINK_ID);
    for (size_t i = 0; i < link->receipt_count; i++)
        add_path(state, link->receipts[i].path, link->receipts[i].function_id);
}

cascade_err
csc_postgres_links_write(void *self, const cascade_link *link)
{
    link_state state = {.link = link};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    fill(&state);
    if (csc_postgres_rows_good(&state.chain) &&
        csc_postgres_rows_good(&state.paths))
        err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, write_links,
                                    &state);
    else
        err = csc_fail_memory();
    csc_postgres_rows_fini(&state.chain);
    csc_postgres_rows_fini(&state.paths);
    return err;
}

/* ---- Sweeping ------------------------------------------------------------ */

typedef struct sweeping {
    csc_postgres_rows gone; /* roots of which the last run is */
    size_t limit;
    cascade_uuid after;
    cascade_uuid to;
    size_t looked;
    cascade_uuid last;
    bool all; /* what is gone was taken */
} sweeping;

static void
note_roots(sweeping *s, const PGresult *result)
{
    csc_postgres_rows_start(&s->gone, "u");
    s->looked = (size_t)PQntuples(result);
    for (int row = 0; row < PQntuples(result); row++) {
        s->last = csc_postgres_result_uuid(result, row, 0);
        if (PQgetvalue(result, row, 1)[0] == 0)
            continue;
        csc_postgres_rows_uuid(&s->gone, 0, &s->last);
        s->gone.count++;
    }
}

static cascade_err
find_gone(csc_postgres_conn *conn, void *context)
{
    sweeping *s = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_FIND_GONE,
                              .params = &params};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, &s->after);
    csc_postgres_params_uuid(&params, &s->to);
    csc_postgres_params_i64(&params, (int64_t)s->limit);
    err = csc_postgres_conn_read(conn, "sweep", &call, 1);
    if (err == CASCADE_OK)
        note_roots(s, call.result);
    csc_postgres_conn_clear(&call, 1);
    if (err == CASCADE_OK && !csc_postgres_rows_good(&s->gone))
        err = csc_fail_memory();
    return err;
}

static cascade_err
sweep_gone(csc_postgres_conn *conn, void *context)
{
    sweeping *s = context;
    csc_postgres_params params[2];
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_SWEEP_PATHS, .params = &params[0]},
        {.statement = CSC_POSTGRES_SWEEP_ROOTS, .params = &params[1]}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < 2; i++) {
        csc_postgres_params_init(&params[i]);
        csc_postgres_params_rows(&params[i], &s->gone);
    }
    csc_postgres_params_i64(&params[0], CASCADE_DELETE_ROWS_MAX);
    err = csc_postgres_conn_write(conn, "sweep", calls, 2, NULL);
    s->all = err == CASCADE_OK &&
             PQntuples(calls[0].result) < CASCADE_DELETE_ROWS_MAX;
    csc_postgres_conn_clear(calls, 2);
    return err;
}

/* Where the rows do not suffice, the next call begins where this one did. */
cascade_err
csc_postgres_links_sweep(void *self, const cascade_uuid *root, size_t limit,
                         cascade_uuid *cursor, bool *more)
{
    sweeping s = {.limit = limit, .all = true};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_store_sweep_range(root, cursor, &s.after, &s.to);
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, find_gone, &s);
    if (err == CASCADE_OK && s.gone.count > 0)
        err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, sweep_gone, &s);
    csc_postgres_rows_fini(&s.gone);
    if (err != CASCADE_OK)
        return err;
    *more = !s.all || (root == NULL && s.looked == limit);
    if (s.all && s.looked > 0)
        *cursor = s.last;
    return CASCADE_OK;
}
