/* SPDX-License-Identifier: MIT
 *
 * Making messages of signals: for those who send them, and for starts that
 * bring one with them.
 */
#ifndef CSC_CLIENT_SIGNAL_H
#define CSC_CLIENT_SIGNAL_H

#include "base/data/arena.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

/* What a caller wants sent. */
typedef struct csc_signal_spec {
    const char *name;
    csc_json_given payload;
    const cascade_signal_options *options;
} csc_signal_spec;

/* Whether it may be sent, as far as it tells itself. */
cascade_err csc_signal_check(const cascade_store *store,
                             const csc_signal_spec *spec);

/* Checks it and makes its message to cascade `id`; its texts are in `arena`. */
cascade_err csc_signal_make(cascade_store *store, csc_arena *arena,
                            const csc_signal_spec *spec, const cascade_uuid *id,
                            cascade_message_row *message);

/* What the sender is told; `what` names the call. */
cascade_err csc_signal_answer(cascade_sent sent, const char *what);

#endif
