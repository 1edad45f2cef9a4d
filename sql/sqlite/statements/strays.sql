-- SPDX-License-Identifier: MIT
--
-- Rows that belong to nothing: ids above ?1, ?2 of them, one seek each, and
-- whether there is not what they name. See strays.c.

-- name: stray_executions
-- verb: look for strays
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT cascade_id
    FROM main.node_executions
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT cascade_id
    FROM main.node_executions
    WHERE cascade_id > ids.id
    ORDER BY cascade_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = ids.id)
FROM ids
WHERE id IS NOT NULL;

-- name: stray_events
-- verb: look for strays
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT cascade_id
    FROM main.context_events
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT cascade_id
    FROM main.context_events
    WHERE cascade_id > ids.id
    ORDER BY cascade_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = ids.id)
FROM ids
WHERE id IS NOT NULL;

-- name: stray_runs
-- verb: look for strays
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT cascade_id
    FROM main.cascade_runs
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT cascade_id
    FROM main.cascade_runs
    WHERE cascade_id > ids.id
    ORDER BY cascade_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = ids.id)
FROM ids
WHERE id IS NOT NULL;

-- name: stray_messages
-- verb: look for strays
--
-- ?1 above, ?2 how many, ?3 sent before that
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT cascade_id
    FROM main.cascade_messages
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT cascade_id
    FROM main.cascade_messages
    WHERE cascade_id > ids.id
    ORDER BY cascade_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = ids.id)
  AND (SELECT m.sent_at
    FROM main.cascade_messages AS m
    WHERE m.cascade_id = ids.id
    ORDER BY m.id
    LIMIT 1) < ?3
FROM ids
WHERE id IS NOT NULL;

-- name: stray_erasures
-- verb: look for strays
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT cascade_id
    FROM main.cascade_erasures
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT cascade_id
    FROM main.cascade_erasures
    WHERE cascade_id > ids.id
    ORDER BY cascade_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = ids.id)
FROM ids
WHERE id IS NOT NULL;

-- name: stray_lanes
-- verb: look for strays
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT engine_id
    FROM main.cascade_lanes
    WHERE engine_id > ?1
    ORDER BY engine_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT engine_id
    FROM main.cascade_lanes
    WHERE engine_id > ids.id
    ORDER BY engine_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascade_engines AS e
  WHERE e.engine_id = ids.id)
FROM ids
WHERE id IS NOT NULL;

-- name: stray_engines
-- verb: look for strays
--
-- Engines without a lane 0.
--
-- ?1 above, ?2 how many
WITH RECURSIVE ids (id, place) AS (
  SELECT (SELECT engine_id
    FROM main.cascade_engines
    WHERE engine_id > ?1
    ORDER BY engine_id
    LIMIT 1), 1
  UNION ALL
  SELECT (SELECT engine_id
    FROM main.cascade_engines
    WHERE engine_id > ids.id
    ORDER BY engine_id
    LIMIT 1),
    place + 1
  FROM ids
  WHERE ids.id IS NOT NULL AND place < ?2)
SELECT id, NOT EXISTS (
  SELECT 1 FROM main.cascade_lanes AS l
  WHERE l.engine_id = ids.id AND l.lane = 0)
FROM ids
WHERE id IS NOT NULL;
