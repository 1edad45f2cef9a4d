/* SPDX-License-Identifier: MIT
 *
 * What cascade_verify() finds where cascades say of each other what the others
 * do not: rows as somebody writes them who may write to the tables.
 *
 *   P waits for C, its child; C has continued as D, which goes on
 *
 * Each case is of ids of its own, puts something wrong into that, and names the
 * one cascade at which it is found, by which rule.
 */
#include <stdio.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "query/audit/audit.h"
#include "store/store.h"
#include "support/rows.h"
#include "support/stores.h"

typedef struct family {
    cascade_store *store;
    test_rows rows;
    cascade_uuid p, c, d, other; /* no cascade has the last id, at first */
    cascade_change *changes[8];
    size_t count;
} family;

/* ---- Rows ---------------------------------------------------------------- */

static const char *
text_of(family *f, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    return rows_text(&f->rows, "%s", cascade_uuid_format(id, text));
}

/* In the form in which it is stored. */
static const char *
canonical(family *f, const char *text)
{
    csc_buf buf = {0};
    const char *kept = NULL;

    assert_ok(csc_json_canon_stored("record", text, strlen(text), &buf));
    kept = rows_text(&f->rows, "%s", buf.data);
    csc_buf_fini(&buf);
    return kept;
}

/* A cascade that is RUNNING, and records `meta`, members in order, before its
 * queue, and `more` behind. */
static cascade_change *
add(family *f, const cascade_uuid *id, const char *meta, const char *more)
{
    cascade_change *change = rows_start(&f->rows, *id);
    cascade_execution_row *row = (cascade_execution_row *)change->inserts;

    row->full_output = canonical(
        f, rows_text(&f->rows, "{\"cascade\":{%s%s\"queue\":\"default\"%s%s}}",
                     meta, meta[0] != '\0' ? "," : "",
                     more[0] != '\0' ? "," : "", more));
    f->changes[f->count++] = change;
    return change;
}

/* It waits for that child. */
static void
add_wait(family *f, cascade_change *change, int32_t function_id,
         const cascade_uuid *child)
{
    cascade_execution_row *row =
        rows_insert(&f->rows, change, function_id, "cascade.child:c");

    change->cascade.fn_id = function_id;
    row->node_instance_id =
        rows_text(&f->rows, "%s/0/cascade.child:c#%d",
                  text_of(f, &change->cascade.id), function_id - 1);
    row->full_output = rows_text(&f->rows,
                                 "{\"child\":\"%s\",\"policy\":"
                                 "\"cancel\"}",
                                 text_of(f, child));
}

/* The receipt of a signal that was sent to that one. */
static void
add_receipt(family *f, cascade_change *change, const cascade_uuid *of)
{
    cascade_execution_row *row =
        rows_insert(&f->rows, change, 1, "cascade.signal:go");

    change->cascade.fn_id = 1;
    row->node_instance_id =
        rows_text(&f->rows, "%s/message/signal/r1", text_of(f, of));
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = f->rows.now_ms;
    row->full_output = "{\"at\":0}";
}

static void
continues(family *f, cascade_change *change, const cascade_uuid *next)
{
    cascade_execution_row *row = (cascade_execution_row *)change->inserts;
    const char *meta = strstr(row->full_output, "\"cascade\":");

    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = f->rows.now_ms;
    row->full_output = canonical(
        f, rows_text(&f->rows, "{\"at\":0,%.*s,\"continued_as\":\"%s\"}",
                     (int)strlen(meta) - 1, meta, text_of(f, next)));
    change->cascade.status = CASCADE_COMPLETED;
}

/* A later run of C, as whoever writes it says. */
static cascade_change *
add_run(family *f, const cascade_uuid *id, const cascade_uuid *parent,
        const cascade_uuid *previous, int32_t number)
{
    cascade_change *change = add(
        f, id,
        rows_text(&f->rows,
                  "\"child\":\"%s\",\"parent\":\"%s\",\"previous\":"
                  "\"%s\"",
                  text_of(f, &f->c), text_of(f, parent), text_of(f, previous)),
        rows_text(&f->rows, "\"root\":\"%s\",\"run_number\":%d",
                  text_of(f, &f->c), number));

    change->root = &f->c;
    change->run_number = number;
    return change;
}

/* What each case puts something wrong into. */
typedef struct made {
    cascade_change *p, *c, *d;
} made;

static made
make(family *f)
{
    made m;

    f->p = rows_id(&f->rows);
    f->c = rows_id(&f->rows);
    f->d = rows_id(&f->rows);
    f->other = rows_id(&f->rows);
    f->count = 0;
    m.p = add(f, &f->p, "", "");
    add_wait(f, m.p, 1, &f->c);
    m.c = add(f, &f->c,
              rows_text(&f->rows, "\"parent\":\"%s\"", text_of(f, &f->p)), "");
    continues(f, m.c, &f->d);
    m.d = add_run(f, &f->d, &f->p, &f->c, 2);
    return m;
}

static void
write_all(family *f)
{
    for (size_t i = 0; i < f->count; i++) {
        bool existed = true;

        assert_ok(rows_submit(f->store->driver, f->store->self, f->changes[i],
                              1, &existed));
        assert_false(existed);
    }
}

/* ---- Cases --------------------------------------------------------------- */

static const cascade_uuid *
nothing_is_wrong(family *f)
{
    made m = make(f);

    add_receipt(f, m.d, &f->c);
    return NULL;
}

/* What is not there, and of which nothing is left, may be an old run. */
static const cascade_uuid *
a_receipt_of_what_is_gone(family *f)
{
    made m = make(f);

    add_receipt(f, m.d, &f->other);
    return NULL;
}

static const cascade_uuid *
two_cascades_wait_for_one_child(family *f)
{
    (void)make(f);
    add_wait(f, add(f, &f->other, "", ""), 1, &f->c);
    return &f->other;
}

static const cascade_uuid *
two_executions_wait_for_one_child(family *f)
{
    made m = make(f);

    add_wait(f, m.p, 2, &f->c);
    return &f->p;
}

static const cascade_uuid *
a_child_waits_for_a_run_that_is_no_child(family *f)
{
    made m = make(f);

    add_receipt(f, m.d, &f->c);
    add_wait(f, m.d, 2, &f->p);
    return &f->d;
}

static const cascade_uuid *
it_says_that_it_is_another_child(family *f)
{
    (void)make(f);
    (void)add(f, &f->other,
              rows_text(&f->rows, "\"child\":\"%s\",\"parent\":\"%s\"",
                        text_of(f, &f->c), text_of(f, &f->p)),
              "");
    return &f->other;
}

static const cascade_uuid *
it_says_that_it_is_the_next_run(family *f)
{
    (void)make(f);
    (void)add_run(f, &f->other, &f->p, &f->c, 2);
    return &f->other;
}

static const cascade_uuid *
a_run_says_that_it_is_anothers_child(family *f)
{
    const cascade_uuid nobody = rows_id(&f->rows);
    made m = make(f);

    continues(f, m.d, &f->other);
    (void)add_run(f, &f->other, &nobody, &f->d, 3);
    return &f->other;
}

static const cascade_uuid *
a_receipt_of_another_cascade(family *f)
{
    made m = make(f);

    add_receipt(f, m.d, &f->p);
    return &f->d;
}

static const cascade_uuid *
a_receipt_of_a_later_run(family *f)
{
    made m = make(f);

    continues(f, m.d, &f->other);
    add_receipt(f, m.d, &f->other);
    (void)add_run(f, &f->other, &f->p, &f->d, 3);
    return &f->d;
}

static const cascade_uuid *
a_receipt_where_there_was_no_run_before(family *f)
{
    made m = make(f);

    add_receipt(f, m.c, &f->other);
    return &f->c;
}

static const cascade_uuid *
a_message_for_another_cascade(family *f)
{
    made m = make(f);
    cascade_message_row *message = rows_message(
        &f->rows, f->d,
        rows_text(&f->rows, "%s/message/signal/r1", text_of(f, &f->p)));

    rows_send(&f->rows, m.p, message);
    return &f->d;
}

typedef struct family_case {
    const char *name;
    const cascade_uuid *(*make)(family *f);
    csc_audit_rule rule;
} family_case;

#define CASE(name, rule)              \
    {                                 \
#name, name, CSC_AUDIT_##rule \
    }

static const family_case cases[] = {
    CASE(nothing_is_wrong, FAMILY),
    CASE(a_receipt_of_what_is_gone, RECEIPT),
    CASE(two_cascades_wait_for_one_child, FAMILY),
    CASE(two_executions_wait_for_one_child, FAMILY),
    CASE(a_child_waits_for_a_run_that_is_no_child, FAMILY),
    CASE(it_says_that_it_is_another_child, FAMILY),
    CASE(it_says_that_it_is_the_next_run, FAMILY),
    CASE(a_run_says_that_it_is_anothers_child, FAMILY),
    CASE(a_receipt_of_another_cascade, RECEIPT),
    CASE(a_receipt_of_a_later_run, RECEIPT),
    CASE(a_receipt_where_there_was_no_run_before, RECEIPT),
    CASE(a_message_for_another_cascade, RECEIPT),
};

/* ---- What is found ------------------------------------------------------- */

typedef struct found {
    const cascade_uuid *at;
    csc_audit_rule rule;
    size_t right; /* of that rule, of that cascade */
    size_t wrong; /* of the two rules, of others */
    size_t odd;   /* of any other rule, but that of links */
    char last[400];
} found;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    found *f = context;
    bool of_both = strcmp(rule, csc_audit_name(CSC_AUDIT_FAMILY)) == 0 ||
                   strcmp(rule, csc_audit_name(CSC_AUDIT_RECEIPT)) == 0;

    (void)function_id;
    (void)snprintf(f->last, sizeof(f->last), "%s: %s", rule, text);
    if (f->at != NULL && csc_uuid_equal(id, f->at) &&
        strcmp(rule, csc_audit_name(f->rule)) == 0)
        f->right++;
    else if (of_both)
        f->wrong++;
    else if (strcmp(rule, csc_audit_name(CSC_AUDIT_LINKS)) != 0)
        f->odd++;
    return true;
}

/* Among the cascades of the case. */
static found
look_for(family *f, const cascade_uuid *at, csc_audit_rule rule)
{
    found seen = {.at = at, .rule = rule};

    for (size_t i = 0; i < f->count; i++) {
        const cascade_check_options options = {.size = sizeof(options),
                                               .id = &f->changes[i]->cascade.id,
                                               .finding = note_finding,
                                               .context = &seen};
        cascade_check_report report = {.size = sizeof(report)};

        assert_ok(cascade_verify(f->store, &options, &report));
    }
    return seen;
}

static void
each_is_found_at_one_cascade(test_db *db)
{
    family f = {.store = db_store(db)};

    db->unsound = true;
    rows_init(&f.rows, rows_seed(), 1700000000000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const cascade_uuid *at = cases[i].make(&f);
        found seen;

        write_all(&f);
        seen = look_for(&f, at, cases[i].rule);
        if (seen.right != (at != NULL) || seen.wrong > 0 || seen.odd > 0)
            fail_msg("%s: %zu times found, %zu elsewhere, %zu other rules; %s",
                     cases[i].name, seen.right, seen.wrong, seen.odd,
                     seen.last);
    }
    rows_fini(&f.rows);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"each_is_found_at_one_cascade", each_is_found_at_one_cascade,
         STORES_ALL},
    };

    return stores_run("verify_family", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
