/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses in, results out: every method that applies, each with its threshold, its rates, which
 * ratio decided, its interval and how far its fit can be trusted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/epsilon_star.h"

enum { GOODNESS_SIZE = 1000 };

typedef struct context {
    const dpa_losses *losses;
    const dpa_star_opts *opts;
    const dpa_request *request;
    dpa_results *results;
    dpa_lints *lints;
} context;

static const char instance_note[] =
    "measures this one model instance; it does not bound the epsilon of the training mechanism";

void dpa_star_opts_init(dpa_star_opts *opts) {
    *opts = (dpa_star_opts){.bootstrap = 200, .mixture_limit = 200000};
    dpa_mixture_opts_init(&opts->mixture);
}

static int named(const context *c, const char *method) {
    return strcmp(c->request->method, method) == 0;
}

static int wanted(const context *c, const char *method) {
    return c->request->method[0] == '\0' || named(c, method);
}

static void start(const context *c, const char *method, const dpa_star *star, dpa_result *out) {
    dpa_result_init(out, c->request);
    out->kind = DPA_ESTIMATE;
    (void)snprintf(out->method, sizeof out->method, "%s", method);
    (void)snprintf(out->select, sizeof out->select, "%s", dpa_star_ratio_name(star->ratio));
    (void)snprintf(out->note, sizeof out->note, "%s%s", instance_note,
                   star->clamped
                       ? "; no threshold had both rates inside the interval of the paper, "
                         "so rates were moved to its ends"
                       : "");
    out->epsilon = star->epsilon;
    out->sides = 2;
    out->threshold = star->threshold;
    out->assumptions = DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES;
    dpa_result_extra(out, "fpr", star->fpr);
    dpa_result_extra(out, "fnr", star->fnr);
    dpa_result_extra(out, "ratio", (double)star->ratio);
    dpa_result_extra(out, "rates_clamped", (double)star->clamped);
}

static dpa_status add_interval(const context *c, const dpa_loss_fit *fit, dpa_result *result,
                               dpa_error *err) {
    if (c->opts->bootstrap == 0) return DPA_OK;
    const size_t used = strlen(result->note);
    (void)snprintf(result->note + used, sizeof result->note - used,
                   "; the interval is the noise of resampling%s",
                   fit != NULL ? ": it does not know whether the fitted family is right" : "");
    result->assumptions |= DPA_ASSUME_LARGE_SAMPLE;
    dpa_result_extra(result, "bootstrap", (double)c->opts->bootstrap);
    return dpa_star_bootstrap(c->losses, result->method, fit, c->opts->bootstrap, c->request,
                              &result->epsilon_lower, &result->epsilon_upper, err);
}

static dpa_status add_empirical(const context *c, dpa_error *err) {
    dpa_star star;
    dpa_result result;
    DPA_TRY(dpa_star_empirical(c->losses, c->request->delta, &star, err));
    start(c, "empirical", &star, &result);
    result.numerical_error = 1e-14 * fmax(1.0, star.epsilon);
    DPA_TRY(add_interval(c, NULL, &result, err));
    return dpa_results_add(c->results, &result, err);
}

/* The p-value of one side's fit, NaN where there are too few losses to set any aside. */
static dpa_status side_goodness(const context *c, int heldout, size_t components, double *p,
                                dpa_error *err) {
    const size_t n = heldout ? c->losses->heldout_count : c->losses->train_count;
    const size_t size = n / 5 < GOODNESS_SIZE ? n / 5 : GOODNESS_SIZE;
    dpa_goodness row;
    *p = NAN;
    if (size < 20) return DPA_OK;
    const dpa_status status =
        dpa_losses_goodness(c->losses, heldout, components, c->request->seed, &size, 1, &row, err);
    if (status == DPA_OK) *p = row.p_value;
    return status == DPA_BAD_INPUT ? DPA_OK : status; /* too little spread left to fit */
}

static dpa_status say_goodness(const context *c, const char *method, double train, double heldout,
                               dpa_error *err) {
    const double p = fmin(train, heldout); /* of the sides that have one */
    if (isnan(p))
        return dpa_lints_add(c->lints, err, "fit-not-tested",
                             "'%s': too few losses to test the fit", method);
    if (p < 0.05)
        return dpa_lints_add(c->lints, err, "bad-fit",
                             "'%s': the fit does not describe the %s losses (Kolmogorov-Smirnov "
                             "p = %.2g): do not trust its epsilon",
                             method, train <= heldout || isnan(heldout) ? "training" : "held-out",
                             p);
    return dpa_lints_add(c->lints, err, "fit",
                         "'%s': losses that were set aside cannot be told from draws of the fit "
                         "(Kolmogorov-Smirnov p = %.2g training, %.2g held-out), which does not "
                         "test the far tails",
                         method, train, heldout);
}

static dpa_status add_fitted(const context *c, const char *method, const dpa_loss_fit *fit,
                             dpa_error *err) {
    dpa_star star;
    dpa_result result;
    double all, error, train, heldout;
    DPA_TRY(dpa_star_fitted(fit, c->request->delta, &star, err));
    DPA_TRY(dpa_fit_epsilon(fit, c->request->delta, &all, &error, err));
    start(c, method, &star, &result);
    result.assumptions |= DPA_ASSUME_FIT_GOOD;
    result.numerical_error = 1e-10 * fmax(1.0, star.epsilon);
    DPA_TRY(add_interval(c, fit, &result, err));
    DPA_TRY(side_goodness(c, 0, fit->train.count, &train, err));
    DPA_TRY(side_goodness(c, 1, fit->heldout.count, &heldout, err));
    dpa_result_extra(&result, "all_events_epsilon", all);
    dpa_result_extra(&result, "all_events_error", error);
    dpa_result_extra(&result, "ks_p_train", train);
    dpa_result_extra(&result, "ks_p_heldout", heldout);
    dpa_result_extra(&result, "components_train", (double)fit->train.count);
    dpa_result_extra(&result, "components_heldout", (double)fit->heldout.count);
    DPA_TRY(say_goodness(c, method, train, heldout, err));
    return dpa_results_add(c->results, &result, err);
}

/* Losses that cannot be fitted are an error only when the fit was asked for by name. */
static dpa_status add_fit(const context *c, const char *method, dpa_error *err) {
    dpa_loss_fit fit;
    dpa_error own = {0};
    dpa_mixture_opts opts = c->opts->mixture;
    opts.seed = c->request->seed;
    const dpa_status status = strcmp(method, "normal") == 0
                                  ? dpa_fit_normal(c->losses, &fit, &own)
                                  : dpa__fit_mixture(c->losses, &opts, c->request, &fit, &own);
    if (status == DPA_OK) return add_fitted(c, method, &fit, err);
    if (status == DPA_BAD_INPUT && !named(c, method))
        return dpa_lints_add(c->lints, err, "no-fit", "'%s' is left out: %s", method, own.text);
    return dpa__fail(err, status, "%s: %s", method, own.text);
}

static dpa_status add_mixture(const context *c, dpa_error *err) {
    const size_t n = c->losses->train_count + c->losses->heldout_count;
    if (n > c->opts->mixture_limit && !named(c, "mixture"))
        return dpa_lints_add(c->lints, err, "mixture-left-out",
                             "'mixture' is slow with %zu losses and is left out: --method mixture "
                             "runs it",
                             n);
    return add_fit(c, "mixture", err);
}

static dpa_status add_lower(const context *c, dpa_error *err) {
    dpa_star star;
    dpa_result result;
    DPA_TRY(dpa_star_lower(c->losses, c->request->delta, c->request->confidence,
                           c->opts->whole_training_set, &star, err));
    start(c, "simultaneous", &star, &result);
    result.kind = DPA_BOUND;
    result.epsilon = NAN;
    result.epsilon_lower = star.epsilon;
    result.sides = 1;
    result.valid = 1;
    result.numerical_error = 1e-9;
    return dpa_results_add(c->results, &result, err);
}

static dpa_status check(const dpa_star_opts *opts, const dpa_request *request, dpa_error *err) {
    static const char *const known[] = {"", "empirical", "normal", "mixture", "simultaneous"};
    DPA_TRY(dpa_request_check(request, err));
    if (opts->mixture.components > DPA_MIXTURE_MAX || opts->mixture.most < 1 ||
        opts->mixture.most > DPA_MIXTURE_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "components: 1 to %d is right", DPA_MIXTURE_MAX);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (strcmp(request->method, known[i]) == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "method: empirical, normal, mixture or simultaneous is right, not '%s'",
                     request->method);
}

dpa_status dpa_star_results(const dpa_losses *losses, const dpa_star_opts *opts,
                            const dpa_request *request, dpa_results *results, dpa_lints *lints,
                            dpa_error *err) {
    const context c = {losses, opts, request, results, lints};
    DPA_TRY(check(opts, request, err));
    DPA_TRY(dpa_losses_lint(losses, lints, err));
    if (wanted(&c, "normal")) DPA_TRY(add_fit(&c, "normal", err));
    if (wanted(&c, "empirical")) DPA_TRY(add_empirical(&c, err));
    if (wanted(&c, "mixture")) DPA_TRY(add_mixture(&c, err));
    if (wanted(&c, "simultaneous")) DPA_TRY(add_lower(&c, err));
    return DPA_OK;
}
