/* SPDX-License-Identifier: MIT
 *
 * migrate: the one command that changes a schema, and begins to seal what is in
 * it.
 */
#include "session.h"
#include "table.h"
#include "text/moment.h"

/* Far above what there will ever be. */
#define MIGRATIONS_MAX 128

static cascade_err
put_people(struct out *out, const cascade_migration *migrations, size_t count)
{
    static const struct table_column columns[] = {{"MIGRATION", 0, false},
                                                  {"APPLIED", 20, false}};
    struct table table;
    char time[MOMENT_SIZE];

    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        bool missing = migrations[i].applied_at_ms == CASCADE_TIME_NONE;
        table_add(&table, STYLE_NONE, migrations[i].name);
        table_add(&table, missing ? STYLE_BAD : STYLE_NONE,
                  missing ? "missing"
                          : moment_text(migrations[i].applied_at_ms, time));
    }
    cascade_err err = table_print(&table, out);
    table_free(&table);
    return err;
}

static cascade_err
put_json(struct out *out, const cascade_migration *migrations, size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        struct object object;
        object_init(&object);
        object_number(&object, "number", migrations[i].number);
        object_text(&object, "name", migrations[i].name);
        object_time(&object, "applied_at", migrations[i].applied_at_ms);
        err = out_object(out, &object);
    }
    return err;
}

static bool
any_missing(const cascade_migration *migrations, size_t count)
{
    size_t i = 0;

    while (i < count && migrations[i].applied_at_ms != CASCADE_TIME_NONE)
        i++;
    return i < count;
}

int
run_migrate(struct session *session)
{
    cascade_migration migrations[MIGRATIONS_MAX];
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    if (!settings_has(session->settings, OPTION_CHECK))
        err = cascade_store_migrate(session->store);
    if (err == CASCADE_OK)
        err = cascade_migration_list(session->store, migrations, MIGRATIONS_MAX,
                                     &count);
    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    if (!settings_has(session->settings, OPTION_CHECK)) {
        int code = session_begin_sealing(session);
        if (code != EXIT_DONE)
            return code;
    }
    count = count < MIGRATIONS_MAX ? count : MIGRATIONS_MAX;
    err = session->out.json ? put_json(&session->out, migrations, count)
                            : put_people(&session->out, migrations, count);
    if (err != CASCADE_OK)
        return session_fail(NULL, err);
    return any_missing(migrations, count) ? EXIT_FINDINGS : EXIT_DONE;
}
