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
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "state/state.h"
#include "store/store.h"

/* That of a request id has 307 at most; another program's may have more. */
#define PATH_MAX_BYTES 1024

/* What the ticket points at: the path is behind the name. */
static const char *
make_ticket(cascade_node *node, const char *name, const cJSON *payload)
{
    const char *path =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(payload, "path"));

    /* <name>/<path>: names have no slash */
    return csc_arena_join(&node->arena, name, "/", path != NULL ? path : "");
}

cascade_err
cascade_node_await_update(cascade_node *node, const char *name,
                          int64_t timeout_ms, cJSON **request,
                          const char **ticket)
{
    const char *full = NULL;
    const char *made = NULL;
    cJSON *payload = NULL;
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
    if (made == NULL) {
        cJSON_Delete(payload);
        return csc_fail_memory();
    }
    *ticket = made;
    if (request != NULL)
        *request = cJSON_DetachItemFromObjectCaseSensitive(payload, "request");
    cJSON_Delete(payload);
    return csc_ok();
}

/* What is recorded, and what for. */
typedef struct reply {
    const char *path;
    const cJSON *answer; /* NULL: {} */
} reply;

/* {"path":P,"answer":...}: the limits of a payload are those of the answer. */
static cascade_err
write_reply(const cascade_node *node, const reply *r, csc_buf *text)
{
    cascade_err err = CASCADE_OK;

    csc_buf_add_text(text, "{\"path\":");
    csc_json_add_string(text, r->path);
    csc_buf_add_text(text, ",\"answer\":");
    if (r->answer != NULL)
        err = csc_json_tree_canon(
            "answer", r->answer, node->engine->store->config.payload_max, text);
    else
        csc_buf_add_text(text, "{}");
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

cascade_err
cascade_node_answer(cascade_node *node, const char *ticket, cJSON *answer)
{
    const char *name = NULL;
    reply r = {.answer = answer};
    cascade_err err = read_ticket(node, ticket, &name, &r.path);

    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "an answer");
    if (err == CASCADE_OK) {
        name = csc_arena_join(&node->arena, CSC_ANSWER_NAME, name);
        err = name != NULL
                  ? csc_step_run(node, name, give_answer, &r, NULL, NULL)
                  : csc_fail_memory();
    }
    cJSON_Delete(answer);
    return err;
}

cascade_err
cascade_node_publish(cascade_node *node, const char *name, cJSON *value)
{
    const char *key = NULL;
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("published name", name);
    if (err == CASCADE_OK && node == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "publish %s: node is NULL", name);
    if (err == CASCADE_OK) {
        key = csc_arena_join(&node->arena, CSC_PUBLISHED_KEY, name);
        err = key != NULL ? CASCADE_OK : csc_fail_memory();
    }
    if (err != CASCADE_OK) {
        cJSON_Delete(value);
        return err;
    }
    return cascade_node_put(node, key, value);
}
