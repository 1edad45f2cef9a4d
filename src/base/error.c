/* SPDX-License-Identifier: MIT
 *
 * The thread's last error. The text lives in thread-local storage, so a caller
 * reads what its own call found wrong whatever other threads do, and keeping an
 * error needs no memory that could be missing.
 *
 * A new text is formatted aside and then copied: its arguments may point into
 * the old one, as in csc_fail(err, "while starting: %s", cascade_errmsg()).
 */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

static _Thread_local struct {
    cascade_err err;
    char text[CSC_ERRMSG_SIZE];
} last;

#define TEXT_OF(number) #number
#define VERSION(major, minor, patch) \
    TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *
cascade_version(void)
{
    return VERSION(CASCADE_VERSION_MAJOR, CASCADE_VERSION_MINOR,
                   CASCADE_VERSION_PATCH);
}

const char *
cascade_err_name(cascade_err err)
{
    switch (err) {
#define NAME(name, value, text) \
    case name:                  \
        return #name;
        CASCADE_ERRORS(NAME)
#undef NAME
    }
    return "CASCADE_ERR_UNKNOWN";
}

const char *
cascade_err_text(cascade_err err)
{
    switch (err) {
#define TEXT(name, value, text) \
    case name:                  \
        return text;
        CASCADE_ERRORS(TEXT)
#undef TEXT
    }
    return "unknown error";
}

const char *
cascade_errmsg(void)
{
    return last.text;
}

static cascade_err
fail_v(cascade_err err, const char *format, va_list args)
{
    char text[CSC_ERRMSG_SIZE];
    int len = vsnprintf(text, sizeof(text), format, args);
    size_t kept = 0;

    csc_assert(err != CASCADE_OK);
    if (len > 0)
        kept = csc_check_cut(text, strlen(text));
    if (kept > 0) {
        memcpy(last.text, text, kept);
        last.text[kept] = '\0';
    } else {
        (void)snprintf(last.text, sizeof(last.text), "%s",
                       cascade_err_text(err));
    }
    last.err = err;
    return err;
}

cascade_err
csc_fail(cascade_err err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err = fail_v(err, format, args);
    va_end(args);
    return err;
}

cascade_err
csc_fail_memory(void)
{
    return csc_fail(CASCADE_ERR_NO_MEMORY, "out of memory");
}

cascade_err
csc_ok(void)
{
    last.err = CASCADE_OK;
    last.text[0] = '\0';
    return CASCADE_OK;
}

cascade_err
csc_error_last(void)
{
    return last.err;
}

void
csc_error_keep(csc_error_kept *kept, cascade_err err)
{
    kept->err = err;
    memcpy(kept->text, last.text, sizeof(kept->text));
}

cascade_err
csc_error_restore(const csc_error_kept *kept)
{
    if (kept->err == CASCADE_OK)
        return csc_ok();
    return csc_fail(kept->err, "%s", kept->text);
}

void
csc_error_exchange(csc_error_kept *kept)
{
    csc_error_kept before;

    csc_error_keep(&before, last.err);
    last.err = kept->err;
    memcpy(last.text, kept->text, sizeof(last.text));
    *kept = before;
}

cascade_err
csc_error_in_doubt(cascade_err err, const char *what)
{
    if (err == CASCADE_OK || err == CASCADE_ERR_REFUSED ||
        err == CASCADE_ERR_AGAIN)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "%s: a try before had no answer, look the cascade up by "
                    "its id: %s",
                    what, cascade_errmsg());
}

cascade_err
cascade_store_fail(cascade_err err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err = fail_v(err, format, args);
    va_end(args);
    return err;
}
