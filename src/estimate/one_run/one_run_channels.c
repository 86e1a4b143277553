/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run whose canaries have channels of their own (methods.md, section 15; proof in
 * docs/methods/one-run-channels.md).
 *
 * Coins b_i are independent with one rate, and what is released depends on b only through outputs
 * r_i that are independent given b, each with trade-off at least f. Then any statistic that grows
 * when a member moves up in the pooled order is, given the number of members, stochastically at
 * most that of independent runs: ranks and scan hold for the canaries of one training.
 *
 * The check looks at coordinates that no canary touches, step by step: pairwise correlations, and
 * the energy of each step, which shows a random scale common to all of them that correlations do
 * not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/one_run/one_run.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/registry.h"
#include "math/dist.h"

dpa_status dpa__one_run_channels(const dpa_scores *scores, const dpa_request *request,
                                 dpa_result *out, dpa_error *err) {
    const char *family = request->family[0] != '\0' ? request->family : "gaussian";
    dpa__model model;
    DPA_TRY(dpa__request_check(request, err));
    if (!scores->is_sorted || scores->members == 0 || scores->nonmembers == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "scores: not prepared (dpa__scores_prepare_here)");
    DPA_TRY(dpa__model_open(family, request->delta, &model, err));
    const int is_dp = model.kind == DPA__MODEL_DP;
    const char *method = request->method[0] != '\0' ? request->method : is_dp ? "scan" : "rank";
    const int is_scan = dpa__registry_is_scan(method);
    const dpa_status status = is_scan ? dpa__scan_run(method, &model, scores, request, out, err)
                                      : dpa__rank_run(method, &model, scores, request, out, err);
    out->assumptions = DPA_ASSUME_ONE_RUN_CANARIES | DPA_ASSUME_CHANNELS | model.assumption;
    dpa__model_close(&model);
    if (status != DPA_OK) return status;
    (void)snprintf(
        out->note, sizeof out->note,
        "Canaries of one run, each with a channel of its own. It speaks about the stated "
        "mechanism with independent noise, not about (ε,δ)-DP alone.");
    return DPA_OK;
}

/* ── the check ─────────────────────────────────────────────────────────────────────────────── */

/* The sum of squared correlations over pairs of coordinates, standardised by its mean and deviation
 * under independence. */
static double correlation_z(const double *unit, size_t steps, size_t coordinates) {
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < coordinates; ++i)
        for (size_t j = 0; j < i; ++j) {
            double product = 0;
            for (size_t t = 0; t < steps; ++t) product += unit[i * steps + t] * unit[j * steps + t];
            sum += product * product;
            ++pairs;
        }
    /* the square of one correlation of T numbers with known mean is Beta(½,(T−1)/2) */
    const double n = (double)steps, mean = 1 / n;
    const double variance = 2 * (n - 1) / (n * n * (n + 2));
    return pairs > 0 ? (sum - pairs * mean) / sqrt(pairs * variance) : 0;
}

/* The p-value of the dispersion of the steps' energies, which is too large if they scatter more
 * than those of independent normal coordinates. */
static double energy_p(const double *noise, size_t steps, size_t coordinates) {
    const double d = (double)coordinates, n = (double)steps;
    double mean = 0, scatter = 0;
    for (size_t k = 0; k < steps * coordinates; ++k) mean += noise[k] * noise[k];
    mean /= n; /* of a step's energy */
    for (size_t t = 0; t < steps; ++t) {
        double energy = 0;
        for (size_t i = 0; i < coordinates; ++i)
            energy += noise[t * coordinates + i] * noise[t * coordinates + i];
        scatter += (energy - mean) * (energy - mean);
    }
    const double unit = mean / d; /* the variance of one number */
    /* an energy has variance 2d·unit² and kurtosis 3+12/d */
    const double dispersion = scatter / (2 * d * unit * unit);
    const double spread = sqrt((n - 1) * (2 + 12 / d));
    return dpa__norm_cdf((dispersion - (n - 1)) / spread, DPA_UPPER);
}

dpa_status dpa__one_run_channels_check(const double *noise, size_t steps, size_t coordinates,
                                       dpa_channels_check *out, dpa_error *err) {
    const size_t used = coordinates < DPA_CHECK_COORDINATES ? coordinates : DPA_CHECK_COORDINATES;
    if (steps < 10 || coordinates < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "null coordinates: %zu steps of %zu; at least 10 steps of 2 are needed",
                         steps, coordinates);
    double *unit = DPA_NEW_ARRAY(double, steps *used, err);
    if (unit == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < used; ++i) {
        double norm = 0;
        for (size_t t = 0; t < steps; ++t)
            norm += noise[t * coordinates + i] * noise[t * coordinates + i];
        for (size_t t = 0; t < steps; ++t)
            unit[i * steps + t] = norm > 0 ? noise[t * coordinates + i] / sqrt(norm) : 0;
    }
    out->correlation_p = dpa__norm_cdf(correlation_z(unit, steps, used), DPA_UPPER);
    out->energy_p = energy_p(noise, steps, coordinates);
    out->is_refuted = fmin(out->correlation_p, out->energy_p) < DPA_CHECK_LEVEL / 2;
    free(unit);
    return DPA_OK;
}
