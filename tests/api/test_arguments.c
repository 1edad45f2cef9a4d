/* SPDX-License-Identifier: MIT
 *
 * The contract of every public function at its edge: a wrong argument is an
 * error with a text, leaves the outputs alone, and frees what the call takes
 * (which the sanitizers watch); a success leaves no text; options tell their
 * size; what frees accepts NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "cascade/store.h"
#include "support/stores.h"

/* ---- Outputs ------------------------------------------------------------- */

/* What failing calls are given to write to. */
typedef struct outputs {
    cascade_store *store;
    cascade_engine *engine;
    cascade_info *info;
    cascade_page *page;
    cascade_snapshot *snapshot;
    cascade_started started;
    cascade_status status;
    cascade_uuid id;
    int64_t now_ms;
    size_t ran;
    cascade_engine_stats stats;
} outputs;

static outputs out;
static const cascade_uuid some = {{0x01, 0xa1, 0xfb}};

static void
taint_outputs(void)
{
    memset(&out, 0x5a, sizeof(out));
}

static void
check_refused(cascade_err got, cascade_err wanted, const char *call, int line)
{
    outputs tainted;
    cascade_uuid id;

    stores_check(got, wanted, call, __FILE__, line);
    memset(&tainted, 0x5a, sizeof(tainted));
    if (memcmp(&tainted, &out, sizeof(out)) != 0)
        fail_msg("%s wrote to its outputs", call);
    assert_ok(cascade_uuid_parse("01a1fb1a-df26-7e6e-85b0-78a7a9d40abb", &id));
    assert_string_equal("", cascade_errmsg());
}

/* The call fails with `wanted`, says why, and has written nothing. */
#define refuses(wanted, call) check_refused((call), (wanted), #call, __LINE__)
#define INVALID CASCADE_ERR_INVALID

/* ---- Stores, ids, starts ------------------------------------------------- */

static void
ids(test_db *db)
{
    (void)db;
    taint_outputs();
    refuses(INVALID, cascade_uuid_parse(NULL, &out.id));
    refuses(INVALID, cascade_uuid_parse("x", &out.id));
    refuses(INVALID,
            cascade_uuid_parse("01a1fb1a-df26-7e6e-85b0-78a7a9d40abb", NULL));
    refuses(INVALID, cascade_uuid_from_key(NULL, NULL, &out.id));
    refuses(INVALID, cascade_uuid_from_key("u", NULL, &out.id));
    refuses(INVALID, cascade_uuid_from_key("", "k", &out.id));
    refuses(INVALID, cascade_uuid_from_key("u", "k", NULL));
}

static void
stores(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;
    const cascade_store_driver none = {.abi = CASCADE_STORE_ABI + 1};
    const cascade_store_driver empty = {.abi = CASCADE_STORE_ABI};

    taint_outputs();
    refuses(INVALID, cascade_store_open(NULL, NULL, &out.store));
    refuses(INVALID, cascade_store_open("memory:", NULL, NULL));
    refuses(INVALID, cascade_store_open_driver(NULL, "x", NULL, &out.store));
    refuses(INVALID, cascade_store_open_driver(&none, "x", NULL, &out.store));
    refuses(INVALID, cascade_store_open_driver(&empty, "x", NULL, &out.store));
    refuses(INVALID, cascade_store_now(NULL, &out.now_ms));
    refuses(INVALID, cascade_store_now(store, NULL));
    engine = db_engine(db, store, NULL);
    refuses(CASCADE_ERR_MISUSE, cascade_store_close(store));
    db_close_engine(db, engine);
    assert_ok(cascade_store_close(NULL));
}

static void
starts(test_db *db)
{
    cascade_store *store = db_store(db);
    const cascade_first both = {.size = sizeof(both),
                                .node = "n",
                                .input = cJSON_CreateTrue(),
                                .input_text = "1"};
    const cascade_first fine = {.size = sizeof(fine), .node = "n"};
    const cascade_first nameless = {.size = sizeof(nameless), .node = NULL};
    const cascade_start_spec bad[] = {
        {.size = sizeof(bad[0]), .first = &both, .first_count = 1},
        {.size = sizeof(bad[0]), .first = &nameless, .first_count = 1},
        {.size = sizeof(bad[0]), .first = NULL, .first_count = 1},
        {.size = sizeof(bad[0]), .first = &fine, .first_count = 0}};

    taint_outputs();
    refuses(INVALID,
            cascade_start(NULL, "n", cJSON_CreateTrue(), NULL, &out.started));
    refuses(INVALID,
            cascade_start(store, NULL, cJSON_CreateTrue(), NULL, &out.started));
    refuses(INVALID, cascade_start(store, "n", cJSON_CreateTrue(), NULL, NULL));
    refuses(INVALID, cascade_start_many(store, NULL, 1, &out.started));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuses(INVALID, cascade_start_many(store, &bad[i], 1, &out.started));
    refuses(INVALID, cascade_start_many(store, bad, 0, &out.started));
    refuses(INVALID, cascade_start_many(NULL, bad, 1, &out.started));
    cJSON_Delete((cJSON *)(uintptr_t)both.input);
}

/* ---- Looking ------------------------------------------------------------- */

static void
looks(test_db *db)
{
    cascade_store *store = db_store(db);
    const cascade_list_options bad[] = {{.size = sizeof(bad[0]), .limit = 1001},
                                        {.size = sizeof(bad[0]), .status = 4},
                                        {.size = sizeof(bad[0]), .user_id = ""},
                                        {.size = sizeof(bad[0]), .node = ""}};
    const cascade_snapshot_options before = {.size = sizeof(before),
                                             .as_of = -1};

    taint_outputs();
    refuses(INVALID, cascade_wait(NULL, &some, 0, &out.status));
    refuses(INVALID, cascade_wait(store, NULL, 0, &out.status));
    refuses(CASCADE_ERR_NOT_FOUND, cascade_wait(store, &some, 0, &out.status));
    refuses(INVALID, cascade_get(NULL, &some, &out.info));
    refuses(INVALID, cascade_get(store, NULL, &out.info));
    refuses(INVALID, cascade_get(store, &some, NULL));
    refuses(CASCADE_ERR_NOT_FOUND, cascade_get(store, &some, &out.info));
    refuses(INVALID, cascade_key_current(NULL, "u", "k", &out.id));
    refuses(INVALID, cascade_key_current(store, "", "k", &out.id));
    refuses(INVALID, cascade_key_current(store, NULL, NULL, &out.id));
    refuses(INVALID, cascade_key_current(store, NULL, "k", NULL));
    refuses(INVALID, cascade_list(NULL, NULL, &out.page));
    refuses(INVALID, cascade_list(store, NULL, NULL));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuses(INVALID, cascade_list(store, &bad[i], &out.page));
    refuses(INVALID, cascade_snapshot_load(NULL, &some, NULL, &out.snapshot));
    refuses(INVALID, cascade_snapshot_load(store, NULL, NULL, &out.snapshot));
    refuses(INVALID, cascade_snapshot_load(store, &some, NULL, NULL));
    refuses(INVALID,
            cascade_snapshot_load(store, &some, &before, &out.snapshot));
    refuses(CASCADE_ERR_NOT_FOUND,
            cascade_snapshot_load(store, &some, NULL, &out.snapshot));
}

static void
nothing_was_read(test_db *db)
{
    (void)db;
    assert_null(cascade_snapshot_info(NULL));
    assert_int_equal(cascade_snapshot_count(NULL, CASCADE_PART_HISTORY), 0);
    assert_null(cascade_snapshot_get(NULL, CASCADE_PART_HISTORY, 0));
    assert_null(cascade_snapshot_get(NULL, CASCADE_PART_ERRORS, 0));
    assert_null(cascade_snapshot_context(NULL));
    assert_null(cascade_snapshot_cascaide_context(NULL));
    assert_null(cascade_snapshot_result(NULL));
    assert_null(cascade_snapshot_error(NULL));
    assert_null(cascade_snapshot_continued_as(NULL));
    assert_int_equal(cascade_page_count(NULL), 0);
    assert_int_equal(cascade_page_unreadable(NULL), 0);
    assert_null(cascade_page_get(NULL, 0));
}

static void
what_frees_accepts_null(test_db *db)
{
    (void)db;
    cascade_info_free(NULL);
    cascade_page_free(NULL);
    cascade_snapshot_free(NULL);
    cascade_outcome_free(NULL);
    assert_ok(cascade_engine_close(NULL));
    assert_ok(cascade_store_close(NULL));
}

/* ---- Engines ------------------------------------------------------------- */

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static void
engine_options_out_of_range(test_db *db)
{
    const char *const queue = "q";
    const char *const twice[] = {"q", NULL};
    const cascade_engine_options bad[] = {
        {.size = sizeof(bad[0]), .mode = 3},
        {.size = sizeof(bad[0]), .queue_count = 1},
        {.size = sizeof(bad[0]), .queues = twice, .queue_count = 2},
        {.size = sizeof(bad[0]), .lane_count = 17},
        {.size = sizeof(bad[0]), .lease_ms = 99},
        {.size = sizeof(bad[0]), .lease_ms = -1},
        {.size = sizeof(bad[0]), .poll_interval_ms = -1},
        {.size = sizeof(bad[0]), .park_after_ms = -1},
        {.size = sizeof(bad[0]), .poison_limit = -2},
        {.size = sizeof(bad[0]), .location = ""},
    };
    cascade_store *store = db_store(db);

    (void)queue;
    taint_outputs();
    refuses(INVALID, cascade_engine_open(NULL, NULL, &out.engine));
    refuses(INVALID, cascade_engine_open(store, NULL, NULL));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cascade_err err = cascade_engine_open(store, &bad[i], &out.engine);

        if (err != INVALID)
            fail_msg("engine options %zu are %s", i, cascade_err_name(err));
        refuses(INVALID, err);
    }
}

static void
registrations(test_db *db)
{
    const cascade_node_options bad[] = {
        {.size = sizeof(bad[0]), .attempts_max = -2},
        {.size = sizeof(bad[0]), .backoff_ms = -1},
        {.size = sizeof(bad[0]), .backoff_max_ms = -1},
        {.size = sizeof(bad[0]), .backoff_percent = 99},
        {.size = sizeof(bad[0]), .jitter_percent = -2},
        {.size = sizeof(bad[0]), .jitter_percent = 101},
        {.size = sizeof(bad[0]), .final_failure = 2},
        {.size = sizeof(bad[0]), .attempt_timeout_ms = -1},
        {.size = sizeof(bad[0]), .heartbeat_timeout_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .start_timeout_ms = INT64_MIN},
        {.size = sizeof(bad[0]), .deadline_ms = INT64_C(4000000000000)}};
    static const char *const limits[] = {"attempt_timeout_ms",
                                         "heartbeat_timeout_ms",
                                         "start_timeout_ms", "deadline_ms"};
    const size_t count = sizeof(bad) / sizeof(bad[0]);
    cascade_engine *engine = db_engine(db, db_store(db), NULL);

    taint_outputs();
    refuses(INVALID,
            cascade_engine_register(NULL, "n", do_nothing, NULL, NULL));
    refuses(INVALID,
            cascade_engine_register(engine, NULL, do_nothing, NULL, NULL));
    refuses(INVALID, cascade_engine_register(engine, "n", NULL, NULL, NULL));
    for (size_t i = 0; i < count; i++) {
        cascade_err err =
            cascade_engine_register(engine, "n", do_nothing, NULL, &bad[i]);

        if (i + 4 >= count)
            assert_non_null(strstr(cascade_errmsg(), limits[i + 4 - count]));
        refuses(INVALID, err);
    }
    assert_ok(cascade_engine_start(engine));
    refuses(CASCADE_ERR_MISUSE,
            cascade_engine_register(engine, "n", do_nothing, NULL, NULL));
    refuses(CASCADE_ERR_MISUSE, cascade_engine_start(engine));
}

static cascade_err
reg(cascade_engine *engine, const char *name, cascade_external_options options)
{
    options.size = sizeof(options);
    return cascade_engine_register_external(engine, name, &options);
}

static void
registrations_of_externals(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    const cascade_external_options none = {0};

    assert_ok(reg(engine, "a", none));
    assert_fails(CASCADE_ERR_EXISTS, reg(engine, "a", none));
    assert_fails(CASCADE_ERR_INVALID, reg(NULL, "b", none));
    assert_fails(CASCADE_ERR_INVALID, reg(engine, "cascade.b", none));
    assert_fails(
        CASCADE_ERR_INVALID,
        reg(engine, "b", (cascade_external_options){.timeout_ms = -1}));
    assert_fails(CASCADE_ERR_INVALID,
                 reg(engine, "b", (cascade_external_options){.instead = "c"}));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_engine_register(engine, "b", NULL, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_fails(CASCADE_ERR_MISUSE, reg(engine, "b", none));
}

static void
engines(test_db *db)
{
    const cascade_engine_options inline_mode = {.size = sizeof(inline_mode),
                                                .mode = CASCADE_MODE_INLINE};
    cascade_store *store = db_store(db);
    cascade_engine *threads = db_engine(db, store, NULL);
    cascade_engine *loop = db_engine(db, store, &inline_mode);
    cascade_engine_stats sizeless = {.size = 0};

    taint_outputs();
    refuses(INVALID, cascade_engine_start(NULL));
    refuses(INVALID, cascade_engine_poll(NULL, 0, &out.ran));
    refuses(CASCADE_ERR_MISUSE, cascade_engine_poll(threads, 0, &out.ran));
    refuses(CASCADE_ERR_MISUSE, cascade_engine_poll(loop, 0, &out.ran));
    refuses(INVALID, cascade_engine_wait(NULL, 0));
    refuses(CASCADE_ERR_TIMEOUT, cascade_engine_wait(threads, 0));
    refuses(INVALID, cascade_engine_stop(NULL, 0));
    refuses(INVALID, cascade_engine_get_stats(NULL, &out.stats));
    refuses(INVALID, cascade_engine_get_stats(threads, NULL));
    refuses(INVALID, cascade_engine_get_stats(threads, &sizeless));
    assert_int_equal(-1, cascade_engine_fd(threads));
    assert_true(cascade_engine_fd(loop) >= 0);
    assert_ok(cascade_engine_start(loop));
    assert_ok(cascade_engine_stop(loop, DB_WAIT_MS));
    assert_ok(cascade_engine_stop(loop, DB_WAIT_MS));
}

/* ---- Sizes of options ---------------------------------------------------- */

typedef cascade_err (*options_user)(cascade_store *store, const void *options);

static cascade_err
use_store_options(cascade_store *store, const void *options)
{
    cascade_store *other = NULL;
    cascade_err err = cascade_store_open("memory:", options, &other);

    (void)store;
    return err == CASCADE_OK ? cascade_store_close(other) : err;
}

static cascade_err
use_start_options(cascade_store *store, const void *options)
{
    cascade_started started;

    return cascade_start(store, "n", NULL, options, &started);
}

static cascade_err
use_list_options(cascade_store *store, const void *options)
{
    cascade_page *page = NULL;
    cascade_err err = cascade_list(store, options, &page);

    cascade_page_free(page);
    return err;
}

static cascade_err
use_snapshot_options(cascade_store *store, const void *options)
{
    cascade_snapshot *snapshot = NULL;
    cascade_started started;
    cascade_err err = CASCADE_OK;

    assert_ok(cascade_start(store, "n", NULL, NULL, &started));
    err = cascade_snapshot_load(store, &started.id, options, &snapshot);
    cascade_snapshot_free(snapshot);
    return err;
}

static cascade_err
use_engine_options(cascade_store *store, const void *options)
{
    cascade_engine *engine = NULL;
    cascade_err err = cascade_engine_open(store, options, &engine);

    return err == CASCADE_OK ? cascade_engine_close(engine) : err;
}

static cascade_err
use_node_options(cascade_store *store, const void *options)
{
    cascade_engine *engine = NULL;
    cascade_err err = CASCADE_OK;

    assert_ok(cascade_engine_open(store, NULL, &engine));
    err = cascade_engine_register(engine, "n", do_nothing, NULL, options);
    assert_int_equal(CASCADE_OK, cascade_engine_close(engine));
    return err;
}

#define TAIL 64

/* Options of `known` bytes in the eyes of a caller of another release. */
static void
check_sizes(cascade_store *store, options_user use, size_t known)
{
    unsigned char *bytes = calloc(1, known + TAIL);
    const size_t good[] = {known, sizeof(size_t), known - 1, known + TAIL};
    const size_t bad[] = {0, 1, sizeof(size_t) - 1, SIZE_MAX};

    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        memcpy(bytes, &good[i], sizeof(size_t));
        assert_int_equal(CASCADE_OK, use(store, bytes));
        assert_string_equal("", cascade_errmsg());
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(bytes, &bad[i], sizeof(size_t));
        assert_int_equal(INVALID, use(store, bytes));
    }
    memcpy(bytes, &good[3], sizeof(size_t));
    bytes[known + TAIL - 1] = 1;
    assert_int_equal(INVALID, use(store, bytes));
    bytes[known + TAIL - 1] = 0;
    bytes[known] = 1;
    assert_int_equal(INVALID, use(store, bytes));
    free(bytes);
}

static void
options_tell_their_size(test_db *db)
{
    cascade_store *store = db_store(db);

    check_sizes(store, use_store_options, sizeof(cascade_store_options));
    check_sizes(store, use_start_options, sizeof(cascade_start_options));
    check_sizes(store, use_list_options, sizeof(cascade_list_options));
    check_sizes(store, use_snapshot_options, sizeof(cascade_snapshot_options));
    check_sizes(store, use_engine_options, sizeof(cascade_engine_options));
    check_sizes(store, use_node_options, sizeof(cascade_node_options));
}

/* ---- Inside a node ------------------------------------------------------- */

static cascade_err
step(cascade_node *node, void *arg, cJSON **result)
{
    cascade_err err = cascade_node_step(node, "inner", step, arg, NULL, result);

    expect(err == CASCADE_ERR_MISUSE);
    expect(cascade_node_output(node, cJSON_CreateTrue()) == CASCADE_ERR_MISUSE);
    expect(cascade_errmsg()[0] != '\0');
    return CASCADE_OK;
}

static bool
is_refused(cascade_err err)
{
    return err == INVALID && cascade_errmsg()[0] != '\0';
}

static void
read_wrongly(cascade_node *node)
{
    const cJSON *const untouched = (const cJSON *)node;
    const cJSON *value = untouched;

    expect(is_refused(cascade_node_get(NULL, "k", &value)));
    expect(is_refused(cascade_node_get(node, NULL, &value)));
    expect(is_refused(cascade_node_get(node, "", &value)));
    expect(is_refused(cascade_node_get(node, "k", NULL)));
    expect(cascade_node_get(node, "k", &value) == CASCADE_ERR_NOT_FOUND);
    expect(is_refused(cascade_node_progress(NULL, &value)));
    expect(is_refused(cascade_node_progress(node, NULL)));
    expect(is_refused(cascade_node_heartbeat(NULL, cJSON_CreateTrue())));
    expect(cascade_node_heartbeat(node, cJSON_CreateRaw("{}")) ==
           CASCADE_ERR_JSON);
    expect(cascade_node_progress(node, &value) == CASCADE_ERR_NOT_FOUND);
    expect(is_refused(cascade_node_history(NULL, "k", &value)));
    expect(is_refused(cascade_node_history(node, NULL, &value)));
    expect(is_refused(cascade_node_history(node, "k", NULL)));
    expect(
        is_refused(cascade_node_history_part(NULL, "k", 0, 1, &value, NULL)));
    expect(
        is_refused(cascade_node_history_part(node, NULL, 0, 1, &value, NULL)));
    expect(is_refused(cascade_node_history_part(node, "k", 0, 1, NULL, NULL)));
    expect(is_refused(cascade_node_outcomes(NULL, &value)));
    expect(is_refused(cascade_node_outcomes(node, NULL)));
    expect(value == untouched);
}

static cascade_err
undo_nothing(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)user;
    (void)input;
    return CASCADE_OK;
}

static void
compensate_wrongly(cascade_node *node)
{
    const cascade_step_options bad = {.size = 0};

    expect(is_refused(cascade_node_compensate(NULL, "c", undo_nothing,
                                              cJSON_CreateTrue(), NULL)));
    expect(is_refused(cascade_node_compensate(node, NULL, undo_nothing,
                                              cJSON_CreateTrue(), NULL)));
    expect(is_refused(
        cascade_node_compensate(node, "c", NULL, cJSON_CreateTrue(), NULL)));
    expect(is_refused(cascade_node_compensate(node, "c", undo_nothing,
                                              cJSON_CreateTrue(), &bad)));
}

static void
ask_version_wrongly(cascade_node *node)
{
    int version = -7;

    expect(is_refused(cascade_node_version(NULL, "v", 0, 1, &version)));
    expect(is_refused(cascade_node_version(node, NULL, 0, 1, &version)));
    expect(is_refused(cascade_node_version(node, "v", 0, 1, NULL)));
    expect(is_refused(cascade_node_version(node, "v", -1, 1, &version)));
    expect(is_refused(cascade_node_version(node, "v", 1, 0, &version)));
    expect(version == -7);
}

static void
put_wrongly(cascade_node *node)
{
    cJSON *same = cJSON_CreateTrue();

    expect(is_refused(cascade_node_put(NULL, "k", cJSON_CreateTrue())));
    expect(is_refused(cascade_node_put(node, NULL, cJSON_CreateTrue())));
    expect(is_refused(cascade_node_put(node, "k", NULL)));
    expect(is_refused(cascade_node_put_ui(NULL, "k", cJSON_CreateTrue(),
                                          cJSON_CreateTrue())));
    expect(
        is_refused(cascade_node_put_ui(node, "k", NULL, cJSON_CreateTrue())));
    expect(is_refused(cascade_node_put_ui(node, NULL, same, same)));
    expect(is_refused(cascade_node_put_text(NULL, "k", "1", NULL)));
    expect(is_refused(cascade_node_put_text(node, "k", NULL, "1")));
    expect(is_refused(cascade_node_output(NULL, cJSON_CreateTrue())));
    expect(is_refused(cascade_node_output(node, NULL)));
}

#define CENTURY_MS (INT64_C(100) * 365 * 86400 * 1000)

static void
spawn_wrongly(cascade_node *node)
{
    const uint32_t later = 1;
    const cascade_spawn_options bad[] = {
        {.size = 0},
        {.size = sizeof(bad[0]), .delay_ms = -1},
        {.size = sizeof(bad[0]), .delay_ms = CENTURY_MS + 1},
        {.size = sizeof(bad[0]), .delay_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .priority = 10},
        {.size = sizeof(bad[0]), .priority = -1},
        {.size = sizeof(bad[0]), .after = &later, .after_count = 1},
        {.size = sizeof(bad[0]), .after = NULL, .after_count = 1},
        {.size = sizeof(bad[0]), .first = 1},
        {.size = sizeof(bad[0]), .on_failure = (cascade_join)3},
        {.size = sizeof(bad[0]), .on_failure = (cascade_join)-1}};

    expect(is_refused(cascade_node_spawn(NULL, "n", cJSON_CreateTrue(), NULL)));
    expect(
        is_refused(cascade_node_spawn(node, NULL, cJSON_CreateTrue(), NULL)));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect(is_refused(
            cascade_node_spawn(node, "n", cJSON_CreateTrue(), &bad[i])));
    expect(cascade_node_spawned(node) == 0);
}

static void
step_wrongly(cascade_node *node)
{
    const cascade_step_options bad[] = {
        {.size = 0},
        {.size = sizeof(bad[0]), .attempts_max = -2},
        {.size = sizeof(bad[0]), .jitter_percent = 101}};
    cJSON *const untouched = (cJSON *)node;
    cJSON *result = untouched;

    expect(is_refused(cascade_node_step(NULL, "s", step, NULL, NULL, &result)));
    expect(
        is_refused(cascade_node_step(node, NULL, step, NULL, NULL, &result)));
    expect(is_refused(
        cascade_node_step(node, "cascade.s", step, NULL, NULL, &result)));
    expect(is_refused(cascade_node_step(node, "s", NULL, NULL, NULL, &result)));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect(is_refused(
            cascade_node_step(node, "s", step, NULL, &bad[i], &result)));
    expect(result == untouched);
}

static void
run_wrongly(cascade_node *node)
{
    const char *const none[] = {NULL};
    const char *const empty[] = {"", NULL};
    const char *const argv[] = {"true", NULL};
    const cascade_program fine = {.size = sizeof(fine), .argv = argv};
    const cascade_program bad[] = {
        {.size = 0, .argv = argv},
        {.size = sizeof(bad[0]), .argv = NULL},
        {.size = sizeof(bad[0]), .argv = none},
        {.size = sizeof(bad[0]), .argv = empty},
        {.size = sizeof(bad[0]), .argv = argv, .folder = ""},
        {.size = sizeof(bad[0]), .argv = argv, .timeout_ms = -1},
        {.size = sizeof(bad[0]), .argv = argv, .timeout_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .argv = argv, .grace_ms = -2},
        {.size = sizeof(bad[0]), .argv = argv, .grace_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .argv = argv, .cpu_max_s = -1},
        {.size = sizeof(bad[0]), .argv = argv, .memory_max_bytes = -1},
        {.size = sizeof(bad[0]), .argv = argv, .file_max_bytes = -1},
        {.size = sizeof(bad[0]), .argv = argv, .open_files_max = -1}};
    const cascade_step_options wrong = {.size = 0};
    cJSON *const untouched = (cJSON *)node;
    cJSON *result = untouched;

    expect(is_refused(cascade_node_program(NULL, "r", &fine, NULL, &result)));
    expect(is_refused(cascade_node_program(node, NULL, &fine, NULL, &result)));
    expect(is_refused(cascade_node_program(node, "a b", &fine, NULL, &result)));
    expect(is_refused(cascade_node_program(node, "r", NULL, NULL, &result)));
    expect(is_refused(cascade_node_program(node, "r", &fine, &wrong, &result)));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect(is_refused(
            cascade_node_program(node, "r", &bad[i], NULL, &result)));
    expect(result == untouched);
}

static void
answer_wrongly(cascade_node *node)
{
    char long_path[1100] = "n/";
    const char *const bad[] = {NULL,         "",       "n",
                               "/p",         "a b/p",  "cascade.n/p",
                               "\xff\xfe/x", "n/\xff", long_path};

    memset(long_path + 2, 'p', sizeof(long_path) - 3);
    expect(is_refused(cascade_node_answer(NULL, "n/p", cJSON_CreateTrue())));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect(
            is_refused(cascade_node_answer(node, bad[i], cJSON_CreateTrue())));
}

static cascade_err
misuse(cascade_node *node, void *user)
{
    (void)user;
    answer_wrongly(node);
    read_wrongly(node);
    put_wrongly(node);
    compensate_wrongly(node);
    ask_version_wrongly(node);
    spawn_wrongly(node);
    step_wrongly(node);
    run_wrongly(node);
    expect(is_refused(cascade_node_fail(NULL, "x")));
    expect(is_refused(cascade_node_error(NULL, "x")));
    expect(cascade_node_put_text(node, "done", "true", NULL) == CASCADE_OK);
    expect(cascade_errmsg()[0] == '\0');
    return cascade_node_step(node, "outer", step, NULL, NULL, NULL);
}

static void
calls_inside_a_node(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    assert_ok(cascade_engine_register(engine, "misuse", misuse, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "misuse");
    db_await(store, &id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_string_equal("{\"done\":[true]}",
                        cascade_snapshot_context(snapshot));
    cascade_snapshot_free(snapshot);
}

/* ---- Names and versions -------------------------------------------------- */

static void
errors_have_names_and_texts(test_db *db)
{
    (void)db;
#define CHECK_ERROR(name, value, text)                  \
    assert_int_equal(value, name);                      \
    assert_string_equal(#name, cascade_err_name(name)); \
    assert_string_equal(text, cascade_err_text(name));
    CASCADE_ERRORS(CHECK_ERROR)
#undef CHECK_ERROR
    assert_string_equal("CASCADE_ERR_UNKNOWN",
                        cascade_err_name((cascade_err)9999));
    assert_string_equal("CASCADE_ERR_UNKNOWN",
                        cascade_err_name((cascade_err)-1));
    assert_string_not_equal("", cascade_err_text((cascade_err)9999));
}

static void
version_is_that_of_the_header(test_db *db)
{
    char text[32];

    (void)db;
    snprintf(text, sizeof(text), "%d.%d.%d", CASCADE_VERSION_MAJOR,
             CASCADE_VERSION_MINOR, CASCADE_VERSION_PATCH);
    assert_string_equal(text, cascade_version());
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"ids", ids, STORES_MEMORY},
        {"stores", stores, STORES_ALL},
        {"starts", starts, STORES_ALL},
        {"looks", looks, STORES_ALL},
        {"nothing_was_read", nothing_was_read, STORES_MEMORY},
        {"what_frees_accepts_null", what_frees_accepts_null, STORES_MEMORY},
        {"engine_options_out_of_range", engine_options_out_of_range,
         STORES_MEMORY},
        {"registrations", registrations, STORES_MEMORY},
        {"registrations_of_externals", registrations_of_externals, STORES_ALL},
        {"engines", engines, STORES_ALL},
        {"options_tell_their_size", options_tell_their_size, STORES_MEMORY},
        {"calls_inside_a_node", calls_inside_a_node, STORES_ALL},
        {"errors_have_names_and_texts", errors_have_names_and_texts,
         STORES_MEMORY},
        {"version_is_that_of_the_header", version_is_that_of_the_header,
         STORES_MEMORY},
    };

    return stores_run("arguments", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
