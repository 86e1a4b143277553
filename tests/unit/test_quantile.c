/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The quantile attack: direction, invariances, useless and redundant features, refusals. */
#include "check.h"

#include "attack/attack.h"
#include "attack/regression.h"
#include "base/data.h"
#include "base/rng.h"

enum { POINTS = 40, OTHERS = 150, FEATURES = 3, MODELS = 4 };

/* A signal is linear in the features, with noise that grows with the first of them; members are 4
 * deviations higher. */
typedef struct world {
    double signal[MODELS * POINTS], other[MODELS * OTHERS];
    uint8_t member[MODELS * POINTS];
    double feature[POINTS * FEATURES], other_feature[OTHERS * FEATURES];
    dpa_signals signals, population;
    dpa_features features, population_features;
    dpa_attack_opts opts;
} world;

static double say(const double *f, int is_member, dpa_rng *rng) {
    const double scale = exp(0.7 * f[0]);
    return 2.0 + 3.0 * f[0] - f[1] + scale * (dpa__rng_normal(rng) + 4.0 * is_member);
}

static void make(world *w) {
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < POINTS * FEATURES; ++i) w->feature[i] = dpa__rng_normal(&rng);
    for (size_t i = 0; i < OTHERS * FEATURES; ++i) w->other_feature[i] = dpa__rng_normal(&rng);
    for (size_t m = 0; m < MODELS; ++m) {
        dpa__membership_half(1, m, POINTS, w->member + m * POINTS);
        for (size_t p = 0; p < POINTS; ++p)
            w->signal[m * POINTS + p] =
                say(w->feature + p * FEATURES, w->member[m * POINTS + p], &rng);
        for (size_t p = 0; p < OTHERS; ++p)
            w->other[m * OTHERS + p] = say(w->other_feature + p * FEATURES, 0, &rng);
    }
    w->signals = (dpa_signals){DPA_SIGNAL_LOGIT, MODELS, POINTS, w->signal, w->member, 1};
    w->population = (dpa_signals){DPA_SIGNAL_LOGIT, MODELS, OTHERS, w->other, NULL, 1};
    w->features = (dpa_features){POINTS, FEATURES, w->feature};
    w->population_features = (dpa_features){OTHERS, FEATURES, w->other_feature};
    dpa__attack_opts_init(&w->opts);
    w->opts.target = 2;
    w->opts.population = &w->population;
    w->opts.quantile.features = &w->features;
    w->opts.quantile.population_features = &w->population_features;
}

static dpa_status play(const world *w, double *scores, dpa_error *err) {
    return dpa__attack_run(DPA_ATTACK_QUANTILE, &w->signals, &w->opts, scores, err);
}

/* The share of pairs of a member and a non-member in the right order. */
static double auc(const world *w, const double *scores) {
    const uint8_t *member = w->member + w->opts.target * POINTS;
    double right = 0.0, pairs = 0.0;
    for (size_t i = 0; i < POINTS; ++i)
        for (size_t j = 0; j < POINTS; ++j)
            if (member[i] && !member[j]) {
                pairs += 1.0;
                right += scores[i] > scores[j];
            }
    return right / pairs;
}

static void members_score_higher(void **state) {
    (void)state;
    world w;
    double scores[POINTS], plain[POINTS];
    make(&w);
    assert_ok(dpa__attack_run(DPA_ATTACK_LOSS, &w.signals, &w.opts, plain, NULL));
    assert_true(auc(&w, plain) < 0.9);
    assert_ok(play(&w, scores, NULL));
    assert_true(auc(&w, scores) > 0.99);
    w.opts.quantile.squares = 1;
    assert_ok(play(&w, scores, NULL));
    assert_true(auc(&w, scores) > 0.99);
    w.opts.quantile.form = DPA_QUANTILE_PINBALL;
    assert_ok(play(&w, scores, NULL));
    assert_true(auc(&w, scores) > 0.95);
    /* as losses, the same numbers with the other sign mean the same */
    for (size_t i = 0; i < MODELS * POINTS; ++i) w.signal[i] = -w.signal[i];
    for (size_t i = 0; i < MODELS * OTHERS; ++i) w.other[i] = -w.other[i];
    w.signals.kind = w.population.kind = DPA_SIGNAL_LOSS;
    assert_ok(play(&w, plain, NULL));
    assert_memory_equal(plain, scores, sizeof scores);
}

/* A share `level` of the non-members lies below their quantile, as optimality demands. */
static void pinball_leaves_its_share_below(void **state) {
    (void)state;
    static const double levels[] = {0.1, 0.5, 0.9};
    world w;
    make(&w);
    w.opts.quantile.form = DPA_QUANTILE_PINBALL;
    w.opts.quantile.ridge = 0.0;
    w.signals = (dpa_signals){DPA_SIGNAL_LOGIT, MODELS, OTHERS, w.other, NULL, 1};
    w.features = w.population_features;
    for (size_t k = 0; k < 3; ++k) {
        double scores[OTHERS];
        size_t below = 0, above = 0;
        w.opts.quantile.level = levels[k];
        assert_ok(play(&w, scores, NULL));
        for (size_t i = 0; i < OTHERS; ++i) {
            below += scores[i] < -1e-7;
            above += scores[i] > 1e-7;
        }
        assert_true((double)below <= levels[k] * OTHERS + 1e-9);
        assert_true((double)above <= (1.0 - levels[k]) * OTHERS + 1e-9);
        assert_true(OTHERS - below - above == FEATURES + 1);
    }
}

/* What both fits minimise, taken literally; the normal fit's deviations have a floor (1e-6 of y's).
 */
static double objective(const dpa__design *d, const double *y, double level, double ridge,
                        const double *b, const double *g, double least) {
    double sum = 0;
    for (size_t i = 0; i < d->rows; ++i) {
        const double r = y[i] - dpa__row_times(d, i, b);
        const double scale = g != NULL ? dpa__row_times(d, i, g) : 0;
        sum += g == NULL ? (r >= 0 ? level : level - 1) * r
                         : scale + 0.5 * (r * r + least * least) * exp(-2 * scale);
    }
    for (size_t c = 1; c < d->columns; ++c)
        sum += 0.5 * (double)d->rows * ridge * (b[c] * b[c] + (g != NULL ? g[c] * g[c] : 0));
    return sum;
}

/* Both costs are such that no better place is near the optimum: neither along an axis nor any way.
 */
static void fits_are_optimal(void **state) {
    (void)state;
    enum { TRIES = 200 };
    world w;
    dpa__design d, points;
    make(&w);
    assert_ok(dpa__designs_new(&w.population_features, &w.features, 0, &d, &points, NULL));
    double mean = 0, square = 0;
    for (size_t i = 0; i < OTHERS; ++i) mean += w.other[i] / OTHERS;
    for (size_t i = 0; i < OTHERS; ++i)
        square += (w.other[i] - mean) * (w.other[i] - mean) / OTHERS;
    for (int form = 0; form < 2; ++form)
        for (int strong = 0; strong < 2; ++strong) {
            const double ridge = strong ? 0.5 : 1e-3, least = 1e-6 * sqrt(square);
            double b[FEATURES + 1], g[FEATURES + 1];
            dpa__fit_quality quality;
            dpa_rng rng;
            dpa__rng_init(&rng, 8, DPA_PURPOSE_TEST, (uint64_t)form);
            assert_ok(form == 0
                          ? dpa__pinball_fit(&d, w.other, 0.8, ridge, 1, b, &quality, NULL)
                          : dpa__scaled_normal_fit(&d, w.other, ridge, 1, b, g, &quality, NULL));
            assert_true(quality.gap < 1e-9 && quality.rounds > 1 && quality.rounds < 60);
            const double best = objective(&d, w.other, 0.8, ridge, b, form ? g : NULL, least);
            for (size_t k = 0; k < TRIES; ++k) {
                double other_b[FEATURES + 1], other_g[FEATURES + 1];
                const double size = pow(10, -3.0 * (double)(k % 8) / 7) / 10;
                for (size_t c = 0; c <= FEATURES; ++c) {
                    other_b[c] = b[c] + size * dpa__rng_normal(&rng);
                    other_g[c] = form ? g[c] + size * dpa__rng_normal(&rng) : 0;
                }
                assert_true(objective(&d, w.other, 0.8, ridge, other_b, form ? other_g : NULL,
                                      least) > best - 1e-7);
            }
        }
    dpa__design_free(&d);
    dpa__design_free(&points);
}

/* Without features the normal fit is mean and deviation, where it starts: one round. */
static void a_normal_without_features_takes_one_round(void **state) {
    (void)state;
    double one[4] = {1, 1, 1, 1}, b, g;
    const double y[] = {1, 2, 4, 9};
    const dpa__design d = {4, 1, one};
    dpa__fit_quality quality;
    assert_ok(dpa__scaled_normal_fit(&d, y, 0.1, 1, &b, &g, &quality, NULL));
    assert_relative(b, 4, 1e-12);
    assert_relative(exp(g), sqrt(9.5), 1e-5);
    assert_int_equal(quality.rounds, 1);
}

/* Other units of features and signals change nothing (pinball scores have the signal's unit). */
static void units_do_not_matter(void **state) {
    (void)state;
    for (int form = 0; form < 2; ++form) {
        world w;
        double before[POINTS], after[POINTS];
        make(&w);
        w.opts.quantile.form = (dpa_quantile_form)form;
        assert_ok(play(&w, before, NULL));
        for (size_t i = 0; i < POINTS * FEATURES; ++i)
            w.feature[i] = i % FEATURES == 1 ? 1e300 * w.feature[i] : 5.0 + 1e-3 * w.feature[i];
        for (size_t i = 0; i < OTHERS * FEATURES; ++i)
            w.other_feature[i] =
                i % FEATURES == 1 ? 1e300 * w.other_feature[i] : 5.0 + 1e-3 * w.other_feature[i];
        for (size_t i = 0; i < MODELS * POINTS; ++i) w.signal[i] = 7.0 + 8.0 * w.signal[i];
        for (size_t i = 0; i < MODELS * OTHERS; ++i) w.other[i] = 7.0 + 8.0 * w.other[i];
        assert_ok(play(&w, after, NULL));
        for (size_t p = 0; p < POINTS; ++p)
            assert_absolute(after[p], before[p] * (form == 0 ? 1.0 : 8.0), 1e-6);
    }
}

/* By hand: (x − mean) / deviation of the population, whatever its largest number is. */
static void designs_are_standardised(void **state) {
    (void)state;
    double other[] = {-1, 4, 7, 0, 4, 7, 1, 4, 8, 0, 4, 8}, mine[] = {2, 5, 7.5};
    const dpa_features population = {4, 3, other}, points = {1, 3, mine};
    const double known[4][3] = {{-1, 0, -1}, {0, 0, -1}, {1, 0, 1}, {0, 0, 1}};
    dpa__design a, b;
    assert_ok(dpa__designs_new(&population, &points, 0, &a, &b, NULL));
    assert_true(a.rows == 4 && a.columns == 4 && b.rows == 1 && b.columns == 4);
    for (size_t i = 0; i < 4; ++i) {
        assert_true(a.x[4 * i] == 1);
        assert_absolute(a.x[4 * i + 1], known[i][0] * sqrt(2), 1e-12);
        assert_true(a.x[4 * i + 2] == 0);
        assert_absolute(a.x[4 * i + 3], known[i][2], 1e-12);
    }
    assert_relative(b.x[1], 2 * sqrt(2), 1e-12);
    assert_true(b.x[0] == 1 && b.x[2] == 0);
    assert_absolute(b.x[3], 0, 1e-12);
    dpa__design_free(&a);
    dpa__design_free(&b);
}

/* A feature that is constant, or the sum of two others, adds nothing; without a ridge to share
 * weights, the scores are those without it. */
static void empty_features_change_nothing(void **state) {
    (void)state;
    static double wide[POINTS * 5], wide_others[OTHERS * 5];
    for (int form = 0; form < 2; ++form) {
        world w;
        double before[POINTS], after[POINTS];
        make(&w);
        w.opts.quantile.form = (dpa_quantile_form)form;
        w.opts.quantile.ridge = 0.0;
        assert_ok(play(&w, before, NULL));
        for (size_t i = 0; i < POINTS + OTHERS; ++i) {
            const int is_point = i < POINTS;
            const double *f =
                is_point ? w.feature + i * FEATURES : w.other_feature + (i - POINTS) * FEATURES;
            double *to = is_point ? wide + i * 5 : wide_others + (i - POINTS) * 5;
            memcpy(to, f, FEATURES * sizeof *f);
            to[3] = f[0] + f[1];
            to[4] = is_point ? 1.0 : 0.0; /* varies, but not over the population */
        }
        w.features = (dpa_features){POINTS, 5, wide};
        w.population_features = (dpa_features){OTHERS, 5, wide_others};
        assert_ok(play(&w, after, NULL));
        for (size_t p = 0; p < POINTS; ++p) assert_absolute(after[p], before[p], 1e-5);
    }
}

/* One population point, all signals equal, more features than points: finite scores in the right
 * order. */
static void extremes(void **state) {
    (void)state;
    for (int k = 0; k < 16; ++k) {
        world w;
        double scores[POINTS];
        make(&w);
        w.opts.quantile.form = (dpa_quantile_form)(k & 1);
        w.opts.quantile.squares = k >> 1 & 1;
        if ((k >> 2 & 1) != 0) w.opts.quantile.ridge = 0.0;
        if (k < 8)
            w.population.points = w.population_features.points = k < 4 ? 1 : 2;
        else
            for (size_t i = 0; i < MODELS * OTHERS; ++i) w.other[i] = 1.5;
        assert_ok(play(&w, scores, NULL));
        for (size_t p = 0; p < POINTS; ++p) assert_true(isfinite(scores[p]));
        if (k < 8) continue;
        const double *s = w.signal + w.opts.target * POINTS;
        for (size_t p = 1; p < POINTS; ++p)
            assert_true((s[p] > s[0]) == (scores[p] > scores[0]) || fabs(s[p] - s[0]) < 1e-9);
    }
}

/* The score of a model that has no row is that of the row it would have. */
static void one_score_is_that_of_the_row(void **state) {
    (void)state;
    for (int losses = 0; losses < 2; ++losses)
        for (int attack = DPA_ATTACK_LOSS; attack <= DPA_ATTACK_QUANTILE; ++attack) {
            enum { TARGET = 1 };
            world w;
            double scores[POINTS];
            size_t others[] = {0, 2, 3};
            const dpa__rows rows = {others, 3};
            dpa__fit fit;
            make(&w);
            w.signals.kind = w.population.kind = losses ? DPA_SIGNAL_LOSS : DPA_SIGNAL_LOGIT;
            w.opts.offline = 1;
            memset(w.member, 0, sizeof w.member); /* every side has models */
            assert_ok(dpa__fit_new((dpa_attack)attack, &w.signals, &w.opts, &rows, &fit, NULL));
            assert_ok(dpa__fit_score(&fit, TARGET, scores, NULL));
            for (size_t p = 0; p < POINTS; ++p) {
                double one;
                assert_ok(
                    dpa__fit_score_one(&fit, TARGET, p, w.signal[TARGET * POINTS + p], &one, NULL));
                assert_relative(one, scores[p], 1e-12);
            }
            dpa__fit_free(&fit);
        }
}

static void threads_and_views(void **state) {
    (void)state;
    world w;
    static double views[MODELS * POINTS * 2], other_views[MODELS * OTHERS * 2];
    double one[POINTS], many[POINTS];
    make(&w);
    w.opts.threads = 1;
    assert_ok(play(&w, one, NULL));
    w.opts.threads = 3;
    assert_ok(play(&w, many, NULL));
    assert_memory_equal(one, many, sizeof one);
    /* two views whose mean is the signal */
    for (size_t i = 0; i < MODELS * POINTS; ++i) {
        views[2 * i] = w.signal[i] - 0.25;
        views[2 * i + 1] = w.signal[i] + 0.25;
    }
    for (size_t i = 0; i < MODELS * OTHERS; ++i)
        other_views[2 * i] = other_views[2 * i + 1] = w.other[i];
    w.signals = (dpa_signals){DPA_SIGNAL_LOGIT, MODELS, POINTS, views, w.member, 2};
    w.population = (dpa_signals){DPA_SIGNAL_LOGIT, MODELS, OTHERS, other_views, NULL, 2};
    assert_ok(play(&w, many, NULL));
    for (size_t p = 0; p < POINTS; ++p) assert_absolute(many[p], one[p], 1e-9);
}

static void leaks_are_measured(void **state) {
    (void)state;
    world w;
    dpa_leak leaks[POINTS];
    dpa_leak_opts opts;
    make(&w);
    dpa__leak_opts_init(&opts);
    opts.attack = DPA_ATTACK_QUANTILE;
    opts.how = w.opts;
    opts.every_model = 1;
    assert_ok(dpa__leaks_measure(&w.signals, &opts, leaks, NULL, NULL));
    size_t measured = 0, high = 0;
    for (size_t p = 0; p < POINTS; ++p) {
        measured += isnan(leaks[p].gap) ? 0 : 1;
        high += leaks[p].gap > 1.0 ? 1 : 0;
    }
    assert_true(measured > POINTS / 2 && high >= measured * 9 / 10);
}

static void refused(const world *w, dpa_status status, const char *word) {
    double scores[POINTS];
    dpa_error err = {0};
    assert_int_equal(play(w, scores, &err), status);
    if (strstr(err.text, word) == NULL) fail_msg("'%s' lacks '%s'", err.text, word);
}

static void refusals(void **state) {
    (void)state;
    world w;
    make(&w);
    w.opts.population = NULL;
    refused(&w, DPA_BAD_ARGUMENT, "population");
    make(&w);
    w.opts.quantile.features = NULL;
    refused(&w, DPA_BAD_ARGUMENT, "features of the points");
    make(&w);
    w.population_features.points = 7;
    refused(&w, DPA_BAD_INPUT, "features of 7 population points, but signals of 150");
    make(&w);
    w.features.count = 2;
    refused(&w, DPA_BAD_INPUT, "the points have 2 features, the population 3");
    make(&w);
    w.population.models = 3;
    refused(&w, DPA_BAD_INPUT, "3 models");
    make(&w);
    w.opts.quantile.level = 1.0;
    refused(&w, DPA_BAD_ARGUMENT, "level");
    make(&w);
    w.opts.quantile.ridge = -1.0;
    refused(&w, DPA_BAD_ARGUMENT, "ridge");
    make(&w);
    w.feature[5 * FEATURES + 1] = (double)NAN;
    refused(&w, DPA_BAD_INPUT, "point 5, feature 1");
    make(&w);
    w.other_feature[8 * FEATURES] = (double)INFINITY;
    refused(&w, DPA_BAD_INPUT, "population point 8, feature 0");
    make(&w);
    w.other[2 * OTHERS + 9] = (double)NAN;
    refused(&w, DPA_BAD_INPUT, "model 2, point 9");
}

static void write_text(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void files(void **state) {
    (void)state;
    char path[] = "/tmp/dpaudit-features-XXXXXX";
    dpa_features f;
    dpa_error err = {0};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    write_text(path, "age,height\n1,2\n3,4\n5,6.5\n");
    assert_ok(dpa__features_read(path, NULL, &f, &err));
    assert_true(f.points == 3 && f.count == 2 && f.value[2] == 3.0 && f.value[5] == 6.5);
    dpa__features_free(&f);
    write_text(path, "age,town\n1,York\n3,Bath\n");
    assert_int_equal(dpa__features_read(path, NULL, &f, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "column town holds text"));
    write_text(path, "age\n1\nnan\n");
    assert_int_equal(dpa__features_read(path, NULL, &f, &err), DPA_BAD_INPUT);
    write_text(path, "age\n");
    assert_int_equal(dpa__features_read(path, NULL, &f, &err), DPA_BAD_INPUT);
    double line[] = {1.0, 2.0, (double)NAN};
    dpa_array array = {.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = line};
    assert_ok(dpa__array_write(path, &array, NULL));
    assert_ok(dpa__features_read(path, NULL, &f, &err));
    assert_true(f.points == 2 && f.count == 1);
    dpa__features_free(&f);
    array.shape[0] = array.count = 3;
    assert_ok(dpa__array_write(path, &array, NULL));
    assert_int_equal(dpa__features_read(path, NULL, &f, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "point 2, feature 0"));
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_score_higher),
        cmocka_unit_test(pinball_leaves_its_share_below),
        cmocka_unit_test(designs_are_standardised),
        cmocka_unit_test(fits_are_optimal),
        cmocka_unit_test(a_normal_without_features_takes_one_round),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(empty_features_change_nothing),
        cmocka_unit_test(extremes),
        cmocka_unit_test(one_score_is_that_of_the_row),
        cmocka_unit_test(threads_and_views),
        cmocka_unit_test(leaks_are_measured),
        cmocka_unit_test(refusals),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
