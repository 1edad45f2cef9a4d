/* SPDX-License-Identifier: MIT
 *
 * The statements of whoever looks after a database: queues, counts, pages of
 * rows, repairs and purges. Which rules they keep is told in sql.c;
 * the counts alone read more than what they tell, and are asked for on demand.
 */
#include "store/postgres/sql.h"

#include "cascade/cascade.h"
#include "store/postgres/internal.h"

/* $1 cascade, $2 from, $3 of that one ids above this */
#define ONE_UNMARKED UNMARKED("$1::uuid")
#define NODE_UNMARKED UNMARKED("n.cascade_id")
/* A page of executions that are so besides. */
#define SCAN_OF(more)                                                 \
    EXECUTION_COLUMNS                                                 \
    "FROM (\n"                                                        \
    "  SELECT *, " EXECUTION_BYTES_BEFORE(                            \
        "function_id") "\n"                                           \
                       "  FROM @node_executions\n"                    \
                       "  WHERE cascade_id = $1::uuid\n"              \
                       "    AND " ONE_UNMARKED "\n"                   \
                       "    AND function_id >= $2::int4\n"            \
                       "    AND ($3::bool IS NOT TRUE OR status = "   \
                       "'RUNNING')\n" more "  ORDER BY function_id\n" \
                       "  LIMIT $4::int8) AS e\n" WITHIN_BYTES(       \
                           "$5") "ORDER BY e.function_id"
#define EVENTS_FROM                     \
    "WHERE cascade_id = $1::uuid\n"     \
    "    AND " ONE_UNMARKED "\n"        \
    "    AND function_id >= $2::int4\n" \
    "    AND (function_id > $2::int4 OR id > $3::int8)\n"

/* Those of a status, but what is marked; that is looked up. */
#define COUNT_OF(word)                              \
    "count(*) FILTER (WHERE status = '" word "')\n" \
    "    - (SELECT count(*)\n"                      \
    "      FROM @cascade_erasures AS x\n"           \
    "      WHERE (SELECT c.status\n"                \
    "        FROM @cascades AS c\n"                 \
    "        WHERE c.id = x.cascade_id) = '" word "'),\n"
#define COUNT_RUNNING COUNT_OF("RUNNING")
#define COUNT_COMPLETED COUNT_OF("COMPLETED")
#define COUNT_ERROR COUNT_OF("ERROR")

/* Ids above $1, $2 of them, one seek each, and whether there is not what they
 * name. */
#define STRAYS(table, column, lacks)        \
    "WITH RECURSIVE ids (id, place) AS (\n" \
    "  SELECT (\n"                          \
    "    SELECT t." column "\n"             \
    "    FROM @" table " AS t\n"            \
    "    WHERE t." column " > $1::uuid\n"   \
    "    ORDER BY t." column "\n"           \
    "    LIMIT 1), 1::int8\n"               \
    "  UNION ALL\n"                         \
    "  SELECT (\n"                          \
    "    SELECT t." column "\n"             \
    "    FROM @" table " AS t\n"            \
    "    WHERE t." column " > ids.id\n"     \
    "    ORDER BY t." column "\n"           \
    "    LIMIT 1), ids.place + 1\n"         \
    "  FROM ids\n"                          \
    "  WHERE ids.id IS NOT NULL\n"          \
    "    AND ids.place < $2::int8)\n"       \
    "SELECT ids.id, " lacks "\n"            \
    "FROM ids\n"                            \
    "WHERE ids.id IS NOT NULL\n"            \
    "ORDER BY ids.place"
#define NO_CASCADE            \
    "(SELECT true\n"          \
    "  FROM @cascades AS c\n" \
    "  WHERE c.id = ids.id) IS NULL"

/* See BYTES_BEFORE. */
#define EXECUTION_BYTES_BEFORE(order)                                 \
    BYTES_BEFORE("100 + coalesce(pg_column_size(input_context), 0)\n" \
                 "      + coalesce(pg_column_size(full_output), 0)\n" \
                 "      + coalesce(pg_column_size(error), 0)",        \
                 order)
#define EVENT_BYTES_BEFORE                                        \
    BYTES_BEFORE("100 + coalesce(pg_column_size(value), 0)\n"     \
                 "      + coalesce(pg_column_size(ui_value), 0)", \
                 "function_id, id")

static const char *const templates[CSC_POSTGRES_STATEMENTS] = {
    /* ---- queues ---- */

    /* $1 queue, $2 about */
    [CSC_POSTGRES_PAUSE_QUEUE] =
        "INSERT INTO @cascade_queues (queue, paused_at, about)\n"
        "SELECT $1::text, " NOW_MS ", $2::text\n"
        "ON CONFLICT (queue) DO NOTHING\n"
        "RETURNING 1",

    /* $1 queue */
    [CSC_POSTGRES_RESUME_QUEUE] =
        "DELETE FROM @cascade_queues WHERE queue = $1::text RETURNING 1",

    /* One pass over all runs. What a row is: 0 a pause, 1 owned, 2 needs a
     * node, 3 due, 4 later. */
    [CSC_POSTGRES_LIST_QUEUES] =
        "SELECT g.queue, max(g.paused_at), max(g.about),\n"
        "  count(*) FILTER (WHERE g.kind = 1),\n"
        "  count(*) FILTER (WHERE g.kind = 3),\n"
        "  count(*) FILTER (WHERE g.kind = 4),\n"
        "  count(*) FILTER (WHERE g.kind = 2),\n"
        "  min(g.wake_at) FILTER (WHERE g.kind = 3)\n"
        "FROM (\n"
        "  SELECT queue, NULL::int8 AS paused_at, NULL::text AS about,\n"
        "    wake_at, CASE\n"
        "    WHEN engine_id IS NOT NULL THEN 1\n"
        "    WHEN needs IS NOT NULL THEN 2\n"
        "    WHEN wake_at <= " NOW_MS " THEN 3\n"
        "    ELSE 4 END AS kind\n"
        "  FROM @cascade_runs\n"
        "  UNION ALL\n"
        "  SELECT queue, paused_at, about, NULL, 0\n"
        "  FROM @cascade_queues) AS g\n"
        "GROUP BY g.queue\n"
        "ORDER BY g.queue COLLATE \"C\"",

    /* ---- counts ---- */

    /* Of the tables nothing is read where their pages are known to be visible
     * to all: status is in an index. */
    /* ---- strays ---- */

    [CSC_POSTGRES_STRAY_EXECUTIONS] =
        STRAYS("node_executions", "cascade_id", NO_CASCADE),
    [CSC_POSTGRES_STRAY_EVENTS] =
        STRAYS("context_events", "cascade_id", NO_CASCADE),
    [CSC_POSTGRES_STRAY_RUNS] =
        STRAYS("cascade_runs", "cascade_id", NO_CASCADE),
    /* $3 so many ms old */
    [CSC_POSTGRES_STRAY_MESSAGES] =
        STRAYS("cascade_messages", "cascade_id",
               NO_CASCADE "\n"
                          "  AND (SELECT m.sent_at\n"
                          "    FROM @cascade_messages AS m\n"
                          "    WHERE m.cascade_id = ids.id\n"
                          "    ORDER BY m.id\n"
                          "    LIMIT 1) < " NOW_MS " - $3::int8"),
    [CSC_POSTGRES_STRAY_ERASURES] =
        STRAYS("cascade_erasures", "cascade_id", NO_CASCADE),
    [CSC_POSTGRES_STRAY_LANES] =
        STRAYS("cascade_lanes", "engine_id",
               "(SELECT true\n"
               "  FROM @cascade_engines AS e\n"
               "  WHERE e.engine_id = ids.id) IS NULL"),
    [CSC_POSTGRES_STRAY_ENGINES] = STRAYS("cascade_engines", "engine_id",
                                          "(SELECT true\n"
                                          "  FROM @cascade_lanes AS l\n"
                                          "  WHERE l.engine_id = ids.id\n"
                                          "    AND l.lane = 0) IS NULL"),

    [CSC_POSTGRES_COUNT_TOTALS] =
        "SELECT " COUNT_RUNNING "  " COUNT_COMPLETED "  " COUNT_ERROR
        "  (SELECT count(*) FROM @cascade_messages),\n"
        "  (SELECT count(*) FROM @cascade_erasures)\n"
        "FROM @cascades",

    /* ---- scan ---- */

    /* $1 cascade, $2 from, $3 only RUNNING, $4 at most, $5 bytes: those of the
     * rows before are summed up as they come. Their payloads are looked at no
     * further than to their length, and become texts behind that. */
    [CSC_POSTGRES_SCAN_EXECUTIONS] = SCAN_OF(""),
    [CSC_POSTGRES_SCAN_CHILDREN] =
        SCAN_OF("    AND function_id > 0\n" IS_CHILD "\n"),

    /* As EVENTS_FROM, $4 at most, $5 bytes. The index has no ids. So it first
     * tells up to where the page goes, and what is sorted then is the page, and
     * what is left of its last execution. Payloads become texts behind that. */
    [CSC_POSTGRES_SCAN_EVENTS] = EVENT_COLUMNS
    "FROM (\n"
    "  SELECT *, " EVENT_BYTES_BEFORE "\n"
    "  FROM (\n"
    "    SELECT *\n"
    "    FROM @context_events\n" EVENTS_FROM "    AND function_id <= (\n"
    "        SELECT max(p.function_id)\n"
    "        FROM (\n"
    "          SELECT function_id\n"
    "          FROM @context_events\n" EVENTS_FROM
    "          ORDER BY function_id\n"
    "          LIMIT $4::int8) AS p)\n"
    "    ORDER BY function_id, id\n"
    "    LIMIT $4::int8) AS l) AS e\n" WITHIN_BYTES(
        "$5") "ORDER BY e.function_id, e.id",

    /* $1 from, $2 that one too, $3 only RUNNING, $4 at most, $5 bytes */
    [CSC_POSTGRES_SCAN_ALL] = EXECUTION_COLUMNS
    "FROM (\n"
    "  SELECT *, " EXECUTION_BYTES_BEFORE(
        "id") "\n"
              "  FROM @node_executions AS n\n"
              "  WHERE id >= $1::uuid\n"
              "    AND " NODE_UNMARKED "\n"
              "    AND (id > $1::uuid OR $2::bool)\n"
              "    AND ($3::bool IS NOT TRUE OR status = 'RUNNING')\n"
              "  ORDER BY id\n"
              "  LIMIT $4::int8) AS e\n" WITHIN_BYTES("$5") "ORDER BY e.id",

    /* ---- mend ---- */

    /* $1 cascades. Who inserts a run, or anything else that refers to one of
     * them, waits for this lock. */
    [CSC_POSTGRES_LOCK_CASCADES] = "SELECT count(*)\n"
                                   "FROM (\n"
                                   "  SELECT 1\n"
                                   "  FROM @cascades\n"
                                   "  WHERE id = ANY ($1::uuid[])\n"
                                   "  ORDER BY id\n"
                                   "  FOR UPDATE) AS locked",

    /* $1 cascades, $2 numbers and $3 texts as they were read, $4 and $5 as they
     * are to be; no text: none. The cascades are locked. Tells the places of
     * those that were changed, counted from 1. */
    [CSC_POSTGRES_CHANGE_SEALS] =
        "WITH given AS MATERIALIZED (\n"
        "  SELECT g.*\n"
        "  FROM unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[],\n"
        "      $5::text[]) WITH ORDINALITY\n"
        "    AS g (id, was_number, was, number, seal, place)\n"
        "  WHERE g.id = '00000000-0000-0000-0000-000000000000'\n"
        "    OR (SELECT true FROM @cascades AS c\n"
        "      WHERE c.id = g.id\n"
        "        AND " C_UNMARKED ")),\n"
        "updated AS (\n"
        "  UPDATE @cascade_seals AS s\n"
        "  SET number = g.number,\n"
        "    seal = g.seal\n"
        "  FROM given AS g\n"
        "  WHERE s.cascade_id = ANY (ARRAY[g.id])\n"
        "    AND s.number = g.was_number\n"
        "    AND s.seal = g.was\n"
        "    AND g.seal IS NOT NULL\n"
        "  RETURNING s.cascade_id AS id),\n"
        "deleted AS (\n"
        "  DELETE FROM @cascade_seals AS s\n"
        "  USING given AS g\n"
        "  WHERE s.cascade_id = ANY (ARRAY[g.id])\n"
        "    AND s.number = g.was_number\n"
        "    AND s.seal = g.was\n"
        "    AND g.seal IS NULL\n"
        "  RETURNING s.cascade_id AS id),\n"
        "inserted AS (\n"
        "  INSERT INTO @cascade_seals (cascade_id, number, seal)\n"
        "  SELECT g.id, g.number, g.seal\n"
        "  FROM given AS g\n"
        "  WHERE g.was IS NULL\n"
        "    AND g.seal IS NOT NULL\n"
        "  ON CONFLICT (cascade_id) DO NOTHING\n"
        "  RETURNING cascade_id AS id)\n"
        "SELECT g.place\n"
        "FROM given AS g\n"
        "WHERE (g.id IN (\n"
        "  SELECT id FROM updated\n"
        "  UNION ALL\n"
        "  SELECT id FROM deleted\n"
        "  UNION ALL\n"
        "  SELECT id FROM inserted)) IS TRUE",

    /* $1 behind that one, or NULL, $2 at most */
    [CSC_POSTGRES_LIST_SEALS] = "SELECT cascade_id, number, seal::text\n"
                                "FROM @cascade_seals\n"
                                "WHERE cascade_id >= COALESCE($1::uuid,\n"
                                "    '00000000-0000-0000-0000-000000000000')\n"
                                "  AND (cascade_id <> $1::uuid) IS NOT FALSE\n"
                                "ORDER BY cascade_id\n"
                                "LIMIT $2::int8",

    /* $1-$10 repairs; without a queue: no run. Tells the places of those that
     * were made, counted from 1. */
    [CSC_POSTGRES_REPAIR] =
        "WITH met AS (\n"
        "  UPDATE @cascades AS c\n"
        "  SET status = g.status::@cascade_status,\n"
        "    fn_id = g.fn_id\n"
        "  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[],\n"
        "      $5::int4[], $6::text[], $7::int4[], $8::int8[], $9::text[],\n"
        "      $10::int4[]) WITH ORDINALITY\n"
        "    AS g (id, was_status, was_fn_id, status, fn_id, queue, priority,\n"
        "      wake_at, key, run_number, place)\n"
        "  WHERE c.id = ANY (ARRAY[g.id])\n"
        "    AND c.status = g.was_status::@cascade_status\n"
        "    AND c.fn_id = g.was_fn_id\n"
        "    AND (SELECT true FROM @cascade_runs AS r\n"
        "      WHERE r.cascade_id = g.id) IS NULL\n"
        "    AND " C_UNMARKED "\n"
        "  RETURNING c.id, c.user_id, g.queue, g.priority, "
        "g.wake_at, g.key,\n"
        "    g.run_number, g.place),\n"
        "runs AS (\n"
        "  INSERT INTO @cascade_runs\n"
        "    (cascade_id, queue, priority, wake_at, engine_id, "
        "claim_no,\n"
        "     takeovers, needs)\n"
        "  SELECT id, queue, priority, wake_at, NULL, 0, 0, NULL\n"
        "  FROM met\n"
        "  WHERE queue IS NOT NULL),\n"
        "keys AS (\n"
        "  INSERT INTO @cascade_keys AS k (user_id, key, "
        "run_number)\n"
        "  SELECT user_id, key, max(run_number)\n"
        "  FROM met\n"
        "  WHERE key IS NOT NULL\n"
        "    AND run_number > 1\n"
        "  GROUP BY user_id, key\n"
        "  ORDER BY user_id, key\n"
        "  ON CONFLICT (user_id, key) DO UPDATE\n"
        "  SET run_number = excluded.run_number\n"
        "  WHERE k.run_number < excluded.run_number)\n"
        "SELECT place FROM met",

    /* $1 cascades, $2 written before. Those that may go are marked. */
    [CSC_POSTGRES_PURGE] =
        "WITH chosen AS MATERIALIZED (\n"
        "  SELECT c.id\n"
        "  FROM unnest($1::uuid[]) AS g (cascade_id)\n"
        "  JOIN @cascades AS c ON c.id = ANY (ARRAY[g.cascade_id])\n"
        "  WHERE c.status <> 'RUNNING'\n"
        "    AND c.updated_at < $2::timestamp\n"
        "    AND (SELECT true FROM @cascade_runs AS r\n"
        "      WHERE r.cascade_id = g.cascade_id) IS NULL\n"
        "    AND " NAMED("g") " IS NULL),\n"
                              "marked AS (\n"
                              "  INSERT INTO @cascade_erasures (cascade_id, "
                              "engine_id, marked_at)\n"
                              "  SELECT id, NULL, " NOW_MS " FROM chosen\n"
                              "  ON CONFLICT (cascade_id) DO NOTHING\n"
                              "  RETURNING 1)\n"
                              "SELECT count(*) FROM marked",
};

const char *
csc_postgres_sql_manage_text(csc_postgres_statement statement)
{
    return templates[statement];
}
