/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of public structs as a table, and a progress callback that reads a flag.
 *
 * A binding repeats the fields of a struct. The compiler makes this table from the headers, so
 * that a difference is found when the binding is loaded instead of showing as wrong numbers. */
#include <stdatomic.h>
#include <string.h>

#include "account/account.h"
#include "attack/attack.h"
#include "base/rng.h"
#include "dpaudit/status.h"
#include "estimate/cosines.h"
#include "estimate/epsilon_star.h"
#include "estimate/estimate.h"
#include "estimate/onerun.h"
#include "evidence/canary.h"
#include "evidence/evidence.h"
#include "evidence/guesses.h"
#include "evidence/losses.h"
#include "report/binding.h"
#include "report/report.h"

typedef struct place {
    const char *name;
    size_t offset, size;
} place;

#define STRUCT(s)                                                                                  \
    { #s, 0, sizeof(s) }
#define FIELD(s, f)                                                                                \
    { #s "." #f, offsetof(s, f), sizeof(((s *)0)->f) }

static const place places[] = {
    STRUCT(dpa_error),
    FIELD(dpa_error, status),
    FIELD(dpa_error, place),
    FIELD(dpa_error, text),
    STRUCT(dpa_progress),
    FIELD(dpa_progress, call),
    FIELD(dpa_progress, user),
    STRUCT(dpa_request),
    FIELD(dpa_request, delta),
    FIELD(dpa_request, confidence),
    FIELD(dpa_request, sides),
    FIELD(dpa_request, family),
    FIELD(dpa_request, method),
    FIELD(dpa_request, select),
    FIELD(dpa_request, claim_epsilon),
    FIELD(dpa_request, claim_delta),
    FIELD(dpa_request, seed),
    FIELD(dpa_request, threads),
    FIELD(dpa_request, progress),
    STRUCT(dpa_phase),
    FIELD(dpa_phase, mechanism),
    FIELD(dpa_phase, sigma),
    FIELD(dpa_phase, q),
    FIELD(dpa_phase, steps),
    FIELD(dpa_phase, pair),
    STRUCT(dpa_interval),
    FIELD(dpa_interval, lower),
    FIELD(dpa_interval, upper),
    STRUCT(dpa_account_opts),
    FIELD(dpa_account_opts, adjacency),
    FIELD(dpa_account_opts, delta),
    FIELD(dpa_account_opts, tolerance),
    FIELD(dpa_account_opts, absolute),
    FIELD(dpa_account_opts, max_grid),
    FIELD(dpa_account_opts, group),
    STRUCT(dpa_account_query),
    FIELD(dpa_account_query, phases),
    FIELD(dpa_account_query, count),
    FIELD(dpa_account_query, opts),
    FIELD(dpa_account_query, epsilon),
    FIELD(dpa_account_query, fpr),
    FIELD(dpa_account_query, curve_points),
    FIELD(dpa_account_query, deltas),
    FIELD(dpa_account_query, delta_count),
    FIELD(dpa_account_query, epsilons),
    FIELD(dpa_account_query, epsilon_count),
    FIELD(dpa_account_query, orders),
    FIELD(dpa_account_query, order_count),
    FIELD(dpa_account_query, check),
    STRUCT(dpa_counts),
    FIELD(dpa_counts, fn),
    FIELD(dpa_counts, tp),
    FIELD(dpa_counts, fp),
    FIELD(dpa_counts, tn),
    STRUCT(dpa_scores),
    FIELD(dpa_scores, member),
    FIELD(dpa_scores, nonmember),
    FIELD(dpa_scores, members),
    FIELD(dpa_scores, nonmembers),
    FIELD(dpa_scores, is_sorted),
    FIELD(dpa_scores, sha256),
    STRUCT(dpa_lints),
    FIELD(dpa_lints, items),
    FIELD(dpa_lints, count),
    FIELD(dpa_lints, capacity),
    STRUCT(dpa_guesses),
    FIELD(dpa_guesses, canaries),
    FIELD(dpa_guesses, correct),
    FIELD(dpa_guesses, sha256),
    STRUCT(dpa_onerun),
    FIELD(dpa_onerun, canaries),
    FIELD(dpa_onerun, options),
    FIELD(dpa_onerun, guesses),
    FIELD(dpa_onerun, correct),
    STRUCT(dpa_plan_query),
    FIELD(dpa_plan_query, game),
    FIELD(dpa_plan_query, claim_sigma),
    FIELD(dpa_plan_query, truth_epsilon),
    FIELD(dpa_plan_query, truth_sigma),
    FIELD(dpa_plan_query, truth),
    FIELD(dpa_plan_query, q),
    FIELD(dpa_plan_query, steps),
    FIELD(dpa_plan_query, power),
    FIELD(dpa_plan_query, size),
    FIELD(dpa_plan_query, most),
    FIELD(dpa_plan_query, points),
    FIELD(dpa_plan_query, audits),
    FIELD(dpa_plan_query, half_width),
    FIELD(dpa_plan_query, fnr),
    FIELD(dpa_plan_query, fpr),
    STRUCT(dpa_ideal),
    FIELD(dpa_ideal, sigma),
    FIELD(dpa_ideal, canaries),
    FIELD(dpa_ideal, options),
    STRUCT(dpa_losses),
    FIELD(dpa_losses, train),
    FIELD(dpa_losses, heldout),
    FIELD(dpa_losses, train_count),
    FIELD(dpa_losses, heldout_count),
    FIELD(dpa_losses, train_sha256),
    FIELD(dpa_losses, heldout_sha256),
    FIELD(dpa_losses, train_rows),
    STRUCT(dpa_losses_files),
    FIELD(dpa_losses_files, train),
    FIELD(dpa_losses_files, heldout),
    FIELD(dpa_losses_files, train_labels),
    FIELD(dpa_losses_files, heldout_labels),
    FIELD(dpa_losses_files, loss),
    STRUCT(dpa_mixture_opts),
    FIELD(dpa_mixture_opts, components),
    FIELD(dpa_mixture_opts, most),
    FIELD(dpa_mixture_opts, seed),
    FIELD(dpa_mixture_opts, transform),
    STRUCT(dpa_star_opts),
    FIELD(dpa_star_opts, bootstrap),
    FIELD(dpa_star_opts, mixture),
    FIELD(dpa_star_opts, whole_training_set),
    FIELD(dpa_star_opts, resampled),
    FIELD(dpa_star_opts, replace_one),
    FIELD(dpa_star_opts, share),
    FIELD(dpa_star_opts, paper_goodness),
    STRUCT(dpa_losses_query),
    FIELD(dpa_losses_query, files),
    FIELD(dpa_losses_query, losses),
    FIELD(dpa_losses_query, count),
    FIELD(dpa_losses_query, opts),
    FIELD(dpa_losses_query, goodness),
    FIELD(dpa_losses_query, group),
    FIELD(dpa_losses_query, records),
    STRUCT(dpa_signals),
    FIELD(dpa_signals, kind),
    FIELD(dpa_signals, models),
    FIELD(dpa_signals, points),
    FIELD(dpa_signals, signal),
    FIELD(dpa_signals, member),
    FIELD(dpa_signals, augmentations),
    STRUCT(dpa_features),
    FIELD(dpa_features, points),
    FIELD(dpa_features, count),
    FIELD(dpa_features, value),
    STRUCT(dpa_quantile_opts),
    FIELD(dpa_quantile_opts, features),
    FIELD(dpa_quantile_opts, population_features),
    FIELD(dpa_quantile_opts, form),
    FIELD(dpa_quantile_opts, level),
    FIELD(dpa_quantile_opts, ridge),
    FIELD(dpa_quantile_opts, squares),
    STRUCT(dpa_attack_opts),
    FIELD(dpa_attack_opts, target),
    FIELD(dpa_attack_opts, exclude),
    FIELD(dpa_attack_opts, exclude_count),
    FIELD(dpa_attack_opts, offline),
    FIELD(dpa_attack_opts, variance),
    FIELD(dpa_attack_opts, a),
    FIELD(dpa_attack_opts, gamma),
    FIELD(dpa_attack_opts, population),
    FIELD(dpa_attack_opts, quantile),
    FIELD(dpa_attack_opts, threads),
    STRUCT(dpa_leak),
    FIELD(dpa_leak, point),
    FIELD(dpa_leak, in),
    FIELD(dpa_leak, out),
    FIELD(dpa_leak, accuracy),
    FIELD(dpa_leak, epsilon),
    FIELD(dpa_leak, gap),
    STRUCT(dpa_leak_opts),
    FIELD(dpa_leak_opts, attack),
    FIELD(dpa_leak_opts, how),
    FIELD(dpa_leak_opts, test_share),
    FIELD(dpa_leak_opts, every_model),
    FIELD(dpa_leak_opts, seed),
    FIELD(dpa_leak_opts, delta),
    STRUCT(dpa_rng),
    STRUCT(dpa_vector),
    FIELD(dpa_vector, f32),
    FIELD(dpa_vector, f64),
    FIELD(dpa_vector, dim),
    STRUCT(dpa_own_round),
    FIELD(dpa_own_round, unit),
    FIELD(dpa_own_round, candidate),
    FIELD(dpa_own_round, candidates),
    STRUCT(dpa_canaries_opts),
    FIELD(dpa_canaries_opts, seed),
    FIELD(dpa_canaries_opts, first),
    FIELD(dpa_canaries_opts, dim),
    FIELD(dpa_canaries_opts, observed),
    FIELD(dpa_canaries_opts, unobserved),
    FIELD(dpa_canaries_opts, threads),
    FIELD(dpa_canaries_opts, kernel),
    FIELD(dpa_canaries_opts, direction),
    STRUCT(dpa_cosines),
    FIELD(dpa_cosines, observed),
    FIELD(dpa_cosines, observed_count),
    FIELD(dpa_cosines, unobserved),
    FIELD(dpa_cosines, unobserved_count),
    FIELD(dpa_cosines, dim),
    FIELD(dpa_cosines, direction),
    FIELD(dpa_cosines, runs),
};

int dpa__struct_layout(const char *name, size_t *offset, size_t *size) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        if (strcmp(places[i].name, name) != 0) continue;
        *offset = places[i].offset;
        *size = places[i].size;
        return 1;
    }
    return 0;
}

int dpa__progress_flag(void *user, const char *what, double done, double total) {
    (void)what;
    (void)done;
    (void)total;
    return atomic_load_explicit((atomic_int *)user, memory_order_relaxed) != 0;
}
