# SPDX-License-Identifier: MIT
#
# The examples, run as a user runs them.

if(CASCADE_EXAMPLES)
    set(orders ${PROJECT_SOURCE_DIR}/examples/orders/orders.json)
    cascade_script_test(hello_greets_once hello.sh
        $<TARGET_FILE:example_hello>)
    cascade_script_test(ids_come_back_exactly exact.sh
        $<TARGET_FILE:example_exact>)
    cascade_script_test(own_loop_runs_nodes poll_loop.sh
        $<TARGET_FILE:example_poll_loop>)
    cascade_script_test(map_reduce_joins map_reduce.sh
        $<TARGET_FILE:example_map_reduce>)
    cascade_script_test(approval_is_given_or_late approval.sh
        $<TARGET_FILE:example_approval>)
    # Skipped, and told so, where the example was left out.
    if(TARGET example_libuv_loop)
        cascade_script_test(libuv_loop_runs_nodes libuv_loop.sh
            $<TARGET_FILE:example_libuv_loop>)
    else()
        cascade_test_command(libuv_loop_runs_nodes libuv "" false)
    endif()
    cascade_script_test(what_was_booked_is_cancelled saga.sh
        $<TARGET_FILE:example_saga>)
    if(CASCADE_SQLITE)
        cascade_script_test(transfers_are_made_once_on_sqlite transfer.sh
            $<TARGET_FILE:example_transfer_sqlite> sqlite NEEDS sqlite3)
        cascade_script_test(what_sql_orders_is_delivered_on_sqlite outbox.sh
            $<TARGET_FILE:example_outbox_sqlite> sqlite)
    endif()
    if(CASCADE_POSTGRES)
        cascade_script_test(transfers_are_made_once_on_postgres transfer.sh
            $<TARGET_FILE:example_transfer_postgres> postgres NEEDS server)
        cascade_script_test(what_sql_orders_is_delivered_on_postgres outbox.sh
            $<TARGET_FILE:example_outbox> postgres
            ${PROJECT_SOURCE_DIR}/examples/outbox.sql NEEDS server)
    endif()
    cascade_script_test(orders_survive_kills_on_sqlite demo.sh
        $<TARGET_FILE:example_orders> ${orders} sqlite)
    cascade_script_test(orders_survive_kills_on_postgres demo.sh
        $<TARGET_FILE:example_orders> ${orders} postgres NEEDS server)
    cascade_script_test(proof_of_the_demo_can_fail proof_can_fail.sh
        $<TARGET_FILE:example_orders> ${orders})
endif()
