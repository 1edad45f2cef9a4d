/* SPDX-License-Identifier: MIT
 *
 * Processes that move money in transactional nodes (bank.h) die by SIGKILL at
 * every place of such a transaction (strike.h), and at random moments, again
 * and again. In every look at the database, and in the end, what was recorded
 * as done was made exactly once (G11).
 *
 *     director, this process: starts transfers, looks at the books
 *     engines      die at a chosen crossing, or are killed; others follow
 *     outsider     moves money between the same accounts without the library
 *
 * That the books tell is shown with nodes that commit by themselves: those are
 * found to have moved money twice.
 *
 *     test_process_transfer --seconds N [--seed S] [--store sqlite|postgres]
 *
 * goes on for a given time instead; its last line counts the kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "process/bank_stage.h"
#include "process/check.h"
#include "process/long_run.h"
#include "process/remains.h"

#define ROUNDS 2 /* over all crossings */
#define CROSSINGS_MAX 400
#define CROSSINGS_MIN 20 /* of one transaction */
#define MEASURED 4       /* transfers without a kill, to count crossings */
#define CROWD_KILLS 100
#define CROWD_CHOSEN 4 /* one of so many at a chosen crossing, at least */
#define CROWD_MAX 10   /* times as many, until it is so */
#define CROWD_WAITS 8  /* transfers, at least: a strike waits for four */
#define LIFE_LIMIT_MS 60000
/* Who is dead is known by his pid; on SQLite a transaction of a node has a
 * quarter of the lease. */
#define LEASE_MS 120000
#define POLL_MS 50

static const cascade_mode modes[] = {CASCADE_MODE_INLINE, CASCADE_MODE_THREADS,
                                     CASCADE_MODE_LOOP};

typedef struct tally {
    size_t kills;  /* of engines */
    size_t chosen; /* of them at a chosen crossing */
    size_t at[CROSSINGS_MAX + 1];
} tally;

static worker_options
engine_options(cascade_mode mode, int die_in, int die_at)
{
    return (worker_options){.lease_ms = LEASE_MS,
                            .poll_ms = POLL_MS,
                            .threads = 8,
                            .mode = mode,
                            .bank = {.die_in = die_in, .die_at = die_at}};
}

/* ---- One life ------------------------------------------------------------ */

/* An engine, and how many transfers there are for it to make. */
typedef struct life {
    const test_place *place;
    test_worker *worker;
    uint64_t transfers;
    bool alone; /* the books do not tell how many */
} life;

static bool
is_over(void *context)
{
    life *it = context;

    if (worker_ended(it->worker))
        return true;
    return it->alone
               ? remains_open(it->place) == 0
               : it->worker->shared->figures.transactions >= it->transfers;
}

/* Whether it has died by itself. */
static bool
has_died(test_worker *worker, tally *t)
{
    if (worker->pid >= 0)
        return false;
    if (!WIFSIGNALED(worker->status) || WTERMSIG(worker->status) != SIGKILL)
        fail_msg("a worker ended with status %d", worker->status);
    assert_true(worker->last.died_at <= CROSSINGS_MAX);
    t->at[worker->last.died_at]++;
    t->kills++;
    t->chosen++;
    return true;
}

/* Whether the engine came to the place at which it was to die. */
static bool
live(bank_stage *s, const worker_options *options, tally *t)
{
    test_worker worker;
    life it = {
        .place = &s->place, .worker = &worker, .alone = options->bank.alone};

    bank_stage_start(s, (size_t)options->bank.die_in);
    it.transfers = s->started - (uint64_t)s->books.made;
    worker_spawn(&worker, &s->place, options);
    if (!place_wait(is_over, &it, LIFE_LIMIT_MS))
        fail_msg("crossing %d of transaction %d: nothing happens",
                 options->bank.die_at, options->bank.die_in);
    if (has_died(&worker, t))
        return true;
    worker_end(&worker);
    return false;
}

static bool
is_alone(void *context)
{
    bank_stage *s = context;

    return remains_engines(&s->place) == 1;
}

/* Without dying, to the end of all that there is, and of those that died
 * before; gives its figures. */
static worker_figures
live_on(bank_stage *s, const worker_options *options)
{
    test_worker worker;

    worker_start(&worker, &s->place, options);
    bank_stage_await(s);
    if (!place_wait(is_alone, s, LIFE_LIMIT_MS))
        fail_msg("the dead are not removed");
    worker_end(&worker);
    return worker.last;
}

/* ---- Everywhere ---------------------------------------------------------- */

static void
die_at_each(bank_stage *s, const worker_options *options, int crossings,
            tally *t)
{
    worker_options next = *options;

    for (int at = 1; at <= crossings; at++) {
        next.bank.die_at = at;
        (void)live(s, &next, t);
        if (!options->bank.alone)
            bank_stage_check(s);
    }
}

/* At each crossing of the first transaction of a life, which may have more of
 * them than the others; or of the second. */
static void
sweep(bank_stage *s, worker_options options, tally *t)
{
    worker_figures whole;
    uint64_t crossings = 0;

    bank_stage_start(s, MEASURED);
    whole = live_on(s, &options);
    crossings = options.bank.die_in == 1 ? whole.crossings_first
                                         : whole.crossings_least;
    assert_in_range(crossings, CROSSINGS_MIN, CROSSINGS_MAX);
    die_at_each(s, &options, (int)crossings, t);
}

static void
sweep_in_turn(place_kind kind, int rounds, tally *t)
{
    uint64_t shift = place_random(3);
    bank_stage s;

    bank_stage_open(&s, kind);
    for (int i = 0; i < rounds; i++)
        sweep(&s,
              engine_options(modes[(shift + (uint64_t)i) % 3], 1 + i % 2, 0),
              t);
    bank_stage_check(&s);
    (void)live_on(&s, &(worker_options){.poll_ms = POLL_MS});
    bank_stage_close(&s);
}

static void
transfers_are_made_once_wherever_they_die(void **state)
{
    place_kind kind = place_of(state);
    tally t = {.kills = 0};
    size_t places = 0;

    sweep_in_turn(kind, ROUNDS, &t);
    for (size_t at = 1; at <= CROSSINGS_MAX; at++)
        places += t.at[at] > 0;
    print_message("%s: %zu kills at %zu places\n", place_names[kind], t.kills,
                  places);
    assert_true(places >= CROSSINGS_MIN);
    /* In a round each place is struck once: some were in every round. */
    assert_true(t.kills >= places + (ROUNDS - 1) * CROSSINGS_MIN);
}

/* ---- In a crowd ---------------------------------------------------------- */

#define ENGINES 2

typedef struct crowd {
    bank_stage stage;
    test_worker engines[ENGINES];
    test_worker outsider;
    int crossings; /* of a transaction */
    tally tally;
} crowd;

/* To die at a crossing by chance; some are to be killed. */
static void
begin_engine(crowd *c, int engine)
{
    worker_options options = engine_options(
        modes[place_random(3)], 1 + (int)place_random(3),
        place_random(4) == 0 ? 0
                             : 1 + (int)place_random((uint64_t)c->crossings));

    worker_spawn(&c->engines[engine], &c->stage.place, &options);
}

static void
begin_outsider(crowd *c)
{
    const worker_options options = {.outsider = true};

    worker_spawn(&c->outsider, &c->stage.place, &options);
}

static uint64_t
made_by(const crowd *c)
{
    uint64_t sum = 0;

    for (int i = 0; i < ENGINES; i++)
        if (c->engines[i].pid >= 0)
            sum += c->engines[i].shared->figures.transactions;
    return sum;
}

typedef struct turn {
    crowd *crowd;
    uint64_t until; /* so many are made by those that live */
    int died;
} turn;

static bool
has_come(void *context)
{
    turn *it = context;

    for (int i = 0; i < ENGINES; i++)
        if (worker_ended(&it->crowd->engines[i])) {
            it->died = i;
            return true;
        }
    return made_by(it->crowd) >= it->until;
}

/* One dies by itself, or has made something and is killed. */
static void
strike_once(crowd *c)
{
    turn it = {.crowd = c, .died = -1, .until = made_by(c)};
    int engine = (int)place_random(ENGINES);

    bank_stage_check(&c->stage);
    if (c->stage.started < (uint64_t)c->stage.books.made + CROWD_WAITS)
        bank_stage_start(&c->stage, CROWD_WAITS);
    it.until += 1 + place_random(4); /* some are made by now */
    if (!place_wait(has_come, &it, LIFE_LIMIT_MS))
        fail_msg("nothing is made, and nobody dies");
    if (it.died >= 0) {
        engine = it.died;
        (void)has_died(&c->engines[engine], &c->tally);
    } else {
        worker_kill(&c->engines[engine]);
        c->tally.kills++;
    }
    begin_engine(c, engine);
    if (place_random(8) == 0) {
        worker_kill(&c->outsider);
        begin_outsider(c);
    }
}

static void
open_crowd(crowd *c, place_kind kind)
{
    worker_options options = engine_options(CASCADE_MODE_THREADS, 0, 0);
    worker_figures whole;

    bank_stage_open(&c->stage, kind);
    bank_stage_start(&c->stage, MEASURED);
    whole = live_on(&c->stage, &options);
    c->crossings = (int)whole.crossings_least;
    assert_in_range(c->crossings, CROSSINGS_MIN, CROSSINGS_MAX);
    begin_outsider(c);
    for (int i = 0; i < ENGINES; i++)
        begin_engine(c, i);
}

static bool
has_moved_outside(void *context)
{
    crowd *c = context;

    bank_look(&c->stage.place, &c->stage.books);
    return c->stage.books.outside > 0;
}

static void
close_crowd(crowd *c)
{
    worker_options options = engine_options(CASCADE_MODE_THREADS, 0, 0);

    for (int i = 0; i < ENGINES; i++)
        if (!worker_ended(&c->engines[i]))
            worker_kill(&c->engines[i]);
    (void)live_on(&c->stage, &options);
    if (!place_wait(has_moved_outside, c, LIFE_LIMIT_MS))
        fail_msg("nobody moves money beside the engines");
    worker_end(&c->outsider);
    bank_stage_close(&c->stage);
}

/* Whether an engine dies by itself before it is killed is chance. */
static bool
has_enough(const tally *t, size_t kills)
{
    return t->kills >= kills && t->chosen >= kills / CROWD_CHOSEN;
}

static void
kill_in_crowd(place_kind kind, size_t kills, int64_t until_ms, tally *sum)
{
    crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    open_crowd(c, kind);
    while (!has_enough(&c->tally, kills) && place_now_ms() < until_ms) {
        assert_true(c->tally.kills < kills * CROWD_MAX);
        strike_once(c);
    }
    close_crowd(c);
    sum->kills += c->tally.kills;
    sum->chosen += c->tally.chosen;
    free(c);
}

static void
transfers_are_made_once_in_a_crowd(void **state)
{
    place_kind kind = place_of(state);
    tally t = {.kills = 0};

    kill_in_crowd(kind, CROWD_KILLS, INT64_MAX, &t);
    print_message("%s: %zu kills, %zu at a chosen place\n", place_names[kind],
                  t.kills, t.chosen);
    assert_true(has_enough(&t, CROWD_KILLS));
}

/* ---- That the books tell ------------------------------------------------- */

static void
transfers_that_commit_by_themselves_are_found(void **state)
{
    worker_options options = engine_options(CASCADE_MODE_INLINE, 2, 0);
    tally t = {.kills = 0};
    bank_stage s;

    options.bank.alone = true;
    bank_stage_open(&s, place_of(state));
    sweep(&s, options, &t);
    options.bank.die_at = 0;
    (void)live_on(&s, &options);
    bank_look(&s.place, &s.books);
    assert_true(s.books.twice > 0);
    assert_false(bank_balances(&s.books));
    assert_ok(cascade_store_close(s.store));
    place_destroy(&s.place);
}

/* ---- Stopped, not dead --------------------------------------------------- */

#define STOPPED_LEASE_MS 1000
#define STOPPED_MAX_MS 1500 /* its rows are locked until then */

static bool
is_fenced(void *context)
{
    const test_worker *worker = context;

    return worker->shared->figures.fences > 0;
}

/* Stopped in the middle of a transfer until another has made it, the engine
 * goes on: its own is never committed. On SQLite nobody else can write
 * meanwhile. */
static void
a_transfer_that_was_stopped_is_fenced(void **state)
{
    worker_options options = engine_options(CASCADE_MODE_THREADS, 0, 0);
    test_worker workers[2];
    bank_stage s;

    options.lease_ms = STOPPED_LEASE_MS;
    options.bank.max_ms = STOPPED_MAX_MS;
    options.bank.stop = true;
    bank_stage_open(&s, place_of(state));
    bank_stage_start(&s, 1);
    worker_spawn(&workers[0], &s.place, &options);
    worker_await_stop(&workers[0]);
    options.bank.stop = false;
    worker_start(&workers[1], &s.place, &options);
    bank_stage_await(&s);
    bank_stage_check(&s);
    assert_int_equal(1, s.books.made);
    worker_continue(&workers[0]);
    if (!place_wait(is_fenced, &workers[0], LIFE_LIMIT_MS))
        fail_msg("it is not fenced");
    bank_stage_start(&s, 20);
    bank_stage_await(&s);
    for (int i = 0; i < 2; i++)
        worker_end(&workers[i]);
    bank_stage_close(&s);
}

/* ---- For a given time ---------------------------------------------------- */

#define LONG_ROUND 400 /* kills in a crowd */

static void
transfers_are_made_once_in_the_long_run(void **state)
{
    const long_run *it = *state;
    int64_t until_ms = place_now_ms() + it->seconds * 1000;
    tally sum = {.kills = 0};

    while (place_now_ms() < until_ms)
        for (int kind = 0; kind < 2; kind++) {
            if (!it->stores[kind] || place_now_ms() >= until_ms)
                continue;
            sweep_in_turn((place_kind)kind, ROUNDS, &sum);
            kill_in_crowd((place_kind)kind, LONG_ROUND, until_ms, &sum);
            print_message("%s: %zu kills so far\n", place_names[kind],
                          sum.kills);
        }
    print_message("%zu kills, %zu at a chosen place\n", sum.kills, sum.chosen);
    assert_true(sum.chosen > 0);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(transfers_are_made_once_wherever_they_die)      /**/
    PLACE_EACH(transfers_are_made_once_in_a_crowd)             /**/
    PLACE_EACH(transfers_that_commit_by_themselves_are_found)  /**/
    PLACE_POSTGRES_TEST(a_transfer_that_was_stopped_is_fenced) /**/
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return bank_worker(argv[2]);
    if (long_run_asked(argc, argv))
        return long_run_main("test_process_transfer", argc, argv,
                             transfers_are_made_once_in_the_long_run, NULL);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
