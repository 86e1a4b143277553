/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trainer's end of the protocol: what reaches the trainer of a request, what it answers, and
 * how mistakes are told. The trainer is one that notes what it is asked. */
#include "check.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/write.h"
#include "game/trainer.h"

static dpa_error err;
static char in_path[64], out_path[64];
static dpa__text noted;

static void note_ids(const char *what, const size_t *ids, size_t count) {
    dpa__text_printf(&noted, "%s", what);
    for (size_t i = 0; i < count; ++i) dpa__text_printf(&noted, " %zu", ids[i]);
    dpa__text_add(&noted, "; ");
}

static void note_order(const dpa__order *o) {
    note_ids("members", o->members, o->count);
    dpa__text_printf(&noted, "seed %llx init %llx look %llx; ", (unsigned long long)o->seed,
                     (unsigned long long)o->init, (unsigned long long)o->look_seed);
}

static void answer_question(const dpa__question *ask) {
    note_ids("ids", ask->ids, ask->count);
    dpa__text_printf(&noted, "signal %d; ", (int)ask->signal);
    for (size_t i = 0; i < ask->count; ++i) ask->signals[i] = 0.5 * (double)ask->ids[i];
    if (ask->accuracy != NULL) *ask->accuracy = 0.75;
}

static dpa_status train(dpa__trainer *t, const dpa__order *order, const dpa__question *ask,
                        dpa_error *e) {
    (void)t, (void)e;
    note_order(order);
    answer_question(ask);
    return DPA_OK;
}

static dpa_status start(dpa__trainer *t, const dpa__order *order, dpa_error *e) {
    (void)e;
    note_order(order);
    t->size = 3;
    return DPA_OK;
}

static dpa_status batch(dpa__trainer *t, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *e) {
    (void)t, (void)e;
    dpa__text_printf(&noted, "batch look %d room %zu; ", look, room);
    ids[0] = 4;
    ids[1] = 11;
    *count = 2;
    return DPA_OK;
}

static dpa_status step(dpa__trainer *t, const dpa__step *s, float *sum, dpa_error *e) {
    (void)e;
    note_ids("step", s->batch, s->count);
    dpa__text_printf(&noted, "look %d extra %zu; ", s->look, s->extra.count);
    for (size_t k = 0; k < s->extra.count; ++k) {
        if (s->extra.place != NULL)
            dpa__text_printf(&noted, "%zu=%g ", s->extra.place[k], (double)s->extra.value);
        else
            dpa__text_printf(&noted, "%g,%g,%g*%g %g ", (double)s->extra.row[k][0],
                             (double)s->extra.row[k][1], (double)s->extra.row[k][2],
                             (double)s->extra.value, s->extra.wide[k * t->size]);
    }
    for (size_t i = 0; i < t->size; ++i) sum[i] = (float)i + 0.25F;
    return DPA_OK;
}

static dpa_status gradient(dpa__trainer *t, size_t id, float *out, dpa_error *e) {
    dpa__text_printf(&noted, "gradient %zu; ", id);
    if (id == 9) return dpa__fail(e, DPA_IO, "the disk is full");
    if (id == 8) return dpa__fail(e, DPA_NUMERIC, "it is \"not\" finite");
    for (size_t i = 0; i < t->size; ++i) out[i] = -(float)i;
    return DPA_OK;
}

static dpa_status signals(dpa__trainer *t, const dpa__question *ask, dpa_error *e) {
    (void)t, (void)e;
    answer_question(ask);
    return DPA_OK;
}

static dpa_status weights(dpa__trainer *t, float *out, dpa_error *e) {
    (void)e;
    for (size_t i = 0; i < t->size; ++i) out[i] = 7;
    return DPA_OK;
}

static dpa_status canary(dpa__trainer *t, dpa_game_canary kind, uint64_t seed, uint64_t index,
                         dpa_error *e) {
    (void)t, (void)e;
    dpa__text_printf(&noted, "canary %d %llx %llu; ", (int)kind, (unsigned long long)seed,
                     (unsigned long long)index);
    return DPA_OK;
}

static const dpa__trainer_calls calls = {.train = train,
                                         .start = start,
                                         .batch = batch,
                                         .step = step,
                                         .gradient = gradient,
                                         .signals = signals,
                                         .weights = weights,
                                         .canary = canary};

/* Serves these lines; what was noted and what was answered must be this. */
static void served(const char *requests, const char *want_noted, const char *want) {
    static char got[8192];
    dpa__trainer trainer = {
        .calls = &calls, .levels = 13, .points = 10, .canaries = 2, .heldout = 5, .size = 3};
    (void)snprintf(in_path, sizeof in_path, "/tmp/dpa_serve_%d.in", (int)getpid());
    (void)snprintf(out_path, sizeof out_path, "/tmp/dpa_serve_%d.out", (int)getpid());
    assert_ok(dpa__file_write(in_path, requests, strlen(requests), &err));
    noted.length = 0;
    dpa__text_add(&noted, "");
    const int in = open(in_path, O_RDONLY);
    const int out = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(in >= 0 && out >= 0);
    assert_ok(dpa__trainer_serve(&trainer, in, out, &err));
    assert_int_equal(lseek(out, 0, SEEK_SET), 0);
    const ssize_t n = read(out, got, sizeof got - 1);
    assert_true(n >= 0);
    got[n] = '\0';
    (void)close(out);
    (void)unlink(in_path);
    (void)unlink(out_path);
    assert_string_equal(noted.data, want_noted);
    assert_string_equal(got, want);
}

#define SEEDS "\"seed_hex\":\"00000000000000ff\",\"init\":6"

static void answers(void **state) {
    (void)state;
    served("{\"id\":1,\"call\":\"hello\",\"protocol\":1,\"folder\":\"/tmp\"}\n", "",
           "{\"id\":1,\"protocol\":1,\"points\":10,\"canaries\":2,\"heldout\":5,"
           "\"levels\":[\"train\",\"step\",\"round\"]}\n");
    served("{\"id\":5,\"call\":\"train\"," SEEDS ",\"members\":[1,11],\"signal\":\"loss\","
           "\"accuracy\":true,\"queries\":[0,16]}\n",
           "members 1 11; seed ff init 6 look 0; ids 0 16; signal 1; ",
           "{\"id\":5,\"signals\":[0,8],\"accuracy\":0.75}\n");
    served("{\"id\":2,\"call\":\"start\"," SEEDS ",\"look_seed\":3,\"members\":[]}\n",
           "members; seed ff init 6 look 3; ", "{\"id\":2,\"size\":3}\n");
    served("{\"id\":3,\"call\":\"batch\",\"look\":true}\n{\"id\":4,\"call\":\"batch\"}\n",
           "batch look 1 room 12; batch look 0 room 12; ",
           "{\"id\":3,\"batch\":[4,11]}\n{\"id\":4,\"batch\":[4,11]}\n");
    served("{\"id\":6,\"call\":\"step\",\"batch\":[2]}\n", "step 2; look 0 extra 0; ",
           "{\"id\":6,\"sum\":[0.25,1.25,2.25]}\n");
    served("{\"id\":6,\"call\":\"step\",\"look\":true,\"batch\":[],\"places\":[2,0],"
           "\"value\":[0.5]}\n",
           "step; look 1 extra 2; 2=0.5 0=0.5 ", "{\"id\":6,\"sum\":[0.25,1.25,2.25]}\n");
    served("{\"id\":6,\"call\":\"step\",\"batch\":[],\"extra\":[[1,2,3],[4,5,6]]}\n",
           "step; look 0 extra 2; 1,2,3*1 1 4,5,6*1 4 ", "{\"id\":6,\"sum\":[0.25,1.25,2.25]}\n");
    served("{\"id\":7,\"call\":\"gradient\",\"example\":4}\n", "gradient 4; ",
           "{\"id\":7,\"gradient\":[0,-1,-2]}\n");
    served("{\"id\":7,\"call\":\"weights\"}\n", "", "{\"id\":7,\"weights\":[7,7,7]}\n");
    served("{\"id\":8,\"call\":\"signals\",\"signal\":\"gradient\",\"queries\":[3]}\n",
           "ids 3; signal 2; ", "{\"id\":8,\"signals\":[1.5]}\n");
    served("{\"id\":9,\"call\":\"canary\",\"kind\":\"blank\",\"seed\":4,\"index\":6}\n",
           "canary 4 4 6; ", "{\"id\":9}\n");
}

/* A mistake of the request, of the trainer, and of the machine. */
static void mistakes(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"{\"id\":1,\"call\":\"fly\"}\n", "", "there is no call 'fly'"},
        {"{\"id\":1}\n", "", "there is no call ''"},
        {"{\"id\":1,\"call\":\"hello\",\"protocol\":2,\"folder\":\"/tmp\"}\n", "",
         "this trainer speaks protocol 1"},
        {"{\"id\":1,\"call\":\"hello\",\"protocol\":1}\n", "",
         "\\\"folder\\\": expected a folder for arrays"},
        {"{\"id\":1,\"call\":\"signals\",\"signal\":\"x\",\"queries\":[]}\n", "",
         "\\\"signal\\\": expected confidence, loss or gradient"},
        {"{\"id\":1,\"call\":\"signals\",\"signal\":\"loss\",\"queries\":[17]}\n", "",
         "\\\"queries\\\": number 1 is 17: expected an example's, 0 to 16"},
        {"{\"id\":1,\"call\":\"train\"," SEEDS ",\"members\":[12]}\n", "",
         "\\\"members\\\": number 1 is 12: expected an example's, 0 to 11"},
        {"{\"id\":1,\"call\":\"train\",\"seed\":-1,\"init\":2,\"members\":[]}\n", "",
         "\\\"seed\\\": expected a whole number from 0 on"},
        {"{\"id\":1,\"call\":\"train\",\"seed\":1,\"seed_hex\":\"xyz\",\"init\":2}\n", "",
         "\\\"seed\\\": expected a whole number from 0 on"},
        {"{\"id\":1,\"call\":\"step\",\"batch\":[],\"places\":[3],\"value\":[1]}\n", "",
         "\\\"places\\\": number 1 is 3: expected an example's, 0 to 2"},
        {"{\"id\":1,\"call\":\"step\",\"batch\":[],\"places\":[1],\"value\":[1,2]}\n", "",
         "\\\"value\\\": expected one number"},
        {"{\"id\":1,\"call\":\"step\",\"batch\":[],\"extra\":[1,2]}\n", "",
         "\\\"extra\\\": 2 numbers for gradients of 3 weights"},
        {"{\"id\":1,\"call\":\"gradient\",\"example\":-1}\n", "",
         "\\\"example\\\": expected the number of one"},
        {"{\"id\":1,\"call\":\"canary\",\"kind\":\"x\",\"seed\":4,\"index\":6}\n", "",
         "\\\"kind\\\": there is no canary 'x'"},
        {"{\"id\":1,\"call\":\"canary\",\"kind\":\"blank\",\"seed\":4,\"index\":-6}\n", "",
         "\\\"index\\\": expected a whole number"},
        {"{\"id\":1,\"call\":\"gradient\",\"example\":8}\n", "gradient 8; ",
         "it is \\\"not\\\" finite"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        char want[400];
        (void)snprintf(want, sizeof want,
                       "{\"id\":1,\"error\":{\"message\":\"%s\",\"machine\":false}}\n", rows[k][2]);
        served(rows[k][0], rows[k][1], want);
    }
    served("{\"id\":3,\"call\":\"gradient\",\"example\":9}\n", "gradient 9; ",
           "{\"id\":3,\"error\":{\"message\":\"the disk is full\",\"machine\":true}}\n");
    served("{\n", "",
           "{\"id\":-1,\"error\":{\"message\":\"not JSON: string or '}' expected near end of "
           "file\",\"machine\":false}}\n");
    dpa__text_free(&noted);
}

/* A trainer whose answers cannot be written ends, and says why. */
static void nobody_hears(void **state) {
    (void)state;
    static const char request[] = "{\"id\":7,\"call\":\"weights\"}\n";
    dpa__trainer trainer = {.calls = &calls, .levels = 13, .points = 10, .size = 3};
    (void)snprintf(in_path, sizeof in_path, "/tmp/dpa_serve_%d.in", (int)getpid());
    assert_ok(dpa__file_write(in_path, request, strlen(request), &err));
    const int in = open(in_path, O_RDONLY), out = open("/dev/full", O_WRONLY);
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(dpa__trainer_serve(&trainer, in, out, &err), DPA_IO);
    assert_non_null(strstr(err.text, "nobody hears the answers: No space left"));
    (void)close(out);
    (void)unlink(in_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers), cmocka_unit_test(mistakes),
                                       cmocka_unit_test(nobody_hears)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
