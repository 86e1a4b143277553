/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of estimators, as the code uses it. */
#ifndef DPA_ESTIMATE_REGISTRY_H
#define DPA_ESTIMATE_REGISTRY_H

#include "estimate/model.h"
#include "estimate/plan/power.h"
#include "estimate/scores.h"

typedef struct dpa__entry dpa__entry;

/* Fills t or ε limits, numerical error and notes of a result that is otherwise ready. */
typedef dpa_status dpa__counts_fn(const dpa__entry *entry, const dpa_counts *counts,
                                  const dpa__model *model, const dpa_request *request,
                                  dpa_result *result, dpa_error *err);

/* The same from prepared scores; `method` is the requested name, including a flavour after a colon.
 */
typedef dpa_status dpa__scores_fn(const char *method, const dpa__model *model,
                                  const dpa_scores *scores, const dpa_request *request,
                                  dpa_result *out, dpa_error *err);

/* How accurately a power is needed: by an approximate law or few simulated audits, or as exactly as
 * possible. */
typedef enum dpa__care { DPA__ROUGHLY, DPA__CAREFULLY } dpa__care;
typedef struct dpa__plan dpa__plan; /* estimate/plan/plan.h */

enum dpa__in_games {
    DPA__IN_RUNS = 1 << DPA_PLAN_RUNS | 1 << DPA_PLAN_STEPS,
    DPA__IN_ONE_RUN = 1 << DPA_PLAN_ONE_RUN,
    DPA__IN_COSINES = 1 << DPA_PLAN_COSINES
};

/* The power of a method: all that `plan` knows about it. The caller of a function has set *out to
 * the size and to no power. */
typedef struct dpa__power {
    dpa_status (*at)(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                     dpa_error *err);
    unsigned games; /* in which it can be planned: dpa__in_games */
    uint64_t limit; /* the largest size that can be planned */
    unsigned parts; /* simulated: sizes are confirmed in steps of 1/parts; 0: exact */
    double fine;    /* relative step at which the search for a leak ends */
    int is_slow;    /* planned only if it is named */
    dpa_status (*size)(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                       dpa_error *err); /* NULL: searched by powers; so too the next */
    dpa_status (*leak)(dpa__plan *plan, uint64_t n, double power, dpa_plan_leak *out,
                       dpa_error *err);
} dpa__power;
extern const dpa__power dpa__planned_counts, dpa__planned_exact, dpa__planned_ranks,
    dpa__planned_scores, dpa__planned_pairs, dpa__planned_guesses, dpa__planned_channels,
    dpa__planned_mean, dpa__planned_mean_and_deviation, dpa__planned_jeffreys,
    dpa__planned_cosine_scan, dpa__planned_jeffreys_split;

struct dpa__entry {
    dpa_estimator about;
    dpa__counts_fn *from_counts; /* NULL: needs scores, or has an entry point of its own */
    int variant;                 /* which limit, ratio, test or fit: an enum of its own file */
    dpa__scores_fn *from_scores; /* for those that need scores */
    const char *const
        *flavours; /* what may follow a colon, NULL at the end; the first is the default */
    const dpa__power *power; /* NULL: cannot be planned */
};

/* Functions of the table; those of exact, rank and scan are in their headers. */
dpa__counts_fn dpa__from_rectangle, dpa__from_posterior, dpa__from_ratio, dpa__from_point;

const dpa__entry *dpa__registry_at(size_t index);
/* Those that can be planned in a game; NULL past the last. */
const dpa__entry *dpa__registry_planned(dpa_plan_game game, size_t index);
/* The one with this name; NULL with an error that lists the names if there is none. */
const dpa__entry *dpa__registry_plan(dpa_plan_game game, const char *name, dpa_error *err);
/* The entry with this name ("rank:auc" finds "rank"); NULL with an error that lists the names if
 * there is none. */
const dpa__entry *dpa__registry_find(const char *name, dpa_error *err);
/* NULL if the estimator can be used with this family at this δ, else the reason. */
const char *dpa__registry_refusal(const dpa__entry *entry, const dpa__model *model, double delta);

/* The same among the estimators of one kind of evidence (DPA_FROM_…), including those of one run
 * and of cosines. */
const dpa__entry *dpa__registry_for(unsigned source, const char *name, dpa_error *err);
/* The name of the method of this kind of evidence that has this variant; NULL if there is none. */
const char *dpa__registry_name(unsigned source, int variant);
/* The number of the flavour that a name asks for: 1 for "rank:slope", 0 for "rank". */
int dpa__registry_flavour(const char *name);

/* A test by its names, of which NULL is any. Names of tests are compared by the next function
 * alone. */
typedef struct dpa__test_name {
    const char *family, *method, *select;
} dpa__test_name;
int dpa__is_same_test(dpa__test_name one, dpa__test_name other);

/* Lists of families or methods, "gaussian+dp". Copies one item; 0 past the last. */
int dpa__list_item(const char *list, size_t index, char *out, size_t size);
size_t dpa__list_count(const char *list);
/* 1 if the list has this name, or is empty and so asks for everything. */
int dpa__list_asks(const char *list, const char *name);

/* The method that decides if none is named, for dp (`is_universal`) or another family. `is_tail`:
 * the leak shows only at low false positive rates; `is_large`: too many counts for an exact test;
 * `options`: of one run. */
const char *dpa__registry_default(unsigned source, int is_universal, int is_tail, int is_large,
                                  uint64_t options);
int dpa__registry_is_rank(const char *method);
int dpa__registry_is_scan(const char *method);
/* 1 when the method takes scores in the order of their arrival. */
DPA_API int dpa__registry_is_sequential(const char *method);
/* One run: canaries with independent channels. */
#define DPA__CHANNELS "channels"
int dpa__registry_is_channels(const char *method);
int dpa__registry_is_exact(const char *method);
int dpa__registry_takes_counts(const char *method);
/* 1 when the method gives limits of both rates, which hold at any δ. */
int dpa__registry_has_limits(const char *method);
/* 1 when the entry's limits are known for all thresholds at once. */
int dpa__entry_has_band(const dpa__entry *entry);
/* The method that decides if a way to choose a threshold is named, but no method. */
const char *dpa__registry_threshold(void);
/* The method whose number is a posterior probability. */
const char *dpa__registry_posterior(void);

/* Runs one estimator on one family; the caller has checked `counts`. */
dpa_status dpa__estimate_one(const dpa__entry *entry, const dpa_counts *counts,
                             const dpa__model *model, const dpa_request *request, dpa_result *out,
                             dpa_error *err);
/* A result of which only family, method and their assumptions are known. */
void dpa__result_begin(dpa_result *result, const dpa_request *request, const dpa__model *model,
                       const char *method, unsigned assumptions);
/* Writes the limits of the parameter and of ε at the request's δ; `error` is that of t. */
dpa_status dpa__result_limits(dpa_result *result, const dpa__model *model, double delta,
                              double lower, double upper, double error, dpa_error *err);
/* The same for a method without upper limits, which the note says if they were asked for. */
dpa_status dpa__result_lower(dpa_result *result, const dpa__model *model,
                             const dpa_request *request, double lower, double error,
                             dpa_error *err);

/* Families of a request: its own, or every family that needs no parameters. */
enum { DPA__DEFAULT_FAMILIES = 3 };
const char *dpa__request_family(const dpa_request *request, size_t index); /* NULL past the last */

dpa_status dpa__counts_check(const dpa_counts *counts, dpa_error *err);

#endif
