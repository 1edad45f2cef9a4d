-- SPDX-License-Identifier: MIT
--
-- Seals of cascades: see seals.c.

-- name: write_seal
-- verb: write a seal
--
-- Writes a seal; one that is there is replaced.
--
-- ?1 cascade, ?2 number, ?3 seal
INSERT INTO main.cascade_seals (cascade_id, number, seal)
VALUES (?1, ?2, ?3)
ON CONFLICT (cascade_id) DO UPDATE
SET number = excluded.number, seal = excluded.seal;

-- name: update_seal
-- verb: write a seal
--
-- Writes a seal that is there, at less cost.
--
-- ?1 cascade, ?2 number, ?3 seal
UPDATE main.cascade_seals
SET number = ?2, seal = ?3
WHERE cascade_id = ?1;

-- name: delete_seal
-- verb: delete a seal
--
-- Deletes a seal.
--
-- ?1 cascade
DELETE FROM main.cascade_seals
WHERE cascade_id = ?1;

-- name: get_seal
-- verb: look up a seal
--
-- Reads a seal.
--
-- ?1 cascade
SELECT cascade_id, number, seal
FROM main.cascade_seals
WHERE cascade_id = ?1;

-- name: list_seals
-- verb: list seals
--
-- A page of all seals.
--
-- ?1 after, ?2 limit
SELECT cascade_id, number, seal
FROM main.cascade_seals
WHERE cascade_id > ?1
ORDER BY cascade_id
LIMIT ?2;
