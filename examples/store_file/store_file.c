/* SPDX-License-Identifier: MIT
 *
 * A whole store in the simplest way that is right: the core of cascade/store.h
 * and nothing besides. For learning how a store is written, and for comparing
 * others with it; not for speed.
 *
 *     lock PATH.lock --> read PATH, if it has changed --> the move
 *           on a copy of all rows --> PATH.new, fsync, rename --> unlock
 *
 * Whatever fails leaves the copy aside: nothing was changed. Whoever dies
 * before the rename has written nothing, after it all; the lock goes with the
 * process. So each move is atomic and durable, of any number of processes.
 *
 * Wakes are counted in PATH.lock, which all have mapped; who waits looks at the
 * count every few milliseconds.
 */
#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"

#define LOOK_MS 2

/* ---- Open and close ------------------------------------------------------ */

static void
close_file(void *self)
{
    file_store *f = self;

    if (f->wakes != NULL)
        munmap((void *)f->wakes, sizeof(*f->wakes));
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    state_free(&f->rows);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

static void
read_boot(file_store *f)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL)
        return;
    if (fgets(f->boot, sizeof(f->boot), file) == NULL)
        f->boot[0] = '\0';
    fclose(file);
}

static cascade_err
map_lock(file_store *f)
{
    char name[1100];
    void *map = MAP_FAILED;

    snprintf(name, sizeof(name), "%s.lock", f->path);
    f->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->lock_fd >= 0 && ftruncate(f->lock_fd, sizeof(*f->wakes)) == 0)
        map = mmap(NULL, sizeof(*f->wakes), PROT_READ | PROT_WRITE, MAP_SHARED,
                   f->lock_fd, 0);
    if (map == MAP_FAILED)
        return cascade_store_fail(CASCADE_ERR_SYSTEM, "%s: %s", name,
                                  strerror(errno));
    f->wakes = map;
    atomic_store(&f->seen, atomic_load(f->wakes));
    return CASCADE_OK;
}

static cascade_err
open_file(const char *url, const cascade_store_config *config, void **self)
{
    file_store *f = NULL;
    cascade_err err = CASCADE_OK;

    if (strncmp(url, "file:", 5) != 0 || strlen(url) >= sizeof(f->path))
        return cascade_store_fail(CASCADE_ERR_INVALID,
                                  "the file store is opened by \"file:PATH\"");
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return cascade_store_fail(CASCADE_ERR_NO_MEMORY, "out of memory");
    snprintf(f->path, sizeof(f->path), "%s", url + 5);
    f->config = config;
    pthread_mutex_init(&f->mutex, NULL);
    read_boot(f);
    err = map_lock(f);
    if (err != CASCADE_OK) {
        close_file(f);
        return err;
    }
    *self = f;
    return CASCADE_OK;
}

static cascade_err
migrate(void *self, cascade_migrate mode)
{
    file_store *f = self;
    cascade_err err = file_lock(f);

    if (err != CASCADE_OK)
        return err;
    err = state_read(&f->rows, f->path);
    if (err == CASCADE_OK && f->rows.version == 0)
        err = mode == CASCADE_MIGRATE_AUTO
                  ? state_write(&f->rows, f->path)
                  : cascade_store_fail(CASCADE_ERR_SCHEMA, "there is no %s yet",
                                       f->path);
    return file_end_read(f, err);
}

static cascade_err
now(void *self, int64_t *now_ms)
{
    *now_ms = file_wall_ms(self);
    return CASCADE_OK;
}

/* ---- Incarnations -------------------------------------------------------- */

static cascade_err
attach(void *self, const cascade_incarnation *incarnation)
{
    file_store *f = self;
    engine_row engine = {.row = *incarnation, .boot = f->boot};
    state next;
    bool fresh = false;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    fresh = find_engine(&next, &incarnation->engine_id) == NULL;
    if (engine.row.about == NULL)
        engine.row.about = "{}";
    engine.row.started_at_ms = file_wall_ms(f);
    engine.expires_ms =
        file_add_ms(file_monotonic_ms(f), incarnation->lease_ms);
    if (fresh)
        state_add(&next, ENGINES, &engine);
    for (uint32_t i = 0; fresh && i < incarnation->lane_count; i++)
        state_add(&next, LANES,
                  &(lane_row){.engine_id = incarnation->engine_id, .lane = i});
    return file_end_write(f, &next, CASCADE_OK, fresh);
}

static cascade_err
renew(void *self, const cascade_uuid *engine_id, int64_t lease_ms,
      int64_t *now_ms)
{
    file_store *f = self;
    state next;
    engine_row *engine = NULL;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    engine = find_engine(&next, engine_id);
    if (engine != NULL) {
        engine->expires_ms = file_add_ms(file_monotonic_ms(f), lease_ms);
        state_set_text(&next, &engine->boot, f->boot);
    } else {
        err = file_fail_fenced("renew");
    }
    err = file_end_write(f, &next, err, true);
    if (err == CASCADE_OK && now_ms != NULL)
        *now_ms = file_wall_ms(f);
    return err;
}

/* `removed`: its owner was, and did not let go of it. */
static void
free_run(const file_store *f, cascade_run_row *run, bool removed)
{
    run->engine_id = (cascade_uuid){{0}};
    run->wake_at_ms = file_wall_ms(f);
    if (!removed && run->trial > 0)
        run->trial--;
    if (removed && run->takeovers < INT32_MAX)
        run->takeovers++;
}

static void
remove_engine(state *s, const cascade_uuid *id)
{
    state_remove_all(s, ENGINES, id);
    state_remove_all(s, LANES, id);
}

static cascade_err
detach(void *self, const cascade_uuid *engine_id)
{
    file_store *f = self;
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    if (find_engine(&next, engine_id) == NULL)
        return file_end_write(f, &next, CASCADE_OK, false);
    for (size_t i = 0; i < next.tables[RUNS].count; i++) {
        cascade_run_row *run = state_row(&next, RUNS, i);

        if (compare_ids(&run->engine_id, engine_id) == 0)
            free_run(f, run, false);
    }
    remove_engine(&next, engine_id);
    return file_end_write(f, &next, CASCADE_OK, true);
}

static bool
is_orphan(const state *s, const cascade_run_row *run)
{
    return !is_nil(&run->engine_id) && find_engine(s, &run->engine_id) == NULL;
}

/* What is left of its lease: nothing, where the machine was started anew. */
static int64_t
left_ms(const file_store *f, const engine_row *engine)
{
    return strcmp(engine->boot, f->boot) == 0
               ? engine->expires_ms - file_monotonic_ms(f)
               : -1;
}

static cascade_err
list_engines(void *self, cascade_engine_sink sink, void *context, bool *orphans)
{
    file_store *f = self;
    cascade_err err = file_begin_read(f);

    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < f->rows.tables[ENGINES].count; i++) {
        const engine_row *engine = state_row(&f->rows, ENGINES, i);
        cascade_incarnation row = engine->row;

        row.lease_ms = left_ms(f, engine);
        err = sink(context, &row);
        if (err != CASCADE_OK)
            return file_end_read(f, err);
    }
    if (orphans != NULL)
        *orphans = false;
    for (size_t i = 0; orphans != NULL && i < f->rows.tables[RUNS].count; i++)
        *orphans =
            *orphans || is_orphan(&f->rows, state_row(&f->rows, RUNS, i));
    return file_end_read(f, CASCADE_OK);
}

static cascade_err
remove_dead(void *self, const cascade_uuid *dead, size_t dead_count,
            size_t limit, size_t *freed)
{
    file_store *f = self;
    size_t before = 0;
    size_t count = 0;
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    before = next.tables[ENGINES].count;
    for (size_t i = 0; i < dead_count; i++)
        remove_engine(&next, &dead[i]);
    for (size_t i = next.tables[ENGINES].count; i-- > 0;) {
        const engine_row *engine = state_row(&next, ENGINES, i);
        cascade_uuid id = engine->row.engine_id;

        if (left_ms(f, engine) <= 0)
            remove_engine(&next, &id);
    }
    for (size_t i = 0; i < next.tables[RUNS].count && count < limit; i++) {
        cascade_run_row *run = state_row(&next, RUNS, i);

        if (!is_orphan(&next, run))
            continue;
        free_run(f, run, true);
        count++;
    }
    err = file_end_write(f, &next, CASCADE_OK,
                         count > 0 || before != next.tables[ENGINES].count);
    if (err == CASCADE_OK)
        *freed = count;
    return err;
}

/* ---- Waiting ------------------------------------------------------------- */

static cascade_err
wait_for(void *self, int wake_fd, int64_t timeout_ms, cascade_waited *result)
{
    file_store *f = self;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    int64_t until_ms = file_add_ms(file_real_ms(), timeout_ms);
    uint64_t before = result != NULL ? result->seen : atomic_load(&f->seen);
    uint64_t seen = atomic_load(f->wakes);

    while (seen == before && file_real_ms() < until_ms) {
        int64_t left = until_ms - file_real_ms();
        int ready = poll(&fd, 1, left < LOOK_MS ? (int)left : LOOK_MS);

        seen = atomic_load(f->wakes);
        if (ready > 0)
            break;
    }
    if (result == NULL)
        atomic_store(&f->seen, seen);
    else
        *result = (cascade_waited){
            .seen = seen, .woken = seen != before, .listening = true};
    return CASCADE_OK;
}

cascade_err
file_wake(void *self)
{
    atomic_fetch_add(((file_store *)self)->wakes, 1);
    return CASCADE_OK;
}

const cascade_store_driver store_file = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .name = "file",
    .lane_max = 1,
    .open = open_file,
    .migrate = migrate,
    .now = now,
    .attach = attach,
    .renew = renew,
    .detach = detach,
    .engines = list_engines,
    .remove = remove_dead,
    .claim = file_claim,
    .load = file_load,
    .receive = file_receive,
    .scan = file_scan,
    .list = file_list,
    .commit = file_commit,
    .submit = file_submit,
    .settle = file_settle,
    .wait = wait_for,
    .wake = file_wake,
    .close = close_file,
};
