/* SPDX-License-Identifier: MIT
 *
 * A transaction of its own for what comes from outside: starts and messages,
 * owned by nobody. The engines are told, and one of them claims or receives.
 *
 * Messages for cascades that engines of this handle have in memory are told to
 * these alone (quiet), who then look for messages, not for work: no other could
 * receive them. Where one has left memory when they are there, all are told. If
 * the process dies before that, or has lost what it holds, whoever owns such a
 * cascade next finds them as it loads it, or by its poll.
 *
 * It is repeated until it is decided, but not on a guest's connection: in a
 * transaction that is not ours what has failed stays so, and where that
 * connection is lost there is no other.
 */
#include "client/submit.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "held/room/mailbox.h"
#include "held/run/sealing.h"
#include "held/wakeup.h"
#include "store/move.h"
#include "store/store.h"

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS 500

void
csc_submit_sleep(int64_t ms)
{
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    (void)nanosleep(&pause, NULL);
}

cascade_err
csc_submit_undecided(const cascade_store *store, const char *what,
                     const char *why)
{
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "%s: undecided after %lld ms, look the cascade up by its "
                    "id: %s",
                    what, (long long)store->config.deadline_ms, why);
}

static cascade_err
fail_unsent(const cascade_store *store, const char *what)
{
    return csc_fail(CASCADE_ERR_UNAVAILABLE, "%s: not done within %lld ms: %s",
                    what, (long long)store->config.deadline_ms,
                    cascade_errmsg());
}

/* `told`: somebody else tells the engines of this handle. */
static void
tell(cascade_store *store, const cascade_submission *submission, bool told)
{
    if (submission->quiet && csc_mailbox_tell(store, submission->messages,
                                              submission->message_count))
        return;
    if (!told)
        csc_wakeup_tell_all(store);
    if (submission->quiet)
        (void)csc_move_wake(store); /* a hint */
}

cascade_err
csc_submit_shared(cascade_store *store, const cascade_submission *submission,
                  int64_t end_ms)
{
    bool told = false;
    cascade_err err = csc_sealing_share(store, submission, end_ms, &told);

    if (err == CASCADE_OK)
        tell(store, submission, told);
    return err;
}

/* Again, by itself, until it is decided: as nobody knows what the first try has
 * done. All are told, also where that stays so. */
static cascade_err
submit_again(cascade_store *store, const cascade_submission *submission,
             const char *what, int64_t end_ms)
{
    int64_t pause_ms = BACKOFF_FIRST_MS;
    cascade_err err = CASCADE_ERR_UNAVAILABLE;

    while (err == CASCADE_ERR_UNAVAILABLE) {
        if (csc_clock_left_ms(end_ms) <= pause_ms) {
            err = csc_submit_undecided(store, what, cascade_errmsg());
            csc_wakeup_tell_all(store);
            return err;
        }
        csc_submit_sleep(pause_ms);
        pause_ms =
            pause_ms * 2 < BACKOFF_MAX_MS ? pause_ms * 2 : BACKOFF_MAX_MS;
        err = csc_sealing_submit(store, submission);
    }
    if (err == CASCADE_OK)
        tell(store, submission, false);
    return csc_error_in_doubt(err, what);
}

cascade_err
csc_submit(cascade_store *store, const cascade_submission *submission,
           const char *what)
{
    int64_t end_ms =
        csc_clock_monotonic_ms(&csc_clock_system) + store->config.deadline_ms;
    cascade_submission sent = *submission;
    cascade_err err = CASCADE_OK;

    sent.quiet = sent.start_count == 0 &&
                 csc_mailbox_are_held(store, sent.messages, sent.message_count);
    err = csc_submit_shared(store, &sent, end_ms);
    if (err == CASCADE_ERR_NOT_DONE)
        return fail_unsent(store, what);
    if (err == CASCADE_ERR_UNAVAILABLE && store->guest == NULL)
        err = submit_again(store, submission, what, end_ms);
    return err;
}
