/* SPDX-License-Identifier: MIT
 *
 * The nodes of the mixed run; see mix.h.
 *
 *   root ---> 2-5 of graph, line, flaky, late, careless, replaced (by flaky)
 *     |         ---> join after all
 *     |                                            \
 *     +--> doomed (in one cascade of MIX_DOOMED)    +--> half: after some
 *                                                   +--> picky: the first few,
 *                                                        those that end well
 */
#include "engine/support/mix.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- What is known of executions ---------------------------------------- */

#define MARKS (1u << 20)

/* Hash of a path -> hash of what was seen; open addressing. */
typedef struct mark {
    uint64_t key; /* 0: empty */
    uint64_t seen;
    bool recorded;
} mark;

static mark *marks;
static size_t mark_count;
static pthread_mutex_t marks_mutex = PTHREAD_MUTEX_INITIALIZER;

void
mix_reset(void)
{
    pthread_mutex_lock(&marks_mutex);
    free(marks);
    marks = calloc(MARKS, sizeof(*marks));
    mark_count = 0;
    pthread_mutex_unlock(&marks_mutex);
    assert_non_null(marks);
}

/* The mark of a path, made when missing. Locked. */
static mark *
find_mark(const char *path)
{
    uint64_t key = stores_hash(path, 1) | 1;
    size_t at = (size_t)key & (MARKS - 1);

    while (marks[at].key != 0 && marks[at].key != key)
        at = (at + 1) & (MARKS - 1);
    if (marks[at].key == 0 && ++mark_count > MARKS / 2) {
        fprintf(stderr, "the table of marks is too small\n");
        exit(1);
    }
    marks[at].key = key;
    return &marks[at];
}

void
mix_note_recorded(const char *path)
{
    pthread_mutex_lock(&marks_mutex);
    find_mark(path)->recorded = true;
    pthread_mutex_unlock(&marks_mutex);
}

bool
mix_was_recorded(const char *path)
{
    bool recorded = false;

    pthread_mutex_lock(&marks_mutex);
    recorded = find_mark(path)->recorded;
    pthread_mutex_unlock(&marks_mutex);
    return recorded;
}

static void
see(const char *path, uint64_t seen)
{
    mark *m = NULL;

    pthread_mutex_lock(&marks_mutex);
    m = find_mark(path);
    if (m->seen == 0)
        m->seen = seen | 1;
    expect(m->seen == (seen | 1));
    pthread_mutex_unlock(&marks_mutex);
}

/* ---- What nodes have in common ------------------------------------------ */

static const char *const keys[] = {"a", "bb", "log"};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static uint64_t
hash_tree(const cJSON *tree, uint64_t seed)
{
    char *text = cJSON_PrintUnformatted(tree);
    uint64_t hash = stores_hash(text, seed);

    cJSON_free(text);
    return hash;
}

/* A node begins: not after it was recorded, and with the same context and the
 * same outcomes. */
static void
enter(cascade_node *node)
{
    const char *path = cascade_node_request_id(node);
    const cJSON *outcomes = NULL;
    uint64_t seen = 0;

    expect(!mix_was_recorded(path));
    for (size_t i = 0; i < KEYS; i++) {
        const cJSON *values = NULL;

        if (!expect(cascade_node_history(node, keys[i], &values) == CASCADE_OK))
            return;
        seen = hash_tree(values, seen + i);
    }
    if (expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK))
        see(path, hash_tree(outcomes, seen));
}

/* The `nth` decision of this execution or step: 0 to below - 1. */
static unsigned
choose(const cascade_node *node, unsigned nth, unsigned below)
{
    const char *path = cascade_node_request_id(node);

    /* Not of the cascade's id, which is another in every run. */
    return (unsigned)(stores_hash(path + CASCADE_UUID_TEXT_SIZE, nth + 77) %
                      below);
}

static int
member(cascade_node *node, const char *name)
{
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), name);

    return cJSON_IsNumber(item) ? item->valueint : 0;
}

static cJSON *
with(const char *name, int number)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddNumberToObject(object, name, number);
    return object;
}

/* A value that tells who wrote it, in which attempt. */
static cascade_err
put_own(cascade_node *node, unsigned nth)
{
    char text[200];
    const char *key = keys[choose(node, nth, KEYS)];

    snprintf(text, sizeof(text), "{\"of\":%d,\"nth\":%u,\"attempt\":%d}",
             cascade_node_function_id(node), nth, cascade_node_attempt(node));
    if (choose(node, nth + 100, 3) == 0)
        return cascade_node_put_text(node, key, text, "\"for people\"");
    return cascade_node_put_text(node, key, text, NULL);
}

static cascade_err
spawn_after(cascade_node *node, const char *name, uint32_t from, uint32_t to)
{
    uint32_t after[16];
    cascade_spawn_options options = {.size = sizeof(options), .after = after};

    for (uint32_t i = from; i <= to; i++)
        after[options.after_count++] = i;
    return cascade_node_spawn(node, name, with("from", (int)from), &options);
}

/* After all that were spawned so far, or as few as it likes. */
static cascade_err
spawn_picky(cascade_node *node, uint32_t count)
{
    static const cascade_join policies[] = {
        CASCADE_JOIN_WAIT, CASCADE_JOIN_FAIL, CASCADE_JOIN_SKIP};
    uint32_t after[16];
    cascade_spawn_options options = {
        .size = sizeof(options), .after = after, .after_count = count};

    for (uint32_t i = 0; i < count; i++)
        after[i] = i + 1;
    options.first = choose(node, 70, count + 1);
    options.on_failure = policies[choose(node, 71, 3)];
    return cascade_node_spawn(node, "picky", NULL, &options);
}

static cascade_err
spawn_branch(cascade_node *node, unsigned nth, int depth)
{
    static const char *const names[] = {"graph", "line",     "flaky",
                                        "late",  "careless", "replaced"};
    /* Paths alone are too much alike: some kinds would never come. */
    unsigned turn =
        (unsigned)member(node, "number") + choose(node, nth + 10, 6);
    const char *name = names[turn % 6];
    cascade_spawn_options options = {.size = sizeof(options)};

    if (strcmp(name, "late") == 0)
        options.delay_ms = 1 + choose(node, nth + 20, 8);
    if (choose(node, nth + 30, 4) == 0)
        options.priority = 1 + (int)choose(node, nth + 40, 9);
    return cascade_node_spawn(node, name, with("depth", depth), &options);
}

/* Branches and what joins them. */
static cascade_err
fan_out(cascade_node *node, unsigned count, int depth)
{
    cascade_err err = CASCADE_OK;

    for (unsigned i = 0; i < count && err == CASCADE_OK; i++)
        err = spawn_branch(node, i, depth);
    if (err == CASCADE_OK && count > 2)
        err = spawn_after(node, "half", 2, count - 1);
    if (err == CASCADE_OK)
        err = spawn_picky(node, count);
    if (err == CASCADE_OK)
        err = spawn_after(node, "join", 1, cascade_node_spawned(node));
    return err;
}

/* ---- The nodes ---------------------------------------------------------- */

static cascade_err
root(cascade_node *node, void *user)
{
    cascade_err err = put_own(node, 1);
    unsigned number = (unsigned)member(node, "number");

    (void)user;
    enter(node);
    if (err == CASCADE_OK)
        err = fan_out(node, 2 + number % 4, 1);
    if (err == CASCADE_OK && number % MIX_DOOMED == MIX_DOOMED - 1)
        err = cascade_node_spawn(node, "doomed", NULL, NULL);
    return err;
}

static cascade_err
graph(cascade_node *node, void *user)
{
    int depth = member(node, "depth");
    cascade_err err = CASCADE_OK;

    (void)user;
    enter(node);
    err = put_own(node, 2);
    if (err == CASCADE_OK && depth > 0)
        err = fan_out(node, 1 + choose(node, 3, 3), depth - 1);
    if (err == CASCADE_OK)
        err = cascade_node_output(node, with("graph", depth));
    return err;
}

/* A step: puts, sometimes spawns, gives a number. */
static cascade_err
plain_step(cascade_node *node, void *arg, cJSON **result)
{
    unsigned nth = *(const unsigned *)arg;
    cascade_err err = CASCADE_OK;

    expect(!mix_was_recorded(cascade_node_request_id(node)));
    err = put_own(node, nth);
    if (err == CASCADE_OK && choose(node, nth, 4) == 0)
        err = cascade_node_spawn(node, "late", NULL, NULL);
    *result = cJSON_CreateNumber(nth);
    return err;
}

/* Fails as often as its attempts allow, or once more. */
static cascade_err
shaky_step(cascade_node *node, void *arg, cJSON **result)
{
    unsigned fails = *(const unsigned *)arg;

    (void)result;
    expect(!mix_was_recorded(cascade_node_request_id(node)));
    if ((unsigned)cascade_node_attempt(node) <= fails)
        return cascade_node_error(node, "attempt %d",
                                  cascade_node_attempt(node));
    return put_own(node, 5);
}

/* A signal, or none in time; the same on every entry. */
static cascade_err
hear(cascade_node *node, unsigned nth)
{
    char path[400];
    cJSON *payload = NULL;
    cascade_err err =
        cascade_node_await(node, "go", choose(node, nth, 6), &payload);

    if (err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
        return err;
    snprintf(path, sizeof(path), "%s heard %u", cascade_node_request_id(node),
             nth);
    see(path, payload != NULL ? hash_tree(payload, 1) : 2);
    cJSON_Delete(payload);
    return CASCADE_OK;
}

static cascade_err
line(cascade_node *node, void *user)
{
    cascade_step_options options = {
        .size = sizeof(options), .attempts_max = 3, .backoff_ms = 1};
    unsigned fails = choose(node, 9, 4);
    cascade_err err = CASCADE_OK;

    (void)user;
    enter(node);
    for (unsigned i = 0; i < 3 && err == CASCADE_OK; i++) {
        cJSON *result = NULL;

        err = cascade_node_step(node, "plain", plain_step, &i, NULL, &result);
        expect(err != CASCADE_OK || result->valueint == (int)i);
        cJSON_Delete(result);
        if (err == CASCADE_OK && choose(node, i + 50, 3) == 0)
            err = cascade_node_sleep(node, "nap", choose(node, i + 60, 6));
        if (err == CASCADE_OK && choose(node, i + 80, 2) == 0)
            err = hear(node, i + 90);
    }
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_step(node, "shaky", shaky_step, &fails, &options, NULL);
    if (err == CASCADE_ERR_FINAL) {
        expect(fails == 3);
        err = CASCADE_OK;
    }
    return err == CASCADE_OK ? put_own(node, 6) : err;
}

/* Each attempt finds how far the one before came, or itself before a crash. */
static void
tell_progress(cascade_node *node)
{
    const cJSON *progress = NULL;
    int attempt = cascade_node_attempt(node);
    cascade_err err = cascade_node_progress(node, &progress);

    expect(err == CASCADE_OK ? progress->valueint == attempt ||
                                   progress->valueint == attempt - 1
                             : attempt == 1);
    err = cascade_node_heartbeat(node, cJSON_CreateNumber(attempt));
    expect(err == CASCADE_OK || err == CASCADE_ERR_FENCED);
}

static cascade_err
flaky(cascade_node *node, void *user)
{
    int fails = (int)choose(node, 4, 3);

    (void)user;
    enter(node);
    tell_progress(node);
    if (cascade_node_attempt(node) <= fails)
        return cascade_node_error(node, "attempt %d of more",
                                  cascade_node_attempt(node));
    return put_own(node, 7);
}

static cascade_err
late(cascade_node *node, void *user)
{
    (void)user;
    enter(node);
    return put_own(node, 8);
}

/* Fails for good, and its cascade goes on, without it or with another. */
static cascade_err
careless(cascade_node *node, void *user)
{
    (void)user;
    enter(node);
    (void)put_own(node, 9);
    return cascade_node_fail(node, "as expected");
}

/* Fails for good, and ends its cascade. */
static cascade_err
doomed(cascade_node *node, void *user)
{
    (void)user;
    enter(node);
    return cascade_node_fail(node, "the end of it");
}

static cascade_err
join(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    cascade_err err = CASCADE_OK;

    (void)user;
    enter(node);
    err = cascade_node_history(node, "a", &values);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1 &&
        choose(node, 72, 2) == 0)
        return cascade_node_error(node, "tell me again");
    if (err == CASCADE_OK)
        err = cascade_node_put(node, "log",
                               with("joined", cJSON_GetArraySize(values)));
    return err;
}

/* ---- The run ------------------------------------------------------------ */

void
mix_register(cascade_engine *engine)
{
    static const struct {
        const char *name;
        cascade_node_fn fn;
    } nodes[] = {{"root", root},   {"graph", graph}, {"line", line},
                 {"flaky", flaky}, {"late", late},   {"doomed", doomed},
                 {"join", join},   {"half", join}};
    cascade_node_options options = {
        .size = sizeof(options), .attempts_max = 4, .backoff_ms = 2};

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        assert_ok(cascade_engine_register(engine, nodes[i].name, nodes[i].fn,
                                          NULL, &options));
    options.final_failure = CASCADE_FINAL_CONTINUE;
    assert_ok(
        cascade_engine_register(engine, "careless", careless, NULL, &options));
    assert_ok(cascade_engine_register(engine, "picky", join, NULL, &options));
    options.final_failure = CASCADE_FINAL_INSTEAD;
    options.instead = "flaky";
    assert_ok(
        cascade_engine_register(engine, "replaced", careless, NULL, &options));
}

/* What lines may hear, and what nobody awaits. One that has ended by then has
 * no use for them. */
static void
send_some(cascade_store *store, const cascade_uuid *id, size_t number)
{
    for (size_t i = 0; i < number % 4; i++) {
        cascade_err err = cascade_signal(store, id, i == 2 ? "stay" : "go",
                                         with("signal", (int)i), NULL);

        assert_true(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
    }
}

void
mix_start(cascade_store *store, cascade_uuid *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char input[32];

        snprintf(input, sizeof(input), "{\"number\":%zu}", i);
        ids[i] = db_start_text(store, "root", input);
        send_some(store, &ids[i], i);
    }
}
