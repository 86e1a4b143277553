/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every estimator on mechanisms of known leak: how often its 95% lower bound is at most the truth,
 * and its mean. With a fixed threshold the counts are binomial, and the coverage is summed exactly;
 * everything else is simulated, seeded.
 *
 * `test_coverage_table table PART AUDITS [FIRST LAST]` prints rows for docs/coverage.md, all or
 * those numbers; `test_coverage_table list PART` prints their first five columns. The test does few
 * rows: whatever claims to be valid without a prior must not fall below 95% by more than four
 * standard errors, nor say 0 of every leak. */
#include "check.h"

#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/one_run/one_run.h"
#include "estimate/scores.h"
#include "estimate/sequential/sequential.h"
#include "evidence/canary.h"
#include "evidence/guesses.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

static const double DELTA = 1e-5, LEVEL = 0.95;
/* What to do with rows: check, print, or only name them. */
static enum { CHECKED, PRINTED, NAMED } mode;
static size_t row_number, first_row = 1, last_row = SIZE_MAX;

/* ── the record of an estimator ────────────────────────────────────────────────────────────── */

typedef struct tally {
    double weight, held, sum; /* held: bound at most the truth */
    double infinite;          /* weight of infinite bounds, which have no mean */
    double pairs;             /* total pairs that a sequential audit took */
} tally;

static void tally_add(tally *t, double bound, double truth, double weight) {
    t->weight += weight;
    if (bound <= truth * (1 + 1e-9)) t->held += weight;
    if (isinf(bound))
        t->infinite += weight;
    else
        t->sum += weight * bound;
}

typedef struct row {
    const char *estimator, *select, *family, *mechanism;
    size_t size;
    double truth;
    int must_hold; /* valid and not a posterior statement */
    size_t audits; /* 0: exact */
} row;

/* Whether to make the next row. Each row has a number and its own seeds. A row that promises
 * nothing need not be checked. */
static int is_wanted(const row *r) {
    ++row_number;
    if (mode == NAMED)
        (void)printf("| %s | %s | %s | %s | %zu |\n", r->estimator, r->select, r->family,
                     r->mechanism, r->size);
    if (mode == CHECKED) return r->must_hold;
    return mode == PRINTED && row_number >= first_row && row_number <= last_row;
}

static void print_row(const row *r, const tally *t, double error) {
    (void)printf("| %s | %s | %s | %s | %zu | %.3f | %.2f | ", r->estimator, r->select, r->family,
                 r->mechanism, r->size, r->truth, 100 * t->held / t->weight);
    if (r->audits > 0)
        (void)printf("%.2f | ", 100 * error);
    else
        (void)printf("exact | ");
    if (t->infinite > 1e-4 * t->weight)
        (void)printf("infinite in %.2g%% |", 100 * t->infinite / t->weight);
    else
        (void)printf("%.3f |", t->sum / t->weight);
    if (t->pairs > 0) (void)printf(" %.0f |", t->pairs / t->weight);
    (void)printf("\n");
    (void)fflush(stdout);
}

static void finish(const row *r, const tally *t) {
    const double held = t->held / t->weight, n = (double)r->audits;
    const double smooth = (t->held + 2) / (t->weight + 4); /* never an error of 0 */
    const double error = r->audits > 0 ? sqrt(smooth * (1 - smooth) / n) : 0;
    if (mode == PRINTED)
        print_row(r, t, error);
    else if (r->must_hold && r->truth > 0 && t->sum <= 0 && t->infinite == 0)
        fail_msg("%s %s %s, %s, %zu: always 0", r->estimator, r->select, r->family, r->mechanism,
                 r->size);
    else if (r->must_hold && held < LEVEL - 4 * error - 1e-6)
        fail_msg("%s %s %s, %s, %zu: %.4f", r->estimator, r->select, r->family, r->mechanism,
                 r->size, held);
}

/* ── mechanisms ────────────────────────────────────────────────────────────────────────────── */

typedef enum mechanism { NONE, RESPONSE, LAPLACE, GAUSSIAN, MECHANISMS } mechanism;
static const char *const mechanism_name[] = {"no leak", "randomized response, ε 1",
                                             "Laplace noise, ε 1", "Gaussian noise, μ 1"};
static const char *const own_family[] = {"gaussian", NULL, "laplace", "gaussian"};

static double truth_of(mechanism m, double delta) {
    const double p = 1 / (1 + exp(-1.0));
    dpa_curve *curve;
    switch (m) {
    case RESPONSE:
        return log((p - delta) / (1 - p));
    case LAPLACE: {
        assert_ok(dpa_curve_laplace(1, &curve, NULL));
        const double epsilon = dpa_curve_epsilon(curve, delta);
        dpa_curve_free(curve);
        return epsilon;
    }
    case GAUSSIAN:
        return delta > 0 ? dpa_gaussian_epsilon(1, delta) : HUGE_VAL;
    case NONE:
    case MECHANISMS:
        break;
    }
    return 0;
}

static double draw(mechanism m, int in, dpa_rng *rng) {
    const double u = dpa__rng_uniform(rng);
    switch (m) {
    case RESPONSE:
        return (u < 1 / (1 + exp(-1.0))) == in;
    case LAPLACE:
        return in + (u < 0.5 ? log(2 * u) : -log(2 * (1 - u)));
    case GAUSSIAN:
        return in + dpa__rng_normal(rng);
    case NONE:
    case MECHANISMS:
        break;
    }
    return u;
}

/* Rates of "in at 0.5 or above". */
static double error_rate(mechanism m) {
    return m == NONE       ? 0.5
           : m == RESPONSE ? 1 / (1 + exp(1.0))
           : m == LAPLACE  ? 0.5 * exp(-0.5)
                           : dpa__norm_cdf(0.5, DPA_UPPER);
}

static dpa_request request_for(const char *method, const char *family, const char *select,
                               double delta) {
    dpa_request r;
    dpa__request_init(&r);
    r.delta = delta;
    r.confidence = LEVEL;
    r.threads = 1;
    (void)snprintf(r.method, sizeof r.method, "%s", method);
    (void)snprintf(r.family, sizeof r.family, "%s", family);
    (void)snprintf(r.select, sizeof r.select, "%s", select);
    return r;
}

/* An estimate is judged as if it were a bound, to show what happens if it is used as one. */
static double value_of(const dpa_result *r) {
    return r->kind == DPA_ESTIMATE && isnan(r->epsilon_lower) ? r->epsilon : r->epsilon_lower;
}

/* ── counts: exact ─────────────────────────────────────────────────────────────────────────── */

static void exact_row(const dpa_estimator *e, mechanism m, const char *family, double delta,
                      unsigned n) {
    const dpa_request request = request_for(e->name, family, "", delta);
    const int is_prior = (e->assumptions & DPA_ASSUME_BAYES_PRIOR) != 0;
    const row r = {
        e->name, "fixed", family, mechanism_name[m], n, truth_of(m, delta), e->valid && !is_prior,
        0};
    const double rate = error_rate(m);
    tally t = {0};
    if (!is_wanted(&r)) return;
    for (unsigned fn = 0; fn <= n; ++fn)
        for (unsigned fp = 0; fp <= n; ++fp) {
            const double weight =
                exp(dpa__binom_log_pmf(fn, n, rate) + dpa__binom_log_pmf(fp, n, rate));
            dpa_results results = {0};
            if (weight < 1e-8)
                continue; /* all skipped ones together weigh less than 1e-3 of a percent, and the
                             error is printed */
            const dpa_counts counts = {fn, n - fn, fp, n - fp};
            assert_ok(dpa__estimate_counts(&counts, &request, &results, NULL));
            tally_add(&t, value_of(&results.items[0]), r.truth, weight);
            dpa__results_free(&results);
        }
    assert_true(t.weight > 0.999);
    finish(&r, &t);
}

static void exact_rows(const unsigned *sizes, size_t count) {
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *e = dpa__estimator_at(i);
        const int is_ratio = strstr(e->families, "delta 0") != NULL;
        if (!(e->what & DPA_FROM_COUNTS)) continue;
        for (int m = NONE; m < MECHANISMS; ++m)
            for (size_t s = 0; s < count; ++s) {
                if (is_ratio && m == GAUSSIAN) continue; /* there is no finite ε at δ = 0 */
                if (strcmp(e->name, "exact") == 0 && sizes[s] > 100) continue; /* minutes */
                exact_row(e, (mechanism)m, "dp", is_ratio ? 0 : DELTA, sizes[s]);
                if (!is_ratio && own_family[m] != NULL)
                    exact_row(e, (mechanism)m, own_family[m], DELTA, sizes[s]);
            }
    }
}

/* ── scores: simulated ─────────────────────────────────────────────────────────────────────── */

static void scores_row(const char *method, const char *select, const char *family, mechanism m,
                       size_t n, size_t audits) {
    const dpa_request start = request_for(method, family, select, DELTA);
    const int holds =
        strcmp(select, "max") != 0 && (strcmp(method, "cp") == 0 || strcmp(method, "scan") == 0 ||
                                       strncmp(method, "rank", 4) == 0);
    const row r = {method, select[0] != '\0' ? select : "none",
                   family, mechanism_name[m],
                   n,      truth_of(m, DELTA),
                   holds,  audits};
    if (!is_wanted(&r)) return;
    double *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    tally t = {0};
    for (uint64_t a = 0; a < audits; ++a) {
        dpa_request request = start;
        dpa_scores scores;
        dpa_lints lints = {0};
        dpa_results results = {0};
        dpa_rng rng;
        dpa__rng_init(&rng, 300 + (uint64_t)m, DPA_PURPOSE_SIMULATE, a);
        for (size_t i = 0; i < n; ++i) {
            in[i] = draw(m, 1, &rng);
            out[i] = draw(m, 0, &rng);
        }
        request.seed = a + 1;
        assert_ok(dpa__scores_from(in, n, out, n, &scores, NULL));
        assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
        assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
        tally_add(&t, results.items[0].epsilon_lower, r.truth, 1);
        dpa__results_free(&results);
        dpa__lints_free(&lints);
        dpa__scores_free(&scores);
    }
    free(in);
    free(out);
    finish(&r, &t);
}

static void scores_rows(const size_t *sizes, size_t count, size_t audits) {
    static const char *const how[][2] = {
        {"scan", ""},        {"rank:auc", ""},      {"rank:slope", ""}, {"cp", "simultaneous"},
        {"cp", "split"},     {"cp", "multi-split"}, {"cp", "max"},      {"jeffreys", "split"},
        {"jeffreys", "max"}, {"bayes", "split"},    {"bayes", "max"}};
    for (size_t h = 0; h < sizeof how / sizeof how[0]; ++h)
        for (int m = NONE; m < MECHANISMS; ++m)
            for (size_t s = 0; s < count; ++s) {
                const int is_rank = strncmp(how[h][0], "rank", 4) == 0; /* refuses dp */
                if (!is_rank)
                    scores_row(how[h][0], how[h][1], "dp", (mechanism)m, sizes[s], audits);
                if (own_family[m] != NULL && strcmp(how[h][0], "scan") != 0)
                    scores_row(how[h][0], how[h][1], own_family[m], (mechanism)m, sizes[s], audits);
            }
}

/* ── one run: simulated ────────────────────────────────────────────────────────────────────── */

enum { MOST_CANARIES = 4000, GRID = 27 };

static dpa_guesses play(double mu, size_t canaries, uint64_t index) {
    static double score[MOST_CANARIES];
    static uint8_t in[MOST_CANARIES];
    dpa_guesses ranked;
    dpa_lints lints = {0};
    dpa_rng rng;
    dpa__rng_init(&rng, 400, DPA_PURPOSE_SIMULATE, index);
    for (size_t i = 0; i < canaries; ++i) {
        in[i] = (uint8_t)(dpa__rng_u32(&rng) >> 31);
        score[i] = dpa__rng_normal(&rng) + (in[i] ? mu : 0);
    }
    assert_ok(dpa__guesses_from_scores(score, in, canaries, DPA_GUESS_BOTH, &ranked, &lints, NULL));
    dpa__lints_free(&lints);
    return ranked;
}

static void one_run_row(const char *method, const char *family, dpa_guess_choice choice, double mu,
                        size_t canaries, size_t audits) {
    static const char *const choice_name[] = {"a tenth guessed", "auto", "max"};
    static dpa_one_run games[MOST_CANARIES];
    const dpa_request request = request_for(method, family, "", DELTA);
    const row r = {method,
                   choice_name[choice],
                   family,
                   mu > 0 ? "Gaussian noise, μ 1" : "no leak",
                   canaries,
                   mu > 0 ? dpa_gaussian_epsilon(mu, DELTA) : 0,
                   choice != DPA_GUESSES_MAX,
                   audits};
    tally t = {0};
    if (!is_wanted(&r)) return;
    for (uint64_t a = 0; a < audits; ++a) {
        dpa_guesses ranked = play(mu, canaries, a);
        uint64_t counts[MOST_CANARIES] = {canaries / 10};
        size_t count = 1;
        dpa_result result;
        if (choice == DPA_GUESSES_AUTO) count = dpa__one_run_grid(canaries, counts, GRID);
        if (choice == DPA_GUESSES_MAX)
            for (count = 0; count < 40; ++count) counts[count] = (count + 1) * canaries / 40;
        for (size_t i = 0; i < count; ++i)
            games[i] = (dpa_one_run){canaries, 2, counts[i], ranked.correct[counts[i]]};
        assert_ok(dpa__one_run_bound(games, count, choice, &request, &result, NULL));
        tally_add(&t, result.epsilon_lower, r.truth, 1);
        dpa__guesses_free(&ranked);
    }
    finish(&r, &t);
}

static void one_run_rows(const size_t *sizes, size_t count, size_t audits) {
    static const char *const how[][2] = {
        {"steinke", "dp"}, {"recursion", "gaussian"}, {"pointwise", "gaussian"}};
    for (size_t h = 0; h < 3; ++h)
        for (int choice = DPA_GUESSES_FIXED; choice <= DPA_GUESSES_MAX; ++choice)
            for (int leak = 0; leak < 2; ++leak)
                for (size_t s = 0; s < count; ++s)
                    one_run_row(how[h][0], how[h][1], (dpa_guess_choice)choice, leak, sizes[s],
                                audits);
}

/* ── cosines: simulated, canaries in one release of the Gaussian mechanism ──────────────────── */

enum { DIM = 4096, MOST_COSINES = 256, COSINE_METHODS = 6 };

static void release_cosines(double sigma, size_t count, uint64_t run, double *cosine) {
    static float sum[DIM];
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa_rng rng;
    dpa__canaries_opts_init(&opts);
    opts.seed = run;
    opts.dim = DIM;
    opts.observed = count;
    opts.threads = 1;
    dpa__rng_init(&rng, run, DPA_PURPOSE_NOISE, 0);
    for (size_t i = 0; i < DIM; ++i) sum[i] = (float)(sigma * dpa__rng_normal(&rng));
    assert_ok(dpa__canaries_new(&opts, &canaries, NULL));
    for (size_t i = 0; i < count; ++i) {
        static double one[DIM];
        assert_ok(dpa__canaries_make_f64(canaries, i, 1.0, one, NULL));
        for (size_t at = 0; at < DIM; ++at) sum[at] = (float)((double)sum[at] + one[at]);
    }
    const dpa_vector v = {.f32 = sum, .dim = DIM};
    assert_ok(dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
    dpa__canaries_free(canaries);
}

/* Audits the same release by each of the methods. */
static void cosine_audit(const dpa_cosines *c, const row *rows, uint64_t seed, tally *t) {
    for (size_t h = 0; h < COSINE_METHODS; ++h) {
        const int has_select = strcmp(rows[h].estimator, "jeffreys") == 0;
        dpa_request request =
            request_for(rows[h].estimator, "", has_select ? rows[h].select : "", DELTA);
        dpa_results results = {0};
        dpa_lints lints = {0};
        request.seed = seed;
        assert_ok(dpa__cosines_results(c, &request, &results, &lints, NULL));
        tally_add(&t[h], results.items[0].epsilon_lower, rows[h].truth, 1);
        dpa__results_free(&results);
        dpa__lints_free(&lints);
    }
}

static void cosine_rows(const size_t *sizes, size_t count, size_t audits) {
    static const char *const how[COSINE_METHODS][2] = {
        {"mean", "interval"},  {"mean-and-deviation", "interval"},
        {"jeffreys", "split"}, {"jeffreys", "simultaneous"},
        {"jeffreys", "max"},   {"scan", "none"}};
    static double cosine[MOST_COSINES];
    const double sigma = 1.0, truth = dpa_gaussian_epsilon(1 / sigma, DELTA);
    for (size_t s = 0; s < count; ++s) {
        tally t[COSINE_METHODS] = {{0}};
        row rows[COSINE_METHODS];
        int wanted[COSINE_METHODS], any = 0;
        for (size_t h = 0; h < COSINE_METHODS; ++h) {
            rows[h] = (row){how[h][0], how[h][1], "gaussian",       "one release, σ 1, d 4096",
                            sizes[s],  truth,     h == 0 || h == 5, audits};
            any |= wanted[h] = is_wanted(&rows[h]);
        }
        for (uint64_t a = 0; any && a < audits; ++a) {
            release_cosines(sigma, sizes[s], a, cosine);
            const dpa_cosines c = {.observed = cosine, .observed_count = sizes[s], .dim = DIM};
            cosine_audit(&c, rows, a + 1, t);
        }
        for (size_t h = 0; h < COSINE_METHODS; ++h)
            if (wanted[h]) finish(&rows[h], &t[h]);
    }
}

/* ── losses: simulated ─────────────────────────────────────────────────────────────────────── */

/* Eq. 7 at threshold c for training losses N(0,1) and held-out N(shift, 1); 1 where a rate is not
 * in (low, 1 − low). */
static double star_ratio(double c, double shift, double low) {
    const double tpr = dpa__norm_cdf(c, DPA_LOWER), fpr = dpa__norm_cdf(c - shift, DPA_LOWER);
    const double fnr = dpa__norm_cdf(c, DPA_UPPER), tnr = dpa__norm_cdf(c - shift, DPA_UPPER);
    if (fmin(fmin(tpr, fnr), fmin(fpr, tnr)) <= low) return 1;
    return fmax((tpr - DELTA) / fpr, (tnr - DELTA) / fnr);
}

/* Its supremum over thresholds: the best of a coarse grid, then a fine grid around it. */
static double star_truth(double shift, double low) {
    double best = 1, at = 0;
    for (double step = 1e-2; step > 1e-6; step *= 1e-2) {
        const double centre = at, reach = step < 1e-2 ? 200 * step : 12;
        for (double c = centre - reach; c <= centre + reach; c += step) {
            const double ratio = star_ratio(c, shift, low);
            if (ratio <= best) continue;
            best = ratio;
            at = c;
        }
    }
    return log(best);
}

static void star_row(const char *method, double shift, size_t n, size_t audits) {
    const int is_bound = strcmp(method, "simultaneous") == 0;
    const double low = strcmp(method, "empirical") == 0 ? 0.001 : is_bound ? 0 : DELTA;
    const dpa_request start = request_for(method, "", "", DELTA);
    const row r = {method,
                   is_bound ? "all" : "interval",
                   "one instance",
                   shift > 0 ? "losses N(0,1) and N(1,1)" : "no leak",
                   n,
                   star_truth(shift, low),
                   is_bound,
                   audits};
    if (!is_wanted(&r)) return;
    double *train = malloc(n * sizeof *train), *heldout = malloc(n * sizeof *heldout);
    tally t = {0};
    dpa_star_opts opts;
    dpa__star_opts_init(&opts);
    for (uint64_t a = 0; a < audits; ++a) {
        dpa_request request = start;
        dpa_losses losses;
        dpa_results results = {0};
        dpa_lints lints = {0};
        dpa_rng rng;
        dpa__rng_init(&rng, 500, DPA_PURPOSE_SIMULATE, a);
        for (size_t i = 0; i < n; ++i) {
            train[i] = dpa__rng_normal(&rng);
            heldout[i] = shift + dpa__rng_normal(&rng);
        }
        request.seed = a + 1;
        assert_ok(dpa__losses_new(train, n, heldout, n, &losses, NULL));
        assert_ok(dpa__star_results(&losses, &opts, &request, &results, &lints, NULL));
        tally_add(&t, results.items[0].epsilon_lower, r.truth, 1);
        dpa__results_free(&results);
        dpa__lints_free(&lints);
        dpa__losses_free(&losses);
    }
    free(train);
    free(heldout);
    finish(&r, &t);
}

static void star_rows(const size_t *sizes, size_t count, size_t audits) {
    static const char *const how[] = {"simultaneous", "binormal", "empirical", "normal"};
    for (size_t h = 0; h < 4; ++h)
        for (int shift = 0; shift < 2; ++shift)
            for (size_t s = 0; s < count; ++s) star_row(how[h], shift, sizes[s], audits);
}

/* ── sequential: simulated, watched after every pair ───────────────────────────────────────── */

typedef enum stopping { AT_END, ABOVE_TRUTH, CLAIM_FALLS, STOPPINGS } stopping;
static const char *const stopping_name[] = {"at the end", "above the truth", "ε/2 falls"};

/* Whoever stops once the bound exceeds the truth claims the truth and waits for the claim to be
 * refuted: exactly then the bound exceeds it. */
static void sequential_row(stopping when, const char *family, mechanism m, size_t n,
                           size_t audits) {
    const double truth = truth_of(m, DELTA);
    const row r = {"sequential", stopping_name[when], family, mechanism_name[m], n, truth, 1,
                   audits};
    tally t = {0};
    if (!is_wanted(&r)) return;
    dpa_request request = request_for("sequential", family, "", DELTA);
    if (when != AT_END) request.claim_epsilon = when == CLAIM_FALLS ? 0.5 * truth : truth;
    for (uint64_t a = 0; a < audits; ++a) {
        dpa_sequential *s;
        dpa_sequential_now now;
        dpa_rng rng;
        size_t pairs = 0;
        dpa__rng_init(&rng, 600 + (uint64_t)m, DPA_PURPOSE_SIMULATE, a);
        assert_ok(dpa__sequential_new(&request, &s, NULL));
        for (; pairs < n && !dpa__sequential_refuted(s); ++pairs)
            for (int in = 0; in < 2; ++in)
                assert_ok(dpa__sequential_push(s, in, draw(m, in, &rng), NULL));
        assert_ok(dpa__sequential_look(s, &now, NULL));
        assert_true(when != ABOVE_TRUTH || now.epsilon_lower <= truth * (1 + 1e-9) ||
                    dpa__sequential_refuted(s));
        tally_add(&t, now.epsilon_lower, truth, 1);
        t.pairs += (double)pairs;
        dpa__sequential_free(s);
    }
    finish(&r, &t);
}

static void sequential_rows(const size_t *sizes, size_t count, size_t audits) {
    for (int when = AT_END; when < STOPPINGS; ++when)
        for (int m = NONE; m < MECHANISMS; ++m)
            for (size_t s = 0; s < count; ++s) {
                /* without a leak no claim is wrong; a claim that falls early falls at every size */
                if (when == CLAIM_FALLS && (m == NONE || s + 1 < count)) continue;
                sequential_row((stopping)when, "dp", (mechanism)m, sizes[s], audits);
                if (own_family[m] != NULL)
                    sequential_row((stopping)when, own_family[m], (mechanism)m, sizes[s], audits);
            }
}

/* ── few audits for the test, many for the document ────────────────────────────────────────── */

static void exact(void **state) {
    (void)state;
    exact_rows((const unsigned[]){12}, 1);
}

static void simulated(void **state) {
    (void)state;
    scores_rows((const size_t[]){30}, 1, 60);
    one_run_rows((const size_t[]){100}, 1, 60);
    cosine_rows((const size_t[]){32}, 1, 60);
    star_rows((const size_t[]){200}, 1, 10);
    sequential_rows((const size_t[]){60}, 1, 40);
}

static void rows_of(const char *part, size_t audits) {
    if (strcmp(part, "exact") == 0) exact_rows((const unsigned[]){20, 100, 400}, 3);
    if (strcmp(part, "scores") == 0) scores_rows((const size_t[]){50, 200, 1000}, 3, audits);
    if (strcmp(part, "one-run") == 0) one_run_rows((const size_t[]){100, 1000, 4000}, 3, audits);
    if (strcmp(part, "cosines") == 0) cosine_rows((const size_t[]){64, 256}, 2, audits);
    if (strcmp(part, "losses") == 0) star_rows((const size_t[]){300, 1000, 10000}, 3, audits);
    if (strcmp(part, "sequential") == 0)
        sequential_rows((const size_t[]){50, 200, 1000}, 3, audits);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "list") == 0) {
        mode = NAMED;
        rows_of(argv[2], 1);
        return 0;
    }
    if (argc >= 4 && strcmp(argv[1], "table") == 0) {
        mode = PRINTED;
        if (argc == 6) {
            first_row = strtoul(argv[4], NULL, 10);
            last_row = strtoul(argv[5], NULL, 10);
        }
        rows_of(argv[2], strtoul(argv[3], NULL, 10));
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact), cmocka_unit_test(simulated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
