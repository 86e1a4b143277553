/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attacks by hand on a tiny matrix: direction, closed forms, missing sides, bad words. */
#include "check.h"

#include "attack/attack.h"
#include "attack/moments.h"
#include "base/data.h"
#include "base/rng.h"

/* Five models, three points; model 0 is the target. */
static double signal[] = {3.0,      0.0, 1.0, /**/ 4.0, 0.5, 1.0, /**/ 2.0, -0.5, 0.0,
                          /**/ 0.0, 1.0, 2.0, /**/ 1.0, 0.0, 1.0};
static uint8_t member[] = {1, 0, 1, /**/ 1, 0, 0, /**/ 1, 1, 0, /**/ 0, 1, 1, /**/ 0, 0, 1};
static const dpa_signals signals = {DPA_SIGNAL_LOGIT, 5, 3, signal, member, 1};

static double log_normal(double x, double mean, double sd) {
    return -0.5 * (x - mean) * (x - mean) / (sd * sd) - log(sd);
}

static void lira_is_the_likelihood_ratio(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    /* point 0: in {4, 2}, out {0, 1}, target 3 */
    assert_relative(scores[0], log_normal(3, 3, 1) - log_normal(3, 0.5, 0.5), 1e-12);
    /* point 1: in {-0.5, 1}, out {0.5, 0}, target 0 */
    assert_relative(scores[1], log_normal(0, 0.25, 0.75) - log_normal(0, 0.25, 0.25), 1e-12);
    opts.variance = DPA_VARIANCE_POOLED;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    /* variances in: 1, 0.5625, 0.25; out: 0.25, 0.0625, 0.25 */
    const double in = sqrt(1.8125 / 3), out = sqrt(0.5625 / 3);
    assert_relative(scores[0], log_normal(3, 3, in) - log_normal(3, 0.5, out), 1e-12);
    opts.offline = 1;
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    assert_relative(scores[0], (3 - 0.5) / 0.5, 1e-12);
}

static void simple_attacks(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    assert_ok(dpa__attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, NULL));
    assert_true(scores[0] == 3.0 && scores[1] == 0.0);
    assert_ok(dpa__attack_run(DPA_ATTACK_CALIBRATED, &signals, &opts, scores, NULL));
    assert_relative(scores[0], 3 - 0.5, 1e-12);
}

/* Read as losses, the same numbers mean the opposite: high scores become low ones. */
static void losses_point_the_other_way(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa_signals losses = signals;
    losses.kind = DPA_SIGNAL_LOSS;
    dpa__attack_opts_init(&opts);
    assert_ok(dpa__attack_run(DPA_ATTACK_LOSS, &losses, &opts, scores, NULL));
    assert_true(scores[0] == -3.0);
    opts.offline = 1;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &losses, &opts, scores, NULL));
    assert_true(scores[0] < 0);
}

static void rmia_counts_smaller_ratios(void **state) {
    (void)state;
    /* one population point per column; all models alike, so the ratio is p/((1+a)/2·p + (1−a)/2) */
    static double other[] = {-2.0,      0.0, 2.0, /**/ -2.0, 0.0, 2.0, /**/ -2.0, 0.0, 2.0,
                             /**/ -2.0, 0.0, 2.0, /**/ -2.0, 0.0, 2.0};
    const dpa_signals population = {DPA_SIGNAL_LOGIT, 5, 3, other, NULL, 1};
    double scores[3];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.offline = 1;
    opts.population = &population;
    assert_ok(dpa__attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL));
    for (int i = 0; i < 3; ++i) {
        const double p = 1 / (1 + exp(-signal[i]));
        const double out[3][2] = {{0, 1}, {0.5, 0}, {1, 0}};
        const double mean = 0.5 * (1 / (1 + exp(-out[i][0])) + 1 / (1 + exp(-out[i][1])));
        const double ratio = p / (0.65 * mean + 0.35);
        int smaller = 0;
        for (int z = 0; z < 3; ++z) {
            const double q = 1 / (1 + exp(-other[z]));
            smaller += q / (0.65 * q + 0.35) < ratio;
        }
        assert_relative(scores[i], smaller / 3.0, 1e-12);
    }
    opts.population = NULL;
    assert_int_equal(dpa__attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL),
                     DPA_BAD_ARGUMENT);
}

/* Only ratios that are smaller by more than the factor γ count. */
static void rmia_wants_a_factor(void **state) {
    (void)state;
    enum { OTHERS = 19, MODELS = 5 };
    static const double gammas[] = {0.5, 1, 1.7, 4};
    static double other[MODELS * OTHERS];
    const dpa_signals population = {DPA_SIGNAL_LOGIT, MODELS, OTHERS, other, NULL, 1};
    double scores[3];
    dpa_attack_opts opts;
    for (int i = 0; i < MODELS * OTHERS; ++i) other[i] = 0.5 * (i % OTHERS - 9);
    dpa__attack_opts_init(&opts);
    opts.offline = 1;
    opts.population = &population;
    for (int g = 0; g < 4; ++g) {
        opts.gamma = gammas[g];
        assert_ok(dpa__attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL));
        for (int i = 0; i < 3; ++i) {
            const double out[3][2] = {{0, 1}, {0.5, 0}, {1, 0}};
            const double mean = 0.5 * (1 / (1 + exp(-out[i][0])) + 1 / (1 + exp(-out[i][1])));
            const double ratio = 1 / (1 + exp(-signal[i])) / (0.65 * mean + 0.35);
            int smaller = 0;
            for (int z = 0; z < OTHERS; ++z) {
                const double q = 1 / (1 + exp(-other[z]));
                smaller += gammas[g] * q / (0.65 * q + 0.35) < ratio;
            }
            assert_relative(scores[i], smaller / (double)OTHERS, 1e-12);
        }
    }
}

static void models_that_agree_give_finite_scores(void **state) {
    (void)state;
    static double same[] = {1, 1, /**/ 1, 0, /**/ 1, 0, /**/ 1, 0, /**/ 1, 0};
    static uint8_t who[] = {1, 0, /**/ 1, 1, /**/ 1, 1, /**/ 0, 0, /**/ 0, 0};
    const dpa_signals flat = {DPA_SIGNAL_LOGIT, 5, 2, same, who, 1};
    double scores[2];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &flat, &opts, scores, NULL));
    assert_true(isfinite(scores[0]) && isfinite(scores[1]));
    assert_true(scores[0] == 0.0);
}

static void refusals(void **state) {
    (void)state;
    double scores[3];
    dpa_error err = {0};
    dpa_attack_opts opts;
    static const size_t most[] = {1, 2};
    static const size_t none[] = {9};
    dpa__attack_opts_init(&opts);
    opts.target = 5;
    assert_int_equal(dpa__attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "no model 5"));
    opts.target = 0;
    opts.exclude = none;
    opts.exclude_count = 1;
    assert_int_equal(dpa__attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, &err),
                     DPA_BAD_ARGUMENT);
    opts.exclude = most;
    opts.exclude_count = 2;
    assert_int_equal(dpa__attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, &err),
                     DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "point "));
    opts.exclude_count = 0;
    for (int empty = 0; empty < 2; ++empty) {
        dpa_signals nothing = signals;
        *(empty ? &nothing.points : &nothing.models) = 0;
        assert_int_equal(dpa__attack_run(DPA_ATTACK_LOSS, &nothing, &opts, scores, &err),
                         DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, "there are none"));
    }
    assert_int_equal(dpa__attack_run((dpa_attack)9, &signals, &opts, scores, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "no attack 9"));
}

static void refused_rmia(const dpa_attack_opts *opts, dpa_status status, const char *words) {
    double scores[3];
    dpa_error err = {0};
    assert_int_equal(dpa__attack_run(DPA_ATTACK_RMIA, &signals, opts, scores, &err), status);
    assert_non_null(strstr(err.text, words));
}

static void refusals_of_rmia(void **state) {
    (void)state;
    static double other[8];
    dpa_signals population = {DPA_SIGNAL_LOGIT, 5, 1, other, NULL, 1};
    double scores[3];
    dpa_attack_opts usual;
    dpa__attack_opts_init(&usual);
    usual.population = &population;
    usual.offline = 1;
    for (int k = 0; k < 2; ++k) { /* both ends of a are allowed */
        dpa_attack_opts opts = usual;
        opts.a = k;
        assert_ok(dpa__attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL));
        opts.a = k ? 1.001 : -0.001;
        refused_rmia(&opts, DPA_BAD_ARGUMENT, "a must be 0 to 1");
        opts = usual;
        opts.gamma = k ? 0 : HUGE_VAL;
        refused_rmia(&opts, DPA_BAD_ARGUMENT, "gamma must be above 0");
    }
    population.models = 4;
    refused_rmia(&usual, DPA_BAD_INPUT, "the population has 4 models, the signals 5");
    population.models = 5;
    other[0] = NAN; /* of the target */
    refused_rmia(&usual, DPA_BAD_INPUT, "must be a finite number");
}

/* Random signals of several strips, with augmentations, whose membership is a coin. */
static dpa_signals random_signals(size_t models, size_t points, size_t augmentations) {
    const size_t columns = points * augmentations;
    dpa_signals s = {
        DPA_SIGNAL_LOGIT,        models,       points, malloc(models * columns * sizeof(double)),
        malloc(models * points), augmentations};
    dpa_rng rng;
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, points);
    assert_true(s.signal != NULL && s.member != NULL);
    for (size_t i = 0; i < models * columns; ++i) s.signal[i] = 3.0 * dpa__rng_normal(&rng);
    for (size_t i = 0; i < models * points; ++i) s.member[i] = (uint8_t)(dpa__rng_u32(&rng) & 1);
    return s;
}

/* Two passes in long double over one column. */
static void slow_side(const dpa_signals *s, size_t target, size_t point, size_t view, int in,
                      double *mean, double *sd) {
    long double sum = 0, square = 0;
    size_t count = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t m = 0; m < s->models; ++m) {
            if (m == target || s->member[m * s->points + point] != in) continue;
            const long double x = s->signal[(m * s->points + point) * s->augmentations + view];
            if (pass == 0) {
                sum += x;
                ++count;
            } else
                square += (x - sum / (long double)count) * (x - sum / (long double)count);
        }
    *mean = (double)(sum / (long double)count);
    *sd = (double)sqrtl(square / (long double)count);
}

static void lira_is_the_mean_over_augmentations(void **state) {
    (void)state;
    enum { MODELS = 23, POINTS = 700, VIEWS = 3, TARGET = 4 };
    dpa_signals s = random_signals(MODELS, POINTS, VIEWS);
    static double scores[POINTS];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.target = TARGET;
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &s, &opts, scores, NULL));
    for (size_t p = 0; p < POINTS; ++p) {
        double sum = 0;
        for (size_t v = 0; v < VIEWS; ++v) {
            double mean[2], sd[2];
            for (int in = 0; in < 2; ++in) slow_side(&s, TARGET, p, v, in, &mean[in], &sd[in]);
            const double t = s.signal[(TARGET * POINTS + p) * VIEWS + v];
            sum += log_normal(t, mean[1], sd[1]) - log_normal(t, mean[0], sd[0]);
        }
        assert_relative(scores[p], sum / VIEWS, 1e-11);
    }
    dpa__signals_free(&s);
}

/* A view's parts of the calibrated score and of RMIA's ratio, from sums over the other models. */
static void slow_parts(const dpa_signals *s, size_t target, size_t column, int offline,
                       double *calibrated, double *ratio) {
    const size_t columns = s->points * s->augmentations, point = column / s->augmentations;
    double sum[2] = {0}, probability[2] = {0}, models[2] = {0};
    for (size_t m = 0; m < s->models; ++m) {
        if (m == target) continue;
        const int in = s->member != NULL && s->member[m * s->points + point];
        const double x = s->signal[m * columns + column];
        sum[in] += x;
        probability[in] += 1 / (1 + exp(-x));
        ++models[in];
    }
    const double x = s->signal[target * columns + column], out = probability[0] / models[0];
    const double both = s->member == NULL ? out : 0.5 * (out + probability[1] / models[1]);
    *calibrated = x - sum[0] / models[0];
    *ratio = 1 / (1 + exp(-x)) / (offline ? 0.65 * out + 0.35 : both);
}

/* The threshold, the calibrated one and RMIA's ratio are means over the views of a point too. */
static void other_attacks_are_means_over_augmentations(void **state) {
    (void)state;
    enum { MODELS = 26, POINTS = 60, OTHERS = 50, VIEWS = 3, TARGET = 2 };
    dpa_signals s = random_signals(MODELS, POINTS, VIEWS);
    dpa_signals others = random_signals(MODELS, OTHERS, VIEWS);
    double score[3][POINTS], known[OTHERS];
    dpa_attack_opts opts;
    free(others.member);
    others.member = NULL;
    dpa__attack_opts_init(&opts);
    opts.target = TARGET;
    opts.population = &others;
    for (opts.offline = 0; opts.offline < 2; ++opts.offline) {
        assert_ok(dpa__attack_run(DPA_ATTACK_LOSS, &s, &opts, score[0], NULL));
        assert_ok(dpa__attack_run(DPA_ATTACK_CALIBRATED, &s, &opts, score[1], NULL));
        assert_ok(dpa__attack_run(DPA_ATTACK_RMIA, &s, &opts, score[2], NULL));
        for (size_t i = 0; i < OTHERS + POINTS; ++i) {
            const dpa_signals *from = i < OTHERS ? &others : &s;
            const size_t p = i < OTHERS ? i : i - OTHERS;
            double plain = 0, calibrated = 0, ratio = 0, share = 0;
            for (size_t v = 0; v < VIEWS; ++v) {
                double c, r;
                slow_parts(from, TARGET, p * VIEWS + v, opts.offline, &c, &r);
                plain += from->signal[(TARGET * from->points + p) * VIEWS + v] / VIEWS;
                calibrated += c / VIEWS;
                ratio += r / VIEWS;
            }
            if (i < OTHERS) {
                known[p] = ratio;
                continue;
            }
            for (size_t k = 0; k < OTHERS; ++k) share += known[k] < ratio ? 1.0 / OTHERS : 0;
            assert_absolute(score[0][p], plain, 1e-12);
            assert_absolute(score[1][p], calibrated, 1e-12);
            assert_absolute(score[2][p], share, 1e-12);
        }
    }
    dpa__signals_free(&s);
    dpa__signals_free(&others);
}

/* A loss is −log p: RMIA looks at p alone, and says the same of losses as of logits. */
static void rmia_of_losses_is_that_of_logits(void **state) {
    (void)state;
    enum { MODELS = 27, POINTS = 40, OTHERS = 30 };
    dpa_signals s = random_signals(MODELS, POINTS, 1), others = random_signals(MODELS, OTHERS, 1);
    dpa_attack_opts opts;
    free(others.member);
    others.member = NULL;
    dpa__attack_opts_init(&opts);
    opts.population = &others;
    double score[2][2][POINTS];
    for (int loss = 0; loss < 2; ++loss) {
        for (opts.offline = 0; opts.offline < 2; ++opts.offline)
            assert_ok(dpa__attack_run(DPA_ATTACK_RMIA, &s, &opts, score[loss][opts.offline], NULL));
        for (size_t i = 0; i < MODELS * POINTS; ++i) s.signal[i] = log1p(exp(-s.signal[i]));
        for (size_t i = 0; i < MODELS * OTHERS; ++i)
            others.signal[i] = log1p(exp(-others.signal[i]));
        s.kind = others.kind = DPA_SIGNAL_LOSS;
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    for (int offline = 0; offline < 2; ++offline) {
        double least = 1, most = 0;
        for (size_t p = 0; p < POINTS; ++p) {
            least = fmin(least, score[0][offline][p]);
            most = fmax(most, score[0][offline][p]);
        }
        assert_true(least < 0.3 && most > 0.7);
    }
    dpa__signals_free(&s);
    dpa__signals_free(&others);
}

/* Means of 1e8 with deviations of 1: a plain sum of squares would have no digit left. */
static void large_means_lose_no_digits(void **state) {
    (void)state;
    enum { MODELS = 40, POINTS = 50 };
    dpa_signals s = random_signals(MODELS, POINTS, 1), moved = random_signals(MODELS, POINTS, 1);
    double scores[POINTS], same[POINTS];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.variance = DPA_VARIANCE_POINT;
    for (size_t i = 0; i < MODELS * POINTS; ++i) {
        s.signal[i] = round(s.signal[i] * 64) / 64; /* so that adding is exact */
        moved.signal[i] = s.signal[i] + 1e8;
    }
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &s, &opts, scores, NULL));
    assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &moved, &opts, same, NULL));
    for (size_t p = 0; p < POINTS; ++p) assert_relative(same[p], scores[p], 1e-6);
    dpa__signals_free(&s);
    dpa__signals_free(&moved);
}

/* The same bits on any number of threads, and for equal columns in any position. */
static void threads_and_places_change_nothing(void **state) {
    (void)state;
    enum { MODELS = 1500, POINTS = 3001 }; /* enough for three threads */
    static const dpa_attack attacks[] = {DPA_ATTACK_CALIBRATED, DPA_ATTACK_LIRA, DPA_ATTACK_RMIA};
    dpa_signals s = random_signals(MODELS, POINTS, 1);
    dpa_signals population = random_signals(MODELS, POINTS - 1, 1);
    static double one[POINTS], many[POINTS];
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.population = &population;
    for (size_t m = 0; m < MODELS; ++m)
        for (size_t p = 0; p < POINTS; ++p) {
            s.signal[m * POINTS + p] = s.signal[m * POINTS + p % 1000];
            s.member[m * POINTS + p] = s.member[m * POINTS + p % 1000];
        }
    free(population.member);
    population.member = NULL;
    for (int i = 0; i < 3; ++i) {
        opts.threads = 1;
        assert_ok(dpa__attack_run(attacks[i], &s, &opts, one, NULL));
        opts.threads = 3;
        assert_ok(dpa__attack_run(attacks[i], &s, &opts, many, NULL));
        assert_memory_equal(one, many, sizeof one);
        for (size_t p = 0; p < POINTS; ++p)
            assert_memory_equal(&one[p], &one[p % 1000], sizeof *one);
    }
    dpa__signals_free(&s);
    dpa__signals_free(&population);
}

static void probabilities_are_exact(void **state) {
    (void)state;
    static double x[20001], logit[20001], loss[20001];
    for (int i = 0; i <= 20000; ++i) x[i] = 0.0689 * (i - 10000);
    dpa__probabilities(x, 20001, 0, logit);
    dpa__probabilities(x, 20001, 1, loss);
    for (int i = 0; i <= 20000; ++i) {
        assert_relative(logit[i], (double)(1.0L / (1.0L + expl(-(long double)x[i]))), 9e-16);
        assert_relative(loss[i], (double)expl(-(long double)x[i]), 9e-16);
    }
}

/* A signal that is NaN is reported, whether it is the target's, a shadow's or the population's, and
 * also by attacks that do not sum it. */
static void bad_signals_are_named(void **state) {
    (void)state;
    static const struct {
        double value;
        size_t model, point;
        int in_population;
    } bad[] = {{(double)NAN, 7, 20, 0},
               {(double)INFINITY, 3, 0, 0},
               {-(double)INFINITY, 0, 5, 0},
               {(double)INFINITY, 9, 8, 1},
               {(double)NAN, 0, 2, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        dpa_signals s = random_signals(30, 40, 2), population = random_signals(30, 40, 2);
        double scores[40];
        dpa_error err = {0};
        char place[64];
        dpa_attack_opts opts;
        dpa__attack_opts_init(&opts);
        opts.population = &population;
        dpa_signals *spoilt = bad[i].in_population ? &population : &s;
        spoilt->signal[(bad[i].model * 40 + bad[i].point) * 2 + 1] = bad[i].value;
        (void)snprintf(place, sizeof place, "model %zu, point %zu:", bad[i].model, bad[i].point);
        assert_int_equal(dpa__attack_run(DPA_ATTACK_RMIA, &s, &opts, scores, &err), DPA_BAD_INPUT);
        assert_non_null(strstr(err.text, place));
        if (!bad[i].in_population) {
            assert_int_equal(dpa__attack_run(DPA_ATTACK_LIRA, &s, &opts, scores, &err),
                             DPA_BAD_INPUT);
            assert_non_null(strstr(err.text, place));
        }
        dpa__signals_free(&s);
        dpa__signals_free(&population);
    }
}

static void huge_signals_are_refused(void **state) {
    (void)state;
    dpa_signals s = random_signals(30, 4, 1);
    double scores[4];
    dpa_error err = {0};
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    s.signal[4 * 9 + 2] = 1e200;
    assert_int_equal(dpa__attack_run(DPA_ATTACK_LIRA, &s, &opts, scores, &err), DPA_NUMERIC);
    assert_non_null(strstr(err.text, "point 2"));
    dpa__signals_free(&s);
}

static void write_matrix(const char *path, dpa_dtype dtype, const void *data, size_t rows,
                         size_t columns) {
    dpa_array array = {
        .dtype = dtype, .ndim = 2, .shape = {rows, columns}, .count = rows * columns};
    array.data = (void *)(uintptr_t)data;
    assert_ok(dpa__array_write(path, &array, NULL));
}

static void write_line(const char *path, dpa_dtype dtype, const void *data, size_t points) {
    dpa_array array = {.dtype = dtype, .ndim = 1, .shape = {points}, .count = points};
    array.data = (void *)(uintptr_t)data;
    assert_ok(dpa__array_write(path, &array, NULL));
}

static void files(void **state) {
    (void)state;
    char folder[] = "/tmp/dpaudit-attack-XXXXXX";
    char values[64], bits[64];
    dpa_signals read;
    dpa_error err = {0};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(values, sizeof values, "%s/s.npy", folder);
    (void)snprintf(bits, sizeof bits, "%s/m.npy", folder);
    write_matrix(values, DPA_F64, signal, 5, 3);
    write_matrix(bits, DPA_U8, member, 5, 3);
    assert_ok(dpa__signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, NULL));
    assert_true(read.models == 5 && read.points == 3 && read.signal[3] == 4.0 &&
                read.member[4] == 0);
    dpa__signals_free(&read);
    write_matrix(bits, DPA_U8, member, 3, 5);
    assert_int_equal(dpa__signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "5 models × 3 points"));
    write_line(values, DPA_F64, signal, 3); /* of one model */
    write_line(bits, DPA_U8, member, 3);
    assert_ok(dpa__signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, NULL));
    assert_true(read.models == 1 && read.points == 3 && read.signal[2] == signal[2]);
    assert_memory_equal(read.member, member, 3);
    dpa__signals_free(&read);
    write_line(bits, DPA_U8, (const uint8_t[]){0, 1, 2}, 3);
    assert_int_equal(dpa__signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, &err), DPA_BAD_INPUT);
    double broken[15];
    memcpy(broken, signal, sizeof broken);
    broken[7] = (double)NAN;
    write_matrix(values, DPA_F64, broken, 5, 3);
    assert_int_equal(dpa__signals_read(values, NULL, DPA_SIGNAL_LOGIT, &read, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "model 2, point 1"));
    (void)unlink(values);
    (void)unlink(bits);
    (void)rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lira_is_the_likelihood_ratio),
        cmocka_unit_test(simple_attacks),
        cmocka_unit_test(losses_point_the_other_way),
        cmocka_unit_test(rmia_counts_smaller_ratios),
        cmocka_unit_test(rmia_wants_a_factor),
        cmocka_unit_test(models_that_agree_give_finite_scores),
        cmocka_unit_test(lira_is_the_mean_over_augmentations),
        cmocka_unit_test(other_attacks_are_means_over_augmentations),
        cmocka_unit_test(large_means_lose_no_digits),
        cmocka_unit_test(threads_and_places_change_nothing),
        cmocka_unit_test(probabilities_are_exact),
        cmocka_unit_test(bad_signals_are_named),
        cmocka_unit_test(huge_signals_are_refused),
        cmocka_unit_test(refusals),
        cmocka_unit_test(refusals_of_rmia),
        cmocka_unit_test(rmia_of_losses_is_that_of_logits),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
