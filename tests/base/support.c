/* SPDX-License-Identifier: MIT */
#include "base/support.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "support/splitmix.h"

#define SEED_DEFAULT 20240229

support_rng
support_rng_open(const char *test)
{
    const char *given = getenv("CASCADE_TEST_SEED");
    support_rng rng = {SEED_DEFAULT};

    if (given != NULL)
        rng.state = strtoull(given, NULL, 10);
    print_message("%s: CASCADE_TEST_SEED=%" PRIu64 "\n", test, rng.state);
    return rng;
}

uint64_t
support_rng_next(support_rng *rng)
{
    return splitmix_next(&rng->state);
}

size_t
support_rng_below(support_rng *rng, size_t limit)
{
    return (size_t)(support_rng_next(rng) % limit);
}

void
support_accepts(const char *text, const char *expected)
{
    csc_buf out = {0};
    cascade_err err =
        csc_json_canon("input", text, strlen(text), SIZE_DEFAULT, &out);

    if (err != CASCADE_OK)
        fail_msg("refused %s: %s", text, cascade_errmsg());
    assert_string_equal(out.data, expected);
    assert_int_equal(out.len, strlen(expected));
    csc_buf_fini(&out);
}

void
support_refuses(const char *text, size_t len, cascade_err err, const char *why)
{
    csc_buf out = {0};

    csc_buf_add_text(&out, "before");
    (void)csc_ok();
    if (csc_json_canon("input", text, len, SIZE_DEFAULT, &out) != err)
        fail_msg("%.60s: not %s but \"%s\"", text, cascade_err_name(err),
                 cascade_errmsg());
    assert_int_equal(csc_error_last(), err);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("%.60s: \"%s\" does not say \"%s\"", text, cascade_errmsg(),
                 why);
    assert_memory_equal(cascade_errmsg(), "input: ", 7);
    assert_string_equal(out.data, "before");
    assert_int_equal(out.len, 6);
    assert_false(out.failed);
    csc_buf_fini(&out);
}

char *
support_repeat(const char *piece, size_t count)
{
    csc_buf text = {0};

    for (size_t i = 0; i < count; i++)
        csc_buf_add_text(&text, piece);
    return csc_buf_take(&text);
}

bool
support_succeeded(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
