/* SPDX-License-Identifier: MIT
 *
 * Every statement that the PostgreSQL store sends in its daily work, built once
 * when a store is opened: '@' stands for the quoted schema with its dot, '#'
 * for the channel of LISTEN. Nothing else is ever put into a text. Those of
 * starts are in sql_start.c, those of a claim in
 * sql_claim.c, those of who looks after what is stored in
 * sql_manage.c, and those that delete whole cascades in
 * sql_delete.c.
 *
 * Rules they keep, so that they also work on a PostgreSQL distributed by
 * cascade_id and behind a pooler:
 *   - tables are reached by cascade_id (or engine_id, for the small ones);
 *   - no volatile function in WHERE, nor in the SET of an UPDATE: now(), the
 *     start of the transaction, is the clock there. It lags a little, so
 *     nothing is due too early and no lease expires too early;
 *   - no FOR UPDATE SKIP LOCKED;
 *   - every table is named with its schema, and the types of ours. What else is
 *     named is PostgreSQL's own, since no statement is ever read under another
 *     search_path than `pg_catalog, pg_temp`: who may create in a schema that a
 *     role or database has in its search_path could else make an operator
 *     that fits better than PostgreSQL's (bigint = integer, or an enum = text),
 *     and it would run with our rights. SETTINGS and PATH set it, so these
 *     two, and what is said before them, leave no name to it;
 *   - a commit locks its lane first, then rows that it owns alone, so commits
 *     cannot deadlock with one another; for messages see commit.c.
 * The table of messages itself cannot be distributed: a path is unique over all
 * cascades.
 *
 * PLANS. A statement is planned once for a connection, without looking at its
 * parameters, and the plan is kept. It was made for tables that may have been
 * tiny, and must be right when they are large: one look-up in an index for each
 * row that is named. The settings leave the planner no other way to join, but
 * they cannot say which side comes first, and for a tiny table it likes to go
 * through all of it in the order of its index. `x = ANY (ARRAY[y])` instead of
 * `x = y` takes that away: it says nothing that an order would help with, so
 * all that is left is to look x up for each y.
 *
 * A statement that must have met a row raises where it has not: 1 / 0 is
 * SQLSTATE 22012, and since no payload of ours is ever divided, the place in
 * the exchange tells what it means. Merely finding nothing would not stop the
 * transaction.
 */
#include "store/postgres/sql.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/postgres/internal.h"

/* $1 cascades */
#define DELETE_ALL(table, column)          \
    "DELETE FROM @" table " AS r\n"        \
    "USING unnest($1::uuid[]) AS g (id)\n" \
    "WHERE r." column " = ANY (ARRAY[g.id])"

/* $1-$7 messages, in the order of their ids to be; those of one statement go in
 * in the order of their paths, so that two that bring the same ones wait for
 * each other in one order only. Ids are given before that. */
#define GIVEN_MESSAGES(arrays, columns)                               \
    "WITH given AS MATERIALIZED (\n"                                  \
    "  SELECT nextval((SELECT pg_get_serial_sequence(\n"              \
    "      '@cascade_messages', 'id')::regclass)) AS id, g.*\n"       \
    "  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[],\n" \
    "      $5::text[], $6::int8[], $7::text[]" arrays ")\n"           \
    "    AS g (cascade_id, kind, name, path, payload, sent_at,\n"     \
    "      seal" columns "))"

#define INSERT_MESSAGES(condition)                                           \
    "INSERT INTO @cascade_messages\n"                                        \
    "  (id, cascade_id, kind, name, path, payload, sent_at, seal)\n"         \
    "SELECT g.id, g.cascade_id, g.kind, g.name, g.path, g.payload::jsonb,\n" \
    "  g.sent_at, g.seal\n"                                                  \
    "FROM given AS g\n"                                                      \
    "WHERE (SELECT true FROM @node_executions AS n\n"                        \
    "    WHERE n.node_instance_id = g.path) IS NULL\n"                       \
    "  AND (SELECT true FROM @cascade_links AS l\n"                          \
    "    WHERE l.path = g.path) IS NULL\n" condition                         \
    "ORDER BY g.path COLLATE \"C\", g.id\n"                                  \
    "ON CONFLICT (path) DO NOTHING"

/* Of a submit. */
#define SUBMITTED_MESSAGES GIVEN_MESSAGES("", "")
#define INSERT_SUBMITTED                                       \
    INSERT_MESSAGES("  AND (SELECT true FROM @cascades AS c\n" \
                    "    WHERE c.id = g.cascade_id\n"          \
                    "      AND " C_UNMARKED ")\n")

/* A message as it is read, and whether it was received before. */
#define MESSAGE_COLUMNS                                                     \
    "SELECT m.id, m.cascade_id, m.kind, m.name, m.path, m.payload::text,\n" \
    "  m.sent_at, (SELECT true FROM @node_executions AS n\n"                \
    "    WHERE n.node_instance_id = m.path) IS TRUE\n"                      \
    "  OR (SELECT true FROM @cascade_links AS l\n"                          \
    "    WHERE l.path = m.path) IS TRUE, m.seal\n"

#define N_UNMARKED UNMARKED("n.cascade_id")
#define M_UNMARKED UNMARKED("m.cascade_id")

/* What of $1 is not marked: S40. */
#define THOSE_THERE                           \
    "ARRAY(\n"                                \
    "    SELECT u.id\n"                       \
    "    FROM unnest($1::uuid[]) AS u (id)\n" \
    "    WHERE " UNMARKED("u.id") ")"

/* What names of types, functions and operators mean in all other statements: a
 * search_path without pg_temp would begin with that. */
#define PATH "pg_catalog, pg_temp"

static const char *const templates[CSC_POSTGRES_STATEMENTS] = {
    [CSC_POSTGRES_BEGIN] = "BEGIN ISOLATION LEVEL READ COMMITTED",

    [CSC_POSTGRES_BEGIN_READ] =
        "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",

    [CSC_POSTGRES_COMMIT] = "COMMIT",

    [CSC_POSTGRES_ROLLBACK] = "ROLLBACK",

    /* $1 until the end of the transaction only, $2 synchronous_commit, $3
     * lock_timeout, $4 statement_timeout, $5 idle in transaction.
     *
     * It is said under whatever search_path there is, so no name in it is left
     * to that.
     *
     * The planner's settings: every prepared statement is a look-up by key, but
     * a plan that was made while the tables were small, and is kept, would go
     * on reading them from end to end as they grow.
     *
     * The keepalives: a backend whose client the network has cut off in
     * mid-batch holds its lane until the server notices. Not behind a pooler,
     * whose connection it is. */
    [CSC_POSTGRES_SETTINGS] =
        "SELECT pg_catalog.count(pg_catalog.set_config(s.name, s.value,\n"
        "    $1::pg_catalog.bool))\n"
        "FROM (VALUES\n"
        "    ('search_path', '" PATH "'),\n"
        "    ('synchronous_commit', CASE\n"
        "      WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) 'on'\n"
        "        AND pg_catalog.current_setting('synchronous_commit')\n"
        "          OPERATOR(pg_catalog.=) 'remote_apply'\n"
        "      THEN 'remote_apply'\n"
        "      ELSE $2::pg_catalog.text END),\n"
        "    ('lock_timeout', $3::pg_catalog.text),\n"
        "    ('statement_timeout', $4::pg_catalog.text),\n"
        "    ('idle_in_transaction_session_timeout', $5::pg_catalog.text),\n"
        "    ('default_transaction_isolation', 'read committed'),\n"
        "    ('client_min_messages', 'warning'),\n"
        "    ('plan_cache_mode', 'force_generic_plan'),\n"
        "    ('enable_nestloop', 'on'),\n"
        "    ('enable_indexscan', 'on'),\n"
        "    ('enable_seqscan', 'off'),\n"
        "    ('enable_bitmapscan', 'off'),\n"
        "    ('enable_hashjoin', 'off'),\n"
        "    ('enable_mergejoin', 'off'),\n"
        "    ('enable_material', 'off'),\n"
        "    ('jit', 'off'),\n"
        "    ('tcp_keepalives_idle', CASE WHEN $1::pg_catalog.bool\n"
        "      THEN pg_catalog.current_setting('tcp_keepalives_idle')\n"
        "      ELSE '5' END),\n"
        "    ('tcp_keepalives_interval', CASE WHEN $1::pg_catalog.bool\n"
        "      THEN pg_catalog.current_setting('tcp_keepalives_interval')\n"
        "      ELSE '2' END),\n"
        "    ('tcp_keepalives_count', CASE WHEN $1::pg_catalog.bool\n"
        "      THEN pg_catalog.current_setting('tcp_keepalives_count')\n"
        "      ELSE '3' END)) AS s (name, value)",

    /* Until the end of the transaction, or of the exchange without one. */
    [CSC_POSTGRES_PATH] =
        "SELECT pg_catalog.set_config('search_path', '" PATH "', true)",

    [CSC_POSTGRES_NOW] = "SELECT " CLOCK_MS,

    [CSC_POSTGRES_SEQUENCE] =
        "SELECT pg_get_serial_sequence('@context_events', 'id')",

    /* ---- commit ---- */

    /* $1 engine, $2 lane, $3 number */
    [CSC_POSTGRES_FENCE] = "WITH moved AS (\n"
                           "  UPDATE @cascade_lanes\n"
                           "  SET batch = $3::int8\n"
                           "  WHERE engine_id = $1::uuid\n"
                           "    AND lane = $2::int4\n"
                           "    AND batch = $3::int8 - 1\n"
                           "  RETURNING 1)\n"
                           "SELECT 1 / count(*) FROM moved",

    /* $1-$12 as the last twelve of a start */
    [CSC_POSTGRES_INSERT_EXECUTIONS] =
        "INSERT INTO @node_executions\n"
        "  (id, cascade_id, function_id, status, node_instance_id,\n"
        "   node_name, input_context, full_output, location, error,\n"
        "   started_at, completed_at)\n"
        "SELECT g.id, g.cascade_id, g.function_id,\n"
        "  g.status::@execution_status, g.path, g.node_name,\n"
        "  g.input::jsonb, g.full_output::jsonb, g.location, g.error,\n"
        "  g.started_at, g.completed_at\n"
        "FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[],\n"
        "    $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],\n"
        "    $10::text[], $11::timestamp[], $12::timestamp[])\n"
        "  AS g (id, cascade_id, function_id, status, path, node_name,\n"
        "    input, full_output, location, error, started_at, completed_at)",

    /* $1-$6 rows, $7 how many must be met */
    [CSC_POSTGRES_UPDATE_EXECUTIONS] =
        "WITH met AS (\n"
        "  UPDATE @node_executions AS n\n"
        "  SET status = g.status::@execution_status,\n"
        "    full_output = g.full_output::jsonb,\n"
        "    error = g.error,\n"
        "    completed_at = g.completed_at\n"
        "  FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[],\n"
        "      $5::text[], $6::timestamp[])\n"
        "    AS g (cascade_id, function_id, status, full_output, error,\n"
        "      completed_at)\n"
        "  WHERE n.cascade_id = ANY (ARRAY[g.cascade_id])\n"
        "    AND n.function_id = g.function_id\n"
        "    AND n.status = 'RUNNING'\n"
        "  RETURNING 1)\n"
        "SELECT 1 / (count(*) = $7::int8)::int4 FROM met",

    /* $1-$6 rows, $7 the sequence; rows get their ids in the order of the
     * arrays */
    [CSC_POSTGRES_INSERT_EVENTS] =
        "INSERT INTO @context_events\n"
        "  (id, cascade_id, function_id, key, value, ui_value, created_at)\n"
        "SELECT nextval($7::regclass), g.cascade_id, g.function_id, g.key,\n"
        "  g.value::jsonb, g.ui_value::jsonb, g.created_at\n"
        "FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[],\n"
        "    $5::text[], $6::timestamp[])\n"
        "  AS g (cascade_id, function_id, key, value, ui_value, created_at)",

    /* $1-$4 rows, $5 how many must be met */
    [CSC_POSTGRES_UPDATE_CASCADES] =
        "WITH met AS (\n"
        "  UPDATE @cascades AS c\n"
        "  SET status = g.status::@cascade_status,\n"
        "    fn_id = g.fn_id,\n"
        "    updated_at = g.updated_at\n"
        "  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::timestamp[])\n"
        "    AS g (id, status, fn_id, updated_at)\n"
        "  WHERE c.id = ANY (ARRAY[g.id])\n"
        "  RETURNING 1)\n"
        "SELECT 1 / (count(*) = $5::int8)::int4 FROM met",

    /* $1 ids, $2 engine, $3 how many must be met. IS NOT DISTINCT FROM, because
     * no index can answer it: the planner might go through all the runs of the
     * engine for a few of them. */
    [CSC_POSTGRES_RESET_RUNS] =
        "WITH met AS (\n"
        "  UPDATE @cascade_runs AS r\n"
        "  SET takeovers = 0,\n"
        "    trial = 0\n"
        "  FROM unnest($1::uuid[]) AS g (cascade_id)\n"
        "  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])\n"
        "    AND r.engine_id IS NOT DISTINCT FROM $2::uuid\n"
        "  RETURNING 1)\n"
        "SELECT 1 / (count(*) = $3::int8)::int4 FROM met",

    /* $1-$3 rows, $4 engine, $5 how many must be met */
    [CSC_POSTGRES_FREE_RUNS] =
        "WITH met AS (\n"
        "  UPDATE @cascade_runs AS r\n"
        "  SET engine_id = NULL,\n"
        "    wake_at = g.wake_at,\n"
        "    needs = g.needs,\n"
        "    takeovers = 0,\n"
        "    trial = 0\n"
        "  FROM unnest($1::uuid[], $2::int8[], $3::text[])\n"
        "    AS g (cascade_id, wake_at, needs)\n"
        "  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])\n"
        "    AND r.engine_id IS NOT DISTINCT FROM $4::uuid\n"
        "  RETURNING 1)\n"
        "SELECT 1 / (count(*) = $5::int8)::int4 FROM met",

    /* $1-$3 rows, $4 engine, $5 how many must be met */
    [CSC_POSTGRES_REVIVE_RUNS] =
        "WITH met AS (\n"
        "  UPDATE @cascade_runs AS r\n"
        "  SET queue = g.queue,\n"
        "    priority = g.priority,\n"
        "    takeovers = 0,\n"
        "    trial = 0\n"
        "  FROM unnest($1::uuid[], $2::text[], $3::int4[])\n"
        "    AS g (cascade_id, queue, priority)\n"
        "  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])\n"
        "    AND r.engine_id IS NOT DISTINCT FROM $4::uuid\n"
        "  RETURNING 1)\n"
        "SELECT 1 / (count(*) = $5::int8)::int4 FROM met",

    /* $1 ids */
    [CSC_POSTGRES_END_RUNS] = DELETE_ALL("cascade_runs", "cascade_id"),

    /* $1 ids, $2 the cascades that received them */
    [CSC_POSTGRES_DELETE_RECEIVED] =
        "DELETE FROM @cascade_messages AS m\n"
        "USING unnest($1::int8[], $2::uuid[]) AS g (id, cascade_id)\n"
        "WHERE m.id = ANY (ARRAY[g.id])\n"
        "  AND m.cascade_id IS NOT DISTINCT FROM g.cascade_id",

    /* $1-$7 messages, $8 of those of a start its execution 0: who finds it
     * there has made it, now or in an earlier try */
    [CSC_POSTGRES_INSERT_SENDS] =
        GIVEN_MESSAGES(", $8::uuid[]", ", first_id") "\n" INSERT_MESSAGES(
            "  AND (g.first_id IS NULL\n"
            "    OR (SELECT true FROM @node_executions AS n\n"
            "      WHERE n.id = g.first_id))\n"),

    /* $1-$7 messages. Tells a cascade_sent for each, in their order: REPEATED,
     * ABSENT, SENT, ENDED. Of one for no cascade its path tells, also by those
     * before it; not where that is marked. */
    [CSC_POSTGRES_SUBMIT_MESSAGES] = SUBMITTED_MESSAGES
    ",\n"
    "sent AS (\n" INSERT_SUBMITTED "\n"
    "RETURNING id, path)\n"
    "SELECT CASE\n"
    "  WHEN g.status IS NULL THEN CASE\n"
    "    WHEN g.unmarked\n"
    "      AND ((SELECT true FROM @cascade_messages AS m\n"
    "          WHERE m.path = g.path)\n"
    "        OR (SELECT true FROM @node_executions AS n\n"
    "          WHERE n.node_instance_id = g.path)\n"
    "        OR (SELECT true FROM @cascade_links AS l\n"
    "          WHERE l.path = g.path)\n"
    "        OR (SELECT true FROM sent AS s\n"
    "          WHERE s.path = g.path\n"
    "            AND s.id < g.id)) THEN 3\n"
    "    ELSE 4 END\n"
    "  WHEN (g.id IN (SELECT id FROM sent)) IS NOT TRUE THEN 3\n"
    "  WHEN g.status = 'RUNNING' THEN 1\n"
    "  ELSE 2 END\n"
    "FROM (\n"
    "  SELECT id, path,\n"
    "    " UNMARKED("given.cascade_id") " AS unmarked, (\n"
                                        "    SELECT c.status\n"
                                        "    FROM @cascades AS c\n"
                                        "    WHERE c.id = given.cascade_id\n"
                                        "      AND " C_UNMARKED ") AS status\n"
                                        "  FROM given) AS g\n"
                                        "ORDER BY g.id",

    /* $1-$3 rows */
    [CSC_POSTGRES_WRITE_SEALS] =
        "INSERT INTO @cascade_seals (cascade_id, number, seal)\n"
        "SELECT g.cascade_id, g.number, g.seal\n"
        "FROM unnest($1::uuid[], $2::int8[], $3::text[])\n"
        "  AS g (cascade_id, number, seal)\n" REPLACING_SEALS,

    /* $1 engine, $2 lane */
    [CSC_POSTGRES_READ_LANE] = "SELECT batch\n"
                               "FROM @cascade_lanes\n"
                               "WHERE engine_id = $1::uuid\n"
                               "  AND lane = $2::int4",

    /* $1 cascades */
    [CSC_POSTGRES_READ_FIRST] = "SELECT cascade_id, id\n"
                                "FROM @node_executions\n"
                                "WHERE cascade_id = ANY ($1::uuid[])\n"
                                "  AND function_id = 0",

    /* With synchronous replication, a transaction with this in it is not done
     * before the standby has it, and so has all that this one could see. See
     * commit.c. */
    [CSC_POSTGRES_CONFIRM] =
        "SELECT CASE\n"
        "  WHEN current_setting('synchronous_standby_names') <> ''\n"
        "  THEN pg_logical_emit_message(true, 'cascade', '') END",

    /* ---- engines ---- */

    /* $1 engine, $2 host, $3 pid, $4 process start, $5 lanes, $6 lease, $7 what
     * it says of itself */
    [CSC_POSTGRES_ATTACH_ENGINE] =
        "INSERT INTO @cascade_engines\n"
        "  (engine_id, host, pid, process_start, lane_count, lease_until,\n"
        "   about, started_at)\n"
        "SELECT $1::uuid, $2::text, $3::int8, $4::int8, $5::int4,\n"
        "  " CLOCK_MS " + $6::int8, $7::text, " NOW_MS "\n"
        "ON CONFLICT (engine_id) DO UPDATE\n"
        "SET lease_until = excluded.lease_until",

    /* $1 engine, $2 lanes */
    [CSC_POSTGRES_ATTACH_LANES] =
        "INSERT INTO @cascade_lanes (engine_id, lane, batch)\n"
        "SELECT $1::uuid, g.lane, 0\n"
        "FROM generate_series(0, $2::int4 - 1) AS g (lane)\n"
        "ON CONFLICT (engine_id, lane) DO NOTHING",

    /* $1 engine, $2 lease */
    [CSC_POSTGRES_RENEW] = "WITH renewed AS (\n"
                           "  UPDATE @cascade_engines\n"
                           "  SET lease_until = " NOW_MS " + $2::int8\n"
                           "  WHERE engine_id = $1::uuid\n"
                           "  RETURNING 1)\n"
                           "SELECT count(*), " CLOCK_MS " FROM renewed",

    [CSC_POSTGRES_DELETE_ENGINE] = "DELETE FROM @cascade_engines\n"
                                   "WHERE engine_id = $1::uuid",

    [CSC_POSTGRES_DELETE_LANES] = "DELETE FROM @cascade_lanes\n"
                                  "WHERE engine_id = $1::uuid",

    [CSC_POSTGRES_DETACH_RUNS] = "UPDATE @cascade_runs\n"
                                 "SET engine_id = NULL,\n"
                                 "  wake_at = " NOW_MS ",\n"
                                 "  trial = GREATEST(trial, 1) - 1\n"
                                 "WHERE engine_id = $1::uuid",

    /* The last column counts owners of runs that are gone, up to one. Owners
     * are few: one look-up for each. */
    [CSC_POSTGRES_LIST_ENGINES] =
        "SELECT engine_id, host, pid, process_start,\n"
        "  GREATEST(lease_until, 0) - " NOW_MS
        ", lane_count, about, started_at,\n"
        "  (WITH RECURSIVE owners (engine_id) AS (\n"
        "    (SELECT engine_id\n"
        "      FROM @cascade_runs\n"
        "      WHERE engine_id IS NOT NULL\n"
        "      ORDER BY engine_id\n"
        "      LIMIT 1)\n"
        "    UNION ALL\n"
        "    SELECT (\n"
        "      SELECT r.engine_id\n"
        "      FROM @cascade_runs AS r\n"
        "      WHERE r.engine_id > o.engine_id\n"
        "      ORDER BY r.engine_id\n"
        "      LIMIT 1)\n"
        "    FROM owners AS o\n"
        "    WHERE o.engine_id IS NOT NULL)\n"
        "  SELECT count(*)\n"
        "  FROM (\n"
        "    SELECT 1\n"
        "    FROM owners AS o\n"
        "    WHERE o.engine_id IS NOT NULL\n"
        "      AND NOT EXISTS (\n"
        "        SELECT 1\n"
        "        FROM @cascade_engines AS e\n"
        "        WHERE e.engine_id = o.engine_id)\n"
        "    LIMIT 1) AS gone)\n"
        "FROM @cascade_engines\n"
        "ORDER BY engine_id",

    /* ---- remove ---- */

    /* $1 those named dead */
    [CSC_POSTGRES_FIND_DEAD] = "SELECT engine_id\n"
                               "FROM @cascade_engines\n"
                               "WHERE lease_until <= " NOW_MS "\n"
                               "  OR engine_id = ANY ($1::uuid[])\n"
                               "ORDER BY engine_id",

    /* $1 milliseconds; tells the backend's number too, which behind a pooler
     * is not what libpq knows */
    [CSC_POSTGRES_LOCK_TIMEOUT] =
        "SELECT pg_backend_pid(), set_config('lock_timeout', $1::text, true)",

    /* $1 engine, $2 named dead */
    [CSC_POSTGRES_DELETE_DEAD] =
        "DELETE FROM @cascade_engines\n"
        "WHERE engine_id = $1::uuid\n"
        "  AND ($2::bool OR lease_until <= " NOW_MS ")",

    /* $1 engine */
    [CSC_POSTGRES_DELETE_DEAD_LANES] =
        "DELETE FROM @cascade_lanes\n"
        "WHERE engine_id = $1::uuid\n"
        "  AND NOT EXISTS (\n"
        "    SELECT 1 FROM @cascade_engines WHERE engine_id = $1::uuid)",

    /* $1 a backend that waits for a lock. Ends those it waits for that wait for
     * their own client: a process that is stopped, or gone without a word. One
     * that waits for a lock itself is another remover, and one that works will
     * be done soon. */
    [CSC_POSTGRES_UNBLOCK] =
        "SELECT count(pg_terminate_backend(a.pid))\n"
        "FROM unnest(pg_blocking_pids($1::int4)) AS b (pid)\n"
        "JOIN pg_stat_activity AS a ON a.pid = b.pid\n"
        "WHERE a.datname = current_database()\n"
        "  AND a.usename = current_user\n"
        "  AND a.wait_event_type = 'Client'",

    /* $1, $2: between these engines, both exclusive */
    [CSC_POSTGRES_FIND_ORPHAN] = "SELECT engine_id\n"
                                 "FROM @cascade_runs\n"
                                 "WHERE engine_id > $1::uuid\n"
                                 "  AND engine_id < $2::uuid\n"
                                 "ORDER BY engine_id\n"
                                 "LIMIT 1",

    /* $1 engine; raises when it lives */
    [CSC_POSTGRES_CHECK_ORPHAN] = "SELECT 1 / (count(*) = 0)::int4\n"
                                  "FROM @cascade_engines\n"
                                  "WHERE engine_id = $1::uuid",

    /* $1 engine, $2 at most */
    [CSC_POSTGRES_FREE_ORPHANS] =
        "WITH chosen AS (\n"
        "  SELECT cascade_id\n"
        "  FROM @cascade_runs\n"
        "  WHERE engine_id = $1::uuid\n"
        "  LIMIT $2::int8),\n"
        "freed AS (\n"
        "  UPDATE @cascade_runs AS r\n"
        "  SET engine_id = NULL,\n"
        "    wake_at = " NOW_MS ",\n"
        "    takeovers = LEAST(r.takeovers, 2147483646) + 1\n"
        "  FROM chosen\n"
        "  WHERE r.cascade_id = ANY (ARRAY[chosen.cascade_id])\n"
        "    AND r.engine_id IS NOT DISTINCT FROM $1::uuid\n"
        "  RETURNING 1)\n"
        "SELECT count(*) FROM freed",

    /* ---- load ---- */

    /* $1 ids. The casts keep the types that we decode, whatever an older table
     * has. */
    [CSC_POSTGRES_LOAD_CASCADES] =
        "SELECT id, status::text, fn_id, user_id::text, created_at,\n"
        "  updated_at\n"
        "FROM @cascades\n"
        "WHERE id = ANY (" THOSE_THERE ")\n"
        "ORDER BY id",

    [CSC_POSTGRES_LOAD_SEALS] = "SELECT s.cascade_id, s.number, s.seal::text\n"
                                "FROM @cascades AS c\n"
                                "JOIN @cascade_seals AS s\n"
                                "  ON s.cascade_id = ANY (ARRAY[c.id])\n"
                                "WHERE c.id = ANY (" THOSE_THERE ")\n"
                                "ORDER BY s.cascade_id",

    [CSC_POSTGRES_LOAD_EXECUTIONS] =
        EXECUTION_COLUMNS "FROM @node_executions\n"
                          "WHERE cascade_id = ANY (" THOSE_THERE ")\n"
                          "ORDER BY cascade_id, function_id",

    /* Of each the first of its children. */
    [CSC_POSTGRES_LOAD_FAMILY] = EXECUTION_COLUMNS
    "FROM @node_executions\n"
    "WHERE cascade_id = ANY (" THOSE_THERE ")\n"
    "  AND function_id = 0\n"
    "UNION ALL\n" EXECUTION_COLUMNS "FROM (\n"
    "  SELECT id AS parent\n"
    "  FROM @cascades\n"
    "  WHERE id = ANY (" THOSE_THERE ")) AS c\n"
    "CROSS JOIN LATERAL (\n"
    "  SELECT *\n"
    "  FROM @node_executions\n"
    "  WHERE cascade_id = c.parent\n"
    "    AND function_id > 0\n" IS_CHILD "\n"
    "    AND status = 'RUNNING'\n"
    "  ORDER BY function_id\n"
    "  LIMIT " TEXT_OF(
        CASCADE_LOAD_FAMILY_MAX) ") AS e\n"
                                 "ORDER BY cascade_id, function_id",

    [CSC_POSTGRES_LOAD_EVENTS] =
        EVENT_COLUMNS "FROM @context_events\n"
                      "WHERE cascade_id = ANY (" THOSE_THERE ")\n"
                      "ORDER BY cascade_id, function_id, id",

    /* Not of cascades that are not there. */
    [CSC_POSTGRES_LOAD_MESSAGES] = MESSAGE_COLUMNS
    "FROM @cascades AS c\n"
    "CROSS JOIN LATERAL (\n"
    "  SELECT *\n"
    "  FROM @cascade_messages\n"
    "  WHERE cascade_id = c.id\n"
    "  ORDER BY id\n"
    "  LIMIT " TEXT_OF(
        CASCADE_LOAD_MESSAGES_MAX) ") AS m\n"
                                   "WHERE c.id = ANY (" THOSE_THERE ")\n"
                                   "ORDER BY m.cascade_id, m.id",

    [CSC_POSTGRES_LOAD_ENDS] = MESSAGE_COLUMNS
    "FROM @cascades AS c\n"
    "CROSS JOIN LATERAL (\n"
    "  SELECT *\n"
    "  FROM @cascade_messages\n"
    "  WHERE cascade_id = c.id\n"
    "  ORDER BY id DESC\n"
    "  LIMIT " TEXT_OF(
        CASCADE_LOAD_ENDS_MAX) ") AS m\n"
                               "WHERE c.id = ANY (" THOSE_THERE ")\n"
                               "  AND m.kind IN ('delete', 'family')\n"
                               "ORDER BY m.cascade_id, m.id",

    /* ---- messages ---- */

    /* $1 engine, $2 behind that cascade, $3 not of these, $4 at most, $5 of
     * each, $6 bytes. From its runs, which are few, while messages for others
     * may be many; one is looked up for each run, and then the first of those
     * that have any. */
    [CSC_POSTGRES_RECEIVE] =
        "WITH owned AS MATERIALIZED (\n"
        "  SELECT cascade_id\n"
        "  FROM @cascade_runs\n"
        "  WHERE engine_id = $1::uuid)\n" MESSAGE_COLUMNS "FROM (\n"
        "  SELECT l.*, " BYTES_BEFORE(
            "100 + pg_column_size(l.payload)",
            "l.cascade_id, l.id") "\n"
                                  "  FROM (\n"
                                  "  SELECT first.*\n"
                                  "  FROM (\n"
                                  "    SELECT o.cascade_id\n"
                                  "    FROM owned AS o\n"
                                  "    WHERE o.cascade_id > $2::uuid\n"
                                  "      AND o.cascade_id <> ALL ($3::uuid[])\n"
                                  "      AND (SELECT true FROM "
                                  "@cascade_messages AS a\n"
                                  "        WHERE a.cascade_id = o.cascade_id\n"
                                  "        LIMIT 1)\n"
                                  "    ORDER BY o.cascade_id\n"
                                  "    LIMIT $4::int8) AS n\n"
                                  "  CROSS JOIN LATERAL (\n"
                                  "    SELECT *\n"
                                  "    FROM @cascade_messages\n"
                                  "    WHERE cascade_id = n.cascade_id\n"
                                  "    ORDER BY id\n"
                                  "    LIMIT $5::int8) AS first\n"
                                  "  ORDER BY n.cascade_id, first.id\n"
                                  "  LIMIT $4::int8) AS l) AS m\n" WITHIN_BYTES(
                                      "$6") "ORDER BY m.cascade_id, m.id",

    /* $1 user, $2 key */
    [CSC_POSTGRES_READ_KEY] = "SELECT run_number\n"
                              "FROM @cascade_keys\n"
                              "WHERE user_id = $1::text\n"
                              "  AND key = $2::text",

    /* $1 paths. Of each what leads on, also what a marked run has received,
     * then what is there. */
    [CSC_POSTGRES_FIND_PATHS] =
        "SELECT g.nth, f.id, f.root, f.run_number\n"
        "FROM unnest($1::text[]) WITH ORDINALITY AS g (path, nth),\n"
        "  LATERAL (\n"
        "    SELECT 1 AS place, c.next_id AS id, c.root AS root,\n"
        "      COALESCE(c.run_number, 0::int4) AS run_number\n"
        "    FROM @cascade_links AS l, @cascade_links AS c\n"
        "    WHERE l.path = g.path\n"
        "      AND c.path = l.root::text\n"
        "    UNION ALL\n"
        "    SELECT 1, c.next_id, c.root, COALESCE(c.run_number, 0::int4)\n"
        "    FROM @node_executions AS n\n"
        "    JOIN @cascade_links AS p\n"
        "      ON p.path = ANY (ARRAY[n.cascade_id::text])\n"
        "    JOIN @cascade_links AS c ON c.path = ANY (ARRAY[p.root::text])\n"
        "    WHERE n.node_instance_id = g.path\n"
        "      AND c.next_id <> n.cascade_id\n"
        "      AND left(g.path, 45) = p.root::text || '/message/'\n"
        "    UNION ALL\n"
        "    SELECT 2, n.cascade_id, NULL::uuid, NULL::int4\n"
        "    FROM @node_executions AS n\n"
        "    WHERE n.node_instance_id = g.path\n"
        "      AND " N_UNMARKED "\n"
        "    UNION ALL\n"
        "    SELECT 3, m.cascade_id, NULL::uuid, NULL::int4\n"
        "    FROM @cascade_messages AS m\n"
        "    WHERE m.path = g.path\n"
        "      AND " M_UNMARKED ") AS f\n"
        "ORDER BY g.nth, f.place",

    /* $1 roots, $2 their last runs, $3 the numbers of these, $4 of a start its
     * execution 0, as for what it sends. Two who enter a run of one root come
     * one after the other. What the indexes are made of never changes, so that
     * a row is written to the page that it is on. */
    [CSC_POSTGRES_LINK_CHAINS] =
        "INSERT INTO @cascade_links AS l\n"
        "  (path, root, next_id, number, run_number)\n"
        "SELECT g.root::text, g.root, g.next_id, (-1)::int8, g.run_number\n"
        "FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::uuid[])\n"
        "  AS g (root, next_id, run_number, first_id)\n"
        "WHERE g.first_id IS NULL\n"
        "  OR (SELECT true FROM @node_executions AS n\n"
        "    WHERE n.id = g.first_id)\n"
        "ORDER BY g.root\n"
        "ON CONFLICT (path) DO UPDATE\n"
        "SET next_id = CASE WHEN excluded.run_number > COALESCE(l.run_number, "
        "0::int4)\n"
        "    THEN excluded.next_id ELSE l.next_id END,\n"
        "  run_number = CASE WHEN excluded.run_number > COALESCE(l.run_number, "
        "0::int4)\n"
        "    THEN excluded.run_number ELSE l.run_number END",

    /* $1 root, $2 paths, $3 their places: those that are new */
    [CSC_POSTGRES_LINK_PATHS] =
        "INSERT INTO @cascade_links (path, root, number)\n"
        "SELECT g.path, $1::uuid, g.number\n"
        "FROM unnest($2::text[], $3::int8[]) AS g (path, number)\n"
        "WHERE (SELECT true FROM @cascade_links AS l\n"
        "    WHERE l.path = g.path) IS NULL\n"
        "ON CONFLICT (path) DO NOTHING",

    /* $1 root, $2 how many to keep */
    [CSC_POSTGRES_TRIM_LINKS] = "DELETE FROM @cascade_links AS l\n"
                                "WHERE l.root = $1::uuid\n"
                                "  AND l.number > 0::int8\n"
                                "  AND l.number <= (\n"
                                "    SELECT m.number\n"
                                "    FROM @cascade_links AS m\n"
                                "    WHERE m.root = $1::uuid\n"
                                "      AND m.number > 0::int8\n"
                                "    ORDER BY m.number DESC\n"
                                "    LIMIT 1::int8 OFFSET $2::int8)",

    /* $1 above, $2 up to, $3 how many: whether the last run of each is gone */
    [CSC_POSTGRES_FIND_GONE] = "SELECT l.root, (\n"
                               "  SELECT true\n"
                               "  FROM @cascades AS c\n"
                               "  WHERE c.id = l.next_id\n"
                               "    AND " C_UNMARKED ") IS NULL\n"
                               "FROM @cascade_links AS l\n"
                               "WHERE l.number < 0::int8\n"
                               "  AND l.root > $1::uuid\n"
                               "  AND l.root <= $2::uuid\n"
                               "ORDER BY l.root\n"
                               "LIMIT $3::int8",

    /* $1 roots, $2 how many */
    [CSC_POSTGRES_SWEEP_PATHS] = "DELETE FROM @cascade_links\n"
                                 "WHERE path IN (\n"
                                 "  SELECT l.path\n"
                                 "  FROM @cascade_links AS l\n"
                                 "  WHERE l.root = ANY ($1::uuid[])\n"
                                 "    AND l.number > 0::int8\n"
                                 "  ORDER BY l.root, l.number\n"
                                 "  LIMIT $2::int8)\n"
                                 "RETURNING 1",

    /* $1 roots: those of which nothing else is left */
    [CSC_POSTGRES_SWEEP_ROOTS] = "DELETE FROM @cascade_links AS c\n"
                                 "WHERE c.root = ANY ($1::uuid[])\n"
                                 "  AND c.number < 0::int8\n"
                                 "  AND NOT EXISTS (\n"
                                 "    SELECT 1\n"
                                 "    FROM @cascade_links AS l\n"
                                 "    WHERE l.root = c.root\n"
                                 "      AND l.number > 0::int8)",

    /* ---- wait ---- */

    /* $1 channel. Nothing is lost with a notification, so nobody waits until
     * it has reached the disk. */
    [CSC_POSTGRES_NOTIFY] =
        "SELECT set_config('synchronous_commit', 'off', true),\n"
        "  pg_notify($1::text, '')",

    [CSC_POSTGRES_LISTEN] = "LISTEN #",

    /* ---- transactions of nodes; see node_txn.c ---- */

    /* $1 the mark; raises in another transaction. $2 statement_timeout, for
     * what was deferred. Said under whatever search_path the function has
     * set, as the next two are. */
    [CSC_POSTGRES_NATIVE_MARK] =
        "SELECT 1 OPERATOR(pg_catalog./) (COALESCE(\n"
        "  pg_catalog.current_setting('cascade.transaction', true), '')\n"
        "  OPERATOR(pg_catalog.=) $1::pg_catalog.text)::pg_catalog.int4,\n"
        "  pg_catalog.set_config('statement_timeout', $2::pg_catalog.text,\n"
        "    true)",

    [CSC_POSTGRES_NATIVE_CONSTRAINTS] = "SET CONSTRAINTS ALL IMMEDIATE",

    /* What could change the meaning of what follows, or whether it is allowed:
     * as when the connection was made. (What SETTINGS sets comes behind it.)
     * Only who has set session_replication_role may set it. A role may have
     * another one as its default. */
    [CSC_POSTGRES_NATIVE_RESET] =
        "SELECT pg_catalog.set_config('client_encoding', 'UTF8', true),\n"
        "  pg_catalog.set_config('row_security', NULL, true),\n"
        "  CASE WHEN pg_catalog.current_setting('session_replication_role')\n"
        "    OPERATOR(pg_catalog.<>) 'origin'\n"
        "  THEN pg_catalog.set_config('session_replication_role', 'origin',\n"
        "    true) END,\n"
        "  pg_catalog.set_config('session_authorization', NULL, true),\n"
        "  pg_catalog.set_config('role', NULL, true)",

    /* $1 engine, $2 lane, $3 number. The row lock makes it wait for a finish
     * that is under way. */
    [CSC_POSTGRES_NATIVE_SETTLE] = "UPDATE @cascade_lanes\n"
                                   "SET batch = $3::int8 + 1\n"
                                   "WHERE engine_id = $1::uuid\n"
                                   "  AND lane = $2::int4\n"
                                   "  AND batch = $3::int8 - 1",

    /* $1 a backend of ours that works for nobody any more */
    [CSC_POSTGRES_NATIVE_END] = "SELECT count(pg_terminate_backend(pid))\n"
                                "FROM pg_stat_activity\n"
                                "WHERE pid = $1::int4\n"
                                "  AND datname = current_database()\n"
                                "  AND usename = current_user",

    /* ---- in transactions of others; see borrowed.c ---- */

    [CSC_POSTGRES_GUEST_SAVE] = "SAVEPOINT cascade_guest",

    [CSC_POSTGRES_GUEST_PATH] =
        "SELECT pg_catalog.current_setting('search_path')",

    [CSC_POSTGRES_GUEST_UNDO] = "ROLLBACK TO SAVEPOINT cascade_guest",

    /* $1 the search_path as it was */
    [CSC_POSTGRES_GUEST_RESTORE] =
        "SELECT pg_catalog.set_config('search_path', $1::pg_catalog.text,\n"
        "  true)",

    [CSC_POSTGRES_GUEST_RELEASE] = "RELEASE SAVEPOINT cascade_guest",
};

/* ---- For one row --------------------------------------------------------- */

/* Which statement each of these is the form for one row of. */
static const csc_postgres_statement one_of[CSC_POSTGRES_STATEMENTS] = {
    [CSC_POSTGRES_INSERT_EXECUTION] = CSC_POSTGRES_INSERT_EXECUTIONS,
    [CSC_POSTGRES_UPDATE_EXECUTION] = CSC_POSTGRES_UPDATE_EXECUTIONS,
    [CSC_POSTGRES_INSERT_EVENT] = CSC_POSTGRES_INSERT_EVENTS,
    [CSC_POSTGRES_UPDATE_CASCADE] = CSC_POSTGRES_UPDATE_CASCADES,
    [CSC_POSTGRES_RESET_RUN] = CSC_POSTGRES_RESET_RUNS,
    [CSC_POSTGRES_FREE_RUN] = CSC_POSTGRES_FREE_RUNS,
    [CSC_POSTGRES_REVIVE_RUN] = CSC_POSTGRES_REVIVE_RUNS,
    [CSC_POSTGRES_END_RUN] = CSC_POSTGRES_END_RUNS,
    [CSC_POSTGRES_DELETE_RECEIVED_ONE] = CSC_POSTGRES_DELETE_RECEIVED,
    [CSC_POSTGRES_INSERT_SEND] = CSC_POSTGRES_INSERT_SENDS,
    [CSC_POSTGRES_LINK_CHAIN] = CSC_POSTGRES_LINK_CHAINS,
    [CSC_POSTGRES_WRITE_SEAL] = CSC_POSTGRES_WRITE_SEALS,
};

csc_postgres_statement
csc_postgres_sql_for_one(csc_postgres_statement statement)
{
    for (size_t i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        if (one_of[i] == statement)
            return (csc_postgres_statement)i;
    }
    return statement;
}

/* unnest($1::uuid[], $2::text[]) becomes (VALUES ($1::uuid, $2::text)). */
static char *
make_single(const char *text)
{
    const char *from = strstr(text, "unnest(");
    const char *to = strchr(from, ')');
    csc_buf buf;

    csc_buf_init(&buf);
    csc_buf_add(&buf, text, (size_t)(from - text));
    csc_buf_add_text(&buf, "(VALUES (");
    for (const char *at = from + strlen("unnest("); at < to; at++) {
        if (*at != '[' && *at != ']')
            csc_buf_add_char(&buf, *at);
    }
    csc_buf_add_text(&buf, "))");
    csc_buf_add_text(&buf, to + 1);
    return csc_buf_take(&buf);
}

/* ---- Expanding ----------------------------------------------------------- */

/* NULL for those that are made of another. */
static const char *
template_of(csc_postgres_statement statement)
{
    const char *text = templates[statement];

    if (text == NULL)
        text = csc_postgres_sql_start_text(statement);
    if (text == NULL)
        text = csc_postgres_sql_claim_text(statement);
    if (text == NULL)
        text = csc_postgres_sql_delete_text(statement);
    return text != NULL ? text : csc_postgres_sql_manage_text(statement);
}

/* Replaces '@' and '#'. */
static char *
expand(const char *text, const char *prefix, const char *channel)
{
    csc_buf buf;

    csc_buf_init(&buf);
    for (; *text != '\0'; text++) {
        if (*text == '@')
            csc_buf_add_text(&buf, prefix);
        else if (*text == '#')
            csc_buf_add_text(&buf, channel);
        else
            csc_buf_add_char(&buf, *text);
    }
    return csc_buf_take(&buf);
}

bool
csc_postgres_sql_build(const char *prefix, const char *channel,
                       char *texts[CSC_POSTGRES_STATEMENTS])
{
    bool good = true;

    for (size_t i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        const char *own = template_of((csc_postgres_statement)i);
        char *single = own == NULL ? make_single(templates[one_of[i]]) : NULL;
        const char *text = own != NULL ? own : single;

        texts[i] = text == NULL ? NULL : expand(text, prefix, channel);
        csc_mem_free(single);
        good = good && texts[i] != NULL;
    }
    return good;
}

void
csc_postgres_sql_free(char *texts[CSC_POSTGRES_STATEMENTS])
{
    for (size_t i = 0; i < CSC_POSTGRES_STATEMENTS; i++)
        csc_mem_free(texts[i]);
}

char *
csc_postgres_sql_expand(const char *text, const char *prefix)
{
    return expand(text, prefix, "");
}
