/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A federated training that goes on from a file gives the same result to the last bit, and a file
 * that does not fit counts as none. */
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/rng.h"
#include "dpaudit/lab/federate.h"
#include "federate/federation.h"

enum { ROWS = 60, FEATURES = 5, CLASSES = 3, CLIENTS = 12, CANARIES = 7, ROUNDS = 6, MORE = 3 };
static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

typedef struct set_up {
    dpa_dataset *data;
    dpa_clients *clients;
    dpa_model *model;
    dpa_federation *federation;
} set_up;

static dpa_federate_opts usual(void) {
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.cohort = 4;
    o.rounds = ROUNDS;
    o.threads = 2;
    o.sigma = 0.5;
    o.vote_noise = 1.0;
    o.canaries = o.unobserved = CANARIES;
    return o;
}

static set_up start(const dpa_federate_opts *o) {
    set_up s = {0};
    float x[ROWS * FEATURES];
    int32_t label[ROWS];
    double owner[ROWS];
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < ROWS * FEATURES; ++i) x[i] = (float)dpa__rng_normal(&rng);
    for (size_t i = 0; i < ROWS; ++i) {
        label[i] = (int32_t)(i % CLASSES);
        owner[i] = (double)(i * 7 % CLIENTS);
    }
    assert_ok(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, FEATURES}, CLASSES, &s.data, NULL));
    assert_ok(dpa_clients_new(owner, ROWS, &s.clients, NULL));
    assert_ok(dpa_model_new("mlp:9", (dpa_shape){1, 1, FEATURES}, CLASSES, DPA_LOSS_SOFTMAX,
                            &s.model, NULL));
    dpa_model_init(s.model, 3);
    assert_ok(dpa_federation_new(s.model, s.data, s.clients, o, &s.federation, NULL));
    return s;
}

static void finish(set_up *s) {
    dpa_federation_free(s->federation);
    dpa_model_free(s->model);
    dpa_clients_free(s->clients);
    dpa_dataset_free(s->data);
}

static void assert_same(const set_up *a, const set_up *b) {
    enum { ALL = 2 * CANARIES };
    double x[2][ALL], times[2][ALL], largest[2][ALL], spread[2];
    const set_up *both[] = {a, b};
    assert_memory_equal(a->model->weight, b->model->weight, a->model->size * sizeof(float));
    assert_true(a->federation->clip == b->federation->clip);
    if (a->federation->canaries == NULL) return;
    for (int i = 0; i < 2; ++i) {
        assert_ok(dpa_federation_known(both[i]->federation, x[i], times[i], &spread[i], NULL));
        assert_ok(dpa_federation_largest(both[i]->federation, largest[i], NULL));
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(times[0], times[1], sizeof times[0]);
    assert_memory_equal(largest[0], largest[1], sizeof largest[0]);
    assert_true(spread[0] == spread[1]);
}

static char *file_of(const char *folder, char *out, size_t size) {
    (void)snprintf(out, size, "%s/state", folder);
    return out;
}

static size_t files_in(const char *folder) {
    size_t count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (const struct dirent *e; (e = readdir(all)) != NULL;) count += e->d_name[0] != '.';
    (void)closedir(all);
    return count;
}

static void play(set_up *s, uint64_t until) {
    while (dpa_federation_rounds_done(s->federation) < until)
        assert_ok(dpa_federation_round(s->federation, NULL, NULL));
}

/* Stopped after round 2 and again after 4, with files of other rounds left over. */
static void check_resume(const dpa_federate_opts *o, const char *folder) {
    char path[300], left[320];
    double more[MORE] = {1.5, -2.0, 1e300};
    set_up whole = start(o), part = start(o);
    (void)file_of(folder, path, sizeof path);
    play(&whole, ROUNDS);
    for (uint64_t stop = 2; stop <= 4; stop += 2) {
        play(&part, stop);
        assert_ok(dpa__federation_save(part.federation, key, more, MORE, path, NULL));
        finish(&part);
        char magic[9] = {0};
        FILE *file = fopen(path, "rb");
        assert_true(file != NULL && fread(magic, 1, 8, file) == 8 && fclose(file) == 0);
        assert_string_equal(magic, "DPAROUND");
        part = start(o);
        double got[MORE] = {0};
        assert_ok(dpa__federation_resume(part.federation, key, got, MORE, path, NULL));
        assert_true(dpa_federation_rounds_done(part.federation) == stop);
        assert_memory_equal(got, more, sizeof got);
        (void)snprintf(left, sizeof left, "%s.1", path);
        assert_ok(dpa__file_write(left, "x", 1, NULL));
    }
    play(&part, ROUNDS);
    assert_same(&whole, &part);
    dpa__federation_forget(path);
    assert_int_equal(files_in(folder), 0);
    finish(&whole);
    finish(&part);
}

static void with_folder(void (*body)(const char *folder)) {
    char folder[] = "/tmp/dpaudit-state-XXXXXX";
    assert_non_null(mkdtemp(folder));
    body(folder);
    assert_int_equal(rmdir(folder), 0);
}

static void every_kind(const char *folder) {
    for (int v = 0; v < 24; ++v) {
        dpa_federate_opts o = usual();
        o.server = (dpa_server)(v % 4);
        o.momentum = v % 3 == 0 ? 0.0 : 0.9;
        o.direction = (dpa_direction)(v / 4 % 3);
        o.adaptive = v % 2;
        o.all_iterates = v < 12;
        o.drop = v % 5 == 0 ? 0.3 : 0.0;
        check_resume(&o, folder);
    }
    dpa_federate_opts o = usual();
    o.canaries = o.unobserved = 0;
    check_resume(&o, folder);
}

static void resumed_is_the_same(void **state) {
    (void)state;
    with_folder(every_kind);
}

/* ── files that do not fit ───────────────────────────────────────────────────────────── */

static void expect_fresh(const dpa_federate_opts *o, const char *name, size_t count,
                         const char *path) {
    set_up s = start(o);
    const size_t bytes = s.model->size * sizeof(float);
    float *before = malloc(bytes);
    double more[MORE + 1] = {0};
    assert_non_null(before);
    memcpy(before, s.model->weight, bytes);
    assert_ok(dpa__federation_resume(s.federation, name, more, count, path, NULL));
    assert_true(dpa_federation_rounds_done(s.federation) == 0);
    assert_memory_equal(before, s.model->weight, bytes);
    free(before);
    finish(&s);
}

static unsigned char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void damaged(const char *folder) {
    char path[300], canaries[320];
    double more[MORE] = {0};
    const dpa_federate_opts o = usual();
    set_up s = start(&o);
    (void)file_of(folder, path, sizeof path);
    (void)snprintf(canaries, sizeof canaries, "%s.2", path);
    expect_fresh(&o, key, MORE, path); /* no file */
    play(&s, 2);
    assert_ok(dpa__federation_save(s.federation, key, more, MORE, path, NULL));
    finish(&s);
    size_t size;
    unsigned char *bytes = read_whole(path, &size);
    expect_fresh(&o, "another training", MORE, path);
    expect_fresh(&o, key, MORE + 1, path);
    dpa_federate_opts other = o;
    other.momentum = 0.9;
    expect_fresh(&other, key, MORE, path);
    other = o;
    other.canary_seed = 77;
    expect_fresh(&other, key, MORE, path);
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 7 : 97) {
        assert_ok(dpa__file_write(path, bytes, cut, NULL));
        expect_fresh(&o, key, MORE, path);
    }
    for (size_t at = 0; at < size; at += at < 200 ? 5 : 101) {
        bytes[at] ^= 1;
        assert_ok(dpa__file_write(path, bytes, size, NULL));
        expect_fresh(&o, key, MORE, path);
        bytes[at] ^= 1;
    }
    assert_ok(dpa__file_write(path, bytes, size, NULL));
    assert_ok(dpa__file_write(canaries, "damaged", 7, NULL));
    expect_fresh(&o, key, MORE, path);
    assert_int_equal(unlink(canaries), 0);
    expect_fresh(&o, key, MORE, path);
    dpa__federation_forget(path);
    free(bytes);
}

static void what_does_not_fit_is_absent(void **state) {
    (void)state;
    with_folder(damaged);
}

/* If nothing can be written, this is an error. */
static void nowhere_to_write(void **state) {
    (void)state;
    const dpa_federate_opts o = usual();
    dpa_error err;
    set_up s = start(&o);
    play(&s, 1);
    assert_int_equal(dpa__federation_save(s.federation, key, NULL, 0, "/nowhere/at/all", &err),
                     DPA_IO);
    finish(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_is_the_same),
        cmocka_unit_test(what_does_not_fit_is_absent),
        cmocka_unit_test(nowhere_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
