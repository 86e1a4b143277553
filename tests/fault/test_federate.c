/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Federations with their first, second, … allocation failing. A round that failed can be repeated
 * as if nothing had happened. */
#include "check.h"

#include "fault/alloc.h"

#include "federate/federation.h"

enum { ROWS = 24, FEATURES = 3, CLIENTS = 6, CANARIES = 5 };

static dpa_dataset *data;
static dpa_clients *clients;
static dpa_model *model;
static dpa_federation *federation;
static dpa_error err;

static dpa_status make_clients(void) {
    double owner[ROWS];
    for (size_t i = 0; i < ROWS; ++i) owner[i] = (double)(i % CLIENTS);
    return dpa_clients_new(owner, ROWS, &clients, &err);
}

static void make_data(void) {
    float x[ROWS * FEATURES];
    int32_t label[ROWS];
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = 0; j < FEATURES; ++j) x[i * FEATURES + j] = (float)(i * j % 7);
        label[i] = (int32_t)(i % 2);
    }
    const dpa_shape shape = {1, 1, FEATURES};
    assert_ok(dpa_dataset_new(x, label, ROWS, shape, 2, &data, NULL));
    assert_ok(dpa_model_new("mlp:7", shape, 2, DPA_LOSS_SOFTMAX, &model, NULL));
}

static dpa_status make_federation(void) {
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.cohort = 3;
    o.rounds = 70; /* more than can wait for their cosines */
    o.sigma = 0.5;
    o.canaries = o.unobserved = CANARIES;
    o.repetitions = 1;
    o.threads = 1;
    return dpa_federation_new(model, data, clients, &o, &federation, &err);
}

/* Weights and largest cosines after all rounds; with `faults`, every allocation fails once. */
static void train(int faults, float *weight, double *largest) {
    dpa_status status;
    dpa_model_init(model, 1);
    assert_ok(make_federation());
    for (uint64_t round = 0; round < 70; ++round) {
        if (faults)
            FAULT_EVERY(status, dpa_federation_round(federation, NULL, &err), (void)0);
        else
            assert_ok(dpa_federation_round(federation, NULL, &err));
        assert_int_equal(dpa_federation_rounds_done(federation), round + 1);
    }
    if (faults)
        FAULT_EVERY(status, dpa_federation_largest(federation, largest, &err), (void)0);
    else
        assert_ok(dpa_federation_largest(federation, largest, &err));
    for (size_t i = 0; i < CANARIES; ++i)
        assert_int_equal(dpa__canaries_own_times(federation->canaries, i), 1);
    memcpy(weight, dpa_model_weights(model), dpa_model_size(model) * sizeof *weight);
    dpa_federation_free(federation);
}

static void everything(void **state) {
    (void)state;
    dpa_status status;
    make_data();
    FAULT_EVERY(status, make_clients(), dpa_clients_free(clients));
    FAULT_EVERY(status, dpa_clients_dirichlet(data, 4, 1.0, 1, &clients, &err),
                dpa_clients_free(clients));
    assert_ok(make_clients());
    FAULT_EVERY(status, make_federation(), dpa_federation_free(federation));
    float want[64], got[64];
    double largest[2 * CANARIES], again[2 * CANARIES];
    train(0, want, largest);
    train(1, got, again);
    assert_memory_equal(want, got, dpa_model_size(model) * sizeof *want);
    assert_memory_equal(largest, again, sizeof largest);
    dpa_clients_free(clients);
    dpa_model_free(model);
    dpa_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
