/* SPDX-License-Identifier: MIT
 *
 * The statements of starts, with keys and without, with seals and without: four
 * forms of one text, so that what a batch does not bring costs it nothing. For
 * the rules see sql.c.
 */
#include "store/postgres/sql.h"

#include "cascade/cascade.h"
#include "store/postgres/internal.h"

/* $1-$6 cascades, $7-$14 runs, $15-$26 executions, $27-$32 events, $33 the
 * sequence. Only what belongs to a cascade that was not there goes in. IS TRUE
 * keeps the planner from making a join of what is a look-up in a small set.
 * What the arguments add: see CSC_POSTGRES_START_KEYED. */
#define START_TEXT(arrays, columns, condition, rest)                         \
    "WITH fresh AS (\n"                                                      \
    "  INSERT INTO @cascades\n"                                              \
    "    (id, status, fn_id, user_id, created_at, updated_at)\n"             \
    "  SELECT g.id, g.status::@cascade_status, g.fn_id, g.user_id,\n"        \
    "    g.created_at, g.updated_at\n"                                       \
    "  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[],\n"        \
    "      $5::timestamp[], $6::timestamp[]" arrays ")\n"                    \
    "    AS g (id, status, fn_id, user_id, created_at,\n"                    \
    "      updated_at" columns ")\n" condition                               \
    "  ON CONFLICT (id) DO NOTHING\n"                                        \
    "  RETURNING id),\n"                                                     \
    "runs AS (\n"                                                            \
    "  INSERT INTO @cascade_runs\n"                                          \
    "    (cascade_id, queue, priority, wake_at, engine_id, claim_no,\n"      \
    "     takeovers, needs)\n"                                               \
    "  SELECT g.cascade_id, g.queue, g.priority, g.wake_at, g.engine_id,\n"  \
    "    g.claim_no, g.takeovers, g.needs\n"                                 \
    "  FROM unnest($7::uuid[], $8::text[], $9::int4[], $10::int8[],\n"       \
    "      $11::uuid[], $12::int8[], $13::int4[], $14::text[])\n"            \
    "    AS g (cascade_id, queue, priority, wake_at, engine_id, claim_no,\n" \
    "      takeovers, needs)\n"                                              \
    "  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE),\n"           \
    "executions AS (\n"                                                      \
    "  INSERT INTO @node_executions\n"                                       \
    "    (id, cascade_id, function_id, status, node_instance_id,\n"          \
    "     node_name, input_context, full_output, location, error,\n"         \
    "     started_at, completed_at)\n"                                       \
    "  SELECT g.id, g.cascade_id, g.function_id,\n"                          \
    "    g.status::@execution_status, g.path, g.node_name,\n"                \
    "    g.input::jsonb, g.full_output::jsonb, g.location, g.error,\n"       \
    "    g.started_at, g.completed_at\n"                                     \
    "  FROM unnest($15::uuid[], $16::uuid[], $17::int4[], $18::text[],\n"    \
    "      $19::text[], $20::text[], $21::text[], $22::text[],\n"            \
    "      $23::text[], $24::text[], $25::timestamp[], $26::timestamp[])\n"  \
    "    AS g (id, cascade_id, function_id, status, path, node_name,\n"      \
    "      input, full_output, location, error, started_at,\n"               \
    "      completed_at)\n"                                                  \
    "  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE),\n"           \
    "events AS (\n"                                                          \
    "  INSERT INTO @context_events\n"                                        \
    "    (id, cascade_id, function_id, key, value, ui_value, created_at)\n"  \
    "  SELECT nextval($33::regclass), g.cascade_id, g.function_id, g.key,\n" \
    "    g.value::jsonb, g.ui_value::jsonb, g.created_at\n"                  \
    "  FROM unnest($27::uuid[], $28::int4[], $29::text[], $30::text[],\n"    \
    "      $31::text[], $32::timestamp[])\n"                                 \
    "    AS g (cascade_id, function_id, key, value, ui_value,\n"             \
    "      created_at)\n"                                                    \
    "  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE)" rest         \
    "\nSELECT id FROM fresh"

/* What starts with keys bring beside the others.
 *
 * The number is read in the statement's snapshot, the cascade's own row decides
 * between two starts of one run, and only who inserted that moves the number
 * on. A number that has moved meanwhile all the same (the run was started,
 * ended and deleted between the snapshot and the insert) raises: who tries
 * again sees it. Not so for run 1, which has no row: then the deleted run is
 * made once more. Key rows are only ever locked behind the row of a cascade
 * that no other transaction can be inserting, so their order does not matter.
 */
#define KEY_ARRAYS \
    ",\n"          \
    "      $34::text[], $35::int4[]"
#define KEY_COLUMNS ", key, run_number"
#define KEY_CONDITION                                         \
    "  WHERE g.key IS NULL\n"                                 \
    "    OR COALESCE((\n"                                     \
    "      SELECT k.run_number\n"                             \
    "      FROM @cascade_keys AS k\n"                         \
    "      WHERE k.user_id = g.user_id\n"                     \
    "        AND k.key = g.key), (g.run_number = 2)::int4)\n" \
    "      = g.run_number - 1\n"
#define KEY_PARTS                                                       \
    ",\n"                                                               \
    "due AS (\n"                                                        \
    "  SELECT g.user_id, g.key, g.run_number\n"                         \
    "  FROM unnest($1::uuid[], $4::text[], $34::text[], $35::int4[])\n" \
    "    AS g (id, user_id, key, run_number)\n"                         \
    "  WHERE g.key IS NOT NULL\n"                                       \
    "    AND g.run_number > 1\n"                                        \
    "    AND (g.id IN (SELECT id FROM fresh)) IS TRUE),\n"              \
    "moved AS (\n"                                                      \
    "  INSERT INTO @cascade_keys AS k (user_id, key, run_number)\n"     \
    "  SELECT user_id, key, run_number FROM due\n"                      \
    "  ON CONFLICT (user_id, key) DO UPDATE\n"                          \
    "  SET run_number = excluded.run_number\n"                          \
    "  WHERE k.run_number = excluded.run_number - 1\n"                  \
    "  RETURNING 1),\n"                                                 \
    "checked AS (\n"                                                    \
    "  SELECT 1 / ((SELECT count(*) FROM moved)\n"                      \
    "    = (SELECT count(*) FROM due))::int4 AS good)"
#define KEY_CHECK "\nWHERE (SELECT good FROM checked) = 1"

/* What starts with seals bring: arrays of ids, numbers and texts. */
#define SEAL_PARTS(ids, numbers, texts)                                        \
    ",\n"                                                                      \
    "seals AS (\n"                                                             \
    "  INSERT INTO @cascade_seals (cascade_id, number, seal)\n"                \
    "  SELECT g.cascade_id, g.number, g.seal\n"                                \
    "  FROM unnest(" ids "::uuid[], " numbers "::int8[], " texts "::text[])\n" \
    "    AS g (cascade_id, number, seal)\n"                                    \
    "  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS "                     \
    "TRUE\n" REPLACING_SEALS ")"

static const char *const templates[CSC_POSTGRES_STATEMENTS] = {
    [CSC_POSTGRES_START] = START_TEXT("", "", "", ""),

    /* $34-$36 seals */
    [CSC_POSTGRES_START_SEALED] =
        START_TEXT("", "", "", SEAL_PARTS("$34", "$35", "$36")),

    /* $34 key, $35 run number of each cascade */
    [CSC_POSTGRES_START_KEYED] =
        START_TEXT(KEY_ARRAYS, KEY_COLUMNS, KEY_CONDITION, KEY_PARTS) KEY_CHECK,

    /* The same, and $36-$38 seals */
    [CSC_POSTGRES_START_KEYED_SEALED] =
        START_TEXT(KEY_ARRAYS, KEY_COLUMNS, KEY_CONDITION,
                   KEY_PARTS SEAL_PARTS("$36", "$37", "$38")) KEY_CHECK,
};

const char *
csc_postgres_sql_start_text(csc_postgres_statement statement)
{
    return templates[statement];
}
