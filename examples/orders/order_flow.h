/* SPDX-License-Identifier: MIT
 *
 * The order flow: what becomes of an order, as nodes of a cascade.
 */
#ifndef ORDERS_ORDER_FLOW_H
#define ORDERS_ORDER_FLOW_H

#include <cascade/cascade.h>

#include "effects.h"

/* The names of the nodes, and of the steps of a parcel. */
#define NODE_RESERVE "order.reserve"
#define NODE_CHARGE "order.charge"
#define NODE_PARCEL "order.parcel"
#define NODE_SHIP "order.ship"
#define NODE_NOTIFY "order.notify"
#define STEP_PICK "pick"
#define STEP_PACK "pack"
#define STEP_LABEL "label"

/* Registers the nodes. Their outside actions go to `effects`, which must
 * outlive the engine. A cascade starts with NODE_RESERVE and an order as its
 * input; its result is {"order", "parcels", "amount_cents"}. */
cascade_err order_flow_register(cascade_engine *engine,
                                struct effects *effects);

#endif
