/* SPDX-License-Identifier: MIT
 *
 * A process is killed at a chosen commit, start or message: before it, behind
 * it with nobody told, and on PostgreSQL in the middle of it. The next process
 * goes on from the database, and what is recorded in the end is what an
 * undisturbed run records (G1-G4, G9, G10).
 *
 *     caller   a process that plays a script (script.h) and ends
 *     engine   a process that runs the nodes of support/nodes.h for all plays
 *        ^
 *        | stopped at the nth commit, looked at by the oracle, killed
 *     director, this process; starts another instead
 *
 * Each script is played without a kill first, which gives the picture that all
 * others are held against (picture.h). Then the place moves on by one commit
 * with each play until a play ends without coming to it. Each caller is a user
 * of its own; nothing is removed between the plays, so at the end all of it is
 * there to be judged once more. CASCADE_SCRIPT=TEXT plays the scripts with that
 * in their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/picture.h"
#include "process/remains.h"
#include "process/script.h"
#include "process/watch.h"
#include "process/worker.h"
#include "store/store.h"

#define PLACES_MAX 60 /* commits of one play */
#define BLOWS 8       /* of each script, where there is no time for all */
#define BLOWS_MAX 80  /* until one has hit */
#define PLAY_LIMIT_MS 60000
#define SETTLE_LIMIT_MS 60000
#define POLL_MS 20
#define LEASE_MS 120000 /* who is dead is known by his pid */
#define SLACK_MS 500    /* of wake-ups, as the engines know the time */

typedef struct stage {
    test_place place;
    cascade_store *store;
    oracle *oracle;
    size_t effects_fed;
    test_worker engine;
    test_worker caller;
    const script *script; /* being played */
    picture model;        /* of it, once it was played; else empty */
    picture now;
    char user[SCRIPT_USER];
    bool called; /* the caller has ended, well */
    size_t plays;
    size_t kills;
} stage;

/* Where to kill: nobody where `where` is WATCH_NOWHERE. */
typedef struct blow {
    bool at_caller;
    watch_freeze_at where;
    int behind; /* so many commits */
} blow;

static const blow nowhere = {.where = WATCH_NOWHERE};

/* ---- Judging ------------------------------------------------------------- */

static void
fail_of(const stage *s, const char *what)
{
    print_error("%s, %s:\n%s", s->script->name, s->user, s->now.text);
    if (s->model.text[0] != '\0')
        print_error("instead of\n%s", s->model.text);
    fail_msg("%s", what);
}

static void
judge(stage *s, bool content)
{
    if (content)
        return;
    fputs(oracle_text(s->oracle), stderr);
    fail_of(s, "the oracle is not content");
}

/* What they are sent is judged by what is recorded in the end, not one by one.
 */
static void
announce_messages(stage *s, const cascade_uuid *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const oracle_message any = {.to = &ids[i], .kind = "any"};

        oracle_sending(s->oracle, &any);
    }
}

/* Nobody enters any node of the user's cascades now. Of runs that continue one
 * another the oracle knows nothing. */
static void
look(stage *s)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .user_id = s->user};
    cascade_uuid ids[PICTURE_CASCADES];
    cascade_page *page = NULL;
    size_t count = 0;

    flow_tell(&s->place, &s->effects_fed, s->oracle);
    if (s->script->kind == PICTURE_RUNS)
        return;
    assert_ok(cascade_list(s->store, &options, &page));
    count = cascade_page_count(page);
    assert_true(count <= PICTURE_CASCADES);
    for (size_t i = 0; i < count; i++)
        ids[i] = cascade_page_get(page, i)->id;
    cascade_page_free(page);
    announce_messages(s, ids, count);
    judge(s,
          oracle_look(s->oracle, s->store->driver, s->store->self, ids, count));
}

/* What the caller says when it ends well. */
static void
tell_oracle(stage *s)
{
    cascade_uuid id;
    const oracle_message deletion = {
        .to = &id, .kind = "delete", .request_id = "command"};

    assert_ok(cascade_uuid_from_key(s->user, SCRIPT_KEY, &id));
    if (s->script->cascades == 0) {
        oracle_sending(s->oracle, &deletion);
        oracle_sent(s->oracle, &deletion, CASCADE_OK);
    }
    oracle_started(s->oracle, &id, true);
}

/* ---- Processes ----------------------------------------------------------- */

/* Another mode in each life. */
static void
begin_engine(stage *s)
{
    static const cascade_mode modes[] = {
        CASCADE_MODE_INLINE, CASCADE_MODE_THREADS, CASCADE_MODE_LOOP};
    const worker_options options = {.lease_ms = LEASE_MS,
                                    .poll_ms = POLL_MS,
                                    .threads = 2,
                                    .mode = modes[s->kills % 3],
                                    .suspend_steps = s->kills % 2 == 0,
                                    .cast = true};

    worker_start(&s->engine, &s->place, &options);
}

static void
begin_caller(stage *s, const blow *place)
{
    worker_options options = {.outsider = true,
                              .script = 1 + (int)(s->script - scripts),
                              .stop = place->where,
                              .stop_behind = place->behind};

    snprintf(options.user, sizeof(options.user), "%s", s->user);
    worker_spawn(&s->caller, &s->place, &options);
}

static void
kill_engine(stage *s)
{
    look(s);
    worker_kill(&s->engine);
    s->kills++;
    begin_engine(s);
}

static void
kill_caller(stage *s)
{
    worker_kill(&s->caller);
    s->kills++;
    begin_caller(s, &nowhere);
}

/* ---- One play ------------------------------------------------------------ */

static void
tend(stage *s)
{
    if (watch_has_stopped(&s->engine))
        kill_engine(s);
    if (s->called)
        return;
    if (watch_has_stopped(&s->caller))
        kill_caller(s);
    s->called = worker_ended(&s->caller);
    if (!s->called)
        return;
    if (!WIFEXITED(s->caller.status) || WEXITSTATUS(s->caller.status) != 0)
        fail_of(s, "the caller does not end well");
    tell_oracle(s);
}

static bool
is_over(void *context)
{
    stage *s = context;

    tend(s);
    if (!s->called)
        return false;
    picture_take(&s->now, s->store, s->user, s->script->kind);
    return s->now.running == 0 && s->now.cascades == s->script->cascades &&
           strstr(s->now.text, s->script->end) != NULL &&
           (s->model.text[0] == '\0' ||
            strcmp(s->now.text, s->model.text) == 0);
}

static bool
engine_has_stopped(void *context)
{
    const stage *s = context;

    return watch_has_stopped(&s->engine);
}

/* It may be about to stop at what is not of the play. */
static void
disarm_engine(stage *s)
{
    if (watch_disarm(&s->engine))
        return;
    assert_true(place_wait(engine_has_stopped, s, SETTLE_LIMIT_MS));
    kill_engine(s);
}

/* Whether it came to that place. */
static bool
play(stage *s, const blow *place)
{
    size_t kills = s->kills;

    snprintf(s->user, sizeof(s->user), "user-%zu", s->plays);
    s->plays++;
    s->called = false;
    if (!place->at_caller)
        watch_arm(&s->engine, place->where, place->behind);
    begin_caller(s, place->at_caller ? place : &nowhere);
    if (!place_wait(is_over, s, PLAY_LIMIT_MS))
        fail_of(s, "it does not end as it does undisturbed");
    disarm_engine(s);
    look(s);
    return s->kills > kills;
}

/* ---- All of them --------------------------------------------------------- */

/* How many blows there were. */
static size_t
strike_each(stage *s, watch_freeze_at where, bool at_caller)
{
    blow next = {.at_caller = at_caller, .where = where};

    while (play(s, &next)) {
        next.behind++;
        assert_true(next.behind < PLACES_MAX);
    }
    return (size_t)next.behind;
}

static size_t
strike_everywhere(stage *s)
{
    return strike_each(s, WATCH_WRITE, false) +
           strike_each(s, WATCH_WRITTEN, false) +
           strike_each(s, WATCH_WRITE, true) +
           strike_each(s, WATCH_WRITTEN, true);
}

/* At places of chance. A play may have fewer of them than another, since more
 * may go into one commit. */
static size_t
strike_some(stage *s, uint64_t engine_writes, uint64_t caller_writes)
{
    static const watch_freeze_at wheres[] = {WATCH_WRITE, WATCH_WRITTEN,
                                             WATCH_PIPELINE};
    size_t hits = 0;

    for (int i = 0; i < BLOWS || (hits == 0 && i < BLOWS_MAX); i++) {
        uint64_t at = place_random(engine_writes + caller_writes);
        blow next = {.at_caller = at >= engine_writes};

        next.where = wheres[place_random(next.at_caller ? 2 : 3)];
        next.behind = (int)(next.at_caller ? at - engine_writes : at);
        hits += play(s, &next);
    }
    return hits;
}

/* What was recorded by the end of a play is so still. */
static void
check_again(stage *s, size_t first)
{
    for (size_t i = first; i < s->plays; i++) {
        snprintf(s->user, sizeof(s->user), "user-%zu", i);
        picture_take(&s->now, s->store, s->user, s->script->kind);
        if (strcmp(s->now.text, s->model.text) != 0)
            fail_of(s, "it has changed after its end");
        look(s);
    }
}

static void
strike_script(stage *s)
{
    int64_t begun_ms = place_now_ms();
    uint64_t writes = s->engine.shared->figures.writes;
    size_t first = s->plays;
    size_t hits = 0;

    s->model.text[0] = '\0';
    (void)play(s, &nowhere);
    s->model = s->now;
    writes = s->engine.shared->figures.writes - writes;
    hits = s->place.kind == PLACE_SQLITE
               ? strike_everywhere(s)
               : strike_some(s, writes, s->caller.last.writes);
    check_again(s, first);
    print_message("%s: %zu kills in %zu plays, %lld ms\n", s->script->name,
                  hits, s->plays - first,
                  (long long)(place_now_ms() - begun_ms));
    assert_true(hits > 0);
}

/* Nor is a dead engine left for this one to find. */
static bool
nothing_is_open(void *context)
{
    const stage *s = context;

    return remains_open(&s->place) == 0 && remains_engines(&s->place) == 1;
}

static void
finish(stage *s)
{
    if (!place_wait(nothing_is_open, s, SETTLE_LIMIT_MS))
        fail_msg("%lld messages or cascades are left, of %lld engines",
                 (long long)remains_open(&s->place),
                 (long long)remains_engines(&s->place));
    worker_end(&s->engine);
    assert_ok(cascade_store_close(s->store));
    oracle_free(s->oracle);
    remains_check(&s->place);
    place_destroy(&s->place);
}

static void
a_kill_at_any_commit_changes_nothing(void **state)
{
    const char *only = getenv("CASCADE_SCRIPT");
    stage *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    place_create(&s->place, place_of(state));
    s->store = place_open(&s->place);
    s->oracle = oracle_create();
    oracle_set_slack(s->oracle, SLACK_MS);
    begin_engine(s);
    for (size_t i = 0; i < script_count; i++) {
        s->script = &scripts[i];
        if (only == NULL || strstr(s->script->name, only) != NULL)
            strike_script(s);
    }
    finish(s);
    free(s);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(a_kill_at_any_commit_changes_nothing) /**/
};

WORKER_MAIN(tests)
