/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit losses: Epsilon* of released models. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output.h"

typedef struct losses_options {
    common_options common;
    word_list train, heldout, train_labels, heldout_labels;
    const char *loss, *goodness;
    dpa_losses_query query;
} losses_options;

#define AT(field) offsetof(losses_options, field)

static const option table[] = {
    HEADING("The losses of a model (each may be given several times: one model each)"),
    {"train", OPTION_LIST, "FILE", "losses of training points, or predictions with --train-labels",
     AT(train)},
    {"heldout", OPTION_LIST, "FILE", "the same for points that were not trained on", AT(heldout)},
    {"train-labels", OPTION_LIST, "FILE", "labels: the training file holds predicted probabilities",
     AT(train_labels)},
    {"heldout-labels", OPTION_LIST, "FILE", "labels of the held-out points", AT(heldout_labels)},
    {"loss", OPTION_CHOICE, "log-odds|squared|absolute",
     "loss of a prediction: of a probability (default), or of the number that a regression "
     "predicts",
     AT(loss)},
    {"whole-training-set", OPTION_FLAG, NULL,
     "the training losses are those of all training points: their rates are exact",
     AT(query.opts.whole_training_set)},
    HEADING("What is wanted"),
    {"group", OPTION_TEXT, "COLUMN",
     "also each value of this column of the table by itself; their bounds hold together",
     AT(query.group)},
    {"records", OPTION_COUNT, "N", "also the N training records that stand out most",
     AT(query.records)},
    REQUEST_OPTION(losses_options, "method", "M",
                   "binormal, empirical, normal, tail, mixture or simultaneous (default: all)"),
    DELTA_OPTIONS(losses_options),
    CLAIM_OPTION(losses_options, "claim-epsilon", "E",
                 "the promised epsilon: exit 1 when --resampled refutes it"),
    CLAIM_OPTION(losses_options, "claim-delta", "D", "its delta (default: --delta)"),
    CLAIM_OPTION(losses_options, "neighbours", "add-remove|replace-one",
                 "of the claim on the mechanism (default add-remove, which holds for both)"),
    {"resampled", OPTION_FLAG, NULL,
     "every model was trained on its own random draw of the data: bound the mechanism too",
     AT(query.opts.resampled)},
    REQUEST_OPTION(losses_options, "confidence", "P", "confidence of intervals (default 0.95)"),
    {"bootstrap", OPTION_COUNT, "N", "replicates for the intervals (default 200; 0: none)",
     AT(query.opts.bootstrap)},
    {"components", OPTION_COUNT, "K", "components of the mixtures (default: chosen by BIC, to 20)",
     AT(query.opts.mixture.components)},
    {"transform", OPTION_WORD, "paper|quantile",
     "scale of the normal and mixture fits: from the extreme losses, or from the quantiles at "
     "0.001 and 0.999 (default paper)",
     AT(query.opts.mixture.transform)},
    {"goodness", OPTION_TEXT, "paper|K",
     "paper: judge fits by the paper's Kolmogorov-Smirnov procedure instead of Anderson-Darling; "
     "K: "
     "also its p-values for 1 to K components (slow)",
     AT(goodness)},
    SEED_OPTIONS(losses_options),
    OUTPUT_OPTIONS(losses_options),
    END_OPTIONS,
};

static void init(void *options) {
    losses_options *o = options;
    common_init(&o->common);
    dpa__losses_query_init(&o->query);
}

static const char *word_at(const word_list *list, size_t index) {
    return index < list->count ? list->items[index] : NULL;
}

static int is_list(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static int check_counts(const losses_options *o, const word_list *words) {
    const size_t n = o->train.count, labels = o->train_labels.count;
    if (n != o->heldout.count)
        return usage_error("--train and --heldout: as many of one as of the other");
    if (labels != o->heldout_labels.count || (labels != 0 && labels != n))
        return usage_error("--train-labels and --heldout-labels: one each per model, or none");
    if (n + words->count == 0) return usage_error("give FILE, or --train and --heldout");
    for (size_t i = 0; i < words->count; ++i)
        if (is_list(words->items[i]))
            return usage_error("%s is one list of numbers: give --train FILE and --heldout FILE",
                               words->items[i]);
    return 0;
}

/* Parses "paper" or a number of components. */
static int take_goodness(losses_options *o) {
    char *end = NULL;
    if (o->goodness == NULL) return 0;
    o->query.opts.paper_goodness = strcmp(o->goodness, "paper") == 0;
    if (o->query.opts.paper_goodness) return 0;
    const long count = strtol(o->goodness, &end, 10);
    if (*end != '\0' || end == o->goodness || count < 1 || count > DPA_MIXTURE_MAX)
        return usage_error("--goodness: 'paper' or 1 to 20 components");
    o->query.goodness = (size_t)count;
    return 0;
}

/* The files of every model into the query. */
static dpa_status add_models(losses_options *o, const word_list *words, dpa_error *err) {
    dpa_losses_query *query = &o->query;
    for (size_t i = 0; i < o->train.count; ++i)
        DPA_TRY(dpa__losses_query_files(query, o->train.items[i], o->heldout.items[i],
                                        word_at(&o->train_labels, i),
                                        word_at(&o->heldout_labels, i), o->loss, err));
    for (size_t i = 0; i < words->count; ++i)
        DPA_TRY(dpa__losses_query_files(query, words->items[i], NULL, NULL, NULL, o->loss, err));
    return DPA_OK;
}

static int run(void *options, const word_list *words) {
    losses_options *o = options;
    const int failed = check_counts(o, words);
    if (failed) return failed;
    if (take_goodness(o)) return EXIT_USAGE;
    o->query.opts.replace_one = o->common.claim.replace_one;
    dpa_report *report = NULL;
    dpa_error err;
    o->common.protocol.request.claim_epsilon = o->common.claim.epsilon;
    o->common.protocol.request.claim_delta = o->common.claim.delta;
    o->common.protocol.request.progress = progress_start();
    dpa_status status = add_models(o, words, &err);
    if (status == DPA_OK)
        status = dpa__audit_losses(&o->query, &o->common.protocol.request, &report, &err);
    progress_end();
    dpa__losses_query_free(&o->query);
    return status == DPA_OK ? show_report(report, &o->common) : library_error(&err);
}

const command command_losses = {
    .name = "losses",
    .summary = "Epsilon* of a released model from its losses",
    .operands = "[FILE...]",
    .about =
        "For an auditor who can neither retrain nor insert anything: how well a threshold on the "
        "loss tells this model's training points from others (Negoescu et al., Epsilon*). The "
        "number is about this one model instance; it does not bound the training mechanism, unless "
        "several models are given that were each trained on their own random draw of the data "
        "(--resampled).\n"
        "FILE is an NPZ with the arrays train and heldout (and train_labels, heldout_labels when "
        "they are predictions), or a CSV with the columns loss,member; one model each. Predictions "
        "are probabilities of label 1, or one column per class.",
    .examples = "dpaudit losses losses.csv --delta 1e-5\n"
                "dpaudit losses losses.csv --method normal --bootstrap 1000 --json\n"
                "dpaudit losses losses.csv --goodness 3 --bootstrap 0\n"
                "dpaudit losses losses.csv --method binormal --records 5",
    .options = table,
    .size = sizeof(losses_options),
    .words = {0, (size_t)-1},
    .init = init,
    .run = run,
};
