# SPDX-License-Identifier: MIT
#
# The `cascade` command, run as a user runs it, on both stores.

if(NOT CASCADE_CLI)
    return()
endif()

# It makes the cascades; it uses the public API alone, as a user's program.
add_executable(test_cli_player ${CMAKE_CURRENT_LIST_DIR}/player.c)
cascade_target(test_cli_player)
target_link_libraries(test_cli_player PRIVATE cascade::cascade)

add_library(test_cli_text OBJECT ${PROJECT_SOURCE_DIR}/src/cli/text/moment.c
    ${PROJECT_SOURCE_DIR}/src/cli/text/scan.c
    ${PROJECT_SOURCE_DIR}/src/cli/text/text.c)
cascade_target(test_cli_text)
target_include_directories(test_cli_text PUBLIC ${PROJECT_SOURCE_DIR}/src/cli)
target_link_libraries(test_cli_text PRIVATE test_support)
cascade_test(cli_parts test_parts.c)
target_link_libraries(test_cli_parts PRIVATE test_cli_text)

set(cli $<TARGET_FILE:cascade_command> $<TARGET_FILE:test_cli_player>)
set(needs_of_sqlite "")
set(needs_of_postgres server)
foreach(store sqlite postgres)
    foreach(part look command course care engine)
        cascade_script_test(cli_${part}_on_${store} ${part}.sh ${cli} ${store}
            NEEDS ${needs_of_${store}})
    endforeach()
endforeach()
cascade_script_test(cli_sealed_on_sqlite sealed.sh ${cli} sqlite NEEDS sqlite3)
cascade_script_test(cli_sealed_on_postgres sealed.sh ${cli} postgres
    NEEDS server psql)
cascade_script_test(cli_mends_what_is_wrong mend.sh ${cli} sqlite NEEDS sqlite3)
cascade_script_test(cli_schedule schedule.sh ${cli} sqlite)
cascade_script_test(cli_pages pages.sh ${cli} sqlite NEEDS man-db LABELS long)
cascade_script_test(cli_in_a_terminal terminal.sh ${cli} sqlite)
