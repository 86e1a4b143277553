/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit worker: started by dpaudit run to play trials. It is not for people, so it has no help,
 * man page or completion (main.c handles it). */
#include "output.h"
#include "trials.h"

typedef struct worker_options {
    game_options game;
} worker_options;

static const option table[] = {GAME_OPTIONS(worker_options), END_OPTIONS};

static int run(void *options, const word_list *words) {
    const worker_options *o = options;
    dpa_experiment *experiment = NULL;
    dpa_error err = {0};
    const int code = experiment_open(words->items[0], &o->game, &experiment);
    if (code != 0) return code;
    const dpa_status status = dpa_worker_serve(experiment, &err);
    dpa_experiment_free(experiment);
    return status == DPA_OK ? 0 : library_error(&err);
}

const command command_worker = {.name = "worker",
                                .options = table,
                                .size = sizeof(worker_options),
                                .min_words = 1,
                                .max_words = 1,
                                .run = run};
