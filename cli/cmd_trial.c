/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit trial: one process of a job array, which writes its trials to files. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output.h"
#include "trials.h"

typedef struct trial_options {
    game_options game;
    const char *index_text, *shard_text, *folder;
    uint64_t stage, workers, retries;
    double timeout;
} trial_options;

#define AT(field) offsetof(trial_options, field)

static const option table[] = {
    HEADING("Which trials"),
    {"index", OPTION_TEXT, "I", "trial I alone (from 0)", AT(index_text)},
    {"shard", OPTION_TEXT, "I/N", "every N-th trial, from the I-th on (I from 0 to N - 1)",
     AT(shard_text)},
    {"stage", OPTION_COUNT, "N", "of stage N (default: the last whose brief is in the folder)",
     AT(stage)},
    HEADING("Playing them"),
    {"out", OPTION_FILE, "FOLDER", "where the files of finished trials go (required)", AT(folder)},
    {"workers", OPTION_COUNT, "N", "processes that play trials (default: one per core)",
     AT(workers)},
    {"timeout", OPTION_NUMBER, "S", "seconds that a trial may take (default: the file's, or any)",
     AT(timeout)},
    {"retries", OPTION_COUNT, "N", "how often a trial whose machine failed is played again (2)",
     AT(retries)},
    HEADING("The game"),
    GAME_OPTIONS(trial_options),
    END_OPTIONS,
};

static void init(void *options) {
    trial_options *o = options;
    o->retries = 2;
    o->timeout = (double)INFINITY;
}

/* Parses "3/8"; returns 1 if the text has this form. */
static int parse_shard(const char *text, dpa_shard *out) {
    char first[24];
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash == text || (size_t)(slash - text) >= sizeof first) return 0;
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = '\0';
    return parse_count(first, &out->shard) && parse_count(slash + 1, &out->shards) &&
           out->shards > 0;
}

static int parse(const trial_options *o, dpa_shard *out) {
    if (o->folder == NULL) return usage_error("--out FOLDER is missing");
    if ((o->index_text == NULL) == (o->shard_text == NULL))
        return usage_error("give --index I or --shard I/N");
    if (o->index_text != NULL && !parse_count(o->index_text, &out->index))
        return usage_error("--index: '%s' is not a whole number", o->index_text);
    if (o->shard_text != NULL && !parse_shard(o->shard_text, out))
        return usage_error("--shard: '%s' is not I/N, as in 0/8", o->shard_text);
    if (o->stage > DPA_GAME_STAGES)
        return usage_error("--stage: expected 1 to %d", DPA_GAME_STAGES);
    out->folder = o->folder;
    out->stage = (int)o->stage - 1;
    return 0;
}

static dpa_status play(const trial_options *o, const char *path, const dpa_experiment *experiment,
                       const dpa_shard *which, dpa_shard_summary *out, dpa_error *err) {
    dpa_game *game = NULL;
    worker_command worker;
    dpa_run_opts opts;
    dpa_status status = dpa_game_open(experiment, &game, err);
    if (status != DPA_OK) return status;
    worker_command_make(path, &o->game, &worker);
    run_opts_make(experiment, &o->game, &opts);
    opts.worker = worker.words;
    opts.workers = o->index_text != NULL ? 1 : o->workers;
    opts.retries = o->retries;
    if (isfinite(o->timeout)) opts.timeout = o->timeout;
    if (which->stage >= dpa_game_stages(game))
        status = dpa__fail(err, DPA_BAD_ARGUMENT, "--stage %d: the game has %d", which->stage + 1,
                           dpa_game_stages(game));
    if (status == DPA_OK) {
        opts.progress = progress_start();
        status = dpa_shard_play(&opts, which, game, out, err);
        progress_end();
    }
    dpa_game_close(game);
    return status;
}

static int run(void *options, const word_list *words) {
    const trial_options *o = options;
    dpa_shard which = {0};
    dpa_shard_summary m = {0};
    dpa_experiment *experiment = NULL;
    dpa_error err = {0};
    int code = parse(o, &which);
    if (code == 0) code = experiment_open(words->items[0], &o->game, &experiment);
    if (code != 0) return code;
    const dpa_status status = play(o, words->items[0], experiment, &which, &m, &err);
    if (status != DPA_OK) code = library_error(&err);
    if (status == DPA_CANCELLED) code = EXIT_MORE_TO_DO;
    if (status == DPA_OK)
        (void)printf("stage %d: %" PRIu64 " trials, %" PRIu64 " found, %" PRIu64 " played, %" PRIu64
                     " failed, %" PRIu64 " lost\n",
                     m.stage + 1, m.planned, m.found, m.played, m.failed, m.lost);
    /* The machine failed at every attempt; another one may succeed. */
    if (status == DPA_OK && m.lost > 0) code = EXIT_MORE_TO_DO;
    dpa_experiment_free(experiment);
    return code;
}

const command command_trial = {
    .name = "trial",
    .summary = "play some trials and leave each as a file, for job arrays",
    .operands = "AUDIT.yaml",
    .about =
        "For any scheduler that can start the same command many times (Slurm arrays, Kubernetes "
        "indexed jobs, GNU parallel): each process plays its trials and leaves self-describing "
        "files "
        "in a folder, a shared one or one that is copied; dpaudit import brings them together, and "
        "dpaudit run judges without playing anything again. Files appear whole; a process that was "
        "killed goes on where it was when it is started again; the same trial twice does no harm. "
        "Stopped by SIGTERM or Ctrl-C it saves what is finished and ends with exit code 75.\n"
        "A game of several stages needs an import between them, which writes the brief of the next "
        "stage into the folder (docs/cluster.md).",
    .examples = "dpaudit trial command/count.yaml --shard 0/100 --out trials\n"
                "dpaudit trial command/count.yaml --index 7 --out trials",
    .options = table,
    .size = sizeof(trial_options),
    .words = {1, 1},
    .init = init,
    .run = run,
};
