/* SPDX-License-Identifier: MIT
 *
 * The guarantees, checked from the rows alone (plus what a test knows): which
 * cascades were started, which functions were entered and when. Written from
 * the design and not from the engine, so that both are wrong only where they
 * are wrong alike. The numbers G1 to G12 are the design's.
 *
 *     oracle *o = oracle_create();
 *     oracle_started(o, &started.id, err == CASCADE_OK);    after each start
 *     oracle_ran(o, request_id, attempt, now_ms);   in each node and step
 *     ok = oracle_check(o, driver, self, ORACLE_RUNNING);    at any moment
 *     ok = oracle_check(o, driver, self, ORACLE_ENDED);        at the end
 *     if (!ok) puts(oracle_text(o));
 *
 * It remembers what it saw at the last check of each cascade: rows are compared
 * with those, and functions entered afterwards are judged by them. A test that
 * runs in one thread can have every commit looked at (oracle_follow,
 * oracle_look): then each entry of a function is judged by the rows as they are
 * at that very moment.
 *
 * WHAT IS CHECKED
 *   G1  a finished execution's record names its children, its keys and what it
 *       came after; each named child exists, each child is named by its parent;
 *       events have a recorded writer and its keys; `at` is sane
 *   G2  a start that was acknowledged exists, and in the end has ended as the
 *       test expects; a run row is there exactly while a cascade is RUNNING,
 *       and a free one wakes no later than its earliest execution is due
 *   G3  what was recorded never changes, never vanishes, never runs again
 *   G4  what is recorded was entered, with each attempt from 1 to the last
 *   G5  function ids are dense, paths unique, fn_id and claim_no never go back
 *   G7  hydration of the rows works, and comes to the same status and wake-up
 *       (oracle_saw) what a node sees of the context is what was committed
 *       before its place, and what those it came after wrote; and (oracle_told)
 *       how those ended
 *   G8  nothing is entered before its time, or while the cascade is paused; no
 *       await has timed out before its
 *   G9  what was sent is in the messages or was received, once for each request
 *       id, in the order in which it was sent; awaits take signals in order;
 *       none waits while there is one; what comes too late is undelivered, and
 *       changes nothing. A cascade may be gone when its deletion was asked for
 *   G10 the id of a keyed cascade follows from its key, and a second start is
 *       told that it existed
 *   G13 every payload is canonical
 *   In the end a run that continued as new has a next one with the signals that
 *   it had not read, and that alone names it as the one before; and what was
 *   sent to it is in one of its runs. A child is named by its parent, which was
 *   told of its end as it was.
 * Of a cascade that was retried or run again only G3 is checked as of others,
 * what is entered and what it sees, and what these commands promise
 * (oracle_course.c).
 * Besides: the status follows its one rule (design, section 3). Once a cascade
 * is cancelled nothing begins that had not begun, and it ends with the last.
 *
 * Any thread may call any function; a text is valid until the next check.
 */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/store.h"

typedef struct oracle oracle;

typedef enum oracle_phase {
    ORACLE_RUNNING, /* any moment, with work going on beside */
    ORACLE_ENDED    /* everything must have ended, and nothing changes */
} oracle_phase;

oracle *oracle_create(void);
void oracle_free(oracle *o);

/* A start the test made. `acknowledged`: it returned OK. Otherwise the cascade
 * may or may not exist, now or later. */
void oracle_started(oracle *o, const cascade_uuid *id, bool acknowledged);
/* What a start by key or explicit id that returned OK told in `existed`; call
 * it before oracle_started(). */
void oracle_existed(oracle *o, const cascade_uuid *id, bool existed);
/* A message that the test sends: a signal, or a command. */
typedef struct oracle_message {
    const cascade_uuid *to;
    const char *kind;       /* "signal", "cancel", "terminate", "delete",
                               "pause", "resume", "retry", "rerun" */
    const char *name;       /* of a signal, else NULL */
    const char *request_id; /* NULL: one of its own */
    const char *payload;    /* canonical; NULL: any */
} oracle_message;

/* Before it is sent, and what the call returned. A request id that is sent
 * again is the same message. */
void oracle_sending(oracle *o, const oracle_message *message);
void oracle_sent(oracle *o, const oracle_message *message, cascade_err err);

/* How it must end; without it, any end will do. */
void oracle_expect(oracle *o, const cascade_uuid *id, cascade_status status);

/* A node's or a step's function was entered: cascade_node_request_id(),
 * cascade_node_attempt(), the time by the clock of the engine's store. */
void oracle_ran(oracle *o, const char *request_id, int attempt, int64_t now_ms);

/* Whether what is entered next belongs to a cascade with a commit under way
 * there, of whose outcome its engine has not heard: it may have ended. */
void oracle_set_open(oracle *o, bool open);
/* How often it was entered by now. */
size_t oracle_entered(oracle *o, const char *request_id);
/* The highest attempt among them, 0 for none. */
int oracle_attempts(oracle *o, const char *request_id);
/* When, for the first and the last time; CASCADE_TIME_NONE: never. */
void oracle_entry_times(oracle *o, const char *request_id, int64_t *first_ms,
                        int64_t *last_ms);
/* What a node sees of `key` as it is entered: all values, as a JSON array.
 * Only with oracle_follow(). */
void oracle_saw(oracle *o, const char *request_id, const char *key,
                const char *values);

/* What cascade_node_outcomes() told a node as it was entered. Only with
 * oracle_follow(). */
void oracle_told(oracle *o, const char *request_id, const char *outcomes);

/* From now on oracle_look() is called after each commit that took effect, so
 * what is entered must be in the rows looked at last. */
void oracle_follow(oracle *o);
/* A cascade that the test itself made, and judges: it is never read. */
void oracle_leave_out(oracle *o, const cascade_uuid *id);
bool oracle_left_out(oracle *o, const cascade_uuid *id);
/* Cascades that no oracle_started() named are a failure (else they are taken
 * for starts of unknown outcome). */
void oracle_refuse_strangers(oracle *o);
/* Behind how many trials that ended in a death an execution may be recorded as
 * poisoned; with oracle_follow(), and claims looked at too. */
void oracle_set_poison_limit(oracle *o, int32_t trials);
/* How much later than due a free run may wake: as far as the clocks in this
 * test lie apart, and where the store refuses things, how long the engine then
 * leaves a cascade alone. */
void oracle_set_slack(oracle *o, int64_t slack_ms);

/* Reads all cascades: false when anything is, or ever was, wrong. */
bool oracle_check(oracle *o, const cascade_store_driver *driver, void *self,
                  oracle_phase phase);
/* The same for some cascades only, known or not. */
bool oracle_look(oracle *o, const cascade_store_driver *driver, void *self,
                 const cascade_uuid *ids, size_t count);

/* What was wrong, one line each: "G3 cascade ID execution 4: ...". "" when
 * nothing was. */
const char *oracle_text(oracle *o);

/* The status of a cascade at the last look; 0 when it was never there. */
cascade_status oracle_seen(oracle *o, const cascade_uuid *id);
/* How many cascades were RUNNING at the last look. */
size_t oracle_running(oracle *o);

/* How many messages waited at the last look, of cascades that are there. */
size_t oracle_messages(oracle *o);

/* How many cascades were read, in all checks together: a test whose oracle saw
 * nothing proves nothing. */
size_t oracle_looks(oracle *o);

#endif
