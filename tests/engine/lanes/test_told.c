/* SPDX-License-Identifier: MIT
 *
 * Wake-ups: an engine hears of what it is to do, and does not find it by its
 * next poll only. So here it polls, and renews its lease, much later than a
 * test waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "held/engine_state.h"
#include "held/wakeup.h"
#include "support/stores.h"

#define NEVER_MS (INT64_C(3600) * 1000)
#define PARK_MS 300
#define LONG_MS 600     /* is parked, or twice that, and so on, */
#define LONGEST_MS 9600 /* up to that */
#define SHORT_MS 20     /* is not */
#define LATE_MS 45000   /* a housekeeper that waits for nothing waits longer */
#define LATES 1         /* as one that was stopped may */
#define TRIES 12
#define ROUNDS 10

/* How the commit that gives the cascade up and the look for its messages, of
 * which a claim has told, meet. */
typedef enum meeting {
    NONE,
    BETWEEN, /* it is over when that begins */
    WHILE,   /* that has shown one when it comes, and works on when it is over
              */
    ACROSS   /* it has taken effect when that begins, and is over behind it */
} meeting;

typedef struct crossing {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    int64_t long_ms;
    meeting meeting;
    atomic_size_t parks; /* the number of that commit */
    atomic_bool told;    /* a claim has told of messages for what is owned */
    atomic_bool parked;  /* it has taken effect */
    atomic_bool looked;  /* the messages were looked for */
    atomic_bool shown;
    atomic_bool waits; /* the housekeeper has nothing to do */
    atomic_bool stays; /* the next commit waits until that is so again */
    atomic_int turns;  /* at most so many looks have one replaced */
    atomic_int looks;
    atomic_int ends; /* those of a number below may end */
    cascade_store *other;
    atomic_bool leaves;         /* it ends while the next message is sent */
    atomic_size_t quiet;        /* submits that nobody was told of */
    atomic_size_t claims;       /* before the last submit */
    atomic_size_t looked_first; /* looks for messages with no claim since */
} crossing;

/* ---- What stands in between --------------------------------------------- */

static cascade_err
hear(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "news", -1, NULL);
}

static bool
is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static bool
is_parking(void *context)
{
    return atomic_load(&((crossing *)context)->parks) > 0;
}

/* The commit is worked in: the engine holds nothing. */
static bool
is_over(void *context)
{
    crossing *c = context;

    return atomic_load(&c->parked) && db_stats(c->engine).held == 0;
}

static bool
gives_up(const wrap_call *call)
{
    return call->batch->change_count == 1 &&
           call->batch->changes[0].run_action == CASCADE_RUN_FREE;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    crossing *c = context;

    if (call->move == WRAP_COMMIT && gives_up(call) && !is_parking(c)) {
        atomic_store(&c->parks, call->number);
        expect(
            stores_until(is_set, c->meeting == WHILE ? &c->shown : &c->told));
    }
    if (call->move == WRAP_RECEIVE && is_set(&c->told) && !is_set(&c->looked))
        expect(c->meeting == WHILE ||
               stores_until(c->meeting == BETWEEN ? is_over : is_set,
                            c->meeting == BETWEEN ? (void *)c : &c->parked));
    return CASCADE_OK;
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    crossing *c = context;

    if (call->move == WRAP_CLAIM && answer == CASCADE_OK &&
        call->claimed->messages)
        atomic_store(&c->told, true);
    if (call->move == WRAP_RECEIVE && is_set(&c->told) && !is_set(&c->looked)) {
        atomic_store(&c->shown, true);
        expect(c->meeting != WHILE || stores_until(is_over, c));
        atomic_store(&c->looked, true);
    }
    if (call->move == WRAP_COMMIT && call->number == atomic_load(&c->parks)) {
        atomic_store(&c->parked, true);
        expect(c->meeting != ACROSS || stores_until(is_set, &c->looked));
    }
    return answer;
}

static bool
is_waiting(void *context)
{
    crossing *c = context;
    bool woken = false;

    pthread_mutex_lock(&c->engine->mutex);
    woken = c->engine->wakeup.house_signalled;
    pthread_mutex_unlock(&c->engine->mutex);
    return is_set(&c->waits) && !woken;
}

/* The housekeeper looks around, and finds nothing to do. */
static void
stay(crossing *c)
{
    pthread_mutex_lock(&c->engine->mutex);
    csc_wakeup_house_locked(c->engine);
    pthread_mutex_unlock(&c->engine->mutex);
    expect(stores_until(is_waiting, c));
}

static bool
holds_nothing(void *context)
{
    return db_stats(((crossing *)context)->engine).held == 0;
}

/* Never fewer than before: at the end all of them may. */
static void
let_end(crossing *c, int below)
{
    int ends = atomic_load(&c->ends);

    while (ends < below &&
           !atomic_compare_exchange_weak(&c->ends, &ends, below))
        ;
}

/* Whatever the engine holds ends, and another is born in its place. */
static void
replace(crossing *c)
{
    char number[16];
    int look = atomic_fetch_add(&c->looks, 1);

    atomic_store(&c->waits, false);
    if (look >= atomic_load(&c->turns))
        return;
    let_end(c, look + 1);
    expect(stores_until(holds_nothing, c));
    (void)snprintf(number, sizeof(number), "%d", look + 1);
    (void)db_start_text(c->store, "lasts", number);
}

/* Somebody else ends it, and the engine has nothing more to do. */
static void
end_it(crossing *c)
{
    atomic_store(&c->leaves, false);
    expect(cascade_terminate(c->other, &c->id, NULL) == CASCADE_OK);
    expect(stores_until(holds_nothing, c));
    stay(c);
}

static void
note_submit(crossing *c, const cascade_submission *submission)
{
    atomic_fetch_add(&c->quiet, submission->quiet);
    if (is_set(&c->leaves))
        end_it(c);
    atomic_store(&c->claims, wrap_store_count(&c->wrap, WRAP_CLAIM));
}

static void
note_look(crossing *c)
{
    if (atomic_load(&c->claims) == wrap_store_count(&c->wrap, WRAP_CLAIM))
        atomic_fetch_add(&c->looked_first, 1);
}

/* A timer fires once the clock was read. */
static cascade_err
note_wait(void *context, const wrap_call *call)
{
    crossing *c = context;

    if (call->move == WRAP_WAIT)
        atomic_store(&c->waits, true);
    if (call->move == WRAP_NOW)
        atomic_store(&c->waits, false);
    if (call->move == WRAP_SUBMIT)
        note_submit(c, call->submission);
    if (call->move == WRAP_RECEIVE) {
        note_look(c);
        replace(c);
    }
    if (call->move == WRAP_COMMIT && is_set(&c->stays)) {
        atomic_store(&c->stays, false);
        stay(c);
    }
    return CASCADE_OK;
}

/* Not yet awake: then it cannot be taken for one that waits. */
static cascade_err
note_woken(void *context, const wrap_call *call, cascade_err answer)
{
    crossing *c = context;

    if (call->move == WRAP_WAIT)
        atomic_store(&c->waits, false);
    return answer;
}

/* ---- Engines ------------------------------------------------------------ */

static crossing *
crossing_open(test_db *db, meeting how, const char *node, cascade_node_fn fn,
              const cascade_engine_options *options)
{
    crossing *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    assert_int_equal(wrap_store_init(&c->wrap, db->url), 0);
    c->meeting = how;
    c->wrap.context = c;
    c->wrap.before = how == NONE ? note_wait : before;
    c->wrap.after = how == NONE ? note_woken : after;
    c->store = db_wrapped(db, &c->wrap);
    db_hear_wakes(c->store); /* else it is a second until it listens */
    c->engine = db_engine(db, c->store, options);
    assert_ok(cascade_engine_register(c->engine, node, fn, c, NULL));
    assert_ok(cascade_engine_start(c->engine));
    return c;
}

static void
crossing_free(test_db *db, crossing *c)
{
    db_close_engine(db, c->engine);
    db_close_store(db, c->store);
    wrap_store_fini(&c->wrap);
    free(c);
}

/* ---- A message that crosses a parking ----------------------------------- */

/* A claim that came before the commit has told of it; the look comes too late.
 * Another process has sent it: the engine is woken once. False when there was
 * no look before the end: another claim, for suspects, came before it. */
static bool
meet(test_db *db, meeting how)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = NEVER_MS,
                                            .poll_interval_ms = NEVER_MS,
                                            .park_after_ms = 1};
    crossing *c = crossing_open(db, how, "hears", hear, &options);
    cascade_store *other = db_store(db);
    bool looked = false;

    c->id = db_start(c->store, "hears");
    assert_true(stores_until(is_parking, c));
    assert_ok(cascade_signal(other, &c->id, "news", NULL, NULL));
    db_await(c->store, &c->id, CASCADE_COMPLETED);
    looked = is_set(&c->looked);
    crossing_free(db, c);
    db_close_store(db, other);
    return looked;
}

static void
cross(test_db *db, meeting how)
{
    for (int i = 0; !meet(db, how); i++)
        assert_true(i < TRIES);
}

static void
a_message_is_found_that_came_before_a_parking(test_db *db)
{
    cross(db, BETWEEN);
}

static void
a_message_is_found_that_was_shown_before_a_parking(test_db *db)
{
    cross(db, WHILE);
}

static void
a_message_is_found_that_came_during_a_parking(test_db *db)
{
    cross(db, ACROSS);
}

/* ---- A message to its own engine ---------------------------------------- */

static cascade_err
hear_in_time(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "news", NEVER_MS, NULL);
}

static const cascade_engine_options keeping = {.size = sizeof(keeping),
                                               .worker_count = 2,
                                               .lease_ms = NEVER_MS,
                                               .poll_interval_ms = NEVER_MS,
                                               .park_after_ms = 2 * NEVER_MS};

static bool
is_listening(void *context)
{
    return db_stats(((crossing *)context)->engine).waiting == 1 &&
           is_waiting(context);
}

static crossing *
keep_one(test_db *db)
{
    crossing *c = crossing_open(db, NONE, "hears", hear_in_time, &keeping);

    c->other = db_store(db);
    c->id = db_start(c->store, "hears");
    assert_true(stores_until(is_listening, c));
    return c;
}

static void
let_go(test_db *db, crossing *c)
{
    db_close_store(db, c->other);
    crossing_free(db, c);
}

/* Nobody else can receive it, so nobody else is told; and there is no work to
 * be looked for. */
static void
a_message_to_what_is_held_here_is_looked_for_at_once(test_db *db)
{
    crossing *c = keep_one(db);

    assert_int_equal(atomic_load(&c->quiet), 0);
    assert_ok(cascade_signal(c->store, &c->id, "news", NULL, NULL));
    db_await(c->other, &c->id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c->quiet), 1);
    assert_int_equal(atomic_load(&c->looked_first), 1);
    let_go(db, c);
}

static bool
is_received(void *context)
{
    crossing *c = context;
    cascade_explanation *why = NULL;
    bool left = false;

    expect(cascade_explain(c->other, &c->id, &why) == CASCADE_OK);
    for (size_t i = 0; i < cascade_explanation_count(why); i++)
        left = left || cascade_explanation_get(why, i)->reason ==
                           CASCADE_REASON_MESSAGES;
    cascade_explanation_free(why);
    return !left;
}

/* It was held when it was sent, and is not when it is there. */
static void
a_message_is_found_whose_cascade_leaves_meanwhile(test_db *db)
{
    crossing *c = keep_one(db);

    atomic_store(&c->leaves, true);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(c->store, &c->id, "news", NULL, NULL));
    assert_false(is_set(&c->leaves));
    assert_int_equal(atomic_load(&c->quiet), 1);
    assert_true(stores_until(is_received, c));
    let_go(db, c);
}

/* ---- Room --------------------------------------------------------------- */

static bool
has_ended(const crossing *c)
{
    db_ends ends = {c->store, &c->id, 1, 0};

    return db_all_ended(&ends);
}

/* Parked; or its sleep was over before. */
static bool
is_parked(void *context)
{
    const crossing *c = context;
    cascade_engine_stats stats = db_stats(c->engine);

    return (stats.parked == 1 && stats.held == 0) || has_ended(c);
}

/* The short one is held, and ends when the housekeeper waits again. */
static cascade_err
nap(cascade_node *node, void *user)
{
    crossing *c = user;
    bool short_one = strcmp(cascade_node_input_text(node), "1") == 0;
    cascade_err err =
        cascade_node_sleep(node, "nap", short_one ? SHORT_MS : c->long_ms);

    if (err == CASCADE_OK && short_one)
        expect(stores_until(is_waiting, c));
    return err;
}

static const cascade_engine_options narrow = {.size = sizeof(narrow),
                                              .worker_count = 2,
                                              .capacity = 1,
                                              .lease_ms = NEVER_MS,
                                              .poll_interval_ms = NEVER_MS,
                                              .park_after_ms = PARK_MS};

/* Whether it woke up in time. */
static bool
was_woken(const crossing *c)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *sleep = NULL;
    int64_t late_ms = 0;

    db_await(c->store, &c->id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(c->store, &c->id, NULL, &snapshot));
    sleep = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);
    assert_non_null(sleep);
    late_ms = sleep->completed_at_ms - sleep->not_before_ms;
    cascade_snapshot_free(snapshot);
    assert_true(late_ms >= 0);
    return late_ms <= LATE_MS;
}

/* One sleeper; false when it was awake before it was parked, or before all that
 * `pass` does was over. `lates` counts those that woke up late. */
static bool
sleep_through(test_db *db, const cascade_start_options *start, int64_t long_ms,
              void (*pass)(crossing *c, const cascade_start_options *start),
              int *lates)
{
    crossing *c = crossing_open(db, NONE, "naps", nap, &narrow);
    cascade_started started;
    bool slept = false;

    c->long_ms = long_ms;
    assert_ok(cascade_start(c->store, "naps", cJSON_CreateNumber(2), start,
                            &started));
    c->id = started.id;
    assert_true(stores_until(is_parked, c));
    if (!has_ended(c)) {
        pass(c, start);
        slept = !has_ended(c);
    }
    if (!was_woken(c)) {
        slept = false;
        (*lates)++;
    }
    crossing_free(db, c);
    return slept;
}

/* Where it took longer than the sleep nothing was shown: again, with more
 * time. */
static void
until_slept_through(test_db *db, bool keyed,
                    void (*pass)(crossing *c,
                                 const cascade_start_options *start))
{
    int64_t long_ms = LONG_MS;
    int lates = 0;
    bool slept = false;

    for (int i = 0; !slept; i++) {
        char key[16];
        const cascade_start_options start = {.size = sizeof(start),
                                             .key = keyed ? key : NULL};

        assert_true(i < TRIES);
        (void)snprintf(key, sizeof(key), "nap-%d", i);
        slept = sleep_through(db, &start, long_ms, pass, &lates);
        assert_in_range(lates, 0, LATES);
        long_ms = long_ms < LONGEST_MS ? long_ms * 2 : LONGEST_MS;
    }
}

static void
take_the_room(crossing *c, const cascade_start_options *start)
{
    cascade_uuid other = db_start_text(c->store, "naps", "1");

    (void)start;
    db_await(c->store, &other, CASCADE_COMPLETED);
}

/* One that held all the room there was has ended before. */
static void
a_sleeper_is_claimed_when_there_is_room_again(test_db *db)
{
    until_slept_through(db, false, take_the_room);
}

typedef struct repeated {
    crossing *c;
    const cascade_start_options *start;
} repeated;

/* Started once more: its commit has stayed, or the sleeper has ended. */
static bool
has_stayed(void *context)
{
    const repeated *r = context;
    cascade_started started;

    assert_ok(cascade_start(r->c->store, "naps", cJSON_CreateNumber(2),
                            r->start, &started));
    assert_true(started.existed);
    return !is_set(&r->c->stays) || has_ended(r->c);
}

/* One is submitted while the engine claims. */
static void
start_again(crossing *c, const cascade_start_options *start)
{
    repeated r = {c, start};

    atomic_store(&c->stays, true);
    assert_true(stores_until(has_stayed, &r));
    atomic_store(&c->stays, false);
}

/* A start has had it, and was none: its key was there. */
static void
a_sleeper_is_claimed_behind_a_start_that_was_none(test_db *db)
{
    until_slept_through(db, true, start_again);
}

/* ---- No room ------------------------------------------------------------- */

typedef struct lasting {
    crossing *c;
    int number;
} lasting;

static bool
may_end(void *context)
{
    const lasting *l = context;

    return l->number < atomic_load(&l->c->ends);
}

static cascade_err
last(cascade_node *node, void *user)
{
    lasting l = {user, atoi(cascade_node_input_text(node))};

    expect(stores_until(may_end, &l));
    return CASCADE_OK;
}

static bool
has_looked(void *context)
{
    return atomic_load(&((crossing *)context)->looks) > 0 &&
           is_waiting(context);
}

/* Where in each look one ends, and in its place another is born, nothing makes
 * for the next look. */
static void
a_full_engine_does_not_look_for_ever(test_db *db)
{
    crossing *c = crossing_open(db, NONE, "lasts", last, &narrow);
    cascade_uuid other;

    c->id = db_start_text(c->store, "lasts", "0");
    atomic_store(&c->turns, ROUNDS);
    other = db_start_text(c->store, "lasts", "0"); /* there is no room for it */
    assert_true(stores_until(has_looked, c));
    assert_in_range(atomic_load(&c->looks), 1, ROUNDS / 2);
    atomic_store(&c->turns, 0);
    let_end(c, ROUNDS + 1);
    db_await(c->store, &c->id, CASCADE_COMPLETED);
    db_await(c->store, &other, CASCADE_COMPLETED);
    crossing_free(db, c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_message_is_found_that_came_before_a_parking",
         a_message_is_found_that_came_before_a_parking, STORES_ALL},
        {"a_message_is_found_that_was_shown_before_a_parking",
         a_message_is_found_that_was_shown_before_a_parking, STORES_ALL},
        {"a_message_is_found_that_came_during_a_parking",
         a_message_is_found_that_came_during_a_parking, STORES_ALL},
        {"a_message_to_what_is_held_here_is_looked_for_at_once",
         a_message_to_what_is_held_here_is_looked_for_at_once, STORES_ALL},
        {"a_message_is_found_whose_cascade_leaves_meanwhile",
         a_message_is_found_whose_cascade_leaves_meanwhile, STORES_ALL},
        {"a_sleeper_is_claimed_when_there_is_room_again",
         a_sleeper_is_claimed_when_there_is_room_again, STORES_ALL},
        {"a_sleeper_is_claimed_behind_a_start_that_was_none",
         a_sleeper_is_claimed_behind_a_start_that_was_none, STORES_ALL},
        {"a_full_engine_does_not_look_for_ever",
         a_full_engine_does_not_look_for_ever, STORES_ALL},
    };

    return stores_run("told", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
