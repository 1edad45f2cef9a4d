/* SPDX-License-Identifier: MIT
 *
 * The PostgreSQL driver's own pipeline is stopped by standing in for two
 * functions of libpq: the program's definitions of them come before those of
 * the shared library. A thread that is not in an armed commit goes straight
 * through.
 */
#include "process/watch.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "base/uuid.h"
#include "process/check.h"
#include "store/store.h"

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

#define EXECUTED_LIMIT_MS 2000
#define STOPPING_LIMIT_MS 60000
#define PIPELINE_STATEMENTS 4 /* when options.freeze asks: behind the fence */
#define CLOCKS_APART_MS 50    /* the store's and ours, in one lease */

/* Of the process: a driver has no room for more. */
static const cascade_store_driver *real;
static cascade_store_driver watching;
static worker_shared *told;
static atomic_int commits;

/* Whoever writes shares it; who stops apart has it alone. */
static pthread_rwlock_t writing =
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* The incarnation of this process. */
static struct {
    pthread_mutex_t mutex; /* guards the others */
    cascade_uuid id;
    int64_t lease_ms;
    int64_t sent_ms; /* when the last attach or renewal that was answered was */
    bool lost;
} mine = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Of the thread that commits: how many statements are still to be sent before
 * it stops, and whether one has been. */
static _Thread_local int armed;
static _Thread_local bool begun;

/* ---- Standing in for libpq ----------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
/* Whether all that was sent is executed: the server answers a request to flush
 * in its turn. */
static void
await_executed(PGconn *connection)
{
    struct pollfd answered = {.fd = PQsocket(connection), .events = POLLIN};

    PQsendFlushRequest(connection);
    while (PQflush(connection) == 1)
        poll(NULL, 0, 1);
    poll(&answered, 1, EXECUTED_LIMIT_MS);
}

static void
stop_in_pipeline(PGconn *connection)
{
    armed = 0;
    await_executed(connection);
    raise(SIGSTOP);
}

int
PQsendQueryPrepared(PGconn *conn, const char *name, int count,
                    const char *const *values, const int *lengths,
                    const int *formats, int result_format)
{
    static int (*next)(PGconn *, const char *, int, const char *const *,
                       const int *, const int *, int);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "PQsendQueryPrepared");
    if (armed > 0 && --armed == 0)
        stop_in_pipeline(conn);
    begun = true;
    return next(conn, name, count, values, lengths, formats, result_format);
}

int
PQpipelineSync(PGconn *conn)
{
    static int (*next)(PGconn *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "PQpipelineSync");
    if (armed > 0 && begun)
        stop_in_pipeline(conn);
    return next(conn);
}
#endif

/* ---- Stopping ------------------------------------------------------------ */

/* What was asked for, when it is the turn of this commit, or start or message,
 * to stop there. */
static watch_freeze_at
take_asked(bool is_commit)
{
    watch_freeze_at where = atomic_load(&told->freeze);
    bool for_all = where == WATCH_WRITE || where == WATCH_WRITTEN;

    if (where == WATCH_NOWHERE || where == WATCH_STOPPING ||
        (!is_commit && !for_all) || atomic_fetch_sub(&told->behind, 1) > 0 ||
        !atomic_compare_exchange_strong(&told->freeze, &where, WATCH_STOPPING))
        return WATCH_NOWHERE;
    return where;
}

/* Where this commit is to stop: WATCH_NOWHERE, mostly. */
static watch_freeze_at
take_commit(void)
{
    watch_freeze_at where = take_asked(true);
    const char *how = told->options.freeze;

    if (where != WATCH_NOWHERE || how[0] == '\0' ||
        atomic_fetch_add(&commits, 1) != WATCH_FREEZE_AFTER)
        return where;
    told->statements = PIPELINE_STATEMENTS;
    return strcmp(how, "pipeline") == 0 ? WATCH_PIPELINE : WATCH_COMMIT;
}

/* While no other thread of this process writes: on SQLite one that is stopped
 * in that would keep everybody out. */
static void
stop_apart(void)
{
    pthread_rwlock_wrlock(&writing);
    raise(SIGSTOP);
    pthread_rwlock_unlock(&writing);
}

static void
begin_write(watch_freeze_at where)
{
    bool is_own = told->options.freeze[0] != '\0';

    atomic_fetch_add(&told->figures.in_flight, 1);
    if (where == WATCH_APART || (where == WATCH_COMMIT && is_own))
        stop_apart();
    else if (where == WATCH_COMMIT || where == WATCH_WRITE)
        raise(SIGSTOP);
    pthread_rwlock_rdlock(&writing);
    begun = false;
    armed = where == WATCH_PIPELINE ? told->statements : 0;
}

static void
end_write(watch_freeze_at where)
{
    armed = 0;
    pthread_rwlock_unlock(&writing);
    if (where == WATCH_WRITTEN)
        raise(SIGSTOP);
    atomic_fetch_sub(&told->figures.in_flight, 1);
    atomic_fetch_add(&told->figures.writes, 1);
    if (where != WATCH_NOWHERE)
        atomic_store(&told->freeze, WATCH_NOWHERE);
}

/* ---- Incarnations -------------------------------------------------------- */

/* What was sent at `sent_ms` holds it for a lease from then on, at least. */
static void
note_lease(const cascade_uuid *id, int64_t lease_ms, int64_t sent_ms)
{
    pthread_mutex_lock(&mine.mutex);
    if (!csc_uuid_equal(&mine.id, id))
        mine.lost = false;
    mine.id = *id;
    mine.lease_ms = lease_ms;
    mine.sent_ms = sent_ms;
    pthread_mutex_unlock(&mine.mutex);
}

/* What the store has answered to somebody who says that it is his. */
static cascade_err
note_answer(const cascade_uuid *id, cascade_err err)
{
    if (err != CASCADE_ERR_FENCED)
        return err;
    pthread_mutex_lock(&mine.mutex);
    if (csc_uuid_equal(&mine.id, id) && !mine.lost) {
        mine.lost = true;
        atomic_store(&told->figures.attached, 0);
        if (place_now_ms() - mine.sent_ms < mine.lease_ms - CLOCKS_APART_MS)
            atomic_fetch_add(&told->figures.robbed, 1);
        atomic_fetch_add(&told->figures.fenced, 1);
    }
    pthread_mutex_unlock(&mine.mutex);
    return err;
}

static cascade_err
attach(void *self, const cascade_incarnation *incarnation)
{
    int64_t sent_ms = place_now_ms();
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&told->figures.attaches, 1);
    pthread_rwlock_rdlock(&writing);
    err = real->attach(self, incarnation);
    pthread_rwlock_unlock(&writing);
    if (err == CASCADE_OK) {
        note_lease(&incarnation->engine_id, incarnation->lease_ms, sent_ms);
        atomic_store(&told->figures.attached, 1);
    }
    return err;
}

static cascade_err
renew(void *self, const cascade_uuid *engine_id, int64_t lease_ms,
      int64_t *now_ms)
{
    int64_t sent_ms = place_now_ms();
    cascade_err err = CASCADE_OK;

    pthread_rwlock_rdlock(&writing);
    err = real->renew(self, engine_id, lease_ms, now_ms);
    pthread_rwlock_unlock(&writing);
    if (err == CASCADE_OK)
        note_lease(engine_id, lease_ms, sent_ms);
    return note_answer(engine_id, err);
}

static cascade_err
detach(void *self, const cascade_uuid *engine_id)
{
    cascade_err err = CASCADE_OK;

    atomic_store(&told->figures.attached, 0);
    pthread_rwlock_rdlock(&writing);
    err = real->detach(self, engine_id);
    pthread_rwlock_unlock(&writing);
    return err;
}

static cascade_err
load(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
     const cascade_load_sink *sink)
{
    cascade_err err = real->load(self, ids, count, parts, sink);
    bool whole = (parts & CASCADE_LOAD_EXECUTIONS) != 0;

    for (size_t i = 0; i < count && whole; i++)
        if (csc_uuid_equal(&ids[i], &told->options.bomb))
            raise(SIGKILL);
    return err;
}

static cascade_err
engines(void *self, cascade_engine_sink sink, void *context, bool *orphans)
{
    cascade_err err = real->engines(self, sink, context, orphans);

    atomic_fetch_add(&told->figures.looks, 1);
    return err;
}

static cascade_err
take_from_dead(void *self, const cascade_uuid *dead, size_t dead_count,
               size_t limit, size_t *freed)
{
    cascade_err err = CASCADE_OK;

    pthread_rwlock_rdlock(&writing);
    err = real->remove(self, dead, dead_count, limit, freed);
    pthread_rwlock_unlock(&writing);
    if (err != CASCADE_OK || *freed == 0)
        return err;
    if (told->figures.freed == 0)
        told->figures.freed_at = told->figures.rounds;
    atomic_fetch_add(&told->figures.freed, *freed);
    return err;
}

static cascade_err
claim(void *self, const cascade_claim *wanted, cascade_claimed *claimed,
      cascade_claim_result *result)
{
    cascade_err err = CASCADE_OK;

    pthread_rwlock_rdlock(&writing);
    err = real->claim(self, wanted, claimed, result);
    pthread_rwlock_unlock(&writing);
    return note_answer(&wanted->engine_id, err);
}

static cascade_err
rest(void *self, int wake_fd, int64_t timeout_ms, cascade_waited *result)
{
    atomic_fetch_add(&told->figures.rounds, 1);
    return real->wait(self, wake_fd, timeout_ms, result);
}

/* ---- Commits and starts -------------------------------------------------- */

static cascade_err
commit(void *self, const cascade_batch *batch, bool *existed)
{
    watch_freeze_at where = take_commit();
    cascade_err err = CASCADE_OK;

    begin_write(where);
    err = real->commit(self, batch, existed);
    end_write(where);
    return note_answer(&batch->engine_id, err);
}

static cascade_err
submit(void *self, const cascade_submission *submission)
{
    watch_freeze_at where = take_asked(false);
    cascade_err err = CASCADE_OK;

    begin_write(where);
    err = real->submit(self, submission);
    end_write(where);
    return err;
}

const cascade_store_driver *
watch_driver(worker_shared *shared)
{
    if (csc_store_driver_find(shared->place.url, &real) != CASCADE_OK)
        return NULL;
    told = shared;
    watching = *real;
    watching.attach = attach;
    watching.renew = renew;
    watching.detach = detach;
    watching.load = load;
    watching.engines = engines;
    watching.remove = take_from_dead;
    watching.claim = claim;
    watching.commit = commit;
    watching.submit = submit;
    watching.wait = rest;
    return &watching;
}

/* ---- The other side ------------------------------------------------------ */

/* One that has ended is left to be reaped. */
bool
watch_has_stopped(const test_worker *worker)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)worker->pid, &info, WSTOPPED | WNOHANG) == 0 &&
           info.si_pid == worker->pid;
}

typedef struct freezing {
    test_worker *worker;
    bool stopped;
} freezing;

/* Stopped, or past the commit in which it would have. */
static bool
is_decided(void *context)
{
    freezing *it = context;

    it->stopped = watch_has_stopped(it->worker);
    return it->stopped ||
           atomic_load(&it->worker->shared->freeze) == WATCH_NOWHERE;
}

void
watch_arm(test_worker *worker, watch_freeze_at where, int behind)
{
    worker->shared->statements = PIPELINE_STATEMENTS;
    atomic_store(&worker->shared->behind, behind);
    atomic_store(&worker->shared->freeze, where);
}

bool
watch_disarm(test_worker *worker)
{
    watch_freeze_at where = atomic_load(&worker->shared->freeze);

    return where != WATCH_STOPPING &&
           atomic_compare_exchange_strong(&worker->shared->freeze, &where,
                                          WATCH_NOWHERE);
}

bool
watch_freeze(test_worker *worker, watch_freeze_at where, int statements,
             int64_t limit_ms)
{
    freezing it = {.worker = worker};

    watch_arm(worker, WATCH_NOWHERE, 0);
    worker->shared->statements = statements;
    atomic_store(&worker->shared->freeze, where);
    if (!place_wait(is_decided, &it, limit_ms) && !watch_disarm(worker) &&
        !place_wait(is_decided, &it, STOPPING_LIMIT_MS))
        fail_msg("a worker about to stop does not");
    return it.stopped || watch_has_stopped(worker);
}
