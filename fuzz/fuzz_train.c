/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file of the trainer: the first byte says which kind (a table, words, CIFAR, FANN,
 * a plan, the words of a model). The rest is read: a result or a clean error. */
#include "fuzz.h"

#include <string.h>

#include "dpaudit/lab/train.h"

static void try_data(const char *path, dpa_format format) {
    dpa_dataset_opts opts;
    dpa_dataset_opts_init(&opts);
    opts.format = format;
    opts.path = path;
    dpa_dataset *set = NULL, *twin = NULL;
    dpa_error err;
    if (dpa_dataset_read(&opts, NULL, &set, &err) != DPA_OK) return;
    /* What the training part was made from, it must itself understand. */
    if (dpa_dataset_read(&opts, set, &twin, &err) != DPA_OK) abort();
    if (dpa_dataset_rows(set) != dpa_dataset_rows(twin)) abort();
    dpa_dataset_free(twin);
    dpa_dataset_free(set);
}

static void try_plan(const char *path) {
    dpa_train_plan *plan = NULL;
    dpa_error err;
    if (dpa_train_plan_read(path, &plan, &err) == DPA_OK) dpa_train_plan_free(plan);
}

static void try_words(const uint8_t *bytes, size_t size) {
    char words[256] = {0};
    memcpy(words, bytes, size < sizeof words - 1 ? size : sizeof words - 1);
    dpa_model *model = NULL;
    dpa_error err;
    /* No weights are made for models that would not fit a small machine. */
    if (strlen(words) > 24) return;
    if (dpa_model_new(words, (dpa_shape){6, 5, 2}, 3, DPA_LOSS_SOFTMAX, &model, &err) == DPA_OK)
        dpa_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    char path[FUZZ_PATH];
    const int file = fuzz_file(data + 1, size - 1, path);
    if (file < 0) return 0;
    if (data[0] == 't') try_data(path, DPA_FORMAT_TABLE);
    if (data[0] == 'w') try_data(path, DPA_FORMAT_WORDS);
    if (data[0] == 'c') try_data(path, DPA_FORMAT_CIFAR);
    if (data[0] == 'f') try_data(path, DPA_FORMAT_FANN);
    if (data[0] == 'p') try_plan(path);
    if (data[0] == 'm') try_words(data + 1, size - 1);
    (void)close(file);
    return 0;
}
