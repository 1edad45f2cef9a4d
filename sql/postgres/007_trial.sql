-- SPDX-License-Identifier: MIT
--
-- How often a run was claimed alone, as a suspect. By hand as the files before
-- it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 007_trial.sql
--
-- Engines of the release before may go on running. They count nothing here, and
-- go by `takeovers`.

-- Claims of a suspect since its last commit, without those that ended with a
-- clean stop. So each but the one of its owner, if it has one, was a death.
ALTER TABLE cascade_runs
    ADD COLUMN IF NOT EXISTS trial INTEGER NOT NULL DEFAULT 0;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (7, '007_trial', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
