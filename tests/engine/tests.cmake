# SPDX-License-Identifier: MIT
#
# The guarantees of an engine inside one process, on every store.

cascade_test(engine_hydrate test_hydrate.c mix.c watch.c TIMEOUT 300)
cascade_test(engine_lane test_lane.c mix.c watch.c TIMEOUT 200)
cascade_test(engine_refuse test_refuse.c)
cascade_test(engine_scale test_scale.c TIMEOUT 300)
cascade_test(engine_life test_life.c mix.c TIMEOUT 200)
cascade_test(engine_timers test_timers.c)
cascade_test(engine_nodes test_nodes.c play.c)
cascade_test(engine_steps test_steps.c play.c)
cascade_test(engine_sleeps test_sleeps.c play.c)
cascade_test(engine_signals test_signals.c play.c)
cascade_test(engine_commands test_commands.c play.c)
cascade_test(engine_children test_children.c play.c)
cascade_test(engine_instead test_instead.c play.c)
cascade_test(engine_state test_state.c)
cascade_test(engine_build test_build.c)
cascade_test(engine_handover test_handover.c)
cascade_test(engine_pauses test_pauses.c)
cascade_test(engine_burst test_burst.c)
cascade_test(engine_bounds test_bounds.c play.c)
cascade_test(engine_peers test_peers.c)
