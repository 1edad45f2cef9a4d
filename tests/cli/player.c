/* SPDX-License-Identifier: MIT
 *
 * A cast of cascades in every state, for the tests of the `cascade` command.
 *   player make URL [SCHEMA]    makes the tables and the cast, then ends: no
 *                               engine is alive, each cascade waits or is done
 *   player serve URL [SCHEMA]   runs what it knows, and one node that is busy
 *                               all the time; says "ready", and ends when its
 *                               standard input does
 *
 *   1  completed: a graph with a join, values in the context
 *   2  failed, with a text that means harm to terminals
 *   3  sleeps                     7  waits for a child
 *   4  awaits the signal "go"     8  needs a node that nobody knows
 *   5  waits for a person         9  waits for its second attempt
 *   6  waits with a join         10  of a user with a wide name; completed
 *  11  is delayed                12  in a queue that nobody serves
 * and by the key "invoice-7" of anna one more that completed. Their ids are
 * fixed; serve makes 99, which is busy.
 */
#include <cascade/cascade.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define LOOK_US 2000
/* Longer than any test, so that what awaits a message stays held until the
 * engine ends, and shorter than the waits that are to be parked. */
#define HOUR_MS ((int64_t)3600 * 1000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a cascade of the cast is, and when it has come to where it waits. */
struct part {
    unsigned number;
    const char *node;
    const char *user;
    const char *key; /* in place of a fixed id */
    const char *queue;
    int64_t delay_ms;
    size_t executions; /* so many there are then */
    cascade_status status;
    bool waits_outside; /* one of them has its token */
    bool has_failed;    /* one of them has an error */
    bool given_up;      /* the engine holds it no more */
    const char *needs;  /* a node that nobody knows */
};

static const struct part cast[] = {
    {.number = 1,
     .node = "order",
     .user = "anna",
     .executions = 4,
     .status = CASCADE_COMPLETED},
    {.number = 2,
     .node = "fragile",
     .user = "anna",
     .executions = 1,
     .status = CASCADE_ERROR},
    {.number = 3,
     .node = "nap",
     .user = "ben",
     .executions = 2,
     .status = CASCADE_RUNNING,
     .given_up = true},
    {.number = 4,
     .node = "await",
     .user = "ben",
     .executions = 2,
     .status = CASCADE_RUNNING},
    {.number = 5,
     .node = "boss",
     .user = "ben",
     .executions = 1,
     .status = CASCADE_RUNNING,
     .waits_outside = true,
     .given_up = true},
    {.number = 6,
     .node = "spread",
     .user = "ben",
     .executions = 3,
     .status = CASCADE_RUNNING,
     .waits_outside = true,
     .given_up = true},
    {.number = 7,
     .node = "parent",
     .user = "ben",
     .executions = 3,
     .status = CASCADE_RUNNING},
    {.number = 8,
     .node = "stranger",
     .user = "ben",
     .executions = 1,
     .status = CASCADE_RUNNING,
     .given_up = true,
     .needs = "stranger"},
    {.number = 9,
     .node = "stubborn",
     .user = "ben",
     .executions = 1,
     .status = CASCADE_RUNNING,
     .has_failed = true,
     .given_up = true},
    {.number = 10,
     .node = "pack",
     .user = "Zo\xc3\xab \xe4\xb8\xad\xe6\x96\x87",
     .executions = 1,
     .status = CASCADE_COMPLETED},
    {.number = 11,
     .node = "pack",
     .user = "ben",
     .delay_ms = DAY_MS,
     .executions = 1,
     .status = CASCADE_RUNNING},
    {.number = 12,
     .node = "pack",
     .user = "ben",
     .queue = "unserved",
     .executions = 1,
     .status = CASCADE_RUNNING},
    {.node = "pack",
     .user = "anna",
     .key = "invoice-7",
     .executions = 1,
     .status = CASCADE_COMPLETED},
};

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
take_card(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateNumber(cascade_node_attempt(node));
    return CASCADE_OK;
}

static cascade_err
order(cascade_node *node, void *user)
{
    static const uint32_t both[] = {1};
    const cascade_spawn_options join = {
        .size = sizeof(join), .after = both, .after_count = 1};
    cascade_err err =
        cascade_node_step(node, "card", take_card, NULL, NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_put_ui(node, "total", cJSON_CreateNumber(12.5),
                                  cJSON_CreateString("12.50 EUR"));
    if (err == CASCADE_OK)
        err =
            cascade_node_spawn(node, "pack", cJSON_CreateString("books"), NULL);
    return err != CASCADE_OK ? err
                             : cascade_node_spawn(node, "pack", NULL, &join);
}

static cascade_err
pack(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_put(node, "parcel", cJSON_CreateString("packed"));

    (void)user;
    return err != CASCADE_OK
               ? err
               : cascade_node_output(node, cJSON_CreateString("parcel 1"));
}

static cascade_err
fragile(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node,
                             "no \033[31mmoney\033[0m\nleft \xe2\x80\xae");
}

static cascade_err
nap(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_sleep(node, "long", 30 * DAY_MS);
}

static cascade_err
await(cascade_node *node, void *user)
{
    cJSON *payload = NULL;
    cascade_err err = cascade_node_await(node, "go", -1, &payload);

    (void)user;
    return err != CASCADE_OK ? err : cascade_node_output(node, payload);
}

static cascade_err
spread(cascade_node *node, void *user)
{
    static const uint32_t first[] = {1};
    const cascade_spawn_options join = {
        .size = sizeof(join), .after = first, .after_count = 1};
    cascade_err err = cascade_node_spawn(node, "boss", NULL, NULL);

    (void)user;
    return err != CASCADE_OK ? err
                             : cascade_node_spawn(node, "pack", NULL, &join);
}

/* What it starts is told once; it is entered again while that waits. */
static struct {
    atomic_bool taken;
    atomic_bool told;
    cascade_uuid id;
} helper;

static cascade_err
parent(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "helper", "await", NULL, NULL, &id);

    (void)user;
    if (err == CASCADE_OK && !atomic_exchange(&helper.taken, true)) {
        helper.id = id;
        atomic_store(&helper.told, true);
    }
    return err != CASCADE_OK ? err : cascade_node_await_child(node, &id, NULL);
}

static cascade_err
stubborn(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_error(node, "not today");
}

static atomic_bool is_busy;

/* Until it is cancelled, or the program is to end. */
static cascade_err
busy(cascade_node *node, void *user)
{
    const atomic_bool *ending = user;

    atomic_store(&is_busy, true);
    while (!cascade_node_is_cancelled(node) && !atomic_load(ending))
        usleep(LOOK_US);
    return cascade_node_fail(node, "stopped");
}

static cascade_err
register_all(cascade_engine *engine, atomic_bool *ending)
{
    static const cascade_node_options tomorrow = {.size = sizeof(tomorrow),
                                                  .backoff_ms = DAY_MS,
                                                  .backoff_max_ms = DAY_MS};
    const struct {
        const char *name;
        cascade_node_fn fn;
        void *user;
        const cascade_node_options *options;
    } nodes[] = {
        {"order", order, NULL, NULL},
        {"pack", pack, NULL, NULL},
        {"fragile", fragile, NULL, NULL},
        {"nap", nap, NULL, NULL},
        {"await", await, NULL, NULL},
        {"spread", spread, NULL, NULL},
        {"parent", parent, NULL, NULL},
        {"stubborn", stubborn, NULL, &tomorrow},
        {"busy", busy, ending, NULL},
    };
    cascade_err err = cascade_engine_register_external(engine, "boss", NULL);

    for (size_t i = 0; i < COUNT(nodes) && err == CASCADE_OK; i++)
        err = cascade_engine_register(engine, nodes[i].name, nodes[i].fn,
                                      nodes[i].user, nodes[i].options);
    return err;
}

/* ---- The cast ----------------------------------------------------------- */

static cascade_err
start_part(cascade_store *store, const struct part *part, cascade_uuid *id)
{
    cascade_start_options options = {
        .size = sizeof(options),
        .user_id = part->user,
        .key = part->key,
        .queue = part->queue,
        .delay_ms = part->delay_ms,
    };
    cascade_started started;
    char text[CASCADE_UUID_TEXT_SIZE];

    snprintf(text, sizeof(text), "00000000-0000-4000-8000-0000000000%02u",
             part->number);
    if (cascade_uuid_parse(text, id) != CASCADE_OK)
        return CASCADE_ERR_INVALID;
    if (part->key == NULL)
        options.id = id;
    cascade_err err =
        cascade_start(store, part->node, NULL, &options, &started);
    *id = started.id;
    return err;
}

static bool
has_token(const cascade_snapshot *now)
{
    size_t active = cascade_snapshot_count(now, CASCADE_PART_ACTIVE);

    for (size_t i = 0; i < active; i++)
        if (cascade_snapshot_get(now, CASCADE_PART_ACTIVE, i)->token != NULL)
            return true;
    return false;
}

/* That of its rows, and, as they are written in another commit, of its run. */
static bool
is_there(const struct part *part, const cascade_snapshot *now)
{
    const cascade_info *info = cascade_snapshot_info(now);

    return info->status == part->status &&
           cascade_snapshot_count(now, CASCADE_PART_HISTORY) ==
               part->executions &&
           (!part->waits_outside || has_token(now)) &&
           (!part->has_failed ||
            cascade_snapshot_count(now, CASCADE_PART_ERRORS) > 0) &&
           (!part->given_up || !info->owned) &&
           (part->needs == NULL ||
            (info->has_run && strcmp(info->needs, part->needs) == 0));
}

/* Until it is where it waits; whoever runs the test has a limit. */
static cascade_err
wait_part(cascade_store *store, const struct part *part, const cascade_uuid *id)
{
    for (;;) {
        cascade_snapshot *now = NULL;
        cascade_err err = cascade_snapshot_load(store, id, NULL, &now);
        bool there = err == CASCADE_OK && is_there(part, now);
        cascade_snapshot_free(now);
        if ((err != CASCADE_OK && err != CASCADE_ERR_NOT_FOUND) || there)
            return err;
        usleep(LOOK_US);
    }
}

/* The child is born after what its parent does: it is to wait too. */
static cascade_err
wait_helper(cascade_store *store)
{
    static const struct part part = {.executions = 2,
                                     .status = CASCADE_RUNNING};

    while (!atomic_load(&helper.told))
        usleep(LOOK_US);
    return wait_part(store, &part, &helper.id);
}

/* One after the other, so that what depends on time comes in that order. */
static cascade_err
make(cascade_store *store)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < COUNT(cast) && err == CASCADE_OK; i++) {
        cascade_uuid id;
        err = start_part(store, &cast[i], &id);
        if (err == CASCADE_OK)
            err = wait_part(store, &cast[i], &id);
    }
    return err == CASCADE_OK ? wait_helper(store) : err;
}

static cascade_err
serve(cascade_store *store, atomic_bool *ending)
{
    static const struct part part = {
        .number = 99, .node = "busy", .user = "ben"};
    cascade_uuid id;
    cascade_err err = start_part(store, &part, &id);

    if (err != CASCADE_OK)
        return err;
    while (!atomic_load(&is_busy))
        usleep(LOOK_US);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    atomic_store(ending, true);
    return CASCADE_OK;
}

static int
fail(void)
{
    fprintf(stderr, "player: %s\n", cascade_errmsg());
    return 1;
}

int
main(int argc, char **argv)
{
    atomic_bool ending = false;
    const cascade_store_options store_options = {
        .size = sizeof(store_options), .schema = argc > 3 ? argv[3] : NULL};
    const cascade_engine_options engine_options = {.size =
                                                       sizeof(engine_options),
                                                   .worker_count = 4,
                                                   .lane_count = 1,
                                                   .lease_ms = HOUR_MS / 6,
                                                   .park_after_ms = HOUR_MS};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;

    if (argc < 3 || cascade_store_open(argv[2], &store_options, &store) ||
        cascade_engine_open(store, &engine_options, &engine) ||
        register_all(engine, &ending) || cascade_engine_start(engine))
        return fail();
    cascade_err err =
        strcmp(argv[1], "serve") == 0 ? serve(store, &ending) : make(store);
    if (err != CASCADE_OK)
        return fail();
    if (cascade_engine_stop(engine, -1) || cascade_engine_close(engine) ||
        cascade_store_close(store))
        return fail();
    return 0;
}
