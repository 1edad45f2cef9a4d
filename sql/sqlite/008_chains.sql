-- SPDX-License-Identifier: MIT
--
-- The last run of each chain. By hand, after 007_links.sql:
--
--     sqlite3 -bail orders.db < 008_chains.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- It looks at each cascade once. Engines of the release before are to be
-- stopped first: of what they continue nothing is entered here, until one of
-- this release continues it, or `cascade adopt` is called.

SAVEPOINT chains;

-- Of a row that has next_id: the number of that run. So `number`, which is in
-- the index, is -1 there, and never changes.
ALTER TABLE cascade_links
    ADD COLUMN run_number INTEGER;

UPDATE cascade_links
    SET run_number = -number, number = -1
    WHERE number < 0;

DROP INDEX IF EXISTS cascade_links_chain;
CREATE INDEX IF NOT EXISTS cascade_links_roots
    ON cascade_links (root) WHERE number < 0;

-- Of the runs that began before there was such a table each records which run
-- was started, and its own number.
INSERT INTO cascade_links (path, root, next_id, number, run_number)
SELECT r.root, r.root, r.id, -1, r.run_number
    FROM (
        SELECT c.id,
            CASE WHEN json_valid(n.full_output)
                THEN json_extract(n.full_output, '$.cascade.root')
                END AS root,
            CASE WHEN json_valid(n.full_output)
                THEN json_extract(n.full_output, '$.cascade.run_number')
                END AS run_number
        FROM cascades AS c
        JOIN node_executions AS n
            ON n.cascade_id = c.id AND n.function_id = 0
        WHERE instr(n.full_output, '"root":') > 0
            AND NOT EXISTS (
                SELECT 1
                FROM cascade_erasures AS e
                WHERE e.cascade_id = c.id)
    ) AS r
    WHERE typeof(r.root) = 'text'
        AND length(r.root) = 36
        AND r.root NOT GLOB '*[^0-9a-f-]*'
        AND length(replace(r.root, '-', '')) = 32
        AND typeof(r.run_number) = 'integer'
        AND r.run_number BETWEEN 2 AND 2147483646
    ON CONFLICT (path) DO UPDATE
    SET next_id = excluded.next_id, run_number = excluded.run_number
    WHERE excluded.run_number > cascade_links.run_number;

INSERT INTO cascade_schema (number, name)
    VALUES (8, '008_chains')
    ON CONFLICT (number) DO NOTHING;

RELEASE chains;
