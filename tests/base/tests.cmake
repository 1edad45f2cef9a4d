# SPDX-License-Identifier: MIT
#
# The base layer. The last two ask a real PostgreSQL: CASCADE_TEST_PG.

cascade_test(base_error test_error.c support.c)
cascade_test(base_mem test_mem.c support.c)
cascade_test(base_fiber test_fiber.c support.c)
target_link_libraries(test_base_fiber PRIVATE m) # fenv.h
cascade_test(base_lock test_lock.c)
cascade_test(base_process test_process.c support.c)
cascade_test(base_map test_map.c support.c)
cascade_test(base_tree test_tree.c support.c)
cascade_test(base_pace test_pace.c)
cascade_test(base_uuid test_uuid.c support.c)
cascade_test(base_keyed test_keyed.c support.c)
cascade_test(base_clock test_clock.c support.c)
cascade_test(base_clock_hidden test_clock_hidden.c support.c NEEDS root)
cascade_test(base_json_gate test_json_gate.c support.c)
cascade_test(base_json_tree test_json_tree.c support.c)
cascade_test(base_json_int64 test_json_int64.c support.c)
cascade_test(base_json_read test_json_read.c support.c)
cascade_test(base_json_plain test_json_plain.c json_random.c support.c)
cascade_test(base_json_hostile test_json_hostile.c support.c)

if(CASCADE_POSTGRES)
    cascade_test(base_json_jsonb test_json_jsonb.c json_random.c server.c
    support.c NEEDS server)
    cascade_test(base_postgres_forms test_postgres_forms.c server.c support.c
        NEEDS server)
endif()
