/* SPDX-License-Identifier: MIT
 *
 * The statements of the SQLite store, all of them but list's, which is put
 * together from constant pieces (read.c). Only parameters carry what
 * comes from outside.
 *
 * Times in the three tables are texts; in cascade_runs, cascade_engines and
 * cascade_queues they are milliseconds.
 */
#include "cascade/cascade.h"
#include "store/sqlite/internal.h"

/* What is marked is not there: S40. One look-up in a table that is empty most
 * of the time. */
#define UNMARKED(id)                                      \
    " AND NOT EXISTS ("                                   \
    "    SELECT 1 FROM main.cascade_erasures AS unmarked" \
    "    WHERE unmarked.cascade_id = " id ")"

#define UNMARKED_1 UNMARKED("?1")
#define UNMARKED_2 UNMARKED("?2")
#define C_UNMARKED UNMARKED("c.id")
#define OWN_UNMARKED UNMARKED("cascade_id")
/* What the index of children says, word by word. */
#define IS_CHILD                         \
    " AND node_name >= 'cascade.child:'" \
    " AND node_name < 'cascade.child;'"
#define NODE_UNMARKED UNMARKED("node_executions.cascade_id")

/* What a walk can go on from: S74. What it seeks the next row by has to come
 * back as it is bound, or the walk would never end: what stands behind a NUL
 * does not, nor what no UTF-8 says in a database of UTF-16. Bytes do not tell:
 * there are twice as many of them there. */
#define IS_UUID(id)                                                  \
    " AND typeof(" id ") = 'text' AND length(" id ") = 36"           \
    " AND substr(" id ", 9, 1) || substr(" id ", 14, 1)"             \
    "    || substr(" id ", 19, 1) || substr(" id ", 24, 1) = '----'" \
    " AND length(replace(" id ", '-', '')) = 32"                     \
    " AND " id " NOT GLOB '*[^0-9a-f-]*'"                            \
    " AND substr(" id ", 1, 36) = " id
/* Names of nodes have up to 128 bytes: NEEDS_SIZE of claim.c. The sign
 * keeps that bound from being what the index is searched by. */
#define SOUND_NEEDS                                                      \
    " AND typeof(needs) = 'text' AND length(CAST(needs AS BLOB)) <= 256" \
    " AND substr(needs, 1, 256) = needs"
#define SOUND_TAKEOVERS                  \
    " AND typeof(takeovers) = 'integer'" \
    " AND +takeovers BETWEEN 0 AND 2147483647"
#define SOUND_WAKE " AND typeof(wake_at) = 'integer'"
#define SOUND_RUN SOUND_WAKE IS_UUID("cascade_id")

/* Ids above ?1, ?2 of them, one seek each, and whether there is not what they
 * name. */
#define STRAYS(table, column, lacks)                                      \
    "WITH RECURSIVE ids (id, place) AS ("                                 \
    "    SELECT (SELECT " column " FROM main." table                      \
    "            WHERE " column " > ?1 ORDER BY " column " LIMIT 1), 1"   \
    "    UNION ALL"                                                       \
    "    SELECT (SELECT " column " FROM main." table                      \
    "            WHERE " column " > ids.id ORDER BY " column " LIMIT 1)," \
    "        place + 1"                                                   \
    "    FROM ids"                                                        \
    "    WHERE ids.id IS NOT NULL AND place < ?2)"                        \
    " SELECT id, " lacks " FROM ids"                                      \
    " WHERE id IS NOT NULL"
#define NO_CASCADE                                 \
    "NOT EXISTS (SELECT 1 FROM main.cascades AS c" \
    "            WHERE c.id = ids.id)"

/* The row `l` that leads from a cascade, ?1, that is gone to a last run that is
 * there. */
#define LAST_THERE                                     \
    " FROM main.cascade_links AS p"                    \
    " JOIN main.cascade_links AS l ON l.path = p.root" \
    " JOIN main.cascades AS c ON c.id = l.next_id"     \
    " WHERE p.path = ?1" C_UNMARKED

/* Of a run, ?1, that leads on. */
#define ROOT_OF_1 "SELECT root FROM main.cascade_links WHERE path = ?1"

/* Those of a status, but what is marked; that is looked up. */
#define COUNT_OF(word)                                       \
    " count(*) FILTER (WHERE status = '" word "')"           \
    "    - (SELECT count(*) FROM main.cascade_erasures AS x" \
    "       WHERE (SELECT c.status FROM main.cascades AS c"  \
    "              WHERE c.id = x.cascade_id) = '" word "'),"
#define COUNT_RUNNING COUNT_OF("RUNNING")
#define COUNT_COMPLETED COUNT_OF("COMPLETED")
#define COUNT_ERROR COUNT_OF("ERROR")

const csc_sqlite_sql_text csc_sqlite_sql[CSC_SQLITE_SQL_COUNT] = {
    /* ---- Transactions ---- */
    [CSC_SQLITE_BEGIN_READ] = {"begin a transaction", "BEGIN"},
    [CSC_SQLITE_BEGIN_WRITE] = {"begin a transaction", "BEGIN IMMEDIATE"},
    [CSC_SQLITE_COMMIT] = {"commit", "COMMIT"},
    /* Of guests, inside a transaction of the application's. */
    [CSC_SQLITE_SAVE] = {"set a savepoint", "SAVEPOINT cascade_guest"},
    [CSC_SQLITE_RELEASE] = {"release a savepoint", "RELEASE cascade_guest"},
    [CSC_SQLITE_ROLL_BACK_TO] = {"roll back to a savepoint",
                                 "ROLLBACK TO cascade_guest"},
    /* Of a node. */
    [CSC_SQLITE_SAVE_NODE] = {"begin a transaction", "SAVEPOINT cascade_node"},
    [CSC_SQLITE_RELEASE_NODE] = {"finish", "RELEASE cascade_node"},
    /* Reads the file, so that the transaction has begun. */
    [CSC_SQLITE_TOUCH] = {"begin a transaction",
                          "SELECT 1 FROM main.sqlite_schema LIMIT 1"},

    /* ---- Incarnations ---- */
    [CSC_SQLITE_INSERT_ENGINE] =
        {"attach", "INSERT INTO main.cascade_engines"
                   "    (engine_id, host, pid, process_start, boot, lease_ms,"
                   "     lease_until_ms, attached_at, about)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
                   " ON CONFLICT (engine_id) DO NOTHING"},
    [CSC_SQLITE_INSERT_LANE] =
        {"attach", "INSERT INTO main.cascade_lanes (engine_id, lane, batch)"
                   " VALUES (?1, ?2, 0)"
                   " ON CONFLICT (engine_id, lane) DO NOTHING"},
    [CSC_SQLITE_RENEW_ENGINE] =
        {"renew the lease", "UPDATE main.cascade_engines"
                            " SET lease_ms = ?2, lease_until_ms = ?3, boot = ?4"
                            " WHERE engine_id = ?1"},
    /* ?2: now, by the monotonic clock. */
    [CSC_SQLITE_EXTEND_ENGINE] =
        {"renew the lease", "UPDATE main.cascade_engines"
                            " SET lease_until_ms = ?2 + lease_ms, boot = ?3"
                            " WHERE engine_id = ?1"},
    [CSC_SQLITE_GET_ENGINE] = {"look up an incarnation",
                               "SELECT (SELECT sum(batch)"
                               "   FROM main.cascade_lanes"
                               "   WHERE engine_id = ?1)"
                               " FROM main.cascade_engines"
                               " WHERE engine_id = ?1"},
    /* ?1: this boot, ?2: now, by the monotonic clock. A lease of another boot
     * has expired. */
    [CSC_SQLITE_LIST_ENGINES] =
        {"list the incarnations",
         "SELECT engine_id, host, pid, process_start,"
         "    CASE WHEN boot = ?1 THEN lease_until_ms - ?2 ELSE -1 END,"
         "    (SELECT count(*) FROM main.cascade_lanes AS l"
         "     WHERE l.engine_id = e.engine_id),"
         "    about, attached_at"
         " FROM main.cascade_engines AS e"
         " ORDER BY engine_id"},
    [CSC_SQLITE_LIST_EXPIRED] =
        {"look for expired incarnations",
         "SELECT engine_id"
         " FROM main.cascade_engines"
         " WHERE (boot <> ?1 OR lease_until_ms <= ?2)" IS_UUID(
             "engine_id") " ORDER BY engine_id"},
    [CSC_SQLITE_DELETE_ENGINE] = {"remove an incarnation",
                                  "DELETE FROM main.cascade_engines"
                                  " WHERE engine_id = ?1"},
    [CSC_SQLITE_DELETE_LANES] = {"remove an incarnation",
                                 "DELETE FROM main.cascade_lanes"
                                 " WHERE engine_id = ?1"},
    [CSC_SQLITE_RELEASE_RUNS] = {"detach",
                                 "UPDATE main.cascade_runs"
                                 " SET engine_id = NULL, wake_at = ?2,"
                                 "    trial = max(trial - 1, 0)"
                                 " WHERE engine_id = ?1"},
    /* The next owner above ?1: one seek for each owner, however many runs it
     * has. */
    [CSC_SQLITE_NEXT_OWNER] =
        {"look for abandoned runs",
         "SELECT r.engine_id,"
         "    EXISTS (SELECT 1 FROM main.cascade_engines AS e"
         "            WHERE e.engine_id = r.engine_id)"
         " FROM main.cascade_runs AS r"
         " WHERE r.engine_id IS NOT NULL AND r.engine_id > ?1" IS_UUID(
             "r.engine_id") " ORDER BY r.engine_id"
                            " LIMIT 1"},
    [CSC_SQLITE_FREE_RUNS] = {"free abandoned runs",
                              "UPDATE main.cascade_runs"
                              " SET engine_id = NULL, wake_at = ?2,"
                              "    takeovers = min(takeovers + 1, 2147483647)"
                              " WHERE cascade_id IN ("
                              "    SELECT cascade_id"
                              "    FROM main.cascade_runs"
                              "    WHERE engine_id = ?1"
                              "    LIMIT ?3)"},

    /* ---- Claiming: see claim.c ---- */
    [CSC_SQLITE_IS_PAUSED] = {"look for paused queues",
                              "SELECT 1"
                              " FROM main.cascade_queues"
                              " WHERE queue = ?1"},
    /* The shelf behind (?2, ?3), by two seeks. A row value comparison would be
     * shorter, but SQLite walks all rows that are equal. */
    [CSC_SQLITE_NEXT_SHELF] =
        {"look for free runs",
         "SELECT * FROM ("
         "    SELECT needs, takeovers"
         "    FROM main.cascade_runs"
         "    WHERE engine_id IS NULL AND queue = ?1 AND needs = ?2"
         "        AND takeovers > ?3" SOUND_TAKEOVERS "    ORDER BY takeovers"
         "    LIMIT 1)"
         " UNION ALL "
         "SELECT * FROM ("
         "    SELECT needs, takeovers"
         "    FROM main.cascade_runs"
         "    WHERE engine_id IS NULL AND queue = ?1 AND needs > ?2" SOUND_NEEDS
             SOUND_TAKEOVERS "    ORDER BY needs, takeovers"
         "    LIMIT 1)"
         " ORDER BY 1, 2"
         " LIMIT 1"},
    [CSC_SQLITE_LIST_SHELF] =
        {"look for free runs",
         "SELECT cascade_id, wake_at, claim_no, trial"
         " FROM main.cascade_runs"
         " WHERE engine_id IS NULL AND queue = ?1 AND needs = ?2"
         "    AND takeovers = ?3 AND priority = ?4 AND wake_at <= ?5" SOUND_RUN
         " ORDER BY wake_at"
         " LIMIT ?6"},
    [CSC_SQLITE_NEXT_WAKE] =
        {"look for free runs",
         "SELECT wake_at"
         " FROM main.cascade_runs"
         " WHERE engine_id IS NULL AND queue = ?1 AND needs = ?2"
         "    AND takeovers = ?3 AND priority = ?4 AND wake_at > ?5" SOUND_RUN
         " ORDER BY wake_at"
         " LIMIT 1"},
    /* ?3: the trial. */
    [CSC_SQLITE_CLAIM_RUN] = {"claim",
                              "UPDATE main.cascade_runs"
                              " SET engine_id = ?2, claim_no = claim_no + 1,"
                              "    needs = '', trial = ?3"
                              " WHERE cascade_id = ?1 AND engine_id IS NULL"},
    /* The next cascade above ?1 that messages name: one seek, however many they
     * are. Its run, if it has one; whether it exists; the kind of the first;
     * whether messages of no id, which are passed over, stand in front. Where
     * there are only such, its id is NULL. */
    [CSC_SQLITE_NEXT_NAMED] =
        {"look for messages",
         "SELECT m.cascade_id, r.wake_at, r.claim_no, r.takeovers,"
         "    r.priority, r.queue, r.engine_id,"
         "    r.cascade_id IS NOT NULL OR EXISTS ("
         "        SELECT 1 FROM main.cascades AS c"
         "        WHERE c.id = m.cascade_id" C_UNMARKED "),"
         "    m.kind, r.trial, m.cascade_id IS NOT f.id"
         " FROM (SELECT ("
         "        SELECT cascade_id"
         "        FROM main.cascade_messages"
         "        WHERE cascade_id > ?1"
         "        ORDER BY cascade_id"
         "        LIMIT 1) AS id) AS f"
         " LEFT JOIN main.cascade_messages AS m ON m.id = ("
         "    SELECT s.id"
         "    FROM main.cascade_messages AS s"
         "    WHERE s.cascade_id > ?1" IS_UUID(
             "s.cascade_id") "    ORDER BY s.cascade_id, s.id"
                             "    LIMIT 1)"
                             " LEFT JOIN main.cascade_runs AS r ON "
                             "r.cascade_id = m.cascade_id"
                             " WHERE f.id IS NOT NULL"},
    /* Of the ?2 rows behind ?1. */
    [CSC_SQLITE_DELETE_UNNAMED] = {"claim",
                                   "DELETE FROM main.cascade_messages"
                                   " WHERE id IN ("
                                   "    SELECT m.id"
                                   "    FROM (SELECT id, cascade_id"
                                   "          FROM main.cascade_messages"
                                   "          WHERE cascade_id > ?1"
                                   "          ORDER BY cascade_id"
                                   "          LIMIT ?2) AS m"
                                   "    WHERE (true" IS_UUID(
                                       "m.cascade_id") ") IS NOT TRUE)"},
    /* If it is still as it was seen: ?3 claim_no, ?4 takeovers, ?5 queue. ?6:
     * the trial. */
    [CSC_SQLITE_CLAIM_NAMED] =
        {"claim", "UPDATE main.cascade_runs"
                  " SET engine_id = ?2, claim_no = claim_no + 1, needs = '',"
                  "    trial = ?6"
                  " WHERE cascade_id = ?1 AND engine_id IS NULL"
                  "    AND claim_no = ?3 AND takeovers = ?4 AND queue = ?5"
                  "    AND EXISTS (SELECT 1 FROM main.cascade_messages"
                  "                WHERE cascade_id = ?1)"},
    /* ?3 queue, ?4 now. */
    [CSC_SQLITE_CLAIM_ENDED] =
        {"claim", "INSERT INTO main.cascade_runs"
                  "    (cascade_id, queue, priority, wake_at, engine_id,"
                  "     claim_no, takeovers, needs)"
                  " SELECT ?1, ?3, 0, ?4, ?2, 1, 0, ''"
                  " WHERE EXISTS (SELECT 1 FROM main.cascades"
                  "               WHERE id = ?1" UNMARKED_1 ")"
                  "    AND EXISTS (SELECT 1 FROM main.cascade_messages"
                  "                WHERE cascade_id = ?1)"
                  " ON CONFLICT (cascade_id) DO NOTHING"},
    /* ?1 cascade that is not there, ?2 how many, ?3 kinds, each between
     * commas: these go, and where nothing leads on all do. */
    [CSC_SQLITE_DELETE_STRAYS] =
        {"delete messages",
         "DELETE FROM main.cascade_messages"
         " WHERE id IN ("
         "    SELECT id"
         "    FROM main.cascade_messages"
         "    WHERE cascade_id = ?1"
         "        AND NOT EXISTS ("
         "            SELECT 1 FROM main.cascades WHERE id = ?1" UNMARKED_1 ")"
         "        AND (instr(?3, ',' || kind || ',') > 0"
         "            OR NOT EXISTS (SELECT 1" LAST_THERE "))"
         "    LIMIT ?2)"},
    /* The same: those that go to its last run. They are replaced, since none
     * has its path twice. */
    [CSC_SQLITE_MOVE_STRAYS] =
        {"send messages on",
         "INSERT OR REPLACE INTO main.cascade_messages"
         "    (cascade_id, kind, name, path, payload, sent_at)"
         " SELECT (SELECT l.next_id" LAST_THERE "), kind, name, path, payload,"
         "    sent_at"
         " FROM main.cascade_messages"
         " WHERE cascade_id = ?1"
         "    AND NOT EXISTS ("
         "        SELECT 1 FROM main.cascades WHERE id = ?1" UNMARKED_1 ")"
         "    AND instr(?3, ',' || kind || ',') = 0"
         "    AND EXISTS (SELECT 1" LAST_THERE ")"
         " ORDER BY id"
         " LIMIT ?2"},

    /* ---- Committing ---- */
    /* The fence: ?3 is the number of this batch. */
    [CSC_SQLITE_ADVANCE_LANE] =
        {"commit", "UPDATE main.cascade_lanes"
                   " SET batch = ?3"
                   " WHERE engine_id = ?1 AND lane = ?2 AND batch = ?3 - 1"},
    [CSC_SQLITE_GET_LANE] = {"commit", "SELECT batch"
                                       " FROM main.cascade_lanes"
                                       " WHERE engine_id = ?1 AND lane = ?2"},
    /* ?3: the number of the batch that is not to come any more. */
    [CSC_SQLITE_SETTLE_LANE] =
        {"settle", "UPDATE main.cascade_lanes"
                   " SET batch = ?3 + 1"
                   " WHERE engine_id = ?1 AND lane = ?2 AND batch = ?3 - 1"},
    [CSC_SQLITE_INSERT_CASCADE] =
        {"insert a cascade",
         "INSERT INTO main.cascades"
         "    (id, status, fn_id, user_id, created_at, updated_at)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
         " ON CONFLICT (id) DO NOTHING"},
    /* The common case: the status stays, so the index need not be touched. */
    [CSC_SQLITE_TOUCH_CASCADE] = {"update a cascade",
                                  "UPDATE main.cascades"
                                  " SET fn_id = ?2, updated_at = ?3"
                                  " WHERE id = ?1 AND status = 'RUNNING'"},
    [CSC_SQLITE_UPDATE_CASCADE] =
        {"update a cascade", "UPDATE main.cascades"
                             " SET status = ?2, fn_id = ?3, updated_at = ?4"
                             " WHERE id = ?1"},
    [CSC_SQLITE_INSERT_EXECUTION] =
        {"insert an execution",
         "INSERT INTO main.node_executions"
         "    (id, cascade_id, function_id, status, node_instance_id,"
         "     node_name, input_context, full_output, location, error,"
         "     started_at, completed_at)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"},
    [CSC_SQLITE_UPDATE_EXECUTION] =
        {"update an execution",
         "UPDATE main.node_executions"
         " SET status = ?3, full_output = ?4, error = ?5, completed_at = ?6"
         " WHERE cascade_id = ?1 AND function_id = ?2 AND status = 'RUNNING'"},
    /* A row when the cascade is there; NULL when it has no execution 0. */
    [CSC_SQLITE_GET_FIRST_EXECUTION] =
        {"look up a cascade", "SELECT e.id"
                              " FROM main.cascades AS c"
                              " LEFT JOIN main.node_executions AS e"
                              "    ON e.cascade_id = c.id AND e.function_id = 0"
                              " WHERE c.id = ?1"},
    [CSC_SQLITE_INSERT_EVENT] =
        {"insert an event",
         "INSERT INTO main.context_events"
         "    (cascade_id, function_id, key, value, ui_value, created_at)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    [CSC_SQLITE_INSERT_RUN] =
        {"insert a run", "INSERT INTO main.cascade_runs"
                         "    (cascade_id, queue, priority, wake_at, engine_id,"
                         "     claim_no, takeovers, needs)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
    [CSC_SQLITE_RESET_RUN] = {"update a run",
                              "UPDATE main.cascade_runs"
                              " SET takeovers = 0, trial = 0"
                              " WHERE cascade_id = ?1 AND engine_id = ?2"},
    [CSC_SQLITE_FREE_RUN] = {"update a run",
                             "UPDATE main.cascade_runs"
                             " SET engine_id = NULL, takeovers = 0, trial = 0,"
                             "    wake_at = ?3, needs = ?4"
                             " WHERE cascade_id = ?1 AND engine_id = ?2"},
    [CSC_SQLITE_REVIVE_RUN] = {"update a run",
                               "UPDATE main.cascade_runs"
                               " SET queue = ?3, priority = ?4, takeovers = 0,"
                               "    trial = 0"
                               " WHERE cascade_id = ?1 AND engine_id = ?2"},
    [CSC_SQLITE_DELETE_RUN] = {"delete a run", "DELETE FROM main.cascade_runs"
                                               " WHERE cascade_id = ?1"},
    [CSC_SQLITE_DELETE_EVENTS] = {"delete a cascade",
                                  "DELETE FROM main.context_events"
                                  " WHERE cascade_id = ?1"},
    [CSC_SQLITE_DELETE_EXECUTIONS] = {"delete a cascade",
                                      "DELETE FROM main.node_executions"
                                      " WHERE cascade_id = ?1"},
    [CSC_SQLITE_DELETE_MESSAGES] = {"delete a cascade",
                                    "DELETE FROM main.cascade_messages"
                                    " WHERE cascade_id = ?1"},
    [CSC_SQLITE_DELETE_CASCADE] = {"delete a cascade",
                                   "DELETE FROM main.cascades"
                                   " WHERE id = ?1"},
    /* The bytes of each row that a piece may take, up to ?2 of them, and as
     * many of the same: see delete.c. */
    [CSC_SQLITE_SIZE_EVENTS] =
        {"delete a cascade", "SELECT length(CAST(value AS BLOB))"
                             "    + ifnull(length(CAST(ui_value AS BLOB)), 0)"
                             " FROM main.context_events"
                             " WHERE cascade_id = ?1"
                             " ORDER BY function_id DESC, id DESC"
                             " LIMIT ?2"},
    [CSC_SQLITE_CUT_EVENTS] = {"delete a cascade",
                               "DELETE FROM main.context_events"
                               " WHERE id IN ("
                               "    SELECT id"
                               "    FROM main.context_events"
                               "    WHERE cascade_id = ?1"
                               "    ORDER BY function_id DESC, id DESC"
                               "    LIMIT ?2)"},
    [CSC_SQLITE_SIZE_EXECUTIONS] =
        {"delete a cascade",
         "SELECT length(CAST(input_context AS BLOB))"
         "    + ifnull(length(CAST(full_output AS BLOB)), 0)"
         "    + ifnull(length(CAST(error AS BLOB)), 0)"
         " FROM main.node_executions"
         " WHERE cascade_id = ?1"
         " ORDER BY function_id DESC"
         " LIMIT ?2"},
    /* ?1 the run, ?2 how many executions are cut. p leads from it to its chain,
     * c. The numbers are those of chain.h: 2147483648 is one run. */
    [CSC_SQLITE_KEEP_RECEIPTS] =
        {"keep what was received",
         "INSERT INTO main.cascade_links (path, root, number)"
         " SELECT n.node_instance_id, p.root, n.function_id + 1"
         "    + iif(p.number < 0, 2147483648, p.number - 2147483648)"
         " FROM main.cascade_links AS p"
         " CROSS JOIN main.cascade_links AS c"
         " CROSS JOIN ("
         "    SELECT function_id, node_instance_id"
         "    FROM main.node_executions"
         "    WHERE cascade_id = ?1"
         "    ORDER BY function_id DESC"
         "    LIMIT ?2) AS n"
         " WHERE p.path = ?1 AND c.path = p.root AND c.next_id <> ?1"
         "    AND substr(n.node_instance_id, 1, 45) = p.root || '/message/'"
         " ON CONFLICT (path) DO NOTHING"},
    /* ?1 the run, ?2 how many to keep */
    [CSC_SQLITE_TRIM_RECEIPTS] = {"trim links",
                                  "DELETE FROM main.cascade_links"
                                  " WHERE root = (" ROOT_OF_1
                                  ") AND number > 0 AND number <= ("
                                  "    SELECT number FROM main.cascade_links"
                                  "    WHERE root = (" ROOT_OF_1
                                  ") AND number > 0"
                                  "    ORDER BY number DESC"
                                  "    LIMIT 1 OFFSET ?2)"},
    [CSC_SQLITE_CUT_EXECUTIONS] = {"delete a cascade",
                                   "DELETE FROM main.node_executions"
                                   " WHERE cascade_id = ?1"
                                   "    AND function_id IN ("
                                   "        SELECT function_id"
                                   "        FROM main.node_executions"
                                   "        WHERE cascade_id = ?1"
                                   "        ORDER BY function_id DESC"
                                   "        LIMIT ?2)"},
    [CSC_SQLITE_SIZE_MESSAGES] = {"delete a cascade",
                                  "SELECT length(CAST(payload AS BLOB))"
                                  " FROM main.cascade_messages"
                                  " WHERE cascade_id = ?1"
                                  " ORDER BY id"
                                  " LIMIT ?2"},
    [CSC_SQLITE_CUT_MESSAGES] = {"delete a cascade",
                                 "DELETE FROM main.cascade_messages"
                                 " WHERE id IN ("
                                 "    SELECT id"
                                 "    FROM main.cascade_messages"
                                 "    WHERE cascade_id = ?1"
                                 "    ORDER BY id"
                                 "    LIMIT ?2)"},
    [CSC_SQLITE_MARK] = {"mark a cascade",
                         "INSERT INTO main.cascade_erasures"
                         "    (cascade_id, engine_id, marked_at)"
                         " VALUES (?1, NULL, ?2)"
                         " ON CONFLICT (cascade_id) DO NOTHING"},
    [CSC_SQLITE_IS_MARKED] = {"look up an erasure",
                              "SELECT 1 FROM main.cascade_erasures"
                              " WHERE cascade_id = ?1"},
    [CSC_SQLITE_ANY_MARKED] = {"look for erasures",
                               "SELECT 1 FROM main.cascade_erasures LIMIT 1"},
    /* ?1 the incarnation that asks, NULL for a caller without. */
    [CSC_SQLITE_NEXT_ERASURE] =
        {"look for erasures",
         "SELECT cascade_id"
         " FROM main.cascade_erasures AS x"
         " WHERE (engine_id IS NULL OR engine_id = ?1"
         "    OR NOT EXISTS (SELECT 1 FROM main.cascade_engines AS e"
         "                   WHERE e.engine_id = x.engine_id))" IS_UUID(
             "cascade_id") " ORDER BY cascade_id"
                           " LIMIT 1"},
    [CSC_SQLITE_CLAIM_ERASURE] = {"claim an erasure",
                                  "UPDATE main.cascade_erasures"
                                  " SET engine_id = ?2"
                                  " WHERE cascade_id = ?1"
                                  "    AND engine_id IS NOT ?2"},
    [CSC_SQLITE_DELETE_ERASURE] = {"delete an erasure",
                                   "DELETE FROM main.cascade_erasures"
                                   " WHERE cascade_id = ?1"},

    /* ---- Seals: see seals.c ---- */
    [CSC_SQLITE_WRITE_SEAL] =
        {"write a seal",
         "INSERT INTO main.cascade_seals (cascade_id, number, seal)"
         " VALUES (?1, ?2, ?3)"
         " ON CONFLICT (cascade_id) DO UPDATE"
         " SET number = excluded.number, seal = excluded.seal"},
    [CSC_SQLITE_DELETE_SEAL] = {"delete a seal",
                                "DELETE FROM main.cascade_seals"
                                " WHERE cascade_id = ?1"},
    [CSC_SQLITE_GET_SEAL] = {"look up a seal", "SELECT cascade_id, number, seal"
                                               " FROM main.cascade_seals"
                                               " WHERE cascade_id = ?1"},
    /* ?1 after, ?2 limit */
    [CSC_SQLITE_LIST_SEALS] = {"list seals", "SELECT cascade_id, number, seal"
                                             " FROM main.cascade_seals"
                                             " WHERE cascade_id > ?1"
                                             " ORDER BY cascade_id"
                                             " LIMIT ?2"},

    /* ---- Messages and keys: see messages.c ---- */
    [CSC_SQLITE_GET_STATUS] = {"look up a cascade",
                               "SELECT status"
                               " FROM main.cascades"
                               " WHERE id = ?1" UNMARKED_1},
    [CSC_SQLITE_INSERT_MESSAGE] = {"insert a message",
                                   "INSERT INTO main.cascade_messages"
                                   "    (cascade_id, kind, name, path, payload,"
                                   "     sent_at, seal)"
                                   " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
                                   " WHERE NOT EXISTS ("
                                   "    SELECT 1 FROM main.node_executions"
                                   "    WHERE node_instance_id = ?4)"
                                   " AND NOT EXISTS ("
                                   "    SELECT 1 FROM main.cascade_links"
                                   "    WHERE path = ?4)"
                                   " ON CONFLICT (path) DO NOTHING"},
    [CSC_SQLITE_DELETE_MESSAGE] = {"delete a message",
                                   "DELETE FROM main.cascade_messages"
                                   " WHERE id = ?1 AND cascade_id = ?2"},
    /* ?2 whom it is for: what is marked gets nothing, not even that it has
     * had it. */
    [CSC_SQLITE_FIND_PATH] = {"look up a path",
                              "SELECT 1 FROM main.cascade_messages"
                              " WHERE path = ?1" UNMARKED_2 " UNION ALL "
                              "SELECT 1 FROM main.node_executions"
                              " WHERE node_instance_id = ?1" UNMARKED_2
                              " UNION ALL "
                              "SELECT 1 FROM main.cascade_links"
                              " WHERE path = ?1" UNMARKED_2},
    [CSC_SQLITE_LOCATE_PATH] =
        {"find a path",
         "SELECT cascade_id, NULL, NULL FROM main.cascade_messages"
         " WHERE path = ?1" OWN_UNMARKED " UNION ALL "
         "SELECT cascade_id, NULL, NULL FROM main.node_executions"
         " WHERE node_instance_id = ?1" OWN_UNMARKED " UNION ALL "
         "SELECT c.next_id, l.root, c.run_number"
         " FROM main.cascade_links AS l"
         " JOIN main.cascade_links AS c ON c.path = l.root"
         " WHERE l.path = ?1"
         /* Of a marked run: what is there came first. */
         " UNION ALL "
         "SELECT c.next_id, p.root, c.run_number"
         " FROM main.node_executions AS n"
         " JOIN main.cascade_links AS p ON p.path = n.cascade_id"
         " JOIN main.cascade_links AS c ON c.path = p.root"
         " WHERE n.node_instance_id = ?1 AND c.next_id <> n.cascade_id"
         "    AND substr(?1, 1, 45) = p.root || '/message/'"},
    /* ?1 root, ?2 next, ?3 the number of the run that is linked. What the
     * indexes are made of never changes. */
    [CSC_SQLITE_LINK_CHAIN] =
        {"link runs",
         "INSERT INTO main.cascade_links"
         "    (path, root, next_id, number, run_number)"
         " VALUES (?1, ?1, ?2, -1, ?3)"
         " ON CONFLICT (path) DO UPDATE"
         " SET next_id = excluded.next_id, run_number = excluded.run_number"
         " WHERE excluded.run_number > coalesce(cascade_links.run_number, 0)"},
    /* ?1 path, ?2 root, ?3 its place */
    [CSC_SQLITE_LINK_PATH] =
        {"link a path", "INSERT INTO main.cascade_links (path, root, number)"
                        " VALUES (?1, ?2, ?3)"
                        " ON CONFLICT (path) DO NOTHING"},
    /* ?1 root, ?2 how many to keep */
    [CSC_SQLITE_TRIM_LINKS] = {"trim links",
                               "DELETE FROM main.cascade_links"
                               " WHERE root = ?1 AND number > 0 AND number <= ("
                               "    SELECT number FROM main.cascade_links"
                               "    WHERE root = ?1 AND number > 0"
                               "    ORDER BY number DESC"
                               "    LIMIT 1 OFFSET ?2)"},
    /* ?1 above, ?2 up to, ?3 how many: whether the last run of each is gone */
    [CSC_SQLITE_FIND_GONE] = {"find links",
                              "SELECT root, NOT EXISTS ("
                              "    SELECT 1 FROM main.cascades AS c"
                              "    WHERE c.id = l.next_id" C_UNMARKED ")"
                              " FROM main.cascade_links AS l"
                              " WHERE number < 0 AND root > ?1 AND root <= ?2"
                              " ORDER BY root"
                              " LIMIT ?3"},
    /* ?1 root, ?2 how many */
    [CSC_SQLITE_SWEEP_PATHS] = {"sweep links",
                                "DELETE FROM main.cascade_links"
                                " WHERE path IN ("
                                "    SELECT path FROM main.cascade_links"
                                "    WHERE root = ?1 AND number > 0"
                                "    ORDER BY number"
                                "    LIMIT ?2)"},
    /* ?1 root */
    [CSC_SQLITE_SWEEP_ROOT] = {"sweep a root", "DELETE FROM main.cascade_links"
                                               " WHERE path = ?1"},
    /* ---- Strays: see strays.c ---- */
    [CSC_SQLITE_STRAY_EXECUTIONS] = {"look for strays",
                                     STRAYS("node_executions", "cascade_id",
                                            NO_CASCADE)},
    [CSC_SQLITE_STRAY_EVENTS] = {"look for strays",
                                 STRAYS("context_events", "cascade_id",
                                        NO_CASCADE)},
    [CSC_SQLITE_STRAY_RUNS] = {"look for strays",
                               STRAYS("cascade_runs", "cascade_id",
                                      NO_CASCADE)},
    /* ?3: sent before that. */
    [CSC_SQLITE_STRAY_MESSAGES] = {"look for strays",
                                   STRAYS("cascade_messages", "cascade_id",
                                          NO_CASCADE
                                          " AND (SELECT m.sent_at"
                                          "    FROM main.cascade_messages AS m"
                                          "    WHERE m.cascade_id = ids.id"
                                          "    ORDER BY m.id"
                                          "    LIMIT 1) < ?3")},
    [CSC_SQLITE_STRAY_ERASURES] = {"look for strays",
                                   STRAYS("cascade_erasures", "cascade_id",
                                          NO_CASCADE)},
    [CSC_SQLITE_STRAY_LANES] =
        {"look for strays",
         STRAYS("cascade_lanes", "engine_id",
                "NOT EXISTS (SELECT 1 FROM main.cascade_engines AS e"
                "            WHERE e.engine_id = ids.id)")},
    [CSC_SQLITE_STRAY_ENGINES] =
        {"look for strays",
         STRAYS("cascade_engines", "engine_id",
                "NOT EXISTS (SELECT 1 FROM main.cascade_lanes AS l"
                "            WHERE l.engine_id = ids.id AND l.lane = 0)")},
    [CSC_SQLITE_GET_KEY] = {"look up a key",
                            "SELECT run_number"
                            " FROM main.cascade_keys"
                            " WHERE user_id = ?1 AND key = ?2"},
    [CSC_SQLITE_SET_KEY] =
        {"write a key",
         "INSERT INTO main.cascade_keys (user_id, key, run_number)"
         " VALUES (?1, ?2, ?3)"
         " ON CONFLICT (user_id, key) DO UPDATE"
         " SET run_number = excluded.run_number"},

    /* ---- Reading: see read.c ---- */
    [CSC_SQLITE_LOAD_CASCADES] =
        {"read cascades",
         "SELECT id, status, fn_id, user_id, created_at, updated_at"
         " FROM main.cascades"
         " WHERE id >= ?1 AND id <= ?2"
         " ORDER BY id"},
    [CSC_SQLITE_LOAD_SEALS] = {"read seals",
                               "SELECT cascade_id, number, seal"
                               " FROM main.cascade_seals AS s"
                               " WHERE cascade_id >= ?1 AND cascade_id <= ?2"
                               "    AND EXISTS (SELECT 1"
                               "                FROM main.cascades AS c"
                               "                WHERE c.id = s.cascade_id)"
                               " ORDER BY cascade_id"},
    [CSC_SQLITE_LOAD_EXECUTIONS] =
        {"read executions",
         "SELECT id, cascade_id, function_id, status, node_instance_id,"
         "    node_name, input_context, full_output, location, error,"
         "    started_at, completed_at"
         " FROM main.node_executions"
         " WHERE cascade_id >= ?1 AND cascade_id <= ?2"
         " ORDER BY cascade_id, function_id"},
    /* ?1 cascade, ?2 children at most */
    [CSC_SQLITE_LOAD_FAMILY] =
        {"read executions",
         "SELECT id, cascade_id, function_id, status, node_instance_id,"
         "    node_name, input_context, full_output, location, error,"
         "    started_at, completed_at"
         " FROM main.node_executions"
         " WHERE cascade_id = ?1 AND function_id = 0"
         " UNION ALL "
         "SELECT *"
         " FROM (SELECT id, cascade_id, function_id, status, node_instance_id,"
         "           node_name, input_context, full_output, location, error,"
         "           started_at, completed_at"
         "       FROM main.node_executions"
         "       WHERE cascade_id = ?1 AND status = 'RUNNING'"
         "          AND function_id > 0" IS_CHILD "       ORDER BY function_id"
         "       LIMIT ?2)"
         " ORDER BY 3"},
    [CSC_SQLITE_LOAD_EVENTS] =
        {"read events",
         "SELECT id, cascade_id, function_id, key, value, ui_value, created_at"
         " FROM main.context_events"
         " WHERE cascade_id >= ?1 AND cascade_id <= ?2"
         " ORDER BY cascade_id, function_id, id"},
    [CSC_SQLITE_LOAD_MESSAGES] =
        {"read messages",
         "SELECT id, cascade_id, kind, name, path, payload, sent_at,"
         "    EXISTS (SELECT 1 FROM main.node_executions AS e"
         "            WHERE e.node_instance_id = m.path)"
         "    OR EXISTS (SELECT 1 FROM main.cascade_links AS l"
         "               WHERE l.path = m.path),"
         "    seal"
         " FROM main.cascade_messages AS m"
         " WHERE cascade_id >= ?1 AND cascade_id <= ?2"
         "    AND EXISTS (SELECT 1 FROM main.cascades AS c"
         "                WHERE c.id = m.cascade_id)"
         " ORDER BY cascade_id, id"},
    /* ?1 cascade, ?2 how many of its last. */
    [CSC_SQLITE_LOAD_ENDS] =
        {"read messages",
         "SELECT id, cascade_id, kind, name, path, payload, sent_at,"
         "    EXISTS (SELECT 1 FROM main.node_executions AS e"
         "            WHERE e.node_instance_id = m.path)"
         "    OR EXISTS (SELECT 1 FROM main.cascade_links AS l"
         "               WHERE l.path = m.path)"
         " FROM (SELECT *"
         "       FROM main.cascade_messages"
         "       WHERE cascade_id = ?1"
         "       ORDER BY id DESC"
         "       LIMIT ?2) AS m"
         " WHERE kind IN ('delete', 'family')"
         " ORDER BY id"},
    /* ?1 cascade, ?2 limit. */
    [CSC_SQLITE_RECEIVE_MESSAGES] =
        {"read messages",
         "SELECT id, cascade_id, kind, name, path, payload, sent_at,"
         "    EXISTS (SELECT 1 FROM main.node_executions AS e"
         "            WHERE e.node_instance_id = m.path)"
         "    OR EXISTS (SELECT 1 FROM main.cascade_links AS l"
         "               WHERE l.path = m.path),"
         "    seal"
         " FROM main.cascade_messages AS m"
         " WHERE cascade_id = ?1"
         " ORDER BY id"
         " LIMIT ?2"},

    /* ---- Pages: see scan.c ---- */
    /* ?1 after, ?2: 1 for those that are RUNNING, else 0, ?3 limit. */
    [CSC_SQLITE_SCAN_ALL] =
        {"read executions",
         "SELECT id, cascade_id, function_id, status, node_instance_id,"
         "    node_name, input_context, full_output, location, error,"
         "    started_at, completed_at"
         " FROM main.node_executions"
         " WHERE id > ?1 AND (?2 = 0 OR status = 'RUNNING')" NODE_UNMARKED
         " ORDER BY id"
         " LIMIT ?3"},
    /* ?1 cascade, ?2 from, ?3: 1 for those that are RUNNING, else 0, ?4 limit.
     */
    [CSC_SQLITE_SCAN_EXECUTIONS] =
        {"read executions",
         "SELECT id, cascade_id, function_id, status, node_instance_id,"
         "    node_name, input_context, full_output, location, error,"
         "    started_at, completed_at"
         " FROM main.node_executions"
         " WHERE cascade_id = ?1 AND function_id >= ?2"
         "    AND (?3 = 0 OR status = 'RUNNING')"
         " ORDER BY function_id"
         " LIMIT ?4"},
    /* ?1 cascade, ?2 from, ?3 limit */
    [CSC_SQLITE_SCAN_CHILDREN] =
        {"read executions",
         "SELECT id, cascade_id, function_id, status, node_instance_id,"
         "    node_name, input_context, full_output, location, error,"
         "    started_at, completed_at"
         " FROM main.node_executions"
         " WHERE cascade_id = ?1 AND status = 'RUNNING'"
         "    AND function_id >= ?2" IS_CHILD " ORDER BY function_id"
         " LIMIT ?3"},
    /* ?1 cascade, ?2 from, ?3 after, ?4 limit: the rest of one execution's.
     * Behind them come those of the following executions. One statement with a
     * row value would walk the first part from its beginning. */
    [CSC_SQLITE_SCAN_EVENTS] =
        {"read events",
         "SELECT id, cascade_id, function_id, key, value, ui_value, created_at"
         " FROM main.context_events"
         " WHERE cascade_id = ?1 AND function_id = ?2 AND id > ?3"
         " ORDER BY id"
         " LIMIT ?4"},
    [CSC_SQLITE_SCAN_EVENTS_BEHIND] =
        {"read events",
         "SELECT id, cascade_id, function_id, key, value, ui_value, created_at"
         " FROM main.context_events"
         " WHERE cascade_id = ?1 AND function_id > ?2"
         " ORDER BY function_id, id"
         " LIMIT ?3"},

    /* ---- Managing: see repair.c ---- */
    /* ?2 now, ?3 about. */
    [CSC_SQLITE_PAUSE_QUEUE] =
        {"pause a queue",
         "INSERT INTO main.cascade_queues (queue, paused_at, about)"
         " VALUES (?1, ?2, ?3)"
         " ON CONFLICT (queue) DO NOTHING"},
    [CSC_SQLITE_RESUME_QUEUE] = {"resume a queue",
                                 "DELETE FROM main.cascade_queues"
                                 " WHERE queue = ?1"},
    /* ?1 now. The free runs in the order of their index, where nothing has to
     * be sorted; those that are owned are few. */
    [CSC_SQLITE_LIST_QUEUES] =
        {"list the queues",
         "SELECT u.queue, q.paused_at, ifnull(q.about, '{}'),"
         "    sum(owned), sum(due), sum(later), sum(needing), min(due_since)"
         " FROM ("
         "    SELECT queue, 0 AS owned,"
         "        count(*) FILTER (WHERE needs = '' AND wake_at <= ?1) AS due,"
         "        count(*) FILTER (WHERE needs = '' AND wake_at > ?1) AS later,"
         "        count(*) FILTER (WHERE needs <> '') AS needing,"
         "        min(wake_at) FILTER (WHERE needs = '' AND wake_at <= ?1)"
         "            AS due_since"
         "    FROM main.cascade_runs"
         "    WHERE engine_id IS NULL"
         "    GROUP BY queue"
         "    UNION ALL "
         "    SELECT queue, count(*), 0, 0, 0, NULL"
         "    FROM main.cascade_runs"
         "    WHERE engine_id IS NOT NULL"
         "    GROUP BY queue"
         "    UNION ALL "
         "    SELECT queue, 0, 0, 0, 0, NULL"
         "    FROM main.cascade_queues) AS u"
         " LEFT JOIN main.cascade_queues AS q ON q.queue = u.queue"
         " GROUP BY u.queue"
         " ORDER BY u.queue"},
    [CSC_SQLITE_COUNT_ALL] =
        {"count the cascades",
         "SELECT" COUNT_RUNNING COUNT_COMPLETED COUNT_ERROR
         "    (SELECT count(*) FROM main.cascade_messages),"
         "    (SELECT count(*) FROM main.cascade_erasures)"
         " FROM main.cascades"},
    /* If it is still as it was read: ?2 status, ?3 fn_id. */
    [CSC_SQLITE_REPAIR_CASCADE] =
        {"repair a cascade",
         "UPDATE main.cascades"
         " SET status = ?4, fn_id = ?5"
         " WHERE id = ?1 AND status = ?2 AND fn_id = ?3"
         "    AND NOT EXISTS (SELECT 1 FROM main.cascade_runs"
         "                    WHERE cascade_id = ?1)" UNMARKED_1},
    /* Of the user of cascade ?1. */
    [CSC_SQLITE_RAISE_KEY] =
        {"write a key",
         "INSERT INTO main.cascade_keys (user_id, key, run_number)"
         " SELECT user_id, ?2, ?3"
         " FROM main.cascades"
         " WHERE id = ?1"
         " ON CONFLICT (user_id, key) DO UPDATE"
         " SET run_number = max(run_number, excluded.run_number)"},
    /* One that nothing is left to be done for. */
    [CSC_SQLITE_GET_SPENT] =
        {"look up a cascade",
         "SELECT id, status, fn_id, user_id, created_at, updated_at"
         " FROM main.cascades"
         " WHERE id = ?1 AND status <> 'RUNNING'"
         "    AND NOT EXISTS (SELECT 1 FROM main.cascade_runs"
         "                    WHERE cascade_id = ?1)"
         "    AND NOT EXISTS (SELECT 1 FROM main.cascade_messages"
         "                    WHERE cascade_id = ?1)" UNMARKED_1},

    /* ---- The schema ---- */
    [CSC_SQLITE_LIST_APPLIED_AT] = {"read cascade_schema",
                                    "SELECT number, applied_at"
                                    " FROM main.cascade_schema"},
    [CSC_SQLITE_LIST_APPLIED] = {"read cascade_schema",
                                 "SELECT number, name, checksum"
                                 " FROM main.cascade_schema"
                                 " ORDER BY number"},
    /* The file has inserted the row. ?3: when, or NULL: as it says. */
    [CSC_SQLITE_RECORD_APPLIED] =
        {"write cascade_schema",
         "UPDATE main.cascade_schema"
         " SET checksum = ?2, applied_at = ifnull(?3, applied_at)"
         " WHERE number = ?1"},
    /* What has the name of table ?1: trust.c. */
    [CSC_SQLITE_FIND_TABLE] = {"read the schema",
                               "SELECT type, sql"
                               " FROM main.sqlite_schema"
                               " WHERE name = ?1 COLLATE NOCASE"},
    [CSC_SQLITE_FIND_GENERATED] = {"read the columns of a table",
                                   "SELECT 1"
                                   " FROM pragma_table_xinfo(?1, 'main')"
                                   " WHERE hidden <> 0"},
    [CSC_SQLITE_FIND_TRIGGER] =
        {"read the schema",
         "SELECT 1"
         " FROM main.sqlite_schema"
         " WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE"},
    [CSC_SQLITE_FIND_COMPUTED] =
        {"read the indexes of a table",
         "SELECT 1"
         " FROM pragma_index_list(?1, 'main') AS i"
         " JOIN pragma_index_xinfo(i.name, 'main') AS x"
         " WHERE x.cid = -2"},
    [CSC_SQLITE_LIST_INDEXES] =
        {"read the schema",
         "SELECT sql"
         " FROM main.sqlite_schema"
         " WHERE type = 'index' AND tbl_name = ?1 COLLATE NOCASE"},
    [CSC_SQLITE_LIST_COLUMNS] =
        {"read the columns of a table",
         "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk"
         " FROM pragma_table_info(?1, 'main')"},
    /* Whether table ?1, if it is there, has a unique index over the columns ?2
     * (in the order of their names, with commas) that covers all rows. */
    [CSC_SQLITE_FIND_UNIQUE] =
        {"read the indexes of a table",
         "SELECT 1"
         " WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(?1, 'main'))"
         "    OR EXISTS ("
         "        SELECT 1"
         "        FROM pragma_index_list(?1, 'main') AS i"
         "        WHERE i.\"unique\" AND NOT i.partial"
         "            AND ?2 = (SELECT group_concat(name, ',')"
         "                      FROM (SELECT name"
         "                            FROM pragma_index_info(i.name, 'main')"
         "                            ORDER BY name)))"},
    [CSC_SQLITE_FIND_SHADOW] =
        {"read the temporary schema",
         "SELECT 1"
         " FROM temp.sqlite_schema"
         " WHERE name IN ('cascades', 'node_executions', 'context_events',"
         "    'cascade_runs', 'cascade_engines', 'cascade_lanes',"
         "    'cascade_messages', 'cascade_keys', 'cascade_queues',"
         "    'cascade_erasures', 'cascade_links', 'cascade_seals',"
         "    'cascade_schema')"
         " LIMIT 1"},
};
