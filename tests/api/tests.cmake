# SPDX-License-Identifier: MIT
#
# The public contract: what is refused and how, and what may be relied on.

cascade_test(api_adopt test_adopt.c raw_sql.c ../engine/mix.c ../engine/peer.c
    TIMEOUT 120)
cascade_test(api_bad_input test_bad_input.c TIMEOUT 120)
cascade_test(api_bad_stores test_bad_stores.c TIMEOUT 120)
cascade_test(api_arguments test_arguments.c TIMEOUT 120)
cascade_test(api_document test_document.c raw_sql.c TIMEOUT 300)
cascade_test(api_foreign test_foreign.c raw_sql.c TIMEOUT 120)
cascade_test(api_looking test_looking.c raw_sql.c TIMEOUT 120)
cascade_test(api_messages test_messages.c TIMEOUT 120)
cascade_test(api_purge test_purge.c raw_sql.c TIMEOUT 120)
cascade_test(api_scarce test_scarce.c TIMEOUT 120)
if(CASCADE_SQLITE)
    cascade_test(api_sqlite_functions test_sqlite_functions.c TIMEOUT 120)
endif()
cascade_test(api_within test_within.c connection.c TIMEOUT 120)
cascade_test(api_verify test_verify.c raw_sql.c ../engine/mix.c TIMEOUT 120)
cascade_test(api_quiet test_quiet.c raw_sql.c TIMEOUT 120)
