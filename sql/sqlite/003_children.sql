-- SPDX-License-Identifier: MIT
--
-- The children of a cascade, found without looking at its other executions. By
-- hand, after 002_messages.sql:
--
--     sqlite3 orders.db < 003_children.sql
--
-- Applying it again changes nothing. On a large table the index takes a while;
-- only executions that stand for a child are in it.

-- All names that begin with "cascade.child:".
CREATE INDEX IF NOT EXISTS node_executions_children_idx
    ON node_executions (cascade_id, status, function_id)
    WHERE node_name >= 'cascade.child:' AND node_name < 'cascade.child;';

INSERT INTO cascade_schema (number, name)
    VALUES (3, '003_children')
    ON CONFLICT (number) DO NOTHING;
