/* SPDX-License-Identifier: MIT
 *
 * What a caller hands in where JSON is asked for: a tree by NAME(), a text by
 * NAME_text(). Here the two come together, and nothing behind it knows which of
 * them it was. What is wrong is said at the call, and names the argument and
 * the place, never what stands there.
 */
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"

csc_json_given
csc_json_given_tree(const cJSON *tree)
{
    return (csc_json_given){.tree = tree};
}

csc_json_given
csc_json_given_text(const char *text)
{
    return (csc_json_given){.text = text, .by_text = true};
}

bool
csc_json_given_is_none(csc_json_given given)
{
    return given.tree == NULL && given.text == NULL && !given.by_text;
}

cascade_err
csc_json_given_either(const char *what, const cJSON *tree, const char *text,
                      csc_json_given *given)
{
    if (tree != NULL && text != NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s is given as a tree and as a text; give one of both",
                        what);
    *given =
        text != NULL ? csc_json_given_text(text) : csc_json_given_tree(tree);
    return CASCADE_OK;
}

cascade_err
csc_json_given_check(const char *what, csc_json_given given)
{
    csc_assert(given.tree == NULL || given.text == NULL);
    if (given.by_text && given.text == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: the text is NULL; give {} for none", what);
    return CASCADE_OK;
}

cascade_err
csc_json_given_canon(const char *what, csc_json_given given, size_t max,
                     csc_buf *out)
{
    cascade_err err = csc_json_given_check(what, given);

    if (err != CASCADE_OK)
        return err;
    if (given.tree != NULL)
        return csc_json_tree_canon(what, given.tree, max, out);
    if (given.text != NULL)
        return csc_json_canon(what, given.text, strlen(given.text), max, out);
    csc_buf_add_text(out, "{}");
    return out->failed ? csc_fail_memory() : CASCADE_OK;
}

cascade_err
csc_json_given_keep(const char *what, csc_json_given given, size_t max,
                    csc_arena *arena, const char **copy, size_t *len)
{
    csc_buf text = {0};
    const char *kept = "{}";
    cascade_err err = csc_json_given_check(what, given);
    bool any = !csc_json_given_is_none(given);

    if (err == CASCADE_OK && any)
        err = csc_json_given_canon(what, given, max, &text);
    if (err == CASCADE_OK && any) {
        kept = csc_arena_strndup(arena, text.data, text.len);
        if (kept == NULL)
            err = csc_fail_memory();
    }
    if (err == CASCADE_OK) {
        *copy = kept;
        if (len != NULL)
            *len = text.len;
    }
    csc_buf_fini(&text);
    return err;
}

void
cascade_text_free(char *text)
{
    csc_mem_free(text);
}
