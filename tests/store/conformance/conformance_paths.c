/* SPDX-License-Identifier: MIT
 *
 * The paths of messages: where one is, and that it is taken whatever cascade
 * something is sent to with it. That a path is taken at all, S19, is among the
 * messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

static void
expect_in(mail_scene *it, const char *path, const cascade_uuid *id)
{
    cascade_found found;

    assert_ok(conformance_chain(it->db->driver)
                  ->find(it->db->self, &path, 1, &found));
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
    assert_ok(
        conformance_chain(it.db->driver)->find(it.db->self, paths, 4, found));
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

    assert_ok(conformance_chain(it->db->driver)
                  ->find(it->db->self, &path, 1, &found));
    assert_memory_equal(&found.id, next, sizeof(*next));
    assert_memory_equal(&found.root, root, sizeof(*root));
}

static void
write_link(mail_scene *it, const cascade_link *link)
{
    assert_ok(conformance_chain(it->db->driver)->link(it->db->self, link));
    assert_ok(conformance_chain(it->db->driver)->link(it->db->self, link));
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

static void
expect_last(mail_scene *it, const char *path, int32_t run_number)
{
    cascade_found found;

    assert_ok(conformance_chain(it->db->driver)
                  ->find(it->db->self, &path, 1, &found));
    assert_int_equal(found.run_number, run_number);
}

static void
links_lead_on_from_what_is_gone(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_receipt receipts[] = {{"p", 3}, {"q'%", 1}};
    cascade_uuid root = rows_id(it.rows);
    cascade_uuid second = rows_id(it.rows);
    cascade_uuid third = mail_own(&it);
    const cascade_link one = {.id = root,
                              .root = root,
                              .run_number = 1,
                              .next = second,
                              .next_number = 2,
                              .receipts = receipts,
                              .receipt_count = 2};
    const cascade_link two = {.id = second,
                              .root = root,
                              .run_number = 2,
                              .next = third,
                              .next_number = 3};
    char id[CASCADE_UUID_TEXT_SIZE];

    write_link(&it, &one);
    expect_linked(&it, "p", &root, &second);
    expect_last(&it, "p", 2);
    write_link(&it, &two);
    write_link(&it, &one); /* by one who comes late */
    expect_linked(&it, "p", &root, &third);
    expect_linked(&it, "q'%", &root, &third);
    expect_last(&it, "q'%", 3);
    expect_linked(&it, cascade_uuid_format(&root, id), &root, &third);
    expect_linked(&it, cascade_uuid_format(&second, id), &root, &third);
    assert_int_equal(mail_send_path(&it, third, "p"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_send_path(&it, root, "q'%"), CASCADE_SENT_REPEATED);
    assert_int_equal(mail_send_path(&it, third, "r"), CASCADE_SENT);
}

/* So many as are kept of the second run, as many of the first. */
#define MORE 3

typedef struct full_chain {
    cascade_receipt first[MORE];
    cascade_receipt *second;
    cascade_link one;
    cascade_link two;
} full_chain;

static void
begin_full(mail_scene *it, const cascade_uuid *next, full_chain *full)
{
    full->second = calloc(CASCADE_LINKS_MAX, sizeof(*full->second));
    assert_non_null(full->second);
    for (int i = 0; i < MORE; i++)
        full->first[i] = (cascade_receipt){rows_text(it->rows, "o%d", i), i};
    for (int i = 0; i < CASCADE_LINKS_MAX - 2; i++)
        full->second[i] = (cascade_receipt){rows_text(it->rows, "p%d", i), i};
    full->one = (cascade_link){.root = rows_id(it->rows),
                               .run_number = 1,
                               .next = *next,
                               .next_number = 3,
                               .receipts = full->first,
                               .receipt_count = MORE};
    full->one.id = full->one.root;
    full->two = full->one;
    full->two.id = rows_id(it->rows);
    full->two.run_number = 2;
    full->two.receipts = full->second;
    full->two.receipt_count = CASCADE_LINKS_MAX - 2;
}

/* Of the first run there is room for one: the last. */
static void
expect_full(mail_scene *it, const full_chain *full, const cascade_uuid *next)
{
    const char *last = rows_text(it->rows, "p%d", CASCADE_LINKS_MAX - 3);
    char id[CASCADE_UUID_TEXT_SIZE];

    for (int i = 0; i < MORE - 1; i++)
        expect_in(it, full->first[i].path, &(cascade_uuid){{0}});
    expect_linked(it, full->first[MORE - 1].path, &full->one.root, next);
    expect_linked(it, "p0", &full->one.root, next);
    expect_linked(it, last, &full->one.root, next);
    expect_linked(it, cascade_uuid_format(&full->two.id, id), &full->one.root,
                  next);
}

/* S44: of one root those of the first run go first, whichever is entered last,
 * and however often; of another root none. */
static void
only_the_last_of_what_was_received_is_kept(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid next = mail_own(&it);
    const cascade_receipt others[] = {{"other", 1}};
    const cascade_link other = {.id = next,
                                .root = rows_id(it.rows),
                                .run_number = 1,
                                .next = next,
                                .next_number = 2,
                                .receipts = others,
                                .receipt_count = 1};
    full_chain full;

    begin_full(&it, &next, &full);
    write_link(&it, &other);
    write_link(&it, &full.one);
    expect_linked(&it, "o0", &full.one.root, &next);
    write_link(&it, &full.two);
    expect_full(&it, &full, &next);
    write_link(&it, &full.one);
    expect_full(&it, &full, &next);
    write_link(&it, &full.two);
    expect_full(&it, &full, &next);
    expect_linked(&it, "other", &other.root, &next);
    assert_int_equal(mail_send_path(&it, next, "o0"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, next, "p3"), CASCADE_SENT_REPEATED);
    free(full.second);
}

/* What is there comes first; and what was on its way is told as repeated. */
static void
links_stand_beside_the_run_until_that_is_gone(void **state)
{
    mail_scene it = mail_begin(*state);
    const cascade_receipt receipts[] = {{"p", 1}, {"q", 2}};
    cascade_uuid root = mail_own(&it);
    cascade_uuid next = mail_own(&it);
    const cascade_link link = {.id = root,
                               .root = root,
                               .run_number = 1,
                               .next = next,
                               .next_number = 2,
                               .receipts = receipts,
                               .receipt_count = 2};
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

/* ---- S55: sending on ----------------------------------------------------- */

static void
claim_some(mail_scene *it)
{
    const char *const queues[] = {"default"};
    const char *const nodes[] = {"node"};
    const char *const own[] = {"private", "other"};
    const cascade_claim claim = {.engine_id = it->engine,
                                 .queues = queues,
                                 .queue_count = 1,
                                 .nodes = nodes,
                                 .node_count = 1,
                                 .limit = 10,
                                 .suspect_from = 3,
                                 .own_kinds = own,
                                 .own_kind_count = 2};
    cascade_claimed claimed[10];
    cascade_claim_result result = {.count = 0};

    assert_ok(it->db->driver->claim(it->db->self, &claim, claimed, &result));
}

static void
send_to(mail_scene *it, cascade_change *write, const cascade_uuid *to,
        const char *path, const char *kind)
{
    cascade_message_row *row = rows_message(it->rows, *to, path);

    row->kind = kind;
    rows_send(it->rows, write, row);
}

/* S55: what is for a run that is gone comes to the last one, in its order and
 * behind what that has; what is of that run alone goes, and what leads to
 * nothing. */
static void
what_is_sent_to_a_run_that_is_gone_comes_to_the_last(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid sender = mail_own(&it);
    cascade_uuid last = mail_own(&it);
    cascade_uuid root = rows_id(it.rows);
    cascade_uuid second = rows_id(it.rows);
    cascade_uuid none = rows_id(it.rows);
    cascade_uuid lost = rows_id(it.rows);
    const cascade_link links[] = {{.id = second,
                                   .root = root,
                                   .run_number = 2,
                                   .next = last,
                                   .next_number = 3},
                                  {.id = lost,
                                   .root = lost,
                                   .run_number = 1,
                                   .next = none,
                                   .next_number = 2}};
    cascade_change *write = rows_write(it.rows, sender, 0);
    static const char *const wanted[] = {"here", "a", "b", "c"};
    mail_inbox got;

    for (size_t i = 0; i < 2; i++)
        write_link(&it, &links[i]);
    send_to(&it, write, &root, "a", "signal");
    send_to(&it, write, &root, "own", "private");
    send_to(&it, write, &root, "b", "privat");
    send_to(&it, write, &none, "d", "signal");
    send_to(&it, write, &lost, "e", "signal");
    assert_ok(mail_write(&it, write));
    assert_int_equal(mail_send_path(&it, last, "here"), CASCADE_SENT);
    claim_some(&it);
    write = rows_write(it.rows, sender, 0);
    send_to(&it, write, &second, "c", "signal");
    assert_ok(mail_write(&it, write));
    claim_some(&it);
    got = mail_receive(&it, 100);
    assert_int_equal(got.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_memory_equal(&got.items[i].row.cascade_id, &last, sizeof(last));
        assert_string_equal(got.items[i].row.path, wanted[i]);
        assert_false(got.items[i].repeated);
    }
    assert_int_equal(mail_send_path(&it, last, "a"), CASCADE_SENT_REPEATED);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mail_send_path(&it, last,
                                        i == 0   ? "own"
                                        : i == 1 ? "d"
                                                 : "e"),
                         CASCADE_SENT);
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
        assert_ok(conformance_chain(it->db->driver)
                      ->sweep(it->db->self, NULL, limit, &cursor, &more));
        calls++;
    }
    return calls;
}

static void
sweep_root(mail_scene *it, const cascade_uuid *root)
{
    cascade_uuid cursor = {{0}};
    bool more = true;

    while (more)
        assert_ok(conformance_chain(it->db->driver)
                      ->sweep(it->db->self, root, 1, &cursor, &more));
}

static cascade_link
link_with_paths(mail_scene *it, int nth, const cascade_uuid *next,
                cascade_receipt *receipts, size_t count)
{
    const cascade_link link = {.id = rows_id(it->rows),
                               .root = rows_id(it->rows),
                               .run_number = 1,
                               .next = *next,
                               .next_number = 2,
                               .receipts = receipts,
                               .receipt_count = count};

    for (size_t i = 0; i < count; i++)
        receipts[i] =
            (cascade_receipt){rows_text(it->rows, "%d-%zu", nth, i), (int)i};
    return link;
}

static void
expect_swept(mail_scene *it, const cascade_link *link, const cascade_uuid *last)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *const left[] = {
        link->receipts[0].path, link->receipts[1].path,
        rows_text(it->rows, "%s", cascade_uuid_format(&link->id, id)),
        rows_text(it->rows, "%s", cascade_uuid_format(&link->root, id))};

    for (int n = 0; n < 4; n++)
        if (last != NULL)
            expect_linked(it, left[n], &link->root, last);
        else
            expect_in(it, left[n], &(cascade_uuid){{0}});
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
    cascade_receipt receipts[ROOTS][2];

    assert_int_equal(sweep(&it, 1000), 1);
    for (int i = 0; i < ROOTS; i++) {
        links[i] = link_with_paths(&it, i, i % 3 == 0 ? &there : &gone,
                                   receipts[i], 2);
        write_link(&it, &links[i]);
    }
    (void)sweep(&it, 2);
    (void)sweep(&it, 2);
    for (int i = 0; i < ROOTS; i++)
        expect_swept(&it, &links[i], i % 3 == 0 ? &there : NULL);
    assert_int_equal(mail_send_path(&it, there, receipts[1][0].path),
                     CASCADE_SENT);
}

/* S54: of those that are named alone. */
static void
one_root_is_swept_alone(void **state)
{
    enum {
        ROOTS = 3
    };
    mail_scene it = mail_begin(*state);
    cascade_uuid there = mail_own(&it);
    cascade_uuid gone = rows_id(it.rows);
    cascade_uuid none = rows_id(it.rows);
    cascade_link links[ROOTS];
    cascade_receipt receipts[ROOTS][2];

    for (int i = 0; i < ROOTS; i++) {
        links[i] =
            link_with_paths(&it, i, i == 2 ? &there : &gone, receipts[i], 2);
        write_link(&it, &links[i]);
    }
    sweep_root(&it, &links[1].root);
    sweep_root(&it, &links[2].root);
    sweep_root(&it, &none);
    expect_swept(&it, &links[0], &gone);
    expect_swept(&it, &links[1], NULL);
    expect_swept(&it, &links[2], &there);
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
    cascade_receipt *paths = calloc(PATHS, sizeof(*paths));
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
    assert_ok(conformance_chain(it.db->driver)
                  ->sweep(it.db->self, NULL, 1000, &cursor, &more));
    assert_true(more);
    expect_in(&it, paths[0].path, &(cascade_uuid){{0}});
    expect_linked(&it, paths[PATHS - 1].path, &link.root, &next);
    assert_true(sweep(&it, 1000) >= 2);
    expect_in(&it, paths[PATHS - 1].path, &(cascade_uuid){{0}});
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
        cmocka_unit_test(one_root_is_swept_alone),
        cmocka_unit_test(what_is_sent_to_a_run_that_is_gone_comes_to_the_last),
        cmocka_unit_test(a_root_with_many_rows_is_swept_by_parts),
        cmocka_unit_test(links_stand_beside_the_run_until_that_is_gone),
    };

    return (conformance_group){"paths", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
