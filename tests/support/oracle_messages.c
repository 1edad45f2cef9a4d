/* SPDX-License-Identifier: MIT
 *
 * What was sent against what is there. See oracle.h.
 *
 * A letter is a request id of one cascade, however often it was sent. Once a
 * call that sent it has returned OK it is in the messages or has a receipt, and
 * never two; a letter of which each call was refused is nowhere. What has no
 * request id is counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "state/supersede.h"
#include "support/must.h"
#include "support/oracle_internal.h"

#define NEVER UINT64_MAX

struct oracle_letter {
    char *kind;
    char *name;
    char *request_id;
    char *payload;  /* NULL: any */
    uint64_t begun; /* the number of the call's beginning */
    uint64_t told;  /* of its return with OK; NEVER */
    size_t under_way;
    size_t revivals; /* of the last run, when that began */
    bool possible;   /* some call may have had an effect */
};

/* ---- Sending ------------------------------------------------------------ */

static bool
is_told(cascade_err err)
{
    return err == CASCADE_OK || err == CASCADE_ERR_ENDED;
}

static char *
copy(const char *text)
{
    return text != NULL ? must(strdup(text)) : NULL;
}

static oracle_letter *
find_letter(const oracle_cascade *c, const char *request_id)
{
    for (size_t i = 0; i < c->letter_count; i++)
        if (strcmp(c->letters[i].request_id, request_id) == 0)
            return &c->letters[i];
    return NULL;
}

static oracle_letter *
add_letter(oracle *o, oracle_cascade *c, const oracle_message *message)
{
    oracle_letter *letter = NULL;

    if (c->letter_count == c->letter_room) {
        c->letter_room = c->letter_room == 0 ? 8 : c->letter_room * 2;
        c->letters =
            must(realloc(c->letters, c->letter_room * sizeof(*letter)));
    }
    letter = &c->letters[c->letter_count++];
    *letter = (oracle_letter){.kind = copy(message->kind),
                              .name = copy(message->name),
                              .request_id = copy(message->request_id),
                              .payload = copy(message->payload),
                              .begun = ++o->sendings,
                              .told = NEVER};
    return letter;
}

void
oracle_letters_free(oracle_cascade *c)
{
    for (size_t i = 0; i < c->letter_count; i++) {
        free(c->letters[i].kind);
        free(c->letters[i].name);
        free(c->letters[i].request_id);
        free(c->letters[i].payload);
    }
    free(c->letters);
}

void
oracle_sending(oracle *o, const oracle_message *message)
{
    oracle_cascade *c = NULL;
    oracle_letter *letter = NULL;

    pthread_mutex_lock(&o->mutex);
    c = oracle_cascade_get(o, message->to);
    c->deleting = c->deleting || strcmp(message->kind, "delete") == 0;
    if (message->request_id == NULL) {
        c->unnamed++;
    } else {
        letter = find_letter(c, message->request_id);
        if (letter == NULL)
            letter = add_letter(o, c, message);
        if (letter->under_way == 0)
            letter->revivals = oracle_find_last(o, c)->revivals;
        letter->under_way++;
    }
    pthread_mutex_unlock(&o->mutex);
}

/* What a call may say: of the last run, to which it is sent on, as of any
 * moment of the call. */
static void
judge_answer(oracle *o, const oracle_cascade *c, const oracle_message *message,
             cascade_err err)
{
    const oracle_cascade *last = oracle_find_last(o, c);
    const oracle_letter *letter = message->request_id != NULL
                                      ? find_letter(c, message->request_id)
                                      : NULL;
    bool ended = last->looks > 0 &&
                 (last->rows.cascade.status != CASCADE_RUNNING ||
                  (letter != NULL && last->revivals > letter->revivals));

    if (err == CASCADE_ERR_ENDED && o->follow && !ended && !c->deleted)
        oracle_fail(o, "G9", message->to, ORACLE_NO_ID,
                    "a %s was told that it has ended, which it has not",
                    message->kind);
    if (err == CASCADE_ERR_NOT_FOUND && c->acknowledged && !c->deleting)
        oracle_fail(o, "G9", message->to, ORACLE_NO_ID,
                    "a %s was told that it does not exist", message->kind);
}

void
oracle_sent(oracle *o, const oracle_message *message, cascade_err err)
{
    oracle_cascade *c = NULL;
    oracle_letter *letter = NULL;

    pthread_mutex_lock(&o->mutex);
    c = oracle_cascade_get(o, message->to);
    judge_answer(o, c, message, err);
    if (message->request_id == NULL) {
        c->unnamed_told += is_told(err);
        pthread_mutex_unlock(&o->mutex);
        return;
    }
    letter = find_letter(c, message->request_id);
    if (letter == NULL)
        abort(); /* oracle_sending() was not called */
    letter->under_way--;
    letter->possible =
        letter->possible || is_told(err) || err == CASCADE_ERR_OUTCOME_UNKNOWN;
    if (is_told(err) && letter->told == NEVER)
        letter->told = ++o->sendings;
    pthread_mutex_unlock(&o->mutex);
}

bool
oracle_may_be_gone(const oracle_cascade *c)
{
    return c->deleting;
}

/* ---- Looking ------------------------------------------------------------ */

static void
fail_letter(const oracle_view *v, const oracle_letter *letter, const char *what)
{
    oracle_fail(v->o, "G9", &v->c->id, ORACLE_NO_ID, "%s %s, request %s: %s",
                letter->kind, letter->name != NULL ? letter->name : "",
                letter->request_id, what);
}

static const oracle_fact *
find_receipt(const oracle_view *v, const char *request_id)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->facts[i].receipt &&
            strcmp(oracle_request_of(v->facts[i].row->node_instance_id),
                   request_id) == 0)
            return &v->facts[i];
    return NULL;
}

static const dump_message *
find_message(const oracle_view *v, const char *request_id)
{
    for (size_t i = 0; i < v->rows.message_count; i++) {
        const char *path = v->rows.messages[i].row.path;

        if (oracle_request_of(path) != NULL &&
            strcmp(oracle_request_of(path), request_id) == 0)
            return &v->rows.messages[i];
    }
    return NULL;
}

/* Its receipt says what was sent. */
static bool
is_of(const oracle_fact *fact, const oracle_letter *letter)
{
    const char *name = fact->row->node_name + strlen("cascade.");
    const char *kind = letter->kind;
    size_t len = strlen(kind);

    if (strcmp(kind, "delete") == 0)
        return strcmp(name, "terminate") == 0;
    if (strncmp(name, kind, len) != 0 ||
        (letter->payload != NULL &&
         strcmp(fact->row->input, letter->payload) != 0))
        return false;
    if (letter->name == NULL)
        return name[len] == '\0';
    return name[len] == ':' && strcmp(name + len + 1, letter->name) == 0;
}

/* Of a retry or a rerun that is made in several commits: the message stays
 * until the last one. */
static bool
is_in_parts(const oracle_fact *receipt)
{
    return csc_supersede_is_receipt(receipt->row) &&
           receipt->row->status != CASCADE_EXECUTION_FAILED;
}

/* All messages were read. */
static bool
is_whole(const oracle_view *v)
{
    return v->rows.message_count < CASCADE_LOAD_MESSAGES_MAX;
}

static void
check_letter(const oracle_view *v, const oracle_letter *letter)
{
    const oracle_fact *receipt = find_receipt(v, letter->request_id);
    const dump_message *message = find_message(v, letter->request_id);
    bool there = receipt != NULL || message != NULL;
    bool deletion = strcmp(letter->kind, "delete") == 0;
    cascade_uuid next; /* it was sent on: oracle_check_runs() */

    if (!there && letter->told != NEVER && is_whole(v) &&
        !oracle_next_run(&v->rows, &next))
        fail_letter(v, letter, "was acknowledged, and is lost");
    if (there && !letter->possible && letter->under_way == 0)
        fail_letter(v, letter, "was refused, and is there");
    if (receipt != NULL && message != NULL && !deletion &&
        !is_in_parts(receipt))
        fail_letter(v, letter, "was received, and is still a message");
    if (message != NULL && message->repeated != (receipt != NULL))
        fail_letter(v, letter, "is not told from a repeated one");
    if (receipt != NULL && !is_of(receipt, letter))
        fail_letter(v, letter, "its receipt says something else");
}

/* A call that had returned before another began: its signal comes first. */
static void
check_order(const oracle_view *v, const oracle_letter *first,
            const oracle_letter *second)
{
    const oracle_fact *a = NULL;
    const oracle_fact *b = NULL;
    cascade_uuid next;

    if (first->told >= second->begun || first->name == NULL ||
        second->name == NULL || strcmp(first->name, second->name) != 0)
        return;
    b = find_receipt(v, second->request_id);
    if (b == NULL)
        return;
    a = find_receipt(v, first->request_id);
    if (a == NULL && oracle_next_run(&v->rows, &next))
        return; /* sent on */
    if (a == NULL ? is_whole(v) || find_message(v, first->request_id) != NULL
                  : a->row->function_id > b->row->function_id)
        fail_letter(v, second, "was received before one that was sent before");
}

/* This run, and those before it, which send on. */
static const oracle_cascade *
run_before(const oracle_view *v, const oracle_cascade *run)
{
    return oracle_find_previous(v->o, run == v->c ? &v->rows : &run->rows);
}

bool
oracle_is_written_to(const oracle_view *v)
{
    for (const oracle_cascade *c = v->c; c != NULL; c = run_before(v, c))
        if (c->letter_count + c->unnamed > 0)
            return true;
    return false;
}

/* By somebody whom the test knows, or by its parent or a child. */
static bool
is_sent(const oracle_view *v, const char *path)
{
    for (const oracle_cascade *c = v->c; c != NULL; c = run_before(v, c))
        if (find_letter(c, oracle_request_of(path)) != NULL)
            return true;
    return oracle_is_of_family(v, path);
}

static size_t
count_unnamed(const oracle_view *v)
{
    size_t unnamed = 0;

    for (const oracle_cascade *c = v->c; c != NULL; c = run_before(v, c))
        unnamed += c->unnamed;
    return unnamed;
}

/* Whether something is there that nobody has sent. */
static void
check_strangers(const oracle_view *v)
{
    size_t unknown = 0;
    size_t unnamed = count_unnamed(v);
    cascade_uuid next;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (!fact->receipt)
            continue;
        if (find_receipt(v, oracle_request_of(fact->row->node_instance_id)) !=
            fact)
            oracle_fail(v->o, "G9", &v->c->id, fact->row->function_id,
                        "was received before: %s", fact->row->node_instance_id);
        unknown += !is_sent(v, fact->row->node_instance_id) &&
                   strstr(fact->row->node_instance_id, "/message/poison/") ==
                       NULL; /* the engine's own */
    }
    for (size_t i = 0; i < v->rows.message_count; i++) {
        const char *path = v->rows.messages[i].row.path;
        const char *request = oracle_request_of(path);

        unknown += request == NULL ||
                   (!is_sent(v, path) && find_receipt(v, request) == NULL);
    }
    if (v->o->refuse_strangers && unknown > unnamed)
        oracle_fail(v->o, "G9", &v->c->id, ORACLE_NO_ID,
                    "%zu messages that nobody sent", unknown - unnamed);
    if (unknown < v->c->unnamed_told && is_whole(v) &&
        !oracle_next_run(&v->rows, &next))
        oracle_fail(v->o, "G9", &v->c->id, ORACLE_NO_ID,
                    "%zu messages were acknowledged, and are lost",
                    v->c->unnamed_told - unknown);
}

/* Whether it was received there, or waits. */
static bool
is_at(const oracle_cascade *c, const oracle_letter *letter)
{
    const dump_rows *rows = &c->rows;
    const char *request = NULL;

    for (size_t i = 0; i < rows->execution_count; i++) {
        request = oracle_request_of(rows->executions[i].node_instance_id);
        if (request != NULL && strcmp(request, letter->request_id) == 0)
            return true;
    }
    for (size_t i = 0; i < rows->message_count; i++) {
        request = oracle_request_of(rows->messages[i].row.path);
        if (request != NULL && strcmp(request, letter->request_id) == 0)
            return true;
    }
    return false;
}

void
oracle_check_sent_on(oracle *o, const oracle_cascade *c)
{
    for (size_t i = 0; i < c->letter_count; i++) {
        const oracle_letter *letter = &c->letters[i];
        const oracle_cascade *run = c;
        size_t found = 0;

        for (; run != NULL; run = oracle_find_next(o, run))
            found += is_at(run, letter);
        if (letter->told != NEVER && strcmp(letter->kind, "delete") != 0 &&
            found != 1)
            oracle_fail(o, "G9", &c->id, ORACLE_NO_ID,
                        "%s, request %s: is in %zu runs", letter->kind,
                        letter->request_id, found);
    }
}

void
oracle_check_messages(oracle_view *v)
{
    const oracle_cascade *c = v->c;

    for (size_t i = 0; i < c->letter_count; i++) {
        check_letter(v, &c->letters[i]);
        for (size_t k = 0; k < c->letter_count; k++)
            check_order(v, &c->letters[i], &c->letters[k]);
    }
    check_strangers(v);
}
