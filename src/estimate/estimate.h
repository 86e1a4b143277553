/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of an estimator, and what it answers.
 *
 * A request is the same for every kind of evidence; a result is the same for every estimator, so
 * that a report, a table or a Python object needs to know only these two. NaN means "not given". */
#ifndef DPA_ESTIMATE_ESTIMATE_H
#define DPA_ESTIMATE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/claim.h"
#include "dpaudit/status.h"
#include "evidence/evidence.h"

enum { DPA_NAME_SIZE = 40, DPA_FAMILY_SIZE = 512, DPA_NOTE_SIZE = 320, DPA_EXTRA_COUNT = 16 };

typedef struct dpa_request {
    double delta;                 /* 1e-5; in [0,1) */
    double confidence;            /* 0.95; in (0,1) */
    int sides;                    /* 1: lower bound at `confidence`; 2: interval */
    char family[DPA_FAMILY_SIZE]; /* "" : every family that applies */
    char method[DPA_NAME_SIZE];   /* "" : every method that applies */
    char select[DPA_NAME_SIZE];   /* "" : the default for the evidence */
    double claim_epsilon;         /* the ε that was promised; NaN: none */
    double claim_delta;           /* NaN: the same as delta */
    uint64_t seed;                /* 1 */
    unsigned threads;             /* 0: as many as the machine has */
    dpa_progress progress;
} dpa_request;

/* Fills in the defaults that the comments at the fields give. */
DPA_API void dpa__request_init(dpa_request *request);
/* The δ of the claim: its own, or that of the bound. */
double dpa__claim_delta(const dpa_request *request);
/* Sets one field from text by the name of its command-line option: "delta", "confidence",
 * "one-sided", "two-sided", "family", "method", "select", "claim-epsilon", "claim-delta", "seed" or
 * "threads". An error says which values are right. `value` is ignored by "one-sided" and
 * "two-sided". Texts are copied. */
DPA_API dpa_status dpa__request_set(dpa_request *request, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* DPA_BAD_ARGUMENT if a field is out of its range. Every function that takes a request checks it
 * itself. */
dpa_status dpa__request_check(const dpa_request *request, dpa_error *err) DPA_MUST_USE;

/* What a result assumes: a name for files and a sentence for people. */
#define DPA_ASSUMPTION_LIST(X)                                                                     \
    X(INDEPENDENT_RUNS, "independent-runs",                                                        \
      "the observations are independent: one trained model (or one noisy step) each")              \
    X(FAMILY_DP, "family-dp", "nothing about the mechanism beyond the (ε,δ) definition itself")    \
    X(FAMILY_GAUSSIAN, "family-gaussian",                                                          \
      "the mechanism's trade-off curve is that of some Gaussian mechanism")                        \
    X(FAMILY_LAPLACE, "family-laplace",                                                            \
      "the mechanism's trade-off curve is that of some Laplace mechanism")                         \
    X(FAMILY_SUBSAMPLED, "family-subsampled-gaussian",                                             \
      "the mechanism is DP-SGD with the stated sampling rate and steps, and some noise")           \
    X(FAMILY_POINTS, "family-points", "the trade-off curve is a dilution of the one given")        \
    X(THRESHOLD_FIXED, "threshold-fixed-before",                                                   \
      "the threshold was fixed before the scores were seen")                                       \
    X(BAYES_PRIOR, "jeffreys-prior",                                                               \
      "the confidence is posterior probability under Jeffreys priors on the two rates")            \
    X(NO_SELECTION, "no-selection-effect",                                                         \
      "choosing the best threshold on the same data did not matter (it does: optimistic)")         \
    X(ONE_RUN_CANARIES, "canaries-included-by-coin",                                               \
      "every canary was put in or left out by its own fair coin (or option, uniformly)")           \
    X(GUESSES_FIXED, "guess-count-fixed-before",                                                   \
      "the number of guesses was fixed before the scores were seen")                               \
    X(ONE_INSTANCE, "one-model-instance",                                                          \
      "the number is about this one model, not about the training mechanism")                      \
    X(FIT_GOOD, "fitted-distribution", "the fitted distribution describes the losses")             \
    X(IID_LOSSES, "iid-points", "training and held-out points are independent draws of one law")   \
    X(RANDOM_CANARIES, "random-canaries",                                                          \
      "canary directions are uniform on the sphere and unknown to the training code")              \
    X(GAUSSIAN_COSINES, "gaussian-cosines", "the cosines are normally distributed")                \
    X(LARGE_SAMPLE, "large-sample", "the interval is a large-sample approximation")                \
    X(ORDER_OF_ARRIVAL, "order-of-arrival",                                                        \
      "the scores are in the order in which the trials came, not sorted or chosen by score")       \
    X(SIGN_CANARIES, "sign-canaries",                                                              \
      "canary directions are signs, a fair coin for each element, unknown to the training code")   \
    X(HIGHER_IS_IN, "higher-means-in", "a higher score means that the record was in")              \
    X(CANARY_INSERTED, "canary-inserted", "the canary took part in what was observed")             \
    X(ALL_COUNTED, "all-trials-counted", "no trial is missing because of what came out of it")     \
    X(CHANNELS, "independent-channels",                                                            \
      "the noise is independent from one canary's direction to the next")                          \
    X(SAME_NOISE, "same-noise-every-step", "every step has the same noise and sampling rate")

enum {
#define DPA_ASSUMPTION_INDEX(name, file, text) DPA_ASSUMPTION_INDEX_##name,
    DPA_ASSUMPTION_LIST(DPA_ASSUMPTION_INDEX)
#undef DPA_ASSUMPTION_INDEX
        DPA_ASSUMPTION_COUNT
};

typedef enum dpa_assumption {
#define DPA_ASSUMPTION_BIT(name, file, text) DPA_ASSUME_##name = 1 << DPA_ASSUMPTION_INDEX_##name,
    DPA_ASSUMPTION_LIST(DPA_ASSUMPTION_BIT)
#undef DPA_ASSUMPTION_BIT
} dpa_assumption;

const char *dpa__assumption_name(unsigned index); /* NULL past the last */
const char *dpa__assumption_text(unsigned index);

typedef enum dpa_result_kind { DPA_BOUND, DPA_ESTIMATE } dpa_result_kind;

/* What a number promises. Only a confidence bound can refute a claim by itself. */
typedef enum dpa_guarantee {
    DPA_CONFIDENCE,    /* wrong at most as often as 1 − confidence, under its assumptions */
    DPA_POSTERIOR,     /* a probability over a prior, not an error rate */
    DPA_ESTIMATE_ONLY, /* no guarantee */
    DPA_OPTIMISTIC     /* the best of several, chosen after looking: for comparison only */
} dpa_guarantee;

typedef enum dpa_role { DPA_SHOWN, DPA_PRIMARY } dpa_role;

/* A number that only some estimators have ("fpr", "ks_p_value", …). */
typedef struct dpa_extra {
    char name[DPA_NAME_SIZE];
    double value;
} dpa_extra;

typedef struct dpa_result {
    dpa_result_kind kind;
    char family[DPA_FAMILY_SIZE]; /* "" where no family is meant */
    char method[DPA_NAME_SIZE];
    char select[DPA_NAME_SIZE]; /* how the threshold or guess count was chosen; "" if there is
                                   neither */
    double epsilon;             /* an estimate's value; NaN for a bound */
    double epsilon_lower;
    double epsilon_upper;          /* may be INFINITY; NaN: one-sided */
    char parameter[DPA_NAME_SIZE]; /* name of the family's parameter: "mu", "sigma"; "" if there is
                                      none */
    double parameter_lower,
        parameter_upper; /* in order of leakage: the lower belongs to epsilon_lower */
    double confidence;
    int sides;
    int valid;       /* 1: holds at its confidence under its assumptions; 0: optimistic, shown for
                        comparison */
    dpa_role role;   /* set by the judge: PRIMARY decides, SHOWN does not */
    dpa_scope scope; /* what the number is about */
    double threshold;
    int has_counts;
    dpa_counts counts;
    double p_value; /* of the hypothesis "at most claim_epsilon at claim_delta" */
    unsigned assumptions;
    double numerical_error;   /* absolute, on epsilon */
    char note[DPA_NOTE_SIZE]; /* how not to read the number; "" if there is nothing to add */
    dpa_extra extra[DPA_EXTRA_COUNT];
    size_t extra_count;
} dpa_result;

/* What the result promises, from its assumptions and `valid`. */
dpa_guarantee dpa__result_guarantee(const dpa_result *result);
/* "confidence", "posterior", "estimate" or "optimistic"; a constant string. */
const char *dpa__guarantee_name(dpa_guarantee guarantee);
/* The name of the assumption about the mechanism that the bound needs (its family, or independent
 * channels), a constant string; NULL if the bound holds for every mechanism. */
const char *dpa__result_conditional(const dpa_result *result);

/* Sets every number to "not given", kind to bound, and confidence and sides to the request's. */
void dpa__result_init(dpa_result *result, const dpa_request *request);
/* Adds a named number. It is dropped silently if all DPA_EXTRA_COUNT places are taken (a test makes
 * sure that never happens). */
void dpa__result_add_extra(dpa_result *result, const char *name, double value);

typedef struct dpa_results {
    dpa_result *items;
    size_t count, capacity;
} dpa_results;

/* Appends a copy; `results` starts as all zeros. dpa__results_free frees the items. */
dpa_status dpa__results_add(dpa_results *results, const dpa_result *result,
                            dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__results_free(dpa_results *results);

#endif
