-- SPDX-License-Identifier: MIT
--
-- Links from the runs of a chain to its last one: see links.c.

-- name: link_chain
-- verb: link runs
--
-- Enters the last run of a chain. What the indexes are made of never changes.
--
-- ?1 root, ?2 next, ?3 the number of the run that is linked
INSERT INTO main.cascade_links
  (path, root, next_id, number, run_number)
VALUES (?1, ?1, ?2, -1, ?3)
ON CONFLICT (path) DO UPDATE
SET next_id = excluded.next_id, run_number = excluded.run_number
WHERE excluded.run_number > coalesce(cascade_links.run_number, 0);

-- name: link_path
-- verb: link a path
--
-- Enters a path.
--
-- ?1 path, ?2 root, ?3 its place
INSERT INTO main.cascade_links (path, root, number)
VALUES (?1, ?2, ?3)
ON CONFLICT (path) DO NOTHING;

-- name: trim_links
-- verb: trim links
--
-- Deletes all but the last paths of a chain.
--
-- ?1 root, ?2 how many to keep
DELETE FROM main.cascade_links
WHERE root = ?1 AND number > 0 AND number <= (
  SELECT number FROM main.cascade_links
  WHERE root = ?1 AND number > 0
  ORDER BY number DESC
  LIMIT 1 OFFSET ?2);

-- name: find_gone
-- verb: find links
--
-- Roots, and whether the last run of each is gone.
--
-- ?1 above, ?2 up to, ?3 how many
SELECT root, NOT EXISTS (
  SELECT 1 FROM main.cascades AS c
  WHERE c.id = l.next_id
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS unmarked
      WHERE unmarked.cascade_id = c.id))
FROM main.cascade_links AS l
WHERE number < 0 AND root > ?1 AND root <= ?2
ORDER BY root
LIMIT ?3;

-- name: sweep_paths
-- verb: sweep links
--
-- Deletes paths of a chain.
--
-- ?1 root, ?2 how many
DELETE FROM main.cascade_links
WHERE path IN (
  SELECT path FROM main.cascade_links
  WHERE root = ?1 AND number > 0
  ORDER BY number
  LIMIT ?2);

-- name: sweep_root
-- verb: sweep a root
--
-- Deletes a root.
--
-- ?1 root
DELETE FROM main.cascade_links
WHERE path = ?1;
