/* SPDX-License-Identifier: MIT */
#include "store/watch.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"

cascade_err
csc_watch_init(csc_watches *watches)
{
    memset(watches, 0, sizeof(*watches));
    return csc_lock_init_mutex(&watches->mutex);
}

void
csc_watch_fini(csc_watches *watches)
{
    csc_lock_fini_mutex(&watches->mutex);
}

/* The last bytes of an id are random. */
static csc_watch **
find_list(csc_watches *watches, const cascade_uuid *id)
{
    csc_assert(csc_lock_is_held(&watches->mutex));
    return &watches->lists[id->bytes[15] % CSC_WATCH_LISTS];
}

static void
enlist(csc_watches *watches, csc_watch *watch, const cascade_uuid *id)
{
    csc_watch **list = find_list(watches, id);

    watch->id = *id;
    watch->ended = 0;
    watch->status = 0;
    watch->look = CSC_WATCH_NO_LOOK;
    watch->next = *list;
    *list = watch;
}

static void
delist(csc_watches *watches, const csc_watch *watch)
{
    csc_watch **at = find_list(watches, &watch->id);

    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
}

cascade_err
csc_watch_begin(csc_watches *watches, csc_watch *watch, const cascade_uuid *id)
{
    cascade_err err = csc_lock_init_cond(&watch->cond);

    if (err != CASCADE_OK)
        return err;
    watch->told = false;
    csc_lock_take(&watches->mutex);
    enlist(watches, watch, id);
    csc_lock_give(&watches->mutex);
    return CASCADE_OK;
}

void
csc_watch_end(csc_watches *watches, csc_watch *watch)
{
    csc_lock_take(&watches->mutex);
    csc_assert(watch->look != CSC_WATCH_UNDER_WAY);
    delist(watches, watch);
    csc_lock_give(&watches->mutex);
    csc_lock_fini_cond(&watch->cond);
}

void
csc_watch_move(csc_watches *watches, csc_watch *watch, const cascade_uuid *id)
{
    csc_lock_take(&watches->mutex);
    csc_assert(watch->look != CSC_WATCH_UNDER_WAY);
    delist(watches, watch);
    enlist(watches, watch, id);
    csc_lock_give(&watches->mutex);
}

void
csc_watch_tell(csc_watches *watches, const cascade_uuid *id,
               cascade_status ended)
{
    csc_watch *watch;

    csc_lock_take(&watches->mutex);
    for (watch = *find_list(watches, id); watch != NULL; watch = watch->next) {
        if (!csc_uuid_equal(&watch->id, id))
            continue;
        watch->told = true;
        watch->ended = ended != 0 ? ended : watch->ended;
        pthread_cond_signal(&watch->cond);
    }
    csc_lock_give(&watches->mutex);
}

static struct timespec
deadline_after(int64_t timeout_ms)
{
    int64_t until_ms =
        csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system), timeout_ms);

    return (struct timespec){.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000 * CSC_MS_NS)};
}

bool
csc_watch_wait(csc_watches *watches, csc_watch *watch, int64_t timeout_ms)
{
    struct timespec until = deadline_after(timeout_ms < 0 ? 0 : timeout_ms);
    int failed = 0;
    bool told;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&watches->mutex);
    while (!watch->told && failed == 0)
        failed = pthread_cond_timedwait(&watch->cond, &watches->mutex, &until);
    told = watch->told;
    watch->told = false;
    csc_lock_give(&watches->mutex);
    return told;
}

cascade_status
csc_watch_ended(csc_watches *watches, const csc_watch *watch)
{
    cascade_status ended;

    csc_lock_take(&watches->mutex);
    ended = watch->ended;
    csc_lock_give(&watches->mutex);
    return ended;
}

/* ---- One look for all ---------------------------------------------------- */

static bool
has_id(const cascade_uuid *ids, size_t count, const cascade_uuid *id)
{
    for (size_t i = 0; i < count; i++)
        if (csc_uuid_equal(&ids[i], id))
            return true;
    return false;
}

/* Those of a list that want one; each id once: it is in no other list. */
static size_t
take_list(csc_watch *list, cascade_uuid ids[CSC_WATCH_LOOK_MAX], size_t count)
{
    size_t from = count;

    csc_assert(count <= CSC_WATCH_LOOK_MAX);
    for (csc_watch *w = list; w != NULL; w = w->next) {
        if (w->look != CSC_WATCH_WANTED || count == CSC_WATCH_LOOK_MAX)
            continue;
        w->look = CSC_WATCH_UNDER_WAY;
        if (!has_id(ids + from, count - from, &w->id))
            ids[count++] = w->id;
    }
    return count;
}

/* The caller's first, as the room may not do for all: then the next look begins
 * where this one has ended, so that each comes to its turn. */
static size_t
take_wanted(csc_watches *watches, csc_watch *own,
            cascade_uuid ids[CSC_WATCH_LOOK_MAX])
{
    size_t count = 0;
    size_t i = 0;

    csc_assert(csc_lock_is_held(&watches->mutex) && watches->looking);
    own->look = CSC_WATCH_UNDER_WAY;
    ids[count++] = own->id;
    for (csc_watch *w = *find_list(watches, &own->id); w != NULL; w = w->next)
        if (w->look == CSC_WATCH_WANTED && csc_uuid_equal(&w->id, &own->id))
            w->look = CSC_WATCH_UNDER_WAY;
    for (; i < CSC_WATCH_LISTS && count < CSC_WATCH_LOOK_MAX; i++)
        count = take_list(watches->lists[(watches->next + i) % CSC_WATCH_LISTS],
                          ids, count);
    if (count == CSC_WATCH_LOOK_MAX)
        watches->next = (watches->next + i - 1) % CSC_WATCH_LISTS;
    return count;
}

static csc_watch_look
take(csc_watch *watch, cascade_status *status)
{
    csc_watch_look look = watch->look;

    csc_assert(watch->look >= CSC_WATCH_FOUND);
    *status = watch->status;
    watch->look = CSC_WATCH_NO_LOOK;
    return look;
}

csc_watch_look
csc_watch_join(csc_watches *watches, csc_watch *watch, int64_t timeout_ms,
               cascade_uuid ids[CSC_WATCH_LOOK_MAX], size_t *count,
               cascade_status *status)
{
    struct timespec until = deadline_after(timeout_ms);
    csc_watch_look look = CSC_WATCH_WANTED;
    int failed = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&watches->mutex);
    csc_assert(watch->look == CSC_WATCH_NO_LOOK);
    watch->look = CSC_WATCH_WANTED;
    while (watch->look == CSC_WATCH_WANTED && watches->looking && failed == 0)
        failed = pthread_cond_timedwait(&watch->cond, &watches->mutex, &until);
    while (watch->look == CSC_WATCH_UNDER_WAY)
        (void)pthread_cond_wait(&watch->cond, &watches->mutex);
    if (watch->look == CSC_WATCH_WANTED && watches->looking) {
        watch->look = look = CSC_WATCH_NO_LOOK;
    } else if (watch->look == CSC_WATCH_WANTED) {
        watches->looking = true;
        *count = take_wanted(watches, watch, ids);
    } else {
        look = take(watch, status);
    }
    csc_lock_give(&watches->mutex);
    return look;
}

void
csc_watch_give(csc_watches *watches, const cascade_uuid *id,
               cascade_status status)
{
    csc_lock_take(&watches->mutex);
    csc_assert(watches->looking);
    for (csc_watch *w = *find_list(watches, id); w != NULL; w = w->next) {
        if (w->look != CSC_WATCH_UNDER_WAY || !csc_uuid_equal(&w->id, id))
            continue;
        w->look = CSC_WATCH_FOUND;
        w->status = status;
    }
    csc_lock_give(&watches->mutex);
}

/* Answers those of a list; the last that wants another look. */
static csc_watch *
answer_list(csc_watch *list, csc_watch_look rest)
{
    csc_watch *wanting = NULL;

    for (csc_watch *w = list; w != NULL; w = w->next) {
        if (w->look == CSC_WATCH_UNDER_WAY)
            w->look = rest;
        if (w->look == CSC_WATCH_WANTED)
            wanting = w;
        else if (w->look != CSC_WATCH_NO_LOOK)
            pthread_cond_signal(&w->cond);
    }
    return wanting;
}

/* Of those who want the next look one is woken: it looks for all. */
void
csc_watch_done(csc_watches *watches, cascade_err err)
{
    csc_watch_look rest =
        err == CASCADE_OK ? CSC_WATCH_ABSENT : CSC_WATCH_FAILED;
    csc_watch *next = NULL;

    csc_lock_take(&watches->mutex);
    csc_assert(watches->looking);
    watches->looking = false;
    if (err != CASCADE_OK)
        csc_error_keep(&watches->error, err);
    for (size_t i = 0; i < CSC_WATCH_LISTS; i++) {
        csc_watch *wanting = answer_list(
            watches->lists[(watches->next + i) % CSC_WATCH_LISTS], rest);

        next = next == NULL ? wanting : next;
    }
    if (next != NULL)
        pthread_cond_signal(&next->cond);
    csc_lock_give(&watches->mutex);
}

csc_watch_look
csc_watch_take(csc_watches *watches, csc_watch *watch, cascade_status *status)
{
    csc_watch_look look;

    csc_lock_take(&watches->mutex);
    csc_assert(watch->look >= CSC_WATCH_FOUND);
    look = take(watch, status);
    csc_lock_give(&watches->mutex);
    return look;
}

cascade_err
csc_watch_fail(csc_watches *watches)
{
    csc_error_kept error;

    csc_lock_take(&watches->mutex);
    error = watches->error;
    csc_lock_give(&watches->mutex);
    return csc_error_restore(&error);
}
