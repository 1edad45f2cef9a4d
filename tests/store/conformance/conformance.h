/* SPDX-License-Identifier: MIT
 *
 * The conformance suite: what every store must do, one test for each promise of
 * cascade/store.h (S1, S2 ..., cited in the comment above each test, with the G
 * numbers of the library's guarantees that stand on it).
 *
 * What a test program of a backend needs is in suite.h, which is installed.
 * Each test gets a fresh empty database in *state, with one open handle.
 */
#ifndef TESTS_STORE_CONFORMANCE_CONFORMANCE_H
#define TESTS_STORE_CONFORMANCE_CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/conformance/suite.h"
#include "store/store.h"
#include "support/fake_clock.h"
#include "support/rows.h"

#define CONFORMANCE_HANDLES 16
/* Until a test gives up on what must come: the deadline of its handles too. */
#define CONFORMANCE_WAIT_MS 100000

typedef struct conformance_db conformance_db;

struct conformance_db {
    const conformance_backend *backend;
    conformance_place place;
    fake_clock clock;
    test_rows rows;
    cascade_store *handles[CONFORMANCE_HANDLES];
    size_t handle_count;
    const cascade_store_driver *driver;
    void *self; /* of the first handle */
};

cascade_err conformance_open(conformance_db *db,
                             const cascade_store_options *options,
                             cascade_store **store);
/* The sub-table of the store under test, or the end of the test, as skipped. */
const cascade_store_chain *conformance_chain(const cascade_store_driver *it);
const cascade_store_manage *conformance_manage(const cascade_store_driver *it);
const cascade_store_integrity *conformance_integrity(
    const cascade_store_driver *it);

/* The groups: each file of the suite is one. */
typedef struct conformance_group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
} conformance_group;

conformance_group conformance_schema(void);
conformance_group conformance_commit(void);
conformance_group conformance_fence(void);
conformance_group conformance_claim(void);
conformance_group conformance_engines(void);
conformance_group conformance_trial(void);
conformance_group conformance_read(void);
conformance_group conformance_text(void);
conformance_group conformance_messages(void);
conformance_group conformance_keys(void);
conformance_group conformance_erase(void);
conformance_group conformance_outlive(void);
conformance_group conformance_paths(void);
conformance_group conformance_receive(void);
conformance_group conformance_seals(void);
conformance_group conformance_queues(void);
conformance_group conformance_limits(void);
conformance_group conformance_turns(void);
conformance_group conformance_scan(void);
conformance_group conformance_mend(void);
conformance_group conformance_native(void);
conformance_group conformance_native_beside(void);
conformance_group conformance_wait(void);
conformance_group conformance_wait_unheard(void); /* behind a pooler */
conformance_group conformance_race(void);
conformance_group conformance_model(void);

/* The program as another process: "--wake URL SCHEMA" opens the store, wakes
 * and ends. */
int conformance_wake_main(const conformance_backend *backend, int argc,
                          char **argv);

/* ---- Checks ------------------------------------------------------------- */

/* The call is OK. */
#define assert_ok(call) \
    conformance_check((call), CASCADE_OK, #call, __FILE__, __LINE__)
/* The call fails with `err` and leaves a text (S16). */
#define assert_fails(err, call) \
    conformance_check((call), (err), #call, __FILE__, __LINE__)

void conformance_check(cascade_err got, cascade_err wanted, const char *call,
                       const char *file, int line);

/* ---- The database ------------------------------------------------------- */

/* An empty database without a handle, beside the test's own. NULL: it could
 * not be made. The first db_open() migrates it. */
conformance_db *db_create(void);
void db_destroy(conformance_db *db);

/* Opens one more handle, as another process would; the teardown closes it. */
cascade_store *db_open(conformance_db *db);
/* Options for opening `db` by hand. */
cascade_store_options db_options(conformance_db *db);

int64_t db_now(conformance_db *db);
/* Returns when the store's clock has moved on by `ms`. */
void db_advance(conformance_db *db, int64_t ms);
/* A lease that is over after db_advance(db, 2 * it), and one that is not over
 * before the test is. */
int64_t db_short_lease_ms(const conformance_db *db);
#define DB_LONG_LEASE_MS 600000

/* Attaches a new incarnation. */
cascade_uuid db_attach(conformance_db *db, uint32_t lane_count,
                       int64_t lease_ms);

/* Commits changes as batch `number` of a lane; sorts them. `existed` may be
 * NULL. */
cascade_err db_commit(conformance_db *db, cascade_uuid engine_id, uint32_t lane,
                      int64_t number, cascade_change **changes, size_t count,
                      bool *existed);
cascade_err db_submit(conformance_db *db, cascade_change **changes,
                      size_t count, bool *existed);
/* A batch of one change. */
cascade_err db_commit_one(conformance_db *db, cascade_uuid engine_id,
                          int64_t number, cascade_change *change);
cascade_err db_submit_one(conformance_db *db, cascade_change *start);

/* Starts `count` cascades with due, free runs; the ids ascend. */
void db_start_many(conformance_db *db, cascade_uuid *ids, size_t count);

/* The move, again where somebody has held the rows of a dead incarnation for
 * too long: it says so, and its caller comes back. For any thread. */
cascade_err db_remove(cascade_store *store, const cascade_uuid *dead,
                      size_t dead_count, size_t limit, size_t *freed);

/* Claims from `queue` without suspects, nodes none. */
cascade_err db_claim(conformance_db *db, cascade_uuid engine_id,
                     const char *queue, size_t limit, cascade_claimed *claimed,
                     cascade_claim_result *result);

/* Everything in the store that can be seen, as a text: cascades with their
 * runs, executions, events, messages (without their ids), incarnations, queues,
 * counts, and the numbers of the keys "a", "b" and "c" of user "user". Freed by
 * the caller with csc_mem_free(). */
#define DUMP_EVENT_IDS 1u
#define DUMP_ENGINES 2u
#define DUMP_EXACT_TIMES 4u /* without: wake_at only if it is far away */
#define DUMP_ALL (DUMP_EVENT_IDS | DUMP_ENGINES | DUMP_EXACT_TIMES)
/* Without what these sub-tables are needed for; so it is where the store has
 * them not. */
#define DUMP_NO_CHAIN 8u
#define DUMP_NO_MANAGE 16u
#define DUMP_FAR_MS 1800000
/* What a dump of a store of that driver is without. */
unsigned db_dump_without(const cascade_store_driver *driver);
char *db_dump(cascade_store *store, unsigned parts);
/* The same of the rows that a page has. */
char *db_dump_scan(cascade_store *store, const cascade_scan *scan,
                   unsigned parts);

/* Descriptors that this process has open. */
size_t db_count_descriptors(void);

/* A picture of the store, and the check that nothing has changed since. */
char *db_picture(conformance_db *db);
void db_assert_unchanged(conformance_db *db, char *picture); /* frees it */

#endif
