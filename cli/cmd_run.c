/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit run: plays a game against the trainer and audits what it showed. The scores are judged
 * against what the claimed noise promises for one step; the bound on the noise then goes through
 * the accountant with the training's q and steps (tight-auditing section 5.5). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

typedef struct run_options {
    common_options common;
    const char *output, *seed_text, *family, *method;
    uint64_t observations;
} run_options;

static const option table[] = {
    HEADING("The game"),
    {"seed", OPTION_TEXT, "N", "seed of the game, instead of the file's",
     offsetof(run_options, seed_text)},
    {"observations", OPTION_COUNT, "N", "scores of each kind, instead of the file's",
     offsetof(run_options, observations)},
    REQUEST_OPTION(run_options, "threads", "N", "threads of the estimators (default: per core)"),
    HEADING("What is wanted"),
    {"family", OPTION_TEXT, "F", "as for scores, or all (default: that of the step's mechanism)",
     offsetof(run_options, family)},
    {"method", OPTION_TEXT, "M", "as for scores, or all (default: rank)",
     offsetof(run_options, method)},
    REQUEST_OPTION(run_options, "select", "S", "as for scores"),
    HEADING("Output"),
    {"output", OPTION_FILE, "FOLDER", "folder for scores.npz, instead of the file's",
     offsetof(run_options, output)},
    OUTPUT_OPTIONS(run_options),
    END_OPTIONS,
};

static void init(void *options) {
    run_options *o = options;
    dpa_request_init(&o->common.request);
}

static int run(void *options, const word_list *words);

const command command_run = {
    .name = "run",
    .summary = "play an audit game against the trainer and judge its claim",
    .operands = "AUDIT.yaml",
    .about =
        "The file names a training (as for train), a game and a claim (docs/games.md lists the "
        "keys). White box with gradient canaries: in each step the adversary sees the private sum "
        "of two batches, one with its canary in it. The bounds are about one step; the facts end "
        "to end follow from the accountant with the training's sampling rate and steps. The "
        "scores go to scores.npz in the output folder, for dpaudit scores.",
    .examples = "dpaudit run run-white-box.yaml\n"
                "dpaudit run run-white-box-broken.yaml --method all --family all",
    .options = table,
    .size = sizeof(run_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
};

typedef struct audit {
    const run_options *options;
    dpa_request request;
    dpa_game_plan *plan;
    dpa_train_plan *training;
    dpa_train_data data;
    dpa_scores scores;
    dpa_report *report;
    double q, sigma, epsilon; /* claimed: noise and what it gives end to end (NaN: shuffled) */
    uint64_t steps;
} audit;

static dpa_status epsilon_of(const audit *a, double sigma, double q, uint64_t steps,
                             dpa_interval *out, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, q, steps};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = a->request.delta;
    /* Epsilons in the hundreds need no third digit, and the grid would not hold it. */
    if (sigma < 0.5) opts.tolerance = 0.2;
    dpa_account *account = NULL;
    dpa_status status = dpa_account_new(&phase, 1, &opts, &account, err);
    if (status == DPA_OK) status = dpa_account_epsilon(account, a->request.delta, out, err);
    dpa_account_free(account);
    return status;
}

static dpa_status noise_for(const audit *a, double epsilon, double *sigma, dpa_interval *achieved,
                            dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1.0, a->q, a->steps};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = a->request.delta;
    if (isnan(a->q)) {
        err->status = DPA_BAD_INPUT;
        (void)snprintf(err->place, sizeof err->place, "%.400s", a->plan->training);
        (void)snprintf(err->text, sizeof err->text,
                       "an epsilon needs sampling: poisson (shuffled batches are not accounted "
                       "for)");
        return DPA_BAD_INPUT;
    }
    return dpa_calibrate(&phase, 1, DPA_CALIBRATE_SIGMA, epsilon, a->request.delta, &opts, sigma,
                         achieved, err);
}

/* The least noise that the claim may stand for: calibration rounds up, so its target is raised
 * until the ε of the noise is certainly not below the claim. A trainer that just keeps its promise
 * must not be refuted. */
static dpa_status claimed_noise(const audit *a, double epsilon, double *sigma, dpa_error *err) {
    dpa_interval achieved = {0, 0};
    double target = epsilon;
    dpa_status status = noise_for(a, target, sigma, &achieved, err);
    for (int i = 0; i < 4 && status == DPA_OK && achieved.lower < epsilon; ++i) {
        target *= 1.0005 * epsilon / achieved.lower;
        status = noise_for(a, target, sigma, &achieved, err);
    }
    return status;
}

/* Noise that the trainer is run with, noise that is claimed, and what the claim says of a step. */
static dpa_status state_claim(audit *a, dpa_error *err) {
    dpa_train_opts *t = &a->training->train;
    a->request.delta = isnan(a->plan->claim_delta) ? a->training->delta : a->plan->claim_delta;
    a->request.confidence = a->plan->confidence;
    a->steps = dpa_train_plan_steps(a->training, a->data.member_count);
    a->q = dpa_train_plan_q(a->training, a->data.member_count);
    a->epsilon = a->plan->claim_epsilon;
    dpa_status status = DPA_OK;
    dpa_interval promised;
    if (a->training->epsilon > 0.0)
        status = noise_for(a, a->training->epsilon, &t->sigma, &promised, err);
    a->sigma = t->sigma;
    if (status == DPA_OK && !isnan(a->epsilon))
        status = claimed_noise(a, a->epsilon, &a->sigma, err);
    if (status != DPA_OK || !(a->sigma > 0.0)) return status;
    if (isnan(a->epsilon) && !isnan(a->q)) {
        status = epsilon_of(a, a->sigma, a->q, a->steps, &promised, err);
        a->epsilon = promised.upper;
    }
    if (status == DPA_OK)
        status = epsilon_of(a, a->sigma, a->plan->game.canary_rate, 1, &promised, err);
    if (status == DPA_OK) a->request.claim_epsilon = promised.upper;
    return status;
}

static dpa_status write_scores(const audit *a, const char *folder, dpa_error *err) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        err->status = DPA_IO;
        (void)snprintf(err->place, sizeof err->place, "%.400s", folder);
        (void)snprintf(err->text, sizeof err->text, "cannot make this folder: %s", strerror(errno));
        return DPA_IO;
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/scores.npz", folder);
    static const char *const names[2] = {"members", "nonmembers"};
    const size_t n = a->scores.members, m = a->scores.nonmembers;
    const dpa_array arrays[2] = {
        {.dtype = DPA_F64, .ndim = 1, .shape = {n}, .count = n, .data = a->scores.member},
        {.dtype = DPA_F64, .ndim = 1, .shape = {m}, .count = m, .data = a->scores.nonmember}};
    return dpa_npz_write(path, names, arrays, 2, err);
}

/* The strongest valid bound on the noise of a step; INFINITY: nothing is shown. */
static double shown_noise(const audit *a) {
    double sigma = INFINITY;
    for (size_t i = 0; i < dpa_report_count(a->report); ++i) {
        const dpa_result *r = dpa_report_result(a->report, i);
        double s = INFINITY;
        if (strcmp(r->parameter, "mu") == 0 && r->parameter_lower > 0.0)
            s = 1.0 / r->parameter_lower;
        else if (strcmp(r->parameter, "sigma") == 0 && r->parameter_lower > 0.0)
            s = r->parameter_lower;
        if (r->valid && r->kind == DPA_BOUND && s < sigma) sigma = s;
    }
    return sigma;
}

static dpa_status add_end_to_end(audit *a, dpa_error *err) {
    dpa_status status = dpa_report_fact(a->report, "claimed_sigma", a->sigma, err);
    /* Rounded up: at most that much noise is what was shown. Below 0.1 it makes no difference. */
    const double shown = fmax(shown_noise(a) * (1.0 + 1e-9), 0.1);
    if (status == DPA_OK && isfinite(shown))
        status = dpa_report_fact(a->report, "sigma_at_most", shown, err);
    if (status != DPA_OK || isnan(a->q)) return status;
    dpa_interval whole = {0.0, 0.0};
    if (shown <= 1e9) status = epsilon_of(a, shown, a->q, a->steps, &whole, err);
    if (status == DPA_OK)
        status = dpa_report_fact(a->report, "end_to_end_claimed_epsilon", a->epsilon, err);
    if (status == DPA_OK)
        status = dpa_report_fact(a->report, "end_to_end_epsilon_lower", whole.lower, err);
    if (status == DPA_OK)
        status = dpa_report_say(a->report, err,
                                "The bounds are about one step. Through the accountant (q %.6g, "
                                "%llu steps) the strongest one says: the whole training has "
                                "epsilon at least %.4f at delta %g; claimed: %.4f.",
                                a->q, (unsigned long long)a->steps, whole.lower, a->request.delta,
                                a->epsilon);
    return status;
}

/* One family and one method, fixed before anything is seen: the largest of many bounds would refute
 * a correct trainer more often than the confidence allows. */
static dpa_status choose_method(audit *a, dpa_error *err) {
    char family[80] = "gaussian";
    if (a->plan->game.canary_rate < 1.0)
        (void)snprintf(family, sizeof family, "subsampled-gaussian:q=%.17g,steps=1",
                       a->plan->game.canary_rate);
    const char *f = a->options->family != NULL ? a->options->family : family;
    const char *m = a->options->method != NULL ? a->options->method : "rank";
    dpa_status status = DPA_OK;
    if (strcmp(f, "all") != 0) status = dpa_request_set(&a->request, "family", f, err);
    if (status == DPA_OK && strcmp(m, "all") != 0)
        status = dpa_request_set(&a->request, "method", m, err);
    return status;
}

static dpa_status perform(audit *a, dpa_error *err) {
    dpa_status status = dpa_train_plan_read(a->plan->training, &a->training, err);
    if (status == DPA_OK) status = dpa_train_plan_load(a->training, &a->data, err);
    if (status == DPA_OK) status = choose_method(a, err);
    if (status == DPA_OK) status = state_claim(a, err);
    if (status != DPA_OK) return status;
    a->plan->game.progress = progress_start();
    status = dpa_game_white_box(&a->plan->game, a->training, &a->data, &a->scores, err);
    progress_end();
    const char *folder = a->options->output != NULL ? a->options->output : a->plan->output;
    if (status == DPA_OK && folder != NULL) status = write_scores(a, folder, err);
    if (status != DPA_OK) return status;
    dpa_scores_query query;
    dpa_scores_query_init(&query);
    query.scores = &a->scores;
    status = dpa_audit_scores(&query, &a->request, &a->report, err);
    return status == DPA_OK ? add_end_to_end(a, err) : status;
}

static int run(void *options, const word_list *words) {
    const run_options *o = options;
    audit a = {.options = o, .request = o->common.request};
    dpa_error err = {0};
    dpa_status status = dpa_game_plan_read(words->items[0], &a.plan, &err);
    if (status == DPA_OK && o->observations > 0) a.plan->game.observations = o->observations;
    int code = 0;
    if (status == DPA_OK && o->seed_text != NULL && !parse_count(o->seed_text, &a.plan->game.seed))
        code = usage_error(&command_run, "--seed: '%s' is not a whole number", o->seed_text);
    if (status == DPA_OK && code == 0) status = perform(&a, &err);
    if (status != DPA_OK) code = library_error("run", &err);
    if (code == 0)
        code = show_report(a.report, &o->common);
    else
        dpa_report_free(a.report);
    dpa_scores_free(&a.scores);
    dpa_train_data_free(&a.data);
    dpa_train_plan_free(a.training);
    dpa_game_plan_free(a.plan);
    return code;
}
