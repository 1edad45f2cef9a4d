-- SPDX-License-Identifier: MIT
--
-- Links from the runs of a chain to its last one: see links.c.

-- name: link_chains
-- one: link_chain
--
-- Enters the last run of chains. Two who enter a run of one root come one
-- after the other. What the indexes are made of never changes, so that a row
-- is written to the page that it is on.
--
-- Index: cascade_links_pkey, node_executions_pkey. Locks: the row of each
-- root.
--
-- $1 roots, $2 their last runs, $3 the numbers of these, $4 of a start its
-- execution 0, as for INSERT_SENDS
INSERT INTO public.cascade_links AS l
  (path, root, next_id, number, run_number)
SELECT g.root::text, g.root, g.next_id, (-1)::int8, g.run_number
FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::uuid[])
  AS g (root, next_id, run_number, first_id)
WHERE g.first_id IS NULL
  OR (SELECT true FROM public.node_executions AS n
    WHERE n.id = g.first_id)
ORDER BY g.root
ON CONFLICT (path) DO UPDATE
SET next_id = CASE WHEN excluded.run_number > COALESCE(l.run_number, 0::int4)
    THEN excluded.next_id ELSE l.next_id END,
  run_number = CASE WHEN excluded.run_number > COALESCE(l.run_number, 0::int4)
    THEN excluded.run_number ELSE l.run_number END;

-- name: link_paths
--
-- Inserts the paths of a run that is deleted, of which those that are new.
--
-- Index: cascade_links_pkey.
--
-- $1 root, $2 paths, $3 their places
INSERT INTO public.cascade_links (path, root, number)
SELECT g.path, $1::uuid, g.number
FROM unnest($2::text[], $3::int8[]) AS g (path, number)
WHERE (SELECT true FROM public.cascade_links AS l
    WHERE l.path = g.path) IS NULL
ON CONFLICT (path) DO NOTHING;

-- name: trim_links
--
-- Deletes all but the last paths of a chain.
--
-- Index: cascade_links_root.
--
-- $1 root, $2 how many to keep
DELETE FROM public.cascade_links AS l
WHERE l.root = $1::uuid
  AND l.number > 0::int8
  AND l.number <= (
    SELECT m.number
    FROM public.cascade_links AS m
    WHERE m.root = $1::uuid
      AND m.number > 0::int8
    ORDER BY m.number DESC
    LIMIT 1::int8 OFFSET $2::int8);

-- name: find_gone
--
-- Roots, and whether the last run of each is gone.
--
-- Index: cascade_links_roots, cascades_pkey, cascade_erasures_pkey.
--
-- $1 above, $2 up to, $3 how many
SELECT l.root, (
  SELECT true
  FROM public.cascades AS c
  WHERE c.id = l.next_id
    AND (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = c.id) IS NULL) IS NULL
FROM public.cascade_links AS l
WHERE l.number < 0::int8
  AND l.root > $1::uuid
  AND l.root <= $2::uuid
ORDER BY l.root
LIMIT $3::int8;

-- name: sweep_paths
--
-- Deletes paths of chains.
--
-- Index: cascade_links_root, cascade_links_pkey.
--
-- $1 roots, $2 how many
DELETE FROM public.cascade_links
WHERE path IN (
  SELECT l.path
  FROM public.cascade_links AS l
  WHERE l.root = ANY ($1::uuid[])
    AND l.number > 0::int8
  ORDER BY l.root, l.number
  LIMIT $2::int8)
RETURNING 1;

-- name: sweep_roots
--
-- Deletes roots of which nothing else is left.
--
-- Index: cascade_links_root.
--
-- $1 roots
DELETE FROM public.cascade_links AS c
WHERE c.root = ANY ($1::uuid[])
  AND c.number < 0::int8
  AND NOT EXISTS (
    SELECT 1
    FROM public.cascade_links AS l
    WHERE l.root = c.root
      AND l.number > 0::int8);
