/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominating pairs: their atoms by hand, their δ against closed forms, and files. */
#include "check.h"

#include "account/handle.h"
#include "base/array.h"
#include "base/write.h"

static dpa_error err;

typedef struct both {
    dpa__atoms side[2];
} both;

static both atoms_of(const dpa_pair *pair, double resolution) {
    both b;
    assert_ok(dpa__pair_atoms(pair, resolution, log(1e-20), 1 << 20, b.side, &err));
    return b;
}

static void release(both *b) {
    dpa__atoms_free(&b->side[0]);
    dpa__atoms_free(&b->side[1]);
}

/* The masses under both laws; what is surely infinite is in neither list. */
static void check_total(const dpa__atoms *a, double p, double q, double tolerance) {
    double all_p = 0, all_q = 0;
    for (size_t i = 0; i < a->count; ++i) {
        all_p += exp(a->log_mass[i]);
        all_q += exp(a->log_mass[i] - a->loss[i]);
    }
    assert_absolute(all_p, p, tolerance);
    assert_absolute(all_q, q, tolerance);
}

static double delta_of(const dpa__atoms *a, double epsilon, double infinite) {
    double sum = infinite;
    for (size_t i = 0; i < a->count; ++i)
        if (a->loss[i] > epsilon) sum += exp(a->log_mass[i]) * -expm1(epsilon - a->loss[i]);
    return sum;
}

static void check_atom(const dpa_pair *pair, size_t i, double loss, double mass) {
    assert_true(i < pair->atoms.count);
    assert_absolute(pair->atoms.loss[i], loss, 1e-14 * (1 + fabs(loss)));
    assert_relative(exp(pair->atoms.log_mass[i]), mass, 1e-13);
}

static void by_hand(void **state) {
    (void)state;
    dpa_pair *pair;
    double range[2];
    assert_ok(dpa__pair_epsilon_delta(1.5, 0.125, &pair, &err));
    assert_int_equal(pair->atoms.count, 2);
    check_atom(pair, 0, 1.5, 0.875 / (1 + exp(-1.5)));
    check_atom(pair, 1, -1.5, 0.875 / (1 + exp(1.5)));
    assert_true(pair->atoms.p_out == 0.125 && pair->atoms.p_sure == 0.125);
    assert_true(pair->atoms.q_out == 0.125 && pair->atoms.q_sure == 0.125);
    assert_true(pair->lattice == 1.5 && isinf(dpa__pair_pure(pair)));
    assert_relative(pair->atoms.shift, 4e-16 * 2.5, 1e-12);
    assert_relative(pair->atoms.error, 4e-15, 1e-12);
    dpa_pair_free(pair);
    assert_ok(dpa__pair_response(0.2, 2, &pair, &err));
    assert_int_equal(pair->atoms.count, 2);
    assert_relative(dpa__pair_pure(pair), log(9), 1e-14);
    dpa_pair_free(pair);
    assert_ok(dpa__pair_response(0.3, 6, &pair, &err));
    assert_int_equal(pair->atoms.count, 3);
    check_atom(pair, 0, log(15), 0.75);
    check_atom(pair, 1, -log(15), 0.05);
    check_atom(pair, 2, 0, 0.2);
    assert_relative(pair->lattice, log(15), 1e-14);
    dpa_pair_free(pair);
    assert_ok(dpa__pair_discrete_laplace(0.5, 3, &pair, &err));
    assert_int_equal(pair->atoms.count, 4);
    check_atom(pair, 0, 1.5, 1 / (1 + exp(-0.5)));
    check_atom(pair, 1, 0.5, tanh(0.25) * exp(-0.5));
    check_atom(pair, 2, -0.5, tanh(0.25) * exp(-1));
    check_atom(pair, 3, -1.5, exp(-1.5) / (1 + exp(-0.5)));
    check_total(&pair->atoms, 1, 1, 1e-14);
    dpa__pair_range(pair, 0, range);
    assert_absolute(range[0], -1.5, 1e-14);
    assert_absolute(range[1], 1.5, 1e-14);
    assert_true(pair->lattice == 0.5 && dpa__pair_pure(pair) == range[1]);
    dpa_pair_free(pair);
    assert_ok(dpa__pair_discrete_gaussian(2, 3, &pair, &err));
    check_total(&pair->atoms, 1, 1, 1e-13);
    assert_int_equal(pair->atoms.count, 2 * 83 + 1); /* |x| ≤ ⌈40σ + s⌉ */
    double norm = 0;
    for (int x = -100; x <= 100; ++x) norm += exp(-x * x / 8.0);
    check_atom(pair, 83, 9.0 / 8, 1 / norm);
    check_atom(pair, 85, 3.0 * (3 - 4) / 8, exp(-0.5) / norm);
    assert_relative(pair->lattice, 3.0 / 8, 1e-14);
    assert_relative(pair->atoms.error, 1e-13, 1e-12);
    assert_true(pair->atoms.p_out > 0 && pair->atoms.p_out < 1e-300);
    assert_true(pair->atoms.q_out == pair->atoms.p_out && pair->atoms.p_sure == 0);
    dpa_pair_free(pair);
}

#define refused(call, word)                                                                        \
    do {                                                                                           \
        dpa_pair *refused_pair = NULL, **out = &refused_pair;                                      \
        assert_int_equal((call), DPA_BAD_INPUT);                                                   \
        assert_null(refused_pair);                                                                 \
        if (strstr(err.text, word) == NULL) fail_msg("'%s' has no '%s'", err.text, word);          \
    } while (0)

/* Each limit lets its last number in, and nothing beyond. */
static void limits(void **state) {
    (void)state;
    dpa_pair *pair;
    refused(dpa__pair_epsilon_delta(-1e-9, 0, out, &err), "epsilon must be in [0, 1e5]");
    refused(dpa__pair_epsilon_delta(1.0001e5, 0, out, &err), "epsilon 100010");
    refused(dpa__pair_epsilon_delta(1, 1, out, &err), "delta in [0, 1)");
    refused(dpa__pair_epsilon_delta(1, -0.1, out, &err), "delta -0.1");
    assert_ok(dpa__pair_epsilon_delta(0, 0, &pair, &err));
    dpa_pair_free(pair);
    assert_ok(dpa__pair_epsilon_delta(1e5, 0, &pair, &err));
    dpa_pair_free(pair);
    refused(dpa__pair_response(0, 3, out, &err), "the noise must be in (0, 1]");
    refused(dpa__pair_response(1.1, 3, out, &err), "noise 1.1");
    refused(dpa__pair_response(0.5, 1, out, &err), "whole number from 2");
    refused(dpa__pair_response(0.5, 2.5, out, &err), "2.5 buckets");
    assert_ok(dpa__pair_response(1, 3, &pair, &err));
    dpa_pair_free(pair);
    refused(dpa__pair_discrete_laplace(0, 1, out, &err), "noise parameter 0");
    refused(dpa__pair_discrete_laplace(1, 0.5, out, &err), "sensitivity 0.5");
    refused(dpa__pair_discrete_laplace(1, 1.5, out, &err), "sensitivity 1.5");
    refused(dpa__pair_discrete_laplace(2e5, 1, out, &err), "noise parameter 200000");
    refused(dpa__pair_discrete_gaussian(1e-4, 1, out, &err), "sigma must be at least 0.001");
    refused(dpa__pair_discrete_gaussian(1, 0, out, &err), "sensitivity 0");
    refused(dpa__pair_discrete_gaussian(1, 2.5, out, &err), "sensitivity 2.5");
    refused(dpa__pair_discrete_gaussian(2e4, 1, out, &err), "at most 1000000");
    const double half[] = {0.5, 0.5}, more[] = {0.5, 0.500002}, near[] = {0.5, 0.5000009};
    const double wrong[] = {1.5, -0.5}, odd[] = {NAN, 1};
    refused(dpa_pair_new(half, more, 2, out, &err), "q sums to 1.000002; a distribution sums to 1");
    refused(dpa_pair_new(more, half, 2, out, &err), "p sums to 1.000002");
    refused(dpa_pair_new(wrong, half, 2, out, &err), "p: mass 1 is 1.5; it must be in [0, 1]");
    refused(dpa_pair_new(half, odd, 2, out, &err), "q: mass 1 is nan");
    refused(dpa_pair_new(half, half, 0, out, &err), "1 to 10000000 outcomes, not 0");
    refused(dpa_pair_new(half, half, 10000001, out, &err), "not 10000001");
    assert_ok(dpa_pair_new(near, half, 2, &pair, &err));
    dpa_pair_free(pair);
}

/* Outcomes that only one law has are kept apart. */
static void masses(void **state) {
    (void)state;
    const double p[] = {0.5, 0.25, 0.25, 0, 0}, q[] = {0.25, 0.5, 0, 0.25, 0};
    dpa_pair *pair, *sampled;
    assert_ok(dpa_pair_new(p, q, 5, &pair, &err));
    assert_int_equal(pair->atoms.count, 2);
    check_atom(pair, 0, log(2), 0.5);
    check_atom(pair, 1, -log(2), 0.25);
    assert_true(pair->atoms.p_sure == 0.25 && pair->atoms.q_sure == 0.25);
    assert_true(pair->atoms.p_out == 0.25 && pair->atoms.q_out == 0.25);
    assert_relative(pair->atoms.error, 1e-15, 1e-12);
    assert_relative(pair->atoms.shift, 1e-15, 1e-12);
    /* sampled: P becomes (1−q)Q + qP; where only Q was, the loss is log(1−q) */
    assert_ok(dpa__pair_node(DPA__PAIR_SAMPLED, pair, 0.25, &sampled, &err));
    both b = atoms_of(sampled, 1);
    for (int side = 0; side < 2; ++side) {
        const dpa__atoms *a = &b.side[side];
        assert_int_equal(a->count, 3);
        assert_relative(exp(a->loss[0]), (0.75 * 0.25 + 0.25 * 0.5) / 0.25, 1e-14);
        assert_relative(exp(a->log_mass[0]), 0.75 * 0.25 + 0.25 * 0.5, 1e-14);
        assert_relative(exp(a->loss[1]), (0.75 * 0.5 + 0.25 * 0.25) / 0.5, 1e-14);
        assert_relative(exp(a->log_mass[1]), 0.75 * 0.5 + 0.25 * 0.25, 1e-14);
        assert_relative(exp(a->loss[2]), 0.75, 1e-14);
        assert_relative(exp(a->log_mass[2]), 0.75 * 0.25, 1e-14);
        assert_relative(a->p_out, 0.25 * 0.25, 1e-14);
        assert_relative(a->p_sure, 0.25 * 0.25, 1e-14);
        assert_true(a->q_out == 0 && a->q_sure == 0);
        /* copied and joined (4 ulp each), then sampled */
        assert_relative(a->error, 1e-15 + 8 * 1.2e-16 + 1e-15 + 8 * 1.2e-16, 1e-9);
        assert_relative(a->shift, 1e-15 + 4 * 1.2e-16, 1e-9);
    }
    release(&b);
    double range[2];
    dpa__pair_range(sampled, 0, range);
    assert_relative(range[1], log1p(0.25), 1e-14);
    assert_relative(range[0], log1p(-0.125), 1e-14);
    dpa_pair_free(sampled);
}

/* Pairs of Gaussian mixtures: two lists between which the exact δ lies, narrowly. */
static double upper(double x) {
    return erfc(x / sqrt(2)) / 2;
}

static void gaussians(void **state) {
    (void)state;
    const double mean[] = {0, 1, 3}, weight[] = {0.5, 0.25, 0.25}, zero = 0, one = 1, sigma = 1.5;
    dpa_pair *pair;
    assert_ok(dpa__pair_gaussians(sigma, mean, weight, 3, &zero, &one, 1, &pair, &err));
    both b = atoms_of(pair, 0.01);
    for (int side = 0; side < 2; ++side) {
        check_total(&b.side[side], 1, 1, 1e-12);
        assert_relative(b.side[side].p_out, 2e-20, 1e-12);
        assert_relative(b.side[side].q_out, 2e-20, 1e-12);
    }
    for (double x = -1; x < 9; x += 0.5) { /* the threshold fixes ε */
        double p = 0, density = 0;
        for (int k = 0; k < 3; ++k) {
            p += weight[k] * upper((x - mean[k]) / sigma);
            density += weight[k] * exp(((2 * x - mean[k]) * mean[k]) / (2 * sigma * sigma));
        }
        const double epsilon = log(density), exact = p - density * upper(x / sigma);
        const double low = delta_of(&b.side[DPA_OPTIMISTIC], epsilon, 0);
        const double high = delta_of(&b.side[DPA_PESSIMISTIC], epsilon, 0);
        assert_true(low <= exact + 1e-13 && high >= exact - 1e-13);
        assert_absolute(high, low, 3e-5);
    }
    double range[2], wide[2];
    dpa__pair_range(pair, log(1e-20), range);
    dpa__pair_range(pair, log(1e-30), wide);
    assert_relative(b.side[0].loss[0], range[0], 1e-2);
    assert_relative(b.side[1].loss[b.side[1].count - 2], range[1], 1e-2);
    assert_true(wide[1] > range[1] && wide[0] <= range[0]);
    /* the right end is 3 + z·σ: there the largest mean dominates */
    const double z = 9.2623400897985, end = 3 + z * sigma;
    assert_absolute(range[1], (6 * end - 9) / (2 * sigma * sigma) + log(0.25), 2e-2);
    const double size = (end + 3) * (end + 3) / (sigma * sigma);
    assert_relative(b.side[0].error, 2e-14 + 8 * 1.2e-16 * size, 1e-6);
    assert_relative(b.side[1].shift, 4e-14 + 16 * 1.2e-16 * size, 1e-6);
    /* pieces: the loss rises by 3/σ² per unit, the quadrature needs a quarter of σ²/(far + reach)
     */
    const double span = end + z * sigma, most = fmin(0.01 / 3, 0.25 / (end + 3)) * sigma * sigma;
    assert_absolute((double)b.side[0].count, ceil(span / most), 1);
    release(&b);
    dpa__atoms none[2];
    assert_int_equal(dpa__pair_atoms(pair, 0.01, log(1e-20), 1000, none, &err), DPA_NUMERIC);
    assert_non_null(strstr(err.text, "more than the grid limit 1000"));
    dpa_pair_free(pair);
}

/* A choice that is seen: masses in proportion; the symmetric pair equals its reverse. */
static void nodes(void **state) {
    (void)state;
    dpa_pair *part[2], *choice, *whole, *laplace, *symmetric;
    assert_ok(dpa__pair_epsilon_delta(1, 0, &part[0], &err));
    assert_ok(dpa__pair_epsilon_delta(2, 0.1, &part[1], &err));
    const double chance[] = {0.75, 0.125};
    assert_ok(dpa__pair_choice(part, chance, 2, &choice, &err));
    both b = atoms_of(choice, 1);
    assert_int_equal(b.side[0].count, 4);
    assert_relative(exp(b.side[0].log_mass[0]), 0.75 / (1 + exp(-1)), 1e-14);
    assert_relative(exp(b.side[1].log_mass[3]), 0.125 * 0.9 / (1 + exp(2)), 1e-14);
    for (int side = 0; side < 2; ++side) {
        assert_relative(b.side[side].p_sure, 0.0125, 1e-14);
        assert_relative(b.side[side].p_out, 0.0125 + 0.125, 1e-14); /* the missing part */
        assert_relative(b.side[side].q_sure, 0.0125, 1e-14);
        assert_relative(b.side[side].q_out, 0.0125 + 0.125, 1e-14);
        assert_relative(b.side[side].shift, 4e-16 * 3, 1e-9);
        assert_relative(b.side[side].error, 4e-15 + 8 * 1.2e-16, 1e-9);
    }
    release(&b);
    double range[2];
    dpa__pair_range(choice, 0, range);
    assert_true(range[0] == -2 && range[1] == 2 && isinf(dpa__pair_pure(choice)));
    dpa_pair_free(choice);
    /* Laplace: exact at its cells' grid points, which its atoms are */
    assert_ok(dpa__pair_laplace(2, &laplace, &err));
    assert_true(dpa__pair_is_symmetric(laplace));
    b = atoms_of(laplace, 0.05);
    check_total(&b.side[DPA_PESSIMISTIC], 1, 1, 1e-12);
    for (double epsilon = 0; epsilon < 0.5; epsilon += 0.05)
        assert_absolute(delta_of(&b.side[DPA_PESSIMISTIC], epsilon, 0), -expm1((epsilon - 0.5) / 2),
                        1e-12);
    for (double epsilon = 0.01; epsilon < 0.5; epsilon += 0.05) {
        const double exact = -expm1((epsilon - 0.5) / 2);
        assert_between(delta_of(&b.side[DPA_OPTIMISTIC], epsilon, 0), exact - 3e-4, exact + 1e-15);
    }
    dpa__pair_range(laplace, 0, range);
    assert_true(range[0] == -0.5 && range[1] == 0.5);
    release(&b);
    dpa_pair_free(laplace);
    /* symmetric: the losses above 0 stay, each with its mirror image, the rest at 0 */
    const double p[] = {0.4, 0.4, 0.1, 0.1}, q[] = {0.1, 0.3, 0.3, 0.3};
    assert_ok(dpa_pair_new(p, q, 4, &whole, &err));
    assert_ok(dpa__pair_node(DPA__PAIR_SYMMETRIC, whole, 0, &symmetric, &err));
    assert_true(dpa__pair_is_symmetric(symmetric) && !dpa__pair_is_symmetric(whole));
    dpa__pair_range(symmetric, 0, range);
    assert_relative(range[1], log(4), 1e-14);
    assert_true(range[0] == -range[1]);
    b = atoms_of(symmetric, 1);
    /* p at the two losses above 0 is 0.8, their q 0.4: 1.2 is above 1 */
    check_total(&b.side[DPA_PESSIMISTIC], 1.2, 1.2, 1e-14);
    check_total(&b.side[DPA_OPTIMISTIC], 1, 1, 1e-14);
    assert_int_equal(b.side[0].count, 4);
    release(&b);
    dpa_pair_free(symmetric);
    const double rare[] = {0.2, 0.3, 0.5}, often[] = {0.1, 0.4, 0.5};
    assert_ok(dpa_pair_new(rare, often, 3, &whole, &err));
    assert_ok(dpa__pair_node(DPA__PAIR_SYMMETRIC, whole, 0, &symmetric, &err));
    b = atoms_of(symmetric, 1);
    for (int side = 0; side < 2; ++side) {
        const dpa__atoms *a = &b.side[side];
        assert_int_equal(a->count, 3);
        assert_relative(exp(a->log_mass[0]), 0.2, 1e-14);
        assert_relative(exp(a->log_mass[1]), 0.1, 1e-14);
        assert_true(a->loss[1] == -a->loss[0] && a->loss[2] == 0);
        assert_relative(exp(a->log_mass[2]), 0.7, 1e-14);
        assert_relative(a->error, 1e-15 + 8 * 1.2e-16 + 8 * 1.2e-16 + 1e-15, 1e-9);
    }
    release(&b);
    dpa_pair_free(symmetric);
}

/* What the largest of n sums shows: two distributions, and no more than is there. */
static void shuffled(void **state) {
    (void)state;
    dpa_pair *pair;
    for (double less = 0; less < 2; ++less)
        for (double batches = 1; batches < 60; batches *= 7) {
            assert_ok(dpa__pair_shuffled_maximum(1.5, batches, less, &pair, &err));
            check_total(&pair->atoms, 1, 1, 1e-9);
            assert_in_range(pair->atoms.count, 800, 1500);
            assert_relative(pair->atoms.error, 1e-11, 1e-12);
            assert_relative(pair->atoms.shift, 1e-11, 1e-12);
            if (batches == 1) /* one Gaussian moved by 2 − less */
                for (double epsilon = 0; epsilon < 3; epsilon += 0.5) {
                    const double mu = (2 - less) / 1.5;
                    const double exact = exp(dpa__gaussian_log_delta(mu, epsilon));
                    assert_between(delta_of(&pair->atoms, epsilon, 0), exact * 0.998,
                                   exact + 1e-10);
                }
            dpa_pair_free(pair);
        }
}

static char path[64];

static const char *file_of(const char *text) {
    (void)snprintf(path, sizeof path, "/tmp/dpaudit_pair_%d", (int)getpid());
    assert_ok(dpa__file_write(path, text, strlen(text), &err));
    return path;
}

static void bad_file(const char *text, const char *word) {
    dpa_pair *pair;
    assert_int_equal(dpa_pair_read(file_of(text), &pair, &err), DPA_BAD_INPUT);
    assert_null(pair);
    assert_memory_equal(err.place, path, strlen(path));
    if (strstr(err.text, word) == NULL) fail_msg("'%s' has no '%s'", err.text, word);
}

static void files(void **state) {
    (void)state;
    dpa_pair *pair;
    assert_ok(dpa_pair_read(file_of("{\"p\": [0.5, 0.5], \"q\": [0.25, 0.75]}"), &pair, &err));
    check_atom(pair, 0, log(2), 0.5);
    dpa_pair_free(pair);
    /* densities on cells of their own widths */
    assert_ok(dpa_pair_read(
        file_of("{\"p\": [0.5, 0.25], \"q\": [0.25, 0.375], \"edges\": [-1, 0, 2]}"), &pair, &err));
    check_atom(pair, 0, log(2), 0.5);
    check_atom(pair, 1, log(2.0 / 3), 0.5);
    dpa_pair_free(pair);
    bad_file("{\"p\": [1], \"q\": 1}", "'q' is not a list of numbers");
    bad_file("{\"q\": [1]}", "'p' is not a list of numbers");
    bad_file("{\"p\": [1, \"x\"], \"q\": [1]}", "'p': item 2 is not a number");
    bad_file("{\"p\": [1, 0], \"q\": [1]}", "p has 2 numbers and q 1");
    bad_file("{\"p\": [1], \"q\": [1], \"edges\": [0]}", "edges");
    bad_file("{\"p\": [1, 0], \"q\": [1, 0], \"edges\": [0, 1, 1]}",
             "edge 3 is not above the one before");
    bad_file("{\"p\": [0.5], \"q\": [1]}", "p sums to 0.5");
    bad_file("[", "not JSON");
    double p[] = {0.5, 0.5}, q[] = {0.25, 0.75}, edges[] = {0, 1, 2};
    dpa_array arrays[3] = {{.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = p},
                           {.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = q},
                           {.dtype = DPA_F64, .ndim = 1, .shape = {3}, .count = 3, .data = edges}};
    const char *const names[] = {"p", "q", "edges"};
    for (size_t count = 2; count <= 3; ++count) {
        assert_ok(dpa__npz_write(path, names, arrays, count, &err));
        assert_ok(dpa_pair_read(path, &pair, &err));
        check_atom(pair, 1, log(2.0 / 3), 0.5);
        dpa_pair_free(pair);
    }
    arrays[1].ndim = 2;
    arrays[1].shape[1] = 1;
    assert_ok(dpa__npz_write(path, names, arrays, 2, &err));
    assert_int_equal(dpa_pair_read(path, &pair, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "'q' is not a list of numbers");
    (void)unlink(path);
}

static dpa_interval epsilon_of(const dpa_pair *pair, double q, uint64_t steps) {
    dpa_account *account = NULL;
    dpa_interval e;
    const dpa_phase phase = {DPA_PAIR, 1, q, steps, pair};
    if (dpa_account_new(&phase, 1, NULL, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_ok(dpa_account_epsilon(account, 1e-5, &e, &err));
    dpa_account_free(account);
    return e;
}

/* A pair that is a known mechanism composes as that mechanism does: sampled, and not. */
static void composed(void **state) {
    (void)state;
    const double zero = 0, one = 1;
    dpa_pair *gaussian, *answer;
    assert_ok(dpa__pair_gaussians(1.25, &one, &one, 1, &zero, &one, 1, &gaussian, &err));
    assert_ok(dpa__pair_epsilon_delta(0.5, 0, &answer, &err));
    for (int k = 0; k < 2; ++k) {
        const double q = k == 0 ? 1 : 0.05;
        const dpa_phase g = {DPA_GAUSSIAN, 1.25, q, 40, NULL};
        const dpa_phase r = {DPA_RANDOMIZED_RESPONSE, 0.5, q, 40, NULL};
        dpa_account *known[2];
        dpa_interval want[2], e;
        assert_ok(dpa_account_new(&g, 1, NULL, &known[0], &err));
        assert_ok(dpa_account_new(&r, 1, NULL, &known[1], &err));
        for (int i = 0; i < 2; ++i) {
            assert_ok(dpa_account_epsilon(known[i], 1e-5, &want[i], &err));
            dpa_account_free(known[i]);
            e = epsilon_of(i == 0 ? gaussian : answer, q, 40);
            assert_true(e.lower <= want[i].upper && e.upper >= want[i].lower);
            assert_true(e.upper - e.lower <= fmax(1e-3 * e.upper, 1e-4));
        }
    }
    dpa_pair_free(gaussian);
    dpa_pair_free(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(limits),
                                       cmocka_unit_test(masses),  cmocka_unit_test(gaussians),
                                       cmocka_unit_test(nodes),   cmocka_unit_test(shuffled),
                                       cmocka_unit_test(files),   cmocka_unit_test(composed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
