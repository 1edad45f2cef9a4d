/* SPDX-License-Identifier: MIT
 *
 * The node's side of updates and queries; the other one is in update.c.
 *
 *   request   a signal update/NAME, {"path":P,"request":...}; P is its own path
 *             in the run that it was sent to, and goes with it into later runs
 *   answer    a step answer/NAME, its output {"path":P,"answer":...}
 *   publish   an event of the context key published:NAME
 *
 * If the process dies before the answer is recorded, the node is entered again,
 * finds the request recorded, and answers; after it, the answer is found.
 */
#include "cascade/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "state/state.h"
#include "store/store.h"

/* That of a request id has 307 at most; another program's may have more. */
#define PATH_MAX_BYTES 1024

/* What the ticket points at: the path is behind the name. NULL without memory.
 */
static const char *
make_ticket(cascade_node *node, const char *name, const char *payload)
{
    const char *ticket = NULL;
    csc_json_span span;
    char *path = NULL;

    if (csc_json_read_member(payload, "path", &span) &&
        csc_json_read_text(span, &path) && path == NULL)
        return NULL;
    /* <name>/<path>: names have no slash */
    ticket = csc_arena_join(&node->arena, name, "/", path != NULL ? path : "");
    csc_mem_free(path);
    return ticket;
}

static cascade_err
give_request(cascade_node *node, const char *payload, csc_node_out out)
{
    csc_json_span span;
    char *request = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_json_read_member(payload, "request", &span)) {
        request = csc_mem_strndup(span.data, span.len);
        if (request == NULL)
            return csc_fail_memory();
    }
    err = csc_node_give(node, out, request);
    csc_mem_free(request);
    return err;
}

static cascade_err
await_update(cascade_node *node, const char *name, int64_t timeout_ms,
             csc_node_out out, const char **ticket)
{
    const char *full = NULL;
    const char *made = NULL;
    const char *payload = NULL;
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("update name", name);
    if (err == CASCADE_OK && (node == NULL || ticket == NULL))
        err = csc_fail(CASCADE_ERR_INVALID, "await update %s: %s is NULL", name,
                       node == NULL ? "node" : "ticket");
    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "an update");
    if (err != CASCADE_OK)
        return err;
    full = csc_arena_join(&node->arena, CSC_UPDATE_NAME, name);
    if (full == NULL)
        return csc_fail_memory();
    err = csc_wait_for(node, full, timeout_ms, &payload);
    if (err != CASCADE_OK)
        return err;
    made = make_ticket(node, name, payload);
    if (made == NULL)
        return csc_fail_memory();
    err = give_request(node, payload, out);
    if (err == CASCADE_OK)
        *ticket = made;
    return err;
}

cascade_err
cascade_node_await_update(cascade_node *node, const char *name,
                          int64_t timeout_ms, cJSON **request,
                          const char **ticket)
{
    return await_update(node, name, timeout_ms, (csc_node_out){.tree = request},
                        ticket);
}

cascade_err
cascade_node_await_update_text(cascade_node *node, const char *name,
                               int64_t timeout_ms, const char **request,
                               const char **ticket)
{
    return await_update(node, name, timeout_ms, (csc_node_out){.text = request},
                        ticket);
}

/* What is recorded, and what for. */
typedef struct reply {
    const char *path;
    csc_json_given answer;
} reply;

/* {"path":P,"answer":...}: the limits of a payload are those of the answer. */
static cascade_err
write_reply(const cascade_node *node, const reply *r, csc_buf *text)
{
    cascade_err err = CASCADE_OK;

    csc_buf_add_text(text, "{\"path\":");
    csc_json_add_string(text, r->path);
    csc_buf_add_text(text, ",\"answer\":");
    err = csc_json_given_canon("answer", r->answer,
                               node->engine->store->config.payload_max, text);
    csc_buf_add_char(text, '}');
    return err == CASCADE_OK && text->failed ? csc_fail_memory() : err;
}

/* The result of the step is its output as text, not a tree: a tree would pass
 * through the gate as a whole. */
static cascade_err
give_answer(cascade_node *node, void *arg, cJSON **result)
{
    csc_post *step = node->step;
    csc_buf text = {0};
    cascade_err err = write_reply(node, arg, &text);

    (void)result;
    if (err == CASCADE_OK) {
        step->effects.output =
            csc_arena_strndup(&step->arena, text.data, text.len);
        step->effects.bytes += text.len;
        if (step->effects.output == NULL)
            err = csc_fail_memory();
    }
    csc_buf_fini(&text);
    return err;
}

/* The two parts of a ticket, as those of await_update() are; whoever made it,
 * both are to be recorded. */
static cascade_err
read_ticket(cascade_node *node, const char *ticket, const char **name,
            const char **path)
{
    const char *slash = ticket != NULL ? strchr(ticket, '/') : NULL;
    size_t len = 0;
    cascade_err err = csc_node_check_origin(node);

    if (err != CASCADE_OK)
        return err;
    if (node == NULL || slash == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "answer: %s",
                        node == NULL ? "node is NULL"
                                     : "give the ticket of an update");
    *name = csc_arena_strndup(&node->arena, ticket, (size_t)(slash - ticket));
    if (*name == NULL)
        return csc_fail_memory();
    *path = slash + 1;
    len = strnlen(*path, PATH_MAX_BYTES + 1);
    err = csc_check_name("the ticket's update name", *name);
    if (err == CASCADE_OK &&
        (len > PATH_MAX_BYTES || !csc_json_utf8_is(*path, len)))
        err = csc_fail(CASCADE_ERR_INVALID,
                       "answer: what follows the name in the ticket is no "
                       "UTF-8 of at most %d bytes; give the ticket of an "
                       "update",
                       PATH_MAX_BYTES);
    return err;
}

static cascade_err
answer_by(cascade_node *node, const char *ticket, csc_json_given answer)
{
    const char *name = NULL;
    reply r = {.answer = answer};
    cascade_err err = read_ticket(node, ticket, &name, &r.path);

    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "an answer");
    if (err == CASCADE_OK)
        err = csc_json_given_check("answer", answer);
    if (err != CASCADE_OK)
        return err;
    name = csc_arena_join(&node->arena, CSC_ANSWER_NAME, name);
    if (name == NULL)
        return csc_fail_memory();
    return csc_step_run(node, name, give_answer, &r, NULL, (csc_node_out){0});
}

cascade_err
cascade_node_answer(cascade_node *node, const char *ticket, cJSON *answer)
{
    cascade_err err = answer_by(node, ticket, csc_json_given_tree(answer));

    cJSON_Delete(answer);
    return err;
}

cascade_err
cascade_node_answer_text(cascade_node *node, const char *ticket,
                         const char *answer)
{
    return answer_by(node, ticket, csc_json_given_text(answer));
}

/* The context's key of that name. */
static cascade_err
make_key(cascade_node *node, const char *name, const char **key)
{
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("published name", name);
    if (err == CASCADE_OK && node == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "publish %s: node is NULL", name);
    if (err != CASCADE_OK)
        return err;
    *key = csc_arena_join(&node->arena, CSC_PUBLISHED_KEY, name);
    return *key != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
cascade_node_publish(cascade_node *node, const char *name, cJSON *value)
{
    const char *key = NULL;
    cascade_err err = make_key(node, name, &key);

    if (err != CASCADE_OK) {
        cJSON_Delete(value);
        return err;
    }
    return cascade_node_put(node, key, value);
}

cascade_err
cascade_node_publish_text(cascade_node *node, const char *name,
                          const char *value)
{
    const char *key = NULL;
    cascade_err err = make_key(node, name, &key);

    return err == CASCADE_OK ? cascade_node_put_text(node, key, value, NULL)
                             : err;
}
