/* SPDX-License-Identifier: MIT
 *
 * Conformance: S37, what one call of receive gives, and where the next goes on;
 * S46, where its bytes end it. S59, what a load gives besides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

#define CASCADES 3
#define MANY 30 /* messages of the first one */

typedef struct post_office {
    mail_scene it;
    cascade_uuid ids[CASCADES]; /* ascending */
} post_office;

static int
compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cascade_uuid));
}

/* MANY for the first cascade, sent before all others; then two for each. */
static post_office
fill(void **state)
{
    post_office po = {.it = mail_begin(*state)};

    for (int i = 0; i < CASCADES; i++)
        po.ids[i] = mail_own(&po.it);
    qsort(po.ids, CASCADES, sizeof(po.ids[0]), compare_ids);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mail_send_path(&po.it, po.ids[0],
                                        rows_text(po.it.rows, "p%02d", i)),
                         CASCADE_SENT);
    for (int i = 0; i < 2 * (CASCADES - 1); i++)
        assert_int_equal(mail_send_path(&po.it, po.ids[1 + i % (CASCADES - 1)],
                                        rows_text(po.it.rows, "q%d", i)),
                         CASCADE_SENT);
    return po;
}

static cascade_receive
ask(const post_office *po, size_t limit, size_t each)
{
    return (cascade_receive){
        .engine_id = po->it.engine, .limit = limit, .each = each};
}

/* Item `at` is message `nth` of cascade `of`. */
static void
check(const post_office *po, mail_inbox got, size_t at, int of, int nth)
{
    const char *path =
        of == 0 ? rows_text(po->it.rows, "p%02d", nth)
                : rows_text(po->it.rows, "q%d", nth * (CASCADES - 1) + of - 1);

    assert_true(at < got.count);
    assert_memory_equal(&got.items[at].row.cascade_id, &po->ids[of],
                        sizeof(cascade_uuid));
    assert_string_equal(got.items[at].row.path, path);
}

static void
each_cascade_gives_its_first_messages_alone(void **state)
{
    post_office po = fill(state);
    cascade_receive receive = ask(&po, 100, 4);
    mail_inbox got = mail_receive_as(&po.it, &receive);

    assert_int_equal(got.count, 4 + 2 + 2);
    for (int i = 0; i < 4; i++)
        check(&po, got, (size_t)i, 0, i);
    for (int i = 0; i < 2; i++) {
        check(&po, got, (size_t)(4 + i), 1, i);
        check(&po, got, (size_t)(6 + i), 2, i);
    }
}

/* Where the limit cuts the messages of one, the others come next. */
static void
who_goes_on_behind_the_last_comes_to_all(void **state)
{
    post_office po = fill(state);
    cascade_receive receive = ask(&po, 3, 10);
    mail_inbox got = mail_receive_as(&po.it, &receive);

    assert_int_equal(got.count, 3);
    check(&po, got, 2, 0, 2);
    receive.after = po.ids[0];
    got = mail_receive_as(&po.it, &receive);
    assert_int_equal(got.count, 3);
    check(&po, got, 0, 1, 0);
    check(&po, got, 1, 1, 1);
    check(&po, got, 2, 2, 0);
    receive.after = po.ids[1];
    got = mail_receive_as(&po.it, &receive);
    assert_int_equal(got.count, 2);
    check(&po, got, 1, 2, 1);
    receive.after = po.ids[2];
    assert_int_equal(mail_receive_as(&po.it, &receive).count, 0);
}

/* S46: a row counts a hundred bytes beside its payload, which is small here. */
static void
a_receive_ends_by_its_bytes(void **state)
{
    post_office po = fill(state);
    cascade_receive receive = ask(&po, 100, 100);
    mail_inbox got;

    receive.bytes_max = 1;
    got = mail_receive_as(&po.it, &receive);
    assert_int_equal(got.count, 1);
    check(&po, got, 0, 0, 0);
    receive.bytes_max = 250;
    assert_int_equal(mail_receive_as(&po.it, &receive).count, 3);
    receive.after = po.ids[0];
    got = mail_receive_as(&po.it, &receive);
    assert_int_equal(got.count, 3);
    check(&po, got, 2, 2, 0);
    receive.after = po.ids[2];
    assert_int_equal(mail_receive_as(&po.it, &receive).count, 0);
}

static void
cascades_that_are_left_out_give_nothing(void **state)
{
    post_office po = fill(state);
    cascade_uuid except[CASCADE_RECEIVE_EXCEPT_MAX];
    cascade_receive receive = ask(&po, 100, 100);
    mail_inbox got;

    for (int i = 0; i < CASCADE_RECEIVE_EXCEPT_MAX; i++)
        except[i] = i < 2 ? po.ids[2 * i] : rows_id(po.it.rows);
    receive.except = except;
    receive.except_count = CASCADE_RECEIVE_EXCEPT_MAX;
    got = mail_receive_as(&po.it, &receive);
    assert_int_equal(got.count, 2);
    check(&po, got, 0, 1, 0);
    check(&po, got, 1, 1, 1);
}

/* ---- S59 ----------------------------------------------------------------- */

typedef struct ends {
    test_rows *rows;
    const char *paths[4];
    bool repeated[4];
    size_t count;
} ends;

static cascade_err
keep_end(void *context, const cascade_message_row *row, bool repeated)
{
    ends *e = context;

    assert_true(e->count < 4);
    e->paths[e->count] = rows_text(e->rows, "%s", row->path);
    e->repeated[e->count++] = repeated;
    return CASCADE_OK;
}

static ends
load_ends(post_office *po)
{
    ends found = {.rows = po->it.rows};
    const cascade_load_sink sink = {.context = &found,
                                    .on_cascade = mail_pass_cascade,
                                    .on_message = keep_end};

    assert_ok(po->it.db->driver->load(po->it.db->self, po->ids, CASCADES,
                                      CASCADE_LOAD_ENDS, &sink));
    return found;
}

static void
send_kind(post_office *po, int of, const char *kind, const char *path)
{
    cascade_message_row *row = rows_message(po->it.rows, po->ids[of], path);

    row->kind = kind;
    assert_int_equal(mail_send(&po->it, row), CASCADE_SENT);
}

/* Letters, and other commands, are no ends. */
static void
ends_are_given_that_others_are_in_front_of(void **state)
{
    post_office po = fill(state);
    ends found;

    send_kind(&po, 0, "delete", "first");
    send_kind(&po, 0, "terminate", "other");
    send_kind(&po, 2, "family", "second");
    send_kind(&po, 0, "family", "third");
    found = load_ends(&po);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.paths[0], "first");
    assert_string_equal(found.paths[1], "third");
    assert_string_equal(found.paths[2], "second");
    assert_false(found.repeated[0]);
}

/* What so many others are behind is not. */
static void
ends_are_among_the_last_messages(void **state)
{
    post_office po = fill(state);
    ends found;

    send_kind(&po, 1, "delete", "first");
    send_kind(&po, 1, "delete", "second");
    for (int i = 1; i < CASCADE_LOAD_ENDS_MAX; i++)
        assert_int_equal(
            mail_send_path(&po.it, po.ids[1], rows_text(po.it.rows, "r%d", i)),
            CASCADE_SENT);
    found = load_ends(&po);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.paths[0], "second");
}

conformance_group
conformance_receive(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cascade_gives_its_first_messages_alone),
        cmocka_unit_test(who_goes_on_behind_the_last_comes_to_all),
        cmocka_unit_test(a_receive_ends_by_its_bytes),
        cmocka_unit_test(cascades_that_are_left_out_give_nothing),
        cmocka_unit_test(ends_are_given_that_others_are_in_front_of),
        cmocka_unit_test(ends_are_among_the_last_messages),
    };

    return (conformance_group){"receive", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
