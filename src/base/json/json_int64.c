/* SPDX-License-Identifier: MIT
 *
 * Integers that a double does not hold, into trees and out of them. Beyond
 * +-(2^53 - 1) two integers have one double, and only the digits tell which it
 * was (json_tree.c). What they do not tell is refused: no integer is guessed.
 */
#include <math.h>
#include <string.h>

#include "base/data/digits.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_internal.h"
#include "cascade/cascade.h"

/* Up to that each double is one integer: 2^53 - 1. */
#define EXACT_MAX 9007199254740991.0

/* ---- In ------------------------------------------------------------------ */

static cJSON *
create(int64_t value)
{
    char digits[CSC_DIGITS_SIZE];

    return csc_json_tree_number(csc_digits(value, digits));
}

cJSON *
cascade_json_create_int64(int64_t value)
{
    cJSON *item = create(value);

    if (item == NULL)
        (void)csc_fail_memory();
    else
        (void)csc_ok();
    return item;
}

cascade_err
cascade_json_add_int64(cJSON *object, const char *name, int64_t value)
{
    cJSON *item = NULL;

    if (!cJSON_IsObject(object) || name == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "add integer: %s",
                        name == NULL ? "name is NULL" : "object is none");
    item = create(value);
    if (item == NULL)
        return csc_fail_memory();
    if (!cJSON_AddItemToObject(object, name, item)) {
        cJSON_Delete(item);
        return csc_fail_memory();
    }
    return csc_ok();
}

/* ---- Out ----------------------------------------------------------------- */

/* Zeros behind the point are no fraction. */
static bool
read_digits(const csc_json_number *number, const char *digits, int64_t *value)
{
    size_t len = number->integer_len + (number->negative ? 1 : 0);

    for (size_t i = 0; i < number->fraction_len; i++) {
        if (number->fraction[i] != '0')
            return false;
    }
    return csc_json_read_i64((csc_json_span){digits, len}, value);
}

/* From 2^53 on each is an integer. */
static cascade_err
read_double(double number, int64_t *value)
{
    bool in_range = number >= -EXACT_MAX && number <= EXACT_MAX;
    int64_t read = in_range ? (int64_t)number : 0;

    if (!isfinite(number) ||
        (in_range && ((double)read < number || (double)read > number)))
        return csc_fail(CASCADE_ERR_JSON,
                        "get integer: the number is no integer");
    if (!in_range)
        return csc_fail(CASCADE_ERR_JSON,
                        "get integer: the number is beyond 2^53, and of its "
                        "digits only a double is left, which stands for "
                        "several integers; make it by cascade_json_add_int64() "
                        "or hand it in as text");
    *value = read;
    return csc_ok();
}

cascade_err
cascade_json_get_int64(const cJSON *item, int64_t *value)
{
    csc_json_number number;
    int64_t read = 0;

    if (value == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "get integer: value is NULL");
    if (item == NULL)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "get integer: there is no such item");
    if (!cJSON_IsNumber(item))
        return csc_fail(CASCADE_ERR_JSON, "get integer: the item is no number");
    if (!csc_json_tree_digits(item, &number))
        return read_double(item->valuedouble, value);
    if (!read_digits(&number, item->valuestring, &read))
        return csc_fail(CASCADE_ERR_JSON,
                        "get integer: the number is no integer of 64 bits");
    *value = read;
    return csc_ok();
}
