/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of an audit as a document, to be shown as text, JSON, a web page, or for CI.
 *
 * A report is made by dpa_judge or by one of the dpa_audit_… calls below, or filled by hand. It
 * belongs to one thread while it is filled; afterwards several may read it. */
#ifndef DPA_REPORT_REPORT_H
#define DPA_REPORT_REPORT_H

#include <stddef.h>

#include "account/account.h"
#include "dpaudit/report.h"
#include "dpaudit/status.h"
#include "estimate/cosines/cosine.h"
#include "estimate/estimate.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/power.h"
#include "estimate/scores.h"
#include "evidence/evidence.h"
#include "evidence/guesses.h"

/* An empty report. `command` is the dpaudit command that would print it ("counts"). The request is
 * copied. */
dpa_status dpa__report_new(const char *command, const dpa_request *request, dpa_report **out,
                           dpa_error *err) DPA_MUST_USE;

/* Overrides the command name and the subject shown in the report ("run", "x.yaml"). */
DPA_API void dpa__report_name(dpa_report *report, const char *command, const char *subject);

/* Adds a copy of the result. */
dpa_status dpa__report_add(dpa_report *report, const dpa_result *result,
                           dpa_error *err) DPA_MUST_USE;
/* Describes the evidence: its kind ("counts", "scores"), and further facts by key. */
dpa_status dpa__report_evidence(dpa_report *report, const char *kind, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__report_fact(dpa_report *report, const char *key, double value,
                                    dpa_error *err) DPA_MUST_USE;
dpa_status dpa__report_fact_text(dpa_report *report, const char *key, const char *value,
                                 dpa_error *err) DPA_MUST_USE;
/* Adds copies of the lints. */
dpa_status dpa__report_lints(dpa_report *report, const dpa_lints *lints,
                             dpa_error *err) DPA_MUST_USE;
/* Records an input file and its hash in the provenance. */
dpa_status dpa__report_input(dpa_report *report, const char *path, const char *sha256,
                             dpa_error *err) DPA_MUST_USE;
/* Records the command line, and the current time, in the provenance. */
DPA_API dpa_status dpa__report_invocation(dpa_report *report, const char *text,
                                          dpa_error *err) DPA_MUST_USE;
/* Adds a section to the JSON output: `json` is the text of an object, `key` its name. */
DPA_API dpa_status dpa__report_section(dpa_report *report, const char *key, const char *json,
                                       dpa_error *err) DPA_MUST_USE;
/* Adds a line to the text output, for anything that is not a row of the table. */
dpa_status dpa__report_say(dpa_report *report, dpa_error *err, const char *format, ...)
    DPA_PRINTF(3, 4) DPA_MUST_USE;
/* Adds a sentence that is shown with the verdict in text, JSON (`notes`) and on the page. */
DPA_API dpa_status dpa__report_note(dpa_report *report, dpa_error *err, const char *format, ...)
    DPA_PRINTF(3, 4) DPA_MUST_USE;

/* Small Unicode plots for a terminal: bounds, ROC, posterior, guesses. */
DPA_API dpa_status dpa__report_plot(const dpa_report *report, const dpa_text_style *style,
                                    char **out, dpa_error *err) DPA_MUST_USE;
/* The charts of the web page as a JSON array of {id, place, title, alternative, spec}; each spec is
 * Vega-Lite. */
DPA_API dpa_status dpa__report_charts(const dpa_report *report, char **out,
                                      dpa_error *err) DPA_MUST_USE;
/* Writes the specification of each chart to DIRECTORY/ID.vl.json; makes the directory if it is
 * missing. */
DPA_API dpa_status dpa__report_vega(const dpa_report *report, const char *directory,
                                    dpa_error *err) DPA_MUST_USE;
/* One web page for several stored results: files that dpa_report_json wrote. */
DPA_API dpa_status dpa__report_combine(const char *const *paths, size_t count, char **out,
                                       dpa_error *err) DPA_MUST_USE;

/* ── from evidence, or a claim, to a report ──────────────────────────────────────────── */

/* What a claim means (the command `account`). "Also" fields ask for more rows; see each for how to
 * leave it out. */
typedef struct dpa_account_query {
    dpa_phase *phases; /* owned; their pairs are not */
    size_t count;
    dpa_account_opts opts; /* opts.delta is the δ at which ε is asked */
    double epsilon;        /* also δ at this ε; NaN: no */
    double fpr;            /* also the attack's power at this FPR; NaN: no */
    size_t curve_points;   /* also the trade-off curve at so many FPRs; 0: no */
    const double *deltas;  /* also ε at each of these */
    size_t delta_count;
    const double *epsilons; /* also δ at each of these */
    size_t epsilon_count;
    const double *orders; /* also the Rényi divergence at each of these */
    size_t order_count;
    double check; /* also: is another accountant's ε too small or too large? NaN: no */
    int is_limit; /* an event of the ledger is an upper bound: the truth may be smaller */
} dpa_account_query;

DPA_API void dpa__account_query_init(dpa_account_query *query);
DPA_API void dpa__account_query_free(dpa_account_query *query);
/* Adds copies of the phases. */
DPA_API dpa_status dpa__account_query_add(dpa_account_query *query, const dpa_phase *phases,
                                          size_t count, dpa_error *err) DPA_MUST_USE;
/* Adds the phases of a ledger, which must outlive the query. */
DPA_API dpa_status dpa__account_query_ledger(dpa_account_query *query, const dpa_ledger *ledger,
                                             dpa_error *err) DPA_MUST_USE;
/* The largest width of the interval for ε, relative to ε; where ε is small the absolute width
 * shrinks with it. */
DPA_API void dpa__account_query_tolerance(dpa_account_query *query, double tolerance);
/* Makes the report; the caller frees *out with dpa_report_free, here and below. */
DPA_API dpa_status dpa__audit_account(const dpa_account_query *query, dpa_report **out,
                                      dpa_error *err) DPA_MUST_USE;
/* The noise, rate or number of steps that meets a target (the command `calibrate`); the target is
 * query->epsilon at query->opts.delta. */
DPA_API dpa_status dpa__audit_calibrate(const dpa_account_query *query, dpa_calibrate_what what,
                                        dpa_report **out, dpa_error *err) DPA_MUST_USE;
/* An upper bound on ε of a ρ-zCDP mechanism or, if rho is NaN, of one whose Rényi divergences are
 * in the CSV `path` with columns order and rdp (`account --zcdp`, `--rdp`). `check` is as in
 * dpa_account_query. */
DPA_API dpa_status dpa__audit_renyi(double rho, const char *path, double delta, double check,
                                    dpa_report **out, dpa_error *err) DPA_MUST_USE;
/* ε between two Gaussians in both directions (`account --two-gaussians`). */
DPA_API dpa_status dpa__audit_two_gaussians(double mu1, double s1, double mu2, double s2,
                                            double delta, dpa_report **out,
                                            dpa_error *err) DPA_MUST_USE;

/* What to expect of an audit of the idealised game: the expected number of right guesses and the
 * bounds, for `guesses` guesses (0: the best number). `repeats` > 0 also simulates the game that
 * often. */
DPA_API dpa_status dpa__audit_ideal(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                                    const dpa_request *request, int pointwise, dpa_report **out,
                                    dpa_error *err) DPA_MUST_USE;

/* One released model, or several from the same training (the command `losses`): Epsilon* by every
 * method that applies, and a summary over the models. */
typedef struct dpa_losses_query {
    dpa_losses_files *files; /* files of `count` models (the names are not copied) … */
    dpa_losses *losses;      /* … or the losses themselves; both lists are owned */
    size_t count;
    dpa_star_opts opts;
    size_t goodness; /* also the Kolmogorov–Smirnov table for 1 to this many components; 0: no */
    const char *group; /* also each group by this column of the table; NULL: none */
    size_t records; /* also this many training records of the first model that stand out; 0: none */
} dpa_losses_query;

DPA_API void dpa__losses_query_init(dpa_losses_query *query);
DPA_API void dpa__losses_query_free(dpa_losses_query *query);
/* Adds a model: by its files, whose names must outlive the query (NULL where there is none), or by
 * copies of its losses. All models of a query are added in the same way. */
DPA_API dpa_status dpa__losses_query_files(dpa_losses_query *query, const char *train,
                                           const char *heldout, const char *train_labels,
                                           const char *heldout_labels, const char *loss,
                                           dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__losses_query_add(dpa_losses_query *query, const double *train,
                                         size_t train_count, const double *heldout,
                                         size_t heldout_count, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__audit_losses(const dpa_losses_query *query, const dpa_request *request,
                                     dpa_report **out, dpa_error *err) DPA_MUST_USE;

/* The privacy–utility landscape of a table of runs (the command `landscape`): points, frontier and
 * densities in a section of the report. */
DPA_API dpa_status dpa__audit_landscape(const char *path, dpa_report **out,
                                        dpa_error *err) DPA_MUST_USE;

/* Planning an audit (the command `plan`): for every game, family and method the number of
 * observations needed, and what `size` observations would show; the ceiling; the precision. Of the
 * request it uses delta, confidence, claim_epsilon, family ("": dp and gaussian), method ("": all
 * that apply), seed, threads and progress. */
typedef struct dpa_plan_query {
    const char *game;   /* "": runs, one-run and cosines, and steps where a training is given */
    double claim_sigma; /* the claim as the training's noise; NaN: request->claim_epsilon */
    double truth_epsilon, truth_sigma; /* the leak that is suspected; both NaN: none, the sizes are
                                          left out */
    const char *truth;                 /* family of the suspected leak, see dpa_plan */
    double q; /* sampling rate and steps of the training; 1 and 1: one release */
    uint64_t steps;
    double power;      /* 0.8 */
    uint64_t size;     /* number of observations that can be afforded; 0: none given */
    uint64_t most;     /* the largest size to try: 20000 */
    size_t points;     /* points of a power curve for every row; 0: none */
    uint64_t audits;   /* simulated for method sequential: 200 */
    double half_width; /* also the samples needed for an interval of this half width … */
    double fnr, fpr;   /* … from an attack with these error rates; NaN: no */
} dpa_plan_query;

DPA_API void dpa__plan_query_init(dpa_plan_query *query);
DPA_API dpa_status dpa__audit_plan(const dpa_plan_query *query, const dpa_request *request,
                                   dpa_report **out, dpa_error *err) DPA_MUST_USE;

#endif
