/* SPDX-License-Identifier: MIT
 *
 * Who is woken, and by what: the housekeeper by an eventfd, or the I/O thread;
 * the host's loop by another; waiting threads by conditions.
 */
#include "held/wakeup.h"

#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "store/move.h"
#include "store/store.h"

void
csc_wakeup_signal(int fd)
{
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof(one));

    (void)written; /* full means readable, which is all that is wanted */
}

void
csc_wakeup_drain(int fd)
{
    uint64_t count = 0;
    ssize_t got = read(fd, &count, sizeof(count));

    (void)got;
}

void
csc_wakeup_house_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->wakeup.house_signalled)
        return;
    engine->wakeup.house_signalled = true;
    csc_wakeup_signal(engine->wakeup.house_fd);
}

void
csc_wakeup_house_awake_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->wakeup.house_signalled)
        csc_wakeup_drain(engine->wakeup.house_fd);
    engine->wakeup.house_signalled = false;
}

void
csc_wakeup_host_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->wakeup.poll_fd < 0 || engine->wakeup.poll_signalled)
        return;
    engine->wakeup.poll_signalled = true;
    csc_wakeup_signal(engine->wakeup.poll_fd);
}

void
csc_wakeup_wait_on(pthread_mutex_t *mutex, pthread_cond_t *cond,
                   int64_t timeout_ms)
{
    csc_assert(csc_lock_is_held(mutex));
    if (timeout_ms < 0 || timeout_ms > CSC_WAIT_MAX_MS)
        timeout_ms = CSC_WAIT_MAX_MS;
    csc_lock_wait(cond, mutex, timeout_ms);
}

void
csc_wakeup_wait_locked(cascade_engine *engine, pthread_cond_t *cond,
                       int64_t timeout_ms)
{
    csc_wakeup_wait_on(&engine->mutex, cond, timeout_ms);
}

void
csc_wakeup_tell_all(cascade_store *store)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < store->engine_count; i++) {
        cascade_engine *engine = store->engines[i];

        csc_lock_take(&engine->mutex);
        engine->wakeup.told = true;
        csc_wakeup_house_locked(engine);
        csc_wakeup_host_locked(engine);
        csc_lock_give(&engine->mutex);
    }
    csc_lock_give(&store->mutex);
}

cascade_err
cascade_wake(cascade_store *store)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "cascade_wake: store is NULL");
    csc_wakeup_tell_all(store);
    err = csc_move_wake(store);
    return err == CASCADE_OK ? csc_ok() : err;
}
