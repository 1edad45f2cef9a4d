-- SPDX-License-Identifier: MIT
--
-- Messages, and the paths that tell what was sent before.

-- name: insert_sends
-- one: insert_send
--
-- Inserts what a batch sends. Ids are given in the order of the arrays, and
-- rows are inserted in the order of their paths, so that two that bring the
-- same ones wait for each other in one order only. Of a start's its execution
-- 0 is named: who finds it there has made it, now or in an earlier try.
--
-- Index: node_executions_node_instance_id_key, node_executions_pkey,
-- cascade_links_pkey, cascade_messages_path_key.
--
-- $1-$7 messages, $8 the execution 0, or NULL
WITH given AS MATERIALIZED (
  SELECT nextval((SELECT pg_get_serial_sequence(
      'public.cascade_messages', 'id')::regclass)) AS id, g.*
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[],
      $5::text[], $6::int8[], $7::text[], $8::uuid[])
    AS g (cascade_id, kind, name, path, payload, sent_at,
      seal, first_id))
INSERT INTO public.cascade_messages
  (id, cascade_id, kind, name, path, payload, sent_at, seal)
SELECT g.id, g.cascade_id, g.kind, g.name, g.path, g.payload::jsonb,
  g.sent_at, g.seal
FROM given AS g
WHERE (SELECT true FROM public.node_executions AS n
    WHERE n.node_instance_id = g.path) IS NULL
  AND (SELECT true FROM public.cascade_links AS l
    WHERE l.path = g.path) IS NULL
  AND (g.first_id IS NULL
    OR (SELECT true FROM public.node_executions AS n
      WHERE n.id = g.first_id))
ORDER BY g.path COLLATE "C", g.id
ON CONFLICT (path) DO NOTHING;

-- name: submit_messages
--
-- Inserts messages from outside, in the same two orders. Tells a cascade_sent
-- for each, in their order: REPEATED, ABSENT, SENT, ENDED. Of one for no
-- cascade its path tells, also by those before it; not where that is marked.
--
-- Index: node_executions_node_instance_id_key, cascade_links_pkey,
-- cascade_messages_path_key, cascades_pkey, cascade_erasures_pkey.
--
-- $1-$7 messages
WITH given AS MATERIALIZED (
  SELECT nextval((SELECT pg_get_serial_sequence(
      'public.cascade_messages', 'id')::regclass)) AS id, g.*
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[],
      $5::text[], $6::int8[], $7::text[])
    AS g (cascade_id, kind, name, path, payload, sent_at,
      seal)),
sent AS (
  INSERT INTO public.cascade_messages
    (id, cascade_id, kind, name, path, payload, sent_at, seal)
  SELECT g.id, g.cascade_id, g.kind, g.name, g.path, g.payload::jsonb,
    g.sent_at, g.seal
  FROM given AS g
  WHERE (SELECT true FROM public.node_executions AS n
      WHERE n.node_instance_id = g.path) IS NULL
    AND (SELECT true FROM public.cascade_links AS l
      WHERE l.path = g.path) IS NULL
    AND (SELECT true FROM public.cascades AS c
      WHERE c.id = g.cascade_id
        AND (SELECT true FROM public.cascade_erasures AS marked
            WHERE marked.cascade_id = c.id) IS NULL)
  ORDER BY g.path COLLATE "C", g.id
  ON CONFLICT (path) DO NOTHING
  RETURNING id, path)
SELECT CASE
  WHEN g.status IS NULL THEN CASE
    WHEN g.unmarked
      AND ((SELECT true FROM public.cascade_messages AS m
          WHERE m.path = g.path)
        OR (SELECT true FROM public.node_executions AS n
          WHERE n.node_instance_id = g.path)
        OR (SELECT true FROM public.cascade_links AS l
          WHERE l.path = g.path)
        OR (SELECT true FROM sent AS s
          WHERE s.path = g.path
            AND s.id < g.id)) THEN 3
    ELSE 4 END
  WHEN (g.id IN (SELECT id FROM sent)) IS NOT TRUE THEN 3
  WHEN g.status = 'RUNNING' THEN 1
  ELSE 2 END
FROM (
  SELECT id, path,
    (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = given.cascade_id) IS NULL AS unmarked, (
    SELECT c.status
    FROM public.cascades AS c
    WHERE c.id = given.cascade_id
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = c.id) IS NULL) AS status
  FROM given) AS g
ORDER BY g.id;

-- name: receive
--
-- The first messages of an engine's runs. From its runs, which are few, while
-- messages for others may be many: one is looked up for each run, and then the
-- first of those that have any.
--
-- Index: cascade_runs_engine_idx, cascade_messages_cascade_idx,
-- node_executions_node_instance_id_key, cascade_links_pkey.
--
-- $1 engine, $2 behind that cascade, $3 not of these, $4 at most, $5 of each,
-- $6 bytes
WITH owned AS MATERIALIZED (
  SELECT cascade_id
  FROM public.cascade_runs
  WHERE engine_id = $1::uuid)
SELECT m.id, m.cascade_id, m.kind, m.name, m.path, m.payload::text,
  m.sent_at, m.seal, (SELECT true FROM public.node_executions AS n
    WHERE n.node_instance_id = m.path) IS TRUE
  OR (SELECT true FROM public.cascade_links AS l
    WHERE l.path = m.path) IS TRUE
FROM (
  SELECT l.*, sum(100 + pg_column_size(l.payload))
      OVER (ORDER BY l.cascade_id, l.id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM (
    SELECT first.*
    FROM (
      SELECT o.cascade_id
      FROM owned AS o
      WHERE o.cascade_id > $2::uuid
        AND o.cascade_id <> ALL ($3::uuid[])
        AND (SELECT true FROM public.cascade_messages AS a
          WHERE a.cascade_id = o.cascade_id
          LIMIT 1)
      ORDER BY o.cascade_id
      LIMIT $4::int8) AS n
    CROSS JOIN LATERAL (
      SELECT *
      FROM public.cascade_messages
      WHERE cascade_id = n.cascade_id
      ORDER BY id
      LIMIT $5::int8) AS first
    ORDER BY n.cascade_id, first.id
    LIMIT $4::int8) AS l) AS m
WHERE bytes_before IS NULL
  OR bytes_before < $6::int8
ORDER BY m.cascade_id, m.id;

-- name: read_key
--
-- The run that a key stands at.
--
-- Index: cascade_keys_pkey.
--
-- $1 user, $2 key
SELECT run_number
FROM public.cascade_keys
WHERE user_id = $1::text
  AND key = $2::text;

-- name: find_paths
--
-- Where paths are known: first what leads on, also what a marked run has
-- received, then what is there.
--
-- Index: cascade_links_pkey, node_executions_node_instance_id_key,
-- cascade_messages_path_key, cascade_erasures_pkey.
--
-- $1 paths
SELECT g.nth, f.id, f.root, f.run_number
FROM unnest($1::text[]) WITH ORDINALITY AS g (path, nth),
  LATERAL (
    SELECT 1 AS place, c.next_id AS id, c.root AS root,
      COALESCE(c.run_number, 0::int4) AS run_number
    FROM public.cascade_links AS l, public.cascade_links AS c
    WHERE l.path = g.path
      AND c.path = l.root::text
    UNION ALL
    SELECT 1, c.next_id, c.root, COALESCE(c.run_number, 0::int4)
    FROM public.node_executions AS n
    JOIN public.cascade_links AS p
      ON p.path = ANY (ARRAY[n.cascade_id::text])
    JOIN public.cascade_links AS c ON c.path = ANY (ARRAY[p.root::text])
    WHERE n.node_instance_id = g.path
      AND c.next_id <> n.cascade_id
      AND left(g.path, 45) = p.root::text || '/message/'
    UNION ALL
    SELECT 2, n.cascade_id, NULL::uuid, NULL::int4
    FROM public.node_executions AS n
    WHERE n.node_instance_id = g.path
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = n.cascade_id) IS NULL
    UNION ALL
    SELECT 3, m.cascade_id, NULL::uuid, NULL::int4
    FROM public.cascade_messages AS m
    WHERE m.path = g.path
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = m.cascade_id) IS NULL) AS f
ORDER BY g.nth, f.place;
