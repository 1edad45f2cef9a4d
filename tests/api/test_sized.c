/* SPDX-License-Identifier: MIT
 *
 * Arrays of structs that begin with their size: of an older header, of ours and
 * of a newer one each element is found, and what makes no sense is refused and
 * named. Structs that the library writes have room for members to come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "support/stores.h"

#define ITEMS 3
#define NEWER 24 /* bytes that a later header adds */

static const char *const leaves[ITEMS] = {"x", "y", "z"};

typedef struct scene {
    cascade_store *store;
    cascade_uuid id; /* of what the call is about */
    char path[300];
    char token[CASCADE_UUID_TEXT_SIZE];
    cJSON *value;
    cascade_first first[ITEMS];
    union {
        cascade_start_spec specs[ITEMS];
        cascade_first first[ITEMS];
        cascade_completion_put puts[ITEMS];
        cascade_completion_spawn spawns[ITEMS];
        cascade_fork_output outputs[ITEMS];
    } items;
    cascade_started started[ITEMS];
} scene;

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
spawn_next(cascade_node *node, void *user)
{
    return user != NULL ? cascade_node_spawn(node, user, NULL, NULL)
                        : CASCADE_OK;
}

static scene
open_scene(test_db *db)
{
    static char *const line[] = {"one", "two", "three", "four", NULL};
    scene s = {.store = db_store(db), .value = cJSON_CreateString("v")};
    cascade_engine *engine = db_engine(db, s.store, NULL);

    for (size_t i = 0; i < ITEMS; i++)
        assert_ok(cascade_engine_register(engine, leaves[i], stores_nothing,
                                          NULL, NULL));
    for (size_t i = 0; line[i] != NULL; i++)
        assert_ok(cascade_engine_register(engine, line[i], spawn_next,
                                          line[i + 1], NULL));
    assert_ok(cascade_engine_register_external(engine, "task", NULL));
    assert_ok(cascade_engine_start(engine));
    return s;
}

static cascade_snapshot *
load(const scene *s, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(s->store, id, NULL, &snapshot));
    return snapshot;
}

static const cascade_execution_info *
execution(const cascade_snapshot *snapshot, size_t at)
{
    const cascade_execution_info *info =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, at);

    assert_non_null(info);
    return info;
}

/* ---- Starts ------------------------------------------------------------- */

static void
prepare_first(scene *s)
{
    for (size_t i = 0; i < ITEMS; i++)
        s->items.first[i] =
            (cascade_first){.size = sizeof(cascade_first), .node = leaves[i]};
}

static cascade_err
call_first(scene *s, const void *items)
{
    const cascade_start_spec spec = {
        .size = sizeof(spec), .first = items, .first_count = ITEMS};

    return cascade_start_many(s->store, &spec, 1, s->started);
}

static void
check_first(scene *s)
{
    cascade_snapshot *snapshot = load(s, &s->started[0].id);

    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                     ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
        assert_string_equal(execution(snapshot, i)->node_name, leaves[i]);
    cascade_snapshot_free(snapshot);
}

static void
prepare_specs(scene *s)
{
    for (size_t i = 0; i < ITEMS; i++) {
        s->first[i] =
            (cascade_first){.size = sizeof(cascade_first), .node = leaves[i]};
        s->items.specs[i] =
            (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                 .first = &s->first[i],
                                 .first_count = 1};
    }
}

static cascade_err
call_specs(scene *s, const void *items)
{
    return cascade_start_many(s->store, items, ITEMS, s->started);
}

static void
check_specs(scene *s)
{
    for (size_t i = 0; i < ITEMS; i++) {
        cascade_snapshot *snapshot = load(s, &s->started[i].id);

        assert_string_equal(execution(snapshot, 0)->node_name, leaves[i]);
        cascade_snapshot_free(snapshot);
    }
}

/* ---- Completions -------------------------------------------------------- */

static bool
is_waiting(void *context)
{
    scene *s = context;
    cascade_snapshot *snapshot = load(s, &s->id);
    const cascade_execution_info *task = execution(snapshot, 0);
    bool waits = task->token != NULL;

    if (waits) {
        snprintf(s->path, sizeof(s->path), "%s", task->node_instance_id);
        snprintf(s->token, sizeof(s->token), "%s", task->token);
    }
    cascade_snapshot_free(snapshot);
    return waits;
}

static void
begin_task(scene *s)
{
    s->id = db_start(s->store, "task");
    assert_true(stores_until(is_waiting, s));
}

static void
prepare_puts(scene *s)
{
    begin_task(s);
    for (size_t i = 0; i < ITEMS; i++)
        s->items.puts[i] =
            (cascade_completion_put){.size = sizeof(cascade_completion_put),
                                     .key = leaves[i],
                                     .value = s->value};
}

static cascade_err
call_puts(scene *s, const void *items)
{
    const cascade_completion completion = {
        .size = sizeof(completion), .puts = items, .put_count = ITEMS};

    return cascade_complete(s->store, &s->id, s->path, s->token, &completion,
                            NULL);
}

static void
check_puts(scene *s)
{
    cascade_snapshot *snapshot = NULL;

    db_await(s->store, &s->id, CASCADE_COMPLETED);
    snapshot = load(s, &s->id);
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"x\":[\"v\"],\"y\":[\"v\"],\"z\":[\"v\"]}");
    cascade_snapshot_free(snapshot);
}

static void
prepare_spawns(scene *s)
{
    begin_task(s);
    for (size_t i = 0; i < ITEMS; i++)
        s->items.spawns[i] = (cascade_completion_spawn){
            .size = sizeof(cascade_completion_spawn), .node = leaves[i]};
}

static cascade_err
call_spawns(scene *s, const void *items)
{
    const cascade_completion completion = {
        .size = sizeof(completion), .spawns = items, .spawn_count = ITEMS};

    return cascade_complete(s->store, &s->id, s->path, s->token, &completion,
                            NULL);
}

/* Behind the task there is what received the completion, and these. */
static void
check_spawns(scene *s)
{
    cascade_snapshot *snapshot = NULL;
    size_t found = 0;

    db_await(s->store, &s->id, CASCADE_COMPLETED);
    snapshot = load(s, &s->id);
    for (size_t i = 0;
         i < cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY); i++)
        if (found < ITEMS &&
            strcmp(execution(snapshot, i)->node_name, leaves[found]) == 0)
            found++;
    assert_int_equal(found, ITEMS);
    cascade_snapshot_free(snapshot);
}

/* ---- Outputs of a fork -------------------------------------------------- */

static void
prepare_outputs(scene *s)
{
    static const char *const outputs[ITEMS] = {"11", "12", "13"};

    s->id = db_start(s->store, "one");
    db_await(s->store, &s->id, CASCADE_COMPLETED);
    for (size_t i = 0; i < ITEMS; i++)
        s->items.outputs[i] =
            (cascade_fork_output){.size = sizeof(cascade_fork_output),
                                  .function_id = (int32_t)i,
                                  .output = outputs[i]};
}

static cascade_err
call_outputs(scene *s, const void *items)
{
    const cascade_fork_options options = {.size = sizeof(options),
                                          .from = ITEMS,
                                          .outputs = items,
                                          .output_count = ITEMS};

    return cascade_fork(s->store, &s->id, &options, s->started);
}

static void
check_outputs(scene *s)
{
    cascade_snapshot *snapshot = load(s, &s->started[0].id);

    for (size_t i = 0; i < ITEMS; i++)
        assert_string_equal(execution(snapshot, i)->output, i == 0   ? "11"
                                                            : i == 1 ? "12"
                                                                     : "13");
    cascade_snapshot_free(snapshot);
}

/* ---- Headers ------------------------------------------------------------ */

static const struct kind {
    const char *name;
    size_t size;
    size_t older; /* up to a member that need not be given */
    void (*prepare)(scene *s);
    cascade_err (*call)(scene *s, const void *items);
    void (*check)(scene *s);
} kinds[] = {
    {"first", sizeof(cascade_first), offsetof(cascade_first, input),
     prepare_first, call_first, check_first},
    {"specs", sizeof(cascade_start_spec), offsetof(cascade_start_spec, options),
     prepare_specs, call_specs, check_specs},
    {"puts", sizeof(cascade_completion_put),
     offsetof(cascade_completion_put, ui_value), prepare_puts, call_puts,
     check_puts},
    {"spawns", sizeof(cascade_completion_spawn),
     offsetof(cascade_completion_spawn, input), prepare_spawns, call_spawns,
     check_spawns},
    {"outputs", sizeof(cascade_fork_output), sizeof(cascade_fork_output),
     prepare_outputs, call_outputs, check_outputs},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The items of the scene as a header lays them out in which they have `size`
 * bytes; to be freed. No byte beyond them may be read. */
static unsigned char *
lay_out(const scene *s, const struct kind *kind, size_t size)
{
    const unsigned char *items = (const unsigned char *)&s->items;
    unsigned char *laid = calloc(ITEMS, size);
    size_t shorter = size < kind->size ? size : kind->size;

    assert_non_null(laid);
    for (size_t i = 0; i < ITEMS; i++) {
        memcpy(laid + i * size, items + i * kind->size, shorter);
        memcpy(laid + i * size, &size, sizeof(size));
    }
    return laid;
}

static void
items_of_every_header_are_found(test_db *db)
{
    scene s = open_scene(db);

    for (size_t k = 0; k < KINDS; k++) {
        const size_t sizes[] = {kinds[k].older, kinds[k].size,
                                kinds[k].size + NEWER};

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *laid = NULL;

            kinds[k].prepare(&s);
            laid = lay_out(&s, &kinds[k], sizes[i]);
            assert_ok(kinds[k].call(&s, laid));
            kinds[k].check(&s);
            free(laid);
        }
    }
    cJSON_Delete(s.value);
}

/* ---- What is refused ---------------------------------------------------- */

static void
expect_named(scene *s, const struct kind *kind, const unsigned char *laid,
             size_t at, const char *why)
{
    char name[64];

    snprintf(name, sizeof(name), "%s[%zu]: ", kind->name, at);
    assert_fails(CASCADE_ERR_INVALID, kind->call(s, laid));
    if (strncmp(cascade_errmsg(), name, strlen(name)) != 0 ||
        strstr(cascade_errmsg(), why) == NULL)
        fail_msg("%s, %s: %s", name, why, cascade_errmsg());
}

static void
expect_sizes_refused(scene *s, const struct kind *kind)
{
    const size_t nonsense[] = {0, sizeof(size_t) - 1, kind->size + 5000,
                               SIZE_MAX};
    const size_t another = kind->size + sizeof(size_t);
    unsigned char *laid = lay_out(s, kind, kind->size);

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        memcpy(laid, &nonsense[i], sizeof(size_t));
        expect_named(s, kind, laid, 0, ".size = sizeof");
    }
    memcpy(laid, &kind->size, sizeof(size_t));
    memcpy(laid + 2 * kind->size, &another, sizeof(another));
    expect_named(s, kind, laid, 2, ".size = sizeof");
    free(laid);
}

static void
expect_members_refused(scene *s, const struct kind *kind)
{
    unsigned char *laid = lay_out(s, kind, kind->size + NEWER);

    laid[ITEMS * (kind->size + NEWER) - 1] = 1;
    expect_named(s, kind, laid, ITEMS - 1, "newer library");
    free(laid);
}

static int64_t
count_all(scene *s)
{
    cascade_counts counts = {.size = sizeof(counts)};

    assert_ok(cascade_counts_load(s->store, &counts));
    return counts.running + counts.completed + counts.failed + counts.messages;
}

static void
items_that_cannot_be_understood_are_refused(test_db *db)
{
    scene s = open_scene(db);

    for (size_t k = 0; k < KINDS; k++) {
        int64_t before = 0;
        unsigned char *laid = NULL;

        kinds[k].prepare(&s);
        before = count_all(&s);
        expect_sizes_refused(&s, &kinds[k]);
        expect_members_refused(&s, &kinds[k]);
        assert_int_equal(count_all(&s), before);
        laid = lay_out(&s, &kinds[k], kinds[k].size);
        assert_ok(kinds[k].call(&s, laid));
        kinds[k].check(&s);
        free(laid);
    }
    cJSON_Delete(s.value);
}

/* ---- What the library writes -------------------------------------------- */

static void
expect_room(const uint64_t *reserved, size_t size)
{
    for (size_t i = 0; i < size / sizeof(*reserved); i++)
        assert_int_equal(reserved[i], 0);
}

static void
what_is_written_has_room(test_db *db)
{
    const cascade_purge_options none = {
        .size = sizeof(none), .completed_ms = -1, .failed_ms = -1};
    scene s = open_scene(db);
    cascade_migration migrations[2];
    cascade_progress total;
    size_t count = 0;

    memset(migrations, 0x55, sizeof(migrations));
    memset(&total, 0x55, sizeof(total));
    memset(s.started, 0x55, sizeof(s.started));
    prepare_specs(&s);
    assert_ok(call_specs(&s, &s.items));
    for (size_t i = 0; i < ITEMS; i++)
        expect_room(s.started[i].reserved, sizeof(s.started[i].reserved));
    prepare_outputs(&s);
    memset(s.started, 0x55, sizeof(s.started));
    assert_ok(call_outputs(&s, &s.items));
    expect_room(s.started[0].reserved, sizeof(s.started[0].reserved));
    assert_ok(cascade_migration_list(s.store, migrations, 2, &count));
    for (size_t i = 0; i < count && i < 2; i++)
        expect_room(migrations[i].reserved, sizeof(migrations[i].reserved));
    assert_ok(cascade_purge(s.store, &none, &total));
    expect_room(total.reserved, sizeof(total.reserved));
    cJSON_Delete(s.value);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"items_of_every_header_are_found", items_of_every_header_are_found,
         STORES_ALL},
        {"items_that_cannot_be_understood_are_refused",
         items_that_cannot_be_understood_are_refused, STORES_ALL},
        {"what_is_written_has_room", what_is_written_has_room, STORES_ALL},
    };

    return stores_run("sized", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
