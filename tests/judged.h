/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the judge: builds evidence, claims and protocols, and reads the reports. */
#ifndef DPA_TESTS_JUDGED_H
#define DPA_TESTS_JUDGED_H

#include "check.h"

#include "account/account.h"
#include "base/data.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "judge/case.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

enum { N = 400 };

/* ── evidence ────────────────────────────────────────────────────────────────────────── */

/* The quantiles of N(0,σ²) and of N(shift,σ²), shuffled: a Gaussian mechanism without sampling
 * error. */
static inline void add_normal(dpa_evidence *e, size_t count, double shift, double sigma) {
    double *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
    assert_true(in != NULL && out != NULL);
    for (size_t i = 0; i < count; ++i) {
        const size_t k = (i * 7919) % count; /* count is no multiple of that prime */
        out[i] = sigma * dpa__norm_quantile(((double)k + 0.5) / (double)count, DPA_LOWER);
        in[i] = shift + out[i] + 1e-9;
    }
    assert_ok(dpa__evidence_add(e, "members", in, count, 0, NULL));
    assert_ok(dpa__evidence_add(e, "nonmembers", out, count, 0, NULL));
}

static inline void normal_scores(dpa_evidence *e, double shift, double sigma) {
    dpa__evidence_init(e, DPA_EVIDENCE_SCORES);
    add_normal(e, N, shift, sigma);
}

static inline void count_evidence(dpa_evidence *e, double fn, double tp, double fp, double tn) {
    const double counts[4] = {fn, tp, fp, tn};
    dpa__evidence_init(e, DPA_EVIDENCE_COUNTS);
    assert_ok(dpa_evidence_copy(e, "counts", counts, 4, NULL));
}

static inline void guess_evidence(dpa_evidence *e, double canaries, double guesses,
                                  double correct) {
    const double counts[3] = {canaries, guesses, correct};
    dpa__evidence_init(e, DPA_EVIDENCE_GUESSES);
    e->design = DPA_ONE_RUN;
    assert_ok(dpa_evidence_copy(e, "guess_counts", counts, 3, NULL));
}

static inline void step_evidence(dpa_evidence *e, double sigma, double q, uint64_t steps) {
    normal_scores(e, 1, sigma);
    e->scope = DPA_SCOPE_STEP;
    e->training = (dpa_training_facts){
        .q = q, .steps = steps, .sigma = sigma, .rate = 1, .participations = NAN};
}

static inline dpa_claim epsilon_claim(double epsilon) {
    dpa_claim c;
    dpa_claim_init(&c);
    c.epsilon = epsilon;
    return c;
}

static inline dpa_claim noise_claim(double sigma, double q, uint64_t steps) {
    dpa_claim c;
    dpa_claim_init(&c);
    c.sigma = sigma;
    c.q = q;
    c.steps = steps;
    return c;
}

static inline dpa_protocol protocol_of(const char *family, const char *method) {
    dpa_protocol p;
    dpa__protocol_init(&p);
    if (family != NULL) assert_ok(dpa_protocol_set(&p, "family", family, NULL));
    if (method != NULL) assert_ok(dpa_protocol_set(&p, "method", method, NULL));
    return p;
}

static inline dpa_report *judged(const dpa_evidence *e, const dpa_claim *claim,
                                 const dpa_protocol *protocol) {
    dpa_report *report = NULL;
    dpa_error err = {0};
    if (dpa_judge(e, claim, protocol, &report, &err) != DPA_OK) fail_msg("%s", err.text);
    return report;
}

static inline dpa_state state_of(const dpa_evidence *e, const dpa_claim *claim,
                                 const dpa_protocol *protocol) {
    dpa_report *report = judged(e, claim, protocol);
    const dpa_state state = dpa_report_state(report);
    dpa_report_free(report);
    return state;
}

/* family NULL: the first row of the method. */
static inline const dpa_result *row_of(const dpa_report *report, const char *family,
                                       const char *method) {
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        if ((family == NULL || strcmp(r->family, family) == 0) && strcmp(r->method, method) == 0)
            return r;
    }
    fail_msg("no row %s %s", family != NULL ? family : "", method);
    return NULL;
}

static inline double fact_of(const dpa_report *report, const char *key) {
    const json_t *value = json_object_get(report->evidence, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static inline void expect_words(const dpa_report *report, const char *words) {
    if (strstr(report->verdict.headline, words) == NULL)
        fail_msg("'%s' does not say '%s'", report->verdict.headline, words);
}

/* ε at δ of DP-SGD, straight from the accountant. */
static inline dpa_interval accounted(double sigma, double q, uint64_t steps,
                                     dpa_adjacency adjacency, double delta) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, q, steps};
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_interval out;
    dpa_account_opts_init(&opts);
    opts.adjacency = adjacency;
    opts.delta = delta;
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, NULL));
    assert_ok(dpa_account_epsilon(account, delta, &out, NULL));
    dpa_account_free(account);
    return out;
}

static inline void opened(const dpa_evidence *e, const dpa_claim *claim, const dpa_protocol *p,
                          dpa__case *out) {
    dpa_error err = {0};
    if (dpa__case_open(e, claim, p, out, &err) != DPA_OK) fail_msg("%s", err.text);
}

#endif
