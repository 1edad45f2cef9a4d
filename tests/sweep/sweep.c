/* SPDX-License-Identifier: MIT
 *
 * The loop over N; see sweep.h.
 */
#include "sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/rows.h"
#include "sweep/events.h"

#define FAULTS_MAX 16
#define AFTERWARDS_MS 50 /* until somebody else plays on */

/* One scenario on one store. */
typedef struct sweep {
    const sweep_plan *plan;
    const scenario *scenario;
    test_db *db;
    journal *journal;
    witness witness;
    uint64_t plays;
    size_t struck; /* of them: those that met their fault */
    char pictures[JOURNAL_IDS][SCENE_PICTURE]; /* without a fault */
    int quiet_fd; /* where the output goes meanwhile */
    int outputs[2];
} sweep;

/* ---- Silence ------------------------------------------------------------- */

/* What is printed from now on is kept, and is a failure; unless it is the
 * library's log that is asked for. */
static void
begin_silence(sweep *w)
{
    w->quiet_fd = -1;
    if (getenv("CASCADE_TEST_LOG") != NULL)
        return;
    fflush(stdout);
    fflush(stderr);
    w->quiet_fd = memfd_create("output", MFD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        w->outputs[i] = dup(i + 1);
        (void)dup2(w->quiet_fd, i + 1);
    }
}

static void
end_silence(sweep *w)
{
    if (w->quiet_fd < 0)
        return;
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        (void)dup2(w->outputs[i], i + 1);
        close(w->outputs[i]);
    }
    close(w->quiet_fd);
}

static void
judge_silence(const sweep *w)
{
    struct stat info = {0};
    char text[400] = "";
    ssize_t len = 0;

    fflush(stdout);
    fflush(stderr);
    if (w->quiet_fd < 0 || fstat(w->quiet_fd, &info) != 0 || info.st_size == 0)
        return;
    len = pread(w->quiet_fd, text, sizeof(text) - 1, 0);
    journal_fail(w->journal, "something was printed: %.*s", (int)len, text);
}

/* ---- Faults -------------------------------------------------------------- */

void
sweep_arm_store(scene *s, const sweep_fault *fault, size_t nth)
{
    s->fault = (scene_fault){.nth = nth,
                             .when = fault->when,
                             .err = fault->err,
                             .moves = fault->moves,
                             .lasting = fault->lasting,
                             .crash = fault->crash};
}

size_t
sweep_disarm_store(scene *s)
{
    size_t seen = s->fault.seen;

    s->fault = (scene_fault){0};
    return seen;
}

void
sweep_arm_events(scene *s, const sweep_fault *fault, size_t nth)
{
    events_arm(nth, fault->lasting, fault->variant, &s->journal->seen);
}

size_t
sweep_disarm_events(scene *s)
{
    events_disarm();
    return s->journal->seen;
}

/* ---- One play ------------------------------------------------------------ */

static cascade_err
play(scene *s, const sweep_fault *fault, size_t nth)
{
    cascade_err err = CASCADE_OK;

    if (fault != NULL)
        fault->arm(s, fault, nth);
    err = s->scenario->play(s);
    scene_close(s);
    if (fault != NULL)
        s->journal->seen = fault->disarm(s);
    return err;
}

/* Whether the play came to the nth event. */
static bool
is_met(const scene *s, size_t nth)
{
    return nth > 0 && s->journal->seen >= nth;
}

/* Whoever plays on is another program, with random numbers of its own. */
static void
play_in_child(scene *s, const sweep_fault *fault, size_t nth)
{
    int status = 0;
    pid_t pid = 0;

    (void)witness_application(); /* the parent's, for both */
    pid = fork();
    if (pid == 0) {
        s->witness->connection = NULL; /* the parent's */
        (void)play(s, fault, nth);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        journal_fail(s->journal, "no process");
    else if (!WIFEXITED(status) ||
             WEXITSTATUS(status) != (is_met(s, nth) ? EVENTS_CRASHED : 0))
        journal_fail(s->journal, "the process ended with 0x%x",
                     (unsigned)status);
    atomic_fetch_xor(&s->db->random, UINT64_C(0x5bf03635d1f7a3c9));
    if (s->db->backend->virtual_time &&
        s->journal->ahead_ms < s->journal->shown_ms)
        s->journal->ahead_ms = s->journal->shown_ms;
    s->journal->ahead_ms += AFTERWARDS_MS;
    if (witness_await_gone(s->witness) != 0)
        journal_fail(s->journal, "sessions of the dead are left");
}

/* Whether two pictures are one; where executions may come in another order,
 * their first lines. */
static bool
same_picture(const scenario *played, const char *a, const char *b)
{
    size_t len = strcspn(a, "\n") + 1;

    if (played->varies)
        return true;
    return played->reorders ? strncmp(a, b, len) == 0 : strcmp(a, b) == 0;
}

static void
compare_pictures(sweep *w, scene *s)
{
    for (size_t i = 0; i < w->journal->id_count; i++) {
        char picture[SCENE_PICTURE];

        scene_picture(s, i, picture);
        if (picture[0] == '\0')
            continue; /* it was never started: scene_finish() has looked */
        if (w->pictures[i][0] == '\0')
            memcpy(w->pictures[i], picture, SCENE_PICTURE);
        else if (!same_picture(w->scenario, w->pictures[i], picture))
            journal_fail(w->journal, "cascade %zu is\n%sinstead of\n%s", i,
                         picture, w->pictures[i]);
    }
}

/* Where faults last, and in scenarios that say so, the store's deadline is so
 * short that on a slow machine it may pass by itself. */
static bool
may_give_up(const scenario *played, const sweep_fault *fault, cascade_err err)
{
    bool hasty = played->deadline_ms > 0 || (fault != NULL && fault->lasting);

    if (fault != NULL && fault->ends == CASCADE_ERR_NO_MEMORY &&
        err == CASCADE_ERR_OUTCOME_UNKNOWN)
        return true; /* something was sent before */
    return hasty &&
           (err == CASCADE_ERR_TIMEOUT || err == CASCADE_ERR_UNAVAILABLE ||
            err == CASCADE_ERR_NOT_DONE || err == CASCADE_ERR_OUTCOME_UNKNOWN);
}

/* What the play ended with. */
static void
judge_error(sweep *w, const sweep_fault *fault, size_t nth, cascade_err err)
{
    bool struck = nth > 0 && w->journal->seen >= nth;

    if (err == CASCADE_OK || may_give_up(w->scenario, fault, err))
        return;
    if (!struck)
        journal_fail(w->journal, "the play fails by itself: %s",
                     cascade_err_name(err));
    else if (fault->ends != CASCADE_OK && err != fault->ends)
        journal_fail(w->journal, "the play fails with %s",
                     cascade_err_name(err));
}

/* Plays with the fault at the nth event (NULL or 0: none), and judges. How many
 * events there were. */
static size_t
play_and_judge(sweep *w, const sweep_fault *fault, size_t nth)
{
    scene s = {.db = w->db,
               .scenario = w->scenario,
               .journal = w->journal,
               .witness = &w->witness,
               .lasting = fault != NULL && fault->lasting};
    cascade_err err = CASCADE_OK;

    scene_begin(&s, stores_hash("play", rows_seed() + w->plays++));
    if (fault != NULL && fault->crash)
        play_in_child(&s, fault, nth);
    else
        err = play(&s, fault, nth);
    judge_error(w, fault, nth, err);
    scene_finish(&s);
    compare_pictures(w, &s);
    scene_end(&s);
    judge_silence(w);
    return w->journal->seen;
}

/* ---- The loop ------------------------------------------------------------ */

/* Puts an end to the test when the last play had something wrong. */
static void
settle(sweep *w, const sweep_fault *fault, size_t nth)
{
    if (w->journal->failure[0] == '\0')
        return;
    end_silence(w);
    fail_msg("%s, %s at %zu: %s", w->scenario->name,
             fault != NULL ? fault->name : "no fault", nth,
             w->journal->failure);
}

/* False when the play came to its end without it. */
static bool
strike(sweep *w, const sweep_fault *fault, size_t nth)
{
    bool struck = play_and_judge(w, fault, nth) >= nth;

    settle(w, fault, nth);
    w->struck += struck;
    return struck;
}

static bool
is_for_others(const sweep *w, const sweep_fault *fault)
{
    return fault->only != NULL &&
           strcmp(fault->only, w->db->backend->name) != 0;
}

static size_t
strike_each(sweep *w)
{
    size_t our_count = 0;
    size_t count = 0;

    for (size_t i = 0; i < w->plan->fault_count; i++) {
        size_t nth = 1;

        if (is_for_others(w, &w->plan->faults[i]))
            continue;
        our_count++;
        while (strike(w, &w->plan->faults[i], nth))
            nth++;
        count += nth - 1;
    }
    assert_true(our_count > 0);
    return count;
}

/* How many events a play has that a fault could strike shows whenever it is
 * played, but where it is cut short because the fault lasts. */
static void
note_events(sweep *w, size_t played, size_t events[FAULTS_MAX])
{
    const sweep_fault *faults = w->plan->faults;

    if (faults[played].lasting || w->journal->seen == 0)
        return;
    for (size_t i = 0; i < w->plan->fault_count; i++)
        if (faults[i].arm == faults[played].arm &&
            faults[i].variant == faults[played].variant &&
            faults[i].moves == faults[played].moves)
            events[i] = w->journal->seen;
}

/* The faults in turn, each at a place of chance. Scenarios begin with others:
 * few plays of each strike every fault somewhere. */
static size_t
strike_some(sweep *w, size_t points, size_t first)
{
    uint64_t begin = stores_hash(w->scenario->name, rows_seed());
    size_t events[FAULTS_MAX];
    size_t ours[FAULTS_MAX];
    size_t our_count = 0;
    size_t count = 0;

    assert_in_range(w->plan->fault_count, 1, FAULTS_MAX);
    for (size_t i = 0; i < w->plan->fault_count; i++) {
        events[i] = first;
        if (!is_for_others(w, &w->plan->faults[i]))
            ours[our_count++] = i;
    }
    assert_true(our_count > 0);
    for (size_t i = 0; i < points; i++) {
        uint64_t drawn = stores_hash(w->scenario->name, rows_seed() + i);
        size_t fault = ours[(begin + i) % our_count];

        count += strike(w, &w->plan->faults[fault], 1 + drawn % events[fault]);
        note_events(w, fault, events);
    }
    return count;
}

/* As CASCADE_SWEEP_AT says: "N" for every fault, or "N/FAULT". */
static size_t
strike_at(sweep *w, const char *at)
{
    char *end = NULL;
    size_t nth = strtoull(at, &end, 10);
    size_t count = 0;

    for (size_t i = 0; i < w->plan->fault_count; i++)
        if (*end == '\0' || strtoull(end + 1, NULL, 10) == i)
            count += strike(w, &w->plan->faults[i], nth);
    return count;
}

static long
clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
report(sweep *w, const char *how, size_t struck, size_t events, long begun_ms)
{
    end_silence(w);
    print_message("%s, %s: struck %zu times; %zu events, %zu faults; %ld ms\n",
                  w->scenario->name, how, struck, events, w->plan->fault_count,
                  clock_ms() - begun_ms);
    begin_silence(w);
}

/* Of those that are drawn, as CASCADE_SWEEP_SHARE says: "3" is a third. */
static size_t
share_of(size_t points)
{
    const char *share = getenv("CASCADE_SWEEP_SHARE");
    size_t divisor = share != NULL && atoi(share) > 0 ? (size_t)atoi(share) : 1;

    return points == SIZE_MAX || points < divisor ? points : points / divisor;
}

/* The plays of the scenario that are allowed. */
static size_t
points_of(const sweep *w)
{
    const char *wanted = getenv("CASCADE_SWEEP");

    if (wanted != NULL && strcmp(wanted, "full") == 0)
        return SIZE_MAX;
    if (wanted != NULL && atoi(wanted) > 0)
        return (size_t)atoi(wanted);
    if (!w->db->backend->virtual_time)
        return share_of(w->plan->points_postgres);
    return share_of(strcmp(w->db->backend->name, "sqlite") == 0
                        ? w->plan->points_sqlite
                        : w->plan->points_memory);
}

/* `events` is how many the first fault could have struck. */
static void
sweep_all(sweep *w, size_t events)
{
    const char *at = getenv("CASCADE_SWEEP_AT");
    size_t points = points_of(w);
    long begun_ms = clock_ms();

    if (at != NULL)
        report(w, "one place", strike_at(w, at), events, begun_ms);
    else if (points / w->plan->fault_count >= events)
        report(w, "every place", strike_each(w), events, begun_ms);
    else
        report(w, "places drawn by the seed", strike_some(w, points, events),
               events, begun_ms);
}

/* ---- All scenarios ------------------------------------------------------- */

static sweep *
create_sweep(test_db *db, const sweep_plan *plan, journal *j)
{
    sweep *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    *w = (sweep){.plan = plan, .db = db, .journal = j};
    scene_prepare(db);
    return w;
}

static void
free_sweep(sweep *w)
{
    witness_close(&w->witness);
    free(w);
}

static const sweep_plan *running;

/* The first play, in which nothing strikes, counts and is the model of the
 * others. */
static void
sweep_scenario(sweep *w)
{
    size_t events = 0;

    memset(w->pictures, 0, sizeof(w->pictures));
    begin_silence(w);
    events = play_and_judge(w, &running->faults[0], 0);
    settle(w, &running->faults[0], 0);
    if (events > 0)
        sweep_all(w, events);
    end_silence(w);
    assert_true(events > 0);
}

static void
each_scenario_comes_to_its_end(test_db *db)
{
    const char *only = getenv("CASCADE_SWEEP_ONLY");
    bool whole = only == NULL && getenv("CASCADE_SWEEP_AT") == NULL;
    journal *j = journal_create();
    sweep *w = create_sweep(db, running, j);
    size_t swept = 0;
    size_t struck = 0;

    for (size_t i = 0; i < scenario_count; i++) {
        w->scenario = &scenarios[i];
        if (only != NULL && strstr(w->scenario->name, only) == NULL)
            continue;
        sweep_scenario(w);
        swept++;
    }
    struck = w->struck;
    free_sweep(w);
    journal_free(j);
    assert_true(swept > 0);
    assert_true(struck > 0 || !whole);
}

void
sweep_play_all(test_db *db, void (*look)(void *context, const journal *j),
               void *context)
{
    journal *j = journal_create();
    sweep *w = create_sweep(db, NULL, j);

    for (size_t i = 0; i < scenario_count; i++) {
        w->scenario = &scenarios[i];
        memset(w->pictures, 0, sizeof(w->pictures));
        begin_silence(w);
        (void)play_and_judge(w, NULL, 0);
        settle(w, NULL, 0);
        end_silence(w);
        look(context, j);
    }
    free_sweep(w);
    journal_free(j);
}

void
sweep_use_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 1);
}

int
sweep_main(const sweep_plan *plan, int argc, char **argv)
{
    const stores_test test = {"each_scenario_comes_to_its_end",
                              each_scenario_comes_to_its_end, plan->where};

    running = plan;
    sweep_use_memory();
    if (plan->prepare != NULL)
        plan->prepare();
    return stores_run(plan->name, &test, 1, argc, argv);
}
