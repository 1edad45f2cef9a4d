-- SPDX-License-Identifier: MIT
--
-- Claims: see claim.c.

-- name: claim_look
-- form: claim_look_suspects = suspects
--
-- What there is to claim, by kind. Each LATERAL is one look-up in an index for
-- every row before it, and its LIMIT keeps it from being anything else: no
-- backlog is walked over or sorted, however long. While no run needs a node at
-- all nothing is looked up for each of them; while there are no messages,
-- nothing is looked up but that. For suspects, what is said of needs keeps
-- the statement away from the indexes of all that is due, and cascades without
-- a run are left to others.
--
--   kind  row
--   0     the incarnation, with the batches of its lanes
--   1     a due run
--   2     when something comes next in the queues
--   3     a free run that messages name
--   4     an ended cascade that messages name
--   5     a cascade that messages name, and that is not there
--   6     there are messages for runs of $1; where the walk was not over all
--         of them, its runs are looked through
--   7     where the next walk goes on
--   8     a queue that is not paused and has no limits, by its place in $2
--   9     a queue that has limits and is not paused
--   10    one that has limits and is paused
--
-- The walk over the cascades that messages name is 500 look-ups at a time.
--
-- Index: cascade_runs_claim_idx, cascade_runs_needs_idx,
-- cascade_runs_needs_wake_idx, cascade_runs_suspect_idx,
-- cascade_runs_engine_idx, cascade_runs_pkey, cascade_messages_cascade_idx,
-- cascade_queues_pkey, cascades_pkey.
--
-- $1 engine, $2 queues, $3 nodes, $4 suspects from so many takeovers, $5 at
-- most, $6 where the walk goes on
WITH RECURSIVE named (cascade_id, step) AS (
  (SELECT cascade_id, 1
    FROM public.cascade_messages
    WHERE cascade_id > $6::uuid
    ORDER BY cascade_id
    LIMIT 1)
  UNION ALL
  SELECT (
    SELECT m.cascade_id
    FROM public.cascade_messages AS m
    WHERE m.cascade_id > n.cascade_id
    ORDER BY m.cascade_id
    LIMIT 1), n.step + 1
  FROM named AS n
  WHERE n.cascade_id IS NOT NULL
    AND n.step < 500),
seen AS MATERIALIZED (
  SELECT n.cascade_id, n.step, r.cascade_id AS run_id,
    r.engine_id, r.queue, r.priority, r.wake_at,
    r.takeovers,
    CASE WHEN r.cascade_id IS NULL THEN (
      SELECT true
      FROM public.cascades AS c
      WHERE c.id = n.cascade_id
        AND (SELECT true FROM public.cascade_erasures AS marked
            WHERE marked.cascade_id = c.id) IS NULL) END AS ended
  FROM named AS n
  LEFT JOIN public.cascade_runs AS r
    ON r.cascade_id = ANY (ARRAY[n.cascade_id])
  WHERE n.cascade_id IS NOT NULL),
asked AS MATERIALIZED (
  SELECT q.queue, q.place, (
    SELECT CASE WHEN p.version = 0 THEN 0 WHEN p.paused_at = 0 THEN 9 ELSE 10
      END
    FROM public.cascade_queues AS p
    WHERE p.queue = q.queue) AS kind
  FROM unnest($2::text[]) WITH ORDINALITY AS q (queue, place)),
open_queues AS MATERIALIZED (
  SELECT queue, place
  FROM asked
  WHERE kind IS NULL)
-- unless suspects
SELECT 1, due.cascade_id, due.priority, due.wake_at
FROM open_queues AS q
CROSS JOIN generate_series(9, 0, -1) AS p (priority)
CROSS JOIN LATERAL (
  SELECT r.cascade_id, r.priority, r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs IS NULL
    AND r.queue = q.queue
    AND r.priority = p.priority
    AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
    AND r.takeovers < $4::int4
  ORDER BY r.wake_at
  LIMIT $5::int8) AS due
UNION ALL
SELECT 1, due.cascade_id, due.priority, due.wake_at
FROM open_queues AS q
CROSS JOIN unnest($3::text[]) AS n (node)
CROSS JOIN LATERAL (
  SELECT r.cascade_id, r.priority, r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs = n.node
    AND r.queue = q.queue
    AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
    AND r.takeovers < $4::int4
  ORDER BY r.priority DESC, r.wake_at
  LIMIT $5::int8) AS due
WHERE (
  SELECT true
  FROM public.cascade_runs
  WHERE engine_id IS NULL
    AND needs IS NOT NULL
  ORDER BY needs
  LIMIT 1)
UNION ALL
(SELECT CASE WHEN ended THEN 4 ELSE 5 END, cascade_id, 0,
  floor(extract(epoch FROM now()) * 1000)::int8
FROM seen
WHERE run_id IS NULL
LIMIT $5::int8)
UNION ALL
-- if suspects
SELECT 1, due.cascade_id, due.priority, due.wake_at
FROM open_queues AS q
CROSS JOIN LATERAL (
  SELECT r.cascade_id, r.priority, r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND (r.needs IS NULL OR r.needs = ANY ($3::text[]))
    AND r.queue = q.queue
    AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
    AND r.takeovers > 0
    AND r.takeovers >= $4::int4
  ORDER BY r.priority DESC, r.wake_at
  LIMIT $5::int8) AS due
UNION ALL
-- end
(SELECT 3, cascade_id, priority, wake_at
FROM seen
WHERE run_id IS NOT NULL
  AND engine_id IS NULL
  AND queue = ANY ($2::text[])
  -- unless suspects
  AND takeovers < $4::int4
  -- if suspects
  AND takeovers >= $4::int4
  -- end
ORDER BY priority DESC, wake_at
LIMIT $5::int8)
UNION ALL
SELECT 6, NULL, NULL, NULL
WHERE EXISTS (SELECT 1 FROM seen WHERE engine_id = $1::uuid)
  OR ((SELECT count(*) FROM seen) = 500
    AND (
      SELECT true
      FROM public.cascade_runs AS r
      CROSS JOIN LATERAL (
        SELECT 1
        FROM public.cascade_messages AS m
        WHERE m.cascade_id = r.cascade_id
        ORDER BY m.id
        LIMIT 1) AS one
      WHERE r.engine_id = $1::uuid
      LIMIT 1))
UNION ALL
SELECT 7, cascade_id, NULL, NULL
FROM seen
WHERE step = 500
UNION ALL
SELECT COALESCE(kind, 8), NULL, NULL, place
FROM asked
WHERE kind IS DISTINCT FROM 0
UNION ALL
SELECT 0, NULL, NULL, (
  SELECT sum(batch)::int8
  FROM public.cascade_lanes
  WHERE engine_id = $1::uuid)
FROM public.cascade_engines
WHERE engine_id = $1::uuid
UNION ALL
SELECT 2, NULL::uuid, NULL::int4, min(next.wake_at)
FROM open_queues AS q
CROSS JOIN generate_series(9, 0, -1) AS p (priority)
CROSS JOIN LATERAL (
  SELECT r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs IS NULL
    AND r.queue = q.queue
    AND r.priority = p.priority
    AND r.wake_at > floor(extract(epoch FROM now()) * 1000)::int8
  ORDER BY r.wake_at
  LIMIT 1) AS next
UNION ALL
SELECT 2, NULL, NULL, min(next.wake_at)
FROM open_queues AS q
CROSS JOIN LATERAL (
  SELECT r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs >= ''
    AND r.queue = q.queue
    AND r.wake_at > floor(extract(epoch FROM now()) * 1000)::int8
  ORDER BY r.wake_at
  LIMIT 1) AS next;

-- name: claim_check
--
-- Raises 22012 when the engine is gone. Locks its row to the end of the
-- transaction: who removes the engine waits for it.
--
-- Index: cascade_engines_pkey.
--
-- $1 engine
SELECT 1 / count(*)
FROM (
  SELECT 1
  FROM public.cascade_engines
  WHERE engine_id = $1::uuid
  FOR KEY SHARE) AS alive;

-- name: claim_take
--
-- Takes runs. What was due a moment ago may have been taken and parked anew
-- meanwhile, and what a message named have lost it.
--
-- Index: cascade_runs_pkey, cascade_messages_cascade_idx. Locks: the runs.
--
-- $1 engine, $2 cascades, $3 nodes, $4 suspects from, $5 suspects, $6 whether
-- the look has found messages for some, $7 queues that are not paused
UPDATE public.cascade_runs AS r
SET engine_id = $1::uuid,
  claim_no = LEAST(r.claim_no, 9223372036854775806) + 1,
  needs = NULL,
  slot = 0,
  trial = CASE WHEN $5::bool THEN LEAST(r.trial, 2147483646) + 1
    ELSE r.trial END
FROM unnest($2::uuid[]) AS g (cascade_id)
WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])
  AND r.engine_id IS NULL
  AND (r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
      AND (r.needs IS NULL OR r.needs = ANY ($3::text[]))
      AND r.queue = ANY ($7::text[])
    OR (SELECT true FROM public.cascade_messages AS m
        WHERE m.cascade_id = r.cascade_id
        ORDER BY m.id
        LIMIT 1))
  AND (r.takeovers >= $4::int4) = $5::bool
RETURNING r.cascade_id, r.claim_no,
  r.takeovers, r.trial,
  CASE WHEN $6::bool THEN (SELECT m.kind FROM public.cascade_messages AS m
      WHERE m.cascade_id = r.cascade_id
      ORDER BY m.id
      LIMIT 1) END;

-- name: claim_ended
--
-- Gives ended cascades that messages name a run once more.
--
-- Index: cascades_pkey, cascade_erasures_pkey, cascade_messages_cascade_idx.
--
-- $1 engine, $2 ended cascades, $3 queue
INSERT INTO public.cascade_runs AS r
  (cascade_id, queue, priority, wake_at, engine_id, claim_no,
   takeovers, needs)
SELECT g.cascade_id, $3::text, 0,
  floor(extract(epoch FROM now()) * 1000)::int8, $1::uuid, 1, 0, NULL
FROM unnest($2::uuid[]) AS g (cascade_id)
WHERE (SELECT true FROM public.cascades AS c
    WHERE c.id = g.cascade_id
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = c.id) IS NULL)
  AND (SELECT true FROM public.cascade_messages AS m
      WHERE m.cascade_id = g.cascade_id
      ORDER BY m.id
      LIMIT 1)
ON CONFLICT (cascade_id) DO NOTHING
RETURNING cascade_id, claim_no, takeovers,
  trial, (SELECT m.kind FROM public.cascade_messages AS m
      WHERE m.cascade_id = r.cascade_id
      ORDER BY m.id
      LIMIT 1);

-- name: claim_drop
--
-- Takes messages of cascades that are not there; those that are meanwhile keep
-- theirs. A message that this sees is older than what it does not see. What
-- goes to a last run is inserted once more behind what that has: nobody has
-- the right to change one.
--
-- Index: cascade_messages_cascade_idx, cascades_pkey, cascade_erasures_pkey,
-- cascade_messages_pkey, cascade_links_pkey.
--
-- $1 cascades that are not there, $2 kinds of messages that are a run's own
WITH old AS MATERIALIZED (
  SELECT x.id
  FROM unnest($1::uuid[]) AS g (cascade_id)
  CROSS JOIN LATERAL (
    SELECT d.id
    FROM public.cascade_messages AS d
    WHERE d.cascade_id = g.cascade_id
    ORDER BY d.id
    LIMIT 100 /* CASCADE_CLAIM_STRAYS_MAX */) AS x
  WHERE (SELECT true FROM public.cascades AS c
    WHERE c.id = g.cascade_id
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = c.id) IS NULL) IS NULL
  ORDER BY x.id
  LIMIT 100 /* CASCADE_CLAIM_STRAYS_MAX */),
taken AS (
  DELETE FROM public.cascade_messages AS m
  USING old
  WHERE m.id = ANY (ARRAY[old.id])
  RETURNING m.id, m.cascade_id, m.kind, m.name, m.path, m.payload,
    m.sent_at)
INSERT INTO public.cascade_messages
  (cascade_id, kind, name, path, payload, sent_at)
SELECT l.next_id, t.kind, t.name, t.path, t.payload, t.sent_at
FROM taken AS t
JOIN public.cascade_links AS p ON p.path = t.cascade_id::text
JOIN public.cascade_links AS l ON l.path = p.root::text
WHERE (t.kind = ANY ($2::text[])) IS NOT TRUE
  AND (SELECT true FROM public.cascades AS c
    WHERE c.id = l.next_id
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = c.id) IS NULL)
ORDER BY t.id;

-- name: claim_next
--
-- When something comes next in queues.
--
-- Index: cascade_runs_claim_idx, cascade_runs_needs_wake_idx.
--
-- $1 queues
SELECT 2, NULL::uuid, NULL::int4, min(next.wake_at)
FROM unnest($1::text[]) AS q (queue)
CROSS JOIN generate_series(9, 0, -1) AS p (priority)
CROSS JOIN LATERAL (
  SELECT r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs IS NULL
    AND r.queue = q.queue
    AND r.priority = p.priority
    AND r.wake_at > floor(extract(epoch FROM now()) * 1000)::int8
  ORDER BY r.wake_at
  LIMIT 1) AS next
UNION ALL
SELECT 2, NULL, NULL, min(next.wake_at)
FROM unnest($1::text[]) AS q (queue)
CROSS JOIN LATERAL (
  SELECT r.wake_at
  FROM public.cascade_runs AS r
  WHERE r.engine_id IS NULL
    AND r.needs >= ''
    AND r.queue = q.queue
    AND r.wake_at > floor(extract(epoch FROM now()) * 1000)::int8
  ORDER BY r.wake_at
  LIMIT 1) AS next;
