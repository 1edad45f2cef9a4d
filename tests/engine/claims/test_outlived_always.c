/* SPDX-License-Identifier: MIT
 *
 * A chain of runs, of which the older ones are purged while more come and
 * signals are sent, new ones and old ones again, to any run that there ever
 * was. Calls of the store fail meanwhile, before they take effect or behind
 * that, and purges end in the middle. Each signal is there once in the end: no
 * run takes any, so all are handed on to the last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/chain.h"

#define RUNS_MAX 24
#define SIGNALS_MAX 200
#define ACTS 90
#define SEEDS 3
#define TRIES_MAX 100

typedef struct chain {
    play p;
    wrap_store wrap;
    cascade_store *store; /* which fails */
    cascade_uuid ids[RUNS_MAX];
    unsigned run_count;
    unsigned sent;
    unsigned purged;
    uint64_t random;
} chain;

static unsigned
below(chain *c, unsigned n)
{
    c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(c->random >> 33) % n;
}

/* ---- What happens -------------------------------------------------------- */

/* Whatever was answered, who sends sends again until it is said to be there. */
static void
send(chain *c, unsigned n)
{
    char request_id[20];
    cascade_signal_options options = {.size = sizeof(options),
                                      .request_id = request_id};
    cascade_err err = CASCADE_ERR_UNAVAILABLE;

    (void)snprintf(request_id, sizeof(request_id), "r%u", n);
    for (int i = 0; i < TRIES_MAX && err != CASCADE_OK; i++) {
        const cascade_uuid *to = &c->ids[below(c, c->run_count)];

        err =
            cascade_signal(c->store, to, "news", play_number((int)n), &options);
        if (err != CASCADE_OK && err != CASCADE_ERR_UNAVAILABLE &&
            err != CASCADE_ERR_OUTCOME_UNKNOWN)
            fail_msg("a signal to run %u of %u: %s: %s",
                     (unsigned)(to - c->ids) + 1, c->run_count,
                     cascade_err_name(err), cascade_errmsg());
    }
    assert_int_equal(err, CASCADE_OK);
}

static void
turn(chain *c)
{
    if (c->run_count == RUNS_MAX)
        return;
    c->ids[c->run_count++] = chain_turn(&c->p);
}

static void
purge(chain *c)
{
    const cascade_purge_options all = {.size = sizeof(all)};
    cascade_progress total = {0};

    (void)cascade_purge(c->store, &all, &total);
    c->purged += (unsigned)total.done;
}

/* Some call of some move, soon. */
static void
break_something(chain *c)
{
    static const wrap_move moves[] = {WRAP_FIND, WRAP_LINK,  WRAP_SUBMIT,
                                      WRAP_SCAN, WRAP_PURGE, WRAP_LOAD,
                                      WRAP_LIST, WRAP_SWEEP, WRAP_ERASE};
    unsigned at = below(c, sizeof(moves) / sizeof(moves[0]));

    wrap_store_fail(&c->wrap, moves[at], below(c, 3), 1,
                    below(c, 2) == 0 ? WRAP_BEFORE : WRAP_AFTER,
                    CASCADE_ERR_UNAVAILABLE);
}

static void
act(chain *c)
{
    unsigned what = below(c, 100);

    if (what < 45 && c->sent < SIGNALS_MAX)
        send(c, c->sent++);
    else if (what < 65 && c->sent > 0)
        send(c, below(c, c->sent));
    else if (what < 80)
        turn(c);
    else if (what < 90)
        purge(c);
    else
        break_something(c);
}

/* ---- What came of it ----------------------------------------------------- */

static void
check(chain *c)
{
    cascade_snapshot *snapshot = NULL;
    unsigned times[SIGNALS_MAX] = {0};
    size_t count = 0;

    play_until(&c->p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED,
               c->sent);
    snapshot = play_snapshot(&c->p);
    count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);
        cJSON *input = cJSON_Parse(info->input);

        if (strcmp(info->node_name, "cascade.signal:news") == 0)
            times[play_read_number(input)]++;
        cJSON_Delete(input);
    }
    cascade_snapshot_free(snapshot);
    for (unsigned n = 0; n < c->sent; n++)
        if (times[n] != 1)
            fail_msg("signal %u of %u is there %u times", n, c->sent, times[n]);
}

static void
play_one(chain *c, test_db *db, uint64_t seed)
{
    c->random = seed;
    c->p = (play){.nodes = {{"goes", chain_go_on}}};
    play_begin(&c->p, db, CASCADE_MODE_THREADS, "goes");
    c->store = db_wrapped(db, &c->wrap);
    c->ids[c->run_count++] = c->p.id;
    for (int i = 0; i < ACTS; i++)
        act(c);
    for (unsigned n = 0; n < c->sent; n++)
        send(c, n);
    check(c);
    if (c->purged == 0)
        fail_msg("nothing was purged");
    db_close_store(db, c->store);
    play_end(&c->p);
}

static void
what_is_sent_is_there_once_whatever_is_purged(test_db *db)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        chain *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        assert_int_equal(wrap_store_init(&c->wrap, db->url), 0);
        play_one(c, db, seed);
        wrap_store_fini(&c->wrap);
        free(c);
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_is_sent_is_there_once_whatever_is_purged",
         what_is_sent_is_there_once_whatever_is_purged, STORES_ALL}};

    return stores_run("outlived always", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
