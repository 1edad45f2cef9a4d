/* SPDX-License-Identifier: MIT
 *
 * After fork(): with the handles of its parent a child is refused at once,
 * whatever the parent's threads do meanwhile, and the parent notices nothing of
 * it; a store of its own works. Children tell what they find on standard error
 * and by their exit status, and are killed where they hang.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/every_call.h"
#include "support/stores.h"

#define CHILD_LIMIT_S 60
#define FORKS 40
#define STARTS 4

/* ---- Every call ---------------------------------------------------------- */

static struct {
    int64_t time;
    uint64_t random;
    int number;
    size_t count;
    const char *text;
    char *document;
    cJSON *tree;
    const cJSON *seen;
    cascade_uuid id;
    cascade_started started;
    cascade_start_spec spec;
    cascade_info *info;
    cascade_outcome *outcome;
    cascade_page *page;
    cascade_snapshot *snapshot;
    cascade_explanation *explanation;
    cascade_engine_list *engines;
    cascade_queue_list *queues;
    cascade_counts counts;
    cascade_engine_stats now;
    cascade_check_report report;
    cascade_purge_options purge;
    cascade_program program;
    const cascade_news *news;
    cascade_store *store;
    cascade_engine *engine;
    cascade_cursor *cursor;
    sqlite3 *db;
    PGconn *conn;
} out;

static bool silent; /* the call gives no error, and no text */

static cascade_err
every_misuse(bool refused)
{
    silent = true;
    return refused ? CASCADE_ERR_MISUSE : CASCADE_OK;
}

static cascade_err
every_function(cascade_node *node, void *user)
{
    return stores_nothing(node, user);
}

static cascade_err
every_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    return stores_nothing(node, arg);
}

static cascade_err
every_undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)input;
    return stores_nothing(node, user);
}

#define DEFINE_CALL(name, call)                           \
    static cascade_err call_##name(const every_handle *h) \
    {                                                     \
        (void)h;                                          \
        return call;                                      \
    }
EVERY_CALL(DEFINE_CALL)
#undef DEFINE_CALL

static const struct {
    const char *name;
    cascade_err (*call)(const every_handle *h);
} calls[] = {
#define LIST_CALL(name, call) {#name, call_##name},
    EVERY_CALL(LIST_CALL)
#undef LIST_CALL
};

/* Those without a handle, and those that only read what lies in the child's own
 * memory: names and numbers of a node, values that were read before. */
static const char *const others[] = {
    "cascade_version",
    "cascade_err_name",
    "cascade_err_text",
    "cascade_errmsg",
    "cascade_uuid_parse",
    "cascade_uuid_format",
    "cascade_uuid_from_key",
    "cascade_reason_name",
    "cascade_store_fail",
    "cascade_store_open",
    "cascade_store_open_driver",
    "cascade_sqlite_open",
    "cascade_sqlite_functions",
    "cascade_postgres_open",
    "cascade_info_free",
    "cascade_outcome_free",
    "cascade_page_count",
    "cascade_page_get",
    "cascade_page_unreadable",
    "cascade_page_free",
    "cascade_snapshot_free",
    "cascade_snapshot_info",
    "cascade_snapshot_count",
    "cascade_snapshot_get",
    "cascade_snapshot_context",
    "cascade_snapshot_cascaide_context",
    "cascade_snapshot_result",
    "cascade_snapshot_error",
    "cascade_snapshot_continued_as",
    "cascade_explanation_count",
    "cascade_explanation_get",
    "cascade_explanation_free",
    "cascade_engine_list_count",
    "cascade_engine_list_get",
    "cascade_engine_list_free",
    "cascade_queue_list_count",
    "cascade_queue_list_get",
    "cascade_queue_list_free",
    "cascade_document_free",
    "cascade_text_free",
    "cascade_json_create_int64",
    "cascade_json_add_int64",
    "cascade_json_get_int64",
    "cascade_spec_create",
    "cascade_spec_create_cron",
    "cascade_spec_free",
    "cascade_spec_text",
    "cascade_spec_describe",
    "cascade_spec_next",
    "cascade_spec_previous",
    "cascade_spec_list",
    "cascade_spec_matches",
    "cascade_spec_explain",
    "cascade_node_cascade_id",
    "cascade_node_function_id",
    "cascade_node_attempt",
    "cascade_node_name",
    "cascade_node_user_id",
    "cascade_node_request_id",
    "cascade_node_input_text",
    "cascade_node_spawned",
};

#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))
#define OTHER_COUNT (sizeof(others) / sizeof(others[0]))

/* How many are not refused as they should be. */
static int
try_every_call(const every_handle *handles)
{
    int bad = 0;

    for (size_t i = 0; i < CALL_COUNT; i++) {
        cascade_err err = CASCADE_OK;

        silent = false;
        err = calls[i].call(handles);
        if (err == CASCADE_ERR_MISUSE &&
            (silent || strstr(cascade_errmsg(), "process") != NULL))
            continue;
        dprintf(STDERR_FILENO, "%s in a child: %s, %s\n", calls[i].name,
                cascade_err_name(err), cascade_errmsg());
        bad++;
    }
    return bad;
}

static bool
is_listed(const char *name)
{
    for (size_t i = 0; i < CALL_COUNT; i++)
        if (strcmp(calls[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < OTHER_COUNT; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

/* The name that is declared at `at`, behind the word CASCADE_API: the first
 * cascade_... that a parenthesis follows. False for the definition of the word.
 */
static bool
read_name(const char *at, char *name, size_t size)
{
    for (at = strstr(at, "cascade_"); at != NULL;
         at = strstr(at + 1, "cascade_")) {
        size_t len = 0;

        while (isalnum((unsigned char)at[len]) || at[len] == '_')
            len++;
        if (at[len] != '(' || len >= size)
            continue;
        memcpy(name, at, len);
        name[len] = '\0';
        return true;
    }
    return false;
}

static size_t
check_header(const char *path)
{
    char *text = calloc(1, 1024 * 1024);
    FILE *file = fopen(path, "r");
    size_t count = 0;

    assert_true(text != NULL && file != NULL);
    assert_in_range(fread(text, 1, 1024 * 1024 - 1, file), 1, 1024 * 1024 - 2);
    for (const char *at = strstr(text, "\nCASCADE_API "); at != NULL;
         at = strstr(at + 1, "\nCASCADE_API ")) {
        char name[128];

        assert_true(
            read_name(at + strlen("\nCASCADE_API"), name, sizeof(name)));
        if (!is_listed(name))
            fail_msg("%s is not in every_call.h", name);
        count++;
    }
    (void)fclose(file);
    free(text);
    return count;
}

/* What is declared is what the library exports: tests/packaging/symbols.sh. */
static void
every_declared_call_is_listed(void **state)
{
    const char *source = getenv("CASCADE_SOURCE_DIR");
    char path[1024];
    size_t count = 0;
    DIR *folder = NULL;

    (void)state;
    assert_non_null(source);
    snprintf(path, sizeof(path), "%s/include/cascade", source);
    folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *at = readdir(folder); at != NULL;
         at = readdir(folder)) {
        const char *end = strrchr(at->d_name, '.');

        if (end == NULL || strcmp(end, ".h") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/include/cascade/%s", source,
                 at->d_name);
        count += check_header(path);
    }
    (void)closedir(folder);
    assert_int_equal(count, CALL_COUNT + OTHER_COUNT);
}

/* ---- A node that forks --------------------------------------------------- */

typedef struct forking forking;
struct forking {
    test_db *db;
    cascade_mode mode;
    every_handle handles;
    cascade_engine *engine;
    int (*child)(const forking *f); /* its exit status */
    bool in_step;
    bool returns; /* the child returns from the function; else it ends */
    bool exits;   /* by exit(), else _exit() */
    pid_t parent;
    int status;
    int forks;
};

static void
end_child(const forking *f, int status)
{
    if (f->exits)
        exit(status);
    _exit(status);
}

/* False in a child that is to return. */
static bool
do_fork(forking *f)
{
    pid_t pid = -1;

    (void)fflush(NULL);
    pid = fork();
    expect(pid >= 0);
    if (pid == 0) {
        (void)alarm(CHILD_LIMIT_S);
        if (f->returns)
            return false;
        end_child(f, f->child(f));
    }
    f->forks++;
    expect(waitpid(pid, &f->status, 0) == pid);
    return true;
}

static cascade_err
fork_in_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    (void)do_fork(arg);
    return CASCADE_OK;
}

static cascade_err
fork_in_node(cascade_node *node, void *user)
{
    forking *f = user;

    f->handles.node = node;
    if (f->in_step)
        return cascade_node_step(node, "fork", fork_in_step, f, NULL, NULL);
    (void)do_fork(f);
    return CASCADE_OK;
}

/* Until the cascade has ended. In a child, where its poll is refused, ends. */
static void
run_to_end(forking *f, const cascade_uuid *id)
{
    db_ends ends = {f->handles.store, id, 1, 0};

    while (f->mode != CASCADE_MODE_THREADS && !db_all_ended(&ends)) {
        cascade_err err = cascade_engine_poll(f->engine, 0, NULL);

        if (getpid() != f->parent)
            end_child(f, err == CASCADE_ERR_MISUSE ? 0 : 1);
        assert_ok(err);
    }
    assert_true(stores_until(db_all_ended, &ends));
}

static void
forking_init(forking *f, test_db *db, cascade_mode mode)
{
    cascade_engine_options options = {
        .size = sizeof(options), .mode = mode, .worker_count = 2};

    f->db = db;
    f->mode = mode;
    f->parent = getpid();
    f->handles.store = db_store(db);
    f->engine = db_engine(db, f->handles.store, &options);
    f->handles.engine = f->engine;
    assert_ok(
        cascade_engine_register(f->engine, "fork", fork_in_node, f, NULL));
    assert_ok(
        cascade_engine_register(f->engine, "pass", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(f->engine));
    assert_ok(cascade_cursor_open(f->handles.store, NULL, &f->handles.cursor));
}

/* Nobody has told the engine to stop, and what it is given is there and ends.
 */
static void
check_parent(forking *f)
{
    const cascade_news *news = NULL;
    cascade_info *info = NULL;
    cascade_err err = CASCADE_OK;

    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_wait(f->engine, 0));
    for (int i = 0; i < STARTS; i++) {
        cascade_started started = {.existed = true};

        assert_ok(
            cascade_start(f->handles.store, "pass", NULL, NULL, &started));
        assert_false(started.existed);
        assert_ok(cascade_get(f->handles.store, &started.id, &info));
        cascade_info_free(info);
        run_to_end(f, &started.id);
    }
    err = cascade_cursor_next(f->handles.cursor, 0, &news);
    assert_true(err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT);
}

static void
forking_fini(forking *f)
{
    cascade_cursor_close(f->handles.cursor);
    db_close_engine(f->db, f->engine);
    db_close_store(f->db, f->handles.store);
}

static const cascade_mode modes[] = {CASCADE_MODE_THREADS, CASCADE_MODE_LOOP,
                                     CASCADE_MODE_INLINE};

/* Runs the node that forks once in every mode. */
static void
fork_in_every_mode(test_db *db, const forking *how)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        static forking f; /* outlives a failed assertion */

        f = *how;
        forking_init(&f, db, modes[i]);
        f.handles.id = db_start(f.handles.store, "fork");
        run_to_end(&f, &f.handles.id);
        assert_int_equal(f.status, 0);
        assert_int_equal(f.forks, 1);
        db_await(f.handles.store, &f.handles.id, CASCADE_COMPLETED);
        check_parent(&f);
        forking_fini(&f);
    }
}

static int
child_tries_every_call(const forking *f)
{
    return try_every_call(&f->handles) != 0;
}

static void
a_child_is_refused_every_call(test_db *db)
{
    fork_in_every_mode(db, &(forking){.child = child_tries_every_call});
}

static void
a_child_that_exits_leaves_its_parent_alone(test_db *db)
{
    fork_in_every_mode(
        db, &(forking){.child = child_tries_every_call, .exits = true});
}

static void
a_child_that_returns_from_a_node_records_nothing(test_db *db)
{
    fork_in_every_mode(db, &(forking){.returns = true});
}

static void
a_child_that_returns_from_a_step_records_nothing(test_db *db)
{
    fork_in_every_mode(db, &(forking){.returns = true, .in_step = true});
}

/* ---- A store of its own -------------------------------------------------- */

static cascade_err
live_alone(cascade_store *store)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    cascade_engine *engine = NULL;
    cascade_started started = {.existed = false};
    cascade_status status = CASCADE_RUNNING;
    cascade_err err = cascade_engine_open(store, &options, &engine);

    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "alone", stores_nothing, NULL,
                                      NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = cascade_start(store, "alone", NULL, NULL, &started);
    while (err == CASCADE_OK && status == CASCADE_RUNNING) {
        cascade_info *info = NULL;

        err = cascade_engine_poll(engine, 0, NULL);
        if (err == CASCADE_OK)
            err = cascade_get(store, &started.id, &info);
        if (err == CASCADE_OK)
            status = info->status;
        cascade_info_free(info);
    }
    return err == CASCADE_OK ? cascade_engine_close(engine) : err;
}

static cascade_err
open_own(const forking *f, const char *url, cascade_store **store)
{
    cascade_store_options options = db_store_options(f->db);

    options.random = NULL; /* the parent's draws the same */
    return cascade_store_open(url, &options, store);
}

/* A file that the parent has open is refused, as SQLite would damage it. */
static bool
is_refused(const forking *f)
{
    cascade_store *store = NULL;
    cascade_err err = open_own(f, f->db->url, &store);

    return err == CASCADE_ERR_MISUSE &&
           strstr(cascade_errmsg(), "close the store before the fork") != NULL;
}

static int
child_lives_alone(const forking *f)
{
    bool sqlite = strcmp(f->db->backend->name, "sqlite") == 0;
    char url[512];
    cascade_store *store = NULL;
    cascade_info *info = NULL;
    cascade_err err = CASCADE_OK;

    snprintf(url, sizeof(url), "sqlite:%s/%ld.db", f->db->folder,
             (long)getpid());
    if (sqlite && !is_refused(f))
        return 2;
    err = open_own(f, sqlite ? url : f->db->url, &store);
    /* What a memory store of this name holds is each process's own. */
    if (err == CASCADE_OK && strcmp(f->db->backend->name, "memory") == 0 &&
        cascade_get(store, &f->handles.id, &info) != CASCADE_ERR_NOT_FOUND)
        return 3;
    if (err == CASCADE_OK)
        err = live_alone(store);
    if (err == CASCADE_OK)
        err = cascade_store_close(store);
    if (err == CASCADE_OK)
        return 0;
    dprintf(STDERR_FILENO, "a store of the child's own: %s\n",
            cascade_errmsg());
    return 1;
}

static void
a_child_may_open_a_store_of_its_own(test_db *db)
{
    fork_in_every_mode(db, &(forking){.child = child_lives_alone});
}

/* ---- Locks that other threads hold --------------------------------------- */

typedef struct busy {
    char folder[256];
    _Atomic bool over;
    pthread_t threads[2];
} busy;

static void
open_and_close(const char *url)
{
    cascade_store *store = NULL;

    expect(cascade_store_open(url, NULL, &store) == CASCADE_OK);
    expect(cascade_store_close(store) == CASCADE_OK);
}

static void *
keep_busy(void *context)
{
    busy *b = context;
    char url[512];

    snprintf(url, sizeof(url), "sqlite:%s/busy.db", b->folder);
    while (!atomic_load(&b->over)) {
        open_and_close(url);
        for (int i = 0; i < 100; i++)
            open_and_close("memory:busy");
    }
    return NULL;
}

static int
child_opens(const forking *f)
{
    char url[512];

    snprintf(url, sizeof(url), "sqlite:%s/opened.db", f->db->folder);
    open_and_close(url);
    open_and_close("memory:busy");
    return 0;
}

static void
a_child_waits_for_no_lock_of_another_thread(test_db *db)
{
    forking f = {.db = db, .child = child_opens};
    busy b = {.over = false};

    snprintf(b.folder, sizeof(b.folder), "%s", db->folder);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&b.threads[i], NULL, keep_busy, &b), 0);
    for (int i = 0; i < FORKS && f.status == 0; i++)
        (void)do_fork(&f);
    atomic_store(&b.over, true);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(b.threads[i], NULL), 0);
    assert_int_equal(f.status, 0);
}

/* ---- Locks of the sidecar ------------------------------------------------ */

/* Says by the one pipe that it lives, and lives until the other is closed. */
static pid_t
fork_one_that_stays(int *end)
{
    int ready[2];
    int stay[2];
    char byte = 0;
    pid_t pid = -1;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(stay), 0);
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(CHILD_LIMIT_S);
        (void)close(stay[1]);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        _exit(read(stay[0], &byte, 1) == 0 ? 0 : 1);
    }
    (void)close(stay[0]);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    *end = stay[1];
    return pid;
}

/* It has the last handle's lock when it is closed. */
static void
a_child_that_lives_on_keeps_no_lock(test_db *db)
{
    cascade_store *store = db_store(db);
    int end = -1;
    int status = -1;
    pid_t pid = fork_one_that_stays(&end);

    db_close_store(db, store);
    store = db_store(db);
    (void)db_start(store, "pass");
    db_close_store(db, store);
    (void)close(end);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest lists[] = {
        cmocka_unit_test(every_declared_call_is_listed),
    };
    static const stores_test tests[] = {
        {"a_child_is_refused_every_call", a_child_is_refused_every_call,
         STORES_ALL},
        {"a_child_that_exits_leaves_its_parent_alone",
         a_child_that_exits_leaves_its_parent_alone, STORES_ALL},
        {"a_child_that_returns_from_a_node_records_nothing",
         a_child_that_returns_from_a_node_records_nothing, STORES_ALL},
        {"a_child_that_returns_from_a_step_records_nothing",
         a_child_that_returns_from_a_step_records_nothing, STORES_ALL},
        {"a_child_may_open_a_store_of_its_own",
         a_child_may_open_a_store_of_its_own, STORES_ALL},
        {"a_child_waits_for_no_lock_of_another_thread",
         a_child_waits_for_no_lock_of_another_thread, STORES_SQLITE},
        {"a_child_that_lives_on_keeps_no_lock",
         a_child_that_lives_on_keeps_no_lock, STORES_SQLITE},
    };
    int failed = cmocka_run_group_tests(lists, NULL, NULL);

    return failed + stores_run("forked", tests,
                               sizeof(tests) / sizeof(tests[0]), argc, argv);
}
