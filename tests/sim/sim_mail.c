/* SPDX-License-Identifier: MIT
 *
 * Messages from outside: signals, commands, as the plan of a cascade says. Each
 * is sent through the handle of some process once its cascade may be there, and
 * again with the same request id while its outcome is unknown, as a caller
 * would; some are sent again though they were acknowledged. One without a
 * request id is sent until it is acknowledged: each call may have had an
 * effect. The oracle knows all of them (G9).
 *
 * By its key a cascade is written to as the run that it is then, by its id as
 * the first one. What is sent to a later run may overtake what is still sent on
 * to it: a command that is to come behind another takes the long way first.
 *
 * Commands are submitted as cascade_cancel() and its neighbours do, but are not
 * carried out by the call where no engine is alive: that takes real time.
 */
#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "change/op.h"
#include "client/command.h"
#include "client/signal.h"
#include "client/submit.h"
#include "query/run_chain.h"
#include "sim/work.h"

#define RETRY_MS 400

/* ---- One ---------------------------------------------------------------- */

static oracle_message
told(const sim_planned *c, const sim_letter *letter)
{
    return (oracle_message){
        .to = &c->id,
        .kind = letter->kind,
        .name = letter->name[0] != '\0' ? letter->name : NULL,
        .request_id = letter->unnamed ? NULL : letter->request_id,
        .payload = letter->payload[0] != '\0' ? letter->payload : NULL};
}

static cascade_signal_options
options_of(const sim_letter *letter)
{
    return (cascade_signal_options){
        .size = sizeof(cascade_signal_options),
        .request_id = letter->unnamed ? NULL : letter->request_id};
}

/* What one that has ended receives too. */
static bool
is_of_ended(const sim_letter *letter)
{
    return strcmp(letter->kind, CSC_MESSAGE_RETRY) == 0 ||
           strcmp(letter->kind, CSC_MESSAGE_RERUN) == 0;
}

/* A deletion is made here: what the library asks before it is of no matter. */
static cascade_err
make_command(sim_process *p, csc_arena *arena, const cascade_uuid *to,
             const sim_letter *letter, cascade_message_row *message)
{
    bool of_run = is_of_ended(letter) || strcmp(letter->kind, "delete") == 0;
    char id[CASCADE_UUID_TEXT_SIZE];
    const csc_command_spec spec = {.kind = letter->kind};
    const cascade_request_options options = {.request_id = letter->request_id};

    if (!of_run)
        return csc_command_make(p->store, arena, to, &spec, &options, message);
    *message = (cascade_message_row){
        .cascade_id = *to,
        .kind = letter->kind,
        .name = "",
        .path = csc_arena_format(arena, "%s/message/%s/%s",
                                 cascade_uuid_format(to, id), letter->kind,
                                 letter->request_id),
        .payload = letter->payload[0] != '\0' ? letter->payload : "{}",
        .sent_at_ms = p->clock.wall_ms(p)};
    return CASCADE_OK;
}

static cascade_err
submit_command(sim_process *p, csc_arena *arena, const cascade_uuid *to,
               const sim_letter *letter)
{
    cascade_message_row message = {.path = NULL};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    cascade_err err = make_command(p, arena, to, letter, &message);

    if (err == CASCADE_OK)
        err = csc_submit(p->store, &submission, letter->kind);
    if (err == CASCADE_OK && !is_of_ended(letter) &&
        strcmp(letter->kind, "delete") != 0)
        err = csc_run_chain_sent(p->store, to, message.path, &sent);
    if (err == CASCADE_OK && sent == CASCADE_SENT_ENDED && !is_of_ended(letter))
        err = CASCADE_ERR_ENDED;
    if (err == CASCADE_OK && sent == CASCADE_SENT_ABSENT)
        err = CASCADE_ERR_NOT_FOUND;
    return err;
}

static cascade_err
command(sim_process *p, const sim_planned *c, const sim_letter *letter)
{
    csc_arena arena = {0};
    cascade_uuid to = c->id;
    cascade_err err = CASCADE_OK;

    if (letter->by_key && (letter->after == 0 || letter->decided))
        err = cascade_key_current(p->store, "somebody", c->key, &to);
    if (err == CASCADE_OK)
        err = submit_command(p, &arena, &to, letter);
    csc_arena_fini(&arena);
    return err;
}

static cascade_err
post(sim_process *p, const sim_planned *c, const sim_letter *letter)
{
    cascade_signal_options options = options_of(letter);
    cJSON *payload = NULL;

    if (letter->name[0] == '\0')
        return command(p, c, letter);
    payload = cJSON_Parse(letter->payload);
    if (letter->by_key && c->key[0] != '\0')
        return cascade_signal_key(p->store, "somebody", c->key, letter->name,
                                  payload, &options);
    return cascade_signal(p->store, &c->id, letter->name, payload, &options);
}

/* ---- What came of it ---------------------------------------------------- */

static void
count(const sim_letter *letter, cascade_err err)
{
    if (err == CASCADE_ERR_ENDED)
        sim_note(SIM_SENT_LATE);
    if (err == CASCADE_ERR_OUTCOME_UNKNOWN)
        sim_note(SIM_SENT_UNKNOWN);
    if (letter->sent > 1)
        sim_note(SIM_SENT_AGAIN);
    if (letter->by_key)
        sim_note(SIM_SENT_BY_KEY);
}

static void
note_answer(sim *s, sim_planned *c, sim_letter *letter, cascade_err err)
{
    bool decided = err == CASCADE_OK || err == CASCADE_ERR_ENDED ||
                   err == CASCADE_ERR_NOT_FOUND;

    if (!decided && err != CASCADE_ERR_OUTCOME_UNKNOWN &&
        err != CASCADE_ERR_UNAVAILABLE)
        sim_fail(s, "a %s returned %s: %s", letter->kind, cascade_err_name(err),
                 cascade_errmsg());
    letter->decided = letter->decided || decided;
    letter->next_ms = s->now_ms + RETRY_MS;
    count(letter, err);
    sim_trace(s, "%s %s %s to cascade %u: %s", letter->kind, letter->name,
              letter->request_id, c->index, cascade_err_name(err));
}

static void
send_letter(sim *s, sim_process *p, sim_planned *c, sim_letter *letter)
{
    const oracle_message message = told(c, letter);
    cascade_err err = CASCADE_OK;

    letter->sent++;
    letter->under_way = true;
    oracle_sending(s->o, &message);
    p->busy = true;
    p->sending = true;
    p->submit_done = false;
    err = post(p, c, letter);
    p->sending = false;
    p->busy = false;
    letter->under_way = false;
    oracle_sent(s->o, &message, err);
    if (p->submit_done && err != CASCADE_OK && err != CASCADE_ERR_ENDED &&
        err != CASCADE_ERR_NOT_FOUND && err != CASCADE_ERR_OUTCOME_UNKNOWN)
        sim_fail(s, "G12: a message was sent, and the call returned %s",
                 cascade_err_name(err));
    note_answer(s, c, letter, err);
}

cascade_err
sim_mail_start(sim *s, sim_process *p, sim_planned *c,
               const cascade_start_options *options, cascade_started *started)
{
    sim_letter *letter = &c->letters[0];
    cascade_signal_options signal = options_of(letter);
    oracle_message message;
    cascade_err err = CASCADE_OK;

    if (cascade_uuid_from_key("somebody", c->key, &c->id) != CASCADE_OK)
        return CASCADE_ERR_INVALID;
    message = told(c, letter);
    letter->sent++;
    oracle_sending(s->o, &message);
    err = cascade_start_with_signal(
        p->store, c->work->first, cJSON_Parse(c->input), options, letter->name,
        cJSON_Parse(letter->payload), &signal, started);
    oracle_sent(s->o, &message, err);
    sim_note(SIM_SENT_WITH_START);
    note_answer(s, c, letter, err);
    return err == CASCADE_ERR_ENDED ? CASCADE_OK : err;
}

/* ---- When --------------------------------------------------------------- */

/* Its cascade may be there: a start of it has returned, and said so, unless it
 * is the only one. */
static bool
is_startable(const sim_planned *c)
{
    return !c->off && c->answered && c->has_id &&
           (c->acknowledged || c->key[0] == '\0');
}

static bool
is_wanted(const sim_planned *c, const sim_letter *letter)
{
    if (letter->under_way || !is_startable(c) ||
        (letter->after > 0 && !c->letters[letter->after - 1].decided))
        return false;
    return !letter->decided || letter->sent < letter->times;
}

static sim_letter *
find_due(sim *s, sim_planned *c)
{
    for (unsigned i = 0; i < c->letter_count; i++) {
        sim_letter *letter = &c->letters[i];

        if (is_wanted(c, letter) &&
            (s->now_ms >= letter->next_ms ||
             (s->phase != SIM_SAFETY && letter->sent == 0)))
            return letter;
    }
    return NULL;
}

bool
sim_mail_act(sim *s, sim_process *p)
{
    for (size_t i = 0; i < s->plan->cascade_count; i++) {
        sim_planned *c = &s->plan->cascades[i];
        sim_letter *letter = find_due(s, c);

        if (letter == NULL)
            continue;
        send_letter(s, p, c, letter);
        return true;
    }
    return false;
}

int64_t
sim_mail_next(const sim *s)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < s->plan->cascade_count; i++) {
        const sim_planned *c = &s->plan->cascades[i];

        for (unsigned k = 0; k < c->letter_count; k++)
            if (is_wanted(c, &c->letters[k]) && c->letters[k].next_ms < next)
                next = c->letters[k].next_ms;
    }
    return next;
}

bool
sim_mail_done(const sim *s)
{
    return sim_mail_next(s) == INT64_MAX;
}

bool
sim_mail_deletes(const sim_planned *c)
{
    for (unsigned i = 0; i < c->letter_count; i++)
        if (c->letters[i].sent > 0 && strcmp(c->letters[i].kind, "delete") == 0)
            return true;
    return false;
}

bool
sim_mail_restarts(const sim_planned *c)
{
    for (unsigned i = 0; i < c->letter_count; i++)
        if (strcmp(c->letters[i].kind, "retry") == 0 ||
            strcmp(c->letters[i].kind, "rerun") == 0)
            return true;
    return false;
}

void
sim_mail_forget(sim_planned *c)
{
    c->answered = false;
    for (unsigned i = 0; i < c->letter_count; i++) {
        sim_letter *letter = &c->letters[i];

        letter->sent = 0;
        letter->decided = false;
        letter->under_way = false;
        letter->next_ms = letter->at_ms;
    }
}
