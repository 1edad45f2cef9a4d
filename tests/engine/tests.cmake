# SPDX-License-Identifier: MIT
#
# The guarantees of an engine inside one process, on every store.

cascade_test(engine_hydrate claims/test_hydrate.c support/mix.c
    support/watch.c NEEDS stores LABELS long)
cascade_test(engine_lane lanes/test_lane.c support/mix.c support/watch.c NEEDS
    stores)
cascade_test(engine_lane_held lanes/test_lane_held.c NEEDS stores)
cascade_test(engine_locks lanes/test_locks.c NEEDS stores)
cascade_test(engine_undone nodes/test_undone.c NEEDS stores)
cascade_test(engine_slow lanes/test_slow.c FLOOR manage NEEDS stores)
cascade_test(engine_suspects claims/test_suspects.c NEEDS stores)
cascade_test(engine_apart claims/test_apart.c NEEDS stores)
cascade_test(engine_portions claims/test_portions.c NEEDS stores)
cascade_test_command(engine_portions_sealed stores ""
    env CASCADE_TEST_SEALED=hmac $<TARGET_FILE:test_engine_portions>)
cascade_test(engine_vital claims/test_vital.c NEEDS stores)
cascade_test(engine_backlog lanes/test_backlog.c NEEDS stores)
cascade_test(engine_room claims/test_room.c NEEDS stores)
cascade_test(engine_middling claims/test_middling.c NEEDS stores)
cascade_test(engine_context_text pure/test_context_text.c)
cascade_test(engine_numbers pure/test_numbers.c support/play.c
    FLOOR manage NEEDS stores)
cascade_test(engine_scarce claims/test_scarce.c support/mix.c support/watch.c
    NEEDS stores)
cascade_test(engine_refuse lanes/test_refuse.c NEEDS stores)
cascade_test(engine_scale life/test_scale.c NEEDS stores LABELS long plain)
cascade_test(engine_turns claims/test_turns.c NEEDS stores)
cascade_test(engine_wait looks/test_wait.c NEEDS stores)
cascade_test(engine_result looks/test_result.c support/play.c NEEDS stores)
cascade_test(engine_events looks/test_events.c support/play.c FLOOR manage
    NEEDS stores)
cascade_test(engine_once nodes/test_once.c support/play.c NEEDS stores)
cascade_test(engine_times pure/test_times.c NEEDS stores)
cascade_test(engine_native transactions/test_native.c support/till.c
    support/ledger.c support/mix.c support/watch.c NEEDS stores)
cascade_test(engine_native_faults transactions/test_native_faults.c
    support/till.c support/ledger.c support/mix.c support/watch.c NEEDS stores
    LABELS long)
cascade_test(engine_native_lanes transactions/test_native_lanes.c
    support/till.c support/ledger.c support/mix.c support/watch.c NEEDS stores)
cascade_test(engine_native_refuse transactions/test_native_refuse.c
    support/till.c support/ledger.c support/mix.c support/watch.c
    FLOOR manage NEEDS stores)
cascade_test(engine_native_store transactions/test_native_store.c
    support/till.c support/ledger.c support/mix.c support/watch.c NEEDS stores)
cascade_test(engine_native_stop transactions/test_native_stop.c support/till.c
    support/ledger.c support/mix.c support/watch.c NEEDS stores)
cascade_test(engine_life life/test_life.c support/mix.c NEEDS stores)
cascade_test(engine_timers life/test_timers.c NEEDS stores)
cascade_test(engine_many_timers life/test_many_timers.c NEEDS stores LABELS
    long plain)
cascade_test(engine_clocks life/test_clocks.c support/peer.c NEEDS stores LABELS
    plain)
cascade_test(engine_limits nodes/test_limits.c support/stage.c NEEDS stores)
cascade_test(engine_limits_saga nodes/test_limits_saga.c support/stage.c NEEDS
    stores)
cascade_test(engine_meetings lanes/test_meetings.c support/play.c NEEDS stores)
cascade_test(engine_heartbeats nodes/test_heartbeats.c support/stage.c NEEDS
    stores)
cascade_test(engine_nodes nodes/test_nodes.c support/play.c NEEDS stores)
cascade_test(engine_fibers nodes/test_fibers.c NEEDS stores)
cascade_test(engine_steps nodes/test_steps.c support/play.c NEEDS stores)
cascade_test(engine_program nodes/test_program.c support/play.c NEEDS stores)
cascade_test(engine_sleeps nodes/test_sleeps.c support/play.c NEEDS stores)
cascade_test(engine_sealed claims/test_sealed.c support/play.c support/mix.c
    NEEDS stores)
cascade_test(engine_signals nodes/test_signals.c support/play.c NEEDS stores)
cascade_test(engine_crowd life/test_crowd.c support/play.c NEEDS stores LABELS
    long plain)
cascade_test(engine_commands commands/test_commands.c support/play.c NEEDS
    stores)
cascade_test(engine_erasures commands/test_erasures.c FLOOR manage NEEDS stores)
cascade_test(engine_slices lanes/test_slices.c NEEDS stores)
cascade_test(engine_reset_slices lanes/test_reset_slices.c ../api/raw_sql.c
    FLOOR manage NEEDS stores)
cascade_test(engine_families commands/test_families.c FLOOR manage NEEDS stores)
cascade_test(engine_retry commands/test_retry.c support/again.c support/play.c
    FLOOR manage
    NEEDS stores)
cascade_test(engine_rerun commands/test_rerun.c support/again.c support/play.c
    FLOOR manage
    NEEDS stores LABELS long)
cascade_test(engine_courses pure/test_courses.c support/mix.c support/watch.c
    FLOOR manage
    NEEDS stores LABELS long)
cascade_test(engine_fork commands/test_fork.c support/again.c support/play.c
    FLOOR manage
    NEEDS stores)
cascade_test(engine_dismiss claims/test_dismiss.c support/play.c NEEDS stores)
cascade_test(engine_paused commands/test_paused.c support/peer.c
    support/play.c FLOOR manage NEEDS stores)
cascade_test(engine_paused_queues commands/test_paused_queues.c support/play.c
    FLOOR manage
    NEEDS stores)
cascade_test(engine_repeated lanes/test_repeated.c support/chain.c
    support/play.c FLOOR manage NEEDS stores)
cascade_test(engine_outlived claims/test_outlived.c support/chain.c
    support/play.c FLOOR manage NEEDS stores)
cascade_test(engine_chains commands/test_chains.c NEEDS stores)
cascade_test(engine_begun_before claims/test_begun_before.c support/chain.c
    support/play.c FLOOR manage NEEDS stores)
cascade_test(engine_begun_again claims/test_begun_again.c support/chain.c
    support/play.c FLOOR manage NEEDS stores)
cascade_test(engine_outlived_always claims/test_outlived_always.c
    support/chain.c support/play.c NEEDS stores)
cascade_test(engine_reuse commands/test_reuse.c support/play.c NEEDS stores)
cascade_test(engine_many commands/test_many.c support/play.c
    FLOOR manage NEEDS stores)
cascade_test(engine_children nodes/test_children.c support/play.c NEEDS stores)
cascade_test(engine_crossings claims/test_crossings.c support/play.c NEEDS
    stores)
cascade_test(engine_externals nodes/test_externals.c support/play.c NEEDS
    stores LABELS long)
cascade_test(engine_wakeups claims/test_wakeups.c support/peer.c
    support/play.c NEEDS stores)
cascade_test(engine_told lanes/test_told.c NEEDS stores)
cascade_test(engine_queue_limits claims/test_queue_limits.c FLOOR manage
    NEEDS stores)
cascade_test(engine_suspects_turn claims/test_suspects_turn.c support/peer.c
    FLOOR manage NEEDS stores)
cascade_test(engine_stuck claims/test_stuck.c NEEDS stores)
cascade_test(engine_saga nodes/test_saga.c support/crash.c support/play.c
    NEEDS stores)
cascade_test(engine_version nodes/test_version.c support/crash.c
    support/play.c NEEDS stores LABELS long)
cascade_test(engine_runs commands/test_runs.c support/play.c NEEDS stores)
cascade_test(engine_runs_refused commands/test_runs_refused.c support/play.c
    NEEDS stores)
cascade_test(engine_updates nodes/test_updates.c support/play.c NEEDS stores)
cascade_test(engine_texts nodes/test_texts.c support/play.c NEEDS stores)
cascade_test(engine_texts_refused nodes/test_texts_refused.c support/play.c
    NEEDS stores)
cascade_test(engine_instead nodes/test_instead.c support/play.c NEEDS stores)
cascade_test(engine_joins nodes/test_joins.c support/play.c NEEDS stores)
cascade_test(engine_jumps nodes/test_jumps.c support/play.c NEEDS stores)
cascade_test(engine_state pure/test_state.c FLOOR state LABELS unit)
cascade_test(engine_context nodes/test_context.c FLOOR state LABELS unit)
cascade_test(engine_lookups looks/test_lookups.c FLOOR change LABELS unit)
cascade_test(engine_state_rows pure/test_state_rows.c FLOOR state LABELS unit)
cascade_test(engine_joined nodes/test_joined.c FLOOR change LABELS unit)
cascade_test(engine_build pure/test_build.c FLOOR change LABELS unit)
cascade_test(engine_records pure/test_records.c FLOOR change LABELS unit)
cascade_test(engine_record_members pure/test_record_members.c
    FLOOR state LABELS unit)
cascade_test(engine_handover claims/test_handover.c NEEDS stores)
cascade_test(engine_trial claims/test_trial.c FLOOR manage NEEDS stores)
cascade_test(engine_pauses commands/test_pauses.c NEEDS stores)
cascade_test(engine_burst claims/test_burst.c NEEDS stores)
cascade_test(engine_bounds lanes/test_bounds.c support/play.c NEEDS stores)
cascade_test(engine_messages_anywhere claims/test_messages_anywhere.c NEEDS
    stores)
cascade_test(engine_peers claims/test_peers.c support/peer.c NEEDS stores)
cascade_test(engine_about looks/test_about.c FLOOR query)
cascade_test(engine_lists looks/test_lists.c support/peer.c NEEDS stores)
cascade_test(engine_explain looks/test_explain.c FLOOR query)
cascade_test(engine_explain_stores looks/test_explain_stores.c support/peer.c
    FLOOR manage
    NEEDS stores)
cascade_test(engine_cursor looks/test_cursor.c support/play.c NEEDS stores)
if(CASCADE_SQLITE)
    cascade_test(engine_single life/test_single.c support/mix.c)
endif()
if(CASCADE_POSTGRES)
    cascade_test(engine_beside lanes/test_beside.c NEEDS server)
    cascade_test(engine_held lanes/test_held.c NEEDS server)
endif()
