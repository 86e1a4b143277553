/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit run: plays the game of an experiment file and judges the claim by what it showed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "judge.h"
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

typedef struct session {
    const run_options *options;
    dpa_experiment *experiment;
    dpa_game *game;
    dpa_values *values; /* of all stages, one after the other */
    uint64_t planned;
    dpa_game_evidence evidence;
    dpa_report *report;
} session;

/* Names of the evidence files say which command reads them. */
static const char *evidence_name(dpa_evidence_kind kind) {
    switch (kind) {
    case DPA_EVIDENCE_STEPS:
    case DPA_EVIDENCE_SCORES:
        return "scores.npz";
    case DPA_EVIDENCE_MEMBERS:
    case DPA_EVIDENCE_GUESSES:
        return "guesses.npz";
    case DPA_EVIDENCE_COSINES:
        return "cosines.npz";
    case DPA_EVIDENCE_SIGNALS:
        return "signals.npz";
    }
    return "evidence.npz";
}

static dpa_status write_evidence(const session *s, const char *folder, dpa_error *err) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        err->status = DPA_IO;
        (void)snprintf(err->place, sizeof err->place, "%.400s", folder);
        (void)snprintf(err->text, sizeof err->text, "cannot make this folder: %s", strerror(errno));
        return DPA_IO;
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, evidence_name(s->evidence.kind));
    const char *names[DPA_EVIDENCE_ARRAYS] = {NULL};
    dpa_array arrays[DPA_EVIDENCE_ARRAYS] = {0};
    for (size_t i = 0; i < s->evidence.array_count; ++i) {
        const dpa_named_array *a = &s->evidence.arrays[i];
        names[i] = a->name;
        arrays[i] = (dpa_array){
            .dtype = DPA_F64, .ndim = 1, .shape = {a->count}, .count = a->count, .data = a->items};
        if (a->rows == 0) continue;
        arrays[i].ndim = 2;
        arrays[i].shape[0] = a->rows;
        arrays[i].shape[1] = a->count / a->rows;
    }
    return dpa_npz_write(path, names, arrays, s->evidence.array_count, err);
}

/* All trials of one stage into s->values, from `first` on. */
static dpa_status play_stage(session *s, int stage, uint64_t first, const dpa_values *brief,
                             dpa_error *err) {
    dpa_status status = DPA_OK;
    const uint64_t count = dpa_game_trials(s->game, stage);
    for (uint64_t i = 0; i < count && status == DPA_OK; ++i)
        status = dpa_game_trial(s->game, stage, i, brief, &s->values[first + i], err);
    return status;
}

static dpa_status play(session *s, dpa_error *err) {
    const int stages = dpa_game_stages(s->game);
    for (int i = 0; i < stages; ++i) s->planned += dpa_game_trials(s->game, i);
    s->values = calloc(s->planned > 0 ? s->planned : 1, sizeof *s->values);
    dpa_trials trials[DPA_GAME_STAGES] = {0};
    dpa_status status = s->values != NULL ? DPA_OK : DPA_NO_MEMORY;
    uint64_t first = 0;
    for (int i = 0; i < stages && status == DPA_OK; ++i) {
        dpa_values brief = {0};
        status = dpa_game_brief(s->game, i, trials, &brief, err);
        if (status == DPA_OK) status = play_stage(s, i, first, &brief, err);
        dpa_values_free(&brief);
        trials[i] = (dpa_trials){&s->values[first], dpa_game_trials(s->game, i)};
        first += trials[i].count;
    }
    if (status == DPA_OK) status = dpa_game_gather(s->game, trials, &s->evidence, err);
    return status;
}

static dpa_status judge(session *s, dpa_error *err) {
    const run_options *o = s->options;
    judgement j = {.experiment = s->experiment,
                   .game = s->game,
                   .evidence = &s->evidence,
                   .request = o->common.request};
    j.family = o->family != NULL ? o->family : s->experiment->family;
    j.method = o->method != NULL ? o->method : s->experiment->method;
    dpa_status status = DPA_OK;
    if (s->experiment->select != NULL && o->common.request.select[0] == '\0')
        status = dpa_request_set(&j.request, "select", s->experiment->select, err);
    if (status == DPA_OK)
        status =
            s->evidence.kind == DPA_EVIDENCE_STEPS ? judge_steps(&j, err) : judge_scores(&j, err);
    for (size_t i = 0; i < s->evidence.fact_count && status == DPA_OK; ++i)
        status =
            dpa_report_fact(j.report, s->evidence.facts[i].name, s->evidence.facts[i].value, err);
    s->report = j.report;
    return status;
}

static dpa_status perform(session *s, dpa_error *err) {
    dpa_status status = dpa_game_open(s->experiment, &s->game, err);
    if (status != DPA_OK) return status;
    s->experiment->game.progress = progress_start();
    status = play(s, err);
    progress_end();
    const char *folder = s->options->output != NULL ? s->options->output : s->experiment->output;
    if (status == DPA_OK && folder != NULL) status = write_evidence(s, folder, err);
    return status == DPA_OK ? judge(s, err) : status;
}

static int run(void *options, const word_list *words) {
    const run_options *o = options;
    session s = {.options = o};
    dpa_error err = {0};
    dpa_status status = dpa_experiment_read(words->items[0], &s.experiment, &err);
    int code = 0;
    if (status == DPA_OK && o->observations > 0) s.experiment->game.observations = o->observations;
    if (status == DPA_OK && o->seed_text != NULL &&
        !parse_count(o->seed_text, &s.experiment->game.seed))
        code = usage_error(&command_run, "--seed: '%s' is not a whole number", o->seed_text);
    if (status == DPA_OK && code == 0) status = perform(&s, &err);
    if (status != DPA_OK) code = library_error("run", &err);
    if (code == 0)
        code = show_report(s.report, &o->common);
    else
        dpa_report_free(s.report);
    dpa_game_evidence_free(&s.evidence);
    for (uint64_t i = 0; i < s.planned && s.values != NULL; ++i) dpa_values_free(&s.values[i]);
    free(s.values);
    dpa_game_close(s.game);
    dpa_experiment_free(s.experiment);
    return code;
}
