/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between scheduler and workers: what is put comes out again, also in pieces; garbage is
 * an error. */
#include "check.h"

#include "run/wire.h"

static dpa_error err;

static const unsigned char *bytes_of(const dpa__text *text) {
    return (const unsigned char *)text->data;
}

static void round_trip(void **state) {
    (void)state;
    const double numbers[3] = {1.5, -0.0, 1e-300};
    const dpa__message put = {.kind = DPA__WIRE_RESULT,
                              .stage = 3,
                              .index = UINT64_C(1) << 40,
                              .seconds = 0.25,
                              .payload = (const unsigned char *)numbers,
                              .size = sizeof numbers};
    dpa__text text = {0};
    dpa__message got;
    dpa_values values;
    size_t used = 0;
    dpa__wire_put(&text, &put);
    for (size_t n = 0; n < text.length; ++n) { /* no part of it is enough */
        assert_ok(dpa__wire_take(bytes_of(&text), n, &got, &used, &err));
        assert_int_equal(used, 0);
    }
    assert_ok(dpa__wire_take(bytes_of(&text), text.length, &got, &used, &err));
    assert_int_equal(used, text.length);
    assert_int_equal(got.kind, DPA__WIRE_RESULT);
    assert_int_equal(got.stage, 3);
    assert_true(got.index == UINT64_C(1) << 40 && got.seconds == 0.25);
    assert_ok(dpa__wire_values(&got, &values, &err));
    assert_int_equal(values.count, 3);
    assert_memory_equal(values.items, numbers, sizeof numbers);
    dpa_values_free(&values);
    got.size = 7;
    assert_int_equal(dpa__wire_values(&got, &values, &err), DPA_BAD_INPUT);
    dpa__text_free(&text);
}

static void failures(void **state) {
    (void)state;
    dpa_error put = {.status = DPA_NUMERIC}, got = {0};
    (void)memset(put.place, 'p', sizeof put.place - 1);
    (void)memset(put.text, 't', sizeof put.text - 1);
    dpa__text text = {0};
    dpa__message m;
    size_t used = 0;
    dpa__wire_put_failure(&text, 1, 7, &put);
    assert_ok(dpa__wire_take(bytes_of(&text), text.length, &m, &used, &err));
    assert_ok(dpa__wire_failure(&m, &got, &err));
    assert_int_equal(got.status, DPA_NUMERIC);
    assert_string_equal(got.place, put.place);
    assert_string_equal(got.text, put.text);
    for (size_t n = 0; n < m.size; ++n) { /* truncated anywhere: an error, never a read beyond */
        const dpa__message cut = {.kind = m.kind, .payload = m.payload, .size = n};
        assert_int_equal(dpa__wire_failure(&cut, &got, &err), DPA_BAD_INPUT);
    }
    dpa__text_free(&text);
    /* every status comes through; what is none is an internal error */
    for (int status = DPA_BAD_ARGUMENT; status <= DPA_INTERNAL + 1; ++status) {
        put = (dpa_error){.status = (dpa_status)status};
        (void)snprintf(put.place, sizeof put.place, "p");
        (void)snprintf(put.text, sizeof put.text, "t");
        dpa__wire_put_failure(&text, 2, 9, &put);
        assert_ok(dpa__wire_take(bytes_of(&text), text.length, &m, &used, &err));
        assert_int_equal(m.stage * 10 + (int)m.index, 29);
        assert_ok(dpa__wire_failure(&m, &got, &err));
        assert_int_equal(got.status, status <= DPA_INTERNAL ? status : DPA_INTERNAL);
        assert_string_equal(got.place, "p");
        assert_string_equal(got.text, "t");
        dpa__text_free(&text);
    }
    put = (dpa_error){.status = DPA_OK}; /* a failure without a reason is still one */
    dpa__wire_put_failure(&text, 0, 0, &put);
    assert_ok(dpa__wire_take(bytes_of(&text), text.length, &m, &used, &err));
    assert_ok(dpa__wire_failure(&m, &got, &err));
    assert_int_equal(got.status, DPA_INTERNAL);
    dpa__text_free(&text);
}

static void garbage(void **state) {
    (void)state;
    unsigned char bytes[64];
    dpa__message m;
    size_t used = 1;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(dpa__wire_take(bytes, sizeof bytes, &m, &used, &err), DPA_BAD_INPUT);
    assert_ok(dpa__wire_take(bytes, 31, &m, &used, &err));
    assert_int_equal(used, 0);
    const dpa__message put = {.kind = DPA__WIRE_PLAY, .index = 1};
    dpa__text text = {0};
    dpa__wire_put(&text, &put);
    const uint64_t huge = UINT64_MAX;
    memcpy(text.data + 24, &huge, 8); /* a size that nobody has */
    assert_int_equal(dpa__wire_take(bytes_of(&text), text.length, &m, &used, &err), DPA_BAD_INPUT);
    dpa__text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(failures),
                                       cmocka_unit_test(garbage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
