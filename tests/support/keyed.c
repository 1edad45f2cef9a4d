/* SPDX-License-Identifier: MIT */
#include "support/keyed.h"

#include <stdatomic.h>

#include "base/uuid.h"

const cascade_start_options keyed_options = {
    .size = sizeof(keyed_options), .user_id = "u", .key = "k"};

cascade_err
keyed_again(cascade_node *node, void *user)
{
    atomic_int *runs = user;

    return atomic_fetch_add(runs, 1) < 2
               ? cascade_node_continue_as_new(node, "again", NULL)
               : CASCADE_OK;
}

static bool
is_there(void *context)
{
    const db_ends *e = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(e->store, &e->ids[0], &info);

    cascade_info_free(info);
    return err == CASCADE_OK;
}

void
keyed_run_three(test_db *db, cascade_store *store, cascade_uuid ids[3])
{
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_started started;
    atomic_int runs = 0;

    assert_ok(
        cascade_engine_register(engine, "again", keyed_again, &runs, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_start(store, "again", NULL, &keyed_options, &started));
    for (int run = 1; run <= 3; run++) {
        db_ends found = {.store = store, .ids = &ids[run - 1]};

        ids[run - 1] = csc_uuid_v8("u", "k", run);
        assert_true(stores_until(is_there, &found));
        db_await(store, &ids[run - 1], CASCADE_COMPLETED);
    }
    db_close_engine(db, engine);
}
