/* SPDX-License-Identifier: MIT */
#include "process/starter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/check.h"
#include "process/flow.h"

#define DELAYED_EVERY 8 /* calls */
#define DELAY_MS 40
#define KEY_SIZE 40

typedef struct starting {
    cascade_store *store;
    worker_shared *shared;
    int log_fd;
    size_t calls;
} starting;

/* ---- Starting ------------------------------------------------------------ */

static void
acknowledge(const starting *it, const cascade_started *started, const char *key)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char line[FLOW_LINE];

    snprintf(line, sizeof(line), "%s %s", cascade_uuid_format(&started->id, id),
             key);
    flow_append(it->log_fd, line);
}

/* `key_from`: NULL without keys. */
static bool
start(starting *it, size_t count, const uint64_t *key_from)
{
    static const cascade_first first = {.size = sizeof(first), .node = "root"};
    cascade_start_options options[STARTER_MAX];
    cascade_start_spec specs[STARTER_MAX];
    cascade_started started[STARTER_MAX];
    char keys[STARTER_MAX][KEY_SIZE];

    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], KEY_SIZE, "-");
        if (key_from != NULL)
            snprintf(keys[i], KEY_SIZE, "%s-%llu", it->shared->options.key,
                     (unsigned long long)(*key_from + i));
        options[i] = (cascade_start_options){
            .size = sizeof(options[i]),
            .user_id = key_from != NULL ? STARTER_USER : NULL,
            .key = key_from != NULL ? keys[i] : NULL,
            .delay_ms = it->calls % DELAYED_EVERY == 0 ? DELAY_MS : 0};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    if (cascade_start_many(it->store, specs, count, started) != CASCADE_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        acknowledge(it, &started[i], keys[i]);
    return true;
}

static void
start_some(starting *it)
{
    worker_figures *figures = &it->shared->figures;
    size_t count = 1 + it->calls / 2 % STARTER_MAX;
    uint64_t key_from = figures->key_next;

    it->calls++;
    if (it->calls % 2 == 0) {
        if (start(it, count, &key_from))
            figures->key_next += count;
        return;
    }
    figures->doubtful += count;
    if (start(it, count, NULL))
        figures->doubtful -= count;
}

static int
open_log(const test_place *place)
{
    char path[PLACE_PATH];

    return open(place_path(place, STARTER_LOG, path),
                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void
starter_run(cascade_store *store, worker_shared *shared,
            const atomic_bool *ended)
{
    int64_t start_us = shared->options.start_us;
    const struct timespec pace = {.tv_sec = start_us / 1000000,
                                  .tv_nsec = start_us % 1000000 * 1000};
    starting it = {.store = store, .shared = shared};

    it.log_fd = open_log(&shared->place);
    shared->figures.key_next = shared->options.key_from;
    while (!*ended) {
        shared->figures.starting = 1; /* before it looks */
        if (!shared->pause)
            start_some(&it);
        shared->figures.starting = 0;
        nanosleep(&pace, NULL);
    }
    close(it.log_fd);
}

static void *
run(void *argument)
{
    test_starter *it = argument;

    starter_run(it->store, it->shared, it->ended);
    return NULL;
}

void
starter_begin(test_starter *starter)
{
    int failed = pthread_create(&starter->thread, NULL, run, starter);

    if (failed != 0)
        abort();
}

void
starter_end(test_starter *starter)
{
    pthread_join(starter->thread, NULL);
}

/* ---- The oracle ---------------------------------------------------------- */

size_t
starter_read(const test_place *place, size_t *from, starter_each each,
             void *context)
{
    char path[PLACE_PATH];
    FILE *log = fopen(place_path(place, STARTER_LOG, path), "re");
    char line[FLOW_LINE + 1];
    size_t keyless = 0;

    if (log == NULL)
        return 0; /* nothing yet */
    assert_int_equal(0, fseek(log, (long)*from, SEEK_SET));
    while (fgets(line, sizeof(line), log) != NULL) {
        char text[CASCADE_UUID_TEXT_SIZE];
        char key[KEY_SIZE];
        cascade_uuid id;

        assert_int_equal(2, sscanf(line, "%36s %39s", text, key));
        assert_ok(cascade_uuid_parse(text, &id));
        each(context, &id, key);
        keyless += strcmp(key, "-") == 0;
        *from += FLOW_LINE;
    }
    fclose(log);
    return keyless;
}

static void
check_one(void *context, const cascade_uuid *id, const char *key)
{
    const test_ledger *ledger = context;
    char text[CASCADE_UUID_TEXT_SIZE];

    if (!ledger_has_ended(ledger, id))
        fail_msg("%s (key %s) was acknowledged and is not there",
                 cascade_uuid_format(id, text), key);
}

void
starter_check(test_ledger *ledger, const starter_claims *claims)
{
    size_t from = 0;
    size_t keyless = starter_read(ledger->place, &from, check_one, ledger);
    size_t there = ledger->cascades - ledger->keyed;

    if (ledger->keyed < claims->keys ||
        ledger->keyed > claims->keys + claims->keys_doubtful)
        fail_msg("%zu cascades with keys, %zu to %zu were started",
                 ledger->keyed, claims->keys,
                 claims->keys + claims->keys_doubtful);
    if (there < keyless || there > keyless + claims->doubtful)
        fail_msg("%zu cascades without keys, %zu to %zu were started", there,
                 keyless, keyless + claims->doubtful);
}
