-- SPDX-License-Identifier: MIT
--
-- Messages and keys: see messages.c.

-- name: get_status
-- verb: look up a cascade
--
-- The status of a cascade that is there.
--
-- ?1 cascade
SELECT status
FROM main.cascades
WHERE id = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?1);

-- name: insert_message
-- verb: insert a message
--
-- Inserts a message, but none that was received before.
--
-- ?1 cascade, ?2 kind, ?3 name, ?4 path, ?5 payload, ?6 sent, ?7 seal
INSERT INTO main.cascade_messages
  (cascade_id, kind, name, path, payload,
   sent_at, seal)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
WHERE NOT EXISTS (
  SELECT 1 FROM main.node_executions
  WHERE node_instance_id = ?4)
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_links
    WHERE path = ?4)
ON CONFLICT (path) DO NOTHING;

-- name: delete_message
-- verb: delete a message
--
-- Deletes a message that was received.
--
-- ?1 id, ?2 the cascade that received it
DELETE FROM main.cascade_messages
WHERE id = ?1 AND cascade_id = ?2;

-- name: find_path
-- verb: look up a path
--
-- Rows if a path is known. What is marked gets nothing, not even that it has
-- had it.
--
-- ?1 path, ?2 whom it is for
SELECT 1 FROM main.cascade_messages
WHERE path = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?2)
UNION ALL
SELECT 1 FROM main.node_executions
WHERE node_instance_id = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?2)
UNION ALL
SELECT 1 FROM main.cascade_links
WHERE path = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?2);

-- name: locate_path
-- verb: find a path
--
-- Where a path is known, or what leads on, also from a marked run that has
-- received it: what is there comes first.
--
-- ?1 path
SELECT m.cascade_id, NULL, NULL FROM main.cascade_messages AS m
WHERE m.path = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = m.cascade_id)
UNION ALL
SELECT n.cascade_id, NULL, NULL FROM main.node_executions AS n
WHERE n.node_instance_id = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = n.cascade_id)
UNION ALL
SELECT c.next_id, l.root, c.run_number
FROM main.cascade_links AS l
JOIN main.cascade_links AS c ON c.path = l.root
WHERE l.path = ?1
UNION ALL
SELECT c.next_id, p.root, c.run_number
FROM main.node_executions AS n
JOIN main.cascade_links AS p ON p.path = n.cascade_id
JOIN main.cascade_links AS c ON c.path = p.root
WHERE n.node_instance_id = ?1 AND c.next_id <> n.cascade_id
  AND substr(?1, 1, 45) = p.root || '/message/';

-- name: get_key
-- verb: look up a key
--
-- The run that a key stands at.
--
-- ?1 user, ?2 key
SELECT run_number
FROM main.cascade_keys
WHERE user_id = ?1 AND key = ?2;

-- name: set_key
-- verb: write a key
--
-- Moves a key on.
--
-- ?1 user, ?2 key, ?3 run
INSERT INTO main.cascade_keys (user_id, key, run_number)
VALUES (?1, ?2, ?3)
ON CONFLICT (user_id, key) DO UPDATE
SET run_number = excluded.run_number;
