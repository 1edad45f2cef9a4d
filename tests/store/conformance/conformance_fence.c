/* SPDX-License-Identifier: MIT
 *
 * The fence: who lost its incarnation, or the store its commits, writes
 * nothing.
 */
#include "store/conformance/conformance.h"

typedef struct fenced_case {
    cascade_uuid engine;
    cascade_uuid id;
    cascade_change *write;
} fenced_case;

/* An engine whose lane 0 shows batch 2, owning a cascade; and a good write. */
static fenced_case
prepare(conformance_db *db)
{
    fenced_case it = {.engine = db_attach(db, 2, DB_LONG_LEASE_MS),
                      .id = rows_id(&db->rows)};

    assert_ok(db_commit_one(db, it.engine, 1,
                            rows_start_owned(&db->rows, it.id, it.engine)));
    assert_ok(db_commit_one(db, it.engine, 2, rows_write(&db->rows, it.id, 0)));
    it.write = rows_write(&db->rows, it.id, 1);
    rows_update(&db->rows, it.write, 0, "{}");
    rows_insert(&db->rows, it.write, 1, "second");
    rows_event(&db->rows, it.write, 0, "key", "1");
    return it;
}

/* S4, G5: the incarnation was removed. */
static void
a_removed_incarnation_is_fenced(void **state)
{
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    size_t freed = 0;
    char *picture;

    assert_ok(db->driver->remove(db->self, &it.engine, 1, 10, &freed));
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, it.engine, 3, it.write));
    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, it.engine, 2, it.write));
    assert_fails(CASCADE_ERR_FENCED, db->driver->renew(db->self, &it.engine,
                                                       DB_LONG_LEASE_MS, NULL));
    db_assert_unchanged(db, picture);
}

/* S4, G5: also when it detached by itself. */
static void
a_detached_incarnation_is_fenced(void **state)
{
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    char *picture;

    assert_ok(db->driver->detach(db->self, &it.engine));
    assert_ok(db->driver->detach(db->self, &it.engine));
    picture = db_picture(db);
    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, it.engine, 3, it.write));
    db_assert_unchanged(db, picture);
}

/* S4 */
static void
an_incarnation_that_never_attached_is_fenced(void **state)
{
    conformance_db *db = *state;
    cascade_uuid nobody = rows_id(&db->rows);
    cascade_uuid id = rows_id(&db->rows);
    cascade_change *start = rows_start(&db->rows, id);
    char *picture = db_picture(db);

    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, nobody, 1, start));
    db_assert_unchanged(db, picture);
}

/* S4 */
static void
a_lane_that_is_not_there_is_fenced(void **state)
{
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    char *picture = db_picture(db);

    assert_fails(CASCADE_ERR_FENCED,
                 db_commit(db, it.engine, 64, 1, &it.write, 1, NULL));
    db_assert_unchanged(db, picture);
}

/* S4, G12: the lane shows neither number - 1 nor number: commits were lost, or
 * the caller is confused. */
static void
a_lane_at_another_number_is_lost(void **state)
{
    static const int64_t numbers[] = {1, 4, 5, 1000000, INT64_MAX};
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    char *picture = db_picture(db);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        assert_fails(CASCADE_ERR_LOST,
                     db_commit_one(db, it.engine, numbers[i], it.write));
    db_assert_unchanged(db, picture);
    assert_ok(db_commit_one(db, it.engine, 3, it.write));
}

/* S4: the fence is looked at first, so a culprit in a fenced batch is not
 * reported. */
static void
the_fence_comes_before_the_changes(void **state)
{
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    cascade_change *culprit = rows_write(&db->rows, rows_id(&db->rows), 0);

    assert_fails(CASCADE_ERR_LOST, db_commit_one(db, it.engine, 9, culprit));
    assert_ok(db->driver->detach(db->self, &it.engine));
    assert_fails(CASCADE_ERR_FENCED, db_commit_one(db, it.engine, 3, culprit));
}

/* S3, S4: each lane has numbers of its own. */
static void
lanes_count_by_themselves(void **state)
{
    conformance_db *db = *state;
    uint32_t lanes = db->driver->lane_max < 4 ? db->driver->lane_max : 4;
    cascade_uuid engine = db_attach(db, lanes, DB_LONG_LEASE_MS);

    for (int64_t number = 1; number <= 3; number++) {
        for (uint32_t lane = 0; lane < lanes; lane++) {
            cascade_change *start =
                rows_start_owned(&db->rows, rows_id(&db->rows), engine);

            assert_ok(db_commit(db, engine, lane, number, &start, 1, NULL));
        }
    }
}

/* S4: a lease that is over fences nobody as long as nobody removed it. */
static void
an_expired_lease_alone_fences_nobody(void **state)
{
    conformance_db *db = *state;
    int64_t lease_ms = db_short_lease_ms(db);
    cascade_uuid engine = db_attach(db, 1, lease_ms);
    cascade_uuid id = rows_id(&db->rows);

    assert_ok(
        db_commit_one(db, engine, 1, rows_start_owned(&db->rows, id, engine)));
    db_advance(db, 2 * lease_ms);
    assert_ok(db_commit_one(db, engine, 2, rows_write(&db->rows, id, 0)));
    assert_ok(db->driver->renew(db->self, &engine, DB_LONG_LEASE_MS, NULL));
    assert_ok(db_commit_one(db, engine, 3, rows_write(&db->rows, id, 0)));
}

/* S53: it tells what was done, and what was not never is. */
static void
a_commit_is_settled_once_and_for_all(void **state)
{
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    char *picture = db_picture(db);
    bool committed = false;

    for (int i = 0; i < 2; i++) {
        assert_ok(db->driver->settle(db->self, &it.engine, 0, 2, &committed));
        assert_true(committed);
    }
    for (int i = 0; i < 2; i++) {
        committed = true;
        assert_ok(db->driver->settle(db->self, &it.engine, 0, 3, &committed));
        assert_false(committed);
    }
    assert_fails(CASCADE_ERR_LOST, db_commit_one(db, it.engine, 3, it.write));
    db_assert_unchanged(db, picture);
    assert_ok(db_commit_one(db, it.engine, 5, it.write));
}

/* S4, S53: settling is fenced as commits are, and changes nothing then. */
static void
settling_a_commit_is_fenced(void **state)
{
    static const int64_t numbers[] = {0, 4, 1000000};
    conformance_db *db = *state;
    fenced_case it = prepare(db);
    bool flag = true;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        assert_fails(
            CASCADE_ERR_LOST,
            db->driver->settle(db->self, &it.engine, 0, numbers[i], &flag));
    assert_fails(CASCADE_ERR_FENCED,
                 db->driver->settle(db->self, &it.engine, 64, 1, &flag));
    assert_ok(db_commit_one(db, it.engine, 3, it.write));
    assert_ok(db->driver->detach(db->self, &it.engine));
    assert_fails(CASCADE_ERR_FENCED,
                 db->driver->settle(db->self, &it.engine, 0, 4, &flag));
    assert_true(flag);
}

conformance_group
conformance_fence(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_incarnation_is_fenced),
        cmocka_unit_test(a_detached_incarnation_is_fenced),
        cmocka_unit_test(an_incarnation_that_never_attached_is_fenced),
        cmocka_unit_test(a_lane_that_is_not_there_is_fenced),
        cmocka_unit_test(a_lane_at_another_number_is_lost),
        cmocka_unit_test(the_fence_comes_before_the_changes),
        cmocka_unit_test(lanes_count_by_themselves),
        cmocka_unit_test(an_expired_lease_alone_fences_nobody),
        cmocka_unit_test(a_commit_is_settled_once_and_for_all),
        cmocka_unit_test(settling_a_commit_is_fenced),
    };

    return (conformance_group){"fence", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
