-- SPDX-License-Identifier: MIT
--
-- Pages of cascades are look-ups, whatever is asked for: of a status that few
-- have, of a queue. By hand, after 009_seals.sql:
--
--     sqlite3 orders.db < 010_lists.sql
--
-- Applying it again changes nothing. On a large table the indexes take a while.

-- Of all users. Most cascades have completed: those are not in it.
CREATE INDEX IF NOT EXISTS cascades_status_idx
    ON cascades (status, id)
    WHERE status <> 'COMPLETED';

CREATE INDEX IF NOT EXISTS cascade_runs_queue_idx
    ON cascade_runs (queue, cascade_id);

INSERT INTO cascade_schema (number, name)
    VALUES (10, '010_lists')
    ON CONFLICT (number) DO NOTHING;
