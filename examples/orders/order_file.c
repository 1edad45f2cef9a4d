/* SPDX-License-Identifier: MIT
 *
 * Reads and checks the orders: what the rest of the demo relies on (ids without
 * blanks, amounts that add up) is checked here, once.
 */
#include "order_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

/* The non-negative whole number `name` of `object`, -1 without one. */
static int64_t
whole(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 ||
        item->valuedouble > 1e9)
        return -1;
    return (int64_t)item->valuedouble;
}

static bool
id_is_plain(const char *id)
{
    return id != NULL && *id != '\0' && strlen(id) <= ORDER_ID_MAX &&
           strpbrk(id, " \t\n/") == NULL;
}

static bool
read_order(const cJSON *json, struct order *order)
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(json, "items");
    const cJSON *item = NULL;
    int64_t sum_cents = 0;

    *order = (struct order){
        .id =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "id")),
        .json = json,
        .amount_cents = whole(json, "amount_cents"),
    };
    cJSON_ArrayForEach(item, items)
    {
        int64_t quantity = whole(item, "quantity");
        int64_t price_cents = whole(item, "price_cents");
        if (quantity < 1 || price_cents < 0)
            return false;
        order->items++;
        order->pieces += quantity;
        sum_cents += quantity * price_cents;
    }
    return id_is_plain(order->id) && order->items >= 1 &&
           order->items <= ORDER_ITEMS_MAX && sum_cents == order->amount_cents;
}

static bool
read_orders(const char *path, size_t max, struct order_file *file)
{
    size_t count = (size_t)cJSON_GetArraySize(file->json);
    if (count > max)
        count = max;
    file->orders = calloc(count + 1, sizeof(*file->orders));
    if (file->orders == NULL) {
        fprintf(stderr, "orders: out of memory\n");
        return false;
    }
    const cJSON *json = NULL;
    cJSON_ArrayForEach(json, file->json)
    {
        if (file->count == count)
            break;
        if (!read_order(json, &file->orders[file->count])) {
            fprintf(stderr, "orders: order %zu of %s makes no sense\n",
                    file->count + 1, path);
            return false;
        }
        file->count++;
    }
    return true;
}

bool
order_file_read(const char *path, size_t max, struct order_file *file)
{
    struct text_file text;

    *file = (struct order_file){.json = NULL};
    if (!text_file_read(path, &text))
        return false;
    file->json = cJSON_Parse(text.data);
    text_file_free(&text);
    if (cJSON_IsArray(file->json) && read_orders(path, max, file))
        return true;
    if (!cJSON_IsArray(file->json))
        fprintf(stderr, "orders: %s is not a list of orders\n", path);
    order_file_free(file);
    return false;
}

void
order_file_free(struct order_file *file)
{
    cJSON_Delete(file->json);
    free(file->orders);
    *file = (struct order_file){.json = NULL};
}
