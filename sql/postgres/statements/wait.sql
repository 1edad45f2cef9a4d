-- SPDX-License-Identifier: MIT
--
-- Notifications.

-- name: notify
--
-- Wakes who listens. Nothing is lost with a notification, so nobody waits
-- until it has reached the disk.
--
-- $1 channel
SELECT set_config('synchronous_commit', 'off', true),
  pg_notify($1::text, '');

-- name: listen
--
-- Listens to the channel of the schema.
LISTEN cascade_channel;
