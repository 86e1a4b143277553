/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit run: plays the game of an experiment file and judges its claim by the result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "estimate/registry.h"
#include "output.h"
#include "trials.h"

typedef struct run_options {
    common_options common;
    game_options game;
    const char *output, *events;
    uint64_t workers, retries, trials;
    double timeout, seconds;
    int dry_run, until_refuted;
} run_options;

#define AT(field) offsetof(run_options, field)

static const option table[] = {
    HEADING("The game"),
    GAME_OPTIONS(run_options),
    HEADING("Playing it"),
    {"dry-run", OPTION_FLAG, NULL,
     "only say how many trials, how long, how much disk; the first is played, and kept",
     AT(dry_run)},
    {"workers", OPTION_COUNT, "N", "processes that play trials (default: one per core)",
     AT(workers)},
    {"timeout", OPTION_NUMBER, "S", "seconds that a trial may take (default: the file's, or any)",
     AT(timeout)},
    {"retries", OPTION_COUNT, "N",
     "how often a trial whose machine failed is played again (default 2)", AT(retries)},
    {"trials", OPTION_COUNT, "N", "budget: this many trials at most, stored ones included",
     AT(trials)},
    {"seconds", OPTION_NUMBER, "S", "budget: after so many seconds no trial starts", AT(seconds)},
    {"until-refuted", OPTION_FLAG, NULL,
     "stop when the claim is refuted, by a bound that holds at any time (method sequential)",
     AT(until_refuted)},
    STORE_OPTION(run_options),
    REQUEST_OPTION(run_options, "threads", "N", "threads of the estimators (default: per core)"),
    HEADING("What is wanted"),
    REQUEST_OPTION(run_options, "family", "F",
                   "as for scores, or all (default: that of the stated mechanism, or dp)"),
    REQUEST_OPTION(run_options, "method", "M", "as for scores, or all"),
    REQUEST_OPTION(run_options, "select", "S", "as for scores"),
    CLAIM_OPTIONS(run_options),
    PROTOCOL_OPTIONS(run_options),
    HEADING("Output"),
    {"output", OPTION_FILE, "FOLDER", "folder for scores.npz, instead of the file's", AT(output)},
    {"events", OPTION_FILE, "FILE", "append a JSON line for every trial, for whoever follows",
     AT(events)},
    OUTPUT_OPTIONS(run_options),
    END_OPTIONS,
};

static void init(void *options) {
    run_options *o = options;
    common_init(&o->common);
    o->retries = 2;
    o->timeout = o->seconds = (double)INFINITY;
}

typedef struct session {
    const run_options *options;
    dpa_experiment *experiment;
    dpa_game *game;
    worker_command worker;
    dpa_run_summary summary;
    dpa_evidence evidence;
    dpa_report *report;
    dpa_ranks *ranks;
    dpa_request stop;
} session;

static dpa_status refuse_stop(const session *s, const char *why, dpa_error *err) {
    return dpa__fail_file(err, DPA_BAD_INPUT, s->experiment->path, "stop: refuted: %s", why);
}

/* Only scores that arrive trial by trial can be looked at while the run goes on. */
static int comes_by_trial(const dpa_evidence *e) {
    return e->kind == DPA_EVIDENCE_SCORES && e->design == DPA_INDEPENDENT_RUNS;
}

/* Fails early, before any training, if estimator names do not exist or do not fit the game. */
static dpa_status check_names(const session *s, dpa_error *err) {
    const common_options *common = &s->options->common;
    dpa_protocol protocol;
    dpa_claim claim;
    dpa_evidence expected;
    DPA_TRY(protocol_asked(common, &protocol, &claim, err));
    dpa_status status = dpa_game_expect(s->game, &expected, err);
    if (status == DPA_OK && s->experiment->stop_refuted && !comes_by_trial(&expected))
        status = refuse_stop(s, "the game gives no scores of independent trials", err);
    if (status == DPA_OK && expected.kind != DPA_EVIDENCE_SIGNALS)
        status = dpa_protocol_check(&protocol, &claim, &expected, err);
    dpa_error alone; /* what is wrong with the file, whatever the options say */
    const int from_file = status == DPA_BAD_ARGUMENT &&
                          dpa_protocol_check(NULL, NULL, &expected, &alone) == DPA_BAD_ARGUMENT;
    dpa__evidence_clear(&expected);
    if (!from_file) return status;
    *err = alone;
    return dpa_experiment_blame(s->experiment, "estimators", err);
}

/* Finds the request by which the run decides to stop. */
static dpa_status find_stop(session *s, dpa_error *err) {
    dpa_protocol protocol;
    dpa_claim claim;
    dpa_evidence expected;
    DPA_TRY(protocol_asked(&s->options->common, &protocol, &claim, err));
    dpa_status status = dpa_game_expect(s->game, &expected, err);
    if (status == DPA_OK)
        status = dpa__protocol_request(&protocol, &claim, &expected, &s->stop, err);
    dpa__evidence_clear(&expected);
    DPA_TRY(status);
    if (!dpa__registry_is_sequential(s->stop.method))
        return refuse_stop(s, "only method sequential holds at a time chosen so", err);
    if (isnan(s->stop.claim_epsilon))
        return refuse_stop(s, "there is no claim that could be refuted", err);
    return DPA_OK;
}

/* Adds the failures and omissions of the run to its result. */
static dpa_status add_trials(const session *s, dpa_error *err) {
    const dpa_run_summary *m = &s->summary;
    if (m->refuted)
        DPA_TRY(dpa__report_note(s->report, err,
                                 "The run stopped at trial %" PRIu64 ": the claim is refuted.",
                                 m->planned));
    if (m->failed > 0)
        DPA_TRY(dpa__report_fact(s->report, "failed_attempts", (double)m->failed, err));
    if (m->failed_trials > 0)
        DPA_TRY(dpa__report_note(s->report, err,
                                 "In %" PRIu64 " of %" PRIu64
                                 " trials the trainer failed: outcomes "
                                 "that keep their place, with a score fixed beforehand.",
                                 m->failed_trials, m->planned));
    if (m->quarantined > 0)
        DPA_TRY(dpa__report_note(s->report, err,
                                 "Every trial failed on %s, as elsewhere none did: taken out, its "
                                 "trials were played elsewhere.",
                                 m->quarantine));
    if (m->missing == 0) return DPA_OK;
    return dpa__report_note(s->report, err, "%" PRIu64 " of %" PRIu64 " trials are missing: %s.",
                            m->missing, m->planned,
                            m->out_of_time
                                ? "the time was over; the bounds rest on the others"
                                : "their machine failed each time; they count against the attack");
}

/* Records what the bits of a training could depend on. A worker trains on one thread. */
static dpa_status add_machine(const session *s, dpa_error *err) {
    char text[80];
    (void)snprintf(text, sizeof text, "{\"kernel\": \"%s\", \"threads\": 1}", dpa_train_kernel());
    return dpa__report_section(s->report, "machine", text, err);
}

static void options_for_run(const session *s, dpa_run_opts *out) {
    const run_options *o = s->options;
    run_opts_make(s->experiment, &o->game, out);
    out->workers = o->workers;
    out->retries = o->retries;
    out->worker = s->worker.words;
    out->ranks = s->ranks;
    out->events = o->events;
    if (isfinite(o->timeout)) out->timeout = o->timeout;
    if (isfinite(o->seconds)) out->seconds = o->seconds;
    if (o->trials > 0) out->trials = o->trials;
}

static void print_estimate(const dpa_run_estimate *e) {
    (void)printf("trials: %" PRIu64 " in %d stage%s, %" PRIu64 " of them stored\n", e->planned,
                 e->stages, e->stages == 1 ? "" : "s", e->stored);
    (void)printf("a trial: %.3g s (%s)\n", e->trial_seconds,
                 e->timed ? "the first one, timed now and kept" : "mean of those stored");
    (void)fputs("the run: about ", stdout);
    print_duration(stdout, e->seconds);
    (void)printf(" with %" PRIu64 " worker%s\ndisk: about ", e->workers,
                 e->workers == 1 ? "" : "s");
    print_about(stdout, e->bytes / 1e6);
    (void)fputs(" MB more\n", stdout);
}

static void say_what_was_found(const dpa_run_summary *m) {
    if (m->damaged > 0)
        (void)fprintf(stderr,
                      "dpaudit run: %" PRIu64 " stored trials were damaged (their checksum did not "
                      "fit) and were played again\n",
                      m->damaged);
    if (m->others > 0)
        (void)fprintf(stderr,
                      "dpaudit run: the store has %" PRIu64 " trials of another version of this "
                      "experiment; its settings or files have changed, so none was used\n",
                      m->others);
}

static dpa_status play(session *s, dpa_error *err) {
    dpa_run_opts opts;
    dpa_run_estimate estimate;
    options_for_run(s, &opts);
    if (s->experiment->stop_refuted && !s->options->dry_run) {
        DPA_TRY(find_stop(s, err));
        opts.stop = &s->stop;
    }
    opts.progress = progress_start();
    const dpa_status status = s->options->dry_run
                                  ? dpa_run_estimate_make(&opts, s->game, &estimate, err)
                                  : dpa_run_play(&opts, s->game, &s->evidence, &s->summary, err);
    progress_end();
    if (status == DPA_OK && s->options->dry_run) print_estimate(&estimate);
    say_what_was_found(&s->summary);
    return status;
}

static dpa_status perform(session *s, dpa_error *err) {
    DPA_TRY(dpa_game_open(s->experiment, &s->game, err));
    DPA_TRY(check_names(s, err));
    DPA_TRY(play(s, err));
    if (s->options->dry_run) return DPA_OK;
    s->evidence.planned = s->summary.planned;
    s->evidence.missing = s->summary.missing;
    const char *folder = s->options->output != NULL ? s->options->output : s->experiment->output;
    if (folder != NULL) DPA_TRY(evidence_write(&s->evidence, folder, err));
    if (folder != NULL && s->evidence.kind == DPA_EVIDENCE_SIGNALS) {
        (void)printf("%" PRIu64 " models: signals and membership are in %s; there is nothing to "
                     "judge without an attack\n",
                     s->summary.planned - s->summary.missing, folder);
        return DPA_OK;
    }
    DPA_TRY(judge_evidence(&s->evidence, &s->options->common, &s->report, err));
    dpa__report_name(s->report, "run", s->evidence.source);
    DPA_TRY(add_machine(s, err));
    return add_trials(s, err);
}

/* For ranks other than 0: plays what rank 0 sends. Rank 0 reports this rank's errors. */
static int serve(session *s, const char *path) {
    dpa_run_opts opts;
    dpa_error err = {0};
    if (experiment_read(path, &s->options->game, &s->experiment, &err) != DPA_OK ||
        dpa_game_open(s->experiment, &s->game, &err) != DPA_OK) {
        dpa_ranks_refuse(s->ranks, &err);
        return 0;
    }
    worker_command_make(path, &s->options->game, &s->worker);
    options_for_run(s, &opts);
    return dpa_ranks_serve(s->ranks, &opts, s->game, &err) == DPA_OK ? 0 : EXIT_FAILURE_RUNNING;
}

static int lead(session *s, const char *path) {
    const run_options *o = s->options;
    dpa_error err = {0};
    int code = experiment_open(path, &o->game, &s->experiment);
    if (code != 0) return code;
    s->experiment->stop_refuted |= o->until_refuted;
    worker_command_make(path, &o->game, &s->worker);
    if (perform(s, &err) != DPA_OK) {
        code = library_error(&err);
        if (err.status == DPA_CANCELLED) code = EXIT_MORE_TO_DO;
    }
    if (code == 0 && s->report != NULL) return show_report(s->report, &o->common);
    dpa_report_free(s->report);
    return code;
}

static int run(void *options, const word_list *words) {
    session s = {.options = options};
    dpa_error err = {0};
    const char *path = words->items[0];
    if (strcmp(path, "-") == 0)
        return usage_error("the experiment must be a file: workers read it too");
    if (dpa_ranks_join(&s.ranks, &err) != DPA_OK) return library_error(&err);
    const int code = dpa_ranks_rank(s.ranks) == 0 ? lead(&s, path) : serve(&s, path);
    dpa__evidence_clear(&s.evidence);
    dpa_game_close(s.game);
    dpa_experiment_free(s.experiment);
    dpa_ranks_leave(s.ranks);
    return code;
}

const command command_run = {
    .name = "run",
    .summary = "play an audit game against the trainer and judge its claim",
    .operands = "AUDIT.yaml",
    .about =
        "Plays the game of the file against a training and judges what was seen. The file names a "
        "training (as for train) or a program that trains, a game and a claim; dpaudit help "
        "settings lists the keys, docs/games.md explains the games.\n"
        "white-box: in each step the adversary sees the private sum of two batches, one of which "
        "has its canary. The bounds are about one step; the accountant turns them into bounds for "
        "the whole training, with its sampling rate and steps. input-canary: the same with an "
        "example as the canary. black-box: only trained models are seen, with and without one "
        "example; the bounds are about the whole training. Other kinds: membership and "
        "reconstruction (many canaries in one training), whole-training, shadow, federated "
        "(docs/federated.md), and command, which runs any program as the trainer. The evidence "
        "goes to the output folder, for dpaudit scores, one-run, cosines or attack.\n"
        "Trials are played by worker processes and kept in a store beside the experiment "
        "(docs/runner.md): a run that was stopped or killed goes on where it was, and a changed "
        "experiment reuses the trials that still apply. Ctrl-C stops cleanly (exit code 75); a "
        "second Ctrl-C ends the run at once.",
    .examples = "dpaudit run run-white-box.yaml\n"
                "dpaudit run run-input-canary.yaml\n"
                "dpaudit run run-black-box.yaml\n"
                "dpaudit run command/count.yaml --workers 2\n"
                "dpaudit run run-white-box-broken.yaml --method all --family all",
    .options = table,
    .size = sizeof(run_options),
    .words = {1, 1},
    .init = init,
    .run = run,
};
