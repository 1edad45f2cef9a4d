/* SPDX-License-Identifier: MIT
 *
 * The side of the worker: the nodes, who moves money without the library, and
 * the process itself.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/bank.h"
#include "process/bank_link.h"
#include "process/strike.h"
#include "store/store.h"

#define ENGINE_STOP_MS 60000
#define LOOK_EVERY_MS 5
#define SQL_SIZE 256

static cascade_engine *running; /* NULL: an outsider */
static atomic_bool ended;

typedef struct move {
    int payer;
    int payee;
    int amount;
    int notices;
} move;

/* ---- Moving -------------------------------------------------------------- */

static bool
write_row(bank_link *link, const char *cascade, const move *m)
{
    char sql[SQL_SIZE];

    snprintf(sql, sizeof(sql),
             "INSERT INTO {}bank_moves (cascade, payer, payee, amount, notices)"
             " VALUES (%s, %d, %d, %d, %d)",
             cascade, m->payer, m->payee, m->amount, m->notices);
    return bank_link_run(link, sql, NULL, 0);
}

static bool
add(bank_link *link, int account, int amount)
{
    char sql[SQL_SIZE];

    snprintf(sql, sizeof(sql),
             "UPDATE {}bank_accounts SET balance = balance + %d WHERE id = %d",
             amount, account);
    return bank_link_run(link, sql, NULL, 0);
}

/* In one order, so that nobody waits in a circle; SQLite locks all. */
static bool
lock(bank_link *link, const move *m)
{
    char sql[SQL_SIZE];

    if (link->kind != PLACE_POSTGRES)
        return true;
    snprintf(sql, sizeof(sql),
             "SELECT id FROM {}bank_accounts WHERE id IN (%d, %d)"
             " ORDER BY id FOR UPDATE",
             m->payer, m->payee);
    return bank_link_run(link, sql, NULL, 0);
}

/* `cascade` is a literal. */
static bool
make(bank_link *link, const char *cascade, const move *m)
{
    return add(link, m->payer, -m->amount) && add(link, m->payee, m->amount) &&
           write_row(link, cascade, m);
}

/* ---- The nodes ----------------------------------------------------------- */

static int
get_number(cascade_node *node, int index)
{
    const cJSON *number = cJSON_GetArrayItem(cascade_node_input(node), index);

    return number != NULL ? number->valueint : 0;
}

static bool
prepare(bank_link *link, const worker_bank *how)
{
    if (link->kind != PLACE_POSTGRES)
        return true;
    if (how->serializable &&
        !bank_link_run(link, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                       NULL, 0))
        return false;
    return !how->disorder ||
           bank_link_run(link, "SET LOCAL deadlock_timeout = '20ms'", NULL, 0);
}

static cascade_err
notify(cascade_node *node)
{
    cascade_started started;
    cascade_store *store = NULL;
    cascade_err err = cascade_node_store(node, &store);

    if (err == CASCADE_OK)
        err = cascade_start(store, "notice", NULL, NULL, &started);
    return err;
}

/* What is of the library's in it. */
static cascade_err
tell_others(cascade_node *node, const worker_bank *how, const move *m)
{
    cascade_err err =
        cascade_node_put(node, "moved", cJSON_CreateNumber(m->amount));

    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "receipt", NULL, NULL);
    if (err == CASCADE_OK && m->notices != 0 && !how->alone)
        err = notify(node);
    return err;
}

static cascade_err
transfer_by(bank_link *link, cascade_node *node, worker_shared *shared)
{
    const worker_bank *how = &shared->options.bank;
    const move m = {get_number(node, 0), get_number(node, 1),
                    get_number(node, 2), how->alone ? 0 : get_number(node, 3)};
    char id[CASCADE_UUID_TEXT_SIZE];
    char literal[48];

    snprintf(literal, sizeof(literal), "'%s'",
             cascade_uuid_format(cascade_node_cascade_id(node), id));
    if (!prepare(link, how) || (!how->disorder && !lock(link, &m)) ||
        !make(link, literal, &m)) {
        if (link->conflict)
            atomic_fetch_add(&shared->figures.conflicts, 1);
        return cascade_node_error(node, "%s", link->error);
    }
    return tell_others(node, how, &m);
}

static atomic_flag stopped = ATOMIC_FLAG_INIT;

static cascade_err
transfer(cascade_node *node, void *user)
{
    worker_shared *shared = user;
    bank_link link;
    cascade_err err = CASCADE_OK;

    strike_cross();
    err = bank_link_take(&link, &shared->place, node);
    if (err == CASCADE_OK)
        err = transfer_by(&link, node, shared);
    if (err == CASCADE_OK && shared->options.bank.stop &&
        !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
    strike_cross();
    return err;
}

/* How it must not be done: its commit is not the one that records it. */
static cascade_err
transfer_alone(cascade_node *node, void *user)
{
    worker_shared *shared = user;
    bank_link link;
    cascade_err err = CASCADE_OK;

    strike_begin();
    if (!bank_link_open(&link, &shared->place) ||
        !bank_link_run(&link,
                       link.kind == PLACE_SQLITE ? "BEGIN IMMEDIATE" : "BEGIN",
                       NULL, 0))
        err = cascade_node_error(node, "%s", link.error);
    if (err == CASCADE_OK)
        err = transfer_by(&link, node, shared);
    if (err == CASCADE_OK && !bank_link_run(&link, "COMMIT", NULL, 0))
        err = cascade_node_error(node, "%s", link.error);
    bank_link_close(&link);
    strike_end(err == CASCADE_OK);
    return err;
}

static cascade_err
nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

cascade_err
bank_register(cascade_engine *engine, worker_shared *shared)
{
    const worker_bank *how = &shared->options.bank;
    const cascade_node_options options = {.size = sizeof(options),
                                          .attempts_max = -1,
                                          .backoff_ms = 5,
                                          .backoff_max_ms = 50,
                                          .transactional = !how->alone,
                                          .transaction_max_ms = how->max_ms};
    cascade_err err = cascade_engine_register(
        engine, "transfer", how->alone ? transfer_alone : transfer, shared,
        &options);

    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "receipt", nothing, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "notice", nothing, NULL, NULL);
    return err;
}

/* ---- Who needs no library ------------------------------------------------ */

static bool
move_outside(bank_link *link, int number)
{
    const move m = {.payer = number % BANK_ACCOUNTS,
                    .payee = number / BANK_ACCOUNTS % BANK_ACCOUNTS,
                    .amount = 1 + number % 9};

    if (bank_link_run(link,
                      link->kind == PLACE_SQLITE ? "BEGIN IMMEDIATE" : "BEGIN",
                      NULL, 0) &&
        lock(link, &m) && make(link, "NULL", &m) &&
        bank_link_run(link, "COMMIT", NULL, 0))
        return true;
    (void)bank_link_run(link, "ROLLBACK", NULL, 0);
    return link->conflict;
}

/* Rests for as long as each takes: on a slow disk one who comes again at once
 * has SQLite's lock nearly all the time, and the engines wait for minutes. */
bool
bank_be_outside(worker_shared *shared, const _Atomic bool *until)
{
    bank_link link;
    bool good = bank_link_open(&link, &shared->place);

    for (int i = 0; good && !*until; i++) {
        int64_t begun_ms = place_now_ms();

        good = move_outside(&link, i);
        atomic_fetch_add(&shared->figures.executions, 1);
        poll(NULL, 0, 1 + (int)(place_now_ms() - begun_ms));
    }
    if (!good)
        fprintf(stderr, "%s: %s\n", shared->name, link.error);
    bank_link_close(&link);
    return good;
}

/* ---- The driver ---------------------------------------------------------- */

static const cascade_store_driver *real;
static cascade_store_driver striking;
static cascade_store_node_txn strikes;

static cascade_err
begin(void *self, int64_t limit_ms, cascade_native *native)
{
    cascade_err err = CASCADE_OK;

    strike_begin();
    err = real->node_txn->begin(self, limit_ms, native);
    strike_cross();
    if (err != CASCADE_OK)
        strike_end(false);
    return err;
}

/* Its last crossing: committed, and the engine was not told. */
static cascade_err
finish(void *self, cascade_native *native, const cascade_batch *batch,
       bool *existed)
{
    cascade_err err = CASCADE_OK;

    strike_cross();
    err = real->node_txn->finish(self, native, batch, existed);
    strike_cross();
    strike_end(err == CASCADE_OK);
    return err;
}

static cascade_err
abandon(void *self, cascade_native *native)
{
    cascade_err err = CASCADE_OK;

    strike_cross();
    err = real->node_txn->abandon(self, native);
    strike_cross();
    strike_end(false);
    return err;
}

static cascade_err
open_store(worker_shared *shared, cascade_store **store)
{
    const test_place *place = &shared->place;
    const char *schema = place->schema[0] == '\0' ? NULL : place->schema;
    const cascade_store_options options = {
        .size = sizeof(options), .schema = schema, .application_name = schema};

    if (csc_store_driver_find(place->url, &real) != CASCADE_OK)
        return CASCADE_ERR_UNSUPPORTED;
    striking = *real;
    strikes = *real->node_txn;
    strikes.begin = begin;
    strikes.finish = finish;
    strikes.abandon = abandon;
    striking.node_txn = &strikes;
    return cascade_store_open_driver(&striking, place->url, &options, store);
}

/* ---- The process --------------------------------------------------------- */

static void
on_term(int signal)
{
    (void)signal;
    ended = true;
    if (running != NULL)
        cascade_engine_request_stop(running);
}

static cascade_err
run(cascade_engine *engine, worker_shared *shared)
{
    struct pollfd fd = {.fd = cascade_engine_fd(engine), .events = POLLIN};
    bool threads = shared->options.mode == CASCADE_MODE_THREADS;
    cascade_err err = CASCADE_OK;

    while (!ended && (err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT)) {
        if (threads) {
            err = cascade_engine_wait(engine, LOOK_EVERY_MS);
        } else {
            poll(&fd, 1, LOOK_EVERY_MS);
            err = cascade_engine_poll(engine, 0, NULL);
        }
        worker_tell(engine, &shared->figures);
    }
    return err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT
               ? cascade_engine_stop(engine, ENGINE_STOP_MS)
               : err;
}

static cascade_err
serve(cascade_store *store, worker_shared *shared)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .mode = shared->options.mode,
        .worker_count = shared->options.threads,
        .capacity = shared->options.capacity,
        .lease_ms = shared->options.lease_ms,
        .poll_interval_ms = shared->options.poll_ms,
        .poison_limit = -1};
    cascade_engine *engine = NULL;
    cascade_err err = cascade_engine_open(store, &options, &engine);

    if (err == CASCADE_OK)
        err = bank_register(engine, shared);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK) {
        running = engine;
        shared->figures.started = 1;
        err = run(engine, shared);
        signal(SIGTERM, SIG_IGN);
    }
    if (err != CASCADE_OK)
        fprintf(stderr, "%s: %s: %s\n", shared->name, cascade_err_name(err),
                cascade_errmsg());
    (void)cascade_engine_close(engine);
    return err;
}

static cascade_err
work(worker_shared *shared)
{
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;

    signal(SIGTERM, on_term);
    if (shared->options.outsider) {
        shared->figures.started = 1;
        return bank_be_outside(shared, &ended) ? CASCADE_OK
                                               : CASCADE_ERR_FAILED;
    }
    strike_init(shared);
    err = open_store(shared, &store);
    if (err == CASCADE_OK)
        err = serve(store, shared);
    (void)cascade_store_close(store);
    return err;
}

int
bank_worker(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    worker_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cascade_err err = CASCADE_OK;

    if (shared == MAP_FAILED) {
        perror(path);
        return 1;
    }
    close(fd);
    err = work(shared);
    munmap(shared, sizeof(*shared));
    return err == CASCADE_OK ? 0 : 1;
}
