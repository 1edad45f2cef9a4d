-- SPDX-License-Identifier: MIT
--
-- How often a run was claimed alone, as a suspect. By hand, after
-- 005_erasures.sql:
--
--     sqlite3 -bail orders.db < 006_trial.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- An engine of a release that does not know this file may go on beside others.
-- It counts nothing here, and goes by `takeovers`.

SAVEPOINT trial;

-- Claims of a suspect since its last commit, without those that ended with a
-- clean stop. So each but the one of its owner, if it has one, was a death.
ALTER TABLE cascade_runs
    ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;

INSERT INTO cascade_schema (number, name)
    VALUES (6, '006_trial')
    ON CONFLICT (number) DO NOTHING;

RELEASE trial;
