/* SPDX-License-Identifier: MIT
 *
 * The id map against a plain array, and its edges.
 */
#include <string.h>

#include "base/data/map.h"
#include "base/mem.h"
#include "base/support.h"
#include "base/uuid.h"

#define MODEL_SIZE 512

/* Key i of the model has value &model[i] when it is present. */
static struct {
    cascade_uuid key;
    bool present;
    int value;
    int other;
    bool is_other;
} model[MODEL_SIZE];

static void *
expected(size_t i)
{
    if (!model[i].present)
        return NULL;
    return model[i].is_other ? &model[i].other : &model[i].value;
}

static void
check_walk(const csc_map *map)
{
    size_t at = 0;
    size_t walked = 0;
    size_t present = 0;

    for (void *value = csc_map_next(map, &at); value != NULL;
         value = csc_map_next(map, &at))
        walked++;
    for (size_t i = 0; i < MODEL_SIZE; i++) {
        present += model[i].present ? 1 : 0;
        assert_ptr_equal(csc_map_get(map, &model[i].key), expected(i));
    }
    assert_int_equal(walked, present);
    assert_int_equal(map->count, present);
}

/* For the library: numbers that can be replayed. */
static void
fill_random(void *context, void *bytes, size_t len)
{
    unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++)
        at[i] = (unsigned char)support_rng_next(context);
}

/* Every other key differs from its neighbour in one byte only. */
static void
make_keys(support_rng *rng)
{
    const cascade_random random = {.context = rng, .fill = fill_random};

    for (size_t i = 0; i < MODEL_SIZE; i++) {
        if (i % 2 == 1)
            model[i].key = model[i - 1].key;
        else
            model[i].key = csc_uuid_v7(1, &random);
        model[i].key.bytes[i / 2 % 16] ^= (unsigned char)(i % 2);
    }
}

static void
random_operations_agree_with_an_array(void **state)
{
    support_rng rng = support_rng_open("random_operations_agree");
    csc_map map;

    (void)state;
    csc_map_init(&map);
    make_keys(&rng);
    for (int round = 0; round < 100000; round++) {
        size_t i = support_rng_below(&rng, MODEL_SIZE);

        switch (support_rng_below(&rng, 3)) {
        case 0:
            model[i].present = true;
            model[i].is_other = support_rng_below(&rng, 2) == 0;
            assert_int_equal(csc_map_put(&map, &model[i].key, expected(i)), 0);
            break;
        case 1:
            assert_ptr_equal(csc_map_remove(&map, &model[i].key), expected(i));
            model[i].present = false;
            break;
        default:
            assert_ptr_equal(csc_map_get(&map, &model[i].key), expected(i));
        }
        if (round % 1000 == 0)
            check_walk(&map);
    }
    check_walk(&map);
    csc_map_fini(&map);
}

/* Many keys in few slots: long runs that wrap around the end. */
static void
removing_from_full_runs_loses_no_other_key(void **state)
{
    enum {
        COUNT = 12
    };
    support_rng rng = support_rng_open("removing_from_full_runs");

    (void)state;
    for (int round = 0; round < 5000; round++) {
        cascade_uuid keys[COUNT];
        csc_map map = {0};
        size_t gone = support_rng_below(&rng, COUNT);

        for (size_t i = 0; i < COUNT; i++) {
            uint64_t half[2] = {support_rng_next(&rng), 0};

            memcpy(keys[i].bytes, half, sizeof(half));
            assert_int_equal(csc_map_put(&map, &keys[i], &keys[i]), 0);
        }
        assert_int_equal(map.room, 16);
        assert_ptr_equal(csc_map_remove(&map, &keys[gone]), &keys[gone]);
        for (size_t i = 0; i < COUNT; i++)
            assert_ptr_equal(csc_map_get(&map, &keys[i]),
                             i == gone ? NULL : &keys[i]);
        csc_map_fini(&map);
    }
}

static void
an_empty_map_has_nothing(void **state)
{
    csc_map map;
    cascade_uuid key = {{0}};
    size_t at = 0;

    (void)state;
    csc_map_init(&map);
    assert_null(csc_map_get(&map, &key));
    assert_null(csc_map_remove(&map, &key));
    assert_null(csc_map_next(&map, &at));
    csc_map_fini(&map);
    /* the nil id is a key like any other */
    assert_int_equal(csc_map_put(&map, &key, &map), 0);
    assert_ptr_equal(csc_map_get(&map, &key), &map);
    csc_map_fini(&map);
    assert_null(csc_map_get(&map, &key));
}

static void
without_memory_a_put_changes_nothing(void **state)
{
    support_rng rng = support_rng_open("without_memory");
    const cascade_random random = {.context = &rng, .fill = fill_random};
    csc_map map = {0};
    cascade_uuid keys[13];

    (void)state;
    csc_uuid_v7_many(1, &random, keys, 13);
    (void)csc_mem_fail_at(1, 0);
    assert_int_equal(csc_map_put(&map, &keys[0], keys), -1);
    (void)csc_mem_fail_at(0, 0);
    assert_int_equal(map.count, 0);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(csc_map_put(&map, &keys[i], &keys[i]), 0);
    (void)csc_mem_fail_at(1, 1);
    assert_int_equal(csc_map_put(&map, &keys[12], keys), -1);
    (void)csc_mem_fail_at(0, 0);
    assert_int_equal(map.count, 12);
    assert_null(csc_map_get(&map, &keys[12]));
    for (size_t i = 0; i < 12; i++)
        assert_ptr_equal(csc_map_get(&map, &keys[i]), &keys[i]);
    csc_map_fini(&map);
}

/* Ids of one millisecond, counted up: the worst we make ourselves. A hash that
 * kept their order in few slots would take hours here. */
static void
time_ordered_ids_spread(void **state)
{
    enum {
        COUNT = 200000
    };
    cascade_uuid *keys = csc_mem_zalloc(COUNT, sizeof(*keys));
    csc_map map = {0};
    size_t longest = 0;
    size_t run = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        keys[i].bytes[14] = (unsigned char)(i >> 8);
        keys[i].bytes[15] = (unsigned char)i;
        keys[i].bytes[5] = (unsigned char)(i >> 16);
        assert_int_equal(csc_map_put(&map, &keys[i], &keys[i]), 0);
    }
    for (size_t i = 0; i < map.room; i++) {
        run = map.slots[i].value == NULL ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 1, 1000);
    for (size_t i = 0; i < COUNT; i++)
        assert_ptr_equal(csc_map_remove(&map, &keys[i]), &keys[i]);
    assert_int_equal(map.count, 0);
    csc_map_fini(&map);
    csc_mem_free(keys);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_an_array),
        cmocka_unit_test(removing_from_full_runs_loses_no_other_key),
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(without_memory_a_put_changes_nothing),
        cmocka_unit_test(time_ordered_ids_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
