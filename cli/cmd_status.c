/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit status: how far a run is, from its store, while it runs or afterwards. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "output.h"
#include "trials.h"

typedef struct status_options {
    game_options game;
    const char *json;
    int watch, bound;
} status_options;

static const option table[] = {
    HEADING("What is wanted"),
    {"watch", OPTION_FLAG, NULL, "again every second until the run ends",
     offsetof(status_options, watch)},
    {"bound", OPTION_FLAG, NULL, "also the bounds that the stored trials give by now",
     offsetof(status_options, bound)},
    {"json", OPTION_OPTIONAL, "FILE.json", "the numbers as JSON on standard output, or in a file",
     offsetof(status_options, json)},
    HEADING("Which run"),
    GAME_OPTIONS(status_options),
    STORE_OPTION(status_options),
    END_OPTIONS,
};

static double rate_of(const dpa_run_status *s) {
    const double seconds = s->updated - s->started;
    return seconds > 0.0 ? (double)s->played / seconds : 0.0;
}

static void print_counts(FILE *out, const dpa_run_status *s) {
    const uint64_t missing = s->planned - s->stored;
    (void)fprintf(out, ": %" PRIu64 " of %" PRIu64 " trials done", s->stored, s->planned);
    if (s->failed_trials > 0)
        (void)fprintf(out, " (%" PRIu64 " by a trainer that failed)", s->failed_trials);
    if (s->state != DPA_RUN_RUNNING && missing > 0)
        (void)fprintf(out, ", %" PRIu64 " missing", missing);
    if (s->state == DPA_RUN_RUNNING) (void)fprintf(out, ", %" PRIu64 " running", s->running);
    (void)fprintf(out, ", %" PRIu64 " failed attempt%s", s->failed, s->failed == 1 ? "" : "s");
    if (s->played > 0) {
        (void)fputs(", ", out);
        print_about(out, rate_of(s));
        (void)fputs("/s", out);
    }
}

/* Prints one line; with `trials`, one more for each running trial. Returns the number of lines. */
static int status_print(FILE *out, const dpa_run_status *s, int trials) {
    int lines = 1;
    (void)fputs(status_state(s), out);
    if (s->state == DPA_RUN_RUNNING)
        (void)fprintf(out, " (process %" PRId64 " on %s)", s->process, s->host);
    if (s->state != DPA_RUN_NONE) {
        if (s->stages > 1) (void)fprintf(out, ", stage %d of %d", s->stage + 1, s->stages);
        print_counts(out, s);
    }
    if (s->stalled)
        (void)fputs(", nothing has ended for long: does it hang?", out);
    else if (isfinite(s->left)) {
        (void)fputs(", about ", out);
        print_duration(out, s->left);
        (void)fputs(" left", out);
    }
    if (s->quarantine[0] != '\0') (void)fprintf(out, "; taken out: %s", s->quarantine);
    (void)fputc('\n', out);
    for (size_t i = 0; i < s->trial_count && trials; ++i, ++lines) {
        const dpa_run_trial *t = &s->trials[i];
        (void)fprintf(out, "  trial %" PRIu64 " on %s for ", t->index, t->place);
        print_duration(out, t->seconds);
        if (t->total > 0.0) (void)fprintf(out, " (%.0f of %.0f)", t->done, t->total);
        (void)fputc('\n', out);
    }
    return lines;
}

static void put_trials(FILE *out, const dpa_run_status *s) {
    (void)fputs(", \"trials\": [", out);
    for (size_t i = 0; i < s->trial_count; ++i) {
        const dpa_run_trial *t = &s->trials[i];
        (void)fprintf(out, "%s{\"trial\": %" PRIu64, i > 0 ? ", " : "", t->index);
        json_number(out, ", \"seconds\": ", t->seconds);
        json_text(out, ", \"place\": ", t->place);
        (void)fprintf(out, ", \"done\": %.0f, \"total\": %.0f}", t->done, t->total);
    }
    (void)fputs("]", out);
}

static void status_print_json(FILE *out, const void *status) {
    const dpa_run_status *s = status;
    (void)fprintf(out, "{\"dpaudit\": \"%s\", \"command\": \"status\", \"state\": \"%s\"",
                  dpa_version(), status_state(s));
    json_text(out, ", \"host\": ", s->host);
    (void)fprintf(out,
                  ", \"stage\": %d, \"stages\": %d, \"planned\": %" PRIu64 ", \"done\": %" PRIu64
                  ", \"missing\": %" PRIu64 ", \"failed_trials\": %" PRIu64
                  ", \"lost_trials\": %" PRIu64 ", \"running\": %" PRIu64
                  ", \"failed_attempts\": %" PRIu64 ", \"played\": %" PRIu64
                  ", \"workers\": %" PRIu64,
                  s->stage + 1, s->stages, s->planned, s->stored, s->planned - s->stored,
                  s->failed_trials, s->lost, s->running, s->failed, s->played, s->workers);
    json_number(out, ", \"rate\": ", rate_of(s));
    json_number(out, ", \"seconds_left\": ", s->left);
    json_number(out, ", \"trial_seconds\": ", s->trial_seconds);
    json_number(out, ", \"updated\": ", s->updated);
    (void)fprintf(out, ", \"stalled\": %s", s->stalled ? "true" : "false");
    json_text(out, ", \"quarantined\": ", s->quarantine);
    put_trials(out, s);
    (void)fputs("}\n", out);
}

static int read_status(const char *path, dpa_run_status *out) {
    dpa_error err = {0};
    const dpa_status status = dpa_run_status_read(path, out, &err);
    return status == DPA_OK ? 0 : library_error(&err);
}

static int watch(const char *path, const status_options *o) {
    for (int lines = 0;;) {
        dpa_run_status now;
        int code = read_status(path, &now);
        if (code != 0) return code;
        if (isatty(STDOUT_FILENO) && o->json == NULL)
            for (; lines > 0; --lines) (void)fputs("\033[A\033[2K", stdout);
        if (o->json != NULL)
            code = write_by(o->json, status_print_json, &now);
        else
            lines = status_print(stdout, &now, 1);
        (void)fflush(stdout);
        if (code != 0 || !o->watch || now.state != DPA_RUN_RUNNING) return code;
        (void)sleep(1);
    }
}

/* Judges the trials so far as the run would. */
static int show_bound(dpa_experiment *experiment, const status_options *o) {
    dpa_game *game = NULL;
    dpa_evidence evidence = {0};
    dpa_run_summary summary;
    dpa_run_opts opts;
    dpa_report *report = NULL;
    dpa_error err = {0};
    common_options common = {.json = o->json};
    common_init(&common);
    run_opts_make(experiment, &o->game, &opts);
    dpa_status status = dpa_game_open(experiment, &game, &err);
    if (status == DPA_OK) status = dpa_run_collect(&opts, game, &evidence, &summary, &err);
    if (status == DPA_OK) {
        evidence.planned = summary.planned;
        evidence.missing = summary.missing;
        status = judge_evidence(&evidence, &common, &report, &err);
    }
    if (status == DPA_OK && summary.missing > 0)
        status =
            dpa__report_note(report, &err,
                             "A look at %" PRIu64 " of %" PRIu64 " trials: stopping because of "
                             "it would make the bound invalid.",
                             summary.stored, summary.planned);
    int code = 0;
    if (status == DPA_OK) {
        code = show_report(report, &common);
    } else {
        dpa_report_free(report);
        code = library_error(&err);
    }
    dpa__evidence_clear(&evidence);
    dpa_game_close(game);
    return code;
}

static int run(void *options, const word_list *words) {
    const status_options *o = options;
    dpa_experiment *experiment = NULL;
    char *path = NULL;
    int code = store_of(words->items[0], &o->game, &experiment, &path);
    if (code == 0 && o->bound && experiment == NULL)
        code = usage_error("--bound needs the experiment file, not its store");
    /* With --json the judgement is the whole answer, in the format of the run. */
    if (code == 0 && !(o->bound && o->json != NULL)) code = watch(path, o);
    if (code == 0 && o->bound) code = show_bound(experiment, o);
    free(path);
    dpa_experiment_free(experiment);
    return code;
}

const command command_status = {
    .name = "status",
    .summary = "how far a run is: done, running, failed, rate, what remains",
    .operands = "AUDIT.yaml | STORE.db",
    .about =
        "Reads how far a run is, which may be going on in another process or on another machine "
        "that "
        "shares the folder: trials done and planned, running now, failed attempts, rate and time "
        "left; then a line for each running trial, with its machine, slot and age. With --bound "
        "the "
        "trials stored so far are judged as dpaudit run would. Looking often and stopping when the "
        "bound is large enough makes it invalid: it is a look, not a result.",
    .examples = "dpaudit status command/count.yaml\n"
                "dpaudit status command/count.yaml --json",
    .options = table,
    .size = sizeof(status_options),
    .words = {1, 1},
    .run = run,
};
