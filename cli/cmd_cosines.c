/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit cosines: one-shot estimates from the cosines of canaries. */
#include <stdio.h>

#include "dpaudit/cosines.h"
#include "output.h"

typedef struct cosines_options {
    common_options common;
    uint64_t dim;
    const char *null, *direction;
} cosines_options;

static const option table[] = {
    HEADING("Evidence"),
    {"dim", OPTION_COUNT, "D", "dimension of the model (not needed with --null)",
     offsetof(cosines_options, dim)},
    {"null", OPTION_FILE, "FILE",
     "all iterates: FILE and this one are largest cosines over the rounds, here of canaries that "
     "did not take part",
     offsetof(cosines_options, null)},
    {"direction", OPTION_CHOICE, "sphere|signs",
     "what the canaries were (see canaries --direction; default sphere)",
     offsetof(cosines_options, direction)},
    HEADING("What is wanted"),
    DELTA_OPTIONS(cosines_options),
    CONFIDENCE_OPTIONS(cosines_options),
    REQUEST_OPTION(cosines_options, "method", "M",
                   "mean, mean-and-deviation, all-iterates or jeffreys (default: all that apply)"),
    REQUEST_OPTION(cosines_options, "select", "S",
                   "threshold of jeffreys: fixed:T, split (default) or max (optimistic)"),
    CLAIM_OPTIONS(cosines_options),
    PROTOCOL_OPTIONS(cosines_options),
    SEED_OPTIONS(cosines_options),
    OUTPUT_OPTIONS(cosines_options),
    END_OPTIONS,
};

static void init(void *options) {
    cosines_options *o = options;
    common_init(&o->common);
}

static int run(void *options, const word_list *words);

const command command_cosines = {
    .name = "cosines",
    .summary = "one-shot estimate of epsilon from canary cosines",
    .operands = "FILE",
    .about = "From the cosines of canaries with the final model, or with --null from their largest "
             "cosines over all rounds. 'mean' fits the mean and keeps the deviation of an absent "
             "canary; 'mean-and-deviation' fits both and is biased upwards; 'jeffreys' is a lower "
             "bound.\n"
             "The estimates are about one attacker, who compares an update with what was released. "
             "They are not bounds.",
    .examples = "dpaudit canaries make --dim 4096 --out c.npy && dpaudit canaries cosines --model "
                "c.npy --count 50 --first 1 --out g.npy && dpaudit cosines g.npy --dim 4096",
    .options = table,
    .size = sizeof(cosines_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
    .has_clock = 1,
};

static int run(void *options, const word_list *words) {
    const cosines_options *o = options;
    const command *cmd = &command_cosines;
    dpa_evidence evidence;
    dpa_error err = {0};
    if (dpa_evidence_cosines(words->items[0], o->null, &evidence, &err) != DPA_OK)
        return library_error(cmd->name, &err);
    if (o->dim != 0) evidence.dim = (size_t)o->dim;
    if (o->direction != NULL)
        (void)snprintf(evidence.direction, sizeof evidence.direction, "%s", o->direction);
    if (o->null == NULL && evidence.dim == 0) {
        dpa_evidence_free(&evidence);
        return usage_error(cmd, "needs --dim D, the number of the model's parameters");
    }
    return judge_and_show(cmd, &evidence, &o->common);
}
