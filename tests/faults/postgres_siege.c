/* SPDX-License-Identifier: MIT
 *
 * See postgres_siege.h. Threads other than the test's cannot fail it; they
 * leave a complaint, which the end of the siege reads.
 */
#include "faults/postgres_siege.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "held/engine_state.h"
#include "held/run/drop.h"
#include "store/postgres/internal.h"
#include "support/oracle.h"

#define LONG_LEASE_MS 600000
#define FAST_STARTS 400 /* then they come slowly */
#define TEXT_MAX 2000
#define ROUNDS_TIMES 10

static void
complain(pg_siege *siege, const char *what, const char *text)
{
    pthread_mutex_lock(&siege->mutex);
    if (siege->complaint[0] == '\0')
        snprintf(siege->complaint, sizeof(siege->complaint), "%s: %s", what,
                 text);
    pthread_mutex_unlock(&siege->mutex);
}

/* ---- What is told -------------------------------------------------------- */

static const char *const words[SIEGE_WORDS] = {
    [SIEGE_STRUCK] = "not committed",
    [SIEGE_CLAIM_FAILED] = "claiming failed",
    [SIEGE_ATTACHED_ANEW] = "attaches anew",
    [SIEGE_DEADLOCK] = "40P01",
    [SIEGE_SERIALIZATION] = "40001",
    [SIEGE_LOCK_TIMEOUT] = "55P03",
    [SIEGE_CANCELLED] = "57014",
    [SIEGE_TERMINATED] = "the server ended the connection",
    [SIEGE_NO_ROOM] = "the server has no connection left",
};

/* Nothing of a connection string may be told. */
static void
inspect(pg_siege *siege, const char *text)
{
    const char *const secrets[] = {
        STAGE_SECRET,        "host=",     "user=",       "password=", "dbname=",
        stage.server.folder, "127.0.0.1", stage.database};

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (strstr(text, secrets[i]) != NULL)
            complain(siege, "it tells of the connection", text);
}

static void
on_line(void *context, cascade_log_level level, const char *line)
{
    pg_siege *siege = context;

    (void)level;
    inspect(siege, line);
    for (int i = 0; i < SIEGE_WORDS; i++)
        if (strstr(line, words[i]) != NULL)
            atomic_fetch_add(&siege->words[i], 1);
    if (getenv("CASCADE_TEST_LOG") != NULL)
        dprintf(siege->kept_fds[1], "%s\n", line);
}

size_t
siege_told(pg_siege *siege, siege_word word)
{
    return atomic_load(&siege->words[word]);
}

/* ---- What is printed ----------------------------------------------------- */

static void
catch_output(pg_siege *siege)
{
    char path[PLACE_PATH];

    fflush(NULL);
    siege->caught_fd = open(place_path(&siege->place, "printed", path),
                            O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(siege->caught_fd >= 0);
    for (int i = 0; i < 2; i++) {
        siege->kept_fds[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        dup2(siege->caught_fd, STDOUT_FILENO + i);
    }
}

/* Gives the output back, and tells how much there was of it. */
static size_t
release_output(pg_siege *siege)
{
    char bytes[4096];
    size_t total = 0;
    ssize_t got = 0;

    if (siege->caught_fd < 0)
        return 0;
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(siege->kept_fds[i], STDOUT_FILENO + i);
        close(siege->kept_fds[i]);
    }
    do {
        got = pread(siege->caught_fd, bytes, sizeof(bytes), (off_t)total);
        if (got > 0)
            total += fwrite(bytes, 1, (size_t)got, stderr);
    } while (got > 0);
    close(siege->caught_fd);
    siege->caught_fd = -1;
    return total;
}

/* ---- Starts that fail ---------------------------------------------------- */

static void
on_failed(void *context, const load_start *start,
          const cascade_started *started)
{
    pg_siege *siege = context;
    const char *text = cascade_errmsg();
    bool unknown = start->err == CASCADE_ERR_OUTCOME_UNKNOWN;

    inspect(siege, text);
    if ((!unknown && start->err != CASCADE_ERR_UNAVAILABLE) || text[0] == '\0')
        complain(siege, cascade_err_name(start->err), text);
    if (unknown && !csc_uuid_equal(&start->id, &started->id))
        complain(siege, "the id is not told", text);
    if (unknown)
        atomic_fetch_add(&siege->unknown, 1);
}

/* ---- Counting ------------------------------------------------------------ */

static size_t
count_entries(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static size_t
count_fds(void)
{
    return count_entries("/proc/self/fd");
}

static size_t
count_threads(void)
{
    return count_entries("/proc/self/task");
}

/* A proxy closes its ends when it hears that the others are closed. */
static bool
are_fds_closed(void *context)
{
    const pg_siege *siege = context;

    return count_fds() <= siege->fds;
}

/* The kernel may list a thread a moment longer than it can be joined. */
static bool
are_threads_gone(void *context)
{
    const pg_siege *siege = context;

    return count_threads() <= siege->threads;
}

/* A sanitizer makes a thread of its own beside the first. */
static void *
do_nothing(void *context)
{
    return context;
}

static void
make_first_thread(void)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, do_nothing, NULL));
    pthread_join(thread, NULL);
}

/* ---- Opening ------------------------------------------------------------- */

static void
apply_defaults(siege_options *options)
{
    if (options->conninfo == NULL)
        options->conninfo = stage.conninfo;
    if (options->deadline_ms == 0)
        options->deadline_ms = 1000;
    if (options->lease_ms == 0)
        options->lease_ms = LONG_LEASE_MS;
}

void
siege_open(pg_siege *siege, const siege_options *options)
{
    static int number;
    load_options under = {.outsider = true,
                          .many = true,
                          .name = siege->name,
                          .slow_from = FAST_STARTS,
                          .log = on_line,
                          .on_failed = on_failed,
                          .context = siege};

    memset(siege, 0, sizeof(*siege));
    siege->caught_fd = -1;
    siege->options = *options;
    apply_defaults(&siege->options);
    under.url = siege->options.conninfo;
    under.second_url = siege->options.second_direct ? stage.conninfo : NULL;
    under.deadline_ms = siege->options.deadline_ms;
    under.lease_ms = siege->options.lease_ms;
    pthread_mutex_init(&siege->mutex, NULL);
    snprintf(siege->name, sizeof(siege->name), "siege-%d", number++);
    make_first_thread();
    (void)place_random(2); /* prints the seed */
    place_create_at(&siege->place, stage.conninfo);
    siege->fds = count_fds();
    siege->threads = count_threads();
    catch_output(siege);
    siege->load = load_open(&siege->place, &under);
    load_begin(siege->load);
}

/* ---- While it runs ------------------------------------------------------- */

typedef struct word_wait {
    const atomic_size_t *counter;
    size_t until;
} word_wait;

static bool
is_told(void *context)
{
    const word_wait *it = context;

    return atomic_load(it->counter) >= it->until;
}

void
siege_await_word(pg_siege *siege, siege_word word, size_t count)
{
    word_wait wait = {&siege->words[word], count};

    if (!place_wait(is_told, &wait, SIEGE_LIMIT_MS))
        fail_msg("\"%s\" was told %zu times, not %zu", words[word],
                 siege_told(siege, word), count);
}

bool
siege_is_due(pg_siege *siege, size_t round, size_t rounds, siege_word word)
{
    if (round >= rounds && siege_told(siege, word) > 0)
        return false;
    if (round >= rounds * ROUNDS_TIMES)
        fail_msg("\"%s\" was not told in %zu rounds", words[word], round);
    return true;
}

void
siege_goes_on(pg_siege *siege, size_t executions)
{
    load_await_executions(siege->load, executions);
}

void
siege_mark(pg_siege *siege)
{
    ledger_mark(&siege->load->ledger);
}

/* ---- The end ------------------------------------------------------------- */

static bool
are_idle(void *context)
{
    return load_stats(context).held == 0 &&
           pg_number(&stage.sql, "SELECT count(*) FROM cascades"
                                 " WHERE status = 'RUNNING'") == 0;
}

static int64_t
count_known(const test_load *load)
{
    int64_t count = 0;

    for (int i = 0; i < LOAD_STORES; i++) {
        csc_postgres *store = load->stores[i]->self;

        pthread_mutex_lock(&store->mutex);
        count += (int64_t)store->open_count;
        pthread_mutex_unlock(&store->mutex);
    }
    return count;
}

static int64_t
count_connections(const pg_siege *siege, const char *condition)
{
    return pg_number(&stage.sql,
                     "SELECT count(*) FROM pg_stat_activity"
                     " WHERE application_name = '%s' AND %s",
                     siege->name, condition);
}

static bool
have_settled(void *context)
{
    const pg_siege *siege = context;

    return count_connections(siege, "true") == count_known(siege->load) &&
           count_connections(siege, "state <> 'idle'") == 0;
}

static bool
are_lanes_quiet(const test_load *load)
{
    bool quiet = true;

    for (int i = 0; i < LOAD_ENGINES && quiet; i++) {
        cascade_engine *engine = load->engines[i];

        pthread_mutex_lock(&engine->mutex);
        quiet = csc_drop_quiet(engine);
        pthread_mutex_unlock(&engine->mutex);
    }
    return quiet;
}

/* A start that nobody waits for any more comes from a lane, then through the
 * server, and then it runs: looked for in that order. */
static bool
are_all_quiet(void *context)
{
    const pg_siege *siege = context;

    return are_lanes_quiet(siege->load) && have_settled(context) &&
           are_idle(siege->load);
}

static bool
have_gone(void *context)
{
    return count_connections(context, "true") == 0;
}

/* What ran, as the log of effects has it. */
static void
tell_what_ran(const test_load *load, oracle *judge)
{
    int64_t now_ms = csc_clock_system.wall_ms(NULL);
    char line[2 * FLOW_LINE];
    char path[PLACE_PATH];
    char id[FLOW_LINE];
    int attempt = 0;
    FILE *log = fopen(place_path(load->place, FLOW_LOG, path), "re");

    assert_non_null(log);
    while (fgets(line, sizeof(line), log) != NULL) {
        assert_int_equal(2, sscanf(line, "%127s %d", id, &attempt));
        oracle_ran(judge, id, attempt, now_ms);
    }
    fclose(log);
}

/* The guarantees, from the rows alone. */
static void
judge_rows(test_load *load)
{
    const cascade_store *store = load->ledger.store;
    oracle *judge = oracle_create();
    char text[TEXT_MAX] = "";

    for (size_t i = 0; i < load->begun; i++) {
        const load_start *start = &load->starts[i];

        oracle_started(judge, &start->id, start->err == CASCADE_OK);
        oracle_expect(judge, &start->id, CASCADE_COMPLETED);
    }
    oracle_refuse_strangers(judge);
    tell_what_ran(load, judge);
    if (!oracle_check(judge, store->driver, store->self, ORACLE_ENDED))
        snprintf(text, sizeof(text), "%s", oracle_text(judge));
    oracle_free(judge);
    if (text[0] != '\0')
        fail_msg("%s", text);
}

/* Whether the engines have attached anew as often as they had to, and not when
 * a claim failed that had done nothing. They tell of it a moment after what
 * made them do so. */
static bool
are_attached_anew(void *context)
{
    pg_siege *siege = context;
    size_t fences = load_stats(siege->load).fences;
    size_t anew = siege_told(siege, SIEGE_ATTACHED_ANEW);
    size_t claims = siege_told(siege, SIEGE_CLAIM_FAILED);

    return anew >= fences && anew <= fences + claims;
}

static void
check_engines(pg_siege *siege)
{
    cascade_engine_stats stats;

    if (!place_wait(are_attached_anew, siege, SIEGE_LIMIT_MS))
        fail_msg("%zu claims failed, attached anew %zu times",
                 siege_told(siege, SIEGE_CLAIM_FAILED),
                 siege_told(siege, SIEGE_ATTACHED_ANEW));
    stats = load_stats(siege->load);
    siege->fences = stats.fences;
    assert_int_equal(0, stats.losses);
    assert_int_equal(0, stats.refusals);
    if (siege->options.lease_ms == LONG_LEASE_MS)
        assert_int_equal(0, stats.fences);
}

static void
print_figures(pg_siege *siege)
{
    print_message("%zu strikes; %zu batches struck, %zu claims failed, %zu "
                  "fences, attached anew %zu times; %zu starts failed, %zu of "
                  "them unknown\n",
                  siege->strikes, siege_told(siege, SIEGE_STRUCK),
                  siege_told(siege, SIEGE_CLAIM_FAILED), siege->fences,
                  siege_told(siege, SIEGE_ATTACHED_ANEW),
                  (size_t)siege->load->failed, (size_t)siege->unknown);
}

static void
check_quiet(pg_siege *siege)
{
    if (!place_wait(are_idle, siege->load, SIEGE_LIMIT_MS))
        fail_msg("not all has ended");
    if (!place_wait(are_all_quiet, siege, SIEGE_LIMIT_MS))
        fail_msg("the server has %lld connections, the stores know of %lld",
                 (long long)count_connections(siege, "true"),
                 (long long)count_known(siege->load));
    check_engines(siege);
    load_stop(siege->load);
    if (!place_wait(have_gone, siege, SIEGE_LIMIT_MS))
        fail_msg("connections are left on the server");
    if (release_output(siege) > 0)
        fail_msg("something was printed");
    if (siege->complaint[0] != '\0')
        fail_msg("%s", siege->complaint);
}

void
siege_end(pg_siege *siege)
{
    load_end(siege->load);
    check_quiet(siege);
    print_figures(siege);
    load_check(siege->load);
    judge_rows(siege->load);
    load_close(siege->load);
    siege->load = NULL;
    if (!place_wait(are_fds_closed, siege, SIEGE_LIMIT_MS))
        fail_msg("%zu descriptors are left", count_fds() - siege->fds);
    if (!place_wait(are_threads_gone, siege, SIEGE_LIMIT_MS))
        fail_msg("%zu threads are left", count_threads() - siege->threads);
    place_destroy(&siege->place);
    siege->place.folder[0] = '\0';
}

void
siege_abandon(pg_siege *siege)
{
    test_load *load = siege->load;

    if (siege->place.folder[0] == '\0')
        return;
    (void)release_output(siege);
    PQclear(PQexec(stage.sql.admin, "ROLLBACK"));
    if (load != NULL)
        load_end(load);
    for (int i = 0; load != NULL && i < LOAD_STORES; i++) {
        if (i == LOAD_ENGINES ||
            cascade_engine_close(load->engines[i]) == CASCADE_OK)
            (void)cascade_store_close(load->stores[i]);
    }
    place_destroy(&siege->place);
    siege->place.folder[0] = '\0';
}
