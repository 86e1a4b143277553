/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of an audit as a document: one model, shown as text, JSON or a page.
 *
 * A report is made by one of the dpa_audit_… calls (evidence in, every estimator that applies,
 * verdict) or built by hand; what it shows is only what was put in. */
#ifndef DPAUDIT_REPORT_H
#define DPAUDIT_REPORT_H

#include <stddef.h>

#include "dpaudit/account.h"
#include "dpaudit/cosines.h"

#include "dpaudit/epsilon_star.h"
#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/guesses.h"
#include "dpaudit/onerun.h"
#include "dpaudit/plan.h"
#include "dpaudit/scores.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_report dpa_report;

/* What the one test that was named beforehand says about the claim. */
typedef enum dpa_state {
    DPA_NO_CLAIM,
    DPA_NOT_REFUTED,
    DPA_REFUTED,
    DPA_INCONCLUSIVE /* the data contradict an assumption, or the power asked for is not there */
} dpa_state;

/* `command` is the word of the command line that would give it ("counts"). The request is copied.
 */
DPA_API dpa_status dpa_report_new(const char *command, const dpa_request *request, dpa_report **out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_report_free(dpa_report *report);
/* Overrides the command name and the subject shown in the report ("run", "x.yaml"). */
DPA_API void dpa_report_name(dpa_report *report, const char *command, const char *subject);

DPA_API dpa_status dpa_report_add(dpa_report *report, const dpa_result *result,
                                  dpa_error *err) DPA_MUST_USE;
/* What the evidence is: `kind` names it ("counts", "scores"); further facts by key. */
DPA_API dpa_status dpa_report_evidence(dpa_report *report, const char *kind,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_fact(dpa_report *report, const char *key, double value,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_fact_text(dpa_report *report, const char *key, const char *value,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_lints(dpa_report *report, const dpa_lints *lints,
                                    dpa_error *err) DPA_MUST_USE;
/* A file that was read, for the provenance. */
DPA_API dpa_status dpa_report_input(dpa_report *report, const char *path, const char *sha256,
                                    dpa_error *err) DPA_MUST_USE;
/* The command line that made it and the time of this call, for the provenance. */
DPA_API dpa_status dpa_report_invocation(dpa_report *report, const char *text,
                                         dpa_error *err) DPA_MUST_USE;
/* Anything a command wants to give besides: a JSON object's text under its key, kept in the JSON
 * output. */
DPA_API dpa_status dpa_report_section(dpa_report *report, const char *key, const char *json,
                                      dpa_error *err) DPA_MUST_USE;
/* A line of the text output, for what is not a row of the table. */
DPA_API dpa_status dpa_report_say(dpa_report *report, dpa_error *err, const char *format, ...)
    DPA_PRINTF(3, 4) DPA_MUST_USE;
/* A sentence that belongs to the verdict wherever it is shown: text, JSON (`notes`) and page. */
DPA_API dpa_status dpa_report_note(dpa_report *report, dpa_error *err, const char *format, ...)
    DPA_PRINTF(3, 4) DPA_MUST_USE;
DPA_API size_t dpa_report_count(const dpa_report *report);
DPA_API const dpa_result *dpa_report_result(const dpa_report *report, size_t index);
/* The result that the verdict speaks of, or NULL. */
DPA_API const dpa_result *dpa_report_primary(const dpa_report *report);
DPA_API dpa_state dpa_report_state(const dpa_report *report);
/* "no-claim", "not-refuted", "refuted", "inconclusive". */
DPA_API const char *dpa_state_name(dpa_state state);

typedef struct dpa_text_style {
    int width;   /* 80 */
    int colour;  /* 0 */
    int unicode; /* 1 */
} dpa_text_style;

/* Each gives a string to be freed with dpa_free. */
DPA_API dpa_status dpa_report_headline(const dpa_report *report, char **out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_text(const dpa_report *report, const dpa_text_style *style,
                                   char **out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_json(const dpa_report *report, char **out,
                                   dpa_error *err) DPA_MUST_USE;
/* One page that needs nothing else. */
DPA_API dpa_status dpa_report_html(const dpa_report *report, char **out,
                                   dpa_error *err) DPA_MUST_USE;
/* For CI systems: the verdict as one test in JUnit's XML, as one finding in SARIF 2.1.0. */
DPA_API dpa_status dpa_report_junit(const dpa_report *report, char **out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_report_sarif(const dpa_report *report, char **out,
                                    dpa_error *err) DPA_MUST_USE;
/* Small Unicode plots of the same data for a terminal: bounds, ROC, posterior, guesses. */
DPA_API dpa_status dpa_report_plot(const dpa_report *report, const dpa_text_style *style,
                                   char **out, dpa_error *err) DPA_MUST_USE;
/* The charts of that page: a JSON array of {id, place, title, alternative, spec}, each spec
 * Vega-Lite. */
DPA_API dpa_status dpa_report_charts(const dpa_report *report, char **out,
                                     dpa_error *err) DPA_MUST_USE;
/* Each chart's bare specification as DIRECTORY/ID.vl.json; the directory is made when it is not
 * there. */
DPA_API dpa_status dpa_report_vega(const dpa_report *report, const char *directory,
                                   dpa_error *err) DPA_MUST_USE;
/* The same page for stored results: files that dpa_report_json wrote. */
DPA_API dpa_status dpa_report_combine(const char *const *paths, size_t count, char **out,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_free(void *block);

/* ── from evidence, or a claim, to a report ──────────────────────────────────────────── */

/* What a claim means (the command `account`). */
typedef struct dpa_account_query {
    const dpa_phase *phases;
    size_t count;
    dpa_account_opts opts; /* opts.delta is the δ that ε is wanted at */
    double epsilon;        /* also δ at this ε; NaN: no */
    double fpr;            /* also the attack's power at this FPR; NaN: no */
    size_t curve_points;   /* also the trade-off curve at so many FPRs; 0: no */
    const double *deltas;  /* also ε at each of these */
    size_t delta_count;
    const double *epsilons; /* also δ at each of these */
    size_t epsilon_count;
    const double *orders; /* also the Rényi divergence at each of these */
    size_t order_count;
    double check; /* also: which side another accountant's ε is on; NaN: no */
} dpa_account_query;

DPA_API void dpa_account_query_init(dpa_account_query *query);
DPA_API dpa_status dpa_audit_account(const dpa_account_query *query, dpa_report **out,
                                     dpa_error *err) DPA_MUST_USE;
/* The noise, rate or number of steps for a target (the command `calibrate`): query->epsilon is the
 * target. */
DPA_API dpa_status dpa_audit_calibrate(const dpa_account_query *query, dpa_calibrate_what what,
                                       dpa_report **out, dpa_error *err) DPA_MUST_USE;
/* ε of a mechanism that is ρ-zCDP, or (rho NaN) of one whose Rényi divergences a CSV with columns
 * order and rdp gives; an upper bound (`account --zcdp`, `--rdp`). `check` as above. */
DPA_API dpa_status dpa_audit_renyi(double rho, const char *path, double delta, double check,
                                   dpa_report **out, dpa_error *err) DPA_MUST_USE;
/* ε between two Gaussians, both directions (`account --two-gaussians`). */
DPA_API dpa_status dpa_audit_two_gaussians(double mu1, double s1, double mu2, double s2,
                                           double delta, dpa_report **out,
                                           dpa_error *err) DPA_MUST_USE;

/* What an audit of the idealised game can count on: expected right guesses, the best number of
 * guesses (0) or a given one, the bounds; also played `repeats` times (0: not). */
DPA_API dpa_status dpa_audit_ideal(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                                   const dpa_request *request, int pointwise, dpa_report **out,
                                   dpa_error *err) DPA_MUST_USE;

/* One released model, or several from the same training (the command `losses`): Epsilon* by every
 * method that applies, and over the models. */
typedef struct dpa_losses_query {
    const dpa_losses_files *files; /* of `count` models … */
    const dpa_losses *losses;      /* … or the losses themselves */
    size_t count;
    dpa_star_opts opts;
    size_t goodness;   /* also the Kolmogorov–Smirnov table for 1 to so many components; 0: no */
    const char *group; /* also each slice by this column of the (one) table; NULL: none */
    size_t records; /* also so many training records that stand out, of the first model; 0: none */
} dpa_losses_query;

DPA_API void dpa_losses_query_init(dpa_losses_query *query);
DPA_API dpa_status dpa_audit_losses(const dpa_losses_query *query, const dpa_request *request,
                                    dpa_report **out, dpa_error *err) DPA_MUST_USE;

/* The privacy–utility landscape of a table of runs (the command `landscape`): points, frontier and
 * densities as a section. */
DPA_API dpa_status dpa_audit_landscape(const char *path, dpa_report **out,
                                       dpa_error *err) DPA_MUST_USE;

/* Before an audit (the command `plan`): for every game, family and method the size that is needed,
 * and what `size` observations would show; the ceiling; precision. Request: delta, confidence,
 * claim_epsilon, family ("": dp and gaussian), method ("": all that apply), seed, threads,
 * progress. */
typedef struct dpa_plan_query {
    const char *game;   /* "": runs, one-run and cosines, and steps where a training is given */
    double claim_sigma; /* the claim as the noise of the training; NaN: request->claim_epsilon */
    double truth_epsilon, truth_sigma; /* the leak that is suspected; both NaN: none, the sizes are
                                          left out */
    const char *truth;                 /* its family, as dpa_plan has it */
    double q;                          /* the training: rate and steps; 1 and 1: one release */
    uint64_t steps;
    double power;      /* 0.8 */
    uint64_t size;     /* a budget of observations; 0: none */
    uint64_t most;     /* the largest size that is tried: 20000 */
    size_t points;     /* of a power curve for every row; 0: none */
    uint64_t audits;   /* simulated for method sequential: 200 */
    double half_width; /* also the samples for an interval of that half width … */
    double fnr, fpr;   /* … from an attack with these error rates; NaN: no */
} dpa_plan_query;

DPA_API void dpa_plan_query_init(dpa_plan_query *query);
DPA_API dpa_status dpa_audit_plan(const dpa_plan_query *query, const dpa_request *request,
                                  dpa_report **out, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
