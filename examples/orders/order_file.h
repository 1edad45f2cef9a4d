/* SPDX-License-Identifier: MIT
 *
 * The orders of the demo, read from a JSON file:
 *
 *   [{"id": "A-10001", "amount_cents": 7740,
 *     "customer": {"name": "...", "city": "..."},
 *     "items": [{"sku": "...", "name": "...", "quantity": 1,
 *                "price_cents": 6250}, ...]}, ...]
 */
#ifndef ORDERS_ORDER_FILE_H
#define ORDERS_ORDER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#define ORDER_ID_MAX 63
#define ORDER_ITEMS_MAX 16

struct order {
    const char *id;
    const cJSON *json;    /* the whole order */
    size_t items;         /* each leaves as a parcel of its own */
    int64_t pieces;       /* of all items */
    int64_t amount_cents; /* the sum of quantity * price of all items */
};

struct order_file {
    cJSON *json;
    struct order *orders; /* belongs to the file, as does what it points to */
    size_t count;
};

/* Reads the first `max` orders of the file at `path`. False when it cannot be
 * read or an order makes no sense: then that is said on stderr, and `file` is
 * empty. Free with order_file_free(). */
bool order_file_read(const char *path, size_t max, struct order_file *file);
void order_file_free(struct order_file *file);

#endif
