-- SPDX-License-Identifier: MIT
--
-- An outbox without a table of its own: an order and the start of what delivers
-- it are one transaction. While outbox.c delivers:
--
--   psql -X -f outbox.sql CONNINFO
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE TABLE IF NOT EXISTS orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item text NOT NULL
);

-- By hand. The key says that an order is delivered once, however often this is
-- called.
BEGIN;
INSERT INTO orders (item) VALUES ('lamp') RETURNING id \gset
SELECT cascade_start('deliver', '{"item": "lamp"}', key => 'order-' || :id);
SELECT cascade_start('deliver', '{"item": "lamp"}', key => 'order-' || :id);
COMMIT;

-- Engines look at once; without it, at their next poll. Behind the COMMIT, since
-- PostgreSQL lets transactions that call it commit one after the other.
SELECT cascade_wake();

-- What is rolled back is never delivered.
BEGIN;
INSERT INTO orders (item) VALUES ('mistake') RETURNING id \gset
SELECT cascade_start('deliver', '{"item": "mistake"}', key => 'order-' || :id);
ROLLBACK;

-- By a trigger: whoever inserts an order, in whatever language, need not know.
CREATE OR REPLACE FUNCTION deliver_order() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM cascade_start('deliver', jsonb_build_object('item', NEW.item),
        key => 'order-' || NEW.id);
    RETURN NEW;
END
$$;
DROP TRIGGER IF EXISTS deliver_order ON orders;
CREATE TRIGGER deliver_order AFTER INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION deliver_order();

INSERT INTO orders (item) VALUES ('chair'), ('table');
SELECT cascade_wake();
