/* SPDX-License-Identifier: MIT
 *
 * Ids and the hash that keyed ones come from.
 */
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "base/clock.h"
#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/support.h"
#include "base/uuid.h"

/* ---- SHA-256 ------------------------------------------------------------ */

static void
check_hash(const void *bytes, size_t len, size_t piece, const char *expected)
{
    csc_sha256 hash;
    unsigned char digest[CSC_SHA256_SIZE];
    char text[2 * CSC_SHA256_SIZE + 1];

    csc_sha256_init(&hash);
    for (size_t at = 0; at < len; at += piece)
        csc_sha256_add(&hash, (const char *)bytes + at,
                       len - at < piece ? len - at : piece);
    csc_sha256_end(&hash, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

/* The examples that come with FIPS 180-4, in pieces of every length. */
static void
hashes_are_those_of_the_standard(void **state)
{
    static const char two_blocks[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char four_blocks[] =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
        "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

    (void)state;
    check_hash(
        "", 0, 1,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash(
        "abc", 3, 3,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t piece = 1; piece <= sizeof(four_blocks); piece++) {
        check_hash(
            two_blocks, sizeof(two_blocks) - 1, piece,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        check_hash(
            four_blocks, sizeof(four_blocks) - 1, piece,
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
}

/* Computed with sha256sum. */
static void
hashes_are_right_at_the_edges_of_a_block(void **state)
{
    static const struct {
        size_t len;
        const char *hash;
    } table[] = {
        {1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
        {54,
         "a3f01b6939256127582ac8ae9fb47a382a244680806a3f613a118851c1ca1d47"},
        {55,
         "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56,
         "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {57,
         "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"},
        {63,
         "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64,
         "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65,
         "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {119,
         "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {120,
         "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {1000000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    char *text = support_repeat("a", 1000000);

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        check_hash(text, table[i].len, 4096, table[i].hash);
    csc_mem_free(text);
}

/* ---- Text --------------------------------------------------------------- */

static void
ids_are_read_in_both_cases_and_written_in_lower(void **state)
{
    cascade_uuid id;
    char text[CASCADE_UUID_TEXT_SIZE];

    (void)state;
    assert_int_equal(
        cascade_uuid_parse("01234567-89AB-cdef-FEDC-BA9876543210", &id),
        CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
    assert_int_equal(id.bytes[0], 0x01);
    assert_int_equal(id.bytes[15], 0x10);
    assert_ptr_equal(cascade_uuid_format(&id, text), text);
    assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

static void
malformed_ids_are_refused(void **state)
{
    static const char *const table[] = {
        "",
        "01234567",
        "01234567-89ab-cdef-fedc-ba987654321",
        "01234567-89ab-cdef-fedc-ba98765432100",
        "0123456789abcdeffedcba9876543210",
        "{1234567-89ab-cdef-fedc-ba987654321}",
        "01234567-89ab-cdef-fedc-ba987654321g",
        "01234567-89ab-cdef-fedcba9876543210-",
        "01234567-89ab-cdef-fedc-ba98765432 0",
        "0123456789ab--cdef-fedc-ba9876543210",
        "+1234567-89ab-cdef-fedc-ba9876543210",
        "0x234567-89ab-cdef-fedc-ba9876543210",
        " 1234567-89ab-cdef-fedc-ba9876543210",
        NULL,
    };
    cascade_uuid id;

    (void)state;
    memset(&id, 7, sizeof(id));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        (void)csc_ok();
        if (cascade_uuid_parse(table[i], &id) != CASCADE_ERR_INVALID)
            fail_msg("accepted %s", table[i]);
        assert_string_not_equal(cascade_errmsg(), "");
    }
    assert_int_equal(id.bytes[0], 7); /* written only on success */
    assert_int_equal(
        cascade_uuid_parse("01234567-89ab-cdef-fedc-ba9876543210", NULL),
        CASCADE_ERR_INVALID);
}

/* Digits in both cases, hyphens in their places; then, half the time, one byte
 * is another. */
static void
random_text(char text[CASCADE_UUID_TEXT_SIZE], support_rng *rng)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    for (size_t i = 0; i < CASCADE_UUID_TEXT_SIZE - 1; i++)
        text[i] = i == 8 || i == 13 || i == 18 || i == 23
                      ? '-'
                      : digits[support_rng_below(rng, sizeof(digits) - 1)];
    text[CASCADE_UUID_TEXT_SIZE - 1] = '\0';
    if (support_rng_below(rng, 2) == 0)
        text[support_rng_below(rng, CASCADE_UUID_TEXT_SIZE - 1)] =
            (char)support_rng_below(rng, 256);
}

static void
ids_are_read_as_libuuid_reads_them(void **state)
{
    support_rng rng = support_rng_open("libuuid");
    size_t accepted = 0;

    (void)state;
    for (size_t i = 0; i < 200000; i++) {
        char text[CASCADE_UUID_TEXT_SIZE];
        cascade_uuid id;
        uuid_t expected;
        bool good;

        random_text(text, &rng);
        good = uuid_parse(text, expected) == 0;
        if ((cascade_uuid_parse(text, &id) == CASCADE_OK) != good)
            fail_msg("%s: libuuid %s it", text, good ? "takes" : "refuses");
        if (good)
            assert_memory_equal(id.bytes, expected, sizeof(expected));
        accepted += good ? 1 : 0;
    }
    assert_in_range(accepted, 100000, 199999);
}

static void
ids_compare_as_their_texts_do(void **state)
{
    cascade_uuid a = {{0}};
    cascade_uuid b = {{0}};

    (void)state;
    assert_true(csc_uuid_is_nil(&a));
    assert_true(csc_uuid_equal(&a, &b));
    assert_int_equal(csc_uuid_compare(&a, &b), 0);
    b.bytes[15] = 1;
    assert_false(csc_uuid_is_nil(&b));
    assert_false(csc_uuid_equal(&a, &b));
    assert_true(csc_uuid_compare(&a, &b) < 0);
    a.bytes[0] = 0x80;
    assert_true(csc_uuid_compare(&a, &b) > 0);
}

static void
secrets_compare_in_all_bits(void **state)
{
    const cascade_uuid a = {{0xa5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    cascade_uuid b = a;

    (void)state;
    assert_int_equal(csc_uuid_compare_secret(&a, &b), 0);
    for (size_t bit = 0; bit < 8 * sizeof(b.bytes); bit++) {
        b = a;
        b.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (bit / 8 < 15) /* the first that differs decides */
            b.bytes[15] = a.bytes[bit / 8] < b.bytes[bit / 8] ? 0 : 0xff;
        assert_int_equal(csc_uuid_compare_secret(&a, &b) < 0,
                         csc_uuid_compare(&a, &b) < 0);
        assert_int_equal(csc_uuid_compare_secret(&b, &a) < 0,
                         csc_uuid_compare(&b, &a) < 0);
    }
}

/* ---- Version 7 ---------------------------------------------------------- */

/* Hands out the same byte for ever. */
static void
fill_with(void *context, void *bytes, size_t len)
{
    memset(bytes, *(int *)context, len);
}

static int64_t
time_of(const cascade_uuid *id)
{
    int64_t ms = 0;

    for (size_t i = 0; i < 6; i++)
        ms = ms << 8 | id->bytes[i];
    return ms;
}

static void
version_7_has_the_layout_of_rfc_9562(void **state)
{
    int byte = 0xff;
    cascade_random random = {.context = &byte, .fill = fill_with};
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;

    (void)state;
    /* the example of RFC 9562, A.6: its time, and all random bits */
    id = csc_uuid_v7(INT64_C(0x017F22E279B0), &random);
    assert_string_equal(cascade_uuid_format(&id, text),
                        "017f22e2-79b0-7fff-bfff-ffffffffffff");
    byte = 0;
    id = csc_uuid_v7(INT64_C(0x017F22E279B0), &random);
    assert_string_equal(cascade_uuid_format(&id, text),
                        "017f22e2-79b0-7000-8000-000000000000");
    byte = 0x5a;
    csc_uuid_v7_many(INT64_C(0x017F22E279B0), &random, &id, 1);
    assert_string_equal(cascade_uuid_format(&id, text),
                        "017f22e2-79b0-725a-9a5a-5a5a5a5a5a5a");
}

static void
check_ascending(const cascade_uuid *ids, size_t count, int64_t ms)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i].bytes[6] >> 4, 7);
        assert_int_equal(ids[i].bytes[8] >> 6, 2);
        assert_true(time_of(&ids[i]) == ms);
        if (i > 0)
            assert_true(csc_uuid_compare(&ids[i - 1], &ids[i]) < 0);
    }
}

static void
many_ids_of_one_call_ascend(void **state)
{
    enum {
        COUNT = 100000
    };
    cascade_uuid *ids = csc_mem_zalloc(COUNT, sizeof(*ids));
    int64_t ms = csc_clock_wall_ms(&csc_clock_system);

    (void)state;
    csc_uuid_v7_many(ms, &csc_random_system, ids, COUNT);
    check_ascending(ids, COUNT, ms);
    csc_uuid_v7_many(ms, &csc_random_system, ids, 0);
    for (int byte = 0; byte <= 0xff; byte++) { /* carries, no overflow */
        cascade_random random = {.context = &byte, .fill = fill_with};

        csc_uuid_v7_many(ms, &random, ids, 1000);
        check_ascending(ids, 1000, ms);
    }
    csc_mem_free(ids);
}

/* Counts its draws. */
static void
fill_and_count(void *context, void *bytes, size_t len)
{
    ++*(int *)context;
    csc_random_system.fill(NULL, bytes, len);
}

static void
many_ids_take_one_draw(void **state)
{
    int draws = 0;
    cascade_random random = {.context = &draws, .fill = fill_and_count};
    cascade_uuid ids[50];

    (void)state;
    csc_uuid_v7_many(1, &random, ids, 50);
    assert_int_equal(draws, 1);
}

/* Each of the 74 bits is sometimes set and sometimes not. */
static void
all_other_bits_are_random(void **state)
{
    unsigned char any[16] = {0};
    unsigned char all[16];

    (void)state;
    memset(all, 0xff, sizeof(all));
    for (int i = 0; i < 200; i++) {
        cascade_uuid id = csc_uuid_v7(0, &csc_random_system);

        for (size_t at = 0; at < 16; at++) {
            any[at] |= id.bytes[at];
            all[at] &= id.bytes[at];
        }
    }
    for (size_t at = 6; at < 16; at++) {
        unsigned char fixed = at == 6 ? 0xf0 : at == 8 ? 0xc0 : 0;

        assert_int_equal(any[at] | fixed, 0xff);
        assert_int_equal(all[at] & ~fixed, 0);
    }
}

/* ---- Version 8 ---------------------------------------------------------- */

static void
keyed_ids_are_those_of_the_formula(void **state)
{
    cascade_uuid id;
    cascade_uuid other;
    char text[CASCADE_UUID_TEXT_SIZE];

    (void)state;
    /* printf 'u\0k\0001' | sha256sum: 2666e61355e7f405ab347cc6a7777cca... */
    assert_int_equal(cascade_uuid_from_key("u", "k", &id), CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
    assert_string_equal(cascade_uuid_format(&id, text),
                        "2666e613-55e7-8405-ab34-7cc6a7777cca");
    other = csc_uuid_v8("u", "k", 1);
    assert_true(csc_uuid_equal(&id, &other));
    other = csc_uuid_v8("u", "k", 2);
    assert_false(csc_uuid_equal(&id, &other));
    id = csc_uuid_v8("uk", "x", 1);
    other = csc_uuid_v8("u", "kx", 1);
    assert_false(csc_uuid_equal(&id, &other));
}

static void
keys_are_checked(void **state)
{
    char *long_key = support_repeat("k", 256);
    cascade_uuid id;

    (void)state;
    assert_int_equal(cascade_uuid_from_key("", "k", &id), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "user_id"));
    assert_int_equal(cascade_uuid_from_key("u", "", &id), CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "key"));
    assert_int_equal(cascade_uuid_from_key("u", "a\nb", &id),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_uuid_from_key("u", long_key, &id),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_uuid_from_key("u", long_key + 1, &id), CASCADE_OK);
    assert_int_equal(cascade_uuid_from_key("u", "k", NULL),
                     CASCADE_ERR_INVALID);
    csc_mem_free(long_key);
}

static void
no_user_is_anonymous(void **state)
{
    cascade_uuid nobody;
    cascade_uuid named;

    (void)state;
    assert_int_equal(cascade_uuid_from_key(NULL, "k", &nobody), CASCADE_OK);
    assert_int_equal(cascade_uuid_from_key("anonymous", "k", &named),
                     CASCADE_OK);
    assert_true(csc_uuid_equal(&nobody, &named));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_standard),
        cmocka_unit_test(hashes_are_right_at_the_edges_of_a_block),
        cmocka_unit_test(ids_are_read_in_both_cases_and_written_in_lower),
        cmocka_unit_test(malformed_ids_are_refused),
        cmocka_unit_test(ids_are_read_as_libuuid_reads_them),
        cmocka_unit_test(ids_compare_as_their_texts_do),
        cmocka_unit_test(secrets_compare_in_all_bits),
        cmocka_unit_test(version_7_has_the_layout_of_rfc_9562),
        cmocka_unit_test(many_ids_of_one_call_ascend),
        cmocka_unit_test(many_ids_take_one_draw),
        cmocka_unit_test(all_other_bits_are_random),
        cmocka_unit_test(keyed_ids_are_those_of_the_formula),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(no_user_is_anonymous),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
