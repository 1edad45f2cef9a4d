# SPDX-License-Identifier: MIT
#
# The sources of the conformance suite, from tests/store on: for its programs
# here and for the library of it that is installed.

set(conformance
    conformance/conformance.c
    conformance/conformance_claim.c
    conformance/conformance_commit.c
    conformance/conformance_dump.c
    conformance/conformance_engines.c
    conformance/conformance_erase.c
    conformance/conformance_fence.c
    conformance/conformance_keys.c
    conformance/conformance_outlive.c
    conformance/conformance_paths.c
    conformance/conformance_receive.c
    conformance/conformance_letters.c
    conformance/conformance_limits.c
    conformance/conformance_mail.c
    conformance/conformance_mend.c
    conformance/conformance_messages.c
    conformance/conformance_model.c
    conformance/conformance_native.c
    conformance/conformance_nodes.c
    conformance/conformance_queues.c
    conformance/conformance_race.c
    conformance/conformance_read.c
    conformance/conformance_scan.c
    conformance/conformance_schema.c
    conformance/conformance_seals.c
    conformance/conformance_tend.c
    conformance/conformance_text.c
    conformance/conformance_trial.c
    conformance/conformance_turns.c
    conformance/conformance_wait.c)
