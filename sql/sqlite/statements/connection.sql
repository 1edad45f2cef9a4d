-- SPDX-License-Identifier: MIT
--
-- How a connection is set up.

-- name: enter_wal
--
-- Asks for a write-ahead log; tells the mode that the database has then.
PRAGMA main.journal_mode = WAL;

-- name: set_normal
--
-- Durability RELAXED.
PRAGMA synchronous = NORMAL;

-- name: set_full
--
-- Durability FULL.
PRAGMA synchronous = FULL;

-- name: set_up
--
-- Every connection of ours. Checkpoints are run by the store.
PRAGMA wal_autocheckpoint = 0;
PRAGMA cell_size_check = ON;

-- name: set_up_reader
--
-- The size is in KiB, as the sign says: 8 MiB.
PRAGMA cache_size = -8192;
PRAGMA query_only = ON;

-- name: set_up_writer
PRAGMA cache_size = -32768;
PRAGMA temp_store = MEMORY;

-- name: allow_writes
--
-- A function of a node can have forbidden them.
PRAGMA query_only = OFF;

-- name: read_version
--
-- Reads the schema of the file.
PRAGMA schema_version;

-- name: read_autocheckpoint
--
-- Of a lent connection, to be set again.
PRAGMA wal_autocheckpoint;

-- name: read_busy_timeout
--
-- Of a lent connection, in ms.
PRAGMA busy_timeout;

-- name: roll_back
--
-- Undoes a transaction, also one that is not ours.
ROLLBACK;

-- name: ask_authorizer
--
-- Whether the authorizer of a lent connection is still ours.
SELECT 1;

-- name: find_link
-- not pasted: the function is the library's own
--
-- The link of a lent connection to its store.
--
-- ?1 where it is written
SELECT cascade_link(?1);
