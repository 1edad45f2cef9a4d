-- SPDX-License-Identifier: MIT
--
-- The children of a cascade, found without looking at its other executions. By
-- hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 003_children.sql
--
-- On a large table the index takes a while, during which nobody can write; only
-- executions that stand for a child are in it.

-- Without the status: an update that changes a column of an index, or of its
-- condition, could not stay on its page, whichever execution ends.
CREATE INDEX IF NOT EXISTS node_executions_children_idx
    ON node_executions (cascade_id, function_id)
    WHERE node_name LIKE 'cascade.child:%';

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (3, '003_children', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
