/* SPDX-License-Identifier: MIT
 *
 * What is done in pieces, by processes that are killed between two of them (B1,
 * S41): the deletion of a large cascade, also of a run that leads on (S83), its
 * cancellation, a retry of it, the end of a family, a load in portions. The
 * next process goes on; at the end all of it is done, what is left is sound,
 * and small cascades went on beside it.
 *
 * A worker dies by itself, at a move of the store that the test has told:
 * before it, or behind it, when nobody was told that it is done.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "process/check.h"
#include "process/place.h"
#include "process/remains.h"
#include "store/store.h"
#include "support/sound.h"
#include "support/wrap_store.h"

#define MANY 3000     /* executions */
#define CHILDREN 200  /* of a family */
#define DEATHS_MIN 3  /* before it is done */
#define DEATHS_LOAD 4 /* of a load nothing is left by a life */
#define DEATHS_MAX 20 /* that is enough: the next one lives on */
#define PIECES 4      /* of one life, at most */
#define LIVES_MAX (DEATHS_MAX + 8)
#define HOUR_MS 3600000
#define LIMIT_MS 120000

/* What a worker is told; both sides have it mapped. */
typedef struct orders {
    test_place place;
    cascade_uuid giant;
    _Atomic int move; /* it dies at such a one, -1: at none, */
    _Atomic int left; /* when so many more have come */
    _Atomic bool behind;
} orders;

typedef struct play {
    orders *orders;
    char path[PLACE_PATH]; /* theirs */
    cascade_store *store;
    cascade_uuid bystander; /* an incarnation that does nothing */
    pid_t worker;
    size_t deaths;
    cascade_uuid small[LIVES_MAX];
    size_t lives;
    bool (*done)(const struct play *p);
} play;

/* ---- The worker --------------------------------------------------------- */

static cascade_err
later(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
giant(cascade_node *node, void *user)
{
    const cascade_spawn_options hour = {.size = sizeof(hour),
                                        .delay_ms = HOUR_MS};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < MANY && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "later", NULL, &hour);
    return err == CASCADE_OK ? cascade_node_spawn(node, "wait", NULL, NULL)
                             : err;
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static cascade_err
chain(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_continue_as_new(node, "chain", NULL)
                             : err;
}

static cascade_err
family(cascade_node *node, void *user)
{
    const cascade_child_options hour = {.size = sizeof(hour),
                                        .delay_ms = HOUR_MS};
    cJSON *inputs[CHILDREN] = {NULL};
    cascade_uuid ids[CHILDREN];
    cascade_err err = CASCADE_OK;

    (void)user;
    for (size_t i = 0; i < CHILDREN; i++)
        inputs[i] = cJSON_CreateObject();
    err = cascade_node_start_children(node, "c", "later", inputs, CHILDREN,
                                      &hour, ids);
    return err == CASCADE_OK ? cascade_node_await(node, "go", -1, NULL) : err;
}

/* A commit is a piece of the giant's only. */
static bool
is_piece(const orders *o, const wrap_call *call)
{
    if ((int)call->move != o->move)
        return false;
    if (call->move != WRAP_COMMIT)
        return true;
    for (size_t i = 0; i < call->batch->change_count; i++)
        if (csc_uuid_equal(&call->batch->changes[i].cascade.id, &o->giant))
            return true;
    return false;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    orders *o = context;

    if (is_piece(o, call) && atomic_fetch_sub(&o->left, 1) == 1 && !o->behind)
        (void)raise(SIGKILL);
    return CASCADE_OK;
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    orders *o = context;

    if (is_piece(o, call) && o->left <= 0 && o->behind)
        (void)raise(SIGKILL);
    return answer;
}

static orders *
map_orders(const char *path, int flags)
{
    int fd = open(path, O_RDWR | flags, 0600);
    void *mapped = NULL;

    if (fd < 0 || ftruncate(fd, sizeof(orders)) != 0)
        return NULL;
    mapped =
        mmap(NULL, sizeof(orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return mapped != MAP_FAILED ? mapped : NULL;
}

static cascade_err
register_all(cascade_engine *engine)
{
    static const struct {
        const char *name;
        cascade_node_fn fn;
    } nodes[] = {{"giant", giant},
                 {"family", family},
                 {"chain", chain},
                 {"later", later},
                 {"wait", wait_for_signal}};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (err == CASCADE_OK)
            err = cascade_engine_register(engine, nodes[i].name, nodes[i].fn,
                                          NULL, NULL);
    return err;
}

/* Runs until it is killed. */
static int
worker_main(const char *path)
{
    orders *o = map_orders(path, 0);
    wrap_store *wrap = o != NULL ? wrap_store_create(o->place.url) : NULL;
    const cascade_store_options there = {
        .size = sizeof(there),
        .schema =
            o == NULL || o->place.schema[0] == '\0' ? NULL : o->place.schema};
    const cascade_engine_options options = {
        .size = sizeof(options),
        .worker_count = 2,
        .lease_ms = 2000,
        .poll_interval_ms = 50,
        .park_after_ms = 1, /* the giant is loaded for each message */
        .poison_limit = -1,
        .held_bytes_max = (size_t)1024 * 1024};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;

    if (wrap == NULL)
        return 1;
    wrap->context = o;
    wrap->before = before;
    wrap->after = after;
    if (cascade_store_open_driver(&wrap->driver, wrap->url, &there, &store) !=
            CASCADE_OK ||
        cascade_engine_open(store, &options, &engine) != CASCADE_OK ||
        register_all(engine) != CASCADE_OK ||
        cascade_engine_start(engine) != CASCADE_OK) {
        fprintf(stderr, "worker: %s\n", cascade_errmsg());
        return 1;
    }
    for (;;)
        pause();
}

/* ---- Lives -------------------------------------------------------------- */

/* By turns it dies before such a move and behind one. A server erases much in
 * one piece, so it is the next one there. */
static void
give_orders(play *p, int move)
{
    int pieces = move == WRAP_ERASE ? 1 : 1 + (int)place_random(PIECES);

    p->orders->left = pieces;
    p->orders->behind = p->deaths % 2 == 1;
    p->orders->move = move;
}

static cascade_uuid
start(cascade_store *store, const char *node)
{
    cascade_started started;

    assert_ok(cascade_start(store, node, NULL, NULL, &started));
    return started.id;
}

/* A worker, and a small cascade that somebody is to run. */
static void
begin_life(play *p)
{
    char verb[] = "worker";
    char *arguments[] = {verb, verb, p->path, NULL};
    pid_t parent = getpid();

    assert_true(p->lives < LIVES_MAX);
    p->small[p->lives++] = start(p->store, "later");
    fflush(NULL);
    p->worker = fork();
    if (p->worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execv("/proc/self/exe", arguments);
        _exit(127);
    }
    assert_true(p->worker > 0);
}

/* Whether it has died meanwhile. */
static bool
has_died(play *p)
{
    int status = 0;

    if (waitpid(p->worker, &status, WNOHANG) == 0)
        return false;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    p->deaths++;
    return true;
}

/* Where no engine is alive a call of ours carries its command out by itself;
 * and one whose worker stands still for longer than its lease is not. */
static void
attach_bystander(play *p)
{
    cascade_incarnation row = {.host = "elsewhere",
                               .pid = 1,
                               .process_start = 1,
                               .lease_ms = HOUR_MS,
                               .lane_count = 1};

    row.engine_id =
        csc_uuid_v7(csc_clock_wall_ms(&csc_clock_system), &p->store->random);
    p->bystander = row.engine_id;
    assert_ok(p->store->driver->attach(p->store->self, &row));
}

static play *
play_open(place_kind kind)
{
    static play p;
    test_place place;

    p = (play){.worker = -1};
    place_create(&place, kind);
    (void)place_path(&place, "orders", p.path);
    p.orders = map_orders(p.path, O_CREAT);
    assert_non_null(p.orders);
    p.orders->place = place;
    p.orders->move = -1;
    p.store = place_open(&place);
    attach_bystander(&p);
    return &p;
}

static cascade_status
status_of(const play *p, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_get(p->store, id, &info));
    status = info->status;
    cascade_info_free(info);
    return status;
}

static bool
have_small_ended(const play *p)
{
    for (size_t i = 0; i < p->lives; i++)
        if (status_of(p, &p->small[i]) != CASCADE_COMPLETED)
            return false;
    return true;
}

/* Those who die are followed by others, also the last: it may be about to. */
static bool
has_ended_or_died(void *context)
{
    play *p = context;

    if (p->done(p))
        return true;
    if (!has_died(p))
        return false;
    give_orders(p, p->deaths < DEATHS_MAX ? p->orders->move : -1);
    begin_life(p);
    return true;
}

/* A life may take as long as the machine is busy, so each has all the time. */
static void
wait_done(play *p, bool (*done)(const play *p))
{
    p->done = done;
    while (!done(p))
        assert_true(place_wait(has_ended_or_died, p, LIMIT_MS));
}

static void
play_close(play *p)
{
    test_place place = p->orders->place;
    size_t freed = 0;

    p->orders->move = -1;
    wait_done(p, have_small_ended);
    assert_int_equal(kill(p->worker, SIGKILL), 0);
    assert_int_equal(waitpid(p->worker, NULL, 0), p->worker);
    assert_ok(
        p->store->driver->remove(p->store->self, &p->bystander, 1, 1, &freed));
    assert_true(sound_all(p->store));
    assert_ok(cascade_store_close(p->store));
    munmap(p->orders, sizeof(*p->orders));
    place_destroy(&place);
}

/* ---- Plays -------------------------------------------------------------- */

/* Its executions of which `what` holds. */
static int64_t
count_of_giant(const play *p, const char *what)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char table[160];

    (void)snprintf(table, sizeof(table),
                   "node_executions WHERE cascade_id = '%s' AND %s",
                   cascade_uuid_format(&p->orders->giant, id), what);
    return remains_rows(&p->orders->place, table);
}

/* It, what it has spawned, and that one's wait. */
static bool
is_grown(void *context)
{
    return count_of_giant(context, "1 = 1") == MANY + 3;
}

static int64_t
count_running(const play *p)
{
    return remains_rows(&p->orders->place, "cascades WHERE status = 'RUNNING'");
}

static bool
has_children(void *context)
{
    return count_running(context) == CHILDREN + 1;
}

/* The worker has made it, and is about to die at such a move. */
static play *
open_with(place_kind kind, const char *node, bool (*grown)(void *context),
          int move)
{
    play *p = play_open(kind);

    begin_life(p);
    p->orders->giant = start(p->store, node);
    assert_true(place_wait(grown, p, LIMIT_MS));
    wait_done(p, have_small_ended);
    give_orders(p, move);
    return p;
}

static void
play_on(play *p, bool (*done)(const play *p), size_t deaths_min)
{
    wait_done(p, done);
    if (p->deaths < deaths_min)
        fail_msg("%zu deaths", p->deaths);
}

static bool
is_erased(const play *p)
{
    return count_of_giant(p, "1 = 1") == 0;
}

static void
a_deletion(void **state)
{
    const cascade_request_options now = {.size = sizeof(now)};
    play *p = open_with(place_of(state), "giant", is_grown, WRAP_ERASE);
    cascade_info *info = NULL;

    assert_ok(cascade_delete(p->store, &p->orders->giant, &now));
    play_on(p, is_erased, DEATHS_MIN);
    assert_int_equal(cascade_get(p->store, &p->orders->giant, &info),
                     CASCADE_ERR_NOT_FOUND);
    play_close(p);
}

#define NEWS 2500 /* that the first run receives */

static void
send_news(const play *p)
{
    char request_id[32];
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = request_id};

    for (int i = 0; i < NEWS; i++) {
        (void)snprintf(request_id, sizeof(request_id), "news-%d", i);
        assert_ok(cascade_signal(p->store, &p->orders->giant, "news", NULL,
                                 &options));
    }
}

static bool
has_news(void *context)
{
    return count_of_giant(context, "node_name = 'cascade.signal:news'") == NEWS;
}

static bool
has_continued(void *context)
{
    const play *p = context;

    return status_of(p, &p->orders->giant) == CASCADE_COMPLETED;
}

/* What the first run has received leads to the next one. */
static void
expect_kept(const play *p)
{
    char root[CASCADE_UUID_TEXT_SIZE];
    char path[128];
    const char *const paths[] = {path};
    cascade_found found;

    (void)cascade_uuid_format(&p->orders->giant, root);
    for (int i = 0; i < NEWS; i++) {
        (void)snprintf(path, sizeof(path), "%s/message/signal/news-%d", root,
                       i);
        assert_ok(
            p->store->driver->chain->find(p->store->self, paths, 1, &found));
        assert_true(csc_uuid_equal(&found.root, &p->orders->giant));
        assert_int_equal(found.run_number, 2);
    }
}

static void
a_deletion_of_a_run_that_leads_on(void **state)
{
    const cascade_request_options now = {.size = sizeof(now)};
    play *p = play_open(place_of(state));

    begin_life(p);
    p->orders->giant = start(p->store, "chain");
    send_news(p);
    assert_true(place_wait(has_news, p, LIMIT_MS));
    assert_ok(cascade_signal(p->store, &p->orders->giant, "go", NULL, NULL));
    assert_true(place_wait(has_continued, p, LIMIT_MS));
    wait_done(p, have_small_ended);
    give_orders(p, WRAP_ERASE);
    assert_ok(cascade_delete(p->store, &p->orders->giant, &now));
    play_on(p, is_erased, DEATHS_MIN);
    expect_kept(p);
    play_close(p);
}

static bool
has_ended(const play *p)
{
    return status_of(p, &p->orders->giant) == CASCADE_ERROR;
}

/* Each execution fails as cancelled, once. */
static void
a_cancellation(void **state)
{
    const cascade_request_options now = {.size = sizeof(now)};
    play *p = open_with(place_of(state), "giant", is_grown, WRAP_COMMIT);

    assert_ok(cascade_cancel(p->store, &p->orders->giant, &now));
    play_on(p, has_ended, DEATHS_MIN);
    /* With the node that waits, its wait, and the cancellation. */
    assert_int_equal(count_of_giant(p, "status = 'FAILED'"), MANY + 3);
    assert_int_equal(count_of_giant(p, "status = 'RUNNING'"), 0);
    play_close(p);
}

static bool
has_ended_at_all(void *context)
{
    return has_ended(context);
}

/* All of it is RUNNING once more, with the node that waits and its wait, and
 * what was RUNNING before is closed. */
static bool
runs_again(const play *p)
{
    return count_of_giant(p, "status = 'RUNNING'") == MANY + 2 &&
           count_of_giant(p, "error LIKE 'superseded by %'") == MANY + 2;
}

static void
a_retry(void **state)
{
    const cascade_request_options now = {.size = sizeof(now)};
    play *p = open_with(place_of(state), "giant", is_grown, -1);

    assert_ok(cascade_terminate(p->store, &p->orders->giant, &now));
    assert_true(place_wait(has_ended_at_all, p, LIMIT_MS));
    give_orders(p, WRAP_COMMIT);
    assert_ok(cascade_retry(p->store, &p->orders->giant, &now));
    play_on(p, runs_again, DEATHS_MIN);
    assert_int_equal(
        count_of_giant(p, "node_name = 'later' AND status = 'RUNNING'"), MANY);
    assert_int_equal(count_of_giant(p, "node_name = 'cascade.retry' AND "
                                       "status = 'COMPLETED'"),
                     1);
    play_close(p);
}

/* The children, and the small ones. */
static bool
have_all_ended(const play *p)
{
    return count_running(p) == 0;
}

static void
the_end_of_a_family(void **state)
{
    const cascade_request_options now = {.size = sizeof(now)};
    play *p = open_with(place_of(state), "family", has_children, WRAP_COMMIT);

    assert_ok(cascade_terminate(p->store, &p->orders->giant, &now));
    play_on(p, have_all_ended, 1);
    play_close(p);
}

/* So often that it is loaded in one go then. */
static bool
has_died_enough(const play *p)
{
    if (p->deaths >= DEATHS_LOAD)
        p->orders->move = -1;
    return p->deaths >= DEATHS_LOAD;
}

static bool
has_gone_on(void *context)
{
    return count_of_giant(context,
                          "node_name = 'wait' AND status = 'COMPLETED'") == 1;
}

/* So that it is loaded for the next message. */
static bool
is_free(void *context)
{
    const play *p = context;
    char id[CASCADE_UUID_TEXT_SIZE];
    char table[160];

    (void)snprintf(table, sizeof(table),
                   "cascade_runs WHERE cascade_id = '%s' AND engine_id IS NULL",
                   cascade_uuid_format(&p->orders->giant, id));
    return remains_rows(&p->orders->place, table) == 1;
}

static void
a_load_in_portions(void **state)
{
    play *p = open_with(place_of(state), "giant", is_grown, WRAP_SCAN);

    assert_true(place_wait(is_free, p, LIMIT_MS));
    assert_ok(cascade_signal(p->store, &p->orders->giant, "go", NULL, NULL));
    play_on(p, has_died_enough, DEATHS_LOAD);
    begin_life(p);
    assert_true(place_wait(has_gone_on, p, LIMIT_MS));
    play_close(p);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(a_deletion)                        /**/
    PLACE_EACH(a_deletion_of_a_run_that_leads_on) /**/
    PLACE_EACH(a_cancellation)                    /**/
    PLACE_EACH(a_retry)                           /**/
    PLACE_EACH(the_end_of_a_family)               /**/
    PLACE_EACH(a_load_in_portions)                /**/
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv[2]);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
