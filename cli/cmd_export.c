/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit export: the evidence that a store gives so far, as plain arrays. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "output.h"
#include "trials.h"

typedef struct export_options {
    game_options game;
    const char *output, *format;
    int signals;
} export_options;

static const option table[] = {
    HEADING("What is wanted"),
    {"output", OPTION_FILE, "FOLDER", "where the files go (default: the experiment's, or .)",
     offsetof(export_options, output)},
    {"format", OPTION_CHOICE, "npy|csv", "NPY (default), or CSV with one row a line",
     offsetof(export_options, format)},
    {"signals", OPTION_FLAG, NULL, "of an external trainer: signals and membership, not scores",
     offsetof(export_options, signals)},
    HEADING("Which trials"),
    GAME_OPTIONS(export_options),
    STORE_OPTION(export_options),
    END_OPTIONS,
};

static dpa_status gather(const export_options *o, dpa_experiment *experiment, dpa_game **game,
                         dpa_evidence *evidence, dpa_run_summary *summary, dpa_error *err) {
    dpa_run_opts opts;
    run_opts_make(experiment, &o->game, &opts);
    if (o->signals) experiment->command.has_attack = 0;
    DPA_TRY(dpa_game_open(experiment, game, err));
    return dpa_run_collect(&opts, *game, evidence, summary, err);
}

static int run(void *options, const word_list *words) {
    const export_options *o = options;
    dpa_experiment *experiment = NULL;
    dpa_game *game = NULL;
    dpa_evidence evidence = {0};
    dpa_run_summary summary = {0};
    dpa_error err = {0};
    int code = experiment_open(words->items[0], &o->game, &experiment);
    if (code != 0) return code;
    const char *folder = o->output != NULL            ? o->output
                         : experiment->output != NULL ? experiment->output
                                                      : ".";
    dpa_status status = gather(o, experiment, &game, &evidence, &summary, &err);
    if (status == DPA_OK && summary.stored == 0)
        status = dpa__fail(&err, DPA_BAD_INPUT, "no trial is stored: dpaudit run %.400s plays them",
                           words->items[0]);
    const int csv = o->format != NULL && strcmp(o->format, "csv") == 0;
    if (status == DPA_OK) status = evidence_export(&evidence, folder, csv, &err);
    if (status != DPA_OK) code = library_error(&err);
    for (size_t i = 0; i < evidence.array_count && code == 0; ++i)
        (void)printf("%s/%s.%s: %zu numbers\n", folder, evidence.arrays[i].name,
                     csv ? "csv" : "npy", evidence.arrays[i].count);
    if (code == 0 && summary.missing > 0)
        (void)fprintf(stderr, "dpaudit export: %" PRIu64 " of %" PRIu64 " trials are missing\n",
                      summary.missing, summary.planned);
    dpa__evidence_clear(&evidence);
    dpa_game_close(game);
    dpa_experiment_free(experiment);
    return code;
}

const command command_export = {
    .name = "export",
    .summary = "signals, membership and scores of the stored trials as NPY or CSV",
    .operands = "AUDIT.yaml",
    .about = "Gathers what the store has, complete or not, without playing any trial, and writes "
             "each array to a file of its name: members and nonmembers (scores), or signals and "
             "members (one row per model) for dpaudit attack.",
    .examples = "dpaudit export command/count.yaml --output scores --format csv",
    .options = table,
    .size = sizeof(export_options),
    .words = {1, 1},
    .run = run,
};
