/* SPDX-License-Identifier: MIT
 *
 * Out of memory at each allocation in turn, in the calls that look after a
 * store: each says so, or does without; nothing leaks, and what is left in the
 * store is sound.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cascade/manage.h"
#include "support/stores.h"

#define STEPS_MAX 100000

typedef struct scarce {
    cascade_store *store;
    cascade_uuid id;
    char *document;
} scarce;

typedef cascade_err (*scarce_call)(scarce *s);

static cascade_err
call_export(scarce *s)
{
    char *text = NULL;
    cascade_err err = cascade_export(s->store, &s->id, NULL, &text);

    cascade_document_free(text);
    return err;
}

static cascade_err
call_import(scarce *s)
{
    const cascade_import_options options = {
        .size = sizeof(options), .new_ids = true, .queue = "side"};
    cascade_started started;

    return cascade_import(s->store, s->document, &options, &started);
}

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    (void)context;
    (void)id;
    (void)function_id;
    return rule[0] != '\0' && text[0] != '\0';
}

static const cascade_check_options noting = {.size = sizeof(noting),
                                             .finding = note_finding};

static cascade_err
call_verify(scarce *s)
{
    cascade_check_report report = {.size = sizeof(report)};

    return cascade_verify(s->store, &noting, &report);
}

static cascade_err
call_adopt(scarce *s)
{
    cascade_check_report report = {.size = sizeof(report)};

    return cascade_adopt(s->store, &noting, &report);
}

static cascade_err
call_purge(scarce *s)
{
    const cascade_purge_options options = {.size = sizeof(options)};

    return cascade_purge(s->store, &options, NULL);
}

static void
sweep(scarce *s, scarce_call call, const char *name)
{
    size_t nth = 0;
    bool reached = true;

    while (reached && nth < STEPS_MAX) {
        cascade_err err = CASCADE_OK;

        (void)csc_mem_fail_at(++nth, 0);
        err = call(s);
        reached = csc_mem_fail_at(0, 0) >= nth;
        if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY)
            fail_msg("%s, allocation %zu: %s: %s", name, nth,
                     cascade_err_name(err), cascade_errmsg());
        if (!reached)
            assert_int_equal(CASCADE_OK, err);
    }
    assert_true(nth > 1);
    assert_true(nth < STEPS_MAX);
}

/* A cascade with a key, what has ended, what waits for its completion, a signal
 * and that completion. */
static const char *const sound =
    "{\"format\":\"libcascade\",\"version\":1,\"cascade\":{\"id\":"
    "\"0190bbbb-0000-4000-8000-000000000001\",\"fn_id\":1,\"status\":"
    "\"RUNNING\",\"user_id\":\"ann\",\"created_at\":1,\"updated_at\":2},"
    "\"executions\":[{\"id\":\"0190bbbb-0000-4000-8000-0000000000e0\","
    "\"status\":\"COMPLETED\",\"location\":\"server\",\"node_name\":\"n\","
    "\"started_at\":1,\"completed_at\":2,\"function_id\":0,\"input_context\":"
    "{\"b\":1,\"a\":2},\"full_output\":{\"at\":0,\"spawned\":[1],\"cascade\":"
    "{\"queue\":\"default\",\"priority\":0,\"previous\":"
    "\"0190bbbb-0000-4000-8000-000000000009\"}},\"node_instance_id\":"
    "\"0190bbbb-0000-4000-8000-000000000001/-/n#0\"},{\"id\":"
    "\"0190bbbb-0000-4000-8000-0000000000e1\",\"status\":\"RUNNING\","
    "\"location\":\"server\",\"node_name\":\"n\",\"started_at\":1,"
    "\"function_id\":1,\"input_context\":{},\"full_output\":{\"token\":"
    "\"0190bbbb-0000-7000-8000-0000000000aa\"},\"node_instance_id\":"
    "\"0190bbbb-0000-4000-8000-000000000001/0/n#0\"}],\"events\":[{\"key\":"
    "\"k\",\"value\":1,\"created_at\":2,\"function_id\":0}],\"messages\":[{"
    "\"kind\":\"signal\",\"name\":\"go\",\"path\":"
    "\"0190bbbb-0000-4000-8000-000000000001/message/signal/1\",\"payload\":{},"
    "\"sent_at\":3},{\"kind\":\"complete\",\"name\":\"\",\"path\":"
    "\"0190bbbb-0000-4000-8000-000000000001/message/complete/"
    "0190bbbb-0000-7000-8000-0000000000aa\",\"payload\":{\"token\":"
    "\"0190bbbb-0000-7000-8000-0000000000aa\"},\"sent_at\":4}]}";

/* One that has ended, after a run that is not there any more. */
static const char *const ended =
    "{\"format\":\"libcascade\",\"version\":1,\"cascade\":{\"id\":"
    "\"0190bbbb-0000-4000-8000-000000000002\",\"fn_id\":0,\"status\":"
    "\"COMPLETED\",\"user_id\":\"ann\",\"created_at\":1,\"updated_at\":2},"
    "\"executions\":[{\"id\":\"0190bbbb-0000-4000-8000-0000000000f0\","
    "\"status\":\"COMPLETED\",\"location\":\"server\",\"node_name\":\"n\","
    "\"started_at\":1,\"completed_at\":2,\"function_id\":0,\"input_context\":"
    "{},\"full_output\":{\"at\":0,\"cascade\":{\"queue\":\"default\","
    "\"previous\":\"0190bbbb-0000-4000-8000-000000000009\",\"priority\":0}},"
    "\"node_instance_id\":\"0190bbbb-0000-4000-8000-000000000002/-/n#0\"}],"
    "\"events\":[],\"messages\":[]}";

static void
each_call_bears_it(test_db *db)
{
    size_t live = csc_mem_live();
    scarce s = {.store = db_store(db)};
    cascade_started started;

    assert_ok(cascade_import(s.store, sound, NULL, &started));
    s.id = started.id;
    assert_ok(cascade_import(s.store, ended, NULL, &started));
    assert_ok(cascade_export(s.store, &s.id, NULL, &s.document));
    sweep(&s, call_export, "export");
    sweep(&s, call_verify, "verify");
    sweep(&s, call_adopt, "adopt");
    sweep(&s, call_purge, "purge");
    sweep(&s, call_import, "import");
    cascade_document_free(s.document);
    db_close_store(db, s.store);
    assert_int_equal(live, csc_mem_live());
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"each_call_bears_it", each_call_bears_it, STORES_ALL},
    };

    return stores_run("scarce memory", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
