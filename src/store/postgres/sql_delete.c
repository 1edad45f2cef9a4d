/* SPDX-License-Identifier: MIT
 *
 * The statements that delete whole cascades, at once or in pieces: what they
 * are for is told in delete.c, and which rules they keep in
 * sql.c.
 */
#include "store/postgres/sql.h"

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/postgres/internal.h"

/* Those of $1 that are marked. */
#define DOOMED                          \
    "unnest($1::uuid[]) AS u (id)\n"    \
    "    JOIN @cascade_erasures AS g\n" \
    "      ON g.cascade_id = ANY (ARRAY[u.id])\n"

/* No row of `table` of that cascade. */
#define WITHOUT(table)                        \
    "(SELECT true FROM @" table " AS w\n"     \
    "    WHERE w.cascade_id = g.cascade_id\n" \
    "    LIMIT 1) IS NULL\n"

/* Takes rows of such cascades out of a table, in the order of the cascades and
 * then as `order` says, until there are enough of them, or of their bytes: S39.
 * For each cascade it is one look into an index, which is left early; that it
 * is bounded by a number which the planner sees keeps it so. Rows that are dead
 * already, of pieces before, are passed in the index. */
#define ROWS_MAX TEXT_OF(CASCADE_DELETE_ROWS_MAX)
#define BYTES_MAX TEXT_OF(CASCADE_DELETE_BYTES_MAX)
#define CUT_FOUND(table, bytes, condition, order)                       \
    "WITH found AS MATERIALIZED (\n"                                    \
    "  SELECT x.id, x.bytes, row_number() OVER () AS place\n"           \
    "  FROM (\n"                                                        \
    "    SELECT r.id, r.bytes\n"                                        \
    "    FROM " DOOMED "    CROSS JOIN LATERAL (\n"                     \
    "      SELECT t.id, " bytes " AS bytes\n"                           \
    "      FROM @" table " AS t\n"                                      \
    "      WHERE t.cascade_id = g.cascade_id\n"                         \
    "      ORDER BY " order "\n"                                        \
    "      LIMIT " ROWS_MAX ") AS r\n" condition "    LIMIT $2::int8"   \
    ") AS x),\n"                                                        \
    "few AS (\n"                                                        \
    "  SELECT id, sum(bytes) OVER (ORDER BY place) - bytes AS before\n" \
    "  FROM found)"
#define CUT_FEW(table)                   \
    "DELETE FROM @" table " AS r\n"      \
    "USING few\n"                        \
    "WHERE r.id = ANY (ARRAY[few.id])\n" \
    "  AND few.before < " BYTES_MAX
#define CUT(table, bytes, condition, order) \
    CUT_FOUND(table, bytes, condition, order) "\n" CUT_FEW(table)

/* Of the cut rows of runs that lead on, the paths that these have received: p
 * leads from a run to its chain, c. The numbers are those of chain.h:
 * 2147483648 is one run. */
#define KEEP_RECEIPTS                                                    \
    "INSERT INTO @cascade_links (path, root, number)\n"                  \
    "SELECT k.node_instance_id, p.root, k.function_id::int8 + 1::int8\n" \
    "  + CASE WHEN p.number < 0::int8 THEN 2147483648::int8\n"           \
    "    ELSE p.number - 2147483648::int8 END\n"                         \
    "FROM cut AS k\n"                                                    \
    "JOIN @cascade_links AS p\n"                                         \
    "  ON p.path = ANY (ARRAY[k.cascade_id::text])\n"                    \
    "JOIN @cascade_links AS c ON c.path = ANY (ARRAY[p.root::text])\n"   \
    "WHERE c.next_id <> k.cascade_id\n"                                  \
    "  AND left(k.node_instance_id, 45) = p.root::text || '/message/'\n" \
    "ON CONFLICT (path) DO NOTHING"

/* Nobody who lives works at it. */
#define FREE(erasure)                                    \
    "(" erasure ".engine_id IS NULL\n"                   \
    "      OR (SELECT true FROM @cascade_engines AS e\n" \
    "        WHERE e.engine_id = " erasure ".engine_id) IS NULL)\n"
#define FREE_X FREE("x")
#define FREE_Y FREE("y")

static const char *const templates[CSC_POSTGRES_STATEMENTS] = {
    /* $1 cascades, in all of these but ERASE_TAKE; $2 rows at most, where rows
     * are cut */
    [CSC_POSTGRES_MARK] =
        "INSERT INTO @cascade_erasures (cascade_id, engine_id, marked_at)\n"
        "SELECT c.id, NULL, " NOW_MS "\n"
        "FROM unnest($1::uuid[]) AS g (id)\n"
        "JOIN @cascades AS c ON c.id = ANY (ARRAY[g.id])\n"
        "ON CONFLICT (cascade_id) DO NOTHING",

    /* Of those that are marked now. */
    [CSC_POSTGRES_DELETE_SEALS] =
        "DELETE FROM @cascade_seals AS s\n"
        "USING unnest($1::uuid[]) AS g (id)\n"
        "WHERE s.cascade_id = ANY (ARRAY[g.id])\n"
        "  AND (SELECT true FROM @cascade_erasures AS x\n"
        "    WHERE x.cascade_id = g.id)",

    [CSC_POSTGRES_CUT_EVENTS] =
        CUT("context_events",
            "pg_column_size(t.value)\n"
            "        + COALESCE(pg_column_size(t.ui_value), 0)",
            "", "t.function_id DESC"),
    [CSC_POSTGRES_CUT_EXECUTIONS] = CUT_FOUND(
        "node_executions",
        "pg_column_size(t.input_context)\n"
        "        + COALESCE(pg_column_size(t.full_output), 0)\n"
        "        + COALESCE(pg_column_size(t.error), 0)",
        "    WHERE " WITHOUT("context_events"),
        "t.function_id DESC") ",\n"
                              "cut AS (\n" CUT_FEW(
                                  "node_executions") "\n"
                                                     "RETURNING r.cascade_id, "
                                                     "r.function_id, "
                                                     "r.node_instance_id)"
                                                     "\n" KEEP_RECEIPTS,
    [CSC_POSTGRES_CUT_MESSAGES] =
        CUT("cascade_messages", "pg_column_size(t.payload)",
            "    WHERE " WITHOUT("node_executions"), "t.id"),
    /* Two who enter what runs of one chain have received do not see each
     * other's: the next one takes what is too much then. */
    [CSC_POSTGRES_TRIM_RECEIPTS] =
        "DELETE FROM @cascade_links AS l\n"
        "USING (\n"
        "  SELECT d.root, (\n"
        "    SELECT m.number\n"
        "    FROM @cascade_links AS m\n"
        "    WHERE m.root = d.root\n"
        "      AND m.number > 0::int8\n"
        "    ORDER BY m.number DESC\n"
        "    LIMIT 1::int8 OFFSET " TEXT_OF(
            CASCADE_LINKS_MAX) "::int8) AS number\n"
                               "  FROM (\n"
                               "    SELECT DISTINCT p.root\n"
                               "    FROM unnest($1::uuid[]) AS g (id)\n"
                               "    JOIN @cascade_links AS p\n"
                               "      ON p.path = ANY (ARRAY[g.id::text])) AS "
                               "d\n"
                               "  OFFSET 0) AS b\n"
                               "WHERE l.root = b.root\n"
                               "  AND l.number > 0::int8\n"
                               "  AND l.number <= b.number",
    [CSC_POSTGRES_CUT_CASCADES] =
        "DELETE FROM @cascades AS c\n"
        "USING " DOOMED "WHERE c.id = ANY (ARRAY[g.cascade_id])\n"
        "  AND " WITHOUT("context_events") "  AND " WITHOUT(
            "node_executions") "  AND " WITHOUT("cascade_messages"),

    [CSC_POSTGRES_CUT_ERASURES] = "DELETE FROM @cascade_erasures AS x\n"
                                  "USING unnest($1::uuid[]) AS g (id)\n"
                                  "WHERE x.cascade_id = ANY (ARRAY[g.id])\n"
                                  "  AND (SELECT true FROM @cascades AS c\n"
                                  "    WHERE c.id = g.id) IS NULL",

    [CSC_POSTGRES_READ_MARKED] = "SELECT x.cascade_id\n"
                                 "FROM unnest($1::uuid[]) AS g (id)\n"
                                 "JOIN @cascade_erasures AS x\n"
                                 "  ON x.cascade_id = ANY (ARRAY[g.id])",

    /* $1 engine, or NULL. Its own, or those that it takes now; without an
     * engine those that nobody works at, which stay so. */
    [CSC_POSTGRES_ERASE_TAKE] =
        "WITH own AS MATERIALIZED (\n"
        "  SELECT x.cascade_id\n"
        "  FROM @cascade_erasures AS x\n"
        "  WHERE CASE WHEN $1::uuid IS NULL THEN " FREE_X
        "    ELSE x.engine_id = $1::uuid END\n"
        "  ORDER BY x.cascade_id\n"
        "  LIMIT 100),\n"
        "taken AS (\n"
        "  UPDATE @cascade_erasures AS x\n"
        "  SET engine_id = $1::uuid\n"
        "  FROM (\n"
        "    SELECT y.cascade_id\n"
        "    FROM @cascade_erasures AS y\n"
        "    WHERE " FREE_Y "    ORDER BY y.cascade_id\n"
        "    LIMIT 100) AS few\n"
        "  WHERE x.cascade_id = ANY (ARRAY[few.cascade_id])\n"
        "    AND " FREE_X "    AND $1::uuid IS NOT NULL\n"
        "    AND NOT EXISTS (SELECT 1 FROM own)\n"
        "  RETURNING x.cascade_id)\n"
        "SELECT cascade_id FROM own\n"
        "UNION ALL\n"
        "SELECT cascade_id FROM taken",

    /* A piece that comes late waits here for the one before. */
    [CSC_POSTGRES_ERASE_LOCK] = "SELECT count(*)\n"
                                "FROM (\n"
                                "  SELECT 1\n"
                                "  FROM @cascade_erasures\n"
                                "  WHERE cascade_id = ANY ($1::uuid[])\n"
                                "  ORDER BY cascade_id\n"
                                "  FOR UPDATE) AS locked",
};

const char *
csc_postgres_sql_delete_text(csc_postgres_statement statement)
{
    return templates[statement];
}
