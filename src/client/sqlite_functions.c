/* SPDX-License-Identifier: MIT
 *
 * Functions for SQL: cascade_start() and cascade_signal(), see
 * cascade/sqlite.h.
 *
 * They are calls of the public API on a store of their own, a guest on the
 * connection (borrowed.c), so what is checked and written is the same as in
 * C. That store is theirs until the connection is closed: each registered form
 * counts as one user of it, and the last destructor closes it. SQLite calls
 * these in the midst of closing, so nothing of the connection is touched there;
 * and since a connection with a prepared statement cannot be closed, the store
 * keeps none from one call to the next.
 *
 * An error is that of the statement. What its earlier calls wrote goes with it
 * where SQLite keeps a journal of the statement: for several rows, and not for
 * a SELECT or a single inserted row. Of the failing call nothing stays in any
 * case: it takes that back by itself.
 */
#include "cascade/sqlite.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "store/sqlite/internal.h"
#include "store/store.h"

typedef struct functions {
    cascade_store *store;
    size_t refs; /* forms that are registered */
} functions;

/* ---- Values -------------------------------------------------------------- */

static bool
is_interrupted(const functions *own)
{
    const csc_sqlite *store = own->store->self;

    return store->guest.interrupted;
}

static void
give_error(sqlite3_context *context, cascade_err err)
{
    sqlite3_result_error(context, cascade_errmsg(), -1);
    if (err == CASCADE_ERR_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    else if (err == CASCADE_ERR_UNAVAILABLE &&
             is_interrupted(sqlite3_user_data(context)))
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    else if (err == CASCADE_ERR_UNAVAILABLE)
        sqlite3_result_error_code(context, SQLITE_BUSY);
    else if (err == CASCADE_ERR_TOO_LARGE)
        sqlite3_result_error_code(context, SQLITE_TOOBIG);
}

static cascade_err
refuse(const char *function, const char *what, const char *why)
{
    return csc_fail(CASCADE_ERR_INVALID, "%s(): %s %s", function, what, why);
}

/* NULL for NULL. Numbers are texts too: 5 is JSON. */
static cascade_err
get_text(sqlite3_value *value, const char *function, const char *what,
         const char **text)
{
    const char *got;

    *text = NULL;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return CASCADE_OK;
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        return refuse(function, what, "is a BLOB; give a text");
    got = (const char *)sqlite3_value_text(value);
    if (got == NULL)
        return csc_fail_memory();
    if (strlen(got) != (size_t)sqlite3_value_bytes(value))
        return refuse(function, what,
                      "has a NUL byte in it; give a text without");
    *text = got;
    return CASCADE_OK;
}

static cascade_err
get_i64(sqlite3_value *value, const char *function, const char *what,
        int64_t *number)
{
    int type = sqlite3_value_type(value);

    *number = 0;
    if (type == SQLITE_NULL)
        return CASCADE_OK;
    if (type != SQLITE_INTEGER)
        return refuse(function, what, "is no integer; give one");
    *number = sqlite3_value_int64(value);
    return CASCADE_OK;
}

/* ---- cascade_start() ----------------------------------------------------- */

static cascade_err
read_start(int count, sqlite3_value **values, cascade_first *first,
           cascade_start_options *options)
{
    static const char *const names[] = {"node", "input", "key", "user_id",
                                        "queue"};
    const char **texts[] = {&first->node, &first->input_text, &options->key,
                            &options->user_id, &options->queue};
    int64_t priority = 0;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < count && i < 5 && err == CASCADE_OK; i++)
        err = get_text(values[i], "cascade_start", names[i], texts[i]);
    if (err == CASCADE_OK && count > 5)
        err = get_i64(values[5], "cascade_start", "priority", &priority);
    if (err == CASCADE_OK && count > 6)
        err =
            get_i64(values[6], "cascade_start", "delay_ms", &options->delay_ms);
    if (err == CASCADE_OK && !csc_check_is_priority(priority))
        err = csc_fail(CASCADE_ERR_INVALID,
                       "cascade_start(): priority is %lld; give 0 to 9",
                       (long long)priority);
    options->priority = (int)priority;
    return err;
}

static void
start(sqlite3_context *context, int count, sqlite3_value **values)
{
    const functions *own = sqlite3_user_data(context);
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_start_options options = {.size = sizeof(options)};
    cascade_first first = {.size = sizeof(first)};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &first,
                                     .first_count = 1,
                                     .options = &options};
    cascade_started started;
    cascade_err err = read_start(count, values, &first, &options);

    if (err == CASCADE_OK)
        err = cascade_start_many(own->store, &spec, 1, &started);
    if (err == CASCADE_OK)
        sqlite3_result_text(context, cascade_uuid_format(&started.id, text), -1,
                            SQLITE_TRANSIENT);
    else
        give_error(context, err);
}

/* ---- cascade_signal() ---------------------------------------------------- */

typedef struct signal {
    cascade_uuid id;
    const char *name;
    const char *payload;
    cascade_signal_options options;
} signal;

static cascade_err
read_signal(int count, sqlite3_value **values, signal *given)
{
    static const char *const names[] = {"cascade_id", "name", "payload",
                                        "request_id"};
    const char *texts[4] = {NULL};
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < count && err == CASCADE_OK; i++)
        err = get_text(values[i], "cascade_signal", names[i], &texts[i]);
    if (err == CASCADE_OK && texts[0] == NULL)
        err = refuse("cascade_signal", names[0],
                     "is NULL; give the id of a cascade");
    if (err == CASCADE_OK)
        err = cascade_uuid_parse(texts[0], &given->id);
    given->name = texts[1];
    given->payload = texts[2] != NULL ? texts[2] : "{}";
    given->options.request_id = texts[3];
    return err;
}

/* A signal whose request was known writes nothing. */
static void
send_signal(sqlite3_context *context, int count, sqlite3_value **values)
{
    const functions *own = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    signal given = {.options = {.size = sizeof(given.options)}};
    int before = sqlite3_total_changes(db);
    cascade_err err = read_signal(count, values, &given);

    if (err == CASCADE_OK)
        err = cascade_signal_text(own->store, &given.id, given.name,
                                  given.payload, &given.options);
    if (err == CASCADE_OK)
        sqlite3_result_int(context, sqlite3_total_changes(db) != before);
    else if (err == CASCADE_ERR_ENDED)
        sqlite3_result_int(context, 0);
    else
        give_error(context, err);
}

/* ---- Registering --------------------------------------------------------- */

/* SQLite calls it for each form, also where that could not be registered. */
static void
release(void *self)
{
    functions *own = self;

    if (--own->refs > 0)
        return;
    csc_sqlite_guest_set_closing(own->store->self);
    (void)cascade_store_close(own->store);
    csc_mem_free(own);
}

typedef struct form {
    const char *name;
    int count;
    void (*run)(sqlite3_context *, int, sqlite3_value **);
} form;

static const form forms[] = {
    {"cascade_start", 2, start},        {"cascade_start", 3, start},
    {"cascade_start", 4, start},        {"cascade_start", 5, start},
    {"cascade_start", 6, start},        {"cascade_start", 7, start},
    {"cascade_signal", 3, send_signal}, {"cascade_signal", 4, send_signal},
};

#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

static int
add_form(sqlite3 *db, const form *it, functions *own)
{
    own->refs++;
    return sqlite3_create_function_v2(db, it->name, it->count, SQLITE_UTF8, own,
                                      it->run, NULL, NULL, release);
}

static void
remove_form(sqlite3 *db, const form *it)
{
    (void)sqlite3_create_function_v2(db, it->name, it->count, SQLITE_UTF8, NULL,
                                     NULL, NULL, NULL, NULL);
}

static cascade_err
fail_form(const functions *own, int code)
{
    csc_sqlite *store = own->store->self;

    return csc_sqlite_error_set(&store->writer, code, "add a function");
}

/* All or none of them: those that were added before one that cannot be are
 * removed, which works as long as no statement is under way. `own` has a
 * reference of ours meanwhile. */
static cascade_err
add_forms(sqlite3 *db, functions *own)
{
    cascade_err err = CASCADE_OK;
    size_t count = 0;

    while (count < FORM_COUNT && err == CASCADE_OK) {
        int code = add_form(db, &forms[count], own);

        if (code != SQLITE_OK)
            err = fail_form(own, code);
        else
            count++;
    }
    while (err != CASCADE_OK && count > 0)
        remove_form(db, &forms[--count]);
    return err;
}

/* Returns `err`, with its text; the settings are as they were. */
static cascade_err
close_again(functions *own, cascade_err err)
{
    csc_error_kept kept;

    csc_error_keep(&kept, err);
    csc_sqlite_guest_refuse(own->store->self);
    (void)cascade_store_close(own->store);
    csc_mem_free(own);
    return csc_error_restore(&kept);
}

cascade_err
cascade_sqlite_functions(sqlite3 *db, const cascade_store_options *options)
{
    functions *own;
    cascade_err err;

    if (db != NULL && csc_sqlite_guest_is_busy(db))
        return csc_fail(CASCADE_ERR_MISUSE,
                        "cascade_sqlite_functions: a statement is under way on "
                        "this connection, and SQLite replaces and removes no "
                        "function meanwhile: step it to its end, or reset it, "
                        "and add them then");
    own = csc_mem_zalloc(1, sizeof(*own));
    if (own == NULL)
        return csc_fail_memory();
    err = csc_store_open_guest(csc_sqlite_guest_functions(), db, options, NULL,
                               &own->store);
    if (err != CASCADE_OK) {
        csc_mem_free(own);
        return err;
    }
    own->refs = 1; /* ours */
    err = add_forms(db, own);
    own->refs--;
    if (err == CASCADE_OK)
        return csc_ok();
    if (own->refs == 0) /* else a form that could not be removed has it */
        err = close_again(own, err);
    return err;
}
