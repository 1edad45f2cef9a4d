-- SPDX-License-Identifier: MIT
--
-- Transactions.

-- name: begin_read
-- verb: begin a transaction
--
-- Begins a transaction that reads.
BEGIN;

-- name: begin_write
-- verb: begin a transaction
--
-- Begins a transaction that writes: takes the lock of the file.
BEGIN IMMEDIATE;

-- name: commit
-- verb: commit
--
-- Commits.
COMMIT;

-- name: save
-- verb: set a savepoint
--
-- Of guests, inside a transaction of the application's.
SAVEPOINT cascade_guest;

-- name: release
-- verb: release a savepoint
--
-- Ends it.
RELEASE cascade_guest;

-- name: roll_back_to
-- verb: roll back to a savepoint
--
-- Undoes what was done since it was set.
ROLLBACK TO cascade_guest;

-- name: save_node
-- verb: begin a transaction
--
-- Of the function of a node.
SAVEPOINT cascade_node;

-- name: release_node
-- verb: finish
--
-- Ends it.
RELEASE cascade_node;

-- name: touch
-- verb: begin a transaction
--
-- Reads the file, so that the transaction has begun.
SELECT 1 FROM main.sqlite_schema LIMIT 1;
