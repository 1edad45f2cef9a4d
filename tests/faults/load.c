/* SPDX-License-Identifier: MIT */
#include "faults/load.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "process/check.h"

#define WORKERS 16
#define WORK_US 1000
#define LEASE_MS 600000
#define POLL_MS 100
#define START_EVERY_MS 10
#define SLOWLY_MS 80
#define SLOW_FROM 1000
#define PAUSE_MAX_MS 1000
#define MANY 4 /* starts of one call in so many calls */
#define LIMIT_MS 90000

/* ---- The log ------------------------------------------------------------- */

static void
note_line(void *context, cascade_log_level level, const char *line)
{
    test_load *load = context;

    if (getenv("CASCADE_TEST_LOG") != NULL)
        fprintf(stderr, "%d: %s\n", (int)level, line);
    pthread_mutex_lock(&load->mutex);
    fprintf(load->log, "%s\n", line);
    pthread_mutex_unlock(&load->mutex);
}

bool
load_has_logged(test_load *load, const char *words)
{
    bool found = false;

    pthread_mutex_lock(&load->mutex);
    if (fflush(load->log) == 0)
        found = strstr(load->log_text, words) != NULL;
    pthread_mutex_unlock(&load->mutex);
    return found;
}

typedef struct log_wait {
    test_load *load;
    const char *words;
} log_wait;

static bool
is_logged(void *context)
{
    const log_wait *it = context;

    return load_has_logged(it->load, it->words);
}

void
load_await_logged(test_load *load, const char *words)
{
    log_wait it = {.load = load, .words = words};

    if (!place_wait(is_logged, &it, LIMIT_MS))
        fail_msg("never logged: %s", words);
}

/* ---- Engines ------------------------------------------------------------- */

/* Where deadlines are short and the machine is slow, not the first time. */
static bool
is_reached(cascade_err err)
{
    if (err != CASCADE_ERR_UNAVAILABLE)
        assert_ok(err);
    return err == CASCADE_OK;
}

typedef struct opening {
    const char *url;
    const cascade_store_options *options;
    cascade_store **store;
} opening;

static bool
is_open(void *context)
{
    const opening *o = context;

    return is_reached(cascade_store_open(o->url, o->options, o->store));
}

cascade_store *
load_open_store(const char *url, const cascade_store_options *options)
{
    cascade_store *store = NULL;
    opening it = {.url = url, .options = options, .store = &store};

    if (!place_wait(is_open, &it, LIMIT_MS))
        fail_msg("open: %s", cascade_errmsg());
    return store;
}

static bool
is_started(void *engine)
{
    return is_reached(cascade_engine_start(engine));
}

static void
open_store(test_load *load, int index)
{
    const load_options *options = &load->options;
    const test_place *place = load->place;
    const cascade_store_options store = {
        .size = sizeof(store),
        .schema = place->schema[0] == '\0' ? NULL : place->schema,
        .application_name = options->name,
        .pooler = options->pooler,
        .deadline_ms = options->deadline_ms,
        .connection_max = options->connection_max,
        .log = options->log == NULL ? note_line : options->log,
        .log_context = options->log == NULL ? load : options->context,
        .log_level = options->log == NULL ? 0 : CASCADE_LOG_DEBUG};
    const char *url = index == 1 && options->second_url != NULL
                          ? options->second_url
                      : options->url == NULL ? place->url
                                             : options->url;

    load->stores[index] = load_open_store(url, &store);
}

static void
open_engine(test_load *load, int index)
{
    const load_options *options = &load->options;
    const cascade_engine_options engine = {
        .size = sizeof(engine),
        .worker_count = WORKERS,
        .lease_ms = options->lease_ms == 0 ? LEASE_MS : options->lease_ms,
        .poll_interval_ms = POLL_MS,
        .park_after_ms = options->park_after_ms};

    open_store(load, index);
    assert_ok(cascade_engine_open(load->stores[index], &engine,
                                  &load->engines[index]));
    assert_ok(flow_register(load->engines[index], &load->flow));
    if (!place_wait(is_started, load->engines[index], LIMIT_MS))
        fail_msg("start: %s", cascade_errmsg());
}

test_load *
load_open(const test_place *place, const load_options *options)
{
    test_load *load = calloc(1, sizeof(*load));

    assert_non_null(load);
    load->place = place;
    if (options != NULL)
        load->options = *options;
    if (load->options.slow_from == 0)
        load->options.slow_from = SLOW_FROM;
    pthread_mutex_init(&load->mutex, NULL);
    load->log = open_memstream(&load->log_text, &load->log_len);
    assert_non_null(load->log);
    load->flow = (test_flow){
        .log_fd = flow_open_log(place), .work_us = WORK_US, .who = "load"};
    assert_true(load->flow.log_fd >= 0);
    ledger_open(&load->ledger, place);
    for (int i = 0; i < LOAD_ENGINES; i++)
        open_engine(load, i);
    if (load->options.outsider)
        open_store(load, LOAD_ENGINES);
    return load;
}

void
load_stop(test_load *load)
{
    load_end(load);
    for (int i = 0; i < LOAD_ENGINES; i++) {
        assert_ok(cascade_engine_close(load->engines[i]));
        load->engines[i] = NULL;
    }
    for (int i = 0; i < LOAD_STORES; i++) {
        assert_ok(cascade_store_close(load->stores[i]));
        load->stores[i] = NULL;
    }
}

void
load_close(test_load *load)
{
    load_stop(load);
    ledger_close(&load->ledger);
    close(load->flow.log_fd);
    fclose(load->log);
    free(load->log_text);
    pthread_mutex_destroy(&load->mutex);
    free(load);
}

cascade_engine_stats
load_stats(test_load *load)
{
    cascade_engine_stats sum = {.size = sizeof(sum)};

    for (int i = 0; i < LOAD_ENGINES; i++) {
        cascade_engine_stats one = {.size = sizeof(one)};

        assert_ok(cascade_engine_get_stats(load->engines[i], &one));
        sum.held += one.held;
        sum.executions += one.executions;
        sum.fences += one.fences;
        sum.losses += one.losses;
        sum.refusals += one.refusals;
        sum.takeovers += one.takeovers;
    }
    return sum;
}

/* ---- Starts -------------------------------------------------------------- */

static void
note_failed(test_load *load, const load_start *start,
            const cascade_started *started)
{
    const char *reason = load->options.reason;

    load->failed++;
    if (reason != NULL && strstr(cascade_errmsg(), reason) != NULL)
        load->clear++;
    if (getenv("CASCADE_TEST_LOG") != NULL)
        fprintf(stderr, "%s: %s\n", cascade_err_name(start->err),
                cascade_errmsg());
    if (load->options.on_failed != NULL)
        load->options.on_failed(load->options.context, start, started);
}

/* `count` at once, which have their places from `index` on. */
static void
start_some(test_load *load, size_t index, size_t count)
{
    static const cascade_first first = {.size = sizeof(first), .node = "root"};
    size_t stores = load->options.outsider ? LOAD_STORES : LOAD_ENGINES;
    load_start *starts = &load->starts[index];
    cascade_start_options options[MANY];
    cascade_start_spec specs[MANY];
    cascade_started started[MANY];
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count; i++) {
        starts[i].id =
            csc_uuid_v7(csc_clock_system.wall_ms(NULL), &csc_random_system);
        options[i] = (cascade_start_options){.size = sizeof(options[i]),
                                             .id = &starts[i].id};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    err =
        cascade_start_many(load->stores[index % stores], specs, count, started);
    for (size_t i = 0; i < count; i++) {
        starts[i].err = err;
        if (err == CASCADE_OK)
            load->acknowledged++;
        else
            note_failed(load, &starts[i], &started[i]);
    }
}

/* Also by threads, which cannot fail a test. */
static size_t
count_executions(const test_load *load)
{
    size_t sum = 0;

    for (int i = 0; i < LOAD_ENGINES; i++) {
        cascade_engine_stats one = {.size = sizeof(one)};

        (void)cascade_engine_get_stats(load->engines[i], &one);
        sum += one.executions;
    }
    return sum;
}

/* A place in the table of starts. */
static size_t
take_index(test_load *load, size_t count)
{
    size_t index = atomic_fetch_add(&load->begun, count);

    if (index + count > LOAD_STARTS) {
        fprintf(stderr, "the table of starts is too small\n");
        exit(1);
    }
    return index;
}

/* So that no machine has more to do than it can: what has not ended, roughly,
 * counts as milliseconds. */
static void
make_pause(const test_load *load)
{
    size_t ended = count_executions(load) / FLOW_EXECUTIONS;
    size_t known = load->acknowledged;
    size_t ms =
        load->begun > load->options.slow_from ? SLOWLY_MS : START_EVERY_MS;

    if (known > ended)
        ms += known - ended;
    if (ms > PAUSE_MAX_MS)
        ms = PAUSE_MAX_MS;
    poll(NULL, 0, (int)ms);
}

static void *
start_cascades(void *context)
{
    load_starter *starter = context;
    test_load *load = starter->load;

    for (size_t n = 1; !load->stop; n++) {
        size_t count = load->options.many && n % MANY == 0 ? MANY : 1;

        start_some(load, take_index(load, count), count);
        starter->turns++;
        make_pause(load);
    }
    return NULL;
}

void
load_begin(test_load *load)
{
    load->stop = false;
    for (int i = 0; i < LOAD_STARTERS; i++) {
        load_starter *it = &load->starters[i];

        it->load = load;
        assert_int_equal(0,
                         pthread_create(&it->thread, NULL, start_cascades, it));
    }
    load->starting = true;
}

void
load_end(test_load *load)
{
    if (!load->starting)
        return;
    load->stop = true;
    for (int i = 0; i < LOAD_STARTERS; i++)
        pthread_join(load->starters[i].thread, NULL);
    load->starting = false;
}

/* ---- Waiting ------------------------------------------------------------- */

typedef struct target {
    test_load *load;
    const atomic_size_t *counter; /* NULL: executions */
    size_t until;
} target;

static size_t
reached(const target *it)
{
    return it->counter == NULL ? count_executions(it->load) : *it->counter;
}

static bool
has_come(void *context)
{
    const target *it = context;

    return reached(it) >= it->until;
}

static void
await(test_load *load, const atomic_size_t *counter, size_t more,
      const char *what)
{
    target it = {.load = load, .counter = counter};

    it.until = reached(&it) + more;
    if (!place_wait(has_come, &it, LIMIT_MS))
        fail_msg("%zu %s, not %zu, within %d ms", reached(&it), what, it.until,
                 LIMIT_MS);
}

void
load_await_executions(test_load *load, size_t more)
{
    await(load, NULL, more, "executions");
}

void
load_await_acknowledged(test_load *load, size_t more)
{
    await(load, &load->acknowledged, more, "acknowledged starts");
}

void
load_await_failed(test_load *load, size_t more)
{
    await(load, &load->failed, more, "failed starts");
}

void
load_await_clear(test_load *load, size_t more)
{
    await(load, &load->clear, more, "starts that fail for their reason");
}

void
load_await_turns(test_load *load)
{
    target its[LOAD_STARTERS];

    for (int i = 0; i < LOAD_STARTERS; i++) {
        its[i] = (target){.load = load, .counter = &load->starters[i].turns};
        its[i].until = reached(&its[i]) + 1;
    }
    for (int i = 0; i < LOAD_STARTERS; i++)
        if (!place_wait(has_come, &its[i], LIMIT_MS))
            fail_msg("starter %d does not come back", i);
}

void
load_settle(test_load *load, int64_t limit_ms)
{
    ledger_wait_ended(&load->ledger, limit_ms);
}

/* ---- The end ------------------------------------------------------------- */

static bool
is_there(test_load *load, const load_start *start)
{
    cascade_info *info = NULL;
    cascade_err err = cascade_get(load->ledger.store, &start->id, &info);

    cascade_info_free(info);
    if (err != CASCADE_ERR_NOT_FOUND)
        assert_ok(err);
    return err == CASCADE_OK;
}

size_t
load_count_missing(test_load *load)
{
    size_t missing = 0;

    for (size_t i = 0; i < load->begun; i++)
        missing += load->starts[i].err == CASCADE_OK &&
                   !is_there(load, &load->starts[i]);
    return missing;
}

static size_t
count_there(test_load *load)
{
    size_t there = 0;

    for (size_t i = 0; i < load->begun; i++) {
        const load_start *start = &load->starts[i];
        bool found = is_there(load, start);

        if (!found && start->err == CASCADE_OK && !load->ledger.forgetful)
            fail_msg("start %zu was acknowledged and is not there", i);
        if (found && start->err != CASCADE_OK &&
            start->err != CASCADE_ERR_OUTCOME_UNKNOWN)
            fail_msg("start %zu failed with %s and is there", i,
                     cascade_err_name(start->err));
        there += found;
    }
    return there;
}

void
load_check(test_load *load)
{
    size_t there = count_there(load);

    print_message("%zu starts, %zu acknowledged, %zu there\n",
                  (size_t)load->begun, (size_t)load->acknowledged, there);
    assert_true(load->acknowledged > 0);
    ledger_check(&load->ledger, there);
}
