# SPDX-License-Identifier: MIT
#
# The base layer. Those that ask a real PostgreSQL need CASCADE_TEST_PG.

cascade_test(base_json_gate test_json_gate.c support.c)
cascade_test(base_json_tree test_json_tree.c support.c)
