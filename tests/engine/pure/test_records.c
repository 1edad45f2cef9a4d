/* SPDX-License-Identifier: MIT
 *
 * What full_output says: each way in which a record is written, to the byte.
 * What is read of it: test_record_members.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "support/hand.h"

#define NOW INT64_C(1700000000000)
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define FAILED CASCADE_EXECUTION_FAILED
#define KID "01890000-0000-7000-8000-000000000001"
#define TOKEN "01890000-0000-7000-8000-000000000002"
#define BY "01890000-0000-7000-8000-000000000003"
#define NEXT "01890000-0000-7000-8000-000000000004"
#define META "{\"queue\":\"q\",\"priority\":4}"

/* ---- A cascade of records that have all members ------------------------- */

typedef struct row_spec {
    int32_t parent;
    const char *name;
    cascade_execution_status status;
    const char *full_output;
} row_spec;

/* By function_id. 2 stands for 1; 4 joins 2 and 3; 5 waits outside. */
static const row_spec specs[] = {
    {-1, "a", RUNNING,
     "{\"over\":true,\"undo\":true,\"steps\":{\"x#0\":1},\"cascade\":" META
     ",\"attempts\":2,\"priority\":3,\"progress\":[1],\"not_before\":5}"},
    {0, "b", FAILED, "{\"at\":1,\"attempts\":1,\"continue\":true}"},
    {0, "c", RUNNING, "{\"instead_of\":1}"},
    {0, "d", RUNNING, NULL},
    {0, "e", RUNNING,
     "{\"undo\":true,\"after\":[2,3],\"first\":1,\"steps\":{\"y#0\":2},"
     "\"resumes\":1,\"attempts\":1,\"priority\":9,\"progress\":\"p\",\"not_"
     "before\":7,"
     "\"on_failure\":\"skip\"}"},
    {0, "f", RUNNING,
     "{\"token\":\"" TOKEN "\",\"instead\":\"g\",\"deadline\":1800000000000}"},
    {0, "cascade.child:k", RUNNING,
     "{\"child\":\"" KID "\",\"policy\":\"terminate\"}"},
    {0, "cascade.sleep:s", RUNNING, "{\"not_before\":1800000000000}"},
    {0, "cascade.await:n", RUNNING,
     "{\"after\":[2],\"not_before\":1800000000000}"},
    {0, "h", RUNNING, "{\"after\":[2,4],\"on_failure\":\"fail\"}"},
    {0, "i", RUNNING, "{\"not_before\":1800000000000}"},
};

enum {
    ROOT,
    GONE,
    STAND_IN,
    PLAIN,
    JOIN,
    OUTSIDE,
    CHILD,
    SLEEP,
    AWAIT,
    STRICT,
    PUT_OFF
};

typedef struct site {
    csc_arena arena;
    csc_state *state;
    csc_build_env env;
    cascade_change change;
} site;

static void
fill(void *context, void *bytes, size_t len)
{
    (void)context;
    memset(bytes, 0x11, len);
}

static const cascade_random fixed = {NULL, fill};

static cascade_uuid
id_of(const char *text)
{
    cascade_uuid id;

    assert_int_equal(cascade_uuid_parse(text, &id), CASCADE_OK);
    return id;
}

static csc_build_env
env_of(csc_arena *arena)
{
    return (csc_build_env){.arena = arena,
                           .random = &fixed,
                           .location = "here",
                           .now_ms = NOW,
                           .delay_from_ms = NOW};
}

static site *
site_open(void)
{
    static site s;

    memset(&s, 0, sizeof(s));
    s.state = hand_fresh();
    s.env = env_of(&s.arena);
    hand_apply(s.state, 0, HAND_ID "/-/a#0", "a", RUNNING,
               specs[0].full_output);
    for (int32_t i = 1; i < (int32_t)(sizeof(specs) / sizeof(specs[0])); i++)
        hand_apply_under(s.state, i, specs[i].parent, specs[i].name, 0,
                         specs[i].status, specs[i].full_output);
    s.state->fn_id = (int32_t)(sizeof(specs) / sizeof(specs[0])) - 1;
    csc_state_settle(s.state);
    return &s;
}

static void
site_close(site *s)
{
    csc_arena_fini(&s->arena);
    hand_done(s->state);
}

static csc_post *
make_post(csc_post_kind kind, int32_t function_id)
{
    csc_post *post = csc_op_create(kind, function_id);

    assert_non_null(post);
    post->attempts = 3;
    return post;
}

static csc_message *
add_message(csc_post *post, const char *kind, const char *name,
            const char *payload)
{
    csc_message *message = csc_arena_alloc(&post->arena, 1, sizeof(*message));

    assert_non_null(message);
    *message = (csc_message){.id = 1,
                             .kind = kind,
                             .name = name,
                             .path = HAND_ID "/message/m",
                             .payload = payload};
    post->messages = message;
    post->message_count = 1;
    return message;
}

static csc_spawn *
add_spawn(csc_post *post, const char *name)
{
    csc_spawn *spawn = csc_arena_alloc(&post->arena, 1, sizeof(*spawn));

    assert_non_null(spawn);
    spawn->name = name;
    spawn->input = "{}";
    csc_op_add_spawn(&post->effects, spawn);
    return spawn;
}

static void
add_put(csc_post *post, const char *key)
{
    csc_put *put = csc_arena_alloc(&post->arena, 1, sizeof(*put));

    assert_non_null(put);
    put->key = key;
    put->value = "1";
    csc_op_add_put(&post->effects, put);
}

#define RUNNING_ROWS 1u
#define ENDED_ROWS 2u
#define BOTH_ROWS 3u

/* What the table says of each member. */
static const struct {
    const char *name;
    unsigned rows;
} members[] = {
#define MEMBER(type, field, name, kind, rows) {name, rows##_ROWS},
    CSC_RECORD_MEMBERS(MEMBER)
#undef MEMBER
};

static unsigned
rows_of(csc_json_span key)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (csc_json_read_is(key, members[i].name))
            return members[i].rows;
    return 0;
}

/* Canonical, and of members that are known on rows of that status. */
static void
check_row(const cascade_execution_row *row)
{
    const char *text = row->full_output;
    unsigned rows = row->status == RUNNING ? RUNNING_ROWS : ENDED_ROWS;
    csc_buf out = {0};
    csc_json_iter iter;

    if (text == NULL)
        return;
    assert_int_equal(csc_json_canon("x", text, strlen(text), 1 << 20, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, text);
    csc_buf_fini(&out);
    csc_json_read_iter_init(&iter, text, strlen(text));
    while (csc_json_read_next(&iter))
        assert_int_not_equal(rows_of(iter.key) & rows, 0);
}

static void
tell(csc_buf *told, const char *sign, const cascade_execution_row *rows,
     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_row(&rows[i]);
        csc_buf_add_format(told, "%s%d %s\n", sign, (int)rows[i].function_id,
                           rows[i].full_output != NULL ? rows[i].full_output
                                                       : "-");
    }
}

/* The records of a change: `n` of an update, `+n` of an insert; ' for ". */
static void
assert_told(const cascade_change *change, const char *expected)
{
    csc_buf told = {0};

    tell(&told, "", change->updates, change->update_count);
    tell(&told, "+", change->inserts, change->insert_count);
    for (char *at = strchr(told.data, '"'); at != NULL; at = strchr(at, '"'))
        *at = '\'';
    assert_string_equal(told.data, expected);
    csc_buf_fini(&told);
}

static void
build(site *s, csc_post *post, const char *expected)
{
    assert_int_equal(csc_build_change(&s->env, s->state, post, &s->change),
                     CASCADE_OK);
    assert_told(&s->change, expected);
    csc_op_free(post);
}

/* ---- Ends --------------------------------------------------------------- */

static void
a_completion_records_what_it_did(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_COMPLETE, ROOT);
    uint32_t after[] = {1};
    csc_spawn *join = NULL;

    (void)unused;
    add_put(post, "k\"");
    add_put(post, "j");
    add_put(post, "k\"");
    post->effects.output = "{\"o\":[]}";
    add_spawn(post, "x");
    join = add_spawn(post, "y");
    join->after = after;
    join->after_count = 1;
    join->first = 1;
    join->on_failure = CASCADE_JOIN_FAIL;
    join->priority = 7;
    join->delay_ms = 5;
    build(s, post,
          "0 "
          "{'at':10,'keys':['k\\'','j'],'output':{'o':[]},'cascade':{'queue':'"
          "q','priority':4},'spawned':[11,12],'attempts':3}\n"
          "+11 -\n"
          "+12 "
          "{'after':[11],'first':1,'priority':7,'not_before':1700000000005,'on_"
          "failure':'fail'}\n");
    site_close(s);
}

static void
the_end_of_a_join_keeps_what_it_came_after(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_COMPLETE, STRICT);

    (void)unused;
    post->skipped = true;
    post->attempts = 0;
    build(s, post,
          "9 "
          "{'at':10,'after':[2,4],'skipped':true,'attempts':0,'on_failure':'"
          "fail'}\n");
    post = make_post(CSC_POST_FAIL, JOIN);
    post->continued = true;
    post->error = "no";
    add_spawn(post, "z")->instead = true;
    build(s, post,
          "4 "
          "{'at':10,'after':[2,3],'first':1,'resumes':1,'spawned':[11],'"
          "attempts':3,'continue':true,'progress':'p','on_failure':'skip'}\n"
          "+11 {'instead_of':4}\n");
    site_close(s);
}

static void
a_failure_keeps_the_progress(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_FAIL, ROOT);

    (void)unused;
    post->error = "no";
    post->overdue = true;
    build(s, post,
          "0 "
          "{'at':10,'cascade':{'queue':'q','priority':4},'attempts':3,"
          "'progress':[1],'timed_out':true}\n");
    site_close(s);
}

static void
a_stand_in_stays_one(void **unused)
{
    site *s = site_open();

    (void)unused;
    build(s, make_post(CSC_POST_COMPLETE, STAND_IN),
          "2 {'at':10,'attempts':3,'instead_of':1}\n");
    site_close(s);
}

/* `late`: 4 was decided by the first of the two that it waits for. */
static void
an_end_that_comes_too_late_says_for_whom(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_COMPLETE, STAND_IN);

    (void)unused;
    post->next = make_post(CSC_POST_COMPLETE, PLAIN);
    assert_int_equal(csc_build_change(&s->env, s->state, post, &s->change),
                     CASCADE_OK);
    assert_told(&s->change, "2 {'at':10,'attempts':3,'instead_of':1}\n"
                            "3 {'at':10,'late':[4],'attempts':3}\n");
    csc_op_free(post->next);
    csc_op_free(post);
    site_close(s);
}

static void
waits_end_with_the_time_they_waited_for(void **unused)
{
    site *s = site_open();

    (void)unused;
    build(s, make_post(CSC_POST_COMPLETE, SLEEP),
          "7 {'at':10,'attempts':3,'not_before':1800000000000}\n");
    build(
        s, make_post(CSC_POST_COMPLETE, AWAIT),
        "8 "
        "{'at':10,'attempts':3,'timed_out':true,'not_before':1800000000000}\n");
    site_close(s);
}

static void
the_last_one_of_a_run_names_the_next(void **unused)
{
    csc_state *state = hand_fresh();
    csc_arena arena = {0};
    csc_build_env env = env_of(&arena);
    cascade_change change;
    csc_post *post = make_post(CSC_POST_COMPLETE, 0);

    (void)unused;
    hand_apply(state, 0, HAND_ID "/-/a#0", "a", RUNNING, NULL);
    post->next_run =
        (csc_next_run){.id = id_of(NEXT), .node = "a", .input = "{}"};
    assert_int_equal(csc_build_change(&env, state, post, &change), CASCADE_OK);
    assert_told(&change, "0 "
                         "{'at':0,'attempts':3,'continued_as':'01890000-0000-"
                         "7000-8000-000000000004'}\n");
    csc_op_free(post);
    csc_arena_fini(&arena);
    hand_done(state);
}

/* ---- What goes on ------------------------------------------------------- */

static void
an_attempt_keeps_what_scheduling_needs(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_ATTEMPT, ROOT);

    (void)unused;
    post->delay_ms = 30;
    post->step_attempts = "{\"x#0\":2}";
    post->progress = "[2]";
    post->error = "again";
    build(s, post,
          "0 "
          "{'over':true,'steps':{'x#0':2},'cascade':{'queue':'q','priority':4},"
          "'attempts':3,'priority':3,'progress':[2],'not_before':1700000000030}"
          "\n");
    post = make_post(CSC_POST_BEAT, JOIN);
    post->progress = "\"far\"";
    build(s, post,
          "4 "
          "{'undo':true,'after':[2,3],'first':1,'steps':{'y#0':2},'resumes':1,'"
          "attempts':1,'priority':9,'progress':'far','not_before':7,'on_"
          "failure':'skip'}\n");
    site_close(s);
}

static void
a_wait_says_until_when(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_WAIT, ROOT);
    static const int32_t gathers[] = {2, 3};

    (void)unused;
    post->part_name = "cascade.sleep:t";
    post->until_ms = CASCADE_TIME_NONE;
    post->delay_ms = 9;
    post->undoes = true;
    post->gathers = gathers;
    post->gather_count = 2;
    build(s, post,
          "+11 {'undo':true,'after':[2,3],'not_before':1700000000009}\n");
    site_close(s);
}

static void
one_that_waits_outside_has_a_token(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_EXTERNAL, ROOT);

    (void)unused;
    post->waiting = (csc_waiting){
        .timeout_ms = 60000, .continued = true, .instead = "other"};
    build(s, post,
          "0 "
          "{'token':'018bcfe5-6800-7111-9111-111111111111','cascade':{'queue':'"
          "q','priority':4},'instead':'other','attempts':2,'continue':true,'"
          "deadline':1700000060000,'priority':3}\n");
    post = make_post(CSC_POST_EXTERNAL, JOIN);
    build(s, post,
          "4 "
          "{'after':[2,3],'first':1,'token':'018bcfe5-6800-7111-9111-"
          "111111111111','resumes':1,'attempts':1,'priority':9,'on_failure':'"
          "skip'}\n");
    site_close(s);
}

static void
one_completed_from_outside_says_by_what(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);
    csc_message *message = add_message(post, "complete", "", "{}");
    csc_completion completion = {.token = id_of(TOKEN), .by = id_of(BY)};

    (void)unused;
    completion.effects.output = "7";
    message->completion = &completion;
    build(s, post,
          "5 "
          "{'at':10,'by':'01890000-0000-7000-8000-000000000003','output':7,'"
          "attempts':1}\n");
    site_close(s);
}

/* ---- Messages and commands ---------------------------------------------- */

static void
an_await_names_its_signal(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);

    (void)unused;
    add_message(post, "signal", "n", "[1]");
    build(s, post,
          "8 {'at':10,'signal':11,'attempts':1,'not_before':1800000000000}\n"
          "+11 {'at':10}\n");
    post = make_post(CSC_POST_RECEIVE, -1);
    add_message(post, "unheard", "n", "[1]");
    build(s, post, "+11 {'at':10,'continue':true}\n");
    site_close(s);
}

static void
a_child_ends_with_its_part(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_CHILDREN, ROOT);
    csc_child child = {.id = id_of(NEXT), .node = "k", .input = "{}"};

    (void)unused;
    post->part_name = "cascade.child:l";
    post->children = (csc_family){.first = &child,
                                  .count = 1,
                                  .queue = "q",
                                  .when_parent_ends = CASCADE_CHILD_ABANDON};
    build(s, post,
          "+11 "
          "{'child':'01890000-0000-7000-8000-000000000004','policy':'abandon'}"
          "\n");
    post = make_post(CSC_POST_RECEIVE, -1);
    add_message(post, "child", "", "{\"id\":\"" KID "\",\"result\":[1]}");
    build(s, post,
          "6 "
          "{'at':10,'child':'01890000-0000-7000-8000-000000000001','output':[1]"
          ",'policy':'terminate'}\n");
    post = make_post(CSC_POST_RECEIVE, -1);
    add_message(post, "child", "", "{\"id\":\"" KID "\",\"error\":\"no\"}");
    build(s, post,
          "6 "
          "{'at':10,'child':'01890000-0000-7000-8000-000000000001','policy':'"
          "terminate','continue':true}\n");
    site_close(s);
}

static void
a_cancellation_says_what_it_ended(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);

    (void)unused;
    add_message(post, "cancel", "", "{}");
    build(s, post,
          "2 "
          "{'at':10,'attempts':0,'continue':true,'cancelled':true,'instead_of':"
          "1}\n"
          "3 {'at':10,'attempts':0,'continue':true,'cancelled':true}\n"
          "4 "
          "{'at':10,'late':[9],'after':[2,3],'first':1,'resumes':1,'attempts':"
          "1,'continue':true,'cancelled':true,'on_failure':'skip'}\n"
          "5 {'at':10,'attempts':0,'continue':true,'cancelled':true}\n"
          "7 "
          "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
          "1800000000000}\n"
          "8 "
          "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
          "1800000000000}\n"
          "9 "
          "{'at':10,'after':[2,4],'attempts':0,'continue':true,'cancelled':"
          "true,'on_failure':'fail'}\n"
          "10 "
          "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
          "1800000000000}\n"
          "+11 -\n");
    site_close(s);
}

/* One that goes on in slices says from where. */
static void
a_slice_says_where_it_stopped(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);

    (void)unused;
    s->env.slice_bytes = 1;
    add_message(post, "cancel", "", "{}");
    build(s, post,
          "2 "
          "{'at':10,'attempts':0,'continue':true,'cancelled':true,'instead_of':"
          "1}\n"
          "+11 {'from':3}\n");
    site_close(s);
}

/* A receipt, what runs afresh and what is closed, of these rows. */
static void
reset(const row_spec *rows, int32_t count, cascade_status status, int32_t from,
      const char *expected)
{
    csc_state *state = hand_fresh();
    csc_arena arena = {0};
    csc_plan *plan = csc_reset_plan_create(from);
    csc_build_env env = env_of(&arena);
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);
    cascade_row cascade = {
        .id = state->id, .status = status, .fn_id = count - 1, .user_id = "u"};
    cascade_change change;

    env.plan = plan;
    assert_int_equal(csc_state_apply_cascade(state, &cascade), CASCADE_OK);
    for (int32_t i = 0; i < count; i++) {
        cascade_execution_row row = {.cascade_id = state->id,
                                     .function_id = i,
                                     .status = rows[i].status,
                                     .node_name = rows[i].name,
                                     .input = "{}",
                                     .full_output = rows[i].full_output,
                                     .location = "server"};
        const char *up = rows[i].parent < 0 ? "-" : "0";

        row.node_instance_id =
            csc_arena_format(&arena, HAND_ID "/%s/%s#0", up, rows[i].name);
        row.error = row.status == FAILED ? "why" : NULL;
        assert_int_equal(csc_reset_plan_add(plan, &row), CASCADE_OK);
        assert_int_equal(csc_state_apply_execution(state, &row), CASCADE_OK);
    }
    csc_state_settle(state);
    assert_int_equal(csc_reset_plan_decide(plan, state), CASCADE_OK);
    assert_int_equal(plan->refusal, CSC_REFUSAL_NONE);
    add_message(post, from < 0 ? "retry" : "rerun", "", "{\"from\":1}");
    assert_int_equal(csc_build_change(&env, state, post, &change), CASCADE_OK);
    assert_told(&change, expected);
    csc_op_free(post);
    csc_reset_plan_free(plan);
    csc_arena_fini(&arena);
    hand_done(state);
}

static void
a_rerun_says_from_where_on_it_supersedes(void **unused)
{
    static const row_spec rows[] = {
        {-1, "a", COMPLETED,
         "{\"at\":0,\"cascade\":" META ",\"spawned\":[1,2,3],\"attempts\":1}"},
        {0, "b", COMPLETED, "{\"at\":3,\"attempts\":1}"},
        {0, "c", COMPLETED, "{\"at\":3,\"attempts\":2,\"priority\":5}"},
        {0, "d", RUNNING,
         "{\"after\":[1,2],\"first\":2,\"attempts\":3,\"priority\":8,"
         "\"instead_of\":1,\"not_before\":1800000000000,\"on_failure\":"
         "\"fail\"}"},
        {0, "e", RUNNING, "{\"not_before\":1800000000000}"},
        {0, "cascade.signal:n", COMPLETED, "{\"at\":3}"},
    };

    (void)unused;
    reset(rows, 6, CASCADE_RUNNING, 1,
          "3 "
          "{'at':6,'after':[1,2],'first':2,'attempts':3,'continue':true,'"
          "priority':8,'instead_of':1,'on_failure':'fail'}\n"
          "4 {'at':6,'continue':true,'not_before':1800000000000}\n"
          "+6 {'at':5,'from':1}\n"
          "+7 {'resumes':1}\n"
          "+8 {'resumes':2,'priority':5}\n"
          "+9 "
          "{'after':[7,8],'first':2,'resumes':3,'priority':8,'instead_of':1,'"
          "on_failure':'fail'}\n"
          "+10 {'resumes':4,'not_before':1800000000000}\n"
          "+11 {'at':5,'resumes':5}\n");
}

static void
a_retry_names_what_it_supersedes(void **unused)
{
    static const row_spec rows[] = {
        {-1, "a", RUNNING, "{\"cascade\":" META ",\"attempts\":1}"},
        {0, "b", FAILED, "{\"at\":1,\"resumes\":1,\"attempts\":1}"},
        {0, "c", FAILED, "{\"at\":3,\"attempts\":2,\"priority\":5}"},
        {0, "cascade.child:k", RUNNING,
         "{\"child\":\"" KID "\",\"policy\":\"cancel\"}"},
    };

    (void)unused;
    reset(rows, 4, CASCADE_ERROR, CSC_COURSE_NONE,
          "0 "
          "{'at':4,'cascade':{'queue':'q','priority':4},'attempts':1,'continue'"
          ":true}\n"
          "3 "
          "{'at':4,'child':'01890000-0000-7000-8000-000000000001','policy':'"
          "cancel','continue':true}\n"
          "+4 {'at':3,'supersedes':[0,1,2,3]}\n"
          "+5 {'resumes':0}\n"
          "+6 {'resumes':1}\n"
          "+7 {'resumes':2,'priority':5}\n");
}

/* What begins in a cascade that is cancelled never does. */
static void
what_is_born_too_late_is_cancelled(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_RECEIVE, -1);

    (void)unused;
    add_message(post, "cancel", "", "{}");
    post->next = make_post(CSC_POST_COMPLETE, ROOT);
    add_spawn(post->next, "x");
    assert_int_equal(csc_build_change(&s->env, s->state, post, &s->change),
                     CASCADE_OK);
    assert_told(
        &s->change,
        "2 "
        "{'at':10,'attempts':0,'continue':true,'cancelled':true,'instead_of':1}"
        "\n"
        "3 {'at':10,'attempts':0,'continue':true,'cancelled':true}\n"
        "4 "
        "{'at':10,'late':[9],'after':[2,3],'first':1,'resumes':1,'attempts':1,'"
        "continue':true,'cancelled':true,'on_failure':'skip'}\n"
        "5 {'at':10,'attempts':0,'continue':true,'cancelled':true}\n"
        "7 "
        "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
        "1800000000000}\n"
        "8 "
        "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
        "1800000000000}\n"
        "9 "
        "{'at':10,'after':[2,4],'attempts':0,'continue':true,'cancelled':true,'"
        "on_failure':'fail'}\n"
        "10 "
        "{'at':10,'attempts':0,'continue':true,'cancelled':true,'not_before':"
        "1800000000000}\n"
        "0 "
        "{'at':10,'cascade':{'queue':'q','priority':4},'spawned':[12],'"
        "attempts':3}\n"
        "+11 -\n"
        "+12 {'at':10,'continue':true,'cancelled':true}\n");
    csc_op_free(post->next);
    csc_op_free(post);
    site_close(s);
}

/* ---- Starts ------------------------------------------------------------- */

static void
a_start_records_its_cascade(void **unused)
{
    static const csc_build_first first[] = {{"a", "{}"}, {"b", "{}"}};
    static const csc_build_signal signal = {"n", "[1]"};
    cascade_uuid root = id_of(KID);
    cascade_uuid parent = id_of(TOKEN);
    cascade_uuid child = id_of(BY);
    cascade_uuid previous = id_of(NEXT);
    csc_build_start start = {.user_id = "user",
                             .queue = "q\"q",
                             .key = "k\\k",
                             .run_number = 3,
                             .priority = 4,
                             .depth = 2,
                             .parent = &parent,
                             .child_id = &child,
                             .previous = &previous,
                             .root = &root,
                             .delay_ms = 500,
                             .deadline_ms = 9000,
                             .first = first,
                             .first_count = 2,
                             .signals = &signal,
                             .signal_count = 1};
    csc_arena arena = {0};
    csc_build_env env = env_of(&arena);
    cascade_change change;

    (void)unused;
    start.id = id_of(HAND_ID);
    assert_int_equal(csc_start_add_rows(&env, &start, &change), CASCADE_OK);
    assert_told(&change,
                "+0 "
                "{'cascade':{'key':'k\\\\k','root':'01890000-0000-7000-8000-"
                "000000000001','child':'01890000-0000-7000-8000-000000000003','"
                "depth':2,'queue':'q\\'q','parent':'01890000-0000-7000-8000-"
                "000000000002','deadline':1700000009000,'previous':'01890000-"
                "0000-7000-8000-000000000004','priority':4,'run_number':3},'"
                "not_before':1700000000500}\n"
                "+1 {'not_before':1700000000500}\n"
                "+2 {'at':1}\n");
    csc_arena_fini(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_completion_records_what_it_did),
        cmocka_unit_test(the_end_of_a_join_keeps_what_it_came_after),
        cmocka_unit_test(a_failure_keeps_the_progress),
        cmocka_unit_test(a_stand_in_stays_one),
        cmocka_unit_test(an_end_that_comes_too_late_says_for_whom),
        cmocka_unit_test(waits_end_with_the_time_they_waited_for),
        cmocka_unit_test(the_last_one_of_a_run_names_the_next),
        cmocka_unit_test(an_attempt_keeps_what_scheduling_needs),
        cmocka_unit_test(a_wait_says_until_when),
        cmocka_unit_test(one_that_waits_outside_has_a_token),
        cmocka_unit_test(one_completed_from_outside_says_by_what),
        cmocka_unit_test(an_await_names_its_signal),
        cmocka_unit_test(a_child_ends_with_its_part),
        cmocka_unit_test(a_cancellation_says_what_it_ended),
        cmocka_unit_test(a_slice_says_where_it_stopped),
        cmocka_unit_test(a_rerun_says_from_where_on_it_supersedes),
        cmocka_unit_test(a_retry_names_what_it_supersedes),
        cmocka_unit_test(what_is_born_too_late_is_cancelled),
        cmocka_unit_test(a_start_records_its_cascade),
    };

    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
