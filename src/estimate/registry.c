/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every estimator: name, requirements, assumptions, what it gives. To add one: its file with its
 * function (named in registry.h too), a row here, a page docs/methods/NAME.md, a test. Help and
 * errors take their names from here. */
#include "estimate/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/exact.h"
#include "estimate/onerun.h"
#include "estimate/rank.h"
#include "estimate/rates.h"
#include "estimate/ratio.h"
#include "estimate/scan.h"

#define EVERY_FAMILY "every family"
#define PURE_DP "dp at delta 0"
#define BOTH (DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_GIVES_BOUND | DPA_GIVES_INTERVAL)
#define RATIO_NOTE DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_LARGE_SAMPLE

#define COINS DPA_ASSUME_ONE_RUN_CANARIES
#define COSINES (DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_GAUSSIAN_COSINES)
/* The estimators that are looked for by name alone. */
#define RATES (DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_FROM_ORDER)

static const dpa__entry entries[] = {
    {{"rank", "rank statistic of the scores: no threshold, exact p-value", "every family but dp",
      DPA_FROM_SCORES | DPA_GIVES_BOUND, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_scores = dpa__rank_run},
    {{"scan", "both ends of the order of all scores: no threshold, exact p-value", EVERY_FAMILY,
      DPA_FROM_SCORES | DPA_GIVES_BOUND, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_scores = dpa__scan_run},
    {{"exact", "exact test of the confusion matrix, ordered by likelihood ratio", EVERY_FAMILY,
      DPA_FROM_COUNTS | DPA_GIVES_BOUND | DPA_GIVES_INTERVAL, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_counts = dpa__from_exact},
    {{"cp", "Clopper-Pearson limits of both rates", EVERY_FAMILY, BOTH, DPA_ASSUME_INDEPENDENT_RUNS,
      1},
     .from_counts = dpa__from_rectangle,
     .variant = DPA__CLOPPER_PEARSON},
    {{"jeffreys", "Jeffreys limits of both rates", EVERY_FAMILY, BOTH,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_BAYES_PRIOR, 1},
     .from_counts = dpa__from_rectangle,
     .variant = DPA__JEFFREYS},
    {{"bayes", "joint posterior of both rates", EVERY_FAMILY, BOTH | DPA_GIVES_DENSITY,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_BAYES_PRIOR, 1},
     .from_counts = dpa__from_posterior},
    {{"katz", "Katz-log interval of the ratio of rates", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__KATZ_LOG},
    {{"adjusted-log", "the same with one half added to every count", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__ADJUSTED_LOG},
    {{"bailey", "Bailey's cube-root interval of the ratio", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__BAILEY},
    {{"inverse-sinh", "Newcombe's inverse sinh interval of the ratio", PURE_DP, BOTH, RATIO_NOTE,
      0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__INVERSE_SINH},
    {{"sequential", "bets on pairs as they arrive: may be looked at after every trial",
      EVERY_FAMILY, DPA_FROM_ORDER | DPA_GIVES_BOUND,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_ORDER_OF_ARRIVAL, 1}},
    {{"point", "the observed rates taken as true: no confidence", EVERY_FAMILY,
      DPA_FROM_COUNTS | DPA_GIVES_ESTIMATE, 0, 0},
     .from_counts = dpa__from_point},
    /* of one run and of cosines, which have entry points of their own */
    {{"either", "guesses against (eps,delta): the smaller of steinke and recursion", "dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1}},
    {{"steinke", "guesses against (eps,delta): Steinke, Nasr and Jagielski", "dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1}},
    {{"recursion", "guesses against a whole curve: Mahloujifar, Melis and Chaudhuri", EVERY_FAMILY,
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1}},
    {{"pointwise", "guesses against the family's (eps,delta) at 60 deltas", "every family but dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1}},
    {{DPA__CHANNELS, "scores of canaries with noise of their own: ranks, the scan for dp",
      EVERY_FAMILY, DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS | DPA_ASSUME_CHANNELS, 1}},
    {{"mean", "mean cosine, deviation of the null", "", DPA_FROM_COSINES | DPA_GIVES_ESTIMATE,
      COSINES, 0}},
    {{"mean-corrected", "mean cosine, without the other canaries' length", "",
      DPA_FROM_COSINES | DPA_GIVES_ESTIMATE, COSINES, 0}},
    {{"mean-and-deviation", "mean and deviation fitted", "", DPA_FROM_COSINES | DPA_GIVES_ESTIMATE,
      COSINES, 0}},
    {{"all-iterates", "largest cosines over the rounds, both samples fitted", "",
      DPA_FROM_COSINES | DPA_GIVES_ESTIMATE, COSINES, 0}},
    {{"known-rounds", "ranks of canaries over their own rounds, through the accountant", "",
      DPA_FROM_COSINES | DPA_GIVES_BOUND, COINS | DPA_ASSUME_CHANNELS, 1}},
    {{"jeffreys", "a threshold on the cosine, Jeffreys limits", "",
      DPA_FROM_COSINES | DPA_GIVES_BOUND,
      DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS | DPA_ASSUME_BAYES_PRIOR, 1}},
    {{"all-iterates-jeffreys", "the same over all rounds", "", DPA_FROM_COSINES | DPA_GIVES_BOUND,
      DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS | DPA_ASSUME_BAYES_PRIOR, 1}},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

size_t dpa_estimator_count(void) {
    return ENTRIES;
}

const dpa_estimator *dpa_estimator_at(size_t index) {
    return index < ENTRIES ? &entries[index].about : NULL;
}

const dpa__entry *dpa__registry_at(size_t index) {
    return index < ENTRIES ? &entries[index] : NULL;
}

/* Fails with the names of the estimators from this evidence. */
static const dpa__entry *fail_name(unsigned source, const char *name, dpa_error *err) {
    char list[DPA_TEXT_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; i < ENTRIES && used < sizeof list; ++i)
        if (entries[i].about.what & source)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                                     entries[i].about.name);
    (void)dpa__fail(err, DPA_BAD_ARGUMENT, "method: '%s' is none of %s", name, list);
    return NULL;
}

static const dpa__entry *find(unsigned source, const char *name, dpa_error *err) {
    const size_t length = strcspn(name, ":");
    for (size_t i = 0; i < ENTRIES; ++i) {
        const char *known = entries[i].about.name;
        const int may_have_more = (source & RATES) != 0 && entries[i].from_counts == NULL;
        if ((entries[i].about.what & source) && strlen(known) == length &&
            strncmp(known, name, length) == 0 && (name[length] == '\0' || may_have_more))
            return &entries[i];
    }
    return fail_name(source, name, err);
}

const dpa__entry *dpa__registry_find(const char *name, dpa_error *err) {
    return find(RATES, name, err);
}

const char *dpa__registry_refusal(const dpa__entry *entry, const dpa__model *model, double delta) {
    if (entry->from_counts == dpa__from_ratio) {
        if (model->kind != DPA__MODEL_DP) return "it speaks about ratios of rates: family dp only";
        if (delta > 0) return "a ratio of rates bounds epsilon at delta 0 only: use --delta 0";
    }
    if (entry->from_scores == dpa__rank_run && model->kind == DPA__MODEL_DP)
        return "for family dp the extreme curve has two corners and ranks show little: use scan";
    return NULL;
}

const char *dpa__request_family(const dpa_request *request, size_t index) {
    static const char *const usual[DPA__DEFAULT_FAMILIES] = {"dp", "gaussian", "laplace"};
    if (request->family[0] != '\0') return index == 0 ? request->family : NULL;
    return index < DPA__DEFAULT_FAMILIES ? usual[index] : NULL;
}

const dpa__entry *dpa__registry_for(unsigned source, const char *name, dpa_error *err) {
    if (!(source & RATES)) return find(source, name, err);
    const dpa__entry *entry = dpa__registry_find(name, err);
    if (entry == NULL || source != DPA_FROM_COUNTS || entry->from_counts != NULL) return entry;
    (void)dpa__fail(err, DPA_BAD_ARGUMENT,
                    "method %s: needs the scores themselves, not a confusion matrix", name);
    return NULL;
}

const char *dpa__registry_default(unsigned source, int is_universal, int is_tail, int is_large,
                                  uint64_t options) {
    if (source == DPA_FROM_GUESSES)
        return dpa__onerun_method_name(dpa__onerun_default(is_universal, options));
    if (source == DPA_FROM_COUNTS) return is_large ? "cp" : "exact";
    return is_universal || is_tail ? "scan" : "rank";
}

const char *dpa__registry_threshold(void) {
    return "cp";
}

const char *dpa__registry_posterior(void) {
    return "bayes";
}

int dpa__registry_is_rank(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL && entry->from_scores == dpa__rank_run;
}

int dpa__registry_is_scan(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL && entry->from_scores == dpa__scan_run;
}

int dpa__registry_is_channels(const char *method) {
    return strcmp(method, DPA__CHANNELS) == 0;
}

int dpa__registry_is_exact(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL && entry->from_counts == dpa__from_exact;
}

int dpa__registry_takes_counts(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL && entry->from_counts != NULL;
}

int dpa__registry_has_limits(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL &&
           (entry->from_counts == dpa__from_rectangle || entry->from_counts == dpa__from_posterior);
}

int dpa__entry_has_band(const dpa__entry *entry) {
    return entry->from_counts == dpa__from_rectangle && entry->variant == DPA__CLOPPER_PEARSON;
}
