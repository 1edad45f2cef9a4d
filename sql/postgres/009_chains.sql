-- SPDX-License-Identifier: MIT
--
-- The last run of each chain. By hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 009_chains.sql
--
-- It looks at each cascade once. Engines of the release before are to be
-- stopped first: of what they continue nothing is entered here, until one of
-- this release continues it, or `cascade adopt` is called.

-- Of a row that has next_id: the number of that run. So `number`, which is in
-- the index, is -1 there, and never changes: what continues a chain writes no
-- index.
ALTER TABLE cascade_links
    ADD COLUMN IF NOT EXISTS run_number INTEGER;

UPDATE cascade_links
SET run_number = (-number)::INTEGER, number = (-1)::BIGINT
WHERE number < 0::BIGINT
    AND run_number IS NULL;

DROP INDEX IF EXISTS cascade_links_chain;
CREATE INDEX IF NOT EXISTS cascade_links_roots
    ON cascade_links (root) WHERE number < 0::BIGINT;

-- Of the runs that began before there was such a table each records which run
-- was started, and its own number.
INSERT INTO cascade_links AS l (path, root, next_id, number, run_number)
SELECT DISTINCT ON (r.root)
    r.root, r.root::UUID, r.id, (-1)::BIGINT, r.run_number::INTEGER
FROM (
    SELECT c.id,
        n.full_output -> 'cascade'::TEXT ->> 'root'::TEXT AS root,
        n.full_output -> 'cascade'::TEXT ->> 'run_number'::TEXT AS run_number
    FROM cascades AS c
    JOIN node_executions AS n
        ON n.cascade_id = c.id
        AND n.function_id = 0::INTEGER
    WHERE NOT EXISTS (
        SELECT 1
        FROM cascade_erasures AS e
        WHERE e.cascade_id = c.id)
    OFFSET 0::BIGINT) AS r
WHERE r.root ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::TEXT
    AND r.run_number ~ '^[1-9][0-9]{0,8}$'::TEXT
ORDER BY r.root, r.run_number::INTEGER DESC
ON CONFLICT (path) DO UPDATE
SET next_id = excluded.next_id, run_number = excluded.run_number
WHERE excluded.run_number > l.run_number;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (9, '009_chains', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
