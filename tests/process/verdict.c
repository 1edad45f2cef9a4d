/* SPDX-License-Identifier: MIT */
#include "process/verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "process/check.h"
#include "store/store.h"

#define QUEUE "default"
#define PAGE 1000
#define LOOK_EVERY_NS 15000000
#define LINES_LOST 64 /* by threads that were killed before they wrote */

void
verdict_open(verdict *v, const test_place *place)
{
    memset(v, 0, sizeof(*v));
    v->place = place;
    v->store = place_open(place);
}

void
verdict_close(verdict *v)
{
    assert_ok(cascade_store_close(v->store));
}

static verdict_cascade *
find_cascade(verdict *v, const cascade_uuid *id)
{
    for (size_t i = v->cascade_count; i-- > 0;)
        if (csc_uuid_equal(&v->cascades[i].id, id))
            return &v->cascades[i];
    fail_msg("a cascade that nobody has started");
    return NULL;
}

static verdict_life *
find_life(verdict *v, const char *who)
{
    for (size_t i = 0; i < v->life_count; i++)
        if (strcmp(v->lives[i].who, who) == 0)
            return &v->lives[i];
    fail_msg("%s is no process of this test", who);
    return NULL;
}

/* ---- Meanwhile ----------------------------------------------------------- */

/* What is to be in force once somebody has been asked. */
static verdict_set *
ask_for(verdict *v, int running_max, int key_max)
{
    verdict_set *set = &v->sets[v->set_count++];

    assert_true(v->set_count <= VERDICT_SETS);
    set->running_max = running_max;
    set->key_max = key_max;
    set->asked_ns = crowd_now_ns();
    return set;
}

static void
note_told(verdict *v, verdict_set *set)
{
    set->told_ns = crowd_now_ns();
    v->stale = true;
}

void
verdict_limit(verdict *v, int running_max, int key_max)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = running_max,
                                         .key_running_max = key_max};
    verdict_set *set = ask_for(v, running_max, key_max);

    assert_ok(cascade_queue_set(v->store, QUEUE, &limits, NULL));
    note_told(v, set);
}

void
verdict_begin(verdict *v, const verdict_start *starts, size_t count)
{
    static const cascade_first first = {.size = sizeof(first), .node = "first"};
    static cascade_start_options options[VERDICT_CASCADES];
    static cascade_start_spec specs[VERDICT_CASCADES];
    static cascade_started started[VERDICT_CASCADES];
    int64_t since_ns = crowd_now_ns();

    assert_true(v->cascade_count + count <= VERDICT_CASCADES);
    for (size_t i = 0; i < count; i++) {
        options[i] =
            (cascade_start_options){.size = sizeof(cascade_start_options),
                                    .user_id = starts[i].user,
                                    .limit_key = starts[i].limit_key};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    assert_ok(cascade_start_many(v->store, specs, count, started));
    v->stale = true;
    for (size_t i = 0; i < count; i++)
        v->cascades[v->cascade_count++] =
            (verdict_cascade){.id = started[i].id,
                              .user = starts[i].user,
                              .key = starts[i].key,
                              .since_ns = since_ns};
}

void
verdict_unlimit(verdict *v)
{
    verdict_set *set = ask_for(v, 0, 0);

    v->kept = v->look_count;
    assert_ok(cascade_queue_unset(v->store, QUEUE));
    note_told(v, set);
    assert_int_equal(CASCADE_ERR_NOT_FOUND,
                     cascade_queue_unset(v->store, QUEUE));
}

typedef struct looking {
    verdict *v;
    verdict_look *look;
    size_t listed;
} looking;

static cascade_err
note_slot(void *context, const cascade_row *row, const cascade_run_row *run)
{
    const looking *it = context;

    it->look->running += row->status == CASCADE_RUNNING;
    if (run == NULL || csc_uuid_is_nil(&run->engine_id) || run->slot == 0)
        return CASCADE_OK;
    assert_true(it->look->count < VERDICT_SLOTS);
    it->look->slots[it->look->count++] = find_cascade(it->v, &row->id);
    return CASCADE_OK;
}

static size_t
look_at(verdict *v, verdict_look *look)
{
    const cascade_query query = {.status = CASCADE_RUNNING, .limit = PAGE};
    looking it = {.v = v, .look = look};

    look->asked_ns = crowd_now_ns();
    assert_ok(v->store->driver->list(v->store->self, &query, note_slot, &it));
    look->told_ns = crowd_now_ns();
    assert_true(look->running < PAGE);
    return look->running;
}

size_t
verdict_look_now(verdict *v)
{
    const verdict_look *last = &v->looks[v->look_count];

    if (v->look_count > 0 && !v->stale &&
        crowd_now_ns() - last[-1].asked_ns < LOOK_EVERY_NS)
        return last[-1].running;
    assert_true(v->look_count < VERDICT_LOOKS);
    v->stale = false;
    return look_at(v, &v->looks[v->look_count++]);
}

static cascade_err
tell_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    const int64_t *now_ms = context;
    char id[CASCADE_UUID_TEXT_SIZE];
    char engine[CASCADE_UUID_TEXT_SIZE];

    if (run == NULL)
        return CASCADE_OK;
    print_message("%s of %s: fn %d, wakes in %" PRId64 " ms, needs %s, "
                  "takeovers %d, slot %d, engine %s\n",
                  cascade_uuid_format(&row->id, id), row->user_id, row->fn_id,
                  run->wake_at_ms - *now_ms,
                  run->needs == NULL ? "nothing" : run->needs, run->takeovers,
                  run->slot, cascade_uuid_format(&run->engine_id, engine));
    return CASCADE_OK;
}

void
verdict_tell(verdict *v)
{
    const cascade_query query = {.status = CASCADE_RUNNING, .limit = PAGE};
    struct timespec now;
    int64_t now_ms = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    now_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
    assert_ok(
        v->store->driver->list(v->store->self, &query, tell_run, &now_ms));
}

/* ---- Lives --------------------------------------------------------------- */

void
verdict_born(verdict *v, const test_worker *worker)
{
    verdict_life *life = &v->lives[v->life_count++];

    assert_true(v->life_count <= VERDICT_LIVES);
    memcpy(life->who, worker->name, sizeof(life->who));
}

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    verdict_listing *l = context;

    if (row->pid != l->pid)
        return CASCADE_OK;
    l->listed = true;
    l->leased = l->leased || row->lease_ms > 0;
    return CASCADE_OK;
}

verdict_listing
verdict_list(const verdict *v, pid_t pid)
{
    verdict_listing l = {.pid = pid};

    assert_ok(v->store->driver->engines(v->store->self, note_engine, &l, NULL));
    return l;
}

/* As of a time before this call. */
static void
note_until(verdict *v, const test_worker *worker)
{
    verdict_life *life = find_life(v, worker->name);

    life->until_ns = crowd_now_ns();
    life->whole = verdict_list(v, worker->pid).leased;
}

static void
note_death(verdict *v, const test_worker *worker)
{
    verdict_life *life = find_life(v, worker->name);

    life->whole = life->whole && worker->last.attaches == 1;
}

void
verdict_kill(verdict *v, test_worker *worker)
{
    note_until(v, worker);
    worker_kill(worker);
    note_death(v, worker);
}

void
verdict_end(verdict *v, test_worker *worker)
{
    note_until(v, worker);
    worker_end(worker);
    note_death(v, worker);
}

/* ---- What there is ------------------------------------------------------- */

static void
read_line(verdict *v, verdict_life *life, const crowd_line *line)
{
    verdict_span *span = &v->spans[life->first + line->number - 1];

    assert_true(line->number >= 1 && line->number <= life->count);
    if (!line->begin) {
        assert_non_null(span->of);
        span->end_ns = line->at_ns;
        return;
    }
    assert_null(span->of);
    span->of = find_cascade(v, &line->cascade);
    span->begin_ns = line->at_ns;
    span->end_ns = INT64_MAX;
    assert_string_equal(span->of->user, line->user);
}

static void
read_log(verdict *v, verdict_life *life)
{
    FILE *log = crowd_open_log(v->place, life->who);
    crowd_line line;

    life->first = v->span_count;
    life->count = crowd_lines(v->place, life->who) + LINES_LOST;
    v->span_count += life->count;
    assert_true(v->span_count <= VERDICT_SPANS);
    while (log != NULL && crowd_next(log, &line))
        read_line(v, life, &line);
    if (log != NULL)
        fclose(log);
}

static verdict_span *
find_span(verdict *v, const char *value)
{
    char who[CROWD_WHO];
    unsigned number = 0;
    const verdict_life *life = NULL;

    assert_int_equal(2, sscanf(value, "\"%15[^:]:%u\"", who, &number));
    life = find_life(v, who);
    assert_true(number >= 1 && number <= life->count);
    return &v->spans[life->first + number - 1];
}

static cascade_err
on_cascade(void *context, const cascade_row *row)
{
    (void)context;
    assert_int_equal(CASCADE_COMPLETED, row->status);
    return CASCADE_OK;
}

static cascade_err
on_execution(void *context, const cascade_execution_row *row)
{
    verdict_cascade *cascade = find_cascade(context, &row->cascade_id);

    assert_int_equal(CASCADE_EXECUTION_COMPLETED, row->status);
    cascade->executions += strcmp(row->node_name, "first") == 0 ||
                           strcmp(row->node_name, "side") == 0 ||
                           strcmp(row->node_name, "last") == 0;
    return CASCADE_OK;
}

static cascade_err
on_event(void *context, const cascade_event_row *row)
{
    verdict_cascade *cascade = find_cascade(context, &row->cascade_id);
    verdict_span *span = NULL;

    if (strcmp(row->key, "ran") != 0)
        return CASCADE_OK;
    span = find_span(context, row->value);
    if (span->of != cascade || span->end_ns == INT64_MAX || span->accepted)
        fail_msg("%s is recorded and was not done once", row->value);
    span->accepted = true;
    cascade->values++;
    return CASCADE_OK;
}

static void
read_tables(verdict *v)
{
    const cascade_load_sink sink = {.context = v,
                                    .on_cascade = on_cascade,
                                    .on_execution = on_execution,
                                    .on_event = on_event};

    for (size_t i = 0; i < v->cascade_count; i++) {
        verdict_cascade *it = &v->cascades[i];

        assert_ok(v->store->driver->load(
            v->store->self, &it->id, 1,
            CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink));
        assert_int_equal(CROWD_FUNCTIONS, it->executions);
        assert_int_equal(CROWD_FUNCTIONS, it->values);
    }
}

/* Drops what does not count, and cuts what counts to what is certain. */
static void
sift(verdict *v, const verdict_life *life)
{
    for (size_t i = 0; i < life->count; i++) {
        verdict_span *span = &v->spans[life->first + i];

        if (span->of == NULL || span->accepted)
            continue;
        if (span->end_ns > life->until_ns)
            span->end_ns = life->until_ns;
        if (life->whole && span->begin_ns < span->end_ns)
            continue;
        span->of = NULL;
        v->left_out++;
    }
}

static void
gather(verdict *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->life_count; i++)
        read_log(v, &v->lives[i]);
    read_tables(v);
    for (size_t i = 0; i < v->life_count; i++)
        sift(v, &v->lives[i]);
    for (size_t i = 0; i < v->span_count; i++)
        if (v->spans[i].of != NULL)
            v->spans[kept++] = v->spans[i];
    v->counted = kept;
}

static bool
has_slot(const verdict_look *look, const verdict_cascade *cascade)
{
    for (size_t i = 0; i < look->count; i++)
        if (look->slots[i] == cascade)
            return true;
    return false;
}

/* What runs has a slot, as long as a look took. */
static void
check_look(const verdict *v, const verdict_look *look)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    for (size_t i = 0; i < v->counted; i++) {
        const verdict_span *span = &v->spans[i];

        if (span->begin_ns < look->asked_ns && span->end_ns > look->told_ns &&
            !has_slot(look, span->of))
            fail_msg("%s runs without a slot at %" PRId64 " ns",
                     cascade_uuid_format(&span->of->id, id), look->asked_ns);
    }
}

/* ---- The sweep ----------------------------------------------------------- */

/* A begin or an end. */
typedef struct edge {
    int64_t at_ns;
    const verdict_span *span;
    bool begin;
} edge;

/* Ends first. */
static int
compare(const void *a, const void *b)
{
    const edge *x = a;
    const edge *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (int)x->begin - (int)y->begin;
}

/* What begins at `at_ns`, and ran not: since when it may have its slot. */
static void
note_since(const verdict *v, verdict_cascade *cascade, int64_t at_ns)
{
    for (size_t i = v->look_count; i-- > 0;) {
        const verdict_look *look = &v->looks[i];

        if (look->asked_ns <= cascade->since_ns)
            return;
        if (look->told_ns < at_ns && !has_slot(look, cascade)) {
            cascade->since_ns = look->asked_ns;
            return;
        }
    }
}

/* The greatest that may have been in force between the two; 0: none. */
static int
greatest(const verdict *v, int64_t from_ns, int64_t to_ns, bool of_key)
{
    int most = -1;

    for (size_t i = 0; i < v->set_count; i++) {
        int max = of_key ? v->sets[i].key_max : v->sets[i].running_max;
        bool over = i + 1 < v->set_count && v->sets[i + 1].told_ns < from_ns;

        if (over || v->sets[i].asked_ns > to_ns)
            continue;
        if (max == 0)
            return 0;
        most = max > most ? max : most;
    }
    assert_true(most > 0);
    return most;
}

/* Who runs at once: of a key, or of all. */
typedef struct group {
    int count;
    int64_t since_ns;
} group;

static void
add(group *g, const verdict_cascade *cascade)
{
    g->count++;
    if (cascade->since_ns > g->since_ns)
        g->since_ns = cascade->since_ns;
}

static group
gather_group(const verdict *v, int key)
{
    group g = {.since_ns = INT64_MIN};

    for (size_t i = 0; i < v->cascade_count; i++)
        if (v->cascades[i].running > 0 &&
            (key < 0 || v->cascades[i].key == key))
            add(&g, &v->cascades[i]);
    return g;
}

/* Returns whether there is no room for more. */
static bool
judge(const verdict *v, const verdict_span *span, int key)
{
    group g = gather_group(v, key);
    int max = greatest(v, g.since_ns, span->begin_ns, key >= 0);
    char id[CASCADE_UUID_TEXT_SIZE];

    if (max > 0 && g.count > max)
        fail_msg("%d run at once, of %s %s, where %d may: at %" PRId64
                 " ns as %s began, %" PRId64 " us after the last may have come",
                 g.count, key >= 0 ? "key of" : "queue, user", span->of->user,
                 max, span->begin_ns, cascade_uuid_format(&span->of->id, id),
                 (span->begin_ns - g.since_ns) / 1000);
    return max > 0 && g.count == max;
}

static void
pass_edge(verdict *v, const edge *e)
{
    verdict_cascade *cascade = e->span->of;

    if (!e->begin) {
        cascade->running--;
        return;
    }
    if (cascade->running++ > 0)
        return; /* with the slot that it has */
    note_since(v, cascade, e->at_ns);
    v->full += judge(v, e->span, -1);
    v->full_key += judge(v, e->span, cascade->key);
}

static void
sweep(verdict *v)
{
    static edge edges[2 * VERDICT_SPANS];
    size_t count = 0;

    for (size_t i = 0; i < v->counted; i++) {
        const verdict_span *span = &v->spans[i];

        edges[count++] = (edge){span->begin_ns, span, true};
        edges[count++] = (edge){span->end_ns, span, false};
    }
    qsort(edges, count, sizeof(edges[0]), compare);
    for (size_t i = 0; i < count; i++)
        pass_edge(v, &edges[i]);
}

void
verdict_pass(verdict *v)
{
    gather(v);
    sweep(v);
    for (size_t i = 0; i < v->kept; i++)
        check_look(v, &v->looks[i]);
    print_message("%zu cascades, %zu functions and %zu left out; %zu begins "
                  "filled the queue, %zu a key\n",
                  v->cascade_count, v->counted, v->left_out, v->full,
                  v->full_key);
    assert_true(v->full > 0 && v->full_key > 0);
}
