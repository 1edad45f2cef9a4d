# SPDX-License-Identifier: MIT
#
# which compares them with what the machine makes of them.

# cascade_time_test(NAME SOURCE PARTS... [NEEDS ...] [LABELS ...])
function(cascade_time_test name)
    cascade_test(${name} ${ARGN})
    target_link_libraries(test_${name} PRIVATE test_time)
endfunction()

cascade_time_test(time_civil test_civil.c ../base/support.c)
