/* SPDX-License-Identifier: MIT
 *
 *   reserve -> charge -+-> parcel 1: pick, pack, label -+
 *                      +-> parcel 2: pick, pack, label -+-> ship -> notify
 *                      +-> ...                         -+
 *
 * Two styles in one flow. reserve, charge, ship and notify are graph nodes: one
 * outside action each, then they say what comes next. A parcel is a node in a
 * straight line: three steps, each recorded when it is done, so a parcel that
 * is cut off while it is packed is not picked again. ship is the join: it runs
 * once every parcel has ended.
 *
 * If the process dies anywhere in here, the tables hold each execution and each
 * step either as done (it never runs again) or not (it runs again, under the
 * same request id). No code below deals with crashes.
 */
#include "order_flow.h"

static const cascade_node_options charge_options = {
    .size = sizeof(charge_options),
    .attempts_max = 12,
    .backoff_ms = 40,
    .backoff_max_ms = 400,
};

static int
integer(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valueint : 0;
}

static const char *
text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static int
pieces(const cJSON *order)
{
    const cJSON *item = NULL;
    int count = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(order, "items"))
    {
        count += integer(item, "quantity");
    }
    return count;
}

/* ---- Reserve and charge ------------------------------------------------- */

/* The input is the order. It goes into the context, where all nodes that come
 * later find it. */
static cascade_err
reserve(cascade_node *node, void *effects)
{
    const cJSON *order = cascade_node_input(node);
    cascade_err err = effects_act(effects, node,
                                  &(struct effect){.action = "reserve",
                                                   .order = text(order, "id"),
                                                   .value = pieces(order)});
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_put_text(node, "order", cascade_node_input_text(node),
                                NULL);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, NODE_CHARGE, NULL, NULL);
}

/* A parcel for each item, and ship after all of them. */
static cascade_err
spawn_parcels(cascade_node *node, const cJSON *order)
{
    uint32_t parcels[64];
    cascade_spawn_options shipping = {.size = sizeof(shipping),
                                      .after = parcels};
    const cJSON *item = NULL;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(order, "items"))
    {
        if (shipping.after_count == sizeof(parcels) / sizeof(parcels[0]))
            return cascade_node_fail(node, "more parcels than one ship takes");
        cascade_err err = cascade_node_spawn(node, NODE_PARCEL,
                                             cJSON_Duplicate(item, true), NULL);
        if (err != CASCADE_OK)
            return err;
        parcels[shipping.after_count++] = cascade_node_spawned(node);
    }
    return cascade_node_spawn(node, NODE_SHIP, NULL, &shipping);
}

/* The payment service declines now and then: the next attempt follows after a
 * while, as the options say. */
static cascade_err
charge(cascade_node *node, void *effects)
{
    const cJSON *order = NULL;
    cascade_err err = cascade_node_get(node, "order", &order);
    if (err != CASCADE_OK)
        return err;
    int amount_cents = integer(order, "amount_cents");
    err = effects_act(effects, node,
                      &(struct effect){.action = "charge",
                                       .order = text(order, "id"),
                                       .value = amount_cents,
                                       .decline_percent = 20});
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_put(node, "charged_cents",
                           cJSON_CreateNumber(amount_cents));
    if (err != CASCADE_OK)
        return err;
    return spawn_parcels(node, order);
}

/* ---- A parcel ----------------------------------------------------------- */

struct parcel {
    const struct effects *effects;
    const char *order;
    int quantity;
};

static cascade_err
act_on_parcel(cascade_node *node, const struct parcel *parcel,
              const char *action)
{
    return effects_act(parcel->effects, node,
                       &(struct effect){.action = action,
                                        .order = parcel->order,
                                        .value = parcel->quantity});
}

static cascade_err
pick(cascade_node *node, void *parcel, cJSON **result)
{
    (void)result;
    return act_on_parcel(node, parcel, STEP_PICK);
}

static cascade_err
pack(cascade_node *node, void *parcel, cJSON **result)
{
    (void)result;
    return act_on_parcel(node, parcel, STEP_PACK);
}

/* The label's number is made once and recorded: whenever the node is entered
 * again, the step returns the same one. */
static cascade_err
label(cascade_node *node, void *parcel, cJSON **result)
{
    cascade_err err = act_on_parcel(node, parcel, STEP_LABEL);
    if (err != CASCADE_OK)
        return err;
    *result = cJSON_CreateString(cascade_node_request_id(node));
    return *result == NULL ? CASCADE_ERR_NO_MEMORY : CASCADE_OK;
}

static cascade_err
make_parcel(cascade_node *node, void *effects)
{
    const cJSON *order = NULL;
    cJSON *number = NULL;
    cascade_err err = cascade_node_get(node, "order", &order);
    if (err != CASCADE_OK)
        return err;
    struct parcel parcel = {
        .effects = effects,
        .order = text(order, "id"),
        .quantity = integer(cascade_node_input(node), "quantity"),
    };
    err = cascade_node_step(node, STEP_PICK, pick, &parcel, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_step(node, STEP_PACK, pack, &parcel, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_step(node, STEP_LABEL, label, &parcel, NULL, &number);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_put(node, "labels", number);
}

/* ---- Ship and notify ---------------------------------------------------- */

static cascade_err
ship(cascade_node *node, void *effects)
{
    const cJSON *order = NULL;
    const cJSON *labels = NULL;
    cascade_err err = cascade_node_get(node, "order", &order);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_history(node, "labels", &labels);
    if (err != CASCADE_OK)
        return err;
    int parcels = cJSON_GetArraySize(labels);
    if (parcels !=
        cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(order, "items")))
        return cascade_node_fail(node, "ship began before the parcels ended");
    err = effects_act(effects, node,
                      &(struct effect){.action = "ship",
                                       .order = text(order, "id"),
                                       .value = parcels});
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, NODE_NOTIFY, NULL, NULL);
}

static cascade_err
output_summary(cascade_node *node, const cJSON *order, const cJSON *charged,
               int parcels)
{
    cJSON *summary = cJSON_CreateObject();
    if (cJSON_AddStringToObject(summary, "order", text(order, "id")) == NULL ||
        cJSON_AddNumberToObject(summary, "parcels", parcels) == NULL ||
        cJSON_AddNumberToObject(summary, "amount_cents",
                                charged->valuedouble) == NULL) {
        cJSON_Delete(summary);
        return CASCADE_ERR_NO_MEMORY;
    }
    return cascade_node_output(node, summary);
}

static cascade_err
notify(cascade_node *node, void *effects)
{
    const cJSON *order = NULL;
    const cJSON *charged = NULL;
    const cJSON *labels = NULL;
    cascade_err err = cascade_node_get(node, "order", &order);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_get(node, "charged_cents", &charged);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_history(node, "labels", &labels);
    if (err != CASCADE_OK)
        return err;
    err = effects_act(
        effects, node,
        &(struct effect){.action = "notify", .order = text(order, "id")});
    if (err != CASCADE_OK)
        return err;
    return output_summary(node, order, charged, cJSON_GetArraySize(labels));
}

cascade_err
order_flow_register(cascade_engine *engine, struct effects *effects)
{
    const struct {
        const char *name;
        cascade_node_fn fn;
        const cascade_node_options *options;
    } nodes[] = {
        {NODE_RESERVE, reserve, NULL},
        {NODE_CHARGE, charge, &charge_options},
        {NODE_PARCEL, make_parcel, NULL},
        {NODE_SHIP, ship, NULL},
        {NODE_NOTIFY, notify, NULL},
    };
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        cascade_err err = cascade_engine_register(
            engine, nodes[i].name, nodes[i].fn, effects, nodes[i].options);
        if (err != CASCADE_OK)
            return err;
    }
    return CASCADE_OK;
}
