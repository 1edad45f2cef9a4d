/* SPDX-License-Identifier: MIT
 *
 * The paths of messages: where one is, and that it is taken whatever cascade
 * something is sent to with it. That a path is taken at all, S19, is among the
 * messages.
 */
#include <string.h>

#include "store/conformance_mail.h"

static void
expect_in(mail_scene *it, const char *path, const cascade_uuid *id)
{
    cascade_uuid found = {{0}};

    assert_ok(it->db->driver->find(it->db->self, path, &found));
    assert_memory_equal(&found, id, sizeof(found));
}

/* S49: on its way, received, and sent on. */
static void
a_path_is_found_where_it_is(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {mail_own(&it), mail_own(&it)};
    cascade_uuid found = {{1}};
    const cascade_uuid before = found;
    cascade_change *write = rows_write(it.rows, ids[0], 0);
    mail_inbox got;

    assert_fails(CASCADE_ERR_NOT_FOUND,
                 it.db->driver->find(it.db->self, "p'%", &found));
    assert_memory_equal(&found, &before, sizeof(found));
    assert_int_equal(mail_send_path(&it, ids[0], "p'%"), CASCADE_SENT);
    expect_in(&it, "p'%", &ids[0]);
    got = mail_receive(&it, 100);
    rows_receive(it.rows, write, got.items[0].row.id);
    rows_send(it.rows, write, rows_message(it.rows, ids[1], "p'%"));
    assert_ok(mail_write(&it, write));
    expect_in(&it, "p'%", &ids[1]);
    got = mail_receive(&it, 100);
    assert_ok(mail_write(&it, mail_receipt(&it, ids[1], 1, &got.items[0])));
    expect_in(&it, "p'%", &ids[1]);
}

/* S50: also to a cascade that is not there. */
static void
a_taken_path_is_repeated_wherever_it_is_sent(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_uuid gone = rows_id(it.rows);
    cascade_message_row rows[3];
    cascade_sent sent[3];
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, id, "p"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, gone, "p"), CASCADE_SENT_REPEATED);
    got = mail_receive(&it, 100);
    assert_ok(mail_write(&it, mail_receipt(&it, id, 1, &got.items[0])));
    assert_int_equal(mail_send_path(&it, gone, "p"), CASCADE_SENT_REPEATED);
    for (int i = 0; i < 3; i++)
        rows[i] = *rows_message(it.rows, i == 1 ? id : gone, "q");
    assert_ok(mail_submit(&it, NULL, NULL, rows, 3, sent));
    assert_int_equal(sent[0], CASCADE_SENT_ABSENT);
    assert_int_equal(sent[1], CASCADE_SENT);
    assert_int_equal(sent[2], CASCADE_SENT_REPEATED);
}

conformance_group
conformance_paths(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found_where_it_is),
        cmocka_unit_test(a_taken_path_is_repeated_wherever_it_is_sent),
    };

    return (conformance_group){"paths", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
