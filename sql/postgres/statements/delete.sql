-- SPDX-License-Identifier: MIT
--
-- Deletes whole cascades, at once or in pieces: see delete.c. A piece takes
-- rows of those that are marked, in the order of the cascades and then as it
-- says, until there are enough of them, or of their bytes: S39. For each
-- cascade it is one look into an index, which is left early; that it is
-- bounded by a number which the planner sees keeps it so. Rows that are dead
-- already, of pieces before, are passed in the index.

-- name: mark
--
-- Marks cascades: from now on they are not there. S40.
--
-- Index: cascades_pkey.
--
-- $1 cascades
INSERT INTO public.cascade_erasures (cascade_id, engine_id, marked_at)
SELECT c.id, NULL, floor(extract(epoch FROM now()) * 1000)::int8
FROM unnest($1::uuid[]) AS g (id)
JOIN public.cascades AS c ON c.id = ANY (ARRAY[g.id])
ON CONFLICT (cascade_id) DO NOTHING;

-- name: cut_events
--
-- A piece of the events.
--
-- Index: cascade_erasures_pkey, context_events_cascade_function_idx,
-- context_events_pkey.
--
-- $1 cascades, $2 rows at most
WITH found AS MATERIALIZED (
  SELECT x.id, x.bytes, row_number() OVER () AS place
  FROM (
    SELECT r.id, r.bytes
    FROM unnest($1::uuid[]) AS u (id)
    JOIN public.cascade_erasures AS g
      ON g.cascade_id = ANY (ARRAY[u.id])
    CROSS JOIN LATERAL (
      SELECT t.id, pg_column_size(t.value)
        + COALESCE(pg_column_size(t.ui_value), 0) AS bytes
      FROM public.context_events AS t
      WHERE t.cascade_id = g.cascade_id
      ORDER BY t.function_id DESC
      LIMIT 500 /* CASCADE_DELETE_ROWS_MAX */) AS r
    LIMIT $2::int8) AS x),
few AS (
  SELECT id, sum(bytes) OVER (ORDER BY place) - bytes AS before
  FROM found)
DELETE FROM public.context_events AS r
USING few
WHERE r.id = ANY (ARRAY[few.id])
  AND few.before < (1 << 20) /* CASCADE_DELETE_BYTES_MAX */;

-- name: cut_executions
--
-- A piece of the executions, of cascades without events. Of the cut rows of
-- runs that lead on, the paths that these have received are kept (S83): p leads
-- from a run to its chain, c. The numbers are those of chain.h: 2147483648 is
-- one run.
--
-- Index: cascade_erasures_pkey, node_executions_cascade_function_unique,
-- context_events_cascade_function_idx, node_executions_pkey,
-- cascade_links_pkey.
--
-- $1 cascades, $2 rows at most
WITH found AS MATERIALIZED (
  SELECT x.id, x.bytes, row_number() OVER () AS place
  FROM (
    SELECT r.id, r.bytes
    FROM unnest($1::uuid[]) AS u (id)
    JOIN public.cascade_erasures AS g
      ON g.cascade_id = ANY (ARRAY[u.id])
    CROSS JOIN LATERAL (
      SELECT t.id, pg_column_size(t.input_context)
        + COALESCE(pg_column_size(t.full_output), 0)
        + COALESCE(pg_column_size(t.error), 0) AS bytes
      FROM public.node_executions AS t
      WHERE t.cascade_id = g.cascade_id
      ORDER BY t.function_id DESC
      LIMIT 500 /* CASCADE_DELETE_ROWS_MAX */) AS r
    WHERE (SELECT true FROM public.context_events AS w
        WHERE w.cascade_id = g.cascade_id
        LIMIT 1) IS NULL
    LIMIT $2::int8) AS x),
few AS (
  SELECT id, sum(bytes) OVER (ORDER BY place) - bytes AS before
  FROM found),
cut AS (
  DELETE FROM public.node_executions AS r
  USING few
  WHERE r.id = ANY (ARRAY[few.id])
    AND few.before < (1 << 20) /* CASCADE_DELETE_BYTES_MAX */
  RETURNING r.cascade_id, r.function_id, r.node_instance_id)
INSERT INTO public.cascade_links (path, root, number)
SELECT k.node_instance_id, p.root, k.function_id::int8 + 1::int8
  + CASE WHEN p.number < 0::int8 THEN 2147483648::int8
    ELSE p.number - 2147483648::int8 END
FROM cut AS k
JOIN public.cascade_links AS p
  ON p.path = ANY (ARRAY[k.cascade_id::text])
JOIN public.cascade_links AS c ON c.path = ANY (ARRAY[p.root::text])
WHERE c.next_id <> k.cascade_id
  AND left(k.node_instance_id, 45) = p.root::text || '/message/'
ON CONFLICT (path) DO NOTHING;

-- name: cut_messages
--
-- A piece of the messages, of cascades without executions.
--
-- Index: cascade_erasures_pkey, cascade_messages_cascade_idx,
-- node_executions_cascade_function_unique, cascade_messages_pkey.
--
-- $1 cascades, $2 rows at most
WITH found AS MATERIALIZED (
  SELECT x.id, x.bytes, row_number() OVER () AS place
  FROM (
    SELECT r.id, r.bytes
    FROM unnest($1::uuid[]) AS u (id)
    JOIN public.cascade_erasures AS g
      ON g.cascade_id = ANY (ARRAY[u.id])
    CROSS JOIN LATERAL (
      SELECT t.id, pg_column_size(t.payload) AS bytes
      FROM public.cascade_messages AS t
      WHERE t.cascade_id = g.cascade_id
      ORDER BY t.id
      LIMIT 500 /* CASCADE_DELETE_ROWS_MAX */) AS r
    WHERE (SELECT true FROM public.node_executions AS w
        WHERE w.cascade_id = g.cascade_id
        LIMIT 1) IS NULL
    LIMIT $2::int8) AS x),
few AS (
  SELECT id, sum(bytes) OVER (ORDER BY place) - bytes AS before
  FROM found)
DELETE FROM public.cascade_messages AS r
USING few
WHERE r.id = ANY (ARRAY[few.id])
  AND few.before < (1 << 20) /* CASCADE_DELETE_BYTES_MAX */;

-- name: trim_receipts
--
-- Deletes all but the last paths of the chains of these runs. Two who enter what
-- runs of one chain have received do not see each other's: the next one takes
-- what is too much then.
--
-- Index: cascade_links_pkey, cascade_links_root.
--
-- $1 cascades
DELETE FROM public.cascade_links AS l
USING (
  SELECT d.root, (
    SELECT m.number
    FROM public.cascade_links AS m
    WHERE m.root = d.root
      AND m.number > 0::int8
    ORDER BY m.number DESC
    LIMIT 1::int8 OFFSET 10000 /* CASCADE_LINKS_MAX */::int8) AS number
  FROM (
    SELECT DISTINCT p.root
    FROM unnest($1::uuid[]) AS g (id)
    JOIN public.cascade_links AS p
      ON p.path = ANY (ARRAY[g.id::text])) AS d
  OFFSET 0) AS b
WHERE l.root = b.root
  AND l.number > 0::int8
  AND l.number <= b.number;

-- name: cut_cascades
--
-- The cascades of which nothing else is left.
--
-- Index: cascade_erasures_pkey, cascades_pkey and the three above.
--
-- $1 cascades
DELETE FROM public.cascades AS c
USING unnest($1::uuid[]) AS u (id)
  JOIN public.cascade_erasures AS g
    ON g.cascade_id = ANY (ARRAY[u.id])
WHERE c.id = ANY (ARRAY[g.cascade_id])
  AND (SELECT true FROM public.context_events AS w
      WHERE w.cascade_id = g.cascade_id
      LIMIT 1) IS NULL
  AND (SELECT true FROM public.node_executions AS w
      WHERE w.cascade_id = g.cascade_id
      LIMIT 1) IS NULL
  AND (SELECT true FROM public.cascade_messages AS w
      WHERE w.cascade_id = g.cascade_id
      LIMIT 1) IS NULL;

-- name: cut_erasures
--
-- The marks of those that are gone.
--
-- Index: cascade_erasures_pkey, cascades_pkey.
--
-- $1 cascades
DELETE FROM public.cascade_erasures AS x
USING unnest($1::uuid[]) AS g (id)
WHERE x.cascade_id = ANY (ARRAY[g.id])
  AND (SELECT true FROM public.cascades AS c
    WHERE c.id = g.id) IS NULL;

-- name: read_marked
--
-- Which are marked.
--
-- Index: cascade_erasures_pkey.
--
-- $1 cascades
SELECT x.cascade_id
FROM unnest($1::uuid[]) AS g (id)
JOIN public.cascade_erasures AS x
  ON x.cascade_id = ANY (ARRAY[g.id]);

-- name: erase_take
--
-- The marks of an engine, or those that it takes now, because nobody who lives
-- works at them; without an engine those that nobody works at, which stay so.
--
-- Index: cascade_erasures_pkey, cascade_engines_pkey.
--
-- $1 engine, or NULL
WITH own AS MATERIALIZED (
  SELECT x.cascade_id
  FROM public.cascade_erasures AS x
  WHERE CASE WHEN $1::uuid IS NULL THEN (x.engine_id IS NULL
      OR (SELECT true FROM public.cascade_engines AS e
        WHERE e.engine_id = x.engine_id) IS NULL)
    ELSE x.engine_id = $1::uuid END
  ORDER BY x.cascade_id
  LIMIT 100),
taken AS (
  UPDATE public.cascade_erasures AS x
  SET engine_id = $1::uuid
  FROM (
    SELECT y.cascade_id
    FROM public.cascade_erasures AS y
    WHERE (y.engine_id IS NULL
      OR (SELECT true FROM public.cascade_engines AS e
        WHERE e.engine_id = y.engine_id) IS NULL)
    ORDER BY y.cascade_id
    LIMIT 100) AS few
  WHERE x.cascade_id = ANY (ARRAY[few.cascade_id])
    AND (x.engine_id IS NULL
      OR (SELECT true FROM public.cascade_engines AS e
        WHERE e.engine_id = x.engine_id) IS NULL)
    AND $1::uuid IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM own)
  RETURNING x.cascade_id)
SELECT cascade_id FROM own
UNION ALL
SELECT cascade_id FROM taken;

-- name: erase_lock
--
-- Locks marks: a piece that comes late waits here for the one before.
--
-- Index: cascade_erasures_pkey.
--
-- $1 cascades
SELECT count(*)
FROM (
  SELECT 1
  FROM public.cascade_erasures
  WHERE cascade_id = ANY ($1::uuid[])
  ORDER BY cascade_id
  FOR UPDATE) AS locked;
