/* SPDX-License-Identifier: MIT
 *
 * Size: what is planned of it, cascades that are large, and G15: nothing that
 * grows keeps others from going on.
 *
 * In few seeds the store takes time for each row (sim_cost.c), deadlines and
 * leases are short, and beside small cascades there are giants, of 10 to 10,000
 * rows, and, behind the committed seeds, rarely of 100,000. A giant is there at
 * once, as if it had grown before, and is asked to end in some way, or ends by
 * itself once it is loaded. What it takes as a whole may be many deadlines, and
 * leases; a piece that has ROWS_MIN rows at most never takes one. A batch may
 * have more: it is divided then.
 *
 * The oracle does not look at giants with each commit, which would take too
 * long: they have to come to their end as asked, and leave sound rows. The
 * small ones are judged as always; besides
 *
 *   G15  each has ended a while (wait_max_ms) after its start was acknowledged
 *        or, where there were faults, after these were mended
 *        no engine is told that it is no more, while it lives
 *        no erasure, claim or removal takes a deadline (sim_cost.c)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/uuid.h"
#include "client/command.h"
#include "held/run/sealing.h"
#include "sim/work.h"
#include "store/memory/internal.h"
#include "store/store.h"
#include "support/must.h"

#define SIZED_PERCENT 6
#define SUITE_SEEDS 1000 /* in them none is larger than LARGE_ROWS */
#define SMALL_ROWS 10
#define LARGE_ROWS 10000
#define HUGE_ROWS 100000
#define HUGE_PERCENT 2
#define FAULTS_PERCENT 35 /* of these seeds have faults, too */
#define ROWS_MIN 220      /* that a deadline is always enough for */
#define PIECES 6          /* of an erasure, in a deadline */
#define PAYLOAD_BYTES 4096
#define PAYLOAD_SHARE 16 /* so many times less rows, where they are large */
#define LETTERS_AT_ONCE 5000
#define LEASE_MIN_MS 100
#define CALLS_IN_LEASE 60 /* of a whole deadline, where there is no keeper */
#define CALLS_TO_END \
    10                   /* the same, of each engine and once more, until a
                             small cascade has ended */
#define WAIT_MS 2000     /* and polls, and pauses behind what failed */
#define CLOCKS_MS 120000 /* by which clocks that were set may differ */
#define YEAR_MS (INT64_C(1000) * 60 * 60 * 24 * 365)

enum {
    FORK_SIZE = 41,
    FORK_GIANT
};

static bool left_out;

void
sim_size_leave_out(void)
{
    left_out = true;
}

/* ---- The plan ----------------------------------------------------------- */

/* Each power of ten as often as the next. */
static unsigned
draw_rows(const sim_plan *plan, sim_random *random)
{
    unsigned rows = SMALL_ROWS;

    if (plan->seed > SUITE_SEEDS && sim_chance(random, HUGE_PERCENT))
        return HUGE_ROWS;
    while (rows < LARGE_ROWS && sim_chance(random, 75))
        rows *= 10;
    return rows / 10 + sim_below(random, rows - rows / 10) + 1;
}

static void
draw_giant(sim_plan *plan, size_t nth)
{
    static const char *const ends[] = {NULL, NULL, "delete", "terminate",
                                       "cancel"};
    sim_random random = sim_fork(plan->seed, FORK_GIANT, nth);
    sim_giant *giant = &plan->size.giants[nth];

    *giant = (sim_giant){.kind = sim_below(&random, GIANT_KINDS)};
    giant->rows = draw_rows(plan, &random);
    if (giant->kind == GIANT_PAYLOAD)
        giant->rows = giant->rows / PAYLOAD_SHARE + 1;
    if (giant->kind == GIANT_FAMILY) /* many: their ends share commits */
        giant->rows = SIM_GIANT_CHILDREN_MAX / 2 +
                      giant->rows % (SIM_GIANT_CHILDREN_MAX / 2);
    giant->at_ms = sim_between(&random, 0, (int)(plan->safety_ms / 4));
    giant->command = ends[sim_below(&random, 5)];
    if (giant->kind == GIANT_SLEEPERS && giant->command == NULL)
        giant->command = "cancel";
    giant->command_at_ms = giant->at_ms + sim_between(&random, 0, 5000);
}

static void
draw_costs(sim_size *size, sim_random *random)
{
    static const int64_t deadlines_ms[] = {100, 200, 500};
    static const int64_t leases_ms[] = {LEASE_MIN_MS, 300, 2000};
    unsigned rows = ROWS_MIN * (1 + sim_below(random, 3));

    size->deadline_ms = deadlines_ms[sim_below(random, 3)];
    size->row_ns = size->deadline_ms * INT64_C(1000000) / rows;
    size->kib_ns = size->row_ns / 2;
    size->piece_rows = rows / PIECES;
    size->late = sim_below(random, 3);
    size->keeper = sim_chance(random, 50);
    size->lease_ms = size->keeper ? leases_ms[sim_below(random, 3)]
                                  : CALLS_IN_LEASE * size->deadline_ms;
}

/* Only small ones, which all engines serve. */
static void
make_small(sim_plan *plan)
{
    for (unsigned i = 0; i < plan->cascade_count; i++) {
        sim_planned *c = &plan->cascades[i];
        sim_random random = c->random;
        int64_t start_ms = c->start_ms;

        *c = (sim_planned){.index = i,
                           .work = &sim_work_small,
                           .random = random,
                           .first_count = 1,
                           .queue = "default",
                           .priority = c->priority,
                           .start_ms = start_ms,
                           .together = 1,
                           .starts = 1};
        (void)snprintf(c->key, sizeof(c->key), "small %u", i);
        c->work->plan(c, &random);
    }
}

void
sim_size_plan(sim_plan *plan)
{
    sim_random random = sim_fork(plan->seed, FORK_SIZE, 0);
    sim_size *size = &plan->size;

    if (left_out || !sim_chance(&random, SIZED_PERCENT))
        return;
    size->on = true;
    plan->sqlite = false;
    if (!sim_chance(&random, FAULTS_PERCENT))
        plan->fault_count = 0;
    draw_costs(size, &random);
    size->giant_count = 1 + sim_below(&random, SIM_GIANTS_MAX);
    for (size_t i = 0; i < size->giant_count; i++)
        draw_giant(plan, i);
    make_small(plan);
}

void
sim_size_print(const sim_plan *plan)
{
    static const char *const kinds[] = {"past",    "sleepers", "context",
                                        "payload", "mail",     "family"};
    static const char *const lates[] = {"unknown", "not done", "done"};
    const sim_size *size = &plan->size;

    if (!size->on)
        return;
    printf("  a row takes %" PRId64 " us, deadline %" PRId64
           " ms, what is late is %s; lease %" PRId64 " ms%s\n",
           size->row_ns / 1000, size->deadline_ms, lates[size->late],
           size->lease_ms, size->keeper ? ", with a keeper" : "");
    for (size_t i = 0; i < size->giant_count; i++)
        if (!size->giants[i].off)
            printf("  giant %zu at %" PRId64 " ms: %s, %u rows, %s at %" PRId64
                   " ms\n",
                   i, size->giants[i].at_ms, kinds[size->giants[i].kind],
                   size->giants[i].rows,
                   size->giants[i].command != NULL ? size->giants[i].command
                                                   : "ends",
                   size->giants[i].command_at_ms);
}

void
sim_size_forget(sim_plan *plan)
{
    for (size_t i = 0; i < plan->size.giant_count; i++) {
        plan->size.giants[i].there = false;
        plan->size.giants[i].asked = false;
    }
    for (size_t i = 0; i < plan->cascade_count; i++) {
        plan->cascades[i].begun_ms = -1;
        plan->cascades[i].ended_ms = -1;
    }
}

/* ---- Rows of a giant ---------------------------------------------------- */

/* What is made of one. */
typedef struct making {
    sim *s;
    const sim_giant *giant;
    csc_arena arena;
    char id[CASCADE_UUID_TEXT_SIZE];
    int64_t now_ms;
    cascade_execution_row *executions;
    size_t execution_count;
    cascade_event_row *events;
    size_t event_count;
    cascade_message_row *letters;
    size_t letter_count;
} making;

static void *
take(making *m, size_t count, size_t size)
{
    return must(csc_arena_alloc(&m->arena, count + 1, size));
}

static const char *
long_output(making *m, unsigned at)
{
    char *text = take(m, PAYLOAD_BYTES + 40, 1);
    int len = sprintf(text, "{\"at\":%u,\"output\":\"", at);

    memset(text + len, 'x', PAYLOAD_BYTES);
    strcpy(text + len + PAYLOAD_BYTES, "\"}");
    return text;
}

static void
make_executions(making *m)
{
    const sim_giant *giant = m->giant;
    bool many = giant->kind == GIANT_PAST || giant->kind == GIANT_SLEEPERS ||
                giant->kind == GIANT_PAYLOAD;
    unsigned last = many ? giant->rows : 1;

    m->execution_count = last + 1;
    m->executions = take(m, m->execution_count, sizeof(*m->executions));
    for (unsigned i = 0; i <= last; i++) {
        cascade_execution_row *row = &m->executions[i];
        bool done = i < last && giant->kind != GIANT_SLEEPERS;
        bool sleeps = giant->kind == GIANT_SLEEPERS;

        *row = (cascade_execution_row){
            .cascade_id = giant->id,
            .function_id = (int32_t)i,
            .status =
                done ? CASCADE_EXECUTION_COMPLETED : CASCADE_EXECUTION_RUNNING,
            .node_instance_id =
                csc_arena_format(&m->arena, "%s/-/z.end#%u", m->id, i),
            .node_name = "z.end",
            .input = "{}",
            .location = "server",
            .started_at_ms = m->now_ms,
            .completed_at_ms = done ? m->now_ms : CASCADE_TIME_NONE};
        m->s->random.fill(m->s->random.context, &row->id, sizeof(row->id));
        if (done && giant->kind == GIANT_PAYLOAD)
            row->full_output = long_output(m, last);
        else if (done)
            row->full_output =
                csc_arena_format(&m->arena, "{\"at\":%u%s}", last,
                                 m->event_count > 0 ? ",\"keys\":[\"a\"]" : "");
        else if (sleeps)
            row->full_output = csc_arena_format(
                &m->arena, "{\"not_before\":%" PRId64 "}", m->now_ms + YEAR_MS);
    }
}

/* A row of the parent, and the child that it stands for. */
static void
make_child(making *m, unsigned nth, cascade_execution_row *row)
{
    static const char *const policies[] = {"cancel", "terminate"};
    char id[CASCADE_UUID_TEXT_SIZE];

    *row = m->executions[0];
    row->function_id = (int32_t)nth + 1;
    row->node_name = "cascade.child:c";
    row->node_instance_id =
        csc_arena_format(&m->arena, "%s/0/cascade.child:c#%u", m->id, nth);
    row->full_output = csc_arena_format(
        &m->arena, "{\"child\":\"%s\",\"policy\":\"%s\"}",
        cascade_uuid_format(&m->giant->children[nth], id), policies[nth % 2]);
    m->s->random.fill(m->s->random.context, &row->id, sizeof(row->id));
}

/* The first one, which is due or sleeps, and its children. */
static void
make_family(making *m)
{
    cascade_execution_row *first = NULL;

    m->execution_count = m->giant->rows + 1;
    m->executions = take(m, m->execution_count, sizeof(*m->executions));
    first = &m->executions[0];
    *first = (cascade_execution_row){
        .cascade_id = m->giant->id,
        .status = CASCADE_EXECUTION_RUNNING,
        .node_instance_id = csc_arena_format(&m->arena, "%s/-/z.end#0", m->id),
        .node_name = "z.end",
        .input = "{}",
        .location = "server",
        .started_at_ms = m->now_ms,
        .completed_at_ms = CASCADE_TIME_NONE};
    m->s->random.fill(m->s->random.context, &first->id, sizeof(first->id));
    for (unsigned i = 0; i < m->giant->rows; i++)
        make_child(m, i, &m->executions[i + 1]);
}

static void
make_events(making *m)
{
    m->event_count = m->giant->kind == GIANT_CONTEXT ? m->giant->rows : 0;
    m->events = take(m, m->event_count, sizeof(*m->events));
    for (size_t i = 0; i < m->event_count; i++)
        m->events[i] = (cascade_event_row){
            .cascade_id = m->giant->id,
            .key = "a",
            .value = csc_arena_format(&m->arena, "%zu", i),
            .created_at_us = csc_clock_ms_to_us(m->now_ms) + (int64_t)i};
}

static void
make_letters(making *m)
{
    m->letter_count = m->giant->kind == GIANT_MAIL ? m->giant->rows : 0;
    m->letters = take(m, m->letter_count, sizeof(*m->letters));
    for (size_t i = 0; i < m->letter_count; i++)
        m->letters[i] = (cascade_message_row){
            .cascade_id = m->giant->id,
            .kind = "signal",
            .name = "s",
            .path = csc_arena_format(&m->arena, "%s/message/%zu", m->id, i),
            .payload = "{\"letter\":1}",
            .sent_at_ms = m->now_ms};
}

/* ---- Life of a giant ---------------------------------------------------- */

static void
submit(sim *s, const cascade_submission *submission)
{
    if (csc_sealing_submit(s->eye, submission) != CASCADE_OK)
        sim_fail(s, "a giant: %s", cascade_errmsg());
}

static void
put_rows(making *m)
{
    bool existed = false;
    bool sleeps = m->giant->kind == GIANT_SLEEPERS;
    cascade_change change = {
        .cascade = {.id = m->giant->id,
                    .status = CASCADE_RUNNING,
                    .fn_id = (int32_t)m->execution_count - 1,
                    .user_id = "giant",
                    .created_at_ms = m->now_ms,
                    .updated_at_ms = m->now_ms},
        .run_action = CASCADE_RUN_START,
        .run = {.cascade_id = m->giant->id,
                .queue = "default",
                .wake_at_ms = m->now_ms + (sleeps ? YEAR_MS : 0)},
        .inserts = m->executions,
        .insert_count = m->execution_count,
        .events = m->events,
        .event_count = m->event_count,
        .run_number = 1};

    submit(m->s, &(cascade_submission){
                     .starts = &change, .start_count = 1, .existed = &existed});
}

static void
put_letters(making *m)
{
    cascade_sent *sent = take(m, LETTERS_AT_ONCE, sizeof(*sent));

    for (size_t i = 0; i < m->letter_count; i += LETTERS_AT_ONCE) {
        size_t left = m->letter_count - i;

        submit(m->s, &(cascade_submission){
                         .messages = &m->letters[i],
                         .message_count =
                             left < LETTERS_AT_ONCE ? left : LETTERS_AT_ONCE,
                         .sent = sent});
    }
}

static void
name_children(sim *s, sim_giant *giant)
{
    for (unsigned i = 0; i < giant->rows; i++) {
        s->random.fill(s->random.context, &giant->children[i],
                       sizeof(giant->children[i]));
        oracle_leave_out(s->o, &giant->children[i]);
    }
}

/* Each due in a year. */
static void
put_child(making *m, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_execution_row row = m->executions[0];
    bool existed = false;
    cascade_change change = {.cascade = {.id = *id,
                                         .status = CASCADE_RUNNING,
                                         .user_id = "giant",
                                         .created_at_ms = m->now_ms,
                                         .updated_at_ms = m->now_ms},
                             .run_action = CASCADE_RUN_START,
                             .run = {.cascade_id = *id,
                                     .queue = "default",
                                     .wake_at_ms = m->now_ms + YEAR_MS},
                             .inserts = &row,
                             .insert_count = 1,
                             .run_number = 1};

    row.cascade_id = *id;
    m->s->random.fill(m->s->random.context, &row.id, sizeof(row.id));
    row.node_instance_id = csc_arena_format(&m->arena, "%s/-/z.end#0",
                                            cascade_uuid_format(id, text));
    row.full_output = csc_arena_format(
        &m->arena,
        "{\"cascade\":{\"depth\":1,\"queue\":\"default\","
        "\"parent\":\"%s\",\"priority\":0},\"not_before\":%" PRId64 "}",
        m->id, m->now_ms + YEAR_MS);
    submit(m->s, &(cascade_submission){
                     .starts = &change, .start_count = 1, .existed = &existed});
}

static void
put_children(making *m)
{
    for (unsigned i = 0; i < m->giant->rows; i++)
        put_child(m, &m->giant->children[i]);
}

static void
be_there(sim *s, sim_giant *giant)
{
    making m = {.s = s, .giant = giant};

    if (giant->kind == GIANT_FAMILY)
        name_children(s, giant);
    s->random.fill(s->random.context, &giant->id, sizeof(giant->id));
    giant->there = true;
    cascade_uuid_format(&giant->id, m.id);
    m.now_ms = s->eye_clock.wall_ms(s->eye_clock.context);
    oracle_leave_out(s->o, &giant->id);
    make_events(&m);
    make_letters(&m);
    if (giant->kind == GIANT_FAMILY)
        make_family(&m);
    else
        make_executions(&m);
    put_rows(&m);
    if (giant->kind == GIANT_FAMILY)
        put_children(&m);
    put_letters(&m);
    csc_arena_fini(&m.arena);
    sim_note(SIM_GIANTS);
    sim_note_many(SIM_GIANTS_LARGE, giant->rows > ROWS_MIN);
    sim_trace(s, "a giant of %u rows is there", giant->rows);
}

static void
ask(sim *s, sim_giant *giant)
{
    const csc_command_spec spec = {.kind = giant->command};
    const cascade_request_options options = {.request_id = "giant"};
    char id[CASCADE_UUID_TEXT_SIZE];
    csc_arena arena = {0};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_message_row message = {
        .cascade_id = giant->id,
        .kind = giant->command,
        .name = "",
        .payload = "{}",
        .sent_at_ms = s->eye_clock.wall_ms(s->eye_clock.context)};

    giant->asked = true;
    message.path =
        csc_arena_format(&arena, "%s/message/%s/giant",
                         cascade_uuid_format(&giant->id, id), giant->command);
    if (strcmp(giant->command, "delete") != 0 &&
        csc_command_make(s->eye, &arena, &giant->id, &spec, &options,
                         &message) != CASCADE_OK)
        sim_fail(s, "a giant: %s", cascade_errmsg());
    submit(s, &(cascade_submission){
                  .messages = &message, .message_count = 1, .sent = &sent});
    csc_arena_fini(&arena);
    sim_trace(s, "a giant: %s", giant->command);
}

bool
sim_giant_act(sim *s)
{
    for (size_t i = 0; i < s->plan->size.giant_count; i++) {
        sim_giant *giant = &s->plan->size.giants[i];
        bool late = s->phase != SIM_SAFETY;

        if (giant->off)
            continue;
        if (!giant->there && (late || s->now_ms >= giant->at_ms)) {
            be_there(s, giant);
            return true;
        }
        if (giant->there && !giant->asked && giant->command != NULL &&
            (late || s->now_ms >= giant->command_at_ms)) {
            ask(s, giant);
            return true;
        }
    }
    return false;
}

int64_t
sim_giant_next(const sim *s)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < s->plan->size.giant_count; i++) {
        const sim_giant *giant = &s->plan->size.giants[i];
        int64_t at_ms = giant->there ? giant->command_at_ms : giant->at_ms;

        if (!giant->off && at_ms < next &&
            (!giant->there || (!giant->asked && giant->command != NULL)))
            next = at_ms;
    }
    return next;
}

/* 0: it is gone. */
static cascade_status
status_of(const sim *s, const cascade_uuid *id)
{
    const csc_memory *memory = s->eye->self;
    const csc_memory_cascade *cascade =
        csc_map_get(&memory->model->cascades, id);

    return cascade != NULL ? cascade->row.status : 0;
}

static bool
has_children(const sim *s, const sim_giant *giant)
{
    unsigned count = giant->kind == GIANT_FAMILY ? giant->rows : 0;

    for (unsigned i = 0; i < count; i++)
        if (status_of(s, &giant->children[i]) == CASCADE_RUNNING)
            return true;
    return false;
}

static bool
has_mail(const sim *s, const sim_giant *giant)
{
    const csc_memory *memory = s->eye->self;

    return csc_map_get(&memory->model->boxes, &giant->id) != NULL;
}

bool
sim_giant_done(const sim *s)
{
    for (size_t i = 0; i < s->plan->size.giant_count; i++) {
        const sim_giant *giant = &s->plan->size.giants[i];

        if (!giant->off && (!giant->there || has_mail(s, giant) ||
                            status_of(s, &giant->id) == CASCADE_RUNNING ||
                            has_children(s, giant) ||
                            (giant->command != NULL && !giant->asked)))
            return false;
    }
    return true;
}

/* What was asked for may come when it has ended by itself, but that a deletion
 * is never late. */
void
sim_giant_check(sim *s)
{
    for (size_t i = 0; i < s->plan->size.giant_count; i++) {
        const sim_giant *giant = &s->plan->size.giants[i];
        cascade_status status = giant->there ? status_of(s, &giant->id) : 0;
        bool deleted = giant->asked && strcmp(giant->command, "delete") == 0;

        if (!giant->there)
            continue;
        if (deleted ? status != 0 : status == 0)
            sim_fail(s, "giant %zu is %s", i, deleted ? "there" : "gone");
        if (giant->command == NULL && status != CASCADE_COMPLETED && !s->lossy)
            sim_fail(s, "G15: giant %zu ended in error", i);
    }
}

/* ---- Small ones --------------------------------------------------------- */

static int64_t
wait_max_ms(const sim *s)
{
    int64_t engines = 1;

    for (unsigned i = 0; i < s->plan->process_count; i++)
        engines += s->plan->engine_count[i];
    return engines * CALLS_TO_END * s->plan->size.deadline_ms + WAIT_MS;
}

/* From when on nothing but size is in the way. */
static int64_t
calm_ms(const sim *s)
{
    if (!s->lossy)
        return 0;
    if (s->phase == SIM_SAFETY)
        return INT64_MAX;
    return s->mended_ms + 2 * s->plan->size.lease_ms + 2 * WAIT_MS +
           (s->clock_moved ? CLOCKS_MS : 0);
}

void
sim_small_watch(sim *s)
{
    int64_t from_ms = calm_ms(s);

    if (!s->plan->size.on || s->depth > 0)
        return;
    for (size_t i = 0; i < s->plan->cascade_count; i++) {
        sim_planned *c = &s->plan->cascades[i];
        int64_t since_ms = c->begun_ms > from_ms ? c->begun_ms : from_ms;

        if (c->off || !c->acknowledged || c->ended_ms >= 0)
            continue;
        if (c->begun_ms < 0)
            c->begun_ms = s->now_ms;
        else if (oracle_seen(s->o, &c->id) != CASCADE_RUNNING)
            c->ended_ms = s->now_ms;
        else if (from_ms != INT64_MAX && s->now_ms - since_ms > wait_max_ms(s))
            sim_fail(
                s, "G15: small cascade %zu has not ended after %" PRId64 " ms",
                i, s->now_ms - since_ms);
        if (c->ended_ms >= 0)
            sim_note(SIM_SMALL);
    }
}

void
sim_small_fenced(sim_process *p, const wrap_call *call)
{
    sim *s = p->s;

    if (s->plan->size.on && !p->dead && s->now_ms >= calm_ms(s))
        sim_fail(s, "G15: p%u %s: it was fenced, and is alive", p->slot,
                 sim_move_name((int)call->move));
}
