/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit import: adds the files of dpaudit trial to the store. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "trials.h"

typedef struct import_options {
    game_options game;
    int missing;
} import_options;

static const option table[] = {
    HEADING("What is wanted"),
    {"missing", OPTION_FLAG, NULL,
     "print only the numbers of missing trials (3,17-20), as sbatch --array takes them",
     offsetof(import_options, missing)},
    HEADING("Where to"),
    GAME_OPTIONS(import_options),
    STORE_OPTION(import_options),
    END_OPTIONS,
};

static void print(const dpa_import_summary *m, const char *path) {
    (void)printf("stage %d of %d: %" PRIu64 " of %" PRIu64 " trials are in the store, %" PRIu64
                 " of them new\n",
                 m->stage + 1, m->stages, m->stored, m->planned, m->imported);
    if (m->duplicates > 0)
        (void)printf("%" PRIu64 " were there more than once: the attempt that began first counts\n",
                     m->duplicates);
    if (m->differing > 0)
        (void)printf("%" PRIu64 " of these have other numbers: the trainer does not depend on its "
                     "seed alone\n",
                     m->differing);
    if (m->foreign > 0)
        (void)printf("%" PRIu64 " are of another experiment, or of another version of this one\n",
                     m->foreign);
    if (m->damaged > 0) (void)printf("%" PRIu64 " are damaged: cut off or changed\n", m->damaged);
    if (m->blamed > 0)
        (void)printf("%" PRIu64
                     " failed on %s, by all others no coincidence: it is broken. They are "
                     "not taken; play them elsewhere (dpaudit trial --index)\n",
                     m->blamed, m->places);
    if (m->missing > 0)
        (void)printf("%" PRIu64 " are missing: %.200s%s\n", m->missing, m->ranges,
                     strlen(m->ranges) > 200 ? "... (--missing prints all)" : "");
    else
        (void)printf("complete: dpaudit run %s judges\n", path);
}

static int run(void *options, const word_list *words) {
    const import_options *o = options;
    dpa_import_summary m = {0};
    dpa_experiment *experiment = NULL;
    dpa_game *game = NULL;
    dpa_run_opts opts;
    dpa_error err = {0};
    int code = experiment_open(words->items[0], &o->game, &experiment);
    if (code != 0) return code;
    run_opts_make(experiment, &o->game, &opts);
    dpa_status status = dpa_game_open(experiment, &game, &err);
    if (status == DPA_OK) status = dpa_import(&opts, words->items[1], game, &m, &err);
    if (status != DPA_OK)
        code = library_error(&err);
    else if (!o->missing)
        print(&m, words->items[0]);
    else if (m.missing > 0)
        (void)printf("%s\n", m.ranges);
    if (status == DPA_OK && m.missing > 0) code = EXIT_MORE_TO_DO;
    dpa_import_summary_free(&m);
    dpa_game_close(game);
    dpa_experiment_free(experiment);
    return code;
}

const command command_import = {
    .name = "import",
    .summary = "take the trials of a job array from their files into the store",
    .operands = "AUDIT.yaml FOLDER",
    .about =
        "Reads every file that dpaudit trial has left in the folder. Trials that are there twice "
        "or "
        "come late do no harm: the attempt that began first counts, and what the store has stays. "
        "Files of other experiments, files that were cut off or changed are counted and left "
        "alone. "
        "When a stage is complete, the brief of the next one is written to the folder; dpaudit "
        "trial "
        "then plays that. Exit code 75: trials are missing. When none is, dpaudit run judges.",
    .examples = "dpaudit import command/count.yaml trials",
    .options = table,
    .size = sizeof(import_options),
    .words = {2, 2},
    .run = run,
};
