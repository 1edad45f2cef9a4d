# SPDX-License-Identifier: MIT
#
# The deterministic simulation, and the oracle it judges by.

cascade_test(sim_oracle test_oracle.c)
cascade_test(sim_oracle_messages test_oracle_messages.c)
cascade_test(sim test_sim.c sim_client.c sim_cost.c sim_count.c sim_fault.c
    sim_giant.c sim_key.c sim_ledger.c sim_lease.c sim_mail.c sim_node.c sim_plan.c
    sim_process.c sim_shrink.c sim_slots.c sim_world.c work_bomb.c work_course.c
    work_doom.c work_graph.c work_instead.c work_join.c work_key.c work_line.c
    work_program.c work_saga.c work_family.c work_limits.c work_runs.c
    work_signals.c work_small.c work_transfer.c FLOOR manage LABELS long)
