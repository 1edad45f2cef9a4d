/* SPDX-License-Identifier: MIT
 *
 * Engines and an outsider want the same accounts at the same time (bank.h).
 * What the database breaks off for that, a serialization failure or a deadlock,
 * at a statement or at the commit, is a failed attempt, and the next follows:
 * in the end each transfer was made once (G11). On SQLite they wait for one
 * another.
 */
#include <string.h>

#include "process/bank_stage.h"
#include "process/check.h"

#define ENGINES 2
#define THREADS 8
#define CAPACITY 16 /* of an engine: neither takes all */
#define PORTION 100
#define LIMIT_MS 90000
#define EACH_MIN 30     /* that an engine makes, or the outsider */
#define LEASE_MS 120000 /* on SQLite a transaction has a quarter of it */
#define POLL_MS 50

typedef struct contest {
    bank_stage stage;
    test_worker engines[ENGINES];
    test_worker outsider;
} contest;

static void
begin(contest *c, place_kind kind, const worker_bank *how)
{
    const worker_options options = {.lease_ms = LEASE_MS,
                                    .poll_ms = POLL_MS,
                                    .threads = THREADS,
                                    .capacity = CAPACITY,
                                    .mode = CASCADE_MODE_THREADS,
                                    .bank = *how};
    const worker_options outside = {.outsider = true};

    bank_stage_open(&c->stage, kind);
    worker_start(&c->outsider, &c->stage.place, &outside);
    for (int i = 0; i < ENGINES; i++)
        worker_start(&c->engines[i], &c->stage.place, &options);
}

static uint64_t
conflicts(const contest *c)
{
    uint64_t sum = 0;

    for (int i = 0; i < ENGINES; i++)
        sum += c->engines[i].shared->figures.conflicts;
    return sum;
}

static bool
have_contended(const contest *c, uint64_t wanted)
{
    for (int i = 0; i < ENGINES; i++)
        if (c->engines[i].shared->figures.transactions < EACH_MIN)
            return false;
    return c->outsider.shared->figures.executions >= EACH_MIN &&
           conflicts(c) >= wanted;
}

/* Portion by portion, until as many statements were broken off. */
static void
contend(contest *c, uint64_t wanted)
{
    int64_t until_ms = place_now_ms() + LIMIT_MS;

    while (!have_contended(c, wanted) && place_now_ms() < until_ms) {
        bank_stage_start(&c->stage, PORTION);
        bank_stage_await(&c->stage);
        bank_stage_check(&c->stage);
    }
    assert_true(have_contended(c, wanted));
}

static void
end(contest *c)
{
    uint64_t attempts = 0;
    uint64_t executions = 0;

    for (int i = 0; i < ENGINES; i++) {
        worker_end(&c->engines[i]);
        attempts += c->engines[i].last.attempts;
        executions += c->engines[i].last.executions;
        assert_int_equal(0, c->engines[i].last.refusals);
    }
    worker_end(&c->outsider);
    print_message("%lld transfers, %lld moves outside, %llu attempts of %llu "
                  "executions\n",
                  (long long)c->stage.books.made,
                  (long long)c->stage.books.outside,
                  (unsigned long long)attempts, (unsigned long long)executions);
    bank_stage_close(&c->stage);
    assert_true(c->stage.books.outside > 0);
}

static void
contest_of(place_kind kind, const worker_bank *how, uint64_t wanted)
{
    contest c;

    begin(&c, kind, how);
    contend(&c, wanted);
    print_message("%llu statements broken off\n",
                  (unsigned long long)conflicts(&c));
    end(&c);
}

static void
engines_and_others_take_turns(void **state)
{
    contest_of(place_of(state), &(worker_bank){.max_ms = 0}, 0);
}

#ifdef CASCADE_HAVE_POSTGRES
static void
what_cannot_be_serialized_is_tried_again(void **state)
{
    contest_of(place_of(state), &(worker_bank){.serializable = true}, 10);
}

/* Nothing but a deadlock breaks off a statement here. */
static void
who_waits_in_a_circle_is_tried_again(void **state)
{
    contest_of(place_of(state), &(worker_bank){.disorder = true}, 3);
}
#endif

static const struct CMUnitTest tests[] = {
    PLACE_EACH(engines_and_others_take_turns)                     /**/
    PLACE_POSTGRES_TEST(what_cannot_be_serialized_is_tried_again) /**/
    PLACE_POSTGRES_TEST(who_waits_in_a_circle_is_tried_again)     /**/
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return bank_worker(argv[2]);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
