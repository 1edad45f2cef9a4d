/* SPDX-License-Identifier: MIT
 *
 * The deterministic simulation: whole machines with engines, a store and people
 * who start cascades, in one thread and in virtual time, from one number.
 *
 *     test_sim                        the committed seeds (ctest)
 *     test_sim --seed 42              one seed, and what it did in the end
 *     test_sim --seed 42 --verbose    with its trace
 *     test_sim --seconds 600 --first 1000000     as many as fit
 *     test_sim --seeds N --first S    those; --no-shrink: do not shrink;
 *                                     --sized: only those with giants;
 *                                     --no-size: all without them
 *
 * Exit code 0: all passed. 1: a seed failed ("seed S failed: ..."), and the run
 * ends there. 2: usage. A seed that crashes ends with the signal, after "seed S
 * crashed". A failing seed is shrunk, and replayed by --seed S.
 *
 * THE MODEL
 *
 *   process 0..3: a store handle with 1-2 engines        the client: a handle
 *       engine --poll--> nodes, steps                        starts, looks
 *          |                                                     |
 *          +----------> sim_fault.c: every call passes <---------+
 *                              |
 *                  memory, or SQLite on a file (few seeds); beside it the
 *                  ledger, for transactions of nodes
 *                              |
 *                         the oracle's eye
 *
 *   Engines run in the INLINE mode: no threads, so a run is a function of its
 *   seed. Clock, random numbers and ids are injected. One seed run twice gives
 *   the same trace; a test below compares hashes. Only the length of the few
 *   waits in real time (a start is given up after 1 ms, SQLite after a minute)
 *   is not simulated, and nothing depends on it.
 *
 *   Threads are made up for by stalls: inside any call of the store, before or
 *   after its effect, and inside nodes, time may pass in which all others are
 *   polled. So any two engines interleave at any move; that includes an engine
 *   whose lease runs out while its commit is on the way.
 *
 * THE SEED (sim_plan.c) decides before the run: the processes, 1-24 cascades
 *   with their workloads, keys, queues, delays and times of start; and up to 48
 *   faults. A fault is (kind, the store call from which on it may strike, the
 *   move it waits for). Each is drawn from a generator of its own, so the
 *   shrinker can leave any of them out.
 *
 * FAULTS (sim_fault.c)
 *   delayed, failed before the effect, failed after it (outcome unknown), both
 *   several times in a row; the connection down for one, or the store for all;
 *   killed before or after the effect of any call, between calls, in a node;
 *   stopped (SIGSTOP) in a call, in a node, between calls, past the lease;
 *   removed by another though alive; told that the store lost commits; a finish
 *   that is in doubt and comes to the store later, while it is settled; the
 *   wall clock set, or another in one process; payloads that the store refuses.
 *   A killed process reaches the store no more. What is on its stack unwinds
 *   without effect, its nodes do nothing, and its memory is freed (ASan looks);
 *   its incarnation stays behind in the store until its lease has run out.
 *
 * PHASES
 *   safety     faults strike. Nothing wrong may ever be seen in the rows, or be
 *              answered.
 *   liveness   all is mended: connections are up, the dead are born again, the
 *              stopped go on. Now everything must end, within a bound of turns
 *              and of virtual time; more is a hang. (Nodes that kill their
 *              process still do: that is what poisoning is for.)
 *
 * THE ORACLE (tests/support/oracle.h) reads the rows through a handle of its
 *   own after every commit, start and claim that took effect, whoever hears of
 *   it. It is told of every function that is entered, and of what that sees of
 *   the context, and judges both by the rows of that moment. So a wrong record,
 *   a second run, an early timer, a lost event are found where they happen.
 *   What the rows cannot tell is predicted from the input of each cascade: its
 *   end, its result, how many executions and values there are (work_*.c), how
 *   long it must wait, and whom poisoning may blame. Leases are looked at by
 *   sim_lease.c: nobody is removed early, no dead one stays.
 *
 * TRANSACTIONS OF NODES (sim_ledger.c). The memory store has none, and SQLite's
 *   would wait in real time for a writer that is on the same stack. So the
 *   simulation lends both stores a ledger of accounts, whose writes are made in
 *   the same instant as a commit of the store takes effect. Begin, finish,
 *   abandon and settle are moves as any other, with all faults. Whenever a
 *   process dies, and in the end, the book of transfers is compared with the
 *   rows, and the money is counted (G11); and no commit may carry a cascade
 *   while nobody knows what became of its transaction (G12).
 *
 * SIZE (sim_giant.c, sim_cost.c). In few seeds a call of the store takes time
 *   that grows with its rows and bytes, deadlines and leases are short, and
 *   beside small cascades there are giants: whatever is not cut into pieces
 *   comes to its deadline, and whoever waits for it is seen to wait (G15). The
 *   largest are behind the committed seeds only.
 *
 * A KEY (sim_key.c). In few seeds one key is started by every policy, alone and
 *   with a signal, signalled by key and by the ids of old runs, with a handful
 *   of request ids that are used again and again, terminated, continued as new
 *   and purged. The rows are gone then, so what is received is noted as it is
 *   committed: once for each request id of a start, and of nothing that was
 *   acknowledged the receipt is missing.
 *
 * LIMITS OF QUEUES (sim_slots.c). In some seeds people set, raise, lower and
 *   take away limits of the queues, and starts carry a limit key. After each
 *   call that took effect the slots are counted in the rows against the limits
 *   in force, and each function that is entered is asked for the slot of its
 *   cascade. What was set last stays: everything must end by turns.
 *
 * EXCUSED, since no engine can do better
 *   An engine that was removed though it lives cannot know before its next
 *   call: functions it enters until then are not counted as entries. What it
 *   records must still have no effect.
 *   An engine that waits for the outcome of a commit goes on with what else is
 *   ready of that cascade, which may have ended by that commit.
 *   An execution may be poisoned that did not kill anybody, when its engines
 *   were killed for other reasons as often as the limit says while it was in
 *   trial; the oracle counts the trials. And where a clock has gone back, a
 *   free run may wake later by as much.
 *
 * COUNTERS (sim_count.h) say how often each interesting thing happened. The
 *   committed number of seeds fails when one never did: then the simulation has
 *   stopped testing it.
 *
 * A NEW WORKLOAD is one file work_NAME.c and one line in the table of
 *   sim_node.c: see work.h. A capability that comes with moves of the store of
 *   its own needs a line in sim_fault.c (what the oracle looks at after it) and
 *   counters of its own.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/sim.h"

#define SEEDS 1000       /* the committed ones: 1 to 1,000 */
#define SEED_LIMIT_S 120 /* before ctest gives up */

typedef struct arguments {
    uint64_t first;
    uint64_t seeds;
    int64_t seconds; /* 0: no limit */
    bool verbose;
    bool no_shrink;
    bool sized;  /* only seeds with giants */
    bool single; /* one seed, of which more is told */
} arguments;

typedef struct totals {
    uint64_t seeds;
    uint64_t calls;
    int64_t virtual_ms;
    double real_s;
} totals;

/* ---- A crash tells its seed --------------------------------------------- */

static char crash_line[60];

static void
crashed(int number)
{
    size_t left = strlen(crash_line);
    const char *at = crash_line;

    while (left > 0) {
        ssize_t done = write(STDOUT_FILENO, at, left);

        if (done <= 0)
            break;
        at += done;
        left -= (size_t)done;
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Not where a sanitizer has a handler of its own. */
static void
catch_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;

        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)signal(numbers[i], crashed);
    }
}

/* ---- Running ------------------------------------------------------------ */

static double
real_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
tell_failure(uint64_t seed, sim_plan *plan, const sim_outcome *outcome,
             bool shrink)
{
    printf("seed %" PRIu64 " failed: %s", seed, outcome->failure.data);
    (void)fflush(stdout);
    if (shrink)
        sim_shrink(plan);
    sim_plan_print(plan);
    printf("replay: test_sim --seed %" PRIu64 "\n", seed);
}

static bool
run_seed(uint64_t seed, const arguments *args, totals *all)
{
    static sim_plan plan;
    sim_outcome outcome;

    (void)snprintf(crash_line, sizeof(crash_line),
                   "\nseed %" PRIu64 " crashed or hangs\n", seed);
    sim_plan_make(&plan, seed);
    if (args->sized && !plan.size.on)
        return true;
    (void)alarm(SEED_LIMIT_S);
    sim_run(&plan, args->verbose, &outcome);
    (void)alarm(0);
    all->seeds++;
    all->calls += outcome.calls;
    all->virtual_ms += outcome.virtual_ms;
    if (outcome.failed)
        tell_failure(seed, &plan, &outcome, !args->no_shrink);
    else if (args->single)
        sim_plan_print(&plan);
    csc_buf_fini(&outcome.failure);
    return !outcome.failed;
}

static void
tell_totals(const totals *all)
{
    double minutes = all->real_s / 60;

    printf("%" PRIu64 " seeds, %.1f simulated hours, %" PRIu64
           " store calls in %.1f s: a minute buys %.0f hours, %.0f calls\n",
           all->seeds, (double)all->virtual_ms / 3600000, all->calls,
           all->real_s, (double)all->virtual_ms / 3600000 / minutes,
           (double)all->calls / minutes);
}

/* Until one fails. */
static bool
run_seeds(const arguments *args)
{
    totals all = {0};
    double begun_s = real_s();
    bool passed = true;

    printf("seeds from %" PRIu64 " on\n", args->first);
    catch_crashes();
    for (uint64_t i = 0; i < args->seeds && passed; i++) {
        passed = run_seed(args->first + i, args, &all);
        if (args->seconds > 0 && real_s() - begun_s >= (double)args->seconds)
            break;
    }
    all.real_s = real_s() - begun_s;
    tell_totals(&all);
    return passed;
}

/* ---- As a test ---------------------------------------------------------- */

static void
one_seed_gives_one_trace(void **state)
{
    static sim_plan plan;
    size_t on_sqlite = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t hashes[2] = {0, 0};

        for (int i = 0; i < 2; i++) {
            sim_outcome outcome;

            sim_plan_make(&plan, seed);
            sim_run(&plan, false, &outcome);
            hashes[i] = outcome.hash;
            csc_buf_fini(&outcome.failure);
        }
        on_sqlite += plan.sqlite;
        if (hashes[0] != hashes[1])
            fail_msg("seed %" PRIu64 " is another run each time", seed);
    }
    assert_true(on_sqlite > 0);
}

static void
the_committed_seeds_pass(void **state)
{
    const char *first = getenv("CASCADE_TEST_SEED");
    arguments args = {.first = 1, .seeds = SEEDS};

    (void)state;
    if (first != NULL)
        args.first = strtoull(first, NULL, 10);
    assert_true(run_seeds(&args));
}

static void
everything_has_happened(void **state)
{
    (void)state;
    assert_int_equal(sim_count_print(), 0);
}

static int
run_as_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_seed_gives_one_trace),
        cmocka_unit_test(the_committed_seeds_pass),
        cmocka_unit_test(everything_has_happened)};

    return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}

/* ---- The program -------------------------------------------------------- */

static bool
read_number(const char *text, uint64_t *number)
{
    char *end = NULL;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

/* One option with its number, if it takes one: how many words; 0: none of
 * ours. */
static int
read_option(char **at, arguments *args)
{
    uint64_t number = 0;

    if (strcmp(at[0], "--verbose") == 0) {
        args->verbose = true;
        return 1;
    }
    if (strcmp(at[0], "--sized") == 0) {
        args->sized = true;
        return 1;
    }
    if (strcmp(at[0], "--no-size") == 0) {
        sim_size_leave_out();
        return 1;
    }
    if (strcmp(at[0], "--no-shrink") == 0) {
        args->no_shrink = true;
        return 1;
    }
    if (!read_number(at[1], &number))
        return 0;
    if (strcmp(at[0], "--seeds") == 0) {
        args->seeds = number;
    } else if (strcmp(at[0], "--first") == 0) {
        args->first = number;
    } else if (strcmp(at[0], "--seconds") == 0) {
        args->seconds = (int64_t)number;
    } else if (strcmp(at[0], "--seed") == 0) {
        args->first = number;
        args->seeds = 1;
        args->single = true;
    } else {
        return 0;
    }
    return 2;
}

int
main(int argc, char **argv)
{
    arguments args = {.first = 1};
    bool passed = false;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 1)
        return run_as_tests() == 0 ? 0 : 1;
    for (int i = 1; i < argc;) {
        int words = read_option(&argv[i], &args);

        if (words == 0) {
            fprintf(stderr,
                    "usage: test_sim [--seeds N] [--first S] [--seed S] "
                    "[--seconds N] [--verbose] [--no-shrink] "
                    "[--no-size] [--sized]\n");
            return 2;
        }
        i += words;
    }
    if (args.seeds == 0)
        args.seeds = args.seconds > 0 ? UINT64_MAX : SEEDS;
    passed = run_seeds(&args);
    if (passed && !args.single)
        (void)sim_count_print();
    return passed ? 0 : 1;
}
