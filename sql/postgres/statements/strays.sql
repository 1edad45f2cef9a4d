-- SPDX-License-Identifier: MIT
--
-- Rows that belong to nothing: ids above $1, $2 of them, one seek in the index
-- of the column each, and whether there is not what they name.

-- name: stray_executions
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.cascade_id
    FROM public.node_executions AS t
    WHERE t.cascade_id > $1::uuid
    ORDER BY t.cascade_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.cascade_id
    FROM public.node_executions AS t
    WHERE t.cascade_id > ids.id
    ORDER BY t.cascade_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascades AS c
  WHERE c.id = ids.id) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_events
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.cascade_id
    FROM public.context_events AS t
    WHERE t.cascade_id > $1::uuid
    ORDER BY t.cascade_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.cascade_id
    FROM public.context_events AS t
    WHERE t.cascade_id > ids.id
    ORDER BY t.cascade_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascades AS c
  WHERE c.id = ids.id) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_runs
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_runs AS t
    WHERE t.cascade_id > $1::uuid
    ORDER BY t.cascade_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_runs AS t
    WHERE t.cascade_id > ids.id
    ORDER BY t.cascade_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascades AS c
  WHERE c.id = ids.id) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_messages
--
-- $1 above, $2 how many, $3 so many ms old
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_messages AS t
    WHERE t.cascade_id > $1::uuid
    ORDER BY t.cascade_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_messages AS t
    WHERE t.cascade_id > ids.id
    ORDER BY t.cascade_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascades AS c
  WHERE c.id = ids.id) IS NULL
  AND (SELECT m.sent_at
    FROM public.cascade_messages AS m
    WHERE m.cascade_id = ids.id
    ORDER BY m.id
    LIMIT 1) < floor(extract(epoch FROM now()) * 1000)::int8 - $3::int8
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_erasures
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_erasures AS t
    WHERE t.cascade_id > $1::uuid
    ORDER BY t.cascade_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.cascade_id
    FROM public.cascade_erasures AS t
    WHERE t.cascade_id > ids.id
    ORDER BY t.cascade_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascades AS c
  WHERE c.id = ids.id) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_lanes
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.engine_id
    FROM public.cascade_lanes AS t
    WHERE t.engine_id > $1::uuid
    ORDER BY t.engine_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.engine_id
    FROM public.cascade_lanes AS t
    WHERE t.engine_id > ids.id
    ORDER BY t.engine_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascade_engines AS e
  WHERE e.engine_id = ids.id) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;

-- name: stray_engines
--
-- Engines without a lane 0.
--
-- $1 above, $2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (
    SELECT t.engine_id
    FROM public.cascade_engines AS t
    WHERE t.engine_id > $1::uuid
    ORDER BY t.engine_id
    LIMIT 1), 1::int8
  UNION ALL
  SELECT (
    SELECT t.engine_id
    FROM public.cascade_engines AS t
    WHERE t.engine_id > ids.id
    ORDER BY t.engine_id
    LIMIT 1), ids.place + 1
  FROM ids
  WHERE ids.id IS NOT NULL
    AND ids.place < $2::int8)
SELECT ids.id, (SELECT true
  FROM public.cascade_lanes AS l
  WHERE l.engine_id = ids.id
    AND l.lane = 0) IS NULL
FROM ids
WHERE ids.id IS NOT NULL
ORDER BY ids.place;
