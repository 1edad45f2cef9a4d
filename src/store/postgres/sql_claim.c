/* SPDX-License-Identifier: MIT
 *
 * The statements of a claim; what they are for is told in claim.c, and
 * which rules they keep in sql.c.
 */
#include "store/postgres/sql.h"

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/postgres/internal.h"

/* A claim walks over the cascades that messages name, from $6 on, one look-up
 * for each: how many at a time. */
#define WALK_MAX "500"

/* What both looks of a claim begin with: what the cascades of the walk are, and
 * which queues are not paused. */
#define LOOK_NAMED                                                    \
    "WITH RECURSIVE named (cascade_id, step) AS (\n"                  \
    "  (SELECT cascade_id, 1\n"                                       \
    "    FROM @cascade_messages\n"                                    \
    "    WHERE cascade_id > $6::uuid\n"                               \
    "    ORDER BY cascade_id\n"                                       \
    "    LIMIT 1)\n"                                                  \
    "  UNION ALL\n"                                                   \
    "  SELECT (\n"                                                    \
    "    SELECT m.cascade_id\n"                                       \
    "    FROM @cascade_messages AS m\n"                               \
    "    WHERE m.cascade_id > n.cascade_id\n"                         \
    "    ORDER BY m.cascade_id\n"                                     \
    "    LIMIT 1), n.step + 1\n"                                      \
    "  FROM named AS n\n"                                             \
    "  WHERE n.cascade_id IS NOT NULL\n"                              \
    "    AND n.step < " WALK_MAX "),\n"                               \
    "seen AS MATERIALIZED (\n"                                        \
    "  SELECT n.cascade_id, n.step, r.cascade_id AS run_id,\n"        \
    "    r.engine_id, r.queue, r.priority, r.wake_at,\n"              \
    "    r.takeovers,\n"                                              \
    "    CASE WHEN r.cascade_id IS NULL THEN (\n"                     \
    "      SELECT true\n"                                             \
    "      FROM @cascades AS c\n"                                     \
    "      WHERE c.id = n.cascade_id\n"                               \
    "        AND " C_UNMARKED ") END AS ended\n"                      \
    "  FROM named AS n\n"                                             \
    "  LEFT JOIN @cascade_runs AS r\n"                                \
    "    ON r.cascade_id = ANY (ARRAY[n.cascade_id])\n"               \
    "  WHERE n.cascade_id IS NOT NULL),\n"                            \
    "open_queues AS MATERIALIZED (\n"                                 \
    "  SELECT q.queue, q.place\n"                                     \
    "  FROM unnest($2::text[]) WITH ORDINALITY AS q (queue, place)\n" \
    "  WHERE (SELECT true FROM @cascade_queues AS p\n"                \
    "      WHERE p.queue = q.queue) IS NULL)\n"

/* What both looks end with, first what came of the walk. Kind 3: free runs that
 * messages name; `suspects` says which takeovers. Kind 6: there are messages
 * for runs of $1; where the walk was not over all of them, its runs are looked
 * through. Kind 7: where the next walk goes on. Kind 8: a queue that is not
 * paused, by its place in $2. */
#define LOOK_REST(suspects)                                          \
    "UNION ALL\n"                                                    \
    "(SELECT 3, cascade_id, priority, wake_at\n"                     \
    "FROM seen\n"                                                    \
    "WHERE run_id IS NOT NULL\n"                                     \
    "  AND engine_id IS NULL\n"                                      \
    "  AND queue = ANY ($2::text[])\n"                               \
    "  AND takeovers " suspects " $4::int4\n"                        \
    "ORDER BY priority DESC, wake_at\n"                              \
    "LIMIT $5::int8)\n"                                              \
    "UNION ALL\n"                                                    \
    "SELECT 6, NULL, NULL, NULL\n"                                   \
    "WHERE EXISTS (SELECT 1 FROM seen WHERE engine_id = $1::uuid)\n" \
    "  OR ((SELECT count(*) FROM seen) = " WALK_MAX "\n"             \
    "    AND (\n"                                                    \
    "      SELECT true\n"                                            \
    "      FROM @cascade_runs AS r\n"                                \
    "      CROSS JOIN LATERAL (\n"                                   \
    "        SELECT 1\n"                                             \
    "        FROM @cascade_messages AS m\n"                          \
    "        WHERE m.cascade_id = r.cascade_id\n"                    \
    "        ORDER BY m.id\n"                                        \
    "        LIMIT 1) AS one\n"                                      \
    "      WHERE r.engine_id = $1::uuid\n"                           \
    "      LIMIT 1))\n"                                              \
    "UNION ALL\n"                                                    \
    "SELECT 7, cascade_id, NULL, NULL\n"                             \
    "FROM seen\n"                                                    \
    "WHERE step = " WALK_MAX "\n"                                    \
    "UNION ALL\n"                                                    \
    "SELECT 8, NULL, NULL, place\n"                                  \
    "FROM open_queues\n" LOOK_DISPATCH

/* Kind 2: what comes next in the queues of an item of FROM, named q. */
#define LOOK_NEXT(queues)                                    \
    "SELECT 2, NULL::uuid, NULL::int4, min(next.wake_at)\n"  \
    "FROM " queues "\n"                                      \
    "CROSS JOIN generate_series(9, 0, -1) AS p (priority)\n" \
    "CROSS JOIN LATERAL (\n"                                 \
    "  SELECT r.wake_at\n"                                   \
    "  FROM @cascade_runs AS r\n"                            \
    "  WHERE r.engine_id IS NULL\n"                          \
    "    AND r.needs IS NULL\n"                              \
    "    AND r.queue = q.queue\n"                            \
    "    AND r.priority = p.priority\n"                      \
    "    AND r.wake_at > " NOW_MS "\n"                       \
    "  ORDER BY r.wake_at\n"                                 \
    "  LIMIT 1) AS next\n"                                   \
    "UNION ALL\n"                                            \
    "SELECT 2, NULL, NULL, min(next.wake_at)\n"              \
    "FROM " queues "\n"                                      \
    "CROSS JOIN LATERAL (\n"                                 \
    "  SELECT r.wake_at\n"                                   \
    "  FROM @cascade_runs AS r\n"                            \
    "  WHERE r.engine_id IS NULL\n"                          \
    "    AND r.needs >= ''\n"                                \
    "    AND r.queue = q.queue\n"                            \
    "    AND r.wake_at > " NOW_MS "\n"                       \
    "  ORDER BY r.wake_at\n"                                 \
    "  LIMIT 1) AS next"

/* Kind 0: the incarnation, with the batches of its lanes. Due runs are kind 1.
 * $1 engine, $2 queues, $3 nodes, $4 suspects from, $5 at most, $6 where the
 * walk goes on. */
#define LOOK_DISPATCH                 \
    "UNION ALL\n"                     \
    "SELECT 0, NULL, NULL, (\n"       \
    "  SELECT sum(batch)::int8\n"     \
    "  FROM @cascade_lanes\n"         \
    "  WHERE engine_id = $1::uuid)\n" \
    "FROM @cascade_engines\n"         \
    "WHERE engine_id = $1::uuid\n"    \
    "UNION ALL\n" LOOK_NEXT("open_queues AS q")

#define STRAYS TEXT_OF(CASCADE_CLAIM_STRAYS_MAX)

static const char *const templates[CSC_POSTGRES_STATEMENTS] = {
    /* Each LATERAL is one look-up in an index for every row before it, and its
     * LIMIT keeps it from being anything else: no backlog is walked over or
     * sorted, however long. While no run needs a node at all nothing is looked
     * up for each of them; while there are no messages, nothing is looked up
     * but that. Kind 4: ended cascades that messages name; 5: cascades that are
     * not there. */
    [CSC_POSTGRES_CLAIM_LOOK] = LOOK_NAMED
    "SELECT 1, due.cascade_id, due.priority, due.wake_at\n"
    "FROM open_queues AS q\n"
    "CROSS JOIN generate_series(9, 0, -1) AS p (priority)\n"
    "CROSS JOIN LATERAL (\n"
    "  SELECT r.cascade_id, r.priority, r.wake_at\n"
    "  FROM @cascade_runs AS r\n"
    "  WHERE r.engine_id IS NULL\n"
    "    AND r.needs IS NULL\n"
    "    AND r.queue = q.queue\n"
    "    AND r.priority = p.priority\n"
    "    AND r.wake_at <= " NOW_MS "\n"
    "    AND r.takeovers < $4::int4\n"
    "  ORDER BY r.wake_at\n"
    "  LIMIT $5::int8) AS due\n"
    "UNION ALL\n"
    "SELECT 1, due.cascade_id, due.priority, due.wake_at\n"
    "FROM open_queues AS q\n"
    "CROSS JOIN unnest($3::text[]) AS n (node)\n"
    "CROSS JOIN LATERAL (\n"
    "  SELECT r.cascade_id, r.priority, r.wake_at\n"
    "  FROM @cascade_runs AS r\n"
    "  WHERE r.engine_id IS NULL\n"
    "    AND r.needs = n.node\n"
    "    AND r.queue = q.queue\n"
    "    AND r.wake_at <= " NOW_MS "\n"
    "    AND r.takeovers < $4::int4\n"
    "  ORDER BY r.priority DESC, r.wake_at\n"
    "  LIMIT $5::int8) AS due\n"
    "WHERE (\n"
    "  SELECT true\n"
    "  FROM @cascade_runs\n"
    "  WHERE engine_id IS NULL\n"
    "    AND needs IS NOT NULL\n"
    "  ORDER BY needs\n"
    "  LIMIT 1)\n"
    "UNION ALL\n"
    "(SELECT CASE WHEN ended THEN 4 ELSE 5 END, cascade_id, 0, " NOW_MS "\n"
    "FROM seen\n"
    "WHERE run_id IS NULL\n"
    "LIMIT $5::int8)\n" LOOK_REST("<"),

    /* The same for suspects. What is said of `needs` keeps this away from the
     * indexes of all that is due. Cascades without a run are left to others. */
    [CSC_POSTGRES_CLAIM_LOOK_SUSPECTS] =
        LOOK_NAMED "SELECT 1, due.cascade_id, due.priority, due.wake_at\n"
                   "FROM open_queues AS q\n"
                   "CROSS JOIN LATERAL (\n"
                   "  SELECT r.cascade_id, r.priority, r.wake_at\n"
                   "  FROM @cascade_runs AS r\n"
                   "  WHERE r.engine_id IS NULL\n"
                   "    AND (r.needs IS NULL OR r.needs = ANY ($3::text[]))\n"
                   "    AND r.queue = q.queue\n"
                   "    AND r.wake_at <= " NOW_MS "\n"
                   "    AND r.takeovers > 0\n"
                   "    AND r.takeovers >= $4::int4\n"
                   "  ORDER BY r.priority DESC, r.wake_at\n"
                   "  LIMIT $5::int8) AS due\n" LOOK_REST(">="),

    /* $1 engine. The lock lasts to the end of the transaction: who removes the
     * engine waits for it. */
    [CSC_POSTGRES_CLAIM_CHECK] = "SELECT 1 / count(*)\n"
                                 "FROM (\n"
                                 "  SELECT 1\n"
                                 "  FROM @cascade_engines\n"
                                 "  WHERE engine_id = $1::uuid\n"
                                 "  FOR KEY SHARE) AS alive",

    /* $1 cascades that are not there, $2 kinds of messages that are a run's
     * own. Those that are meanwhile keep theirs. A message that this sees is
     * older than what it does not see. What goes to a last run is inserted once
     * more behind what that has: nobody has the right to change one. */
    [CSC_POSTGRES_CLAIM_DROP] =
        "WITH old AS MATERIALIZED (\n"
        "  SELECT x.id\n"
        "  FROM unnest($1::uuid[]) AS g (cascade_id)\n"
        "  CROSS JOIN LATERAL (\n"
        "    SELECT d.id\n"
        "    FROM @cascade_messages AS d\n"
        "    WHERE d.cascade_id = g.cascade_id\n"
        "    ORDER BY d.id\n"
        "    LIMIT " STRAYS ") AS x\n"
        "  WHERE (SELECT true FROM @cascades AS c\n"
        "    WHERE c.id = g.cascade_id\n"
        "      AND " C_UNMARKED ") IS NULL\n"
        "  ORDER BY x.id\n"
        "  LIMIT " STRAYS "),\n"
        "taken AS (\n"
        "  DELETE FROM @cascade_messages AS m\n"
        "  USING old\n"
        "  WHERE m.id = ANY (ARRAY[old.id])\n"
        "  RETURNING m.id, m.cascade_id, m.kind, m.name, m.path, m.payload,\n"
        "    m.sent_at)\n"
        "INSERT INTO @cascade_messages\n"
        "  (cascade_id, kind, name, path, payload, sent_at)\n"
        "SELECT l.next_id, t.kind, t.name, t.path, t.payload, t.sent_at\n"
        "FROM taken AS t\n"
        "JOIN @cascade_links AS p ON p.path = t.cascade_id::text\n"
        "JOIN @cascade_links AS l ON l.path = p.root::text\n"
        "WHERE (t.kind = ANY ($2::text[])) IS NOT TRUE\n"
        "  AND (SELECT true FROM @cascades AS c\n"
        "    WHERE c.id = l.next_id\n"
        "      AND " C_UNMARKED ")\n"
        "ORDER BY t.id",

    /* $1 engine, $2 ended cascades, $3 queue */
    [CSC_POSTGRES_CLAIM_ENDED] =
        "INSERT INTO @cascade_runs AS r\n"
        "  (cascade_id, queue, priority, wake_at, engine_id, claim_no,\n"
        "   takeovers, needs)\n"
        "SELECT g.cascade_id, $3::text, 0, " NOW_MS ", $1::uuid, 1, 0, NULL\n"
        "FROM unnest($2::uuid[]) AS g (cascade_id)\n"
        "WHERE (SELECT true FROM @cascades AS c\n"
        "    WHERE c.id = g.cascade_id\n"
        "      AND " C_UNMARKED ")\n"
        "  AND " NAMED("g") "\n"
                            "ON CONFLICT (cascade_id) DO NOTHING\n"
                            "RETURNING cascade_id, claim_no, takeovers,\n"
                            "  trial, " FIRST_NAMING("m.kind", "r"),

    /* $1 engine, $2 cascades, $3 nodes, $4 suspects from, $5 suspects, $6
     * whether the look has found messages for some, $7 queues that are not
     * paused. What was due a moment ago may have been taken and parked anew
     * meanwhile, and what a message named have lost it. */
    [CSC_POSTGRES_CLAIM_TAKE] =
        "UPDATE @cascade_runs AS r\n"
        "SET engine_id = $1::uuid,\n"
        "  claim_no = LEAST(r.claim_no, 9223372036854775806) + 1,\n"
        "  needs = NULL,\n"
        "  trial = CASE WHEN $5::bool THEN LEAST(r.trial, 2147483646) + 1\n"
        "    ELSE r.trial END\n"
        "FROM unnest($2::uuid[]) AS g (cascade_id)\n"
        "WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])\n"
        "  AND r.engine_id IS NULL\n"
        "  AND (r.wake_at <= " NOW_MS "\n"
        "      AND (r.needs IS NULL OR r.needs = ANY ($3::text[]))\n"
        "      AND r.queue = ANY ($7::text[])\n"
        "    OR " NAMED("r") ")\n"
                             "  AND (r.takeovers >= $4::int4) = $5::bool\n"
                             "RETURNING r.cascade_id, r.claim_no,\n"
                             "  r.takeovers, r.trial,\n"
                             "  CASE WHEN $6::bool THEN " FIRST_NAMING(
                                 "m.kind", "r") " END",

    /* $1 queues that are not paused */
    [CSC_POSTGRES_CLAIM_NEXT] = LOOK_NEXT("unnest($1::text[]) AS q (queue)"),
};

const char *
csc_postgres_sql_claim_text(csc_postgres_statement statement)
{
    return templates[statement];
}
