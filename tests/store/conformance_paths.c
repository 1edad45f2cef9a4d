/* SPDX-License-Identifier: MIT
 *
 * The paths of messages: where one is, and that it is taken whatever cascade
 * something is sent to with it. That a path is taken at all, S19, is among the
 * messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/conformance_mail.h"

static void
expect_in(mail_scene *it, const char *path, const cascade_uuid *id)
{
    cascade_found found;

    assert_ok(it->db->driver->find(it->db->self, &path, 1, &found));
    assert_memory_equal(&found.id, id, sizeof(*id));
    assert_true(csc_uuid_is_nil(&found.root));
}

/* S49: on its way, received, and sent on. */
static void
a_path_is_found_where_it_is(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {mail_own(&it), mail_own(&it)};
    cascade_change *write = rows_write(it.rows, ids[0], 0);
    mail_inbox got;

    expect_in(&it, "p'%", &(cascade_uuid){{0}});
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

/* S49: of many at once, each as it is. */
static void
many_paths_are_found_at_once(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[] = {mail_own(&it), mail_own(&it)};
    const char *const paths[] = {"b", "none", "a", "b"};
    cascade_found found[4];

    assert_int_equal(mail_send_path(&it, ids[0], "a"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, ids[1], "b"), CASCADE_SENT);
    assert_ok(it.db->driver->find(it.db->self, paths, 4, found));
    assert_memory_equal(&found[0].id, &ids[1], sizeof(ids[1]));
    assert_true(csc_uuid_is_nil(&found[1].id));
    assert_memory_equal(&found[2].id, &ids[0], sizeof(ids[0]));
    assert_memory_equal(&found[3].id, &ids[1], sizeof(ids[1]));
}

/* ---- S43, S44: what outlives a run --------------------------------------- */

static void
expect_linked(mail_scene *it, const char *path, const cascade_uuid *root,
              const cascade_uuid *next)
{
    cascade_found found;

    assert_ok(it->db->driver->find(it->db->self, &path, 1, &found));
    assert_memory_equal(&found.id, next, sizeof(*next));
    assert_memory_equal(&found.root, root, sizeof(*root));
}

static void
write_link(mail_scene *it, const cascade_link *link)
{
    assert_ok(it->db->driver->link(it->db->self, link));
    assert_ok(it->db->driver->link(it->db->self, link));
}

/* A run of those that `root` began. */
static cascade_change *
continue_as(mail_scene *it, const cascade_uuid *root, int32_t run_number)
{
    cascade_change *start = rows_start(it->rows, rows_id(it->rows));

    start->root = root;
    start->run_number = run_number;
    return start;
}

/* S43: by a commit and a submit; by the highest number, whichever comes last,
 * and not by a start that does nothing, or of a batch that is refused. */
static void
a_start_that_continues_others_is_the_last_of_them(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid roots[] = {rows_id(it.rows), rows_id(it.rows)};
    cascade_change *second = continue_as(&it, &roots[0], 2);
    cascade_change *third = continue_as(&it, &roots[0], 3);
    cascade_change *other = continue_as(&it, &roots[1], 2);
    cascade_change *again = continue_as(&it, &roots[0], 4);
    cascade_change *refused = continue_as(&it, &roots[1], 9);
    cascade_change *both[] = {third, other};
    char id[CASCADE_UUID_TEXT_SIZE];
    bool existed[2];

    again->cascade.id = third->cascade.id;
    rows_insert(it.rows, refused, 0, "twice");
    assert_ok(db_submit(it.db, both, 2, existed));
    assert_ok(mail_write(&it, second));
    assert_ok(db_submit(it.db, &again, 1, existed));
    assert_true(existed[0]);
    assert_int_equal(mail_write(&it, refused), CASCADE_ERR_REFUSED);
    expect_linked(&it, cascade_uuid_format(&roots[0], id), &roots[0],
                  &third->cascade.id);
    expect_linked(&it, cascade_uuid_format(&roots[1], id), &roots[1],
                  &other->cascade.id);
}

/* S44: of two, the number of each is the one that it leads to. */
static void
links_lead_on_from_what_is_gone(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *const paths[] = {"p", "q'%"};
    cascade_uuid root = rows_id(it.rows);
    cascade_uuid second = rows_id(it.rows);
    cascade_uuid third = mail_own(&it);
    const cascade_link one = {.id = root,
                              .root = root,
                              .next = second,
                              .run_number = 2,
                              .paths = paths,
                              .path_count = 2};
    const cascade_link two = {
        .id = second, .root = root, .next = third, .run_number = 3};
    char id[CASCADE_UUID_TEXT_SIZE];

    write_link(&it, &one);
    expect_linked(&it, "p", &root, &second);
    write_link(&it, &two);
    write_link(&it, &one); /* by one who comes late */
    expect_linked(&it, "p", &root, &third);
    expect_linked(&it, "q'%", &root, &third);
    expect_linked(&it, cascade_uuid_format(&root, id), &root, &third);
    expect_linked(&it, cascade_uuid_format(&second, id), &root, &third);
    assert_int_equal(mail_send_path(&it, third, "p"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_send_path(&it, root, "q'%"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_send_path(&it, third, "r"), CASCADE_SENT);
}

/* S44: of one root the oldest go, of another none. */
static void
only_the_last_of_what_was_received_is_kept(void **state)
{
    enum {
        MORE = 3
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid next = mail_own(&it);
    const char **paths = calloc(CASCADE_LINKS_MAX, sizeof(*paths));
    const char *const others[] = {"o"};
    cascade_link link = {.root = rows_id(it.rows),
                         .next = next,
                         .run_number = 2,
                         .paths = paths,
                         .path_count = CASCADE_LINKS_MAX};
    const cascade_link other = {.id = next,
                                .root = rows_id(it.rows),
                                .next = next,
                                .run_number = 2,
                                .paths = others,
                                .path_count = 1};

    assert_non_null(paths);
    link.id = link.root;
    for (int i = 0; i < CASCADE_LINKS_MAX; i++)
        paths[i] = rows_text(it.rows, "p%d", i);
    write_link(&it, &other);
    write_link(&it, &link);
    expect_linked(&it, "p0", &link.root, &next);
    for (int i = 0; i < MORE; i++)
        paths[i] = rows_text(it.rows, "q%d", i);
    write_link(&it, &link);
    for (int i = 0; i < MORE; i++) {
        expect_in(&it, rows_text(it.rows, "p%d", i), &(cascade_uuid){{0}});
        expect_linked(&it, paths[i], &link.root, &next);
    }
    expect_linked(&it, "p3", &link.root, &next);
    expect_linked(&it, "o", &other.root, &next);
    assert_int_equal(mail_send_path(&it, next, "p0"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, next, "p3"), CASCADE_SENT_REPEATED);
    free(paths);
}

/* What is there comes first; and what was on its way is told as repeated. */
static void
links_stand_beside_the_run_until_that_is_gone(void **state)
{
    mail_scene it = mail_begin(*state);
    const char *const paths[] = {"p", "q"};
    cascade_uuid root = mail_own(&it);
    cascade_uuid next = mail_own(&it);
    const cascade_link link = {.id = root,
                               .root = root,
                               .next = next,
                               .run_number = 1,
                               .paths = paths,
                               .path_count = 2};
    mail_inbox got;

    assert_int_equal(mail_send_path(&it, root, "p"), CASCADE_SENT);
    got = mail_receive(&it, 10);
    assert_ok(mail_write(&it, mail_receipt(&it, root, 1, &got.items[0])));
    assert_int_equal(mail_send_path(&it, next, "q"), CASCADE_SENT);
    write_link(&it, &link);
    expect_in(&it, "p", &root);
    expect_in(&it, "q", &next);
    got = mail_receive(&it, 10);
    assert_int_equal(got.count, 1);
    assert_true(got.items[0].repeated);
    got = mail_load(&it, &next, 1);
    assert_true(got.items[0].repeated);
}

/* ---- S54: sweeping ------------------------------------------------------- */

/* To the end, by calls that look at `limit` roots each. */
static size_t
sweep(mail_scene *it, size_t limit)
{
    cascade_uuid cursor = {{0}};
    bool more = true;
    size_t calls = 0;

    while (more) {
        assert_ok(it->db->driver->sweep(it->db->self, limit, &cursor, &more));
        calls++;
    }
    return calls;
}

static cascade_link
link_with_paths(mail_scene *it, int nth, const cascade_uuid *next,
                const char **paths, size_t count)
{
    const cascade_link link = {.id = rows_id(it->rows),
                               .root = rows_id(it->rows),
                               .next = *next,
                               .run_number = 2,
                               .paths = paths,
                               .path_count = count};

    for (size_t i = 0; i < count; i++)
        paths[i] = rows_text(it->rows, "%d-%zu", nth, i);
    return link;
}

static void
what_leads_to_nothing_is_swept(void **state)
{
    enum {
        ROOTS = 7
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid there = mail_own(&it);
    cascade_uuid gone = rows_id(it.rows);
    cascade_link links[ROOTS];
    const char *paths[ROOTS][2];
    char id[CASCADE_UUID_TEXT_SIZE];

    assert_int_equal(sweep(&it, 1000), 1);
    for (int i = 0; i < ROOTS; i++) {
        links[i] =
            link_with_paths(&it, i, i % 3 == 0 ? &there : &gone, paths[i], 2);
        write_link(&it, &links[i]);
    }
    (void)sweep(&it, 2);
    (void)sweep(&it, 2);
    for (int i = 0; i < ROOTS; i++) {
        const char *const left[] = {
            paths[i][0], paths[i][1],
            rows_text(it.rows, "%s", cascade_uuid_format(&links[i].id, id)),
            rows_text(it.rows, "%s", cascade_uuid_format(&links[i].root, id))};

        for (int n = 0; n < 4; n++)
            if (i % 3 == 0)
                expect_linked(&it, left[n], &links[i].root, &there);
            else
                expect_in(&it, left[n], &(cascade_uuid){{0}});
    }
    assert_int_equal(mail_send_path(&it, there, paths[1][0]), CASCADE_SENT);
}

/* S40: what is marked leads nowhere. Many rows of a root go by parts. */
static void
a_root_with_many_rows_is_swept_by_parts(void **state)
{
    enum {
        PATHS = 2 * CASCADE_DELETE_ROWS_MAX + 100
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid next = mail_own(&it);
    const char **paths = calloc(PATHS, sizeof(*paths));
    cascade_link link = link_with_paths(&it, 0, &next, paths, PATHS);
    cascade_change *ended = rows_write(it.rows, next, 0);
    cascade_uuid cursor = {{0}};
    bool more = true;

    assert_non_null(paths);
    write_link(&it, &link);
    assert_int_equal(sweep(&it, 1000), 1);
    for (int i = 1; i <= 2 * CASCADE_DELETE_ROWS_MAX; i++)
        rows_insert(it.rows, ended, i, "many");
    assert_ok(mail_write(&it, ended));
    ended = rows_write(it.rows, next, 0);
    ended->run_action = CASCADE_RUN_DELETE;
    assert_ok(mail_write(&it, ended));
    assert_ok(it.db->driver->sweep(it.db->self, 1000, &cursor, &more));
    assert_true(more);
    expect_in(&it, paths[0], &(cascade_uuid){{0}});
    expect_linked(&it, paths[PATHS - 1], &link.root, &next);
    assert_true(sweep(&it, 1000) >= 2);
    expect_in(&it, paths[PATHS - 1], &(cascade_uuid){{0}});
    free(paths);
}

conformance_group
conformance_paths(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found_where_it_is),
        cmocka_unit_test(a_taken_path_is_repeated_wherever_it_is_sent),
        cmocka_unit_test(many_paths_are_found_at_once),
        cmocka_unit_test(a_start_that_continues_others_is_the_last_of_them),
        cmocka_unit_test(links_lead_on_from_what_is_gone),
        cmocka_unit_test(only_the_last_of_what_was_received_is_kept),
        cmocka_unit_test(what_leads_to_nothing_is_swept),
        cmocka_unit_test(a_root_with_many_rows_is_swept_by_parts),
        cmocka_unit_test(links_stand_beside_the_run_until_that_is_gone),
    };

    return (conformance_group){"paths", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
