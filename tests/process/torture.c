/* SPDX-License-Identifier: MIT */
#include "process/torture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/remains.h"
#include "process/starter.h"
#include "process/watch.h"
#include "process/worker.h"
#include "store/store.h"
#include "support/oracle.h"

#define SLOTS 5 /* the first is the outsider */
#define THREADS_MAX 8
#define LANES_MAX 4
#define LEASE_MIN_MS 400
#define LEASE_SPREAD_MS 200
#define POLL_MS 100
#define CAPACITY_MIN 10 /* small, so that there is something for the others */
#define CAPACITY_SPREAD 50
#define PARK_SPREAD_MS 40
#define DELAY_SPREAD_MS 50
#define WORK_SPREAD_US 2000
#define START_US 30000
#define RUNNING_MAX 80 /* then no more are started for now */
#define MARK_EVERY_MS 400
#define MARK_SHARE 10 /* at most a tenth of the time */
#define STRIKE_SPREAD_MS 90
#define AIM_LIMIT_US 30000
#define AIM_EVERY_US 20
#define AIM_SPREAD_US 300
#define FREEZE_LIMIT_MS 500
#define SETTLE_LIMIT_MS 60000
#define END_LIMIT_MS 120000
#define BATCH_SPREAD 20
#define IGNORANT_MAX 2  /* slots below know only some nodes, at times */
#define LIVES_MAX 16384 /* of a round */
#define ALL_EVERY 48    /* who were struck: then everybody is killed */
#define MAKERS 5        /* times that all are killed making the tables */
#define MAKE_SPREAD_US 60000
#define BLIND_PERCENT 8 /* of strikes: without waiting for a commit */
#define STOPS_MAX 10    /* of who is killed, until others can read */
#define SLACK_MS 500    /* of wake-ups, as the engines know the time */

typedef enum slot_state {
    SLOT_EMPTY,
    SLOT_STARTING,
    SLOT_UP,
    SLOT_STOPPED,
    SLOT_ENDING /* SIGTERM was sent */
} slot_state;

typedef struct slot {
    slot_state state;
    bool outsider;
    test_worker worker;
    unsigned life;  /* the number in the worker's name, from first_life on */
    int64_t due_ms; /* STOPPED: until then */
    uint64_t key_next;
} slot;

typedef struct torture {
    torture_plan plan;
    torture_counts counts;
    test_place place;
    test_ledger ledger;
    slot slots[SLOTS];
    int64_t mark_ms;   /* when next */
    int64_t strike_ms; /* when next */
    size_t struck;     /* since all were killed */
    bool pause;
    bool ending;
    bool held; /* who is stopped stays so */
    starter_claims claims;
    oracle *oracle;
    size_t effects_fed; /* to the oracle: bytes of the logs */
    size_t starts_fed;
    unsigned first_life;
    size_t excuses[LIVES_MAX]; /* by life: lines it may have written late */
} torture;

static torture *current; /* for torture_clear() */

/* ---- Lives --------------------------------------------------------------- */

/* No two need be alike: as a host of its own only its lease tells that it is
 * dead. */
static void
choose(worker_options *options, const slot *s, int number)
{
    static const cascade_mode modes[] = {
        CASCADE_MODE_THREADS, CASCADE_MODE_THREADS, CASCADE_MODE_THREADS,
        CASCADE_MODE_LOOP, CASCADE_MODE_INLINE};

    *options = (worker_options){
        .lease_ms = LEASE_MIN_MS + (int64_t)place_random(LEASE_SPREAD_MS),
        .poll_ms = POLL_MS,
        .work_us = 1 + (int64_t)place_random(WORK_SPREAD_US),
        .threads = 1 + (unsigned)place_random(THREADS_MAX),
        .capacity = CAPACITY_MIN + place_random(CAPACITY_SPREAD),
        .park_ms = 1 + (int64_t)place_random(PARK_SPREAD_MS),
        .delay_ms = (int64_t)place_random(DELAY_SPREAD_MS),
        .mode = modes[place_random(sizeof(modes) / sizeof(modes[0]))],
        .suspend_steps = place_random(2) == 0,
        .lanes = 1 + (unsigned)place_random(LANES_MAX),
        .pooler = place_random(4) == 0,
        .relaxed = place_random(4) == 0,
        .ignorant = place_random(4) == 0 && number <= IGNORANT_MAX,
        .batch = place_random(2) == 0 ? 0 : 1 + place_random(BATCH_SPREAD),
        .outsider = s->outsider,
        .start_us = START_US,
        .key_from = s->key_next};
    snprintf(options->key, sizeof(options->key), "s%d", number);
    if (place_random(2) == 0)
        snprintf(options->host, sizeof(options->host), "host%d", number);
}

static void
bring_up(torture *t, slot *s)
{
    worker_options options;
    unsigned life = 0;

    choose(&options, s, (int)(s - t->slots));
    worker_spawn(&s->worker, &t->place, &options);
    assert_int_equal(1, sscanf(s->worker.shared->name, "w%u", &life));
    if (t->counts.restarts++ == 0)
        t->first_life = life;
    s->life = life - t->first_life;
    assert_true(s->life < LIVES_MAX);
    s->worker.shared->pause = t->pause;
    s->state = SLOT_STARTING;
}

/* It has ended: what it leaves to be known. `lost`: it had lost its incarnation
 * without being told. */
static void
take_down(torture *t, slot *s, bool lost)
{
    const worker_figures *last = &s->worker.last;

    if (last->key_next > s->key_next)
        s->key_next = last->key_next;
    t->claims.doubtful += last->doubtful;
    t->counts.fences += last->fenced;
    t->counts.takeovers += last->freed;
    t->counts.refusals += last->refusals + last->losses + last->robbed;
    t->excuses[s->life] =
        WORKER_LATE_LINES * s->worker.threads * (last->fenced + lost);
    s->state = SLOT_EMPTY;
}

/* Once it has ended, well. */
static void
see_off(torture *t, slot *s)
{
    if (!worker_ended(&s->worker))
        return;
    if (!WIFEXITED(s->worker.status) || WEXITSTATUS(s->worker.status) != 0)
        fail_msg("a worker ended with status %d", s->worker.status);
    t->counts.ended++;
    take_down(t, s, false);
}

/* It stands; false: it has ended before. `lost`: it was removed, and has not
 * heard of it. Of one that works, or is dead, the list could say so as well
 * when that came behind. One that keeps the list from being read is let go, and
 * stopped anew. */
static bool
make_stand(torture *t, slot *s, bool *lost)
{
    bool listed = false;
    int stops = 0;

    do {
        if (++stops > STOPS_MAX)
            fail_msg("nobody can read while a worker is stopped");
        if (s->state != SLOT_STOPPED && !worker_stop_living(&s->worker))
            return false;
        s->state = SLOT_STOPPED;
        listed = ledger_lists(&t->ledger, s->worker.pid, NULL);
    } while (s->state != SLOT_STOPPED);
    *lost = !listed && s->worker.shared->figures.attached != 0;
    return true;
}

/* One that is stopped has been counted; one that was asked to end may have
 * done so. */
static void
kill_it(torture *t, slot *s)
{
    slot_state state = s->state;
    bool lost = false;

    if (t->ledger.store != NULL && !make_stand(t, s, &lost)) {
        if (state != SLOT_ENDING)
            fail_msg("a worker ended by itself");
        see_off(t, s);
        return;
    }
    worker_kill(&s->worker);
    if (s->outsider)
        t->counts.starters_killed++;
    else if (state != SLOT_STOPPED)
        t->counts.kills++;
    if (!s->outsider && state != SLOT_STOPPED && s->worker.last.in_flight > 0)
        t->counts.kills_in_flight++;
    take_down(t, s, lost);
}

/* Now, or when its time has come. */
static void
go_on(torture *t, slot *s)
{
    if (place_random(4) == 0 && !t->ending) {
        kill_it(t, s);
        return;
    }
    worker_continue(&s->worker);
    s->state = SLOT_UP;
}

/* No worker ends by itself, and the store refuses none of what it writes: the
 * fence keeps out whoever would write what others have written. */
static void
look_after(slot *s)
{
    const worker_figures *figures = &s->worker.shared->figures;

    if (figures->refusals > 0 || figures->losses > 0 || figures->robbed > 0)
        fail_msg("%s: %llu changes refused, %llu times commits lost, %llu "
                 "times removed before its lease was over",
                 s->worker.shared->name, (unsigned long long)figures->refusals,
                 (unsigned long long)figures->losses,
                 (unsigned long long)figures->robbed);
    if (s->state != SLOT_ENDING && worker_ended(&s->worker))
        fail_msg("a worker ended by itself");
}

static void
tend(torture *t, slot *s)
{
    if (s->state != SLOT_EMPTY)
        look_after(s);
    switch (s->state) {
    case SLOT_EMPTY:
        bring_up(t, s);
        break;
    case SLOT_STARTING:
        if (s->worker.shared->figures.started != 0)
            s->state = SLOT_UP;
        break;
    case SLOT_UP:
        break;
    case SLOT_STOPPED:
        if (!t->held && (t->ending || place_now_ms() >= s->due_ms))
            go_on(t, s);
        break;
    case SLOT_ENDING:
        see_off(t, s);
        break;
    }
}

static void
tend_all(torture *t)
{
    for (size_t i = 0; i < SLOTS; i++)
        tend(t, &t->slots[i]);
}

static size_t
count_in(const torture *t, slot_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < SLOTS; i++)
        count += t->slots[i].state == state && !t->slots[i].outsider;
    return count;
}

/* ---- Load ---------------------------------------------------------------- */

static void
set_pause(torture *t, bool pause)
{
    t->pause = pause;
    for (size_t i = 0; i < SLOTS; i++)
        if (t->slots[i].state != SLOT_EMPTY)
            t->slots[i].worker.shared->pause = pause;
}

/* Marks what is recorded, and keeps the load where it ought to be. */
static void
mark(torture *t)
{
    int64_t began_ms = place_now_ms();

    if (began_ms < t->mark_ms)
        return;
    ledger_mark(&t->ledger);
    set_pause(t, t->ledger.running > RUNNING_MAX);
    t->mark_ms =
        began_ms + MARK_EVERY_MS + (place_now_ms() - began_ms) * MARK_SHARE;
}

/* ---- The oracle ---------------------------------------------------------- */

static void
feed_start(void *context, const cascade_uuid *id, const char *key)
{
    torture *t = context;

    (void)key;
    oracle_expect(t->oracle, id, CASCADE_COMPLETED);
    oracle_started(t->oracle, id, true);
}

static bool
nobody_is_left(void *context)
{
    const torture *t = context;

    return remains_backends(&t->place) == 0;
}

/* Nobody runs: not even a backend that has not heard of the death of its
 * client. */
static void
judge(torture *t, oracle_phase phase)
{
    cascade_store *store = t->ledger.store;

    if (!place_wait(nobody_is_left, t, SETTLE_LIMIT_MS))
        fail_msg("%lld backends of the dead are left",
                 (long long)remains_backends(&t->place));
    starter_read(&t->place, &t->starts_fed, feed_start, t);
    flow_tell(&t->place, &t->effects_fed, t->oracle);
    if (oracle_check(t->oracle, store->driver, store->self, phase))
        return;
    fputs(oracle_text(t->oracle), stderr);
    fail_msg("the oracle is not content");
}

static void
kill_all(torture *t)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (t->slots[i].state != SLOT_EMPTY)
            kill_it(t, &t->slots[i]);
}

/* ---- Striking ------------------------------------------------------------ */

static void
wait_us(int64_t us)
{
    struct timespec time = {.tv_nsec = us * 1000};

    nanosleep(&time, NULL);
}

/* The engine, or the outsider, at random; NULL: it is not in that state. */
static slot *
pick(torture *t, slot_state state)
{
    slot *s = &t->slots[place_random(SLOTS)];

    return s->state == state ? s : NULL;
}

/* One that has a commit in flight, the first from a random one on. */
static slot *
find_busy(torture *t, size_t from)
{
    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &t->slots[(from + i) % SLOTS];

        if (s->state == SLOT_UP && s->worker.shared->figures.in_flight > 0)
            return s;
    }
    return NULL;
}

/* Waits until somebody has a commit in flight, and then some. NULL: nobody
 * has. */
static slot *
aim(torture *t)
{
    size_t from = place_random(SLOTS);
    slot *s = NULL;

    if (place_random(100) < BLIND_PERCENT)
        return pick(t, SLOT_UP);
    for (int us = 0; s == NULL && us < AIM_LIMIT_US; us += AIM_EVERY_US) {
        wait_us(AIM_EVERY_US);
        s = find_busy(t, from);
    }
    wait_us((int64_t)place_random(AIM_SPREAD_US));
    return s;
}

static void
note_stop(torture *t, slot *s)
{
    s->state = SLOT_STOPPED;
    s->due_ms = place_now_ms() + s->worker.shared->options.lease_ms + POLL_MS +
                (int64_t)place_random(LEASE_SPREAD_MS);
    t->counts.stops++;
    if (s->worker.shared->figures.in_flight > 0)
        t->counts.stops_in_flight++;
}

/* In the commit that it makes next. */
static void
stop_in_commit(torture *t, slot *s)
{
    int statements = 3 + (int)place_random(4);
    bool pipeline = t->plan.kind == PLACE_POSTGRES;

    if (!watch_freeze(&s->worker, pipeline ? WATCH_PIPELINE : WATCH_COMMIT,
                      statements, FREEZE_LIMIT_MS))
        return;
    t->counts.stops_in_pipeline += pipeline;
    note_stop(t, s);
}

static void
stop_it(torture *t, slot *s)
{
    if (place_random(3) == 0) {
        stop_in_commit(t, s);
        return;
    }
    worker_stop(&s->worker);
    note_stop(t, s);
}

/* A stop, in the measure of what is still to be done of both. */
static bool
is_to_stop(const torture *t)
{
    size_t kills = t->plan.kills > t->counts.kills_in_flight
                       ? t->plan.kills - t->counts.kills_in_flight
                       : 0;
    size_t stops = t->plan.stops > t->counts.stops_in_flight
                       ? t->plan.stops - t->counts.stops_in_flight
                       : 0;

    return place_random(kills + stops + 1) < stops &&
           count_in(t, SLOT_STOPPED) < (t->plan.kind == PLACE_SQLITE ? 1 : 2);
}

static void
strike_one(torture *t)
{
    slot *s = aim(t);

    if (s == NULL)
        return;
    t->struck++;
    if (!s->outsider && is_to_stop(t))
        stop_it(t, s);
    else
        kill_it(t, s);
}

static void
ask_to_end(slot *s)
{
    kill(s->worker.pid, SIGTERM);
    s->state = SLOT_ENDING;
}

static void
strike(torture *t)
{
    slot *s = NULL;

    if (place_now_ms() < t->strike_ms)
        return;
    if (t->struck >= ALL_EVERY) {
        kill_all(t);
        judge(t, ORACLE_RUNNING);
        t->counts.all_killed++;
        t->struck = 0;
    } else if (place_random(25) == 0) {
        s = pick(t, SLOT_STARTING);
        if (s != NULL)
            kill_it(t, s);
    } else if (place_random(25) == 0) {
        s = pick(t, SLOT_UP);
        if (s != NULL)
            ask_to_end(s);
    } else {
        strike_one(t);
    }
    t->strike_ms = place_now_ms() + (int64_t)place_random(STRIKE_SPREAD_MS);
}

/* ---- The round ----------------------------------------------------------- */

static bool
is_done(const torture *t)
{
    return (t->counts.kills_in_flight >= t->plan.kills &&
            t->counts.stops_in_flight >= t->plan.stops &&
            t->counts.fences > 0 && t->counts.takeovers > 0) ||
           place_now_ms() >= t->plan.until_ms;
}

static bool
all_are_up(void *context)
{
    torture *t = context;

    tend_all(t);
    return count_in(t, SLOT_UP) + (t->held ? count_in(t, SLOT_STOPPED) : 0) ==
               SLOTS - 1 &&
           t->slots[0].state == SLOT_UP;
}

/* The dead are forgotten; the living are listed once. */
static bool
is_settled(void *context)
{
    torture *t = context;

    for (size_t i = 1; i < SLOTS; i++)
        if (!ledger_lists(&t->ledger, t->slots[i].worker.pid, NULL))
            return false;
    return remains_engines(&t->place) == SLOTS - 1;
}

static void
await_all_up(torture *t)
{
    if (!place_wait(all_are_up, t, SETTLE_LIMIT_MS))
        fail_msg("the workers do not come up");
}

/* On PostgreSQL everything ends though one is stopped in mid-pipeline and never
 * goes on: the others end its backend, which holds the lane. */
static void
hold_one(torture *t)
{
    int64_t until_ms = place_now_ms() + SETTLE_LIMIT_MS;

    if (t->plan.kind != PLACE_POSTGRES)
        return;
    t->held = true;
    while (count_in(t, SLOT_STOPPED) == 0) {
        slot *s = NULL;

        if (place_now_ms() >= until_ms)
            fail_msg("nobody stops in a commit");
        tend_all(t);
        mark(t);
        s = find_busy(t, place_random(SLOTS));
        if (s != NULL && !s->outsider)
            stop_in_commit(t, s);
        wait_us(1000);
    }
}

/* A starter that was stopped in its call goes on with it, paused or not. */
static bool
nobody_starts(void *context)
{
    const torture *t = context;

    for (size_t i = 0; i < SLOTS; i++)
        if (t->slots[i].worker.shared->figures.starting != 0)
            return false;
    return true;
}

static void
await_end(torture *t)
{
    if (!place_wait(nobody_starts, t, SETTLE_LIMIT_MS))
        fail_msg("a starter goes on though it is paused");
    ledger_wait_ended(&t->ledger, END_LIMIT_MS);
}

/* Of each slot: what it should be doing, and what the kernel says its process
 * does ("S (sleeping)", "T (stopped)"). */
static void
print_slots(const torture *t)
{
    for (size_t i = 0; i < SLOTS; i++) {
        const slot *s = &t->slots[i];
        char text[64];
        FILE *file = NULL;

        snprintf(text, sizeof(text), "/proc/%d/status", (int)s->worker.pid);
        file = fopen(text, "r");
        while (file != NULL && fgets(text, sizeof(text), file) != NULL)
            if (strncmp(text, "State:", 6) == 0)
                print_message("slot %zu: state %d, pid %d: %s", i, s->state,
                              (int)s->worker.pid, text);
        if (file != NULL)
            fclose(file);
    }
}

static void
finish(torture *t)
{
    await_all_up(t);
    hold_one(t);
    t->ending = true;
    set_pause(t, true);
    await_all_up(t);
    ledger_wait_ended(&t->ledger, END_LIMIT_MS);
    t->held = false;
    await_all_up(t);
    await_end(t);
    if (!place_wait(is_settled, t, SETTLE_LIMIT_MS)) {
        print_slots(t);
        fail_msg("%lld incarnations for %d engines",
                 (long long)remains_engines(&t->place), SLOTS - 1);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        worker_end(&t->slots[i].worker);
        take_down(t, &t->slots[i], false);
    }
}

/* Sooner than its time. */
static void
let_go(void *context)
{
    torture *t = context;

    for (size_t i = 0; i < SLOTS; i++) {
        slot *s = &t->slots[i];

        if (s->state != SLOT_STOPPED)
            continue;
        worker_continue(&s->worker);
        s->state = SLOT_UP;
    }
}

/* As worker_may_be_late(). */
static bool
may_be_late(void *context, const char *who)
{
    torture *t = context;
    unsigned life = 0;

    if (sscanf(who, "w%u", &life) != 1 || life - t->first_life >= LIVES_MAX ||
        t->excuses[life - t->first_life] == 0)
        return false;
    t->excuses[life - t->first_life]--;
    return true;
}

static void
check(torture *t)
{
    for (size_t i = 0; i < SLOTS; i++)
        t->claims.keys += t->slots[i].key_next;
    t->claims.keys_doubtful = SLOTS * STARTER_MAX;
    ledger_check(&t->ledger, LEDGER_ANY);
    starter_check(&t->ledger, &t->claims);
    judge(t, ORACLE_ENDED);
    assert_true(oracle_looks(t->oracle) >= t->ledger.cascades);
    remains_check(&t->place);
    assert_int_equal(0, t->counts.refusals);
    t->counts.cascades = t->ledger.cascades;
    t->counts.executions = t->ledger.cascades * FLOW_EXECUTIONS;
    t->counts.effects = t->ledger.effects;
    t->counts.repeated = t->ledger.repeated;
    t->counts.late = t->ledger.late;
}

/* Those who make the tables are killed at it, again and again. */
static void
kill_makers(torture *t)
{
    for (int i = 0; i < MAKERS; i++) {
        for (size_t j = 0; j < SLOTS; j++)
            bring_up(t, &t->slots[j]);
        wait_us((int64_t)place_random(MAKE_SPREAD_US));
        kill_all(t);
    }
}

static void
begin(torture *t, const torture_plan *plan)
{
    t->plan = *plan;
    t->oracle = oracle_create();
    assert_non_null(t->oracle);
    oracle_set_slack(t->oracle, SLACK_MS);
    t->slots[0].outsider = true;
    for (size_t i = 0; i < SLOTS; i++)
        t->slots[i].worker.pid = -1;
    place_create(&t->place, plan->kind);
    kill_makers(t);
    ledger_open(&t->ledger, &t->place);
    t->ledger.strict = true;
    t->ledger.may_be_late = may_be_late;
    if (plan->kind == PLACE_SQLITE)
        t->ledger.let_go = let_go;
    t->ledger.context = t;
}

void
torture_add(torture_counts *sum, const torture_counts *more)
{
    sum->kills += more->kills;
    sum->kills_in_flight += more->kills_in_flight;
    sum->stops += more->stops;
    sum->stops_in_flight += more->stops_in_flight;
    sum->stops_in_pipeline += more->stops_in_pipeline;
    sum->all_killed += more->all_killed;
    sum->ended += more->ended;
    sum->starters_killed += more->starters_killed;
    sum->restarts += more->restarts;
    sum->cascades += more->cascades;
    sum->executions += more->executions;
    sum->effects += more->effects;
    sum->repeated += more->repeated;
    sum->late += more->late;
    sum->fences += more->fences;
    sum->takeovers += more->takeovers;
    sum->refusals += more->refusals;
}

void
torture_round(const torture_plan *plan, torture_counts *counts)
{
    torture *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    current = t;
    begin(t, plan);
    while (!is_done(t)) {
        tend_all(t);
        mark(t);
        strike(t);
        wait_us(1000);
    }
    finish(t);
    check(t);
    torture_add(counts, &t->counts);
    ledger_close(&t->ledger);
    oracle_free(t->oracle);
    place_destroy(&t->place);
    current = NULL;
    free(t);
}

void
torture_clear(void)
{
    torture *t = current;

    if (t == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        if (t->slots[i].worker.pid > 0)
            worker_kill(&t->slots[i].worker);
    if (t->ledger.store != NULL)
        ledger_close(&t->ledger);
    oracle_free(t->oracle);
    if (getenv("CASCADE_TEST_KEEP") != NULL)
        print_message("kept: %s %s\n", t->place.folder, t->place.schema);
    else if (t->place.folder[0] != '\0')
        place_destroy(&t->place);
    current = NULL;
    free(t);
}

void
torture_print(const char *what, const torture_counts *counts)
{
    print_message(
        "%s: kills %zu (commits in flight %zu), stops %zu (commits in flight "
        "%zu, in mid-pipeline %zu), all at once %zu, ended by SIGTERM %zu, "
        "starters killed %zu, restarts %zu, "
        "cascades %zu, executions %zu, effects %zu, repeated %zu, late %zu, "
        "fences %zu, takeovers %zu\n",
        what, counts->kills, counts->kills_in_flight, counts->stops,
        counts->stops_in_flight, counts->stops_in_pipeline, counts->all_killed,
        counts->ended, counts->starters_killed, counts->restarts,
        counts->cascades, counts->executions, counts->effects, counts->repeated,
        counts->late, counts->fences, counts->takeovers);
}
