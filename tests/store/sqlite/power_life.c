/* SPDX-License-Identifier: MIT
 *
 * One life of a program; see power_life.h.
 */
#include "store/sqlite/power_life.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_disk.h"
#include "store/store.h"
#include "support/splitmix.h"

#define TIME_ZERO_MS INT64_C(1800000000000)
#define DEADLINE_MS 90000
#define POLLS_MAX 5000
#define USER "user"

static void go_wrong(life *it, const char *format, ...) CASCADE_PRINTF(2, 3);

/* Keeps the first. */
static void
go_wrong(life *it, const char *format, ...)
{
    va_list arguments;

    if (it->wrong[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(it->wrong, sizeof(it->wrong), format, arguments);
    va_end(arguments);
}

static bool
is_well(const life *it)
{
    return it->wrong[0] == '\0';
}

/* ---- The ledger ---------------------------------------------------------- */

static life_ack *
acknowledge(life *it, life_fact fact, const cascade_uuid *id,
            int32_t function_id)
{
    static life_ack nowhere;
    life_ack *ack;

    if (it->ledger == NULL)
        return &nowhere;
    if (it->ledger->count == LIFE_ACKS) {
        go_wrong(it, "the ledger is full");
        return &nowhere;
    }
    ack = &it->ledger->acks[it->ledger->count++];
    *ack = (life_ack){
        .fact = fact, .at = disk_count(), .function_id = function_id};
    if (id != NULL)
        ack->id = *id;
    return ack;
}

void
life_tell(const life_ledger *ledger, size_t at, oracle *to)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const life_ack *ack = &ledger->acks[i];

        if (ack->at > at)
            continue;
        if (ack->fact == LIFE_STARTED)
            oracle_started(to, &ack->id, true);
        if (ack->fact == LIFE_ENTERED || ack->fact == LIFE_CALLED)
            oracle_ran(to, ack->request_id, ack->attempt, ack->now_ms);
    }
}

/* ---- The nodes ----------------------------------------------------------- */

/* A node's function, which tells that the node is recorded as running, or a
 * step's. */
static void
note_entry(life *it, const cascade_node *node, life_fact fact)
{
    const char *request_id = cascade_node_request_id(node);
    int64_t now_ms = atomic_load(&it->clock.wall_ms);
    life_ack *ack = acknowledge(it, fact, cascade_node_cascade_id(node),
                                cascade_node_function_id(node));

    ack->attempt = cascade_node_attempt(node);
    ack->now_ms = now_ms;
    snprintf(ack->request_id, sizeof(ack->request_id), "%s", request_id);
    if (it->oracle != NULL)
        oracle_ran(it->oracle, request_id, ack->attempt, now_ms);
}

/* Who spawned it has told it its function_id. */
static void
note_parent(life *it, cascade_node *node)
{
    const cJSON *by =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "by");

    if (!cJSON_IsNumber(by))
        go_wrong(it, "an input is not as it was given");
    else
        (void)acknowledge(it, LIFE_DONE, cascade_node_cascade_id(node),
                          by->valueint);
}

static cascade_err
put_value(const life *it, cascade_node *node)
{
    char text[4096];
    size_t len = it->plan->value_len;

    if (len > sizeof(text) - 3)
        len = sizeof(text) - 3;
    memset(text, 'v', len + 2);
    text[0] = '"';
    text[len + 1] = '"';
    text[len + 2] = '\0';
    return cascade_node_put_text(node, "key", text, NULL);
}

static cascade_err
pay(cascade_node *node, void *arg, cJSON **result)
{
    note_entry(arg, node, LIFE_CALLED);
    *result = cJSON_CreateString("receipt");
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

static cJSON *
make_input(const cascade_node *node)
{
    cJSON *input = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(input, "by", cascade_node_function_id(node));
    return input;
}

static cascade_err
run_begin(cascade_node *node, void *user)
{
    static const uint32_t both[] = {1, 2};
    cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cascade_err err;

    note_entry(user, node, LIFE_ENTERED);
    err = put_value(user, node);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "pay", pay, user, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    (void)acknowledge(user, LIFE_PAID, cascade_node_cascade_id(node), 0);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "middle", make_input(node), NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "last", make_input(node), &after);
    return err;
}

static cascade_err
run_middle(cascade_node *node, void *user)
{
    note_entry(user, node, LIFE_ENTERED);
    note_parent(user, node);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "not at once");
    return put_value(user, node);
}

static cascade_err
run_last(cascade_node *node, void *user)
{
    note_entry(user, node, LIFE_ENTERED);
    note_parent(user, node);
    return cascade_node_output(node, cJSON_CreateString("the end"));
}

/* ---- Opening and closing ------------------------------------------------- */

/* True when the call is to be repeated: it met a fault of the test's. */
static bool
repeats(life *it, cascade_err err, const char *what)
{
    if (err == CASCADE_OK || !is_well(it))
        return false;
    if (err == CASCADE_ERR_UNAVAILABLE && it->faults > 0) {
        it->faults--;
        fake_clock_advance(&it->clock, 1);
        return true;
    }
    go_wrong(it, "%s: %s %s", what, cascade_err_name(err), cascade_errmsg());
    return false;
}

static void
fill_random(void *context, void *bytes, size_t len)
{
    life *it = context;

    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] =
            (unsigned char)(splitmix_next(&it->random) >> 56);
}

static void
open_store(life *it)
{
    cascade_random random = {it, fill_random};
    cascade_store_options options = {
        .size = sizeof(options),
        .durability = it->plan->relaxed ? CASCADE_DURABILITY_RELAXED
                                        : CASCADE_DURABILITY_FULL,
        .deadline_ms = DEADLINE_MS,
        .clock = &it->clock.clock,
        .random = &random};
    csc_sqlite *sqlite;

    fake_clock_init(&it->clock, TIME_ZERO_MS);
    fake_clock_advance(&it->clock, it->begin_ms);
    while (
        repeats(it, cascade_store_open(it->url, &options, &it->store), "open"))
        ;
    if (it->store == NULL)
        return;
    (void)acknowledge(it, LIFE_OPENED, NULL, 0);
    sqlite = it->store->self;
    if (it->plan->checkpoint_pages > 0) {
        sqlite->checkpoint_pages = it->plan->checkpoint_pages;
        sqlite->checkpoint_at_pages = it->plan->checkpoint_pages;
    }
}

static void
open_engine(life *it)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    cascade_node_options node = {
        .size = sizeof(node), .backoff_ms = 3, .jitter_percent = -1};
    cascade_err err = cascade_engine_open(it->store, &options, &it->engine);

    if (err == CASCADE_OK)
        err =
            cascade_engine_register(it->engine, "begin", run_begin, it, &node);
    if (err == CASCADE_OK)
        err = cascade_engine_register(it->engine, "middle", run_middle, it,
                                      &node);
    if (err == CASCADE_OK)
        err = cascade_engine_register(it->engine, "last", run_last, it, &node);
    if (err != CASCADE_OK)
        go_wrong(it, "engine: %s", cascade_errmsg());
    while (is_well(it) &&
           repeats(it, cascade_engine_start(it->engine), "start of the engine"))
        ;
}

/* What was committed is safe, whether or not the farewell succeeds. */
static void
close_all(life *it)
{
    cascade_err err = CASCADE_OK;

    if (it->engine != NULL) {
        (void)cascade_engine_stop(it->engine, 0);
        err = cascade_engine_close(it->engine);
    }
    if (err == CASCADE_OK && it->store != NULL)
        err = cascade_store_close(it->store);
    if (err != CASCADE_OK)
        go_wrong(it, "close: %s", cascade_errmsg());
    it->engine = NULL;
    it->store = NULL;
}

/* ---- Living -------------------------------------------------------------- */

static bool
poll_once(life *it)
{
    size_t ran = 0;
    int64_t wait_ms;
    cascade_err err = cascade_engine_poll(it->engine, 0, &ran);

    if (err != CASCADE_OK) {
        go_wrong(it, "poll: %s", cascade_errmsg());
        return false;
    }
    wait_ms = cascade_engine_timeout_ms(it->engine);
    if (ran == 0 && wait_ms > 0)
        fake_clock_advance(&it->clock, wait_ms);
    return is_well(it);
}

static void
await_end(life *it, const cascade_uuid *id)
{
    cascade_status status = CASCADE_RUNNING;
    cascade_err err = CASCADE_ERR_TIMEOUT;

    for (size_t i = 0; i < POLLS_MAX && is_well(it); i++) {
        err = cascade_wait(it->store, id, 0, &status);
        if (err == CASCADE_OK)
            break;
        if (err != CASCADE_ERR_TIMEOUT && !repeats(it, err, "wait"))
            return;
        (void)poll_once(it);
    }
    if (status != CASCADE_COMPLETED)
        go_wrong(it, "a cascade does not come to its end (status %d)",
                 (int)status);
    else
        (void)acknowledge(it, LIFE_ENDED, id, 0);
}

static void
start_one(life *it, size_t round, const char *which, cascade_started *started)
{
    char key[64];
    cascade_start_options options = {
        .size = sizeof(options), .user_id = USER, .key = key};

    snprintf(key, sizeof(key), "%s-%zu", which, round);
    while (repeats(it,
                   cascade_start(it->store, "begin", NULL, &options, started),
                   "start"))
        ;
    if (is_well(it))
        (void)acknowledge(it, LIFE_STARTED, &started->id, 0);
}

/* All or none: the end of the test looks. */
static void
start_trio(life *it)
{
    cascade_first first = {.size = sizeof(first), .node = "begin"};
    cascade_start_options options[LIFE_TRIO];
    cascade_start_spec specs[LIFE_TRIO];
    cascade_started started[LIFE_TRIO];
    char keys[LIFE_TRIO][16];

    for (size_t i = 0; i < LIFE_TRIO; i++) {
        snprintf(keys[i], sizeof(keys[i]), "trio-%zu", i);
        options[i] = (cascade_start_options){
            .size = sizeof(options[i]), .user_id = "trio", .key = keys[i]};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    while (repeats(it, cascade_start_many(it->store, specs, LIFE_TRIO, started),
                   "start of three"))
        ;
    for (size_t i = 0; i < LIFE_TRIO && is_well(it); i++) {
        (void)acknowledge(it, LIFE_STARTED, &started[i].id, 0);
        await_end(it, &started[i].id);
    }
}

static void
live_round(life *it, size_t round)
{
    cascade_started a;
    cascade_started b;

    start_one(it, round, "a", &a);
    if (is_well(it))
        start_one(it, round, "b", &b);
    if (is_well(it))
        await_end(it, &a.id);
    if (is_well(it))
        await_end(it, &b.id);
}

/* The first start is made without an engine. */
bool
life_run(life *it)
{
    cascade_started early;

    open_store(it);
    if (is_well(it))
        start_one(it, 0, "early", &early);
    if (is_well(it))
        open_engine(it);
    for (size_t i = 0; i < it->plan->rounds && is_well(it); i++)
        live_round(it, i);
    if (is_well(it) && it->plan->trio)
        start_trio(it);
    if (is_well(it))
        await_end(it, &early.id);
    close_all(it);
    return is_well(it);
}

/* ---- Recovering ---------------------------------------------------------- */

static size_t
count_running(life *it, cascade_uuid *one)
{
    cascade_list_options options = {
        .size = sizeof(options), .status = CASCADE_RUNNING, .limit = 1000};
    cascade_page *page = NULL;
    size_t count = 0;

    if (cascade_list(it->store, &options, &page) != CASCADE_OK) {
        go_wrong(it, "list: %s", cascade_errmsg());
        return 0;
    }
    count = cascade_page_count(page);
    if (count > 0)
        *one = cascade_page_get(page, 0)->id;
    cascade_page_free(page);
    return count;
}

static void
look(life *it, oracle_phase phase)
{
    if (is_well(it) && it->look != NULL &&
        !it->look(it->context, it->store, phase))
        go_wrong(it, "what is found is not what was left");
}

bool
life_recover(life *it)
{
    cascade_uuid id;

    open_store(it);
    look(it, ORACLE_RUNNING);
    if (is_well(it))
        open_engine(it);
    while (is_well(it) && count_running(it, &id) > 0)
        await_end(it, &id);
    look(it, ORACLE_ENDED);
    close_all(it);
    return is_well(it);
}
