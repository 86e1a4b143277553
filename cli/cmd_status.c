/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit status: how far a run is, from its store, while it runs or after. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void init(void *options) {
    (void)options;
}

static int run(void *options, const word_list *words);

const command command_status = {
    .name = "status",
    .summary = "how far a run is: done, running, failed, rate, what remains",
    .operands = "AUDIT.yaml | STORE.db",
    .about =
        "Reads the store of a run, which may be going on in another process, on one line: trials "
        "done and planned, running now, failed attempts, rate and time left. With --bound the "
        "trials stored so far are judged as dpaudit run would. Looking often and stopping when the "
        "bound is large enough makes it invalid: it is a look, not a result.",
    .examples = "dpaudit status command/count.yaml\n"
                "dpaudit status command/count.yaml --json",
    .options = table,
    .size = sizeof(status_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
};

static const char *state_name(dpa_run_state state) {
    static const char *const names[] = {"not started", "running", "done", "stopped", "killed"};
    return names[state];
}

static double rate_of(const dpa_run_status *s) {
    const double seconds = s->updated - s->started;
    return seconds > 0.0 ? (double)s->played / seconds : 0.0;
}

static void print_line(const dpa_run_status *s) {
    const double rate = rate_of(s);
    (void)printf("%s", state_name(s->state));
    if (s->state == DPA_RUN_RUNNING)
        (void)printf(" (process %" PRId64 " on %s)", s->process, s->host);
    if (s->state != DPA_RUN_NONE) {
        if (s->stages > 1) (void)printf(", stage %d of %d", s->stage + 1, s->stages);
        (void)printf(": %" PRIu64 " of %" PRIu64 " trials done", s->stored, s->planned);
        if (s->state == DPA_RUN_RUNNING) (void)printf(", %" PRIu64 " running", s->running);
        (void)printf(", %" PRIu64 " failed attempt%s", s->failed, s->failed == 1 ? "" : "s");
        if (s->played > 0) (void)printf(", %.3g/s", rate);
        if (s->state == DPA_RUN_RUNNING && rate > 0.0)
            (void)printf(", about %.3g s left", (double)(s->planned - s->stored) / rate);
    }
    (void)putchar('\n');
}

static int print_json(const status_options *o, const dpa_run_status *s) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"dpaudit\": \"%s\", \"command\": \"status\", \"state\": \"%s\", "
                   "\"stage\": %d, \"stages\": %d, \"planned\": %" PRIu64 ", \"done\": %" PRIu64
                   ", \"running\": %" PRIu64 ", \"failed_attempts\": %" PRIu64
                   ", \"played\": %" PRIu64 ", \"rate\": %.17g, \"workers\": %" PRIu64 "}\n",
                   dpa_version(), state_name(s->state), s->stage + 1, s->stages, s->planned,
                   s->stored, s->running, s->failed, s->played, rate_of(s), s->workers);
    if (o->json[0] != '\0') return write_file("status", o->json, text);
    (void)fputs(text, stdout);
    return 0;
}

static int read_status(const char *path, dpa_run_status *out) {
    dpa_store *store = NULL;
    dpa_error err = {0};
    dpa_status status = dpa_store_open(path, DPA_STORE_READ, &store, &err);
    if (status == DPA_OK) status = dpa_store_status(store, out, &err);
    dpa_store_close(store);
    return status == DPA_OK ? 0 : library_error("status", &err);
}

static int watch(const char *path, const status_options *o) {
    for (;;) {
        dpa_run_status now;
        const int code = read_status(path, &now);
        if (code != 0) return code;
        if (isatty(STDOUT_FILENO) && o->json == NULL) (void)fputs("\r\033[K\033[A\033[K", stdout);
        if (o->json != NULL)
            (void)print_json(o, &now);
        else
            print_line(&now);
        (void)fflush(stdout);
        if (!o->watch || now.state != DPA_RUN_RUNNING) return 0;
        (void)sleep(1);
    }
}

/* What is there, judged as the run would. */
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
        evidence_count_trials(&evidence, &summary);
        status = judge_evidence(&evidence, &common, &report, &err);
    }
    if (status == DPA_OK && summary.missing > 0)
        status = dpa_report_note(report, &err,
                                 "A look at %" PRIu64 " of %" PRIu64 " trials: stopping because of "
                                 "it would make the bound invalid.",
                                 summary.stored, summary.planned);
    int code = 0;
    if (status == DPA_OK) {
        code = show_report(report, &common);
    } else {
        dpa_report_free(report);
        code = library_error("status", &err);
    }
    dpa_evidence_free(&evidence);
    dpa_game_close(game);
    return code;
}

static int run(void *options, const word_list *words) {
    const status_options *o = options;
    dpa_experiment *experiment = NULL;
    char *path = NULL;
    int code = store_of(&command_status, words->items[0], &o->game, &experiment, &path);
    if (code == 0 && o->bound && experiment == NULL)
        code = usage_error(&command_status, "--bound needs the experiment file, not its store");
    if (code == 0 && o->watch && isatty(STDOUT_FILENO) && o->json == NULL) (void)putchar('\n');
    /* With --json the judgement is the answer, as that of the run. */
    if (code == 0 && !(o->bound && o->json != NULL)) code = watch(path, o);
    if (code == 0 && o->bound) code = show_bound(experiment, o);
    free(path);
    dpa_experiment_free(experiment);
    return code;
}
