-- SPDX-License-Identifier: MIT
--
-- What hostile.h tells of, in the schema that `hostile.schema` names. The table
-- pg_temp.said has the sources.
SET search_path = pg_catalog;
SET client_min_messages = error;

-- Every word of them; where a parenthesis follows, that is its end.
CREATE TEMP TABLE words AS
SELECT DISTINCT word
FROM pg_temp.said
CROSS JOIN unnest(string_to_array(replace(translate(text,
    E'\n\t"\\.,;[]{}\'', repeat(' ', 12)), '(', '( '), ' ')) AS w (word);

CREATE TEMP TABLE names AS
SELECT quote_ident(current_setting('hostile.schema')) AS schema, ARRAY(
    SELECT DISTINCT proname::text
    FROM pg_temp.words
    JOIN pg_proc ON word = proname || '(') AS functions, ARRAY(
    SELECT DISTINCT oprname::text
    FROM pg_operator
    WHERE oprname IN (SELECT word FROM pg_temp.words)
        OR oprname IN ('~~', '!~~')) -- LIKE
    AS operators;

-- The types in question: those that statements have, and enums.
CREATE TEMP TABLE types AS
SELECT t::regtype::text AS name
FROM unnest(ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'float8', 'text',
    'varchar', 'name', 'uuid', 'timestamp', 'timestamptz', 'jsonb', 'regclass',
    'oid', 'bytea', 'text[]', 'uuid[]', 'int2[]']) AS t
UNION ALL
SELECT oid::regtype::text FROM pg_type WHERE typtype = 'e';

CREATE FUNCTION pg_temp.make(statement TEXT, VARIADIC given TEXT[])
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(replace(statement, 'BODY', quote_literal(
        'BEGIN RAISE EXCEPTION ''hostile''; END')), VARIADIC given);
END
$$;

-- ---- Types and casts --------------------------------------------------------

SELECT pg_temp.make('CREATE TYPE %s.hostile AS (x integer)', schema),
    pg_temp.make('CREATE FUNCTION %s.hostile_check(anyelement)
        RETURNS boolean LANGUAGE plpgsql AS BODY', schema)
FROM pg_temp.names;

SELECT pg_temp.make('CREATE FUNCTION %s.hostile_cast(%s) RETURNS %1$s.hostile
        LANGUAGE plpgsql AS BODY', schema, t.name),
    pg_temp.make('CREATE CAST (%2$s AS %1$s.hostile)
        WITH FUNCTION %1$s.hostile_cast(%2$s) AS IMPLICIT', schema, t.name)
FROM pg_temp.types AS t, pg_temp.names;

SELECT pg_temp.make('CREATE DOMAIN %s.%s AS pg_catalog.%2$s
    CHECK (%1$s.hostile_check(VALUE))', schema, t)
FROM pg_temp.names, unnest(ARRAY['bool', 'int2', 'int4', 'int8', 'numeric',
    'text', 'varchar', 'name', 'uuid', 'jsonb', 'regclass', 'oid', 'bytea',
    'regprocedure']) AS t;

INSERT INTO pg_temp.types
SELECT unnest(ARRAY['anyelement', 'anyenum', 'anyarray', schema || '.hostile'])
FROM pg_temp.names;

-- ---- Operators --------------------------------------------------------------

CREATE TEMP TABLE pairs AS
SELECT operator, l.name AS l, r.name AS r
FROM pg_temp.names, pg_temp.types AS l, pg_temp.types AS r,
    unnest(operators) AS operator
UNION
SELECT oprname, oprleft::regtype::text, oprright::regtype::text
FROM pg_temp.names
JOIN pg_operator ON oprname = ANY (operators)
WHERE oprnamespace = 'pg_catalog'::regnamespace
    AND oprleft <> 0
    AND oprright <> 0
    AND 'record'::regtype NOT IN (oprleft, oprright);

SELECT pg_temp.make('CREATE FUNCTION %s.hostile_operator(%s, %s)
    RETURNS boolean LANGUAGE plpgsql AS BODY', schema, l, r)
FROM pg_temp.names, (SELECT DISTINCT l, r FROM pg_temp.pairs) AS p;

SELECT pg_temp.make('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s,
    FUNCTION = %1$s.hostile_operator)', schema, operator, l, r)
FROM pg_temp.names, pg_temp.pairs;

-- ---- Functions --------------------------------------------------------------

CREATE TEMP TABLE own AS
SELECT DISTINCT ON (proname, args) proname AS name, args,
    CASE WHEN proretset THEN 'SETOF ' ELSE '' END
        || CASE WHEN t.typtype = 'p' AND prorettype <> 'void'::regtype
        THEN 'text' ELSE prorettype::regtype::text END AS result
FROM pg_temp.names
JOIN pg_proc AS p ON proname = ANY (functions)
JOIN pg_type AS t ON t.oid = prorettype
CROSS JOIN LATERAL (
    SELECT ARRAY(
        SELECT CASE WHEN a IN ('"any"'::regtype, 'internal'::regtype,
                'cstring'::regtype, 'record'::regtype)
            THEN 'text' ELSE a::regtype::text END
        FROM unnest(proargtypes) WITH ORDINALITY AS u (a, place)
        ORDER BY place)) AS g (args)
WHERE pronamespace = 'pg_catalog'::regnamespace
    AND prokind IN ('f', 'a', 'w')
    AND (proname <> 'count' OR cardinality(args) > 0);

-- And with each of the arguments of another type.
SELECT pg_temp.make('CREATE FUNCTION %s.%I(%s) RETURNS %s
    LANGUAGE plpgsql AS BODY', schema, name, array_to_string(args, ', '),
    min(result))
FROM pg_temp.names, (
    SELECT name, args, result FROM pg_temp.own
    UNION ALL
    SELECT o.name, args[:i - 1] || t.name || args[i + 1:], result
    FROM pg_temp.own AS o
    CROSS JOIN generate_subscripts(args, 1) AS i
    CROSS JOIN pg_temp.types AS t
    WHERE cardinality(args) <= 4) AS f
GROUP BY schema, name, args;

SELECT pg_temp.make('CREATE FUNCTION %s.hostile_count(int8) RETURNS int8
        LANGUAGE plpgsql AS BODY', schema),
    pg_temp.make('CREATE AGGREGATE %s.count(*)
        (SFUNC = %1$s.hostile_count, STYPE = int8)', schema),
    pg_temp.make('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %s FROM PUBLIC',
        schema)
FROM pg_temp.names;

DROP TABLE pg_temp.words, pg_temp.names, pg_temp.types, pg_temp.pairs, pg_temp.own;
DROP FUNCTION pg_temp.make;
