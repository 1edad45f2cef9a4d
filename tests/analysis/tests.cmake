# SPDX-License-Identifier: MIT
#
# The analyses themselves are stages of tests/run.sh; here, that they can fail.

# A sanitizer knows nothing new of them.
if(CASCADE_SANITIZE)
    return()
endif()

cascade_script_test(analyses_can_fail checks_can_fail.sh
    NEEDS clang-tidy cppcheck clang valgrind LABELS long)
