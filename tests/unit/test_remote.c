/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trainers that are other programs: what they are asked, byte for byte, what of their answers is
 * taken, and what is refused and how. The trainer is a script that notes each request and answers
 * with the next line of a file. */
#include "check.h"

#include "base/write.h"
#include "game/trainer.h"

static dpa_error err;
static char folder[] = "/tmp/dpaudit_remote_XXXXXX";
static char command[256], yaml[128];
static dpa_trainer_opts opts;

static const char *in_folder(const char *name) {
    static char path[8][160];
    static int next;
    char *out = path[next++ % 8];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static int set_up(void **state) {
    (void)state;
    static const char script[] = "exec 3<answers\n"
                                 "while IFS= read -r x; do\n"
                                 "  printf '%s\\n' \"$x\" >>asked\n"
                                 "  IFS= read -r y <&3 || exit 9\n"
                                 "  printf '%s\\n' \"$y\"\n"
                                 "done\n";
    if (mkdtemp(folder) == NULL) return 1;
    (void)snprintf(command, sizeof command, "sh replay.sh");
    (void)snprintf(yaml, sizeof yaml, "%s/x.yaml", folder);
    assert_ok(dpa__file_write(in_folder("replay.sh"), script, strlen(script), &err));
    return 0;
}

static int tidy(void **state) {
    (void)state;
    static const char *const names[] = {"replay.sh", "answers", "asked"};
    for (size_t i = 0; i < 3; ++i) (void)unlink(in_folder(names[i]));
    return rmdir(folder);
}

/* A trainer that answers the hello and then these lines. */
static dpa__trainer *trainer_with(const char *hello, const char *answers) {
    dpa__text text = {0};
    dpa__trainer *t = NULL;
    opts = (dpa_trainer_opts){
        .command = command, .points = 10, .canaries = 2, .heldout = 5, .timeout = 100};
    dpa__text_printf(&text, "{\"id\":1,%s}\n%s", hello, answers);
    assert_ok(dpa__file_write(in_folder("answers"), text.data, text.length, &err));
    dpa__text_free(&text);
    (void)unlink(in_folder("asked"));
    if (dpa__remote_new(&opts, yaml, NULL, &t, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_false(dpa__remote_runs(t));
    return t;
}

static const char all[] =
    "\"protocol\":1,\"levels\":[\"train\",\"gradient\",\"step\",\"round\",\"canary\"]";

/* The request with this number, from 0, without the "folder" of the hello. */
static void assert_asked(int number, const char *want) {
    char line[2048] = "";
    FILE *file = fopen(in_folder("asked"), "r");
    assert_non_null(file);
    for (int i = 0; i <= number; ++i) assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    char *cut = strstr(line, ",\"folder\":");
    if (cut != NULL) *cut = '\0';
    assert_string_equal(line, want);
}

static void said(dpa_status status, dpa_status want, const char *text) {
    if (status != want || strstr(err.text, text) == NULL)
        fail_msg("status %d, '%s'; want %d, '%s'", (int)status, err.text, (int)want, text);
}

static void trains(void **state) {
    (void)state;
    const size_t members[] = {3, 0, 11}, ids[] = {7, 12};
    double signals[2] = {0, 0}, accuracy = 0;
    const dpa__order order = {members, 3, 5, UINT64_C(0x1234567890abcdef), 9};
    dpa__question ask = {ids, 2, DPA_TRAINER_LOSS, signals, &accuracy};
    dpa__trainer *t = trainer_with(
        all,
        "{\"id\":2,\"signals\":[0.25,-3],\"accuracy\":0.5}\n{\"id\":3,\"signals\":[[1],[2]]}\n");
    assert_ok(t->calls->train(t, &order, &ask, &err));
    assert_true(dpa__remote_runs(t));
    assert_int_equal(t->levels, 31);
    assert_true(signals[0] == 0.25 && signals[1] == -3 && accuracy == 0.5);
    assert_asked(0, "{\"id\":1,\"call\":\"hello\",\"protocol\":1,\"slot\":0");
    assert_asked(1, "{\"id\":2,\"call\":\"train\",\"seed\":2427178479,\"seed_hex\":"
                    "\"1234567890abcdef\",\"init\":5,\"init_hex\":\"0000000000000005\","
                    "\"members\":[3,0,11],\"signal\":\"loss\",\"accuracy\":true,"
                    "\"queries\":[7,12]}");
    ask.accuracy = NULL;
    ask.signal = DPA_TRAINER_CONFIDENCE;
    assert_ok(t->calls->signals(t, &ask, NULL));
    assert_true(signals[0] == 1 && signals[1] == 2);
    assert_asked(2, "{\"id\":3,\"call\":\"signals\",\"signal\":\"confidence\",\"accuracy\":false,"
                    "\"queries\":[7,12]}");
    dpa__trainer_close(t);
    dpa__trainer_close(NULL);
}

/* A training by steps: sizes, batches, extra gradients in each of their forms. */
static void steps(void **state) {
    (void)state;
    const size_t members[] = {1, 2}, places[] = {2, 0};
    size_t ids[4], count = 0;
    float sum[3] = {0};
    const dpa__order order = {members, 2, 1, 2, 3};
    dpa__trainer *t = trainer_with(
        all,
        "{\"id\":2,\"size\":3}\n{\"id\":3,\"batch\":[1,11]}\n{\"id\":4,\"sum\":[1,2,3]}\n"
        "{\"id\":5,\"sum\":[4,5,6]}\n{\"id\":6,\"sum\":[7,8,9]}\n{\"id\":7,\"gradient\":[1,0,-1]}\n"
        "{\"id\":8,\"weights\":[0.5,0.5,0.5]}\n{\"id\":9}\n{\"id\":10,\"size\":3}\n");
    assert_ok(t->calls->start(t, &order, &err));
    assert_int_equal(t->size, 3);
    assert_asked(1, "{\"id\":2,\"call\":\"start\",\"look_seed\":3,\"look_seed_hex\":"
                    "\"0000000000000003\",\"seed\":2,\"seed_hex\":\"0000000000000002\",\"init\":1,"
                    "\"init_hex\":\"0000000000000001\",\"members\":[1,2]}");
    assert_ok(t->calls->batch(t, 1, 4, ids, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(ids[0] * 100 + ids[1], 111);
    assert_asked(2, "{\"id\":3,\"call\":\"batch\",\"look\":true}");
    dpa__step step = {.batch = ids, .count = 2};
    assert_ok(t->calls->step(t, &step, sum, &err));
    assert_true(sum[0] == 1 && sum[2] == 3);
    assert_asked(3, "{\"id\":4,\"call\":\"step\",\"look\":false,\"batch\":[1,11]}");
    step.look = 1;
    step.extra = (dpa__extra){.count = 2, .place = places, .value = 0.25F};
    assert_ok(t->calls->step(t, &step, sum, &err));
    assert_asked(4, "{\"id\":5,\"call\":\"step\",\"look\":true,\"batch\":[1,11],\"places\":[2,0],"
                    "\"value\":[0.25]}");
    const float one[3] = {1, 2, 3}, two[3] = {4, 5, 6}, *const rows[2] = {one, two};
    step.extra = (dpa__extra){.count = 2, .row = rows, .value = 0.5F};
    assert_ok(t->calls->step(t, &step, sum, &err));
    assert_true(sum[1] == 8);
    assert_asked(5, "{\"id\":6,\"call\":\"step\",\"look\":true,\"batch\":[1,11],"
                    "\"extra\":[[0.5,1,1.5],[2,2.5,3]]}");
    assert_ok(t->calls->gradient(t, 4, sum, &err));
    assert_true(sum[0] == 1 && sum[2] == -1);
    assert_asked(6, "{\"id\":7,\"call\":\"gradient\",\"example\":4}");
    assert_ok(t->calls->weights(t, sum, &err));
    assert_true(sum[2] == 0.5F);
    assert_ok(t->calls->canary(t, DPA_GAME_BLANK, 6, 8, &err));
    assert_asked(8, "{\"id\":9,\"call\":\"canary\",\"seed\":6,\"seed_hex\":\"0000000000000006\","
                    "\"kind\":\"blank\",\"index\":8}");
    assert_ok(t->calls->start(t, &order, &err)); /* the same size as before */
    dpa__trainer_close(t);
}

/* Each hello that does not fit, by what it says. */
static void hellos(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"\"levels\":[\"train\"]", "request 1 (hello): \"protocol\": expected 1"},
        {"\"protocol\":2,\"levels\":[\"train\"]", "\"protocol\": expected 1"},
        {"\"protocol\":1", "\"levels\": expected a list of train, gradient, step, round, canary"},
        {"\"protocol\":1,\"levels\":[\"fly\"]", "\"levels\": 'fly' is none of train, gradient"},
        {"\"protocol\":1,\"levels\":[3]", "\"levels\": '?' is none of"},
        {"\"protocol\":1,\"levels\":[\"train\"],\"points\":9",
         "\"points\" is 9, and the experiment asks for 10"},
        {"\"protocol\":1,\"levels\":[\"train\"],\"canaries\":1",
         "\"canaries\" is 1, and the experiment asks for 2"},
        {"\"protocol\":1,\"levels\":[\"train\"],\"heldout\":-1",
         "\"heldout\": expected a whole number"},
        {"\"protocol\":1,\"levels\":[\"train\"],\"points\":1.5", "\"points\": expected a whole"},
        {"\"error\":{\"message\":\"no GPU\",\"machine\":false}", "request 1 (hello): no GPU"},
        {"\"error\":{}", "\"error\": expected {\"message\": TEXT}"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa__trainer *t = trainer_with(rows[k][0], "");
        said(dpa__remote_hello(t, &err), DPA_TRAINER, rows[k][1]);
        dpa__trainer_close(t);
    }
    dpa__trainer *t = trainer_with("\"error\":{\"message\":\"disk\",\"machine\":true}", "");
    said(dpa__remote_hello(t, &err), DPA_IO, "request 1 (hello): disk");
    dpa__trainer_close(t);
    /* it may have more than is asked for; what nobody asked for it may choose */
    t = trainer_with("\"protocol\":1,\"levels\":[\"train\"],\"points\":12,\"canaries\":7", "");
    t->canaries = SIZE_MAX;
    assert_ok(dpa__remote_hello(t, &err));
    assert_int_equal(t->points, 10);
    assert_int_equal(t->canaries, 7);
    assert_int_equal(t->heldout, 5);
    dpa__trainer_close(t);
    t = trainer_with("\"protocol\":1,\"levels\":[\"gradient\"],\"points\":10,\"heldout\":null", "");
    assert_ok(dpa__remote_hello(t, &err));
    assert_ok(dpa__remote_hello(t, &err)); /* once is enough */
    assert_int_equal(t->levels, DPA__LEVEL_GRADIENT);
    float w[3];
    said(t->calls->weights(t, w, &err), DPA_TRAINER,
         "the game needs `weights`, and the trainer has declared no level with it");
    dpa__remote_stop(t);
    assert_false(dpa__remote_runs(t));
    dpa__trainer_close(t);
}

/* Answers that break the protocol: the program is ended, and the sentence says why. */
static void refused(void **state) {
    (void)state;
    static const struct {
        const char *answer, *text;
        int goes_on; /* it failed by itself, so it may go on */
    } rows[] = {
        {"{\"id\":7,\"signals\":[1,2]}", "request 2 (train): \"id\" is 7: expected 2", 0},
        {"{\"signals\":[1,2]}", "\"id\" is missing: expected 2", 0},
        {"Epoch 1", "'Epoch 1' on standard output, which belongs to the protocol", 0},
        {"[1]", "'[1]' on standard output", 0},
        {"{\"id\":2}", "\"signals\" is missing", 0},
        {"{\"id\":2,\"signals\":[1]}", "\"signals\" has 1 numbers: expected 2", 0},
        {"{\"id\":2,\"signals\":[1,\"x\"]}", "\"signals\": entry 2 is not a number", 0},
        {"{\"id\":2,\"signals\":{\"npy\":\"../x\"}}",
         "expected a list of numbers or {\"npy\": NAME}", 0},
        {"{\"id\":2,\"signals\":{\"npy\":\"none.npy\"}}", "No such file", 0},
        {"{\"id\":2,\"signals\":[1,2]}", "\"accuracy\": expected a number from 0 to 1", 0},
        {"{\"id\":2,\"signals\":[1,2],\"accuracy\":1.5}", "\"accuracy\": expected", 0},
        {"{\"id\":2,\"error\":{\"message\":\"diverged\"}}", "request 2 (train): diverged", 1}};
    const size_t ids[] = {1, 2};
    double signals[2], accuracy;
    const dpa__order order = {ids, 2, 1, 2, 3};
    const dpa__question ask = {ids, 2, DPA_TRAINER_LOSS, signals, &accuracy};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        char line[256];
        (void)snprintf(line, sizeof line, "%s\n", rows[k].answer);
        dpa__trainer *t = trainer_with(all, line);
        said(t->calls->train(t, &order, &ask, &err), DPA_TRAINER, rows[k].text);
        assert_int_equal(dpa__remote_runs(t), rows[k].goes_on);
        dpa__trainer_close(t);
    }
    dpa__trainer *t = trainer_with(all, ""); /* no answer at all: it ends */
    said(t->calls->train(t, &order, &ask, &err), DPA_TRAINER,
         "request 2 (train): the command ended with exit code 9");
    dpa__trainer_close(t);
}

/* The same for what steps need. */
static void refused_steps(void **state) {
    (void)state;
    static const struct {
        const char *answers, *text;
        int call; /* 0: start; 1: start again; 2: batch; 3: gradient */
    } rows[] = {
        {"{\"id\":2}\n", "\"size\": expected the number of weights", 0},
        {"{\"id\":2,\"size\":0}\n", "\"size\": expected the number of weights", 0},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"size\":3}\n",
         "request 3 (start): \"size\" is 3: expected 2, as before", 1},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"batch\":[12]}\n",
         "\"batch\": number 1 is 12: expected an example's, 0 to 11", 2},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"batch\":[1,-1]}\n", "\"batch\": number 2 is -1", 2},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"batch\":[0.5]}\n", "number 1 is 0.5", 2},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"batch\":[1,2,3]}\n",
         "\"batch\" has 3 examples of 2 members", 2},
        {"{\"id\":2,\"size\":2}\n{\"id\":3,\"gradient\":[1]}\n",
         "\"gradient\" has 1 numbers: expected 2", 3}};
    const size_t members[] = {1, 2};
    const dpa__order order = {members, 2, 1, 2, 3};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa__trainer *t = trainer_with(all, rows[k].answers);
        size_t ids[2], count;
        float g[2];
        if (rows[k].call > 0) assert_ok(t->calls->start(t, &order, &err));
        const dpa_status status = rows[k].call < 2    ? t->calls->start(t, &order, &err)
                                  : rows[k].call == 2 ? t->calls->batch(t, 0, 2, ids, &count, &err)
                                                      : t->calls->gradient(t, 1, g, &err);
        said(status, DPA_TRAINER, rows[k].text);
        assert_false(dpa__remote_runs(t));
        dpa__trainer_close(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trains), cmocka_unit_test(steps),
                                       cmocka_unit_test(hellos), cmocka_unit_test(refused),
                                       cmocka_unit_test(refused_steps)};
    (void)unsetenv("DPAUDIT_SLOT");
    (void)unsetenv("DPAUDIT_SCRATCH");
    return cmocka_run_group_tests(tests, set_up, tidy);
}
