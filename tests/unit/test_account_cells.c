/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accountant's first stages against closed forms in extended precision: the masses of every
 * cell are as exact as the cell says, both pmfs of one step bound its δ from their side, and the
 * dominating one is exact at grid points. */
#include "check.h"

#include "account/pair.h"

typedef long double real;

/* One sampled Gaussian step; P is the record's run. */
typedef struct step {
    double sigma, q;
    int replaced;
} step;

static real upper(real x, real mean, real sigma) {
    return erfcl((x - mean) / sigma / sqrtl(2)) / 2;
}

/* Masses above x. */
static real above_p(const step *s, real x) {
    return (1 - (real)s->q) * upper(x, 0, s->sigma) + s->q * upper(x, 1, s->sigma);
}
static real above_q(const step *s, real x) {
    if (!s->replaced) return upper(x, 0, s->sigma);
    return (1 - (real)s->q) * upper(x, 0, s->sigma) + s->q * upper(x, -1, s->sigma);
}

static real loss_at(const step *s, real x) {
    const real square = 2 * (real)s->sigma * s->sigma, rest = 1 - (real)s->q;
    const real plus = logl(rest + s->q * expl((2 * x - 1) / square));
    return s->replaced ? plus - logl(rest + s->q * expl((-2 * x - 1) / square)) : plus;
}

/* The observation whose loss is g, by bisection; −1e3σ where every loss is above g. */
static real place_of(const step *s, real g) {
    real low = -1000 * (real)s->sigma, high = 1000 * (real)s->sigma;
    if (!(loss_at(s, low) < g)) return low;
    for (int i = 0; i < 200; ++i) {
        const real middle = (low + high) / 2;
        if (loss_at(s, middle) < g)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* In the upper half the masses above are small, in the lower half those below: mirrored, so that
 * nothing cancels. */
static real between(real (*above)(const step *, real), const step *s, real a, real b) {
    const step plain = *s;
    if (a + b > 0) return above(s, a) - above(s, b);
    real below[2];
    for (int k = 0; k < 2; ++k) {
        const real x = k == 0 ? a : b;
        const real shift = above == above_p ? 1 : plain.replaced ? -1 : 0;
        below[k] = (1 - (real)s->q) * upper(-x, 0, s->sigma) + s->q * upper(-x, -shift, s->sigma);
    }
    return below[1] - below[0];
}

/* Every cell that matters has its two shares to within its own error, which is small. */
static void check_cells(step s, double h, double largest) {
    dpa__loss_cells cells;
    dpa_error err;
    const dpa_adjacency adjacency = s.replaced ? DPA_REPLACE_ONE : DPA_ADD_REMOVE;
    const double log_tail = log(1e-20);
    assert_ok(
        dpa__loss_cells_gaussian(s.sigma, s.q, adjacency, h, log_tail, 1 << 20, &cells, &err));
    real all_p = 0, all_q = 0;
    double most = 0;
    for (size_t i = 0; i < cells.count; ++i) {
        const real from = (real)cells.origin + (real)h * (real)(cells.first + (ptrdiff_t)i);
        const real to = from + h, low = expl(cells.log_low[i]), high = expl(cells.log_high[i]);
        const real a = place_of(&s, from), b = place_of(&s, to);
        const real p = between(above_p, &s, a, b), q = between(above_q, &s, a, b);
        all_p += low + high;
        all_q += low * expl(-from) + high * expl(-to);
        if (!(p > 1e-9L)) continue;
        const real want_high = (p - expl(from) * q) / -expm1l(-(real)h);
        const real want_low = (expl(to) * q - p) / expm1l((real)h);
        const double error = (double)cells.error[i], noise = 4e-19 / (double)(p * h);
        assert_true(error >= 2e-13);
        most = fmax(most, error);
        assert_true(fabsl(high - want_high) <= error * want_high + noise * p);
        assert_true(fabsl(low - want_low) <= error * want_low + noise * p);
    }
    if (!(fabs(most / largest - 1) < 1e-3)) fail_msg("error %.6g, want %.6g", most, largest);
    assert_absolute((double)all_p, 1.0, 2e-12);
    assert_absolute((double)all_q, 1.0, 2e-12);
    assert_relative(cells.p_out, 4e-20, 1e-12);
    assert_relative(cells.q_out, 4e-20, 1e-12);
    assert_true(cells.p_sure == 0 && cells.q_sure == 0);
    assert_between(cells.shift, 0, 3e-14 * fmax(1, 1 / s.sigma));
    dpa__loss_cells_free(&cells);
}

static void gaussian_cells(void **state) {
    (void)state;
    check_cells((step){1, 0.3, 0}, 0.02, 1.29529e-12);
    check_cells((step){1, 0.3, 1}, 0.02, 1.33294e-12);
    check_cells((step){0.7, 0.01, 0}, 0.05, 6.64578e-13);
    check_cells((step){0.7, 0.01, 1}, 0.05, 6.79741e-13);
    check_cells((step){2, 1, 0}, 0.04, 5.4968e-13);
    check_cells((step){2, 1, 1}, 0.04, 6.9728e-13);
    check_cells((step){3, 0.9, 0}, 0.3, 2.31662e-13);
    check_cells((step){0.5, 0.5, 0}, 0.7, 2.82935e-13);
    check_cells((step){0.5, 0.5, 1}, 0.7, 2.83657e-13);
    check_cells((step){5, 0.2, 0}, 0.002, 1.20445e-12);
    check_cells((step){0.4, 0.1, 1}, 2.5, 2.27204e-13);
}

/* Atoms: the two shares have the atom's mass under both laws; on a grid point it stays whole. */
static void atom_cells(void **state) {
    (void)state;
    static const double losses[] = {-1.93, -0.5, -0.0501, 0, 0.249999, 0.25, 1.1, 1.999};
    for (size_t k = 0; k < sizeof losses / sizeof losses[0]; ++k) {
        dpa__loss_cells cells;
        dpa_error err;
        double p = 0, q = 0, largest = 0;
        assert_ok(dpa__loss_cells_between(-2, 2, 0.25, 1000, &cells, &err));
        assert_int_equal(cells.first, -9);
        assert_int_equal(cells.count, 18);
        assert_relative(cells.shift, 16 * 1.2e-16 * 3, 1e-12);
        dpa__loss_cells_atom(&cells, losses[k], log(0.375));
        for (size_t i = 0; i < cells.count; ++i) {
            const double from = 0.25 * (double)(cells.first + (ptrdiff_t)i);
            const double low = exp(cells.log_low[i]), high = exp(cells.log_high[i]);
            p += low + high;
            q += low * exp(-from) + high * exp(-from - 0.25);
            largest = fmax(largest, fmax(low, high));
            if (low > 0 || high > 0) assert_between(losses[k], from - 1e-12, from + 0.25 + 1e-12);
            assert_relative((double)cells.error[i], 2e-13 + 8 * cells.shift, 1e-6);
        }
        assert_relative(p, 0.375, 1e-14);
        assert_relative(q, 0.375 * exp(-losses[k]), 1e-14);
        if (fmod(losses[k], 0.25) == 0) assert_relative(largest, 0.375, 1e-15);
        dpa__loss_cells_free(&cells);
    }
    dpa__loss_cells none;
    dpa_error err;
    assert_int_equal(dpa__loss_cells_between(-2, 2, 0.25, 17, &none, &err), DPA_NUMERIC);
    assert_non_null(strstr(err.text, "one step's losses need 18 cells of width 0.25, more than the "
                                     "grid limit 17: raise the tolerance"));
}

/* Laplace: ½ at ε₀, ½e^−ε₀ at −ε₀, ¼e^((ℓ−ε₀)/2) between them. */
static void laplace_cells(void **state) {
    (void)state;
    static const double epsilons[] = {0.1, 0.8, 1.0, 5.03};
    for (size_t k = 0; k < 4; ++k) {
        const double e0 = epsilons[k], h = 0.1;
        dpa__loss_cells cells;
        dpa_error err;
        assert_ok(dpa__loss_cells_laplace(e0, h, 1000, &cells, &err));
        double all_p = 0, all_q = 0;
        for (size_t i = 0; i < cells.count; ++i) {
            const double from = h * (double)(cells.first + (ptrdiff_t)i), to = from + h;
            const double low = exp(cells.log_low[i]), high = exp(cells.log_high[i]);
            all_p += low + high;
            all_q += low * exp(-from) + high * exp(-to);
            if (from < -e0 + h || to > e0 - h) continue; /* no atom near */
            const double inside = 0.5 * exp((from - e0) / 2) * expm1(h / 2);
            assert_relative(low + high, inside, 1e-12);
            assert_relative(low * exp(-from) + high * exp(-to),
                            0.5 * exp((-to - e0) / 2) * expm1(h / 2), 1e-12);
        }
        assert_relative(all_p, 1, 1e-13);
        assert_relative(all_q, 1, 1e-13);
        dpa__loss_cells_free(&cells);
    }
}

/* All answers of randomized response at once: the binomial, tail by tail. */
static void response_cells(void **state) {
    (void)state;
    dpa__loss_cells cells;
    dpa_error err;
    const double e0 = 0.5, yes = 1 / (1 + exp(-e0));
    assert_ok(dpa__loss_cells_response(e0, 3, 0.5, log(1e-30), 1000, &cells, &err));
    const double want[4] = {pow(1 - yes, 3), 3 * yes * pow(1 - yes, 2), 3 * yes * yes * (1 - yes),
                            pow(yes, 3)};
    for (size_t b = 0; b < 4; ++b) {
        const ptrdiff_t at = 2 * (ptrdiff_t)b - 3 - cells.first; /* loss (2b − 3)ε₀ */
        assert_relative(exp(cells.log_low[at]), want[b], 1e-13);
    }
    assert_true(cells.p_out == 0 && cells.q_out == 0); /* nothing was left out */
    assert_relative((double)cells.error[0], 2e-13 + 2 * cells.shift / 0.5 + 4e-14 + 4 * 1.2e-16 * 3,
                    1e-6);
    dpa__loss_cells_free(&cells);
    /* of many, only those within Hoeffding's bound; what is left out is told */
    assert_ok(dpa__loss_cells_response(0.1, 1000000, 0.1, log(1e-20), 1000000, &cells, &err));
    double all = 0;
    for (size_t i = 0; i < cells.count; ++i) all += exp(cells.log_low[i]) + exp(cells.log_high[i]);
    assert_absolute(all, 1, 1e-10);
    assert_relative(cells.p_out, 2e-20, 1e-12);
    assert_relative(cells.q_out, 2e-20, 1e-12);
    /* 2·(√(n·log(1/tail)/2) + 1) and n·tanh(ε₀/2) between the two means, twice per answer */
    const double spread = sqrt(-1e6 * log(1e-20) / 2) + 1;
    assert_absolute((double)cells.count, 2 * (2 * spread + 1e6 * tanh(0.05)) + 2, 6);
    dpa__loss_cells_free(&cells);
}

/* The reversed pair, cell by cell: P and Q change places, losses their sign. */
static void mirrored(void **state) {
    (void)state;
    dpa__loss_cells cells, back;
    dpa_error err;
    assert_ok(
        dpa__loss_cells_gaussian(1, 0.2, DPA_ADD_REMOVE, 0.1, log(1e-18), 1 << 20, &cells, &err));
    cells.p_sure = 0.125;
    cells.q_sure = 0.25;
    cells.p_out = 0.375;
    cells.q_out = 0.5;
    assert_ok(dpa__loss_cells_mirror(&cells, &back, &err));
    assert_int_equal(back.count, cells.count);
    assert_int_equal(back.first, -cells.first - (ptrdiff_t)cells.count);
    assert_true(back.origin == -cells.origin && back.h == cells.h && back.shift == cells.shift);
    assert_true(back.p_sure == 0.25 && back.q_sure == 0.125);
    assert_true(back.p_out == 0.5 && back.q_out == 0.375);
    for (size_t i = 0; i < cells.count; ++i) {
        const size_t j = cells.count - 1 - i;
        const double from = dpa__loss_at(cells.origin, cells.h, cells.first + (ptrdiff_t)i);
        assert_relative(back.log_high[j], cells.log_low[i] - from, 1e-12);
        assert_relative(back.log_low[j], cells.log_high[i] - (from + cells.h), 1e-12);
        assert_relative((double)back.error[j], (double)cells.error[i] + 1e-15 * (1 + fabs(from)),
                        1e-5);
    }
    dpa__loss_cells_free(&cells);
    dpa__loss_cells_free(&back);
}

static double pmf_delta(const dpa__pmf *pmf, double epsilon) {
    double sum = pmf->out;
    for (size_t i = 0; i < pmf->count; ++i) {
        const double loss = dpa__loss_at(pmf->origin, pmf->h, pmf->first + (ptrdiff_t)i);
        if (loss > epsilon) sum += exp(pmf->log_mass[i]) * -expm1(epsilon - loss);
    }
    return sum;
}

static double exact_delta(const step *s, double epsilon, int reversed) {
    const real x = place_of(s, reversed ? -epsilon : epsilon);
    if (!reversed) return (double)(above_p(s, x) - expl(epsilon) * above_q(s, x));
    const real p = 1 - above_p(s, x), q = 1 - above_q(s, x);
    return (double)(q - expl(epsilon) * p);
}

/* Dominating: exact at grid points, above in between. Dominated: below everywhere, by a part of the
 * cells' second order that is known, and no total mass is made or much of it lost. */
static void check_pmfs(step s, double h, double gap) {
    dpa__loss_cells cells[2];
    dpa_error err;
    assert_ok(dpa__loss_cells_gaussian(s.sigma, s.q, s.replaced ? DPA_REPLACE_ONE : DPA_ADD_REMOVE,
                                       h, log(1e-22), 1 << 20, &cells[0], &err));
    assert_ok(dpa__loss_cells_mirror(&cells[0], &cells[1], &err));
    double widest = 0;
    for (int way = 0; way < 2; ++way) {
        dpa__pmf over, under;
        assert_ok(dpa__pmf_pessimistic(&cells[way], 1, &over, &err));
        assert_ok(dpa__pmf_optimistic(&cells[way], 1, &under, &err));
        for (int k = 0; k < 60; ++k) {
            const double start = ceil(-over.origin / h) * h + over.origin;
            const double epsilon = start + 0.5 * h * k;
            const double exact = exact_delta(&s, epsilon, way);
            const double high = pmf_delta(&over, epsilon), low = pmf_delta(&under, epsilon);
            assert_true(high >= exact - 1e-15 && low <= exact + 1e-15);
            if (k % 2 == 0) assert_absolute(high, exact, 1e-12 + 1e-11 * exact);
            widest = fmax(widest, (exact - low) / (h * h));
        }
        dpa__pmf_free(&over);
        dpa__pmf_free(&under);
    }
    if (!(widest <= gap * 1.03 && widest >= gap * 0.97))
        fail_msg("gap %.4g, want %.4g", widest, gap);
    dpa__loss_cells_free(&cells[0]);
    dpa__loss_cells_free(&cells[1]);
}

static void one_step_pmfs(void **state) {
    (void)state;
    check_pmfs((step){1, 0.3, 0}, 0.02, 0.7536);
    check_pmfs((step){1, 0.3, 1}, 0.02, 0.2167);
    check_pmfs((step){2, 1, 0}, 0.05, 0.1994);
    check_pmfs((step){0.6, 0.05, 0}, 0.1, 0.8962);
    check_pmfs((step){0.3, 0.01, 0}, 0.3, 0.02546);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_cells), cmocka_unit_test(atom_cells),
        cmocka_unit_test(laplace_cells),  cmocka_unit_test(response_cells),
        cmocka_unit_test(mirrored),       cmocka_unit_test(one_step_pmfs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
