/* SPDX-License-Identifier: MIT
 *
 * What all targets need; see fuzz.h.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"

void
fuzz_judge(int holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}

char *
fuzz_text(const uint8_t *bytes, size_t len)
{
    char *text = malloc(len + 1);

    fuzz_check(text != NULL);
    if (len > 0)
        memcpy(text, bytes, len);
    text[len] = '\0';
    return text;
}

int
fuzz_is_canonical(const char *text)
{
    csc_buf out = {0};
    int same =
        text != NULL &&
        csc_json_canon_stored("x", text, strlen(text), &out) == CASCADE_OK &&
        strcmp(out.data, text) == 0;

    csc_buf_fini(&out);
    return same;
}
