/* SPDX-License-Identifier: MIT
 *
 * External executions: they wait without a thread, are completed or failed from
 * outside once, and fail at their deadline; whatever else comes is refused.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"
#include "store/store.h"

#define TASK "approve"
#define MINUTE_MS INT64_C(60000)

/* An execution that waits, as one who shows it to a person sees it. */
typedef struct task {
    char path[300];
    char token[CASCADE_UUID_TEXT_SIZE];
    char location[20];
    int64_t deadline_ms;
    cascade_execution_status status;
    char error[200];
} task;

/* What the nodes of a play met. */
typedef struct course {
    const cascade_spawn_options *options; /* of the task */
    char input[300];
    char seen[100];
    atomic_int begun;
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
ask(cascade_node *node, void *user)
{
    return cascade_node_spawn(node, TASK, cJSON_Parse("{\"amount\":7}"),
                              course_of(user)->options);
}

static cascade_err
ask_twice(cascade_node *node, void *user)
{
    cascade_err err = ask(node, user);

    return err == CASCADE_OK ? ask(node, user) : err;
}

/* The task comes after another execution. */
static cascade_err
ask_after(cascade_node *node, void *user)
{
    static const uint32_t first = 1;
    const cascade_spawn_options options = {.size = sizeof(options),
                                           .delay_ms = 20,
                                           .after = &first,
                                           .after_count = 1};
    cascade_err err = cascade_node_spawn(node, "waits", NULL, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, TASK, NULL, &options);
}

/* And waits itself: so the cascade does not end with the task. */
static cascade_err
ask_and_wait(cascade_node *node, void *user)
{
    cascade_err err = ask(node, user);

    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "waits", NULL, NULL);
    return err;
}

static cascade_err
wait_for_a_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

/* What comes after the task. */
static cascade_err
look_around(cascade_node *node, void *user)
{
    course *c = course_of(user);
    const cJSON *value = NULL;

    atomic_fetch_add(&c->begun, 1);
    (void)snprintf(c->input, sizeof(c->input), "%s",
                   cascade_node_input_text(node));
    if (cascade_node_get(node, "decision", &value) == CASCADE_OK)
        (void)snprintf(c->seen, sizeof(c->seen), "%s",
                       cJSON_GetStringValue(value));
    return CASCADE_OK;
}

/* ---- Helpers ------------------------------------------------------------ */

static bool
find_task(const play *p, task *found)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    bool there = false;

    *found = (task){.deadline_ms = 0};
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        if (strcmp(info->node_name, TASK) != 0)
            continue;
        there = true;
        (void)snprintf(found->path, sizeof(found->path), "%s",
                       info->node_instance_id);
        (void)snprintf(found->token, sizeof(found->token), "%s",
                       info->token != NULL ? info->token : "");
        (void)snprintf(found->location, sizeof(found->location), "%s",
                       info->location);
        (void)snprintf(found->error, sizeof(found->error), "%s",
                       info->error != NULL ? info->error : "");
        found->deadline_ms = info->deadline_ms;
        found->status = info->status;
    }
    cascade_snapshot_free(snapshot);
    return there;
}

static bool
has_token(void *context)
{
    task found;

    return find_task(context, &found) && found.token[0] != '\0';
}

/* Plays on until the task waits. */
static task
await_task(play *p)
{
    task found;

    play_on(p, has_token, p);
    assert_true(find_task(p, &found));
    assert_int_equal(found.status, CASCADE_EXECUTION_RUNNING);
    return found;
}

static cascade_err
complete(const play *p, const task *t, const cascade_completion *completion)
{
    return cascade_complete(p->store, &p->id, t->path, t->token, completion,
                            NULL);
}

static cascade_err
reject(const play *p, const task *t, const char *error)
{
    const cascade_completion failure = {.size = sizeof(failure),
                                        .error = error};

    return complete(p, t, &failure);
}

static void
assert_result(const play *p, const char *wanted)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_string_equal(cascade_snapshot_result(snapshot), wanted);
    cascade_snapshot_free(snapshot);
}

static void
assert_error(const play *p, const char *wanted)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_string_equal(cascade_snapshot_error(snapshot), wanted);
    cascade_snapshot_free(snapshot);
}

/* ---- Completing --------------------------------------------------------- */

static void
assert_contexts(const play *p)
{
    const cascade_snapshot_options ui = {.size = sizeof(ui), .ui = true};
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"decision\":[\"yes\"]}");
    cascade_snapshot_free(snapshot);
    assert_ok(cascade_snapshot_load(p->store, &p->id, &ui, &snapshot));
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"decision\":[\"agreed\"]}");
    cascade_snapshot_free(snapshot);
}

static void
a_completion_records_all_its_parts(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}, {"looks", look_around}},
              .externals = {{TASK, {0}}},
              .user = &c};
    cJSON *yes = cJSON_CreateString("yes");
    cJSON *agreed = cJSON_CreateString("agreed");
    cJSON *input = cJSON_Parse("{\"n\":1}");
    const cascade_completion_put put = {.size = sizeof(put),
                                        .key = "decision",
                                        .value = yes,
                                        .ui_value = agreed};
    const cascade_completion_spawn spawn = {.size = sizeof(spawn),
                                            .node = "looks",
                                            .input = input,
                                            .delay_ms = 5,
                                            .priority = 3};
    const cascade_completion completion = {.size = sizeof(completion),
                                           .output_text = "{ \"ok\" : true }",
                                           .puts = &put,
                                           .put_count = 1,
                                           .spawns = &spawn,
                                           .spawn_count = 1};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_string_equal(t.location, "client");
    assert_true(t.deadline_ms == CASCADE_TIME_NONE);
    assert_ok(complete(&p, &t, &completion));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_result(&p, "{\"ok\":true}");
    assert_contexts(&p);
    assert_string_equal(c.input, "{\"n\":1}");
    assert_string_equal(c.seen, "yes");
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    assert_true(find_task(&p, &t));
    assert_string_equal(t.token, "");
    cJSON_Delete(yes);
    cJSON_Delete(agreed);
    cJSON_Delete(input);
    play_end(&p);
}

/* Of two that wait the second is completed first. */
static void
each_token_is_of_one_task(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {
        .nodes = {{"asks", ask_twice}}, .externals = {{TASK, {0}}}, .user = &c};
    cascade_snapshot *snapshot = NULL;
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(complete(&p, &t, NULL));
    play_until(&p, TASK, CASCADE_EXECUTION_COMPLETED, 1);
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 1)->status,
                     CASCADE_EXECUTION_RUNNING);
    assert_int_equal(play_execution(snapshot, 2)->status,
                     CASCADE_EXECUTION_COMPLETED);
    (void)snprintf(t.path, sizeof(t.path), "%s",
                   play_execution(snapshot, 1)->node_instance_id);
    (void)snprintf(t.token, sizeof(t.token), "%s",
                   play_execution(snapshot, 1)->token);
    cascade_snapshot_free(snapshot);
    assert_ok(complete(&p, &t, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* As deep as a payload may be, from the outside to a store and back, twice: in
 * the message, and in the rows. */
static void
payloads_may_be_deep(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}, {"looks", look_around}},
              .externals = {{TASK, {0}}},
              .user = &c};
    char deep[2 * 128 + 1];
    cJSON *tree = NULL;
    cascade_completion_put put = {.size = sizeof(put), .key = "deep"};
    cascade_completion_spawn spawn = {.size = sizeof(spawn), .node = "looks"};
    cascade_completion completion = {.size = sizeof(completion),
                                     .output_text = deep,
                                     .puts = &put,
                                     .put_count = 1,
                                     .spawns = &spawn,
                                     .spawn_count = 1};
    task t;

    memset(deep, '[', 128);
    memset(deep + 128, ']', 128);
    deep[256] = '\0';
    tree = cJSON_Parse(deep);
    put.value = tree;
    put.ui_value = tree;
    spawn.input = tree;
    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(complete(&p, &t, &completion));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_result(&p, deep);
    assert_string_equal(c.input, deep);
    cJSON_Delete(tree);
    play_end(&p);
}

/* Nobody knows the node that is spawned: it stays as it was recorded. */
static void
a_spawn_keeps_its_priority(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    const cascade_completion_spawn spawn = {
        .size = sizeof(spawn), .node = "nobody", .priority = 3};
    const cascade_completion completion = {
        .size = sizeof(completion), .spawns = &spawn, .spawn_count = 1};
    cascade_snapshot *snapshot = NULL;
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(complete(&p, &t, &completion));
    play_until(&p, "nobody", CASCADE_EXECUTION_RUNNING, 1);
    snapshot = play_snapshot(&p);
    assert_string_equal(play_execution(snapshot, 2)->full_output,
                        "{\"priority\":3}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
the_first_node_may_be_external(test_db *db, cascade_mode mode)
{
    play p = {.externals = {{TASK, {.timeout_ms = MINUTE_MS * 60}}}};
    const cascade_completion completion = {.size = sizeof(completion),
                                           .output_text = "1"};
    task t;

    play_begin(&p, db, mode, TASK);
    t = await_task(&p);
    assert_true(t.deadline_ms != CASCADE_TIME_NONE);
    assert_ok(complete(&p, &t, &completion));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_result(&p, "1");
    play_end(&p);
}

static void
a_task_waits_for_others_first(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_after}, {"waits", wait_for_a_signal}},
              .externals = {{TASK, {.timeout_ms = MINUTE_MS * 60}}},
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_true(find_task(&p, &t));
    assert_string_equal(t.token, "");
    assert_string_equal(t.location, "client");
    assert_fails(CASCADE_ERR_MISUSE,
                 cascade_complete(p.store, &p.id, t.path,
                                  "00000000-0000-7000-8000-000000000001", NULL,
                                  NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    t = await_task(&p);
    assert_ok(complete(&p, &t, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

static void
a_parked_one_is_completed(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}, {"looks", look_around}},
              .externals = {{TASK, {.timeout_ms = MINUTE_MS * 60}}},
              .park_after_ms = 1,
              .user = &c};
    const cascade_completion_spawn spawn = {.size = sizeof(spawn),
                                            .node = "looks"};
    const cascade_completion completion = {
        .size = sizeof(completion), .spawns = &spawn, .spawn_count = 1};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    play_until_parked(&p);
    assert_ok(complete(&p, &t, &completion));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.begun), 1);
    play_end(&p);
}

/* Without a deadline nobody looks at it every hour. */
static void
one_without_a_deadline_is_left_alone(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK, {0}}},
              .park_after_ms = 1,
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    play_until_left(&p);
    assert_ok(complete(&p, &t, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- Failing ------------------------------------------------------------ */

static void
a_failure_ends_the_cascade(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(reject(&p, &t, "refused by \"the boss\""));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_error(&p, "refused by \"the boss\"");
    play_end(&p);
}

static void
a_cascade_goes_on_without_it(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK, {.final_failure = CASCADE_FINAL_CONTINUE}}},
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(reject(&p, &t, "no"));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

static void
another_node_runs_instead(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}, {"looks", look_around}},
              .externals = {{TASK,
                             {.final_failure = CASCADE_FINAL_INSTEAD,
                              .instead = "looks"}}},
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(reject(&p, &t, "no"));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_string_equal(c.input,
                        "{\"node\":\"approve\",\"error\":\"no\",\"input\":{"
                        "\"amount\":7}}");
    play_end(&p);
}

/* ---- The deadline ------------------------------------------------------- */

#define SOON_MS 200 /* to begin with: what comes too late for it begins again */
#define SOON_MAX_MS 60000

static bool
has_token_or_ended(void *context)
{
    const play *p = context;
    db_ends ends = {p->store, &p->id, 1, 0};

    return has_token(context) || db_all_ended(&ends);
}

/* Another play, with twice the time: on a real clock it may be too short. */
static void
begin_again(play *p)
{
    play_end(p);
    assert_false(p->db->fake_time);
    p->externals[0].options.timeout_ms *= 2;
    assert_true(p->externals[0].options.timeout_ms <= SOON_MAX_MS);
    play_begin(p, p->db, p->mode, "asks");
    play_on(p, has_token_or_ended, p);
}

static void
the_deadline_fails_it(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK, {.timeout_ms = SOON_MS}}},
              .user = &c};
    cascade_info *info = NULL;
    task t;

    play_begin(&p, db, mode, "asks");
    play_on(&p, has_token_or_ended, &p);
    while (!find_task(&p, &t) || t.token[0] == '\0')
        begin_again(&p);
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_error(&p, "the deadline passed");
    assert_ok(cascade_get(p.store, &p.id, &info));
    assert_true(info->updated_at_ms >= t.deadline_ms);
    cascade_info_free(info);
    assert_fails(CASCADE_ERR_TIMEOUT, complete(&p, &t, NULL));
    assert_true(find_task(&p, &t));
    assert_int_equal(t.status, CASCADE_EXECUTION_FAILED);
    play_end(&p);
}

/* What came to be parked too late was not. */
static void
the_deadline_finds_it_parked(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}, {"looks", look_around}},
              .externals = {{TASK,
                             {.timeout_ms = SOON_MS,
                              .final_failure = CASCADE_FINAL_INSTEAD,
                              .instead = "looks"}}},
              .park_after_ms = 1,
              .user = &c};

    play_begin(&p, db, mode, "asks");
    play_await(&p, &p.id, CASCADE_COMPLETED);
    while (db_stats(p.engine).parked == 0) {
        begin_again(&p);
        play_await(&p, &p.id, CASCADE_COMPLETED);
    }
    assert_non_null(strstr(c.input, "the deadline passed"));
    play_end(&p);
}

/* It has come, but nobody has recorded that so far. */
static void
a_completion_after_the_deadline_is_refused(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK, {.timeout_ms = MINUTE_MS}}},
              .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_INLINE, "asks");
    t = await_task(&p);
    fake_clock_advance(&db->clock, MINUTE_MS);
    assert_fails(CASCADE_ERR_TIMEOUT, complete(&p, &t, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_end(&p);
}

/* The engine that is there knows no node: the policy is in the record. */
static void
the_deadline_needs_no_engine_that_knows_the_node(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK,
                             {.timeout_ms = MINUTE_MS,
                              .final_failure = CASCADE_FINAL_CONTINUE}}},
              .poll_interval_ms = MINUTE_MS / 4,
              .user = &c};
    cascade_store *store = NULL;

    play_begin(&p, db, CASCADE_MODE_INLINE, "asks");
    (void)await_task(&p);
    store = p.store;
    db_close_engine(db, p.engine);
    p.nodes[0].name = NULL;
    p.externals[0].name = NULL;
    play_open(&p, db, CASCADE_MODE_INLINE);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    db_close_store(db, store);
    play_end(&p);
}

/* ---- Once --------------------------------------------------------------- */

static void
a_second_completion_is_refused(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_and_wait}, {"waits", wait_for_a_signal}},
              .externals = {{TASK, {0}}},
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(complete(&p, &t, NULL));
    /* Received or not. */
    assert_fails(CASCADE_ERR_EXISTS, reject(&p, &t, "too late"));
    play_until(&p, TASK, CASCADE_EXECUTION_COMPLETED, 1);
    assert_fails(CASCADE_ERR_EXISTS, complete(&p, &t, NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_EXISTS, complete(&p, &t, NULL));
    play_end(&p);
}

/* The first try took effect, its reply is lost, and the second finds what came
 * of it. */
static cascade_err
lose_reply(void *context, const wrap_call *call, cascade_err answer)
{
    play *p = context;

    if (call->move != WRAP_SUBMIT || call->number > 1)
        return answer;
    if (p->engine != NULL)
        expect(cascade_wait(p->store, &p->id, DB_WAIT_MS, NULL) == CASCADE_OK);
    return CASCADE_ERR_UNAVAILABLE;
}

/* Completes it from elsewhere, where `after` sees the answers. */
static cascade_err
complete_through(play *p, const task *t,
                 cascade_err (*after)(void *, const wrap_call *, cascade_err),
                 int64_t wait_ms)
{
    const cascade_complete_options options = {.size = sizeof(options),
                                              .wait_ms = wait_ms};
    wrap_store *wrap = wrap_store_create(p->db->url);
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;

    assert_non_null(wrap);
    wrap->context = p;
    wrap->after = after;
    store = db_wrapped(p->db, wrap);
    err = cascade_complete(store, &p->id, t->path, t->token, NULL, &options);
    db_close_store(p->db, store);
    wrap_store_free(wrap);
    return err;
}

static void
a_completion_knows_its_own_end(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_THREADS, "asks");
    t = await_task(&p);
    assert_ok(complete_through(&p, &t, lose_reply, 0));
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

/* Nobody has received it when the call looks. */
static void
a_completion_knows_its_own_message(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_THREADS, "asks");
    t = await_task(&p);
    db_close_engine(db, p.engine);
    p.engine = NULL;
    assert_ok(complete_through(&p, &t, lose_reply, -1));
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    db_close_store(db, p.store);
}

static void
one_that_comes_too_late_is_undelivered(test_db *db)
{
    const cascade_complete_options briefly = {.size = sizeof(briefly),
                                              .wait_ms = 1};
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_INLINE, "asks");
    t = await_task(&p);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    assert_fails(CASCADE_ERR_AGAIN, cascade_complete(p.store, &p.id, t.path,
                                                     t.token, NULL, &briefly));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_until(&p, "cascade.message:complete", CASCADE_EXECUTION_FAILED, 1);
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 0);
    assert_fails(CASCADE_ERR_ENDED, complete(&p, &t, NULL));
    play_end(&p);
}

/* ---- By whom ------------------------------------------------------------ */

static void
it_is_completed_with_no_engine_alive(test_db *db, cascade_mode mode)
{
    const cascade_complete_options wait = {.size = sizeof(wait), .wait_ms = -1};
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    cascade_store *other = NULL;
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    db_close_engine(db, p.engine);
    other = db_store(db);
    assert_ok(cascade_complete(other, &p.id, t.path, t.token, NULL, &wait));
    db_await(other, &p.id, CASCADE_COMPLETED);
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    db_close_store(db, other);
    db_close_store(db, p.store);
}

/* An engine that does nothing. */
static const cascade_incarnation idle = {
    .engine_id = {.bytes = {1, [6] = 0x70}},
    .host = "elsewhere",
    .lease_ms = MINUTE_MS * 60,
    .lane_count = 1};

/* When the call has seen that it is alive. */
static cascade_err
let_it_die(void *context, const wrap_call *call, cascade_err answer)
{
    play *p = context;

    if (call->move == WRAP_ENGINES &&
        atomic_fetch_add(&course_of(p)->begun, 1) == 0)
        expect(p->store->driver->renew(p->store->self, &idle.engine_id, 1,
                                       NULL) == CASCADE_OK);
    return answer;
}

static void
it_is_completed_when_the_last_engine_is_dead(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_THREADS, "asks");
    t = await_task(&p);
    db_close_engine(db, p.engine);
    assert_ok(p.store->driver->attach(p.store->self, &idle));
    assert_ok(complete_through(&p, &t, let_it_die, DB_WAIT_MS));
    assert_true(atomic_load(&c.begun) > 1);
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    db_close_store(db, p.store);
}

static void
who_waits_is_told(test_db *db)
{
    const cascade_complete_options wait = {.size = sizeof(wait), .wait_ms = -1};
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    task t;

    play_begin(&p, db, CASCADE_MODE_THREADS, "asks");
    t = await_task(&p);
    assert_ok(cascade_complete(p.store, &p.id, t.path, t.token, NULL, &wait));
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

/* ---- The cascade is cancelled, or deleted ------------------------------- */

static void
it_fails_with_the_cancellation(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}},
              .externals = {{TASK, {.timeout_ms = MINUTE_MS * 60}}},
              .user = &c};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_error(&p, "cancelled");
    assert_fails(CASCADE_ERR_CANCELLED, complete(&p, &t, NULL));
    assert_int_equal(play_count(&p, TASK, CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

static void
it_is_gone_with_its_cascade(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    cascade_info *info = NULL;
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    db_close_engine(db, p.engine);
    assert_ok(cascade_delete(p.store, &p.id, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(p.store, &p.id, &info));
    assert_fails(CASCADE_ERR_NOT_FOUND, complete(&p, &t, NULL));
    db_close_store(db, p.store);
}

/* ---- What is refused ---------------------------------------------------- */

static void
others_are_refused(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_and_wait}, {"waits", wait_for_a_signal}},
              .externals = {{TASK, {0}}},
              .user = &c};
    char path[100];
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid nobody = {{1}};
    task t;

    play_begin(&p, db, mode, "asks");
    t = await_task(&p);
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    cascade_uuid_format(&p.id, text);
    (void)snprintf(path, sizeof(path), "%s/-/asks#0", text);
    assert_fails(CASCADE_ERR_MISUSE, /* it has ended */
                 cascade_complete(p.store, &p.id, path, t.token, NULL, NULL));
    (void)snprintf(path, sizeof(path), "%s/0/waits#0", text);
    assert_fails(CASCADE_ERR_MISUSE, /* it is RUNNING */
                 cascade_complete(p.store, &p.id, path, t.token, NULL, NULL));
    (void)snprintf(path, sizeof(path), "%s/0/nobody#0", text);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_complete(p.store, &p.id, path, t.token, NULL, NULL));
    assert_fails(
        CASCADE_ERR_NOT_FOUND,
        cascade_complete(p.store, &nobody, t.path, t.token, NULL, NULL));
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_complete(p.store, &p.id, t.path, text, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_complete(p.store, &p.id, t.path, "open", NULL, NULL));
    assert_ok(complete(&p, &t, NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

static void
refuse(const play *p, const task *t, cascade_err err,
       cascade_completion completion)
{
    completion.size = sizeof(completion);
    assert_fails(err, complete(p, t, &completion));
}

static void
bad_input_is_refused(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask}}, .externals = {{TASK, {0}}}, .user = &c};
    cJSON *one = cJSON_CreateNumber(1);
    const cascade_completion_put no_key = {
        .size = sizeof(no_key), .key = "", .value = one};
    const cascade_completion_put no_value = {.size = sizeof(no_value),
                                             .key = "k"};
    const cascade_completion_spawn no_name = {.size = sizeof(no_name),
                                              .node = "a b"};
    const cascade_completion_spawn early = {
        .size = sizeof(early), .node = "a", .delay_ms = -1};
    const cascade_completion_spawn never = {
        .size = sizeof(never), .node = "a", .delay_ms = INT64_MAX};
    const cascade_completion_spawn high = {
        .size = sizeof(high), .node = "a", .priority = 10};
    const cascade_complete_options wait = {.size = sizeof(wait), .wait_ms = -2};
    task t;

    play_begin(&p, db, CASCADE_MODE_INLINE, "asks");
    t = await_task(&p);
#define REFUSED(err, ...) \
    refuse(&p, &t, (err), (cascade_completion){__VA_ARGS__})
    REFUSED(CASCADE_ERR_JSON, .output_text = "{");
    REFUSED(CASCADE_ERR_INVALID, .output_text = "1", .output = one);
    REFUSED(CASCADE_ERR_INVALID, .error = "");
    REFUSED(CASCADE_ERR_INVALID, .error = "no", .output = one);
    REFUSED(CASCADE_ERR_INVALID, .put_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .spawn_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .puts = &no_key, .put_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .puts = &no_value, .put_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .spawns = &no_name, .spawn_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .spawns = &early, .spawn_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .spawns = &never, .spawn_count = 1);
    REFUSED(CASCADE_ERR_INVALID, .spawns = &high, .spawn_count = 1);
#undef REFUSED
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_complete(NULL, &p.id, t.path, t.token, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_complete(p.store, &p.id, t.path, NULL, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_complete(p.store, &p.id, t.path,
                                                       t.token, NULL, &wait));
    cJSON_Delete(one);
    assert_ok(complete(&p, &t, NULL)); /* nothing had been written */
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_completion_records_all_its_parts)
PLAY_MODES(each_token_is_of_one_task)
PLAY_MODES(payloads_may_be_deep)
PLAY_MODES(a_spawn_keeps_its_priority)
PLAY_MODES(the_first_node_may_be_external)
PLAY_MODES(a_task_waits_for_others_first)
PLAY_MODES(a_parked_one_is_completed)
PLAY_MODES(one_without_a_deadline_is_left_alone)
PLAY_MODES(a_failure_ends_the_cascade)
PLAY_MODES(a_cascade_goes_on_without_it)
PLAY_MODES(another_node_runs_instead)
PLAY_MODES(the_deadline_fails_it)
PLAY_MODES(the_deadline_finds_it_parked)
PLAY_MODES(a_second_completion_is_refused)
PLAY_MODES(it_is_completed_with_no_engine_alive)
PLAY_MODES(it_fails_with_the_cancellation)
PLAY_MODES(it_is_gone_with_its_cascade)
PLAY_MODES(others_are_refused)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_completion_records_all_its_parts),
        PLAY_TESTS(each_token_is_of_one_task),
        PLAY_TESTS(payloads_may_be_deep),
        PLAY_TESTS(a_spawn_keeps_its_priority),
        PLAY_TESTS(the_first_node_may_be_external),
        PLAY_TESTS(a_task_waits_for_others_first),
        PLAY_TESTS(a_parked_one_is_completed),
        PLAY_TESTS(one_without_a_deadline_is_left_alone),
        PLAY_TESTS(a_failure_ends_the_cascade),
        PLAY_TESTS(a_cascade_goes_on_without_it),
        PLAY_TESTS(another_node_runs_instead),
        PLAY_TESTS(the_deadline_fails_it),
        PLAY_TESTS(the_deadline_finds_it_parked),
        PLAY_TESTS(a_second_completion_is_refused),
        PLAY_TESTS(it_is_completed_with_no_engine_alive),
        PLAY_TESTS(it_fails_with_the_cancellation),
        PLAY_TESTS(it_is_gone_with_its_cascade),
        PLAY_TESTS(others_are_refused),
        {"a_completion_after_the_deadline_is_refused",
         a_completion_after_the_deadline_is_refused, STORES_VIRTUAL},
        {"the_deadline_needs_no_engine_that_knows_the_node",
         the_deadline_needs_no_engine_that_knows_the_node, STORES_VIRTUAL},
        {"a_completion_knows_its_own_end", a_completion_knows_its_own_end,
         STORES_ALL},
        {"a_completion_knows_its_own_message",
         a_completion_knows_its_own_message, STORES_ALL},
        {"one_that_comes_too_late_is_undelivered",
         one_that_comes_too_late_is_undelivered, STORES_ALL},
        {"it_is_completed_when_the_last_engine_is_dead",
         it_is_completed_when_the_last_engine_is_dead, STORES_ALL},
        {"who_waits_is_told", who_waits_is_told, STORES_ALL},
        {"bad_input_is_refused", bad_input_is_refused, STORES_ALL},
    };

    return stores_run("externals", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
