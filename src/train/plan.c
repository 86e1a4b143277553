/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads training files (YAML). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "settings/settings.h"
#include "train/trainer.h"

/* A plan, and keys whose text must be converted before it goes into the plan. */
typedef struct read_plan {
    dpa_train_plan plan; /* must be first: the caller gets and frees a pointer to it */
    const char *separator;
} read_plan;

static const dpa__word formats[] = {{"arrays", DPA_FORMAT_ARRAYS}, {"table", DPA_FORMAT_TABLE},
                                    {"words", DPA_FORMAT_WORDS},   {"cifar", DPA_FORMAT_CIFAR},
                                    {"fann", DPA_FORMAT_FANN},     {0}};
static const dpa__word samplings[] = {
    {"shuffle", DPA_SAMPLE_SHUFFLE}, {"poisson", DPA_SAMPLE_POISSON}, {0}};
static const dpa__word schedules[] = {{"constant", DPA_RATE_CONSTANT},
                                      {"linear", DPA_RATE_LINEAR},
                                      {"cosine", DPA_RATE_COSINE},
                                      {"steps", DPA_RATE_STEPS},
                                      {0}};
static const dpa__word averagings[] = {
    {"none", DPA_AVERAGE_NONE}, {"ema", DPA_AVERAGE_EMA}, {"mean", DPA_AVERAGE_MEAN}, {0}};
static const dpa__word losses[] = {{"softmax", DPA_LOSS_SOFTMAX}, {"binary", DPA_LOSS_BINARY}, {0}};
static const dpa__range many_epochs = {0, 1e6, 1, 0};

#define AT(member) offsetof(read_plan, plan.member)
#define END                                                                                        \
    { 0 }

static const dpa__field file_fields[] = {
    {"model", DPA__ANY, AT(layers), NULL,
     "layers as words, such as mlp:512,256; the output layer is added; \"\" is logistic regression",
     NULL, 1},
    {"loss", DPA__WORD, AT(loss), losses, "what is made small"},
    {"seed", DPA__COUNT, AT(train.seed), NULL, "of sampling, noise and augmentation"},
    {"init-seed", DPA__COUNT, AT(init_seed), NULL, "of the first weights", "seed"},
    {"output", DPA__ANY, AT(output), NULL, "folder for the results"},
    END};

static const dpa__field data_fields[] = {
    {"format", DPA__WORD, AT(data.format), formats,
     "NPY, IDX or NPZ arrays, a CSV table, a bag of words, CIFAR-10 binaries, FANN text"},
    {"path", DPA__PATH, AT(data.path), NULL, "the features", NULL, 1},
    {"labels", DPA__PATH, AT(data.labels), NULL, "of arrays: their labels", "in the NPZ"},
    {"test", DPA__PATH, AT(test.path), NULL, "held-out data in a file of their own"},
    {"test-labels", DPA__PATH, AT(test.labels), NULL, "their labels"},
    {"members", DPA__ANY, AT(members), NULL,
     "ids to train on: 0..5000 (5000 is not in), or a file with one id a line", "all"},
    {"heldout", DPA__ANY, AT(heldout), NULL,
     "ids to evaluate on; of `path` when there is no `test`", "all of test"},
    {"label", DPA__ANY, AT(data.label), NULL, "of tables and words: the column of the label",
     "the last; of words label"},
    {"strip", DPA__ANY, AT(data.strip), NULL, "characters cut from the end of labels"},
    {"separator", DPA__ANY, offsetof(read_plan, separator), NULL,
     "of tables: one character, or tab", ","},
    {"comment", DPA__ANY, AT(data.comment), NULL, "of tables: lines that start so are skipped"},
    {"text", DPA__ANY, AT(data.text), NULL, "of words: the column of the text"},
    {"ignore", DPA__TEXTS, AT(data.ignore), NULL, "of tables: columns to leave out", "none"},
    {"categorical", DPA__TEXTS, AT(data.categorical), NULL,
     "of tables: numeric columns to one-hot all the same", "none"},
    {"header", DPA__FLAG, AT(data.has_header), NULL, "of tables: the first line has names"},
    {"vocabulary", DPA__SIZE, AT(data.vocabulary), NULL, "of words: how many"},
    {"standardise", DPA__FLAG, AT(standardise), NULL,
     "mean 0 and deviation 1 by the members only; columns of 0 and 1 stay"},
    END};

static const dpa__field train_fields[] = {
    {"sampling", DPA__WORD, AT(train.sampling), samplings, "how batches are made"},
    {"batch", DPA__SIZE, AT(train.batch), &dpa__some, "what the sum of a batch is divided by"},
    {"q", DPA__NUMBER, AT(train.q), NULL, "sampling rate of Poisson batches", "batch/members"},
    {"steps", DPA__COUNT, AT(train.steps), NULL, "how long; or epochs", "none"},
    {"epochs", DPA__NUMBER, AT(epochs), &many_epochs, "how long; or steps", "none"},
    {"rate", DPA__NUMBER, AT(train.rate), NULL, "learning rate"},
    {"momentum", DPA__NUMBER, AT(train.momentum), NULL, "of the steps"},
    {"decay", DPA__NUMBER, AT(train.decay), NULL, "of the weights, added to the gradient"},
    {"schedule", DPA__WORD, AT(train.schedule), schedules, "how the rate changes"},
    {"rate-every", DPA__COUNT, AT(train.rate_every), NULL, "of schedule steps: so many"},
    {"rate-factor", DPA__NUMBER, AT(train.rate_factor), NULL, "of schedule steps: times this"},
    {"warmup", DPA__COUNT, AT(train.warmup), NULL, "steps of linear rise at the start"},
    {"average", DPA__WORD, AT(train.averaging), averagings,
     "what is evaluated and saved instead of the last weights"},
    {"average-decay", DPA__NUMBER, AT(train.average_decay), NULL, "of average ema"},
    {"average-from", DPA__COUNT, AT(train.average_from), NULL, "of average mean: first step"},
    {"augment", DPA__SIZE, AT(train.augment), NULL,
     "copies of an example whose mean gradient is clipped as one"},
    {"shift", DPA__SIZE, AT(train.shift), NULL, "augmentation: at most so many pixels"},
    {"flip", DPA__FLAG, AT(train.flip), NULL, "augmentation: mirror images"},
    {"chunk", DPA__SIZE, AT(train.chunk), NULL, "rows that go through the network at a time",
     "by the cache"},
    END};

static const dpa__field privacy_fields[] = {
    {"clip", DPA__NUMBER, AT(train.clip), NULL, "gradients are clipped to this norm",
     "no clipping"},
    {"sigma", DPA__NUMBER, AT(train.sigma), NULL, "noise multiplier"},
    {"epsilon", DPA__NUMBER, AT(epsilon), &dpa__finite,
     "the target that sigma is found for; Poisson batches only", "none"},
    {"delta", DPA__NUMBER, AT(delta), &dpa__probability, "where epsilon is told"},
    {"microbatch", DPA__SIZE, AT(train.microbatch), NULL,
     "examples whose mean gradient is clipped as one"},
    END};

static const dpa__section sections[] = {{"", file_fields, 0},
                                        {"data", data_fields, 1},
                                        {"train", train_fields, 0},
                                        {"privacy", privacy_fields, 0},
                                        {0}};

static void init(read_plan *r) {
    *r = (read_plan){.plan.delta = 1e-5};
    dpa_dataset_opts_init(&r->plan.data);
    dpa_train_opts_init(&r->plan.train);
    r->plan.train.steps = 0;
}

void dpa__train_plan_describe(dpa__text *out) {
    read_plan defaults;
    init(&defaults);
    for (const dpa__section *s = sections; s->name != NULL; ++s)
        dpa__settings_describe(s, &defaults, out);
}

void dpa_train_plan_free(dpa_train_plan *plan) {
    if (plan == NULL) return;
    dpa__settings_close(plan->texts);
    free(plan);
}

/* Ids are a range, or a file relative to the folder of the plan. */
static dpa_status take_ids(dpa__settings *settings, const char **ids, dpa_error *err) {
    if (*ids == NULL) return DPA_OK;
    if (strstr(*ids, "..") != NULL && strspn(*ids, "0123456789.") == strlen(*ids)) return DPA_OK;
    return dpa__settings_path(settings, *ids, ids, err);
}

static dpa_status take(dpa__settings *settings, read_plan *r, dpa_error *err) {
    dpa_train_plan *plan = &r->plan;
    for (const dpa__section *s = sections; s->name != NULL; ++s)
        DPA_TRY(dpa__settings_take(settings, s->name, r, err));
    if (!dpa__settings_has(settings, "", "init-seed")) plan->init_seed = plan->train.seed;
    if (r->separator != NULL)
        plan->data.separator = strcmp(r->separator, "tab") == 0 ? '\t' : r->separator[0];
    const char *test = plan->test.path, *test_labels = plan->test.labels;
    plan->test = plan->data;
    plan->test.path = test;
    plan->test.labels = test_labels;
    DPA_TRY(take_ids(settings, &plan->members, err));
    return take_ids(settings, &plan->heldout, err);
}

static dpa_status check_plan(const char *path, const dpa__settings *s, const read_plan *r,
                             dpa_error *err) {
    const char *wrong = NULL;
    if (dpa__settings_has(s, "train", "steps") == dpa__settings_has(s, "train", "epochs"))
        wrong = "train: give either epochs or steps";
    else if (dpa__settings_has(s, "train", "q") && !dpa__settings_has(s, "train", "batch"))
        wrong = "train: q needs batch, what the sum is divided by";
    else if (r->plan.epsilon > 0.0 && dpa__settings_has(s, "privacy", "sigma"))
        wrong = "privacy: give either epsilon or sigma";
    else if (r->plan.epsilon > 0.0 && !dpa__settings_has(s, "privacy", "clip"))
        wrong = "privacy: epsilon needs clip";
    if (wrong != NULL) return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", wrong);
    if (r->separator != NULL && strlen(r->separator) > 1 && strcmp(r->separator, "tab") != 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "data: separator \"%.20s\": expected one character, or tab",
                              r->separator);
    return DPA_OK;
}

dpa_status dpa_train_plan_read(const char *path, dpa_train_plan **out, dpa_error *err) {
    read_plan *r = DPA_NEW(read_plan, err);
    dpa__settings *settings = NULL;
    if (r == NULL) return DPA_NO_MEMORY;
    init(r);
    dpa_status status = dpa__settings_open(path, sections, &settings, err);
    r->plan.texts = settings;
    if (status == DPA_OK) status = take(settings, r, err);
    if (status == DPA_OK) status = dpa__settings_locate(check_plan(path, settings, r, err), err);
    if (status == DPA_OK)
        *out = &r->plan;
    else
        dpa_train_plan_free(&r->plan);
    return status;
}

static dpa_status load(const dpa_train_plan *plan, dpa_train_data *d, dpa_error *err) {
    DPA_TRY(dpa_dataset_read(&plan->data, NULL, &d->data, err));
    if (plan->test.path != NULL) DPA_TRY(dpa_dataset_read(&plan->test, d->data, &d->test, err));
    char all[48];
    (void)snprintf(all, sizeof all, "0..%zu", dpa_dataset_rows(d->data));
    DPA_TRY(dpa_ids_read(plan->members != NULL ? plan->members : all, dpa_dataset_rows(d->data),
                         &d->members, &d->member_count, err));
    if (d->member_count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, plan->members, "a list of no members");
    const dpa_dataset *held = d->test != NULL ? d->test : d->data;
    (void)snprintf(all, sizeof all, "0..%zu", dpa_dataset_rows(held));
    if (plan->heldout != NULL || d->test != NULL)
        DPA_TRY(dpa_ids_read(plan->heldout != NULL ? plan->heldout : all, dpa_dataset_rows(held),
                             &d->heldout, &d->heldout_count, err));
    if (plan->standardise)
        DPA_TRY(dpa_dataset_standardise(d->data, d->members, d->member_count, d->test, err));
    return DPA_OK;
}

dpa_status dpa_train_plan_load(const dpa_train_plan *plan, dpa_train_data *out, dpa_error *err) {
    *out = (dpa_train_data){0};
    const dpa_status status = load(plan, out, err);
    if (status != DPA_OK) dpa_train_data_free(out);
    return status;
}

void dpa_train_data_free(dpa_train_data *d) {
    dpa_dataset_free(d->data);
    dpa_dataset_free(d->test);
    free(d->members);
    free(d->heldout);
    *d = (dpa_train_data){0};
}

double dpa_train_plan_q(const dpa_train_plan *plan, size_t members) {
    const dpa_train_opts *o = &plan->train;
    if (o->sampling == DPA_SAMPLE_POISSON)
        return o->q > 0.0 ? o->q : (double)o->batch / (double)members;
    return o->batch == members ? 1.0 : (double)NAN;
}

uint64_t dpa_train_plan_steps(const dpa_train_plan *plan, size_t members) {
    if (!(plan->epochs > 0.0)) return plan->train.steps;
    const double per_epoch = plan->train.sampling == DPA_SAMPLE_POISSON
                                 ? 1.0 / dpa_train_plan_q(plan, members)
                                 : floor((double)members / (double)plan->train.batch);
    return (uint64_t)fmin(ceil(plan->epochs * per_epoch - 1e-6), 1e18); /* a rate may be tiny */
}
