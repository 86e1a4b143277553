/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every estimator: name, requirements, assumptions, what it gives. To add one: its file with its
 * function (named in registry.h too), a row here, a page docs/methods/NAME.md, a test. Help and
 * errors take their names from here. */
#include "estimate/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/cosines/cosine.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/one_run/one_run.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/rates/exact.h"
#include "estimate/rates/rates.h"
#include "estimate/rates/ratio.h"

#define EVERY_FAMILY "every family"
#define PURE_DP "dp at delta 0"
#define BOTH (DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_GIVES_BOUND | DPA_GIVES_INTERVAL)
#define RATIO_NOTE DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_LARGE_SAMPLE

#define COINS DPA_ASSUME_ONE_RUN_CANARIES
#define COSINES (DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_GAUSSIAN_COSINES)
#define INSTANCE (DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES)
#define FITTED (INSTANCE | DPA_ASSUME_FIT_GOOD)
/* The estimators that are looked for by name alone. */
#define RATES (DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_FROM_ORDER)

/* In the order of dpa__rank_score. */
static const char *const rank_scores[] = {"auc", "slope", NULL};

static const dpa__entry entries[] = {
    {{"rank", "rank statistic of the scores: no threshold, exact p-value", "every family but dp",
      DPA_FROM_SCORES | DPA_GIVES_BOUND, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_scores = dpa__rank_run,
     .flavours = rank_scores,
     .power = &dpa__planned_ranks},
    {{"scan", "both ends of the order of all scores: no threshold, exact p-value", EVERY_FAMILY,
      DPA_FROM_SCORES | DPA_GIVES_BOUND, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_scores = dpa__scan_run,
     .power = &dpa__planned_scores},
    {{"exact", "exact test of the confusion matrix, ordered by likelihood ratio", EVERY_FAMILY,
      DPA_FROM_COUNTS | DPA_GIVES_BOUND | DPA_GIVES_INTERVAL, DPA_ASSUME_INDEPENDENT_RUNS, 1},
     .from_counts = dpa__from_exact,
     .power = &dpa__planned_exact},
    {{"cp", "Clopper-Pearson limits of both rates", EVERY_FAMILY, BOTH, DPA_ASSUME_INDEPENDENT_RUNS,
      1},
     .from_counts = dpa__from_rectangle,
     .variant = DPA__CLOPPER_PEARSON,
     .power = &dpa__planned_counts},
    {{"jeffreys", "Jeffreys limits of both rates", EVERY_FAMILY, BOTH,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_BAYES_PRIOR, 1},
     .from_counts = dpa__from_rectangle,
     .variant = DPA__JEFFREYS,
     .power = &dpa__planned_counts},
    {{"bayes", "joint posterior of both rates", EVERY_FAMILY, BOTH | DPA_GIVES_DENSITY,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_BAYES_PRIOR, 1},
     .from_counts = dpa__from_posterior,
     .power = &dpa__planned_counts},
    {{"katz", "Katz-log interval of the ratio of rates", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__KATZ_LOG,
     .power = &dpa__planned_counts},
    {{"adjusted-log", "the same with one half added to every count", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__ADJUSTED_LOG,
     .power = &dpa__planned_counts},
    {{"bailey", "Bailey's cube-root interval of the ratio", PURE_DP, BOTH, RATIO_NOTE, 0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__BAILEY,
     .power = &dpa__planned_counts},
    {{"inverse-sinh", "Newcombe's inverse sinh interval of the ratio", PURE_DP, BOTH, RATIO_NOTE,
      0},
     .from_counts = dpa__from_ratio,
     .variant = DPA__INVERSE_SINH,
     .power = &dpa__planned_counts},
    {{DPA__SEQUENTIAL, "bets on pairs as they arrive: may be looked at after every trial",
      EVERY_FAMILY, DPA_FROM_ORDER | DPA_GIVES_BOUND,
      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_ORDER_OF_ARRIVAL, 1},
     .power = &dpa__planned_pairs},
    {{"point", "the observed rates taken as true: no confidence", EVERY_FAMILY,
      DPA_FROM_COUNTS | DPA_GIVES_ESTIMATE, 0, 0},
     .from_counts = dpa__from_point},
    /* of one run, of cosines and of losses, which have entry points of their own */
    {{"either", "guesses against (eps,delta): the smaller of steinke and recursion", "dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1},
     .variant = DPA__EITHER,
     .power = &dpa__planned_guesses},
    {{"steinke", "guesses against (eps,delta): Steinke, Nasr and Jagielski", "dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1},
     .variant = DPA__STEINKE,
     .power = &dpa__planned_guesses},
    {{"recursion", "guesses against a whole curve: Mahloujifar, Melis and Chaudhuri", EVERY_FAMILY,
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1},
     .variant = DPA__RECURSION,
     .power = &dpa__planned_guesses},
    {{"pointwise", "guesses against the family's (eps,delta) at 60 deltas", "every family but dp",
      DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS, 1},
     .variant = DPA__POINTWISE,
     .power = &dpa__planned_guesses},
    {{DPA__CHANNELS, "scores of canaries with noise of their own: ranks, the scan for dp",
      EVERY_FAMILY, DPA_FROM_GUESSES | DPA_GIVES_BOUND, COINS | DPA_ASSUME_CHANNELS, 1},
     .variant = DPA__ONE_RUN_METHODS,
     .power = &dpa__planned_channels},
    {{"mean", "mean cosine, deviation of the null", "", DPA_FROM_COSINES | DPA_GIVES_ESTIMATE,
      COSINES, 0},
     .variant = DPA__COSINES_FINAL,
     .power = &dpa__planned_mean},
    {{"mean-corrected", "mean cosine, without the other canaries' length", "",
      DPA_FROM_COSINES | DPA_GIVES_ESTIMATE, COSINES, 0},
     .variant = DPA__COSINES_FINAL},
    {{"mean-and-deviation", "mean and deviation fitted", "", DPA_FROM_COSINES | DPA_GIVES_ESTIMATE,
      COSINES, 0},
     .variant = DPA__COSINES_FINAL,
     .power = &dpa__planned_mean_and_deviation},
    {{"all-iterates", "largest cosines over the rounds, both samples fitted", "",
      DPA_FROM_COSINES | DPA_GIVES_ESTIMATE, COSINES, 0},
     .variant = DPA__COSINES_ROUNDS},
    {{"known-rounds", "ranks of canaries over their own rounds, through the accountant", "",
      DPA_FROM_COSINES | DPA_GIVES_BOUND, COINS | DPA_ASSUME_CHANNELS, 1}},
    {{"jeffreys", "a threshold on the cosine, Jeffreys limits", "",
      DPA_FROM_COSINES | DPA_GIVES_BOUND,
      DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS | DPA_ASSUME_BAYES_PRIOR, 1},
     .variant = DPA__COSINES_FINAL | DPA__COSINES_ROUNDS,
     .power = &dpa__planned_jeffreys},
    {{"all-iterates-jeffreys", "the same over all rounds", "", DPA_FROM_COSINES | DPA_GIVES_BOUND,
      DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS | DPA_ASSUME_BAYES_PRIOR, 1}},
    {{"scan", "the order of all cosines: no threshold, no prior", "",
      DPA_FROM_COSINES | DPA_GIVES_BOUND, DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS, 1},
     .variant = DPA__COSINES_FINAL | DPA__COSINES_ROUNDS,
     .power = &dpa__planned_cosine_scan},
    {{"all-iterates-scan", "the same over all rounds", "", DPA_FROM_COSINES | DPA_GIVES_BOUND,
      DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_CHANNELS, 1}},
    {{"binormal", "both laws of the losses as one line on the probit scale", "",
      DPA_FROM_LOSSES | DPA_GIVES_ESTIMATE, INSTANCE, 0},
     .variant = DPA__STAR_BINORMAL},
    {{"empirical", "the observed rates of every threshold", "",
      DPA_FROM_LOSSES | DPA_GIVES_ESTIMATE, INSTANCE, 0},
     .variant = DPA__STAR_EMPIRICAL},
    {{"normal", "a normal law fitted to the transformed losses of each side", "",
      DPA_FROM_LOSSES | DPA_GIVES_ESTIMATE, FITTED, 0},
     .variant = DPA__STAR_NORMAL},
    {{"tail", "a generalised Pareto law fitted to the tails", "",
      DPA_FROM_LOSSES | DPA_GIVES_ESTIMATE, FITTED, 0},
     .variant = DPA__STAR_TAIL},
    {{"mixture", "a mixture of normal laws fitted to each side", "",
      DPA_FROM_LOSSES | DPA_GIVES_ESTIMATE, FITTED, 0},
     .variant = DPA__STAR_MIXTURE},
    {{"simultaneous", "limits of both rates that hold for all thresholds at once", "",
      DPA_FROM_LOSSES | DPA_GIVES_BOUND, INSTANCE, 1},
     .variant = DPA__STAR_SIMULTANEOUS},
    /* of plans only: jeffreys of cosines with a threshold that is learned from half of them */
    {{.name = "jeffreys-split", .what = DPA_GIVES_BOUND}, .power = &dpa__planned_jeffreys_split},
};
enum { ALL = sizeof entries / sizeof entries[0], ENTRIES = ALL - 1 };

size_t dpa__estimator_count(void) {
    return ENTRIES;
}

const dpa_estimator *dpa__estimator_at(size_t index) {
    return index < ENTRIES ? &entries[index].about : NULL;
}

const dpa__entry *dpa__registry_at(size_t index) {
    return index < ENTRIES ? &entries[index] : NULL;
}

/* The entry whose name is the first `length` characters of a text; NULL if there is none. */
static const dpa__entry *named(unsigned source, const char *text, size_t length) {
    for (size_t i = 0; i < ENTRIES; ++i) {
        const char *known = entries[i].about.name;
        if ((entries[i].about.what & source) && strlen(known) == length &&
            strncmp(known, text, length) == 0)
            return &entries[i];
    }
    return NULL;
}

const dpa__entry *dpa__registry_planned(dpa_plan_game game, size_t index) {
    for (size_t i = 0; i < ALL; ++i)
        if (entries[i].power != NULL && (entries[i].power->games & 1U << game) && index-- == 0)
            return &entries[i];
    return NULL;
}

const dpa__entry *dpa__registry_plan(dpa_plan_game game, const char *name, dpa_error *err) {
    char list[DPA_TEXT_SIZE] = "";
    const dpa__entry *entry;
    for (size_t i = 0; (entry = dpa__registry_planned(game, i)) != NULL; ++i) {
        const size_t at = strlen(list);
        if (strcmp(name, entry->about.name) == 0) return entry;
        (void)snprintf(list + at, sizeof list - at, "%s%s", at > 0 ? ", " : "", entry->about.name);
    }
    (void)dpa__fail(err, DPA_BAD_ARGUMENT, "method: '%s' cannot be planned; %s: %s", name,
                    dpa__plan_game_name(game), list);
    return NULL;
}

static int is_same(const char *one, const char *other) {
    return one == NULL || other == NULL || strcmp(one, other) == 0;
}

int dpa__is_same_test(dpa__test_name one, dpa__test_name other) {
    return is_same(one.family, other.family) && is_same(one.method, other.method) &&
           is_same(one.select, other.select);
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

/* The number of the entry's flavour after the colon of a name; -1 if there is none of that name. */
static int flavour_of(const dpa__entry *entry, const char *name) {
    const char *colon = strchr(name, ':');
    if (colon == NULL) return 0;
    for (int i = 0; entry->flavours != NULL && entry->flavours[i] != NULL; ++i)
        if (strcmp(colon + 1, entry->flavours[i]) == 0) return i;
    return -1;
}

static const dpa__entry *find(unsigned source, const char *name, dpa_error *err) {
    const dpa__entry *entry = named(source, name, strcspn(name, ":"));
    return entry != NULL && flavour_of(entry, name) >= 0 ? entry : fail_name(source, name, err);
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
    if (entry->power == NULL || entry->power->games != DPA__IN_COSINES) return NULL;
    if (model->kind == DPA__MODEL_CURVES)
        return "cosines are normal: family gaussian (or dp with jeffreys or scan)";
    if ((entry->about.what & DPA_GIVES_BOUND) !=
        (model->kind == DPA__MODEL_DP ? DPA_GIVES_BOUND : 0))
        return "cosines: jeffreys and scan are for family dp, the fitted estimates for gaussian";
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

const char *dpa__registry_name(unsigned source, int variant) {
    for (size_t i = 0; i < ENTRIES; ++i)
        if ((entries[i].about.what & source) && entries[i].variant == variant)
            return entries[i].about.name;
    return NULL;
}

int dpa__registry_flavour(const char *name) {
    const dpa__entry *entry = dpa__registry_find(name, NULL);
    return entry == NULL ? 0 : flavour_of(entry, name);
}

/* ── lists of names ────────────────────────────────────────────────────────────────── */

/* The length of the first item of a list. After the ':' of a family there may be a file name, which
 * may contain a '+'; there only a '+' followed by the name of a family ends the item. */
static size_t item_length(const char *list) {
    const char *end = list + strcspn(list, "+:");
    if (*end != ':') return (size_t)(end - list);
    if (named(RATES, list, (size_t)(end - list)) != NULL) return strcspn(list, "+");
    for (; *end != '\0'; ++end)
        if (*end == '+' && dpa__model_is_named(end + 1)) break;
    return (size_t)(end - list);
}

int dpa__list_item(const char *list, size_t index, char *out, size_t size) {
    for (; index > 0; --index) {
        list += item_length(list);
        if (*list == '\0') return 0;
        ++list;
    }
    (void)snprintf(out, size, "%.*s", (int)item_length(list), list);
    return 1;
}

size_t dpa__list_count(const char *list) {
    size_t count = 1;
    while (list += item_length(list), *list != '\0') {
        ++count;
        ++list;
    }
    return count;
}

int dpa__list_asks(const char *list, const char *name) {
    char item[DPA_FAMILY_SIZE];
    if (list[0] == '\0') return 1;
    for (size_t i = 0; dpa__list_item(list, i, item, sizeof item); ++i)
        if (strcmp(item, name) == 0) return 1;
    return 0;
}

/* ── which one, if none is named ───────────────────────────────────────────────────── */

const char *dpa__registry_default(unsigned source, int is_universal, int is_tail, int is_large,
                                  uint64_t options) {
    if (source == DPA_FROM_GUESSES)
        return dpa__one_run_method_name(dpa__one_run_default(is_universal, options));
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

int dpa__registry_is_sequential(const char *method) {
    const dpa__entry *entry = dpa__registry_find(method, NULL);
    return entry != NULL && (entry->about.what & DPA_FROM_ORDER) != 0;
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
