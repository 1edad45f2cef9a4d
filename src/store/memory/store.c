/* SPDX-License-Identifier: MIT
 *
 * The memory store: the reference model of the store interface. It has no
 * statements and no disk, so what a move means can be read off it; the other
 * stores are compared with it by random tests. Programs use it for tests, and
 * for cascades that need not outlive the process.
 *
 *   "memory:"       a model of its own, freed with the handle
 *   "memory:NAME"   one model for all handles of this process with that name,
 *                   freed with the last of them
 *
 * Sharing by name needs a place that handles find without knowing each other:
 * the one global of the library, a list of named models under a mutex. It is
 * empty whenever no named store is open.
 *
 * It has no tables, so nothing is ever migrated. To whoever asks for migrations
 * it names one, which stands for what a model is made of, and is applied since
 * the model was made.
 *
 * What a handle has of its own is its clock and what its waits have seen. The
 * wall clock tells when runs are due, the monotonic clock when leases end.
 */
#include "store/store.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/memory/internal.h"
#include "store/memory/text_map.h"

#define URL_PREFIX "memory:"
#define NAME_MAX_LEN 255
#define MIGRATION "001_memory"

static struct {
    pthread_mutex_t mutex;
    csc_memory_model *first;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- Models ------------------------------------------------------------- */

static csc_memory_model *
create_model(const char *name, int64_t now_ms)
{
    csc_memory_model *model = csc_mem_zalloc(1, sizeof(*model));

    if (model == NULL)
        return NULL;
    csc_origin_mark(&model->origin);
    if (name[0] != '\0') {
        model->name = csc_mem_strdup(name);
        if (model->name == NULL)
            goto fail;
    }
    if (csc_lock_init_mutex(&model->mutex) != CASCADE_OK)
        goto fail;
    model->orphans.prev = &model->orphans;
    model->orphans.next = &model->orphans;
    model->box_ring.prev = &model->box_ring;
    model->box_ring.next = &model->box_ring;
    model->refs = 1;
    model->piece_max = CASCADE_DELETE_ROWS_MAX;
    model->created_at_ms = now_ms;
    return model;
fail:
    csc_mem_free(model->name);
    csc_mem_free(model);
    return NULL;
}

static void
free_all(csc_map *map, void (*free_one)(void *))
{
    size_t at = 0;

    for (;;) {
        void *value = csc_map_next(map, &at);

        if (value == NULL)
            break;
        free_one(value);
    }
    csc_map_fini(map);
}

static void
free_cascade(void *cascade)
{
    csc_memory_rows_free(cascade);
}

static void
free_model(csc_memory_model *model)
{
    csc_assert(model->refs == 0 && model->waiters == NULL);
    csc_lock_take(&model->mutex);
    free_all(&model->cascades, free_cascade);
    free_all(&model->erasures, free_cascade);
    free_all(&model->engines, csc_mem_free);
    csc_map_fini(&model->executions);
    csc_memory_names_fini(&model->paths);
    csc_memory_messages_fini(model);
    csc_memory_links_fini(model);
    csc_memory_runs_fini(model);
    csc_mem_free(model->seal);
    csc_lock_give(&model->mutex);
    csc_lock_fini_mutex(&model->mutex);
    csc_mem_free(model->name);
    csc_mem_free(model);
}

static csc_memory_model *
find_shared(const char *name)
{
    csc_memory_model *model = shared.first;

    while (model != NULL &&
           (!csc_origin_is_here(model) || strcmp(model->name, name) != 0))
        model = model->next;
    return model;
}

/* The model for a handle; NULL when out of memory. */
static csc_memory_model *
get_model(const char *name, int64_t now_ms)
{
    csc_memory_model *model;

    if (name[0] == '\0')
        return create_model(name, now_ms);
    csc_lock_take(&shared.mutex);
    model = find_shared(name);
    if (model != NULL) {
        model->refs++;
    } else {
        model = create_model(name, now_ms);
        if (model != NULL) {
            model->next = shared.first;
            shared.first = model;
        }
    }
    csc_lock_give(&shared.mutex);
    return model;
}

static void
release_model(csc_memory_model *model)
{
    csc_memory_model **at = &shared.first;
    size_t refs;

    csc_lock_take(&shared.mutex);
    csc_assert(model->refs > 0);
    refs = --model->refs;
    if (refs == 0 && model->name != NULL) {
        while (*at != model)
            at = &(*at)->next;
        *at = model->next;
    }
    csc_lock_give(&shared.mutex);
    if (refs == 0)
        free_model(model);
}

/* ---- Over a fork --------------------------------------------------------- */

static void
before_fork(void)
{
    csc_lock_take(&shared.mutex);
}

static void
after_fork(bool child)
{
    (void)child;
    csc_lock_give(&shared.mutex);
}

const csc_store_forking *
csc_store_memory_forking(void)
{
    static const csc_store_forking forking = {before_fork, after_fork};

    return &forking;
}

/* ---- The handle --------------------------------------------------------- */

static cascade_err
open_memory(const char *url, const cascade_store_config *config, void **self)
{
    size_t prefix_len = strlen(URL_PREFIX);
    csc_memory *memory;

    if (strncmp(url, URL_PREFIX, prefix_len) != 0 ||
        strlen(url + prefix_len) > NAME_MAX_LEN)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the memory store is opened by \"memory:\" or "
                        "\"memory:NAME\" with at most %d bytes of name",
                        NAME_MAX_LEN);
    memory = csc_mem_zalloc(1, sizeof(*memory));
    if (memory == NULL)
        return csc_fail_memory();
    memory->config = config;
    memory->model =
        get_model(url + prefix_len, csc_clock_wall_ms(config->clock));
    if (memory->model == NULL) {
        csc_mem_free(memory);
        return csc_fail_memory();
    }
    csc_lock_take(&memory->model->mutex);
    memory->seen = memory->model->wakes;
    csc_lock_give(&memory->model->mutex);
    *self = memory;
    return CASCADE_OK;
}

/* There is no schema that could be old. */
static cascade_err
migrate(void *self, cascade_migrate mode)
{
    (void)self;
    (void)mode;
    return CASCADE_OK;
}

static cascade_err
list_migrations(void *self, cascade_migration_sink sink, void *context)
{
    const csc_memory *memory = self;
    const cascade_migration_row row = {
        .number = 1,
        .name = MIGRATION,
        .applied_at_ms = memory->model->created_at_ms,
    };

    return sink(context, &row);
}

static cascade_err
now(void *self, int64_t *now_ms)
{
    const csc_memory *memory = self;

    *now_ms = csc_clock_wall_ms(memory->config->clock);
    return CASCADE_OK;
}

static void
close_memory(void *self)
{
    csc_memory *memory = self;

    release_model(memory->model);
    csc_turn_fini(&memory->turns);
    csc_mem_free(memory);
}

static const cascade_store_chain chain = {
    .size = sizeof(chain),
    .key = csc_memory_messages_key,
    .find = csc_memory_links_find,
    .link = csc_memory_links_write,
    .sweep = csc_memory_links_sweep,
};

static const cascade_store_manage manage = {
    .size = sizeof(manage),
    .pause = csc_memory_queues_pause,
    .queues = csc_memory_queues_list,
    .totals = csc_memory_scan_totals,
    .schema = list_migrations,
    .repair = csc_memory_mend_repair,
    .purge = csc_memory_mend_purge,
    .erase = csc_memory_delete_erase,
    .strays = csc_memory_strays_list,
};

static const cascade_store_integrity integrity = {
    .size = sizeof(integrity),
    .seal = csc_memory_seals_change,
    .seals = csc_memory_seals_list,
};

static const cascade_store_limits limits = {
    .size = sizeof(limits),
    .set = csc_memory_limits_set,
    .list = csc_memory_limits_list,
    .drop = csc_memory_limits_drop,
    .slots = csc_memory_limits_slots,
};

/* Batches of all lanes take turns at one mutex. */
static const cascade_store_driver driver = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .name = "memory",
    .lane_max = 1,
    .open = open_memory,
    .migrate = migrate,
    .now = now,
    .attach = csc_memory_engines_attach,
    .renew = csc_memory_engines_renew,
    .detach = csc_memory_engines_detach,
    .engines = csc_memory_engines_list,
    .remove = csc_memory_engines_remove,
    .claim = csc_memory_runs_claim,
    .load = csc_memory_read_load,
    .receive = csc_memory_messages_receive,
    .scan = csc_memory_scan_rows,
    .list = csc_memory_read_list,
    .commit = csc_memory_commit_batch,
    .submit = csc_memory_commit_submit,
    .settle = csc_memory_engines_settle,
    .wait = csc_memory_wait_for,
    .wake = csc_memory_wait_wake,
    .close = close_memory,
    .chain = &chain,
    .manage = &manage,
    .integrity = &integrity,
    .limits = &limits,
};

const cascade_store_driver *
csc_store_memory_driver(void)
{
    return &driver;
}
