/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data sets, models, trainers, checkpoints and plans with their first, second, … allocation
 * failing. */
#include "check.h"

#include "fault/alloc.h"

#include <jansson.h>

#include "base/data.h"
#include "dpaudit/lab/train.h"

static dpa_error err;

static void *json_memory(size_t size) {
    return malloc(size);
}

static const char *temp(const char *name) {
    static char path[8][256];
    static int next;
    char *out = path[next++ % 8];
    (void)snprintf(out, sizeof path[0], "/tmp/dpa_fault_train_%d_%s", (int)getpid(), name);
    return out;
}

static const char *put(const char *name, const char *text) {
    const char *path = temp(name);
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    return path;
}

static void readers(void **state) {
    (void)state;
    dpa_dataset_opts opts;
    dpa_dataset *data = NULL, *test = NULL;
    dpa_status status;
    dpa_dataset_opts_init(&opts);
    opts.format = DPA_FORMAT_TABLE;
    opts.path = put("t.csv", "a,b,c\n1,u,x\n2,v,y\n3,u,x\n");
    FAULT_EVERY(status, dpa_dataset_read(&opts, NULL, &data, &err), (void)0);
    FAULT_EVERY(status, dpa_dataset_read(&opts, data, &test, &err), dpa_dataset_free(test));
    dpa_dataset_free(data);
    opts.format = DPA_FORMAT_WORDS;
    opts.separator = '\t';
    opts.path = put("w.tsv", "sentence\tlabel\na b c\t0\nb c d\t1\n");
    FAULT_EVERY(status, dpa_dataset_read(&opts, NULL, &data, &err), dpa_dataset_free(data));
    opts.format = DPA_FORMAT_FANN;
    opts.path = put("f.data", "2 1 1\n1\n0\n2\n1\n");
    FAULT_EVERY(status, dpa_dataset_read(&opts, NULL, &data, &err), dpa_dataset_free(data));
    size_t *ids, count;
    const char *list = put("ids", "1\n0\n");
    FAULT_EVERY(status, dpa_ids_read(list, 2, &ids, &count, &err), free(ids));
    (void)unlink(temp("t.csv")), (void)unlink(temp("w.tsv")), (void)unlink(temp("f.data"));
    (void)unlink(temp("ids"));
}

static void training(void **state) {
    (void)state;
    float x[40 * 16];
    int32_t label[40];
    for (int i = 0; i < 40 * 16; ++i) x[i] = (float)(i % 7);
    for (int i = 0; i < 40; ++i) label[i] = i % 2;
    const dpa_shape shape = {4, 4, 1};
    dpa_dataset *data = NULL;
    dpa_model *model = NULL;
    dpa_trainer *trainer = NULL;
    dpa_status status;
    FAULT_EVERY(status, dpa_dataset_new(x, label, 40, shape, 2, &data, &err), (void)0);
    FAULT_EVERY(status,
                dpa_model_new("conv:2,3 norm:1 relu", shape, 2, DPA_LOSS_SOFTMAX, &model, &err),
                (void)0);
    dpa_model_init(model, 1);
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.batch = 8;
    opts.clip = 1.0;
    opts.sigma = 1.0;
    opts.averaging = DPA_AVERAGE_EMA;
    FAULT_EVERY(status, dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, &err), (void)0);
    assert_ok(dpa_trainer_step(trainer, NULL, &err));
    dpa_utility utility;
    FAULT_EVERY(status, dpa_model_evaluate(model, data, NULL, 40, NULL, NULL, &utility, &err),
                (void)0);
    float grad[64], input[16];
    FAULT_EVERY(status, dpa_model_gradient(model, x, 0, grad, input, &err), (void)0);
    assert_ok(dpa_model_save(model, temp("m.npz"), &err));
    assert_ok(dpa_trainer_save(trainer, temp("c.npz"), &err));
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
    (void)unlink(temp("m.npz")), (void)unlink(temp("c.npz"));
}

static void plans(void **state) {
    (void)state;
    dpa_train_plan *plan = NULL;
    dpa_status status;
    const char *path = put("p.yaml", "data: {path: x.csv, ignore: [a, b]}\nmodel: mlp:4\n"
                                     "train: {steps: 3, rate: 0.5}\nprivacy: {clip: 1}\n");
    FAULT_EVERY(status, dpa_train_plan_read(path, &plan, &err), dpa_train_plan_free(plan));
    (void)unlink(path);
}

int main(void) {
    json_set_alloc_funcs(json_memory, free);
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers), cmocka_unit_test(training),
                                       cmocka_unit_test(plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
