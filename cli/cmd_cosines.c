/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit cosines: one-shot estimates from the cosines of canaries. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate/cosines/cosine.h"
#include "output.h"

typedef struct cosines_options {
    common_options common;
    uint64_t dim, rounds;
    double times, q;
    const char *null, *direction;
} cosines_options;

#define AT(field) offsetof(cosines_options, field)

static const option table[] = {
    HEADING("Evidence"),
    {"dim", OPTION_COUNT, "D",
     "dimension of the model (not needed with --null, nor where FILE is an NPZ that says it)",
     AT(dim)},
    {"null", OPTION_FILE, "FILE",
     "all iterates: FILE and this one are largest cosines over the rounds, here of canaries that "
     "did not take part",
     AT(null)},
    {"direction", OPTION_CHOICE, "sphere|signs|hadamard",
     "what the canaries were (see canaries --direction; default: what FILE says, or sphere)",
     AT(direction)},
    HEADING("Known rounds: the participation that the claim is about"),
    {"participations", OPTION_NUMBER, "R",
     "a client is in up to R rounds that the attacker knows (default: as the canaries were)",
     AT(times)},
    {"q", OPTION_NUMBER, "Q", "or: in each of --rounds rounds with probability Q (Poisson), hidden",
     AT(q)},
    {"rounds", OPTION_COUNT, "T", "with --q: the rounds of the training", AT(rounds)},
    HEADING("What is wanted"),
    DELTA_OPTIONS(cosines_options),
    CONFIDENCE_OPTIONS(cosines_options),
    REQUEST_OPTION(
        cosines_options, "method", "M",
        "known-rounds, mean, mean-corrected, mean-and-deviation, all-iterates, jeffreys or scan "
        "(default: all that apply)"),
    REQUEST_OPTION(
        cosines_options, "family", "F",
        "known rounds: gaussian (default), or dp for any mechanism with noise of its own for each "
        "canary"),
    REQUEST_OPTION(
        cosines_options, "select", "S",
        "threshold of jeffreys: fixed:T, split (default), simultaneous or max (optimistic)"),
    CLAIM_OPTIONS(cosines_options),
    PROTOCOL_OPTIONS(cosines_options),
    SEED_OPTIONS(cosines_options),
    OUTPUT_OPTIONS(cosines_options),
    END_OPTIONS,
};

static void init(void *options) {
    cosines_options *o = options;
    common_init(&o->common);
    o->times = o->q = NAN;
}

/* Sets how often a canary takes part, for the training and for the noise that the file claims. */
static void take_participation(const cosines_options *o, dpa_evidence *e) {
    const int is_poisson = !isnan(o->q);
    if (!is_poisson && isnan(o->times)) return;
    if (!is_poisson) e->training.participations = o->times;
    e->training.q = o->q;
    if (is_poisson) e->training.steps = o->rounds;
    if (isnan(e->claim.sigma)) return;
    e->claim.q = is_poisson ? o->q : 1.0;
    e->claim.steps = is_poisson ? o->rounds : (uint64_t)ceil(o->times);
}

/* Applies the command line where the file does not say otherwise. Returns 0 to go on. */
static int take_options(const cosines_options *o, dpa_evidence *e) {
    const int is_known = dpa__evidence_find(e, "members") != NULL;
    if (o->dim != 0 && e->dim != 0 && o->dim != e->dim)
        return usage_error("--dim %llu: the file says %zu; leave it out",
                           (unsigned long long)o->dim, e->dim);
    if (o->direction != NULL && e->direction[0] != '\0' && strcmp(o->direction, e->direction) != 0)
        return usage_error("--direction %s: the file says %s; leave it out", o->direction,
                           e->direction);
    if (o->dim != 0) e->dim = (size_t)o->dim;
    if (o->direction != NULL) (void)snprintf(e->direction, sizeof e->direction, "%s", o->direction);
    if (!is_known && o->null == NULL && dpa__evidence_find(e, "observed") == NULL && e->dim == 0)
        return usage_error("needs --dim D, the number of the model's parameters");
    if (!is_known && (!isnan(o->q) || !isnan(o->times)))
        return usage_error("--participations and --q are for known rounds (canaries known)");
    if (isnan(o->q) != (o->rounds == 0)) return usage_error("--q and --rounds go together");
    if (!isnan(o->q) && !isnan(o->times)) return usage_error("--participations or --q, not both");
    if (!isnan(o->common.claim.sigma) && (!isnan(o->q) || !isnan(o->times)))
        return usage_error("--claim-sigma says how often by --claim-q and --claim-steps: leave "
                           "%s out",
                           isnan(o->q) ? "--participations" : "--q and --rounds");
    take_participation(o, e);
    return 0;
}

static int run(void *options, const word_list *words) {
    const cosines_options *o = options;
    dpa_evidence evidence;
    dpa_error err = {0};
    if (dpa__evidence_cosines(words->items[0], o->null, &evidence, &err) != DPA_OK)
        return library_error(&err);
    const int wrong = take_options(o, &evidence);
    if (wrong == 0) return judge_and_show(&evidence, &o->common);
    dpa__evidence_clear(&evidence);
    return wrong;
}

const command command_cosines = {
    .name = "cosines",
    .summary = "one-shot estimate of epsilon from canary cosines",
    .operands = "FILE",
    .about =
        "Estimates epsilon from the cosines of canaries with the final model or, with --null, from "
        "their largest cosines over all rounds. 'mean' fits the mean and keeps the deviation of an "
        "absent "
        "canary, 'mean-corrected' takes the length of the other canaries out of the model, "
        "'mean-and-deviation' fits both and is biased upwards; 'jeffreys' (a threshold) and "
        "'scan' (the order of all cosines, no prior) are lower bounds that count the canaries as "
        "independent; --method scan lets the latter decide about a claim.\n"
        "The estimates are about one attacker, who compares an update with what was released. "
        "They are not bounds.\n"
        "An NPZ of 'canaries known' gives a bound instead, 'known-rounds': canaries that were "
        "in are ranked among those that stayed at home, each over its own rounds, and the "
        "accountant turns that into epsilon of the whole training. An NPZ written by 'canaries' "
        "holds dimension and direction: --dim and --direction are not needed then.",
    .examples = "dpaudit canaries make --dim 4096 --out c.npy && dpaudit canaries cosines --model "
                "c.npy --count 50 --first 1 --out g.npy && dpaudit cosines g.npy --dim 4096",
    .options = table,
    .size = sizeof(cosines_options),
    .words = {1, 1},
    .init = init,
    .run = run,
    .has_clock = 1,
};
