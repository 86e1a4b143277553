/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries, models and cosine estimates with their first, second, … allocation failing. */
#include "check.h"

#include "fault/alloc.h"

#include <jansson.h>

#include "estimate/cosines/cosine.h"
#include "evidence/canary.h"
#include "evidence/weights.h"

enum { DIM = 300, COUNT = 12 };

static dpa_canaries *canaries;
static dpa_error err;

static dpa_status make_handle(void) {
    dpa_canaries_opts opts;
    dpa__canaries_opts_init(&opts);
    opts.dim = DIM;
    opts.observed = COUNT;
    opts.threads = 1;
    return dpa__canaries_new(&opts, &canaries, &err);
}

static void handles(void **state) {
    (void)state;
    static float model[DIM] = {1.0F};
    double cosine[COUNT], norm[COUNT];
    const dpa_vector v = {.f32 = model, .dim = DIM};
    unsigned char *bytes = NULL;
    size_t size = 0;
    dpa_canaries *loaded = NULL;
    dpa_status status;
    for (size_t i = 0; i < COUNT; ++i) norm[i] = 1.0;
    FAULT_EVERY(status, make_handle(), dpa__canaries_free(canaries));
    assert_ok(make_handle());
    FAULT_EVERY(status, dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, &err), (void)0);
    FAULT_EVERY(status, dpa__canaries_round(canaries, &v, NULL, &err), (void)0);
    FAULT_EVERY(status, dpa__canaries_sum_f32(canaries, norm, model, NULL, &err), (void)0);
    FAULT_EVERY(status, dpa__canaries_encode(canaries, &bytes, &size, &err), (void)0);
    FAULT_EVERY(status, dpa__canaries_decode("s", bytes, size, NULL, &loaded, &err),
                dpa__canaries_free(loaded));
    free(bytes);
    dpa__canaries_free(canaries);
}

static dpa_weights weights;

static dpa_status read_weights(const unsigned char *bytes, size_t size) {
    dpa__stream *stream = NULL;
    char hash[DPA_SHA256_SIZE];
    dpa_status status = dpa__stream_open_memory("m", bytes, size, &stream, &err);
    if (status != DPA_OK) return status;
    weights = (dpa_weights){0};
    status = dpa__weights_from_stream(stream, &weights, hash, &err);
    dpa__stream_close(stream);
    if (status != DPA_OK) dpa__weights_free(&weights);
    return status;
}

static void models(void **state) {
    (void)state;
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                                 "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[4,12]}}";
    unsigned char bytes[8 + sizeof header - 1 + 12] = {sizeof header - 1};
    dpa_status status;
    memcpy(bytes + 8, header, sizeof header - 1);
    FAULT_EVERY(status, read_weights(bytes, sizeof bytes), dpa__weights_free(&weights));
    json_set_alloc_funcs(malloc, free); /* the wrapped functions of this program */
    FAULT_EVERY(status, read_weights(bytes, sizeof bytes), dpa__weights_free(&weights));
    FAULT_EVERY(status, read_weights((const unsigned char *)"1\n2\n", 4),
                dpa__weights_free(&weights));
}

static dpa_results results;
static dpa_lints lints;

static dpa_status estimate(const dpa_cosines *cosines) {
    dpa_request request;
    dpa__request_init(&request);
    const dpa_status status = dpa__cosines_results(cosines, &request, &results, &lints, &err);
    if (status != DPA_OK) {
        dpa__results_free(&results);
        dpa__lints_free(&lints);
    }
    return status;
}

static void estimates(void **state) {
    (void)state;
    double x[COUNT];
    dpa_status status;
    for (size_t i = 0; i < COUNT; ++i) x[i] = 0.01 * (double)i;
    const dpa_cosines c = {.observed = x, .observed_count = COUNT, .dim = 100};
    FAULT_EVERY(status, estimate(&c), (dpa__results_free(&results), dpa__lints_free(&lints)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles),
        cmocka_unit_test(models),
        cmocka_unit_test(estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
