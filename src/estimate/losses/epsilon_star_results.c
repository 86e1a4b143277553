/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses in, results out: every method that applies, each with its threshold, its rates, the ratio
 * that decided, its interval, and how far its fit can be trusted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/registry.h"

enum { GOODNESS_SIZE = 1000 };

typedef struct context {
    const dpa_losses *losses;
    const dpa_star_opts *opts;
    const dpa_request *request;
    dpa_results *results;
    dpa_lints *lints;
} context;

const char *dpa__star_method_name(dpa__star_method method) {
    return dpa__registry_name(DPA_FROM_LOSSES, (int)method);
}

dpa_status dpa__star_method_find(const char *name, dpa__star_method *out, dpa_error *err) {
    const dpa__entry *entry = dpa__registry_for(DPA_FROM_LOSSES, name, err);
    if (entry != NULL) *out = (dpa__star_method)entry->variant;
    return entry != NULL ? DPA_OK : DPA_BAD_ARGUMENT;
}

static const char instance_note[] =
    "measures this one model instance; it does not bound the epsilon of the training mechanism";

void dpa__star_opts_init(dpa_star_opts *opts) {
    *opts = (dpa_star_opts){.bootstrap = 200, .share = 1};
    dpa__mixture_opts_init(&opts->mixture);
}

static void start(const context *c, const char *method, const dpa_star *star, dpa_result *out) {
    dpa__result_init(out, c->request);
    out->kind = DPA_ESTIMATE;
    (void)snprintf(out->method, sizeof out->method, "%s", method);
    (void)snprintf(out->select, sizeof out->select, "%s", dpa__star_ratio_name(star->ratio));
    (void)snprintf(out->note, sizeof out->note, "%s%s", instance_note,
                   star->clamped
                       ? "; no threshold had both rates inside the interval of the paper, "
                         "so rates were moved to its ends"
                       : "");
    out->epsilon = star->epsilon;
    out->sides = 2;
    out->threshold = star->threshold;
    out->assumptions = DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES;
    dpa__result_add_extra(out, "fpr", star->fpr);
    dpa__result_add_extra(out, "fnr", star->fnr);
    dpa__result_add_extra(out, "ratio", (double)star->ratio);
    dpa__result_add_extra(out, "rates_clamped", (double)star->clamped);
}

static void add_note(dpa_result *result, const char *text) {
    const size_t used = strlen(result->note);
    (void)snprintf(result->note + used, sizeof result->note - used, "; %s", text);
}

static dpa_status add_interval(const context *c, const dpa_loss_fit *fit, dpa_result *result,
                               dpa_error *err) {
    if (c->opts->bootstrap == 0) return DPA_OK;
    add_note(result, fit != NULL ? "the interval is the noise of resampling: it does not know "
                                   "whether the fitted family is right"
                                 : "rates in (0.001, 0.999) only");
    result->assumptions |= DPA_ASSUME_LARGE_SAMPLE;
    dpa__result_add_extra(result, "bootstrap", (double)c->opts->bootstrap);
    return dpa__star_bootstrap(c->losses, result->method, fit, c->opts->bootstrap, c->request,
                               &result->epsilon_lower, &result->epsilon_upper, err);
}

/* ── how much hangs on a few losses ────────────────────────────────────────────────────────── */

/* The losses without the `k` smallest and `k` largest of each side; returns 0 if too few are left.
 */
static int trim(const dpa_losses *l, size_t k, dpa_losses *out) {
    if (l->train_count < 20 * k || l->heldout_count < 20 * k) return 0;
    *out = *l;
    out->train += k;
    out->heldout += k;
    out->train_count -= 2 * k;
    out->heldout_count -= 2 * k;
    return 1;
}

/* ε* of one method on other losses; NaN if it has none. Only a lack of memory is an error. */
static dpa_status again(const context *c, dpa__star_method method, const dpa_losses *l,
                        double *epsilon, dpa_error *err) {
    dpa_request request = *c->request;
    dpa_loss_fit fit;
    dpa_star star = {0};
    dpa_binormal binormal = {0};
    dpa_status status;
    request.confidence = 0.5; /* the interval is not used, so ask for the fewest exchanges */
    if (method == DPA__STAR_BINORMAL) {
        status = dpa__star_binormal(l, &request, &binormal, err);
        star = binormal.star;
    } else {
        status = dpa__fit_normal(l, c->opts->mixture.transform, &fit, err);
        if (status == DPA_OK) status = dpa__star_fitted(&fit, request.delta, &star, err);
    }
    *epsilon = status == DPA_OK ? star.epsilon : (double)NAN;
    return status == DPA_NO_MEMORY ? status : DPA_OK;
}

/* How ε* changes without the most extreme loss, and without the ten most extreme, at each end of
 * each side. */
static dpa_status add_sensitivity(const context *c, dpa__star_method method, dpa_result *result,
                                  dpa_error *err) {
    static const size_t dropped[] = {1, 10};
    static const char *const name[] = {"epsilon_without_1", "epsilon_without_10"};
    for (int i = 0; i < 2; ++i) {
        dpa_losses l;
        if (!trim(c->losses, dropped[i], &l)) continue;
        double epsilon;
        DPA_TRY(again(c, method, &l, &epsilon, err));
        dpa__result_add_extra(result, name[i], epsilon);
        /* an end that ranks extrapolate moves a little with every loss, so it is compared with its
         * interval */
        const double wide =
            method == DPA__STAR_BINORMAL ? result->epsilon_upper - result->epsilon_lower : 0.0;
        if (i == 0 &&
            fabs(epsilon - result->epsilon) > fmax(0.1 * fmax(1.0, result->epsilon), wide))
            DPA_TRY(dpa__lints_add(c->lints, err, "one-loss-decides",
                                   "'%s': %.4g becomes %.4g without the smallest and the largest "
                                   "loss of each side: do not rely on it",
                                   result->method, result->epsilon, epsilon));
    }
    return DPA_OK;
}

/* ── the methods ───────────────────────────────────────────────────────────────────────────── */

/* "p = 0.3 at small losses", or that there is no curve. */
static void say_end(const dpa_binormal_end *end, const char *where, char *out, size_t size) {
    if (end->share == 0.0)
        (void)snprintf(out, size, "none at %s losses", where);
    else
        (void)dpa__print(out, size, "p = %.2g at %s losses", end->p_value, where);
}

static dpa_status say_curve(const context *c, const dpa_binormal *b, dpa_error *err) {
    if (b->lower.share == 0.0 && b->upper.share == 0.0)
        return dpa__lints_add(
            c->lints, err, "no-curve",
            "'binormal': too few thresholds have losses of both sides beyond them "
            "for a curve at either end: its epsilon is that of the observed "
            "rates");
    /* of the ends that have a p-value */
    const int is_bad = fmin(b->lower.p_value, b->upper.p_value) < 0.05;
    char low[40], high[40];
    say_end(&b->lower, "small", low, sizeof low);
    say_end(&b->upper, "large", high, sizeof high);
    return dpa__lints_add(c->lints, err, is_bad ? "bad-fit" : "fit",
                          "'binormal': the curve %s the observed rates (%s, %s), which does not "
                          "test rates that no loss has",
                          is_bad ? "does not describe" : "describes", low, high);
}

static dpa_status add_binormal(const context *c, dpa_error *err) {
    dpa_binormal b;
    dpa_result result;
    DPA_TRY(dpa__star_binormal(c->losses, c->request, &b, err));
    start(c, "binormal", &b.star, &result);
    result.assumptions |= DPA_ASSUME_FIT_GOOD | DPA_ASSUME_LARGE_SAMPLE;
    result.epsilon_lower = b.epsilon_lower;
    result.epsilon_upper = b.epsilon_upper;
    result.numerical_error = 1e-6 * fmax(1.0, b.star.epsilon);
    add_note(&result, "follows the curve of the ranks down to rates of delta");
    dpa__result_add_extra(&result, "share_low", b.lower.share);
    dpa__result_add_extra(&result, "slope_low", b.lower.slope);
    dpa__result_add_extra(&result, "fit_p_low", b.lower.p_value);
    dpa__result_add_extra(&result, "share_high", b.upper.share);
    dpa__result_add_extra(&result, "slope_high", b.upper.slope);
    dpa__result_add_extra(&result, "fit_p_high", b.upper.p_value);
    DPA_TRY(add_sensitivity(c, DPA__STAR_BINORMAL, &result, err));
    DPA_TRY(say_curve(c, &b, err));
    return dpa__results_add(c->results, &result, err);
}

/* If the losses have no tails to fit, that is an error only if the method was asked for by name. */
static dpa_status add_tail(const context *c, dpa_error *err) {
    dpa_star star;
    dpa_result result;
    dpa_error own = {0};
    double lower, upper;
    const dpa_status status =
        dpa__star_tail(c->losses, c->opts->bootstrap, c->request, &star, &lower, &upper, &own);
    if (status == DPA_BAD_INPUT && c->request->method[0] == '\0')
        return dpa__lints_add(c->lints, err, "no-fit", "'tail' is left out: %s", own.text);
    if (status != DPA_OK) return dpa__fail(err, status, "tail: %s", own.text);
    start(c, "tail", &star, &result);
    result.assumptions |= DPA_ASSUME_FIT_GOOD | DPA_ASSUME_LARGE_SAMPLE;
    result.epsilon_lower = lower;
    result.epsilon_upper = upper;
    result.numerical_error = 1e-3 * fmax(1.0, star.epsilon);
    add_note(&result, "the interval is the noise of the tails' parameters alone");
    return dpa__results_add(c->results, &result, err);
}

static dpa_status add_empirical(const context *c, dpa_error *err) {
    dpa_star star;
    dpa_result result;
    DPA_TRY(dpa__star_empirical(c->losses, c->request->delta, &star, err));
    start(c, "empirical", &star, &result);
    result.numerical_error = 1e-14 * fmax(1.0, star.epsilon);
    DPA_TRY(add_interval(c, NULL, &result, err));
    return dpa__results_add(c->results, &result, err);
}

/* The paper's p-value of one side's fit; NaN if there are too few losses to set any aside. */
static dpa_status paper_goodness(const context *c, int heldout, size_t components, double *p,
                                 dpa_error *err) {
    const size_t n = heldout ? c->losses->heldout_count : c->losses->train_count;
    const size_t size = n / 5 < GOODNESS_SIZE ? n / 5 : GOODNESS_SIZE;
    dpa_goodness row;
    *p = NAN;
    if (size < 20) return DPA_OK;
    const dpa_status status =
        dpa__losses_goodness(c->losses, heldout, components, c->request->seed, &size, 1, &row, err);
    if (status == DPA_OK) *p = row.p_value;
    return status == DPA_BAD_INPUT ? DPA_OK : status; /* too little spread left to fit */
}

static dpa_status side_goodness(const context *c, const dpa_loss_fit *fit, int heldout, double *p,
                                dpa_error *err) {
    if (c->opts->paper_goodness)
        return paper_goodness(c, heldout, heldout ? fit->heldout.count : fit->train.count, p, err);
    return dpa__fit_goodness(c->losses, fit, heldout, p, err);
}

static dpa_status say_goodness(const context *c, const char *method, double train, double heldout,
                               dpa_error *err) {
    const char *test = c->opts->paper_goodness ? "Kolmogorov-Smirnov" : "Anderson-Darling";
    const double p = fmin(train, heldout); /* of the sides that have one */
    if (isnan(p))
        return dpa__lints_add(c->lints, err, "fit-not-tested",
                              "'%s': too few losses to test the fit", method);
    if (p < 0.05)
        return dpa__lints_add(c->lints, err, "bad-fit",
                              "'%s': the fit does not describe the %s losses (%s p = %.2g): do not "
                              "trust its epsilon",
                              method, train <= heldout || isnan(heldout) ? "training" : "held-out",
                              test, p);
    return dpa__lints_add(c->lints, err, "fit",
                          "'%s': the losses cannot be told from draws of the fit (%s p = %.2g "
                          "training, %.2g held-out), which does not test the far tails",
                          method, test, train, heldout);
}

static dpa_status add_fitted(const context *c, dpa__star_method which, const dpa_loss_fit *fit,
                             dpa_error *err) {
    const char *method = dpa__star_method_name(which);
    dpa_star star;
    dpa_result result;
    double all, error, train, heldout;
    DPA_TRY(dpa__star_fitted(fit, c->request->delta, &star, err));
    DPA_TRY(dpa__fit_epsilon(fit, c->request->delta, &all, &error, err));
    start(c, method, &star, &result);
    result.assumptions |= DPA_ASSUME_FIT_GOOD;
    result.numerical_error = 1e-10 * fmax(1.0, star.epsilon);
    DPA_TRY(add_interval(c, fit, &result, err));
    DPA_TRY(side_goodness(c, fit, 0, &train, err));
    DPA_TRY(side_goodness(c, fit, 1, &heldout, err));
    dpa__result_add_extra(&result, "all_events_epsilon", all);
    dpa__result_add_extra(&result, "all_events_error", error);
    dpa__result_add_extra(&result, "fit_p_train", train);
    dpa__result_add_extra(&result, "fit_p_heldout", heldout);
    dpa__result_add_extra(&result, "components_train", (double)fit->train.count);
    dpa__result_add_extra(&result, "components_heldout", (double)fit->heldout.count);
    if (which == DPA__STAR_NORMAL) DPA_TRY(add_sensitivity(c, which, &result, err));
    DPA_TRY(say_goodness(c, method, train, heldout, err));
    return dpa__results_add(c->results, &result, err);
}

/* If the losses cannot be fitted, that is an error only if the fit was asked for by name. */
static dpa_status add_fit(const context *c, dpa__star_method which, dpa_error *err) {
    const char *method = dpa__star_method_name(which);
    dpa_loss_fit fit;
    dpa_error own = {0};
    dpa_mixture_opts opts = c->opts->mixture;
    opts.seed = c->request->seed;
    const dpa_status status = which == DPA__STAR_NORMAL
                                  ? dpa__fit_normal(c->losses, opts.transform, &fit, &own)
                                  : dpa__fit_mixture(c->losses, &opts, c->request, &fit, &own);
    if (status == DPA_OK) return add_fitted(c, which, &fit, err);
    if (status == DPA_BAD_INPUT && c->request->method[0] == '\0')
        return dpa__lints_add(c->lints, err, "no-fit", "'%s' is left out: %s", method, own.text);
    return dpa__fail(err, status, "%s: %s", method, own.text);
}

static dpa_status add_lower(const context *c, dpa_error *err) {
    dpa_star star;
    dpa_result result;
    const double error = (1.0 - c->request->confidence) / (double)c->opts->share;
    DPA_TRY(dpa__star_lower(c->losses, c->request->delta, 1.0 - error, c->opts->whole_training_set,
                            &star, err));
    start(c, "simultaneous", &star, &result);
    result.kind = DPA_BOUND;
    result.epsilon = NAN;
    result.epsilon_lower = star.epsilon;
    result.sides = 1;
    result.valid = 1;
    result.numerical_error = 1e-9;
    if (c->opts->whole_training_set)
        add_note(&result, "by Definition 1 the training rates are exact, so chance in who was "
                          "trained on counts as leak");
    return dpa__results_add(c->results, &result, err);
}

static dpa_status check(const dpa_star_opts *opts, const dpa_request *request, dpa_error *err) {
    dpa__star_method ignored;
    DPA_TRY(dpa__request_check(request, err));
    if (opts->share == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "share: at least 1 is right");
    if (opts->mixture.components > DPA_MIXTURE_MAX || opts->mixture.most < 1 ||
        opts->mixture.most > DPA_MIXTURE_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "components: 1 to %d is right", DPA_MIXTURE_MAX);
    if (request->method[0] == '\0') return DPA_OK;
    return dpa__star_method_find(request->method, &ignored, err);
}

dpa_status dpa__star_results(const dpa_losses *losses, const dpa_star_opts *opts,
                             const dpa_request *request, dpa_results *results, dpa_lints *lints,
                             dpa_error *err) {
    static dpa_status (*const add[])(const context *, dpa_error *) = {
        [DPA__STAR_BINORMAL] = add_binormal,
        [DPA__STAR_EMPIRICAL] = add_empirical,
        [DPA__STAR_TAIL] = add_tail,
        [DPA__STAR_SIMULTANEOUS] = add_lower}; /* else add_fit */
    const context c = {losses, opts, request, results, lints};
    DPA_TRY(check(opts, request, err));
    DPA_TRY(dpa__losses_lint(losses, lints, err));
    for (dpa__star_method m = 0; m < DPA__STAR_METHODS; ++m)
        if (dpa__list_asks(request->method, dpa__star_method_name(m)))
            DPA_TRY(add[m] != NULL ? add[m](&c, err) : add_fit(&c, m, err));
    return DPA_OK;
}
