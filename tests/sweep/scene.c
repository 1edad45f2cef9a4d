/* SPDX-License-Identifier: MIT
 *
 * One play of a scenario and what is judged of it; see scene.h.
 */
#include "sweep/scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cascade/manage.h"
#include "state/state.h"
#ifdef CASCADE_HAVE_SQLITE
#include "store/sqlite/internal.h"
#endif
#include "support/sealed.h"
#include "sweep/events.h"
#include "sweep/scene_internal.h"

#define START_MS INT64_C(1700000000000)
#define LEASE_MS 150      /* where time is real */
#define POLLS_MAX 4000    /* until a play is given up, where time is not real */
#define POLLS_LASTING 25  /* the same while faults last, on any store */
#define POLLS_ASKED 5     /* until an answer is asked for again */
#define REAL_MAX_MS 60000 /* until it is given up in any case */
#define DEADLINE_LASTING_MS 9
#define DEADLINE_REAL_MS 300 /* the same where time is real */
#define STOP_MS 60000
#define STOP_LASTING_MS 1

/* ---- Kinds of databases ------------------------------------------------- */

static bool
is_sqlite(const test_db *db)
{
    return strcmp(db->backend->name, "sqlite") == 0;
}

static bool
is_postgres(const test_db *db)
{
    return strcmp(db->backend->name, "postgres") == 0;
}

/* ---- Time ---------------------------------------------------------------- */

static int64_t
real_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t
passed_ns(const scene *s)
{
    int64_t flowed_ns = 0;

    if (s->flows_since_ns != 0)
        flowed_ns = real_ns(CLOCK_MONOTONIC) - s->flows_since_ns;
    return s->journal->ahead_ms * 1000000 + flowed_ns;
}

/* The same, told to the parent of a play that dies while its clock goes on. */
static int64_t
show_ns(scene *s)
{
    int64_t ns = passed_ns(s);

    if (ns / 1000000 > s->journal->shown_ms)
        s->journal->shown_ms = ns / 1000000;
    return ns;
}

static int64_t
wall_ms(void *context)
{
    return START_MS + show_ns(context) / 1000000;
}

static int64_t
monotonic_ns(void *context)
{
    return INT64_C(1000000000000) + show_ns(context);
}

int64_t
scene_now_ms(const scene *s)
{
    if (s->db->backend->virtual_time)
        return START_MS + passed_ns(s) / 1000000;
    return real_ns(CLOCK_REALTIME) / 1000000;
}

void
scene_let_flow(scene *s, bool flows)
{
    if (flows && s->flows_since_ns == 0)
        s->flows_since_ns = real_ns(CLOCK_MONOTONIC);
    if (flows || s->flows_since_ns == 0 || !s->db->backend->virtual_time)
        return;
    s->journal->ahead_ms = passed_ns(s) / 1000000 + 1;
    s->flows_since_ns = 0;
}

/* ---- Checks -------------------------------------------------------------- */

cascade_err
scene_check(scene *s, cascade_err err, const char *call)
{
    bool text = cascade_errmsg()[0] != '\0';

    if (text != (err != CASCADE_OK))
        journal_fail(s->journal, "%s: %s %s", call, cascade_err_name(err),
                     text ? "with a text" : "without a text");
    return err;
}

void
scene_expect(scene *s, bool condition, const char *text)
{
    if (!condition)
        journal_fail(s->journal, "expected: %s", text);
}

static int
count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    if (folder == NULL)
        return -1;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* ---- The fault ----------------------------------------------------------- */

static void
crash(scene *s)
{
    s->journal->seen = s->fault.seen;
    _exit(EVENTS_CRASHED);
}

/* Whether the fault strikes at this move. */
static bool
strikes(scene *s, const wrap_call *call)
{
    scene_fault *fault = &s->fault;

    if (fault->moves != 0 && (fault->moves >> call->move & 1) == 0)
        return false;
    fault->seen++;
    if (fault->nth == 0 || fault->seen < fault->nth)
        return false;
    return fault->lasting || fault->seen == fault->nth;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    scene *s = context;

    s->journal->calls[call->move]++;
    s->struck = strikes(s, call);
    if (!s->struck || s->fault.when != WRAP_BEFORE)
        return CASCADE_OK;
    if (s->fault.crash)
        crash(s);
    return s->fault.err;
}

/* S16: whatever made the move fail. */
static void
judge_failure(scene *s, const wrap_call *call, cascade_err answer)
{
    const char *said = witness_ask(s->witness);

    if (cascade_errmsg()[0] == '\0')
        journal_fail(s->journal, "move %d: %s without a text", (int)call->move,
                     cascade_err_name(answer));
    if (said[0] != '\0')
        journal_fail(s->journal,
                     "move %d failed (%s) and left a transaction: %s",
                     (int)call->move, cascade_errmsg(), said);
}

/* Checkpoints come so seldom that no play would see one. */
static void
hasten_checkpoints(scene *s, void *self)
{
#ifdef CASCADE_HAVE_SQLITE
    csc_sqlite *store = self;

    if (!is_sqlite(s->db))
        return;
    store->checkpoint_pages = 1;
    store->checkpoint_at_pages = 1;
#else
    (void)s;
    (void)self;
#endif
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    scene *s = context;

    if (call->move == WRAP_OPEN && answer == CASCADE_OK)
        hasten_checkpoints(s, call->self);
    if (answer != CASCADE_OK)
        judge_failure(s, call, answer);
    if (!s->struck || s->fault.when != WRAP_AFTER)
        return answer;
    if (s->fault.crash)
        crash(s);
    return answer == CASCADE_OK ? s->fault.err : answer;
}

/* ---- The database -------------------------------------------------------- */

static void
path_in(const test_db *db, const char *name, char path[300])
{
    snprintf(path, 300, "%s/%s", db->folder, name);
}

static cascade_store_options
store_options(scene *s)
{
    cascade_store_options options = db_store_options(s->db);

    options.clock = &s->clock;
    options.schema = s->schema[0] != '\0' ? s->schema : NULL;
    options.application_name = witness_application();
    options.durability = CASCADE_DURABILITY_RELAXED;
    if (s->scenario->sealed)
        options.integrity = sealed_by_secret();
    if (s->scenario->deadline_ms > 0 && !s->finishing &&
        s->db->backend->virtual_time)
        options.deadline_ms = s->scenario->deadline_ms;
    if (s->lasting && !s->finishing)
        options.deadline_ms = s->db->backend->virtual_time ? DEADLINE_LASTING_MS
                                                           : DEADLINE_REAL_MS;
    return options;
}

void
scene_prepare(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    char path[300];
    char url[320];

    path_in(db, "template.db", path);
    snprintf(url, sizeof(url), "sqlite:%s", path);
    assert_ok(
        cascade_store_open(is_sqlite(db) ? url : db->url, &options, &store));
    assert_ok(cascade_store_close(store));
}

static void
copy_file(scene *s, const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat info = {0};

    if (in < 0 || out < 0 || fstat(in, &info) != 0 ||
        sendfile(out, in, NULL, (size_t)info.st_size) != info.st_size)
        journal_fail(s->journal, "%s cannot be copied", from);
    close(in);
    close(out);
}

static void
remove_sqlite(const test_db *db)
{
    static const char *const names[] = {"play.db", "play.db-wal", "play.db-shm",
                                        "play.db-lock", "play.db-journal"};
    char path[300];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        path_in(db, names[i], path);
        (void)unlink(path);
    }
}

static void
create_sqlite(scene *s)
{
    char from[300];
    char to[300];

    path_in(s->db, "template.db", from);
    path_in(s->db, "play.db", to);
    remove_sqlite(s->db);
    if (!s->scenario->fresh)
        copy_file(s, from, to);
    snprintf(s->url, sizeof(s->url), "sqlite:%s", to);
}

static void
create_postgres(scene *s)
{
    char sql[300];

    snprintf(s->url, sizeof(s->url), "%s", s->db->url);
    snprintf(s->schema, sizeof(s->schema), "%.50s%s", s->db->schema,
             s->scenario->fresh ? "_fresh" : "");
    snprintf(sql, sizeof(sql),
             s->scenario->fresh
                 ? "SET client_min_messages = warning; CREATE SCHEMA %s"
                 : "SET search_path = %s",
             s->schema);
    if (witness_run(s->witness, sql) != 0)
        journal_fail(s->journal, "no schema");
}

static void
create_database(scene *s)
{
    static int number;

    s->witness->url = s->url;
    if (is_sqlite(s->db)) {
        create_sqlite(s);
    } else if (is_postgres(s->db)) {
        s->witness->url = s->db->url;
        create_postgres(s);
    } else {
        snprintf(s->url, sizeof(s->url), "memory:sweep-%d", number++);
    }
}

static void
drop_postgres(scene *s)
{
    char sql[300];

    snprintf(sql, sizeof(sql), "DROP SCHEMA %s CASCADE", s->schema);
    if (!s->scenario->fresh)
        snprintf(sql, sizeof(sql),
                 "DELETE FROM cascade_messages; DELETE FROM cascade_keys; "
                 "DELETE FROM context_events; DELETE FROM node_executions; "
                 "DELETE FROM cascade_runs; DELETE FROM cascade_lanes; "
                 "DELETE FROM cascade_engines; DELETE FROM cascades");
    if (witness_run(s->witness, sql) != 0)
        journal_fail(s->journal, "the rows cannot be removed");
}

/* ---- Begin --------------------------------------------------------------- */

static void
open_keeper(scene *s)
{
    cascade_store_options options = store_options(s);

    if (is_sqlite(s->db) || is_postgres(s->db))
        return;
    if (cascade_store_open(s->url, &options, &s->keeper) != CASCADE_OK)
        journal_fail(s->journal, "%s: %s", s->url, cascade_errmsg());
}

static void
note_entry(void *context, const cascade_node *node)
{
    scene *s = context;

    journal_ran(s->journal, cascade_node_request_id(node),
                cascade_node_attempt(node), scene_now_ms(s));
}

void
scene_begin(scene *s, uint64_t seed)
{
    journal_clear(s->journal);
    s->watcher = (nodes_watcher){note_entry, s};
    s->clock = (cascade_clock){s, wall_ms, monotonic_ns};
    s->id_state = seed;
    atomic_store(&s->db->random, seed);
    create_database(s);
    s->blocks = csc_mem_live();
    s->fds = count_entries("/proc/self/fd");
    s->tasks = count_entries("/proc/self/task");
    s->oracle = oracle_create();
    scene_let_flow(s, !s->db->backend->virtual_time);
    open_keeper(s);
    s->wrap = wrap_store_create(s->url);
    if (s->wrap == NULL) {
        journal_fail(s->journal, "there is no store %s", s->url);
        return;
    }
    s->wrap->context = s;
    s->wrap->before = before;
    s->wrap->after = after;
}

cascade_uuid
scene_id(scene *s)
{
    cascade_uuid id;
    char text[40];

    for (size_t i = 0; i < sizeof(id.bytes); i += 8) {
        uint64_t half = 0;

        snprintf(text, sizeof(text), "%zu", i);
        half = stores_hash(text, s->id_state);
        memcpy(id.bytes + i, &half, 8);
    }
    s->id_state++;
    return id;
}

/* ---- Stores and engines -------------------------------------------------- */

cascade_err
scene_open(scene *s, cascade_store **store)
{
    cascade_store_options options = store_options(s);
    cascade_err err = CASCADE_OK;

    if (s->finishing)
        err = cascade_store_open(s->url, &options, store);
    else
        err = cascade_store_open_driver(&s->wrap->driver, s->wrap->url,
                                        &options, store);
    if (err == CASCADE_OK)
        s->stores[s->store_count++] = *store;
    return scene_check(s, err, "store open");
}

static cascade_err
start_engine(scene *s, cascade_engine *engine, const char *without)
{
    cascade_err err = nodes_register(engine, without, &s->watcher);

    return err == CASCADE_OK ? cascade_engine_start(engine) : err;
}

cascade_err
scene_engine(scene *s, cascade_store *store, const char *without,
             cascade_engine **engine)
{
    bool real = !s->db->backend->virtual_time;
    const cascade_engine_options options = {
        .size = sizeof(options),
        .mode = CASCADE_MODE_INLINE,
        .lease_ms = real ? LEASE_MS : 0,
        .poll_interval_ms = real ? 20 : 100,
        .park_after_ms = 3,
        .batch_bytes_max = s->scenario->small ? 1024 : 0,
        .poison_limit = s->scenario->poison_limit};
    scene_engine_slot *slot = &s->engines[s->engine_count];
    cascade_err err = cascade_engine_open(store, &options, &slot->engine);

    if (scene_check(s, err, "engine open") != CASCADE_OK)
        return err;
    s->engine_count++;
    err = scene_check(s, start_engine(s, slot->engine, without), "start");
    slot->started = err == CASCADE_OK;
    if (engine != NULL)
        *engine = slot->engine;
    return err;
}

cascade_err
scene_stop(scene *s, cascade_engine *engine)
{
    bool patient = !s->lasting || s->finishing;
    cascade_err err = CASCADE_OK;
    cascade_err closed = CASCADE_OK;

    for (size_t i = 0; i < s->engine_count; i++)
        if (s->engines[i].engine == engine)
            s->engines[i] = (scene_engine_slot){NULL, false};
    scene_let_flow(s, true);
    err = scene_check(
        s, cascade_engine_stop(engine, patient ? STOP_MS : STOP_LASTING_MS),
        "engine stop");
    closed = scene_check(s, cascade_engine_close(engine), "engine close");
    scene_let_flow(s, false);
    SCENE_EXPECT(s, closed == CASCADE_OK);
    if (patient)
        SCENE_EXPECT(s, err == CASCADE_OK);
    return err;
}

cascade_err
scene_close_store(scene *s, cascade_store *store)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < s->store_count; i++)
        if (s->stores[i] == store)
            s->stores[i] = NULL;
    err = scene_check(s, cascade_store_close(store), "store close");
    SCENE_EXPECT(s, err == CASCADE_OK);
    return err;
}

void
scene_close(scene *s)
{
    for (size_t i = 0; i < s->engine_count; i++)
        if (s->engines[i].engine != NULL)
            (void)scene_stop(s, s->engines[i].engine);
    for (size_t i = 0; i < s->store_count; i++)
        if (s->stores[i] != NULL)
            (void)scene_close_store(s, s->stores[i]);
    s->engine_count = 0;
    s->store_count = 0;
}

/* ---- Starts -------------------------------------------------------------- */

cascade_uuid
scene_id_of(const cascade_start_options *options)
{
    const char *user =
        options->user_id != NULL ? options->user_id : "anonymous";
    cascade_uuid id = {{0}};

    if (options->id != NULL)
        return *options->id;
    (void)cascade_uuid_from_key(user, options->key, &id);
    return id;
}

cascade_err
scene_start(scene *s, cascade_store *store, const cascade_start_spec *specs,
            size_t count, cascade_started *started)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count; i++) {
        cascade_uuid id = scene_id_of(specs[i].options);

        journal_starting(s->journal, &id);
    }
    err = cascade_start_many(store, specs, count, started);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        journal_started(s->journal, &started[i].id, started[i].existed);
    return scene_check(s, err, "start");
}

cascade_err
scene_start_one(scene *s, cascade_store *store, const char *node,
                const cascade_start_options *options)
{
    const cascade_uuid id = scene_id(s);
    const cascade_start_options plain = {.size = sizeof(plain), .id = &id};
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = "{\"of\": 1}"};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &first,
                                     .first_count = 1,
                                     .options =
                                         options != NULL ? options : &plain};
    cascade_started started;

    return scene_start(s, store, &spec, 1, &started);
}

/* ---- Polling ------------------------------------------------------------- */

cascade_err
scene_poll(scene *s)
{
    int64_t wait_ms = 60000;
    size_t ran = 0;

    for (size_t i = 0; i < s->engine_count; i++) {
        cascade_engine *engine = s->engines[i].engine;
        size_t count = 0;
        int64_t next_ms = 0;
        cascade_err err = CASCADE_OK;

        if (!s->engines[i].started)
            continue;
        err = scene_check(s, cascade_engine_poll(engine, 0, &count), "poll");
        if (err != CASCADE_OK)
            return err;
        ran += count;
        next_ms = cascade_engine_timeout_ms(engine);
        wait_ms = next_ms < wait_ms ? next_ms : wait_ms;
    }
    if (ran == 0)
        s->journal->ahead_ms += wait_ms;
    return CASCADE_OK;
}

/* Notes the run that the last one has continued as, if it has. */
static cascade_err
note_next_run(scene *s, cascade_store *store, const cascade_uuid *id)
{
    const cascade_uuid *next = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_err err = CASCADE_OK;

    if (!s->scenario->continues || s->journal->id_count == 0 ||
        id != &s->journal->ids[s->journal->id_count - 1])
        return CASCADE_OK;
    err = scene_check(s, cascade_snapshot_load(store, id, NULL, &snapshot),
                      "snapshot of a run");
    if (err == CASCADE_OK)
        next = cascade_snapshot_continued_as(snapshot);
    if (next != NULL)
        journal_starting(s->journal, next);
    cascade_snapshot_free(snapshot);
    return err;
}

static cascade_store *
first_store(const scene *s)
{
    cascade_store *store = NULL;

    for (size_t i = 0; i < s->store_count && store == NULL; i++)
        store = s->stores[i];
    return store;
}

static bool
has_ended(scene *s, const cascade_uuid *id)
{
    cascade_store *store = first_store(s);
    cascade_err err = scene_check(s, cascade_wait(store, id, 0, NULL), "wait");

    if (journal_was_sent(s->journal, id, "delete"))
        return err == CASCADE_ERR_NOT_FOUND;
    return err == CASCADE_OK && !scene_has_messages(s, store, id) &&
           note_next_run(s, store, id) == CASCADE_OK;
}

/* Also what its cascade has left behind. */
static bool
nothing_runs(scene *s, cascade_store *store)
{
    cascade_counts counts = {.size = sizeof(counts)};

    if (!s->scenario->family)
        return true;
    return scene_check(s, cascade_counts_load(store, &counts), "count") ==
               CASCADE_OK &&
           counts.running + counts.messages == 0;
}

static bool
all_ended(scene *s)
{
    for (size_t i = 0; i < s->journal->id_count; i++)
        if (!has_ended(s, &s->journal->ids[i]))
            return false;
    return nothing_runs(s, first_store(s));
}

/* Where time is real, a lease may have to pass, and how many polls go into that
 * says only how fast the machine is. */
static int
polls_max(const scene *s)
{
    return s->db->backend->virtual_time ? POLLS_MAX : INT_MAX;
}

static int64_t
patience_end_ns(void)
{
    return real_ns(CLOCK_MONOTONIC) + REAL_MAX_MS * INT64_C(1000000);
}

cascade_err
scene_run(scene *s)
{
    int polls = s->lasting ? POLLS_LASTING : polls_max(s);
    int64_t end_ns = patience_end_ns();

    for (int i = 0; i < polls; i++) {
        cascade_err err = scene_poll(s);

        if (err != CASCADE_OK || all_ended(s))
            return err;
        if (real_ns(CLOCK_MONOTONIC) > end_ns)
            break;
    }
    if (!s->lasting)
        journal_fail(s->journal, "the engine did not go on by itself");
    return CASCADE_ERR_TIMEOUT;
}

cascade_err
scene_ask(scene *s, cascade_store *store, const cascade_uuid *id,
          const scene_message *message)
{
    int polls = s->lasting ? POLLS_LASTING : polls_max(s);
    int64_t end_ns = patience_end_ns();
    cascade_err err = scene_ask_once(s, store, id, message);

    for (int i = 0; i < polls && err == CASCADE_ERR_TIMEOUT &&
                    real_ns(CLOCK_MONOTONIC) < end_ns;
         i++) {
        err = CASCADE_OK;
        for (int k = 0; k < POLLS_ASKED && err == CASCADE_OK; k++)
            err = scene_poll(s);
        if (err == CASCADE_OK)
            err = scene_ask_once(s, store, id, message);
    }
    if (err == CASCADE_ERR_TIMEOUT && !s->lasting)
        journal_fail(s->journal, "an update is not answered");
    return err;
}

/* ---- Finish -------------------------------------------------------------- */

/* What was started, or may have been: a cascade that is not there has ended
 * too, unless its start was acknowledged. */
static bool
is_over(scene *s, cascade_store *store, const cascade_uuid *id)
{
    cascade_err err = cascade_wait(store, id, 0, NULL);

    bool deleting = journal_was_sent(s->journal, id, "delete");

    if (err == CASCADE_ERR_NOT_FOUND)
        SCENE_EXPECT(s, deleting || !journal_is_acknowledged(s->journal, id));
    else if (err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
        journal_fail(s->journal, "wait: %s", cascade_errmsg());
    return err == CASCADE_ERR_NOT_FOUND ||
           (err == CASCADE_OK && !deleting &&
            !scene_has_messages(s, store, id) &&
            note_next_run(s, store, id) == CASCADE_OK);
}

static bool
all_over(scene *s, cascade_store *store)
{
    bool over = true;

    for (size_t i = 0; i < s->journal->id_count && over; i++)
        over = is_over(s, store, &s->journal->ids[i]);
    return over && nothing_runs(s, store);
}

static void
run_to_the_end(scene *s, cascade_store *store)
{
    cascade_engine *engine = NULL;
    int64_t end_ns = patience_end_ns();
    bool over = all_over(s, store);

    if (over)
        return;
    SCENE_EXPECT(s, scene_engine(s, store, NULL, &engine) == CASCADE_OK);
    for (int i = 0;
         i < polls_max(s) && !over && s->journal->failure[0] == '\0' &&
         real_ns(CLOCK_MONOTONIC) < end_ns;
         i++) {
        SCENE_EXPECT(s, scene_poll(s) == CASCADE_OK);
        over = all_over(s, store);
    }
    if (!over)
        journal_fail(s->journal, "a fresh engine does not end what is left");
    if (engine != NULL)
        (void)scene_stop(s, engine);
}

static void
consult(scene *s, cascade_store *store, oracle_phase phase)
{
    journal_tell(s->journal, s->oracle, &s->told);
    if (!oracle_check(s->oracle, store->driver, store->self, phase))
        journal_fail(s->journal, "the oracle says: %s", oracle_text(s->oracle));
}

void
scene_finish(scene *s)
{
    cascade_store *store = NULL;

    s->finishing = true;
    scene_let_flow(s, !s->db->backend->virtual_time);
    if (scene_open(s, &store) != CASCADE_OK) {
        journal_fail(s->journal, "afterwards it cannot be opened: %s",
                     cascade_errmsg());
        return;
    }
    consult(s, store, ORACLE_RUNNING);
    if (s->scenario->mend != NULL)
        s->scenario->mend(s, store);
    run_to_the_end(s, store);
    consult(s, store, ORACLE_ENDED);
    if (s->scenario->look != NULL)
        s->scenario->look(s, store);
}

/* ---- End ----------------------------------------------------------------- */

void
scene_end(scene *s)
{
    siginfo_t left;

    scene_close(s);
    (void)cascade_store_close(s->keeper);
    oracle_free(s->oracle);
    if (s->wrap != NULL)
        wrap_store_free(s->wrap);
    if (is_sqlite(s->db)) {
        witness_close(s->witness);
        remove_sqlite(s->db);
    } else if (is_postgres(s->db)) {
        drop_postgres(s);
    }
    if (csc_mem_live() != s->blocks)
        journal_fail(s->journal, "%ld blocks of memory are leaked",
                     (long)csc_mem_live() - (long)s->blocks);
    if (count_entries("/proc/self/fd") != s->fds)
        journal_fail(s->journal, "%d descriptors instead of %d",
                     count_entries("/proc/self/fd"), s->fds);
    if (count_entries("/proc/self/task") != s->tasks)
        journal_fail(s->journal, "a thread is left");
    if (waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == 0)
        journal_fail(s->journal, "a process is left");
}
