-- SPDX-License-Identifier: MIT
--
-- Claims of queues that have limits: see turns.c. A run waits by its key while
-- it needs 'cascade.turn'. One that somebody holds is passed by: it does not
-- keep the others from their turn.
--
-- Where a key is looked for from and to itself, in the order of keys, the order
-- tells the planner the index: to one that has seen empty tables alone another
-- that begins with the queue is as good, and walks over all that wait.

-- name: turn_look
-- form: turn_look_suspects = suspects
--
-- Which of the queues have something to claim: their places in $1, and whether
-- there is room for it, as it seems without a lock.
--
-- Index: cascade_runs_turn_idx, cascade_runs_claim_idx, cascade_runs_needs_idx,
-- cascade_runs_suspect_idx, cascade_runs_slot_idx.
--
-- $1 queues, $2 nodes, $3 suspects from so many takeovers
SELECT q.place, (
  SELECT (k.running_max = 0
    OR (
      SELECT count(*)
      FROM (
        SELECT 1
        FROM public.cascade_runs AS s
        WHERE s.engine_id IS NOT NULL
          AND s.slot > 0
          AND s.queue = k.queue
        ORDER BY s.limit_key
        LIMIT k.running_max) AS used) < k.running_max)::int4
  FROM public.cascade_queues AS k
  WHERE k.queue = q.queue
    AND k.paused_at = 0)
FROM unnest($1::text[]) WITH ORDINALITY AS q (queue, place)
WHERE (false
  -- unless suspects
  OR (
    SELECT true
    FROM public.cascade_runs AS r
    WHERE r.engine_id IS NULL
      AND r.needs = 'cascade.turn'
      AND r.queue = q.queue
    ORDER BY r.limit_key
    LIMIT 1)
  OR (
    SELECT true
    FROM generate_series(9, 0, -1) AS p (priority)
    CROSS JOIN LATERAL (
      SELECT 1
      FROM public.cascade_runs AS r
      WHERE r.engine_id IS NULL
        AND r.needs IS NULL
        AND r.queue = q.queue
        AND r.priority = p.priority
        AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
        AND r.takeovers < $3::int4
      ORDER BY r.wake_at
      LIMIT 1) AS due
    LIMIT 1)
  OR (
    SELECT true
    FROM unnest($2::text[]) AS n (node)
    CROSS JOIN LATERAL (
      SELECT 1
      FROM public.cascade_runs AS r
      WHERE r.engine_id IS NULL
        AND r.needs = n.node
        AND r.queue = q.queue
        AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
        AND r.takeovers < $3::int4
      ORDER BY r.priority DESC, r.wake_at
      LIMIT 1) AS due
    WHERE n.node <> 'cascade.turn'
    LIMIT 1)
  -- if suspects
  OR (
    SELECT true
    FROM public.cascade_runs AS r
    WHERE r.engine_id IS NULL
      AND (r.needs IS NULL OR r.needs = ANY ($2::text[]))
      AND r.queue = q.queue
      AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
      AND r.takeovers > 0
      AND r.takeovers >= $3::int4
    ORDER BY r.priority DESC, r.wake_at
    LIMIT 1)
  -- end
  );

-- name: turn_lock
--
-- Locks a queue: what is counted behind this is what there is, since only who
-- has the lock gives slots. Raises 22012 where it has no limits any more, or is
-- paused.
--
-- Index: cascade_queues_pkey. Locks: the row of the queue, to the end of the
-- transaction.
--
-- $1 queue
SELECT 1 / count(*)
FROM (
  SELECT 1
  FROM public.cascade_queues
  WHERE queue = $1::text
    AND paused_at = 0
  FOR NO KEY UPDATE) AS locked;

-- name: turn_sort
--
-- Runs that are due begin to wait by their keys, those without one by their
-- users; tells how many.
--
-- Index: cascade_runs_claim_idx, cascade_runs_needs_idx, cascade_runs_pkey,
-- cascades_pkey.
-- Locks: the runs.
--
-- $1 queue, $2 nodes, $3 suspects from so many takeovers
WITH few AS MATERIALIZED (
  SELECT f.cascade_id
  FROM (
    SELECT due.cascade_id
    FROM generate_series(9, 0, -1) AS p (priority)
    CROSS JOIN LATERAL (
      SELECT r.cascade_id
      FROM public.cascade_runs AS r
      WHERE r.engine_id IS NULL
        AND r.needs IS NULL
        AND r.queue = $1::text
        AND r.priority = p.priority
        AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
        AND r.takeovers < $3::int4
      ORDER BY r.wake_at
      LIMIT 500
      FOR NO KEY UPDATE SKIP LOCKED) AS due
    UNION ALL
    SELECT due.cascade_id
    FROM unnest($2::text[]) AS n (node)
    CROSS JOIN LATERAL (
      SELECT r.cascade_id
      FROM public.cascade_runs AS r
      WHERE r.engine_id IS NULL
        AND r.needs = n.node
        AND r.queue = $1::text
        AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
        AND r.takeovers < $3::int4
      ORDER BY r.priority DESC, r.wake_at
      LIMIT 500
      FOR NO KEY UPDATE SKIP LOCKED) AS due
    WHERE n.node <> 'cascade.turn') AS f
  LIMIT 500),
sorted AS (
  UPDATE public.cascade_runs AS r
  SET needs = 'cascade.turn',
    limit_key = COALESCE(NULLIF(r.limit_key, ''), (
      SELECT c.user_id
      FROM public.cascades AS c
      WHERE c.id = r.cascade_id
        AND octet_length(c.user_id) <= 255), '')
  FROM few
  WHERE r.cascade_id = ANY (ARRAY[few.cascade_id])
    AND r.engine_id IS NULL
    AND (r.needs IS NULL OR r.needs = ANY ($2::text[]))
  RETURNING 1)
SELECT count(*) FROM sorted;

-- name: turn_take
--
-- Goes from key to key, around the end, and takes of each what there is room
-- for. The walk has a row for each key: one look-up finds it, one counts its
-- slots. It stops when as many keys have room as runs are wanted. Then each
-- gives its share, and of these the first of all keys come before the second of
-- any. IS NOT DISTINCT FROM keeps the UPDATE from the index of all that wait.
--
--   kind  row
--   1     a run that was taken: its number among those of its key, and the
--         place of that in the walk
--   2     where the walk has stopped: whether as many keys had room as there was
--         in all, how much that was, how many keys it was at, and where the next
--         begins
--
-- No such row: there is no room in the queue.
--
-- Index: cascade_queues_pkey, cascade_runs_turn_idx, cascade_runs_slot_idx,
-- cascade_runs_pkey. Locks: the runs.
--
-- $1 engine, $2 queue, $3 the walk begins there, $4 at most, $5 suspects from
-- so many takeovers
WITH RECURSIVE kept AS MATERIALIZED (
  SELECT q.key_running_max, LEAST($4::int8, CASE WHEN q.running_max > 0
    THEN q.running_max - (
      SELECT count(*)
      FROM (
        SELECT 1
        FROM public.cascade_runs AS s
        WHERE s.engine_id IS NOT NULL
          AND s.slot > 0
          AND s.queue = $2::text
        ORDER BY s.limit_key
        LIMIT q.running_max) AS used) END) AS room
  FROM public.cascade_queues AS q
  WHERE q.queue = $2::text
    AND q.paused_at = 0),
walk (limit_key, from_key, around, step, room, found) AS (
  SELECT NULL::text COLLATE "C", $3::text COLLATE "C", $3::text = '', 0,
    0::int8, 0::int8
  FROM kept
  WHERE room > 0
  UNION ALL
  SELECT n.limit_key, n.limit_key || chr(1), n.around, w.step + 1, n.room,
    w.found + LEAST(n.room, 1)
  FROM walk AS w
  CROSS JOIN kept AS q
  CROSS JOIN LATERAL (
    SELECT k.limit_key, k.around, CASE WHEN q.key_running_max > 0
      THEN GREATEST(q.key_running_max - (
        SELECT count(*)
        FROM (
          SELECT 1
          FROM public.cascade_runs AS s
          WHERE s.engine_id IS NOT NULL
            AND s.slot > 0
            AND s.queue = $2::text
            AND s.limit_key >= k.limit_key
            AND s.limit_key <= k.limit_key
          ORDER BY s.limit_key
          LIMIT q.key_running_max) AS used), 0)
      ELSE q.room END AS room
    FROM (
      SELECT w.around OR next.limit_key IS NULL AS around,
        COALESCE(next.limit_key, CASE WHEN NOT w.around THEN (
          SELECT r.limit_key
          FROM public.cascade_runs AS r
          WHERE r.engine_id IS NULL
            AND r.needs = 'cascade.turn'
            AND r.queue = $2::text
          ORDER BY r.limit_key
          LIMIT 1) END) AS limit_key
      FROM (
        SELECT (
          SELECT r.limit_key
          FROM public.cascade_runs AS r
          WHERE r.engine_id IS NULL
            AND r.needs = 'cascade.turn'
            AND r.queue = $2::text
            AND r.limit_key >= w.from_key
          ORDER BY r.limit_key
          LIMIT 1) AS limit_key
        OFFSET 0) AS next
      OFFSET 0) AS k
    WHERE k.limit_key IS NOT NULL
      AND ($3::text = '' OR NOT k.around OR k.limit_key < $3::text)
    OFFSET 0) AS n
  WHERE w.step < 64 /* CASCADE_CLAIM_KEYS_MAX */
    AND w.found < q.room),
share AS MATERIALIZED (
  SELECT (max(q.room) + count(*) - 1) / GREATEST(count(*), 1) AS runs
  FROM walk AS w
  CROSS JOIN kept AS q
  WHERE w.room > 0),
chosen AS MATERIALIZED (
  SELECT c.cascade_id, c.nth, w.step
  FROM walk AS w
  CROSS JOIN LATERAL (
    SELECT f.cascade_id, row_number() OVER () AS nth
    FROM (
      SELECT r.cascade_id
      FROM public.cascade_runs AS r
      WHERE r.engine_id IS NULL
        AND r.needs = 'cascade.turn'
        AND r.queue = $2::text
        AND r.limit_key >= w.limit_key
        AND r.limit_key <= w.limit_key
        AND r.takeovers < $5::int4
      ORDER BY r.limit_key, r.priority DESC, r.wake_at
      LIMIT LEAST(w.room, (SELECT runs FROM share))
      FOR NO KEY UPDATE SKIP LOCKED) AS f) AS c
  WHERE w.room > 0
  ORDER BY c.nth, w.step
  LIMIT (SELECT room FROM kept)),
taken AS (
  UPDATE public.cascade_runs AS r
  SET engine_id = $1::uuid,
    claim_no = LEAST(r.claim_no, 9223372036854775806) + 1,
    needs = NULL,
    slot = 1
  FROM chosen AS c
  WHERE r.cascade_id = ANY (ARRAY[c.cascade_id])
    AND r.engine_id IS NULL
    AND r.needs IS NOT DISTINCT FROM 'cascade.turn'
  RETURNING r.cascade_id, r.claim_no, r.takeovers, r.trial, c.nth, c.step)
SELECT 1, cascade_id, claim_no, takeovers, trial, nth, step, NULL::text
FROM taken
UNION ALL
SELECT 2, NULL, NULL, (last.found >= q.room)::int4, NULL, q.room, last.step,
  last.from_key
FROM (
  SELECT step, found, from_key
  FROM walk
  ORDER BY step DESC
  LIMIT 1) AS last
CROSS JOIN kept AS q;

-- name: turn_suspect
--
-- Takes one suspect, the first of some that has room.
--
-- Index: cascade_queues_pkey, cascade_runs_suspect_idx, cascade_runs_slot_idx,
-- cascade_runs_pkey, cascades_pkey. Locks: the run.
--
-- $1 engine, $2 queue, $3 nodes, $4 suspects from so many takeovers
WITH one AS MATERIALIZED (
  SELECT s.cascade_id, s.limit_key
  FROM (
    SELECT r.cascade_id, COALESCE(NULLIF(r.limit_key, ''), (
      SELECT c.user_id
      FROM public.cascades AS c
      WHERE c.id = r.cascade_id
        AND octet_length(c.user_id) <= 255), '') AS limit_key
    FROM public.cascade_runs AS r
    WHERE r.engine_id IS NULL
      AND (r.needs IS NULL OR r.needs = ANY ($3::text[]))
      AND r.queue = $2::text
      AND r.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
      AND r.takeovers > 0
      AND r.takeovers >= $4::int4
    ORDER BY r.priority DESC, r.wake_at
    LIMIT 64
    FOR NO KEY UPDATE SKIP LOCKED) AS s
  WHERE (
    SELECT (q.running_max = 0
        OR (
          SELECT count(*)
          FROM (
            SELECT 1
            FROM public.cascade_runs AS u
            WHERE u.engine_id IS NOT NULL
              AND u.slot > 0
              AND u.queue = $2::text
            ORDER BY u.limit_key
            LIMIT q.running_max) AS used) < q.running_max)
      AND (q.key_running_max = 0
        OR (
          SELECT count(*)
          FROM (
            SELECT 1
            FROM public.cascade_runs AS u
            WHERE u.engine_id IS NOT NULL
              AND u.slot > 0
              AND u.queue = $2::text
              AND u.limit_key >= s.limit_key
              AND u.limit_key <= s.limit_key
            ORDER BY u.limit_key
            LIMIT q.key_running_max) AS used) < q.key_running_max)
    FROM public.cascade_queues AS q
    WHERE q.queue = $2::text
      AND q.paused_at = 0)
  LIMIT 1)
UPDATE public.cascade_runs AS r
SET engine_id = $1::uuid,
  claim_no = LEAST(r.claim_no, 9223372036854775806) + 1,
  needs = NULL,
  slot = 1,
  limit_key = one.limit_key,
  trial = LEAST(r.trial, 2147483646) + 1
FROM one
WHERE r.cascade_id = ANY (ARRAY[one.cascade_id])
  AND r.engine_id IS NULL
RETURNING 1, r.cascade_id, r.claim_no, r.takeovers, r.trial, 1::int8, 1,
  NULL::text;
