# SPDX-License-Identifier: MIT
#
# The public contract: what is refused and how, and what may be relied on.

cascade_test(api_bad_input test_bad_input.c TIMEOUT 120)
cascade_test(api_bad_stores test_bad_stores.c TIMEOUT 120)
cascade_test(api_arguments test_arguments.c TIMEOUT 120)
cascade_test(api_foreign test_foreign.c raw_sql.c TIMEOUT 120)
cascade_test(api_looking test_looking.c raw_sql.c TIMEOUT 120)
cascade_test(api_messages test_messages.c TIMEOUT 120)
cascade_test(api_quiet test_quiet.c raw_sql.c TIMEOUT 120)
