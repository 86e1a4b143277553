/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training runs from YAML, by a libcyaml schema. A number that has a default is optional: NULL when
 * it is not there. Unknown keys are errors with their line. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/lab/train.h"
#include "settings/yaml.h"

typedef struct data_keys {
    dpa_format format;
    char *path, *labels, *test, *test_labels, *members, *heldout;
    char *label, *strip, *separator, *comment, *text;
    char **ignore, **categorical;
    uint32_t ignore_count, categorical_count;
    bool *header;
    uint64_t *vocabulary;
    bool standardise;
} data_keys;

typedef struct train_keys {
    dpa_sampling sampling;
    uint64_t *batch, *steps, *rate_every, *warmup, *average_from, *chunk;
    double *epochs, *q, *rate, *momentum, *decay, *rate_factor, *average_decay;
    dpa_schedule schedule;
    dpa_averaging averaging;
    uint64_t *augment, *shift;
    bool flip;
} train_keys;

typedef struct privacy_keys {
    double *clip, *sigma, *epsilon, *delta;
    uint64_t *microbatch;
} privacy_keys;

typedef struct file_keys {
    data_keys data;
    char *model;
    dpa_loss loss;
    uint64_t seed, *init_seed;
    train_keys train;
    privacy_keys privacy;
    char *output;
} file_keys;

static const cyaml_strval_t formats[] = {{"arrays", DPA_FORMAT_ARRAYS},
                                         {"table", DPA_FORMAT_TABLE},
                                         {"words", DPA_FORMAT_WORDS},
                                         {"cifar", DPA_FORMAT_CIFAR},
                                         {"fann", DPA_FORMAT_FANN}};
static const cyaml_strval_t samplings[] = {{"shuffle", DPA_SAMPLE_SHUFFLE},
                                           {"poisson", DPA_SAMPLE_POISSON}};
static const cyaml_strval_t schedules[] = {{"constant", DPA_RATE_CONSTANT},
                                           {"linear", DPA_RATE_LINEAR},
                                           {"cosine", DPA_RATE_COSINE},
                                           {"steps", DPA_RATE_STEPS}};
static const cyaml_strval_t averagings[] = {
    {"none", DPA_AVERAGE_NONE}, {"ema", DPA_AVERAGE_EMA}, {"mean", DPA_AVERAGE_MEAN}};
static const cyaml_strval_t losses[] = {{"softmax", DPA_LOSS_SOFTMAX}, {"binary", DPA_LOSS_BINARY}};

enum { SOME = CYAML_FLAG_OPTIONAL, PLACE = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL };

#define TEXT(name, flags, type, member)                                                            \
    CYAML_FIELD_STRING_PTR(name, CYAML_FLAG_POINTER | (flags), type, member, 0, CYAML_UNLIMITED)
#define CHOICE(name, type, member, list)                                                           \
    CYAML_FIELD_ENUM(name, SOME | CYAML_FLAG_STRICT, type, member, list, CYAML_ARRAY_LEN(list))

static const cyaml_schema_value_t text_item = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

static const cyaml_schema_field_t data_fields[] = {
    CHOICE("format", data_keys, format, formats),
    TEXT("path", 0, data_keys, path),
    TEXT("labels", SOME, data_keys, labels),
    TEXT("test", SOME, data_keys, test),
    TEXT("test-labels", SOME, data_keys, test_labels),
    TEXT("members", SOME, data_keys, members),
    TEXT("heldout", SOME, data_keys, heldout),
    TEXT("label", SOME, data_keys, label),
    TEXT("strip", SOME, data_keys, strip),
    TEXT("separator", SOME, data_keys, separator),
    TEXT("comment", SOME, data_keys, comment),
    TEXT("text", SOME, data_keys, text),
    CYAML_FIELD_SEQUENCE("ignore", PLACE, data_keys, ignore, &text_item, 0, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE("categorical", PLACE, data_keys, categorical, &text_item, 0,
                         CYAML_UNLIMITED),
    CYAML_FIELD_BOOL_PTR("header", PLACE, data_keys, header),
    CYAML_FIELD_UINT_PTR("vocabulary", PLACE, data_keys, vocabulary),
    CYAML_FIELD_BOOL("standardise", SOME, data_keys, standardise),
    CYAML_FIELD_END};

static const cyaml_schema_field_t train_fields[] = {
    CHOICE("sampling", train_keys, sampling, samplings),
    CYAML_FIELD_UINT_PTR("batch", PLACE, train_keys, batch),
    CYAML_FIELD_FLOAT_PTR("q", PLACE, train_keys, q),
    CYAML_FIELD_UINT_PTR("steps", PLACE, train_keys, steps),
    CYAML_FIELD_FLOAT_PTR("epochs", PLACE, train_keys, epochs),
    CYAML_FIELD_FLOAT_PTR("rate", PLACE, train_keys, rate),
    CYAML_FIELD_FLOAT_PTR("momentum", PLACE, train_keys, momentum),
    CYAML_FIELD_FLOAT_PTR("decay", PLACE, train_keys, decay),
    CHOICE("schedule", train_keys, schedule, schedules),
    CYAML_FIELD_UINT_PTR("rate-every", PLACE, train_keys, rate_every),
    CYAML_FIELD_FLOAT_PTR("rate-factor", PLACE, train_keys, rate_factor),
    CYAML_FIELD_UINT_PTR("warmup", PLACE, train_keys, warmup),
    CHOICE("average", train_keys, averaging, averagings),
    CYAML_FIELD_FLOAT_PTR("average-decay", PLACE, train_keys, average_decay),
    CYAML_FIELD_UINT_PTR("average-from", PLACE, train_keys, average_from),
    CYAML_FIELD_UINT_PTR("augment", PLACE, train_keys, augment),
    CYAML_FIELD_UINT_PTR("shift", PLACE, train_keys, shift),
    CYAML_FIELD_BOOL("flip", SOME, train_keys, flip),
    CYAML_FIELD_UINT_PTR("chunk", PLACE, train_keys, chunk),
    CYAML_FIELD_END};

static const cyaml_schema_field_t privacy_fields[] = {
    CYAML_FIELD_FLOAT_PTR("clip", PLACE, privacy_keys, clip),
    CYAML_FIELD_FLOAT_PTR("sigma", PLACE, privacy_keys, sigma),
    CYAML_FIELD_FLOAT_PTR("epsilon", PLACE, privacy_keys, epsilon),
    CYAML_FIELD_FLOAT_PTR("delta", PLACE, privacy_keys, delta),
    CYAML_FIELD_UINT_PTR("microbatch", PLACE, privacy_keys, microbatch),
    CYAML_FIELD_END};

static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_MAPPING("data", CYAML_FLAG_DEFAULT, file_keys, data, data_fields),
    TEXT("model", 0, file_keys, model),
    CHOICE("loss", file_keys, loss, losses),
    CYAML_FIELD_UINT("seed", SOME, file_keys, seed),
    CYAML_FIELD_UINT_PTR("init-seed", PLACE, file_keys, init_seed),
    CYAML_FIELD_MAPPING("train", SOME, file_keys, train, train_fields),
    CYAML_FIELD_MAPPING("privacy", SOME, file_keys, privacy, privacy_fields),
    TEXT("output", SOME, file_keys, output),
    CYAML_FIELD_END};

static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, file_keys, file_fields)};

typedef struct plan_texts {
    file_keys *keys;
    char *paths[6]; /* made relative to the file */
    size_t path_count;
    const char **ignore, **categorical;
} plan_texts;

void dpa_train_plan_free(dpa_train_plan *plan) {
    if (plan == NULL) return;
    plan_texts *texts = plan->texts;
    if (texts != NULL) {
        dpa__yaml_free(&file_schema, texts->keys);
        for (size_t i = 0; i < texts->path_count; ++i) free(texts->paths[i]);
        free(texts->ignore);
        free(texts->categorical);
        free(texts);
    }
    free(plan);
}

/* The path as seen from the folder of the plan; absolute ones, "-" and ranges of ids stay. */
static dpa_status seen_from(const char *plan_path, const char *path, plan_texts *texts,
                            const char **out, dpa_error *err) {
    *out = path;
    if (path == NULL || strcmp(path, "-") == 0) return DPA_OK;
    char *joined = dpa__path_beside(plan_path, path, err);
    if (joined == NULL) return DPA_NO_MEMORY;
    texts->paths[texts->path_count++] = joined;
    *out = joined;
    return DPA_OK;
}

static int is_range(const char *ids) {
    return ids != NULL && strstr(ids, "..") != NULL && strspn(ids, "0123456789.") == strlen(ids);
}

static dpa_status ended_list(char **items, uint32_t count, const char ***out, dpa_error *err) {
    if (count == 0) return DPA_OK;
    *out = dpa__calloc((size_t)count + 1, sizeof **out, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    for (uint32_t i = 0; i < count; ++i) (*out)[i] = items[i];
    return DPA_OK;
}

static dpa_status take_data(const char *path, plan_texts *texts, dpa_train_plan *plan,
                            dpa_error *err) {
    const data_keys *k = &texts->keys->data;
    dpa_dataset_opts *data = &plan->data;
    dpa_dataset_opts_init(data);
    data->format = k->format;
    data->label = k->label;
    data->strip = k->strip;
    data->comment = k->comment;
    if (k->separator != NULL)
        data->separator = strcmp(k->separator, "tab") == 0 ? '\t' : k->separator[0];
    if (k->text != NULL) data->text = k->text;
    DPA_TAKE(data->has_header, k->header);
    DPA_TAKE(data->vocabulary, k->vocabulary);
    DPA_TRY(ended_list(k->ignore, k->ignore_count, &texts->ignore, err));
    DPA_TRY(ended_list(k->categorical, k->categorical_count, &texts->categorical, err));
    data->ignore = texts->ignore;
    data->categorical = texts->categorical;
    plan->test = *data;
    plan->standardise = k->standardise;
    DPA_TRY(seen_from(path, k->path, texts, &data->path, err));
    DPA_TRY(seen_from(path, k->labels, texts, &data->labels, err));
    DPA_TRY(seen_from(path, k->test, texts, &plan->test.path, err));
    DPA_TRY(seen_from(path, k->test_labels, texts, &plan->test.labels, err));
    plan->members = k->members;
    plan->heldout = k->heldout;
    if (!is_range(k->members)) DPA_TRY(seen_from(path, k->members, texts, &plan->members, err));
    if (!is_range(k->heldout)) DPA_TRY(seen_from(path, k->heldout, texts, &plan->heldout, err));
    return DPA_OK;
}

static void take_training(const file_keys *keys, dpa_train_plan *plan) {
    const train_keys *k = &keys->train;
    dpa_train_opts *o = &plan->train;
    dpa_train_opts_init(o);
    o->seed = keys->seed;
    o->sampling = k->sampling;
    o->schedule = k->schedule;
    o->averaging = k->averaging;
    o->flip = k->flip;
    DPA_TAKE(o->batch, k->batch);
    DPA_TAKE(o->augment, k->augment);
    DPA_TAKE(o->shift, k->shift);
    DPA_TAKE(o->chunk, k->chunk);
    DPA_TAKE(o->microbatch, keys->privacy.microbatch);
    DPA_TAKE(o->rate_every, k->rate_every);
    DPA_TAKE(o->warmup, k->warmup);
    DPA_TAKE(o->average_from, k->average_from);
    DPA_TAKE(o->q, k->q);
    DPA_TAKE(o->rate, k->rate);
    DPA_TAKE(o->momentum, k->momentum);
    DPA_TAKE(o->decay, k->decay);
    DPA_TAKE(o->rate_factor, k->rate_factor);
    DPA_TAKE(o->average_decay, k->average_decay);
    DPA_TAKE(o->clip, keys->privacy.clip);
    DPA_TAKE(o->sigma, keys->privacy.sigma);
    DPA_TAKE(plan->epsilon, keys->privacy.epsilon);
    plan->delta = 1e-5;
    DPA_TAKE(plan->delta, keys->privacy.delta);
    o->steps = 0;
    DPA_TAKE(o->steps, k->steps);
    DPA_TAKE(plan->epochs, k->epochs);
}

static dpa_status check_plan(const char *path, const file_keys *keys, const dpa_train_plan *plan,
                             dpa_error *err) {
    if ((keys->train.steps != NULL) == (keys->train.epochs != NULL))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "train: give either epochs or steps");
    if (keys->train.epochs != NULL && !(plan->epochs > 0.0 && plan->epochs <= 1e6))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "train: epochs %g: expected 0 to 1e6",
                              plan->epochs);
    const char *separator = keys->data.separator;
    if (separator != NULL && strlen(separator) > 1 && strcmp(separator, "tab") != 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "data: separator \"%.20s\": expected one character, or tab",
                              separator);
    if (keys->train.q != NULL && keys->train.batch == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "train: q needs batch, what the sum is divided by");
    if (keys->privacy.epsilon != NULL && keys->privacy.sigma != NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "privacy: give either epsilon or sigma");
    if (keys->privacy.epsilon != NULL && !(plan->epsilon > 0.0 && isfinite(plan->epsilon)))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "privacy: epsilon %g: expected more than 0",
                              plan->epsilon);
    if (keys->privacy.epsilon != NULL && keys->privacy.clip == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "privacy: epsilon needs clip");
    if (!(plan->delta > 0.0 && plan->delta < 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "privacy: delta %g: expected more than 0, less than 1", plan->delta);
    if (plan->train.batch == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "train: batch 0: expected at least 1");
    return DPA_OK;
}

dpa_status dpa_train_plan_read(const char *path, dpa_train_plan **out, dpa_error *err) {
    dpa_train_plan *plan = DPA_NEW(dpa_train_plan, err);
    plan_texts *texts = plan != NULL ? DPA_NEW(plan_texts, err) : NULL;
    if (texts == NULL) {
        free(plan);
        return DPA_NO_MEMORY;
    }
    plan->texts = texts;
    dpa_status status = dpa__yaml_read(path, &file_schema, (void **)&texts->keys, err);
    if (status == DPA_OK) status = take_data(path, texts, plan, err);
    if (status == DPA_OK) {
        const file_keys *keys = texts->keys;
        plan->layers = keys->model;
        plan->loss = keys->loss;
        plan->output = keys->output;
        plan->init_seed = keys->init_seed != NULL ? *keys->init_seed : keys->seed;
        take_training(keys, plan);
        status = check_plan(path, keys, plan, err);
    }
    if (status != DPA_OK) {
        dpa_train_plan_free(plan);
        return dpa__yaml_locate(status, err);
    }
    *out = plan;
    return DPA_OK;
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
