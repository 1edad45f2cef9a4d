# SPDX-License-Identifier: MIT
#
# Each fuzz target as a test that replays its corpus; with CASCADE_FUZZ (clang)
# as a fuzzer too, all of them by `--target fuzz_targets`: see run.sh.

if(CASCADE_FUZZ)
    add_custom_target(fuzz_targets)
endif()

# cascade_fuzz(NAME FLOOR)
function(cascade_fuzz name floor)
    set(folder ${CMAKE_CURRENT_LIST_DIR})
    cascade_test_program(fuzz_${name} fuzz_${name}.c fuzz.c row_text.c replay.c
        FLOOR ${floor})
    cascade_test_command(fuzz_${name} "" ""
        $<TARGET_FILE:test_fuzz_${name}> ${folder}/corpus/${name})
    if(CASCADE_FUZZ)
        add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${folder}/fuzz_${name}.c
            ${folder}/fuzz.c ${folder}/row_text.c)
        cascade_target(fuzz_${name})
        target_link_libraries(fuzz_${name} PRIVATE
            test_support cascade_floor_${floor})
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzz_targets fuzz_${name})
    endif()
endfunction()

cascade_fuzz(json state)
cascade_fuzz(rows change)
cascade_fuzz(snapshot query)
cascade_fuzz(columns store)
cascade_fuzz(texts store)
cascade_fuzz(document manage)
cascade_fuzz(zone state)
cascade_fuzz(cron state)
cascade_fuzz(spec client)
