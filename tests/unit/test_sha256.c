/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256: the examples of FIPS 180-4, and pieces against the whole. */
#include "check.h"

#include "base/sha256.h"

static void hash(const void *bytes, size_t count, size_t piece, char hex[65]) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    for (size_t i = 0; i < count; i += piece)
        dpa__sha256_add(&sha, (const char *)bytes + i, count - i < piece ? count - i : piece);
    dpa__sha256_hex(&sha, hex);
}

static void known_answers(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char hex[65];
        hash(rows[i].text, strlen(rows[i].text), 1000, hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

static void million(void **state) {
    (void)state;
    enum { N = 1000000 };
    char *text = malloc(N), hex[65];
    assert_non_null(text);
    memset(text, 'a', N);
    for (size_t piece = 1; piece < 200; piece += 37) {
        hash(text, N, piece, hex);
        assert_string_equal(hex,
                            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(text);
}

/* Every length around the block size, because padding is where hashes go wrong. */
static void lengths(void **state) {
    (void)state;
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)(i * 7 + 1);
    for (size_t n = 0; n <= sizeof bytes; ++n) {
        char whole[65], pieces[65];
        hash(bytes, n, sizeof bytes, whole);
        hash(bytes, n, 13, pieces);
        assert_string_equal(whole, pieces);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(million),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
