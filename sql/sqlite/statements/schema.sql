-- SPDX-License-Identifier: MIT
--
-- The schema: what is there, and migrations.

-- name: list_applied_at
-- verb: read cascade_schema
--
-- When files were applied.
SELECT number, applied_at
FROM main.cascade_schema;

-- name: list_applied
-- verb: read cascade_schema
--
-- What was applied.
SELECT number, name, checksum
FROM main.cascade_schema
ORDER BY number;

-- name: record_applied
-- verb: write cascade_schema
--
-- Notes the checksum of a file, which has inserted the row.
--
-- ?1 number, ?2 checksum, ?3 when, or NULL: as it says
UPDATE main.cascade_schema
SET checksum = ?2, applied_at = ifnull(?3, applied_at)
WHERE number = ?1;

-- name: find_table
-- verb: read the schema
--
-- What has the name of a table: trust.c.
--
-- ?1 table
SELECT type, sql
FROM main.sqlite_schema
WHERE name = ?1 COLLATE NOCASE;

-- name: find_generated
-- verb: read the columns of a table
--
-- A row for each column of a table that is generated.
--
-- ?1 table
SELECT 1
FROM pragma_table_xinfo(?1, 'main')
WHERE hidden <> 0;

-- name: find_trigger
-- verb: read the schema
--
-- A row for each trigger of a table.
--
-- ?1 table
SELECT 1
FROM main.sqlite_schema
WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE;

-- name: find_computed
-- verb: read the indexes of a table
--
-- A row for each expression in the indexes of a table.
--
-- ?1 table
SELECT 1
FROM pragma_index_list(?1, 'main') AS i
JOIN pragma_index_xinfo(i.name, 'main') AS x
WHERE x.cid = -2;

-- name: list_indexes
-- verb: read the schema
--
-- The indexes of a table, as they were made.
--
-- ?1 table
SELECT sql
FROM main.sqlite_schema
WHERE type = 'index' AND tbl_name = ?1 COLLATE NOCASE;

-- name: list_columns
-- verb: read the columns of a table
--
-- The columns of a table.
--
-- ?1 table
SELECT name, type, "notnull", dflt_value IS NOT NULL, pk
FROM pragma_table_info(?1, 'main');

-- name: find_unique
-- verb: read the indexes of a table
--
-- A row if a table, if it is there, has a unique index over these columns that
-- covers all rows.
--
-- ?1 table, ?2 columns in the order of their names, with commas
SELECT 1
WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(?1, 'main'))
  OR EXISTS (
    SELECT 1
    FROM pragma_index_list(?1, 'main') AS i
    WHERE i."unique" AND NOT i.partial
      AND ?2 = (SELECT group_concat(name, ',')
        FROM (SELECT name
          FROM pragma_index_info(i.name, 'main')
          ORDER BY name)));

-- name: find_shadow
-- verb: read the temporary schema
--
-- A row if a temporary table has the name of one of ours.
SELECT 1
FROM temp.sqlite_schema
WHERE name IN ('cascades', 'node_executions', 'context_events',
    'cascade_runs', 'cascade_engines', 'cascade_lanes',
    'cascade_messages', 'cascade_keys', 'cascade_queues',
    'cascade_erasures', 'cascade_links', 'cascade_seals',
    'cascade_schema')
LIMIT 1;
