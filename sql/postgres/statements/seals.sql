-- SPDX-License-Identifier: MIT
--
-- Seals of cascades.

-- name: write_seals
-- one: write_seal
--
-- Writes seals; one that is there is replaced.
--
-- Index: cascade_seals_pkey.
--
-- $1-$3 cascades, numbers and seals
INSERT INTO public.cascade_seals (cascade_id, number, seal)
SELECT g.cascade_id, g.number, g.seal
FROM unnest($1::uuid[], $2::int8[], $3::text[])
  AS g (cascade_id, number, seal)
ON CONFLICT (cascade_id) DO UPDATE
SET number = excluded.number,
  seal = excluded.seal;

-- name: load_seals
--
-- The seals of cascades that are there.
--
-- Index: cascades_pkey, cascade_seals_pkey, cascade_erasures_pkey.
--
-- $1 cascades
SELECT s.cascade_id, s.number, s.seal::text
FROM public.cascades AS c
JOIN public.cascade_seals AS s
  ON s.cascade_id = ANY (ARRAY[c.id])
WHERE c.id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
ORDER BY s.cascade_id;

-- name: list_seals
--
-- A page of all seals.
--
-- Index: cascade_seals_pkey.
--
-- $1 behind that one, or NULL, $2 at most
SELECT cascade_id, number, seal::text
FROM public.cascade_seals
WHERE cascade_id >= COALESCE($1::uuid,
    '00000000-0000-0000-0000-000000000000')
  AND (cascade_id <> $1::uuid) IS NOT FALSE
ORDER BY cascade_id
LIMIT $2::int8;

-- name: change_seals
--
-- Changes seals that are still as they were read. The cascades are locked
-- (LOCK_CASCADES). Tells the places of those that were changed, counted from
-- 1. The cascade with the id 0 has the seal of the whole store.
--
-- Index: cascades_pkey, cascade_seals_pkey, cascade_erasures_pkey.
--
-- $1 cascades, $2 numbers and $3 texts as they were read, $4 numbers and $5
-- texts as they are to be; no text: none
WITH given AS MATERIALIZED (
  SELECT g.*
  FROM unnest($1::uuid[], $2::int8[], $3::text[], $4::int8[],
      $5::text[]) WITH ORDINALITY
    AS g (id, was_number, was, number, seal, place)
  WHERE g.id = '00000000-0000-0000-0000-000000000000'
    OR (SELECT true FROM public.cascades AS c
      WHERE c.id = g.id
        AND (SELECT true FROM public.cascade_erasures AS marked
            WHERE marked.cascade_id = c.id) IS NULL)),
updated AS (
  UPDATE public.cascade_seals AS s
  SET number = g.number,
    seal = g.seal
  FROM given AS g
  WHERE s.cascade_id = ANY (ARRAY[g.id])
    AND s.number = g.was_number
    AND s.seal = g.was
    AND g.seal IS NOT NULL
  RETURNING s.cascade_id AS id),
deleted AS (
  DELETE FROM public.cascade_seals AS s
  USING given AS g
  WHERE s.cascade_id = ANY (ARRAY[g.id])
    AND s.number = g.was_number
    AND s.seal = g.was
    AND g.seal IS NULL
  RETURNING s.cascade_id AS id),
inserted AS (
  INSERT INTO public.cascade_seals (cascade_id, number, seal)
  SELECT g.id, g.number, g.seal
  FROM given AS g
  WHERE g.was IS NULL
    AND g.seal IS NOT NULL
  ON CONFLICT (cascade_id) DO NOTHING
  RETURNING cascade_id AS id)
SELECT g.place
FROM given AS g
WHERE (g.id IN (
  SELECT id FROM updated
  UNION ALL
  SELECT id FROM deleted
  UNION ALL
  SELECT id FROM inserted)) IS TRUE;

-- name: delete_seals
--
-- Deletes the seals of cascades that are marked now.
--
-- Index: cascade_seals_pkey, cascade_erasures_pkey.
--
-- $1 cascades
DELETE FROM public.cascade_seals AS s
USING unnest($1::uuid[]) AS g (id)
WHERE s.cascade_id = ANY (ARRAY[g.id])
  AND (SELECT true FROM public.cascade_erasures AS x
    WHERE x.cascade_id = g.id);
