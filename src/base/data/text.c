/* SPDX-License-Identifier: MIT
 *
 * Texts of errors, cut and cleaned for a row.
 */
#include "base/data/text.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

const char *
csc_text_clean(csc_arena *arena, const char *text)
{
    size_t len = strnlen(text, CSC_ERROR_TEXT_MAX);
    char *copy = csc_arena_strndup(arena, text, csc_check_cut(text, len));

    if (copy == NULL)
        return NULL;
    if (!csc_json_utf8_is(copy, strlen(copy)))
        for (char *c = copy; *c != '\0'; c++)
            if ((unsigned char)*c >= 0x80)
                *c = '?';
    return copy;
}
