/* SPDX-License-Identifier: MIT
 *
 * Joins in the state, against a model that knows nothing of rows: predecessors
 * end well, badly, skipped or replaced, in every order, alone and several in a
 * commit, before and after the join is decided, has run, has ended, or has
 * ended undecided by a limit. After each commit the verdict, the slots and what
 * the join sees are those of the model, and hydration of the rows gives the
 * very state (G7).
 *
 * Small cases are played in every way there is, larger ones at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/tree.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "change/op.h"
#include "state/state.h"
#include "support/dump.h"
#include "support/rows.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define NOW INT64_C(1700000000000)
#define WIDTH_MAX 6
#define CHOICES_MAX 64

/* ---- Choices ------------------------------------------------------------ */

/* Either each in turn, until all ways were gone, or at random. */
static struct {
    bool random;
    test_rows source;
    unsigned made[CHOICES_MAX];
    unsigned below[CHOICES_MAX];
    size_t count; /* made so far in the way before */
    size_t at;
} ways;

static unsigned
choose(unsigned below)
{
    if (ways.random)
        return (unsigned)rows_below(&ways.source, below);
    assert_true(ways.at < CHOICES_MAX);
    if (ways.at == ways.count) {
        ways.made[ways.count] = 0;
        ways.below[ways.count++] = below;
    }
    assert_int_equal(ways.below[ways.at], below);
    return ways.made[ways.at++];
}

/* False when there is no other way. */
static bool
next_way(void)
{
    ways.at = 0;
    while (ways.count > 0 &&
           ways.made[ways.count - 1] + 1 == ways.below[ways.count - 1])
        ways.count--;
    if (ways.count == 0)
        return false;
    ways.made[ways.count - 1]++;
    return true;
}

/* ---- The model ---------------------------------------------------------- */

typedef enum fate {
    WELL,
    BADLY,
    SKIPPED,
    REPLACED,
    FATES
} fate;

typedef struct model_slot {
    int32_t id;
    bool ended;
    fate fate;
} model_slot;

typedef struct model {
    cascade_join policy;
    size_t needed;
    size_t width;
    model_slot slots[WIDTH_MAX];
    csc_verdict verdict;
    bool over; /* the join has ended */
} model;

static bool
model_is_bad(const model *m, fate how)
{
    if (m->policy == CASCADE_JOIN_FAIL)
        return how == BADLY;
    return m->policy == CASCADE_JOIN_SKIP && how != WELL;
}

static void
model_judge(model *m)
{
    size_t good = 0;
    size_t bad = 0;

    for (size_t i = 0; i < m->width; i++) {
        if (!m->slots[i].ended)
            continue;
        if (model_is_bad(m, m->slots[i].fate))
            bad++;
        else
            good++;
    }
    if (good == m->needed)
        m->verdict = CSC_VERDICT_RUN;
    else if (m->width - bad < m->needed)
        m->verdict = m->policy == CASCADE_JOIN_FAIL ? CSC_VERDICT_FAIL
                                                    : CSC_VERDICT_SKIP;
}

/* The slot in which `id` stands; NULL when it stands in none, or too late. */
static model_slot *
model_slot_of(model *m, int32_t id)
{
    for (size_t i = 0; i < m->width; i++)
        if (m->slots[i].id == id && !m->over &&
            m->verdict == CSC_VERDICT_PENDING)
            return &m->slots[i];
    return NULL;
}

/* ---- A cascade: 0 spawns 1 to width, a join of them, and one after it ---- */

typedef struct site {
    csc_arena arena;
    csc_state state;
    dump_rows rows;
    csc_build_env env;
    model m;
    int32_t join;
    csc_post *posts; /* of the next commit */
    csc_post *last;
    model_slot *replaced[WIDTH_MAX]; /* by what these posts spawn */
    size_t replaced_count;
    int32_t open[2 * WIDTH_MAX]; /* what runs and is no join */
    size_t open_count;
} site;

static csc_post *
add_post(site *s, csc_post_kind kind, int32_t function_id)
{
    csc_post *post = csc_op_create(kind, function_id);

    assert_non_null(post);
    post->attempts = 1;
    if (s->last != NULL)
        s->last->next = post;
    else
        s->posts = post;
    s->last = post;
    return post;
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
check_canonical(const char *text)
{
    csc_buf out = {0};

    if (text == NULL)
        return;
    assert_int_equal(csc_json_canon("x", text, strlen(text), 1 << 20, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, text);
    csc_buf_fini(&out);
}

static void
check_hydrated(const site *s)
{
    csc_state other;
    csc_buf live = {0};
    csc_buf read = {0};

    assert_int_equal(dump_rows_hydrate(&s->rows, &other), CASCADE_OK);
    dump_state(&live, &s->state);
    dump_state(&read, &other);
    if (strcmp(live.data, read.data) != 0)
        dump_differ("live and hydrated", live.data, read.data);
    assert_string_equal(live.data, read.data);
    csc_buf_fini(&live);
    csc_buf_fini(&read);
    csc_state_fini(&other);
}

static void
apply(site *s, const cascade_change *change)
{
    for (size_t i = 0; i < change->update_count; i++)
        check_canonical(change->updates[i].full_output);
    for (size_t i = 0; i < change->insert_count; i++)
        check_canonical(change->inserts[i].full_output);
    assert_int_equal(csc_build_apply(&s->state, change), CASCADE_OK);
    dump_rows_apply(&s->rows, change);
    check_hydrated(s);
}

static bool
model_sees(const model *m, int32_t writer)
{
    for (size_t i = 0; i < m->width; i++)
        if (m->slots[i].id == writer && m->slots[i].ended)
            return true;
    return false;
}

static void
check_model(const site *s)
{
    const csc_exec *join = csc_view_find(&s->state, s->join);
    const csc_key *key = csc_events_key(&s->state, "k");

    if (s->m.over) {
        assert_true(join == NULL || join->status != CASCADE_EXECUTION_RUNNING);
        return;
    }
    assert_int_equal(csc_join_verdict(join), s->m.verdict);
    assert_int_equal(join->blocked, s->m.verdict == CSC_VERDICT_PENDING);
    for (size_t i = 0; i < s->m.width; i++) {
        assert_int_equal(join->join->slots[i].function_id, s->m.slots[i].id);
        assert_int_equal(join->join->slots[i].ended, s->m.slots[i].ended);
        if (s->m.slots[i].ended && s->m.slots[i].fate == WELL)
            assert_string_equal(
                csc_view_find(&s->state, s->m.slots[i].id)->output, "\"out\"");
    }
    for (size_t i = 0; key != NULL && i < csc_tree_count(&key->events); i++) {
        const csc_event *event = csc_events_nth_event(key, i);

        assert_int_equal(csc_view_sees(event, s->join, &join->seen),
                         model_sees(&s->m, event->when.function_id));
    }
}

static void
commit(site *s)
{
    cascade_change change;
    size_t spawned = 0;

    assert_int_equal(csc_build_change(&s->env, &s->state, s->posts, &change),
                     CASCADE_OK);
    apply(s, &change);
    for (size_t i = 0; i < change.insert_count; i++) {
        int32_t id = change.inserts[i].function_id;

        if (s->replaced_count == 0)
            break; /* the root's */
        if (s->replaced[spawned] != NULL)
            s->replaced[spawned]->id = id;
        spawned++;
        s->open[s->open_count++] = id;
    }
    s->replaced_count = 0;
    while (s->posts != NULL) {
        csc_post *next = s->posts->next;

        csc_op_free(s->posts);
        s->posts = next;
    }
    s->last = NULL;
    csc_arena_clear(&s->arena);
    check_model(s);
}

static void
spawn_join(site *s, csc_post *root)
{
    csc_spawn *join = add_spawn(root, "join");
    csc_spawn *behind = add_spawn(root, "behind");

    join->after_count = s->m.width;
    join->after = csc_arena_alloc(&root->arena, s->m.width, sizeof(uint32_t));
    behind->after_count = 2;
    behind->after = csc_arena_alloc(&root->arena, 2, sizeof(uint32_t));
    assert_true(join->after != NULL && behind->after != NULL);
    for (uint32_t i = 0; i < s->m.width; i++)
        join->after[i] = i + 1;
    join->first = s->m.needed < s->m.width ? (uint32_t)s->m.needed : 0;
    join->on_failure = s->m.policy;
    join->delay_ms = choose(2) == 0 ? 0 : 1000;
    behind->after[0] = 1;
    behind->after[1] = (uint32_t)s->m.width + 1;
}

static site *
site_open(size_t width)
{
    static site s;
    static const csc_build_first first[] = {{"root", "{}"}};
    csc_build_start start = {
        .user_id = "user", .queue = "q", .first = first, .first_count = 1};
    cascade_change change;
    csc_post *root = NULL;

    memset(&s, 0, sizeof(s));
    (void)cascade_uuid_parse(ID, &start.id);
    s.env = (csc_build_env){.arena = &s.arena,
                            .random = &csc_random_system,
                            .location = "here",
                            .now_ms = NOW,
                            .delay_from_ms = NOW};
    s.m = (model){.policy = (cascade_join)choose(3),
                  .needed = 1 + choose((unsigned)width),
                  .width = width};
    s.join = (int32_t)width + 1;
    csc_state_init(&s.state, &start.id);
    assert_int_equal(csc_start_add_rows(&s.env, &start, &change), CASCADE_OK);
    apply(&s, &change);
    root = add_post(&s, CSC_POST_COMPLETE, 0);
    for (size_t i = 0; i < width; i++) {
        (void)add_spawn(root, "branch");
        s.m.slots[i] = (model_slot){.id = (int32_t)i + 1};
        s.open[s.open_count++] = (int32_t)i + 1;
    }
    spawn_join(&s, root);
    commit(&s);
    return &s;
}

static void
site_close(site *s)
{
    csc_state_fini(&s->state);
    dump_rows_fini(&s->rows);
    csc_arena_fini(&s->arena);
}

/* ---- What happens ------------------------------------------------------- */

static void
post_fate(site *s, int32_t id, fate how)
{
    bool failed = how == BADLY || how == REPLACED;
    csc_post *post =
        add_post(s, failed ? CSC_POST_FAIL : CSC_POST_COMPLETE, id);
    csc_put *put = csc_arena_alloc(&post->arena, 1, sizeof(*put));

    assert_non_null(put);
    post->error = failed ? "why" : NULL;
    post->continued = failed;
    post->skipped = how == SKIPPED;
    if (how == REPLACED)
        add_spawn(post, "other")->instead = true;
    if (how != WELL)
        return;
    *put = (csc_put){.key = "k", .value = "1"};
    csc_op_add_put(&post->effects, put);
    post->effects.output = "\"out\"";
}

/* One that runs ends somehow; another may follow in the same commit. */
static void
end_one(site *s, unsigned fates)
{
    size_t at = choose((unsigned)s->open_count);
    int32_t id = s->open[at];
    /* A stand-in is not replaced again and again. */
    unsigned below = id > s->join + 1 && fates == FATES ? REPLACED : fates;
    fate how = (fate)choose(below);
    model_slot *slot = model_slot_of(&s->m, id);

    s->open[at] = s->open[--s->open_count];
    post_fate(s, id, how);
    if (how == REPLACED) {
        s->replaced[s->replaced_count++] = slot;
        return;
    }
    if (slot == NULL)
        return;
    slot->ended = true;
    slot->fate = how;
    model_judge(&s->m);
}

/* The decided join is recorded, as its verdict says. */
static void
end_join(site *s)
{
    if (s->m.verdict == CSC_VERDICT_FAIL)
        post_fate(s, s->join, BADLY);
    else
        post_fate(s, s->join,
                  s->m.verdict == CSC_VERDICT_RUN ? BADLY : SKIPPED);
    s->m.over = true;
    commit(s);
}

/* A limit ends it before it is decided, or so it seemed when that was posted.
 */
static void
end_early(site *s)
{
    post_fate(s, s->join, BADLY);
    s->m.over = true;
}

static bool
is_pending(const site *s)
{
    return !s->m.over && csc_join_verdict(csc_view_find(&s->state, s->join)) ==
                             CSC_VERDICT_PENDING;
}

/* One commit; in it the join may end early. */
static void
end_some(site *s, unsigned fates, bool grouped, bool limited)
{
    do {
        if (limited && is_pending(s) && choose(2) == 0)
            end_early(s);
        end_one(s, fates);
    } while (grouped && s->open_count > 0 && choose(2) == 0);
    commit(s);
}

/* It is tried, and to be tried again. */
static void
try_join(site *s)
{
    csc_post *post = add_post(s, CSC_POST_ATTEMPT, s->join);

    post->error = "again";
    post->delay_ms = 5;
    commit(s);
}

static bool
join_may_end(const site *s)
{
    return !s->m.over && s->m.verdict != CSC_VERDICT_PENDING;
}

static void
play(size_t width, unsigned fates, bool grouped, bool limited)
{
    site *s = site_open(width);
    bool tried = false;

    while (s->open_count > 0 || join_may_end(s)) {
        if (join_may_end(s) && (s->open_count == 0 || choose(2) == 0)) {
            if (!tried && s->m.verdict == CSC_VERDICT_RUN)
                try_join(s);
            tried = true;
            end_join(s);
            continue;
        }
        end_some(s, fates, grouped, limited);
    }
    assert_true(s->m.over);
    post_fate(s, s->join + 1, WELL);
    commit(s);
    assert_int_equal(csc_view_status(&s->state), CASCADE_COMPLETED);
    assert_int_equal(s->state.exec_count - s->state.exec_freed, 0);
    site_close(s);
}

static void
play_all(size_t width, unsigned fates, bool grouped, bool limited)
{
    size_t live = csc_mem_live();
    size_t played = 0;

    memset(&ways, 0, sizeof(ways));
    do {
        play(width, fates, grouped, limited);
        played++;
    } while (next_way());
    assert_int_equal(csc_mem_live(), live);
    print_message("%zu ways\n", played);
}

/* ---- The tests ---------------------------------------------------------- */

static void
two_predecessors_end_in_every_way(void **unused)
{
    (void)unused;
    play_all(2, FATES, true, false);
}

static void
three_predecessors_end_in_every_order(void **unused)
{
    (void)unused;
    play_all(3, SKIPPED, false, false);
}

static void
a_limit_ends_a_join_at_any_time(void **unused)
{
    (void)unused;
    play_all(2, FATES, true, true);
}

static void
many_predecessors_end_at_random(void **unused)
{
    size_t live = csc_mem_live();

    (void)unused;
    memset(&ways, 0, sizeof(ways));
    ways.random = true;
    rows_init(&ways.source, rows_seed(), NOW);
    for (size_t i = 0; i < 3000; i++)
        play(1 + choose(WIDTH_MAX), FATES, true, i % 2 == 0);
    rows_fini(&ways.source);
    assert_int_equal(csc_mem_live(), live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_predecessors_end_in_every_way),
        cmocka_unit_test(three_predecessors_end_in_every_order),
        cmocka_unit_test(a_limit_ends_a_join_at_any_time),
        cmocka_unit_test(many_predecessors_end_at_random),
    };

    return cmocka_run_group_tests_name("joined", tests, NULL, NULL);
}
