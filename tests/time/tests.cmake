# SPDX-License-Identifier: MIT
#
# The floor of time. Nothing here hangs on the machine's zones but time_zdump,
# which compares them with what the machine makes of them.

cascade_test(time_civil test_civil.c ../base/support.c)
cascade_test(time_zone test_zone.c made.c ../base/support.c)
cascade_test(time_cron test_cron.c pattern.c made.c ../base/support.c)
cascade_test(time_dst test_dst.c made.c ../base/support.c)
cascade_test(time_nominal test_nominal.c made.c ../base/support.c)
cascade_test(time_rules test_rules.c made.c ../base/support.c)
cascade_test(time_spec test_spec.c specs.c made.c ../base/support.c FLOOR client)
cascade_test(time_spec_fires test_spec_fires.c specs.c made.c ../base/support.c
    FLOOR client)
cascade_test(time_describe test_describe.c pattern.c made.c
    ../base/support.c)
cascade_test(time_zdump test_zdump.c ../base/support.c NEEDS tzdata)
cascade_test_program(time_croner croner.c pattern.c ../base/support.c)
