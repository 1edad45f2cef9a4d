/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes in the world of conformance_model.c. The model has
 * none: it commits what they commit. What differs from a commit is said here.
 */
#include "store/conformance/conformance_twin.h"

#define LIMIT_MS CONFORMANCE_WAIT_MS

/* Whether it took effect before. */
static bool
is_repeated(const twin_world *world, const cascade_batch *batch)
{
    for (size_t i = 0; i < ENGINES; i++) {
        const peer *it = &world->engines[i];

        if (csc_uuid_equal(&it->id, &batch->engine_id))
            return it->alive && it->number == batch->number;
    }
    return false;
}

/* The fence comes last, so that a culprit is told first. A batch that took
 * effect is no repetition, since what a function wrote with it would be there
 * twice. */
cascade_err
twin_commit(twin_world *world, const cascade_batch *batch, cascade_err wanted,
            bool *existed)
{
    const cascade_store_driver *driver = world->db->driver;
    cascade_native native;
    cascade_err err;

    if (driver->node_txn == NULL || !twin_chance(world, 30))
        return driver->commit(world->db->self, batch, existed);
    assert_ok(driver->node_txn->begin(world->db->self, LIMIT_MS, &native));
    err = driver->node_txn->finish(world->db->self, &native, batch, existed);
    if (is_repeated(world, batch)) {
        assert_true(err == CASCADE_ERR_LOST || err == CASCADE_ERR_REFUSED);
        return driver->commit(world->db->self, batch, existed);
    }
    if (err == CASCADE_ERR_REFUSED &&
        (wanted == CASCADE_ERR_FENCED || wanted == CASCADE_ERR_LOST))
        return wanted;
    world->finished += err == CASCADE_OK;
    return err;
}

/* Nothing, on both stores. */
static void
commit_nothing(twin_world *world, cascade_batch *batch)
{
    bool existed = false;

    assert_ok(
        world->model->driver->commit(world->model->self, batch, &existed));
    assert_ok(world->db->driver->commit(world->db->self, batch, &existed));
}

/* Where the lane moves on by two, the model commits nothing, twice. A batch of
 * both follows, since settling says nothing of the lease. */
void
twin_settle(twin_world *world)
{
    const cascade_store_driver *driver = world->db->driver;
    peer *engine = &world->engines[rows_below(world->rows, ENGINES)];
    cascade_batch batch = {.engine_id = engine->id,
                           .number = engine->number + 1};
    bool flag = true;

    if (driver->node_txn == NULL || !engine->alive)
        return;
    if (engine->number > 0)
        assert_ok(driver->settle(world->db->self, &engine->id, 0,
                                 engine->number, &flag));
    assert_true(flag);
    assert_ok(
        driver->settle(world->db->self, &engine->id, 0, batch.number, &flag));
    assert_false(flag);
    for (int i = 0; i < 2; i++, batch.number++)
        assert_ok(
            world->model->driver->commit(world->model->self, &batch, &flag));
    commit_nothing(world, &batch);
    engine->number = batch.number;
    engine->last = batch;
    engine->deleted = false;
}
