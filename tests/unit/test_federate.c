/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DP-FedAvg: clients from files and by Dirichlet shares, participation, rounds against a plain
 * double-precision server, the same bytes on any number of threads, clipping that holds and adapts,
 * canaries with the law of the Gaussian mechanism, and the effect of each fault. */
#include "check.h"

#include "base/data.h"
#include "base/rng.h"
#include "dpaudit/lab/federate.h"
#include "estimate/cosines/cosine.h"
#include "federate/federation.h"
#include "tradeoff/tradeoff.h"

enum { ROWS = 120, FEATURES = 5, CLASSES = 3, CLIENTS = 12 };

typedef struct set_up {
    dpa_dataset *data;
    dpa_clients *clients;
    dpa_model *model;
    dpa_federate_opts opts;
} set_up;

static double normal_at(uint64_t stream, size_t i) {
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, stream << 32 | i);
    return dpa__rng_normal(&rng);
}

/* Rows of random numbers, owned by CLIENTS clients in turn. */
static set_up start(const char *layers, size_t features) {
    set_up s = {0};
    float *x = calloc(ROWS * features, sizeof *x);
    int32_t label[ROWS];
    double owner[ROWS];
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = 0; j < features; ++j) x[i * features + j] = (float)normal_at(j, i);
        label[i] = (int32_t)(i % CLASSES);
        owner[i] = (double)(i * 7 % CLIENTS);
    }
    assert_ok(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, features}, CLASSES, &s.data, NULL));
    free(x);
    assert_ok(dpa_clients_new(owner, ROWS, &s.clients, NULL));
    assert_ok(dpa_model_new(layers, (dpa_shape){1, 1, features}, CLASSES, DPA_LOSS_SOFTMAX,
                            &s.model, NULL));
    dpa_model_init(s.model, 3);
    dpa_federate_opts_init(&s.opts);
    s.opts.cohort = 4;
    s.opts.rounds = 6;
    s.opts.threads = 2;
    return s;
}

static void finish(set_up *s) {
    dpa_dataset_free(s->data);
    dpa_clients_free(s->clients);
    dpa_model_free(s->model);
}

static dpa_federation *federation(const set_up *s) {
    dpa_federation *f = NULL;
    dpa_error err = {0};
    if (dpa_federation_new(s->model, s->data, s->clients, &s->opts, &f, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return f;
}

static void play_all_rounds(dpa_federation *f) {
    while (dpa_federation_rounds_done(f) < f->opts.rounds)
        assert_ok(dpa_federation_round(f, NULL, NULL));
}

/* ---- clients ---- */

static void clients_are_owners_in_order(void **state) {
    (void)state;
    const double owner[] = {7, -1, 7, (double)NAN, 2.5, -1, 7};
    dpa_clients *c;
    assert_ok(dpa_clients_new(owner, 7, &c, NULL));
    assert_int_equal(dpa_clients_count(c), 3);
    static const size_t want[3][3] = {{1, 5}, {4}, {0, 2, 6}}, counts[3] = {2, 1, 3};
    for (size_t i = 0; i < 3; ++i) {
        size_t count;
        const size_t *rows = dpa_clients_rows(c, i, &count);
        assert_int_equal(count, counts[i]);
        assert_memory_equal(rows, want[i], count * sizeof *rows);
    }
    dpa_clients_free(c);
    const double nobody[] = {(double)NAN};
    assert_int_equal(dpa_clients_new(nobody, 1, &c, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa_clients_new(nobody, 0, &c, NULL), DPA_BAD_INPUT);
}

static void write_text(const char *path, const char *text) {
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
}

static void clients_come_from_files(void **state) {
    (void)state;
    char csv[] = "/tmp/dpa-clients-XXXXXX", npy[sizeof csv + 4];
    const int fd = mkstemp(csv);
    assert_true(fd >= 0);
    close(fd);
    (void)snprintf(npy, sizeof npy, "%s.npy", csv);
    dpa_clients *c;
    size_t count;
    dpa_error err = {0};
    write_text(csv, "age,who\n3,zoe\n4,al\n5,zoe\n");
    assert_ok(dpa_clients_read(csv, "who", 3, &c, NULL));
    assert_int_equal(dpa_clients_count(c), 2);
    assert_int_equal(dpa_clients_rows(c, 0, &count)[0], 1); /* al */
    dpa_clients_free(c);
    assert_ok(dpa_clients_read(csv, "age", 3, &c, NULL));
    assert_int_equal(dpa_clients_count(c), 3);
    dpa_clients_free(c);
    assert_int_equal(dpa_clients_read(csv, "name", 3, &c, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "no column 'name'"));
    assert_int_equal(dpa_clients_read(csv, "who", 4, &c, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "3 rows of owners, the data have 4"));

    int32_t table[] = {1, 30, 2, 10, 3, 30};
    const dpa_array two = {.dtype = DPA_I32, .ndim = 2, .shape = {3, 2}, .count = 6, .data = table};
    assert_ok(dpa__array_write(npy, &two, NULL));
    assert_ok(dpa_clients_read(npy, "1", 3, &c, NULL));
    assert_int_equal(dpa_clients_count(c), 2);
    assert_int_equal(dpa_clients_rows(c, 1, &count)[1], 2);
    dpa_clients_free(c);
    assert_int_equal(dpa_clients_read(npy, "2", 3, &c, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa_clients_read(npy, NULL, 3, &c, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "say which column"));
    write_text(csv, "4\n4\n1\n");
    assert_ok(dpa_clients_read(csv, NULL, 3, &c, NULL));
    assert_int_equal(dpa_clients_count(c), 2);
    dpa_clients_free(c);
    (void)unlink(csv);
    (void)unlink(npy);
}

/* Share of a client's most frequent class, averaged over the clients, weighted by rows. */
static double purity(const dpa_dataset *data, const dpa_clients *c) {
    double total = 0.0;
    for (size_t i = 0; i < dpa_clients_count(c); ++i) {
        size_t count, most = 0, of[CLASSES] = {0};
        const size_t *rows = dpa_clients_rows(c, i, &count);
        for (size_t j = 0; j < count; ++j) ++of[dpa_dataset_label(data, rows[j])];
        for (size_t k = 0; k < CLASSES; ++k) most = of[k] > most ? of[k] : most;
        total += (double)most;
    }
    return total / (double)dpa_dataset_rows(data);
}

static void dirichlet_deals_out_every_row(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    double pure[2];
    for (int i = 0; i < 2; ++i) {
        dpa_clients *c;
        size_t seen[ROWS] = {0};
        assert_ok(dpa_clients_dirichlet(s.data, 10, i == 0 ? 0.01 : 1e4, 5, &c, NULL));
        for (size_t k = 0; k < dpa_clients_count(c); ++k) {
            size_t count;
            const size_t *rows = dpa_clients_rows(c, k, &count);
            assert_true(count > 0);
            for (size_t j = 0; j < count; ++j) ++seen[rows[j]];
        }
        for (size_t j = 0; j < ROWS; ++j) assert_int_equal(seen[j], 1);
        pure[i] = purity(s.data, c);
        if (i == 1) assert_int_equal(dpa_clients_count(c), 10);
        dpa_clients_free(c);
    }
    assert_true(pure[0] > 0.9);  /* hardly any client shares a class */
    assert_true(pure[1] < 0.45); /* every client has nearly a third of each */
    dpa_clients *c;
    assert_int_equal(dpa_clients_dirichlet(s.data, 0, 1.0, 1, &c, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_clients_dirichlet(s.data, 5, 0.0, 1, &c, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_clients_dirichlet(s.data, ROWS + 1, 1.0, 1, &c, NULL), DPA_BAD_ARGUMENT);
    finish(&s);
}

/* The first client's share of a class has the Beta(a, (n−1)a) law: mean and variance. */
static void dirichlet_has_its_moments(void **state) {
    (void)state;
    enum { MANY = 4000, RUNS = 300, N = 4 };
    static float x[MANY];
    static int32_t label[MANY];
    dpa_dataset *data;
    assert_ok(dpa_dataset_new(x, label, MANY, (dpa_shape){1, 1, 1}, 2, &data, NULL));
    double sum = 0.0, square = 0.0;
    for (uint64_t run = 0; run < RUNS; ++run) {
        dpa_clients *c;
        size_t count = 0;
        assert_ok(dpa_clients_dirichlet(data, N, 0.7, run, &c, NULL));
        if (dpa_clients_count(c) == N) (void)dpa_clients_rows(c, 0, &count);
        const double share = (double)count / MANY; /* empty clients are too rare to matter */
        sum += share;
        square += share * share;
        dpa_clients_free(c);
    }
    const double mean = sum / RUNS, variance = square / RUNS - mean * mean;
    const double want = 0.25 * 0.75 / (N * 0.7 + 1.0);
    assert_absolute(mean, 0.25, 4.0 * sqrt(want / RUNS));
    assert_relative(variance, want, 0.35);
    dpa_dataset_free(data);
}

/* ---- participation ---- */

static void count_rounds(dpa_federation *f, uint64_t first, uint64_t end, size_t *times,
                         size_t *total) {
    memset(times, 0, CLIENTS * sizeof *times);
    *total = 0;
    for (uint64_t round = first; round < end; ++round) {
        dpa__participation_draw(f, round, &f->cohort);
        for (size_t i = 0; i < f->cohort.clients; ++i) ++times[f->cohort.client[i]];
        *total += f->cohort.clients;
    }
}

static void participation_keeps_its_rules(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    size_t times[CLIENTS], total;
    s.opts.rounds = 3000;
    dpa_federation *f = federation(&s);
    count_rounds(f, 0, 3000, times, &total);
    assert_int_equal(total, 4 * 3000);
    for (size_t i = 0; i < CLIENTS; ++i) /* 1000 ± 5·√(3000·⅓·⅔) */
        assert_between((double)times[i], 870, 1130);
    count_rounds(f, 17, 18, times, &total);
    for (size_t i = 0; i < CLIENTS; ++i) assert_true(times[i] <= 1);
    dpa_federation_free(f);

    s.opts.participation = DPA_PARTICIPATE_POISSON;
    f = federation(&s);
    count_rounds(f, 0, 3000, times, &total);
    assert_between((double)total, 12000 - 5 * 90, 12000 + 5 * 90);
    dpa_federation_free(f);

    s.opts.participation = DPA_PARTICIPATE_SHUFFLE;
    s.opts.cohort = 5; /* two rounds an epoch, two clients sit out */
    f = federation(&s);
    for (uint64_t epoch = 0; epoch < 50; ++epoch) {
        count_rounds(f, 2 * epoch, 2 * epoch + 2, times, &total);
        assert_int_equal(total, 10);
        for (size_t i = 0; i < CLIENTS; ++i) assert_true(times[i] <= 1);
    }
    assert_int_equal(dpa_federate_participations(&s.opts, CLIENTS), 1500);
    dpa_federation_free(f);

    s.opts.participation = DPA_PARTICIPATE_PERIOD;
    s.opts.cohort = 2;
    s.opts.period = 5;
    s.opts.drop = 0.25;
    f = federation(&s);
    size_t all = 0;
    for (uint64_t period = 0; period < 600; ++period) {
        count_rounds(f, 5 * period, 5 * period + 5, times, &total);
        for (size_t i = 0; i < CLIENTS; ++i) assert_true(times[i] <= 1);
        all += total;
    }
    assert_between((double)all, 4500 - 5 * 34, 4500 + 5 * 34);
    dpa_federation_free(f);
    finish(&s);
}

static void canaries_come_as_often_as_clients(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.rounds = 1000;
    s.opts.canaries = 60;
    s.opts.all_iterates = 0;
    static const dpa_participation kinds[] = {DPA_PARTICIPATE_UNIFORM, DPA_PARTICIPATE_POISSON,
                                              DPA_PARTICIPATE_SHUFFLE, DPA_PARTICIPATE_PERIOD};
    s.opts.period = 2;
    for (size_t k = 0; k < 4; ++k) {
        s.opts.participation = kinds[k];
        dpa_federation *f = federation(&s);
        size_t total = 0;
        for (uint64_t round = 0; round < 1000; ++round) {
            dpa__participation_draw(f, round, &f->cohort);
            total += f->cohort.canaries;
        }
        assert_between((double)total, 20000 - 5 * 120, 20000 + 5 * 120);
        assert_relative(dpa__participation_canaries(f), 20.0, 1e-12);
        dpa_federation_free(f);
    }
    finish(&s);
}

/* How often a client can come at most, which is what the accountant composes. It may also have come
 * in a period that the training does not finish. */
static void unfinished_periods_count(void **state) {
    (void)state;
    dpa_federate_opts opts = {.rounds = 7, .cohort = 3, .period = 2};
    static const struct {
        dpa_participation kind;
        uint64_t most;
    } rows[] = {{DPA_PARTICIPATE_UNIFORM, 7},
                {DPA_PARTICIPATE_POISSON, 7},
                {DPA_PARTICIPATE_SHUFFLE, 3}, /* of ten clients: periods of three rounds */
                {DPA_PARTICIPATE_PERIOD, 4}};
    for (int i = 0; i < 4; ++i) {
        opts.participation = rows[i].kind;
        assert_int_equal(dpa_federate_participations(&opts, 10), rows[i].most);
    }
    opts.rounds = 8; /* four periods of two, none unfinished */
    assert_int_equal(dpa_federate_participations(&opts, 10), 4);
}

/* Ten rounds, three repetitions: once in each of rounds 0–3, 4–6, 7–9. */
static void repetitions_are_one_in_each_part(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.rounds = 10;
    s.opts.repetitions = 3;
    s.opts.canaries = 200;
    dpa_federation *f = federation(&s);
    size_t in[200][3] = {{0}}, at[10] = {0};
    for (uint64_t round = 0; round < 10; ++round) {
        dpa__participation_draw(f, round, &f->cohort);
        at[round] = f->cohort.canaries;
        for (size_t i = 0; i < f->cohort.canaries; ++i)
            ++in[f->cohort.canary[i]][round < 4 ? 0 : round < 7 ? 1 : 2];
    }
    for (size_t i = 0; i < 200; ++i)
        for (size_t part = 0; part < 3; ++part) assert_int_equal(in[i][part], 1);
    for (size_t round = 0; round < 10; ++round) assert_between((double)at[round], 20, 100);
    assert_int_equal(dpa_federate_participations(&s.opts, CLIENTS), 3);
    dpa_federation_free(f);
    finish(&s);
}

/* ---- rounds ---- */

enum { SIZE = (FEATURES + 1) * CLASSES };

/* One client of multinomial regression in double: `epochs` full-batch steps from w. The layout of a
 * dense layer is [outputs × inputs], then the biases. */
static void plain_client(const set_up *s, size_t client, const double *w, double *change) {
    size_t count;
    const size_t *rows = dpa_clients_rows(s->clients, client, &count);
    double v[SIZE];
    memcpy(v, w, sizeof v);
    for (size_t epoch = 0; epoch < s->opts.epochs; ++epoch) {
        double g[SIZE] = {0};
        for (size_t r = 0; r < count; ++r) {
            const float *x = dpa_dataset_row(s->data, rows[r]);
            double p[CLASSES], total = 0.0;
            for (size_t k = 0; k < CLASSES; ++k) {
                p[k] = v[FEATURES * CLASSES + k];
                for (size_t j = 0; j < FEATURES; ++j) p[k] += (double)x[j] * v[k * FEATURES + j];
                total += p[k] = exp(p[k]);
            }
            for (size_t k = 0; k < CLASSES; ++k) {
                const double d = p[k] / total - (dpa_dataset_label(s->data, rows[r]) == (int)k);
                for (size_t j = 0; j < FEATURES; ++j) g[k * FEATURES + j] += d * (double)x[j];
                g[FEATURES * CLASSES + k] += d;
            }
        }
        for (size_t i = 0; i < SIZE; ++i) v[i] -= s->opts.client_rate * g[i] / (double)count;
    }
    for (size_t i = 0; i < SIZE; ++i) change[i] = v[i] - w[i];
}

static double norm_of(const double *x, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) sum += x[i] * x[i];
    return sqrt(sum);
}

static void rounds_match_a_plain_server(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.epochs = 2;
    s.opts.batch = ROWS;
    s.opts.client_rate = 0.3;
    s.opts.server_rate = 0.7;
    s.opts.momentum = 0.9;
    s.opts.clip = 0.55; /* near the middle of the norms */
    dpa_federation *f = federation(&s);
    double w[SIZE], velocity[SIZE] = {0};
    for (size_t i = 0; i < SIZE; ++i) w[i] = (double)dpa_model_weights(s.model)[i];
    const double limit = s.opts.clip * (1.0 - 0x1p-18); /* room for rounding */
    size_t clipped = 0, unclipped = 0;
    for (uint64_t round = 0; round < 6; ++round) {
        double sum[SIZE] = {0}, change[SIZE];
        dpa_round_info info;
        dpa__participation_draw(f, round, &f->cohort);
        for (size_t c = 0; c < 4; ++c) {
            plain_client(&s, f->cohort.client[c], w, change);
            const double norm = norm_of(change, SIZE);
            *(norm > s.opts.clip ? &clipped : &unclipped) += 1;
            for (size_t i = 0; i < SIZE; ++i) sum[i] += change[i] * fmin(1.0, limit / norm);
        }
        for (size_t i = 0; i < SIZE; ++i) {
            velocity[i] = 0.9 * velocity[i] + sum[i] / 4.0;
            w[i] += 0.7 * velocity[i];
        }
        assert_ok(dpa_federation_round(f, &info, NULL));
        assert_int_equal(info.clients, 4);
        assert_int_equal(info.round, round + 1);
        for (size_t i = 0; i < SIZE; ++i)
            assert_absolute((double)dpa_model_weights(s.model)[i], w[i], 2e-6);
    }
    if (clipped <= 3 || unclipped <= 3) fail_msg("%zu clipped, %zu not", clipped, unclipped);
    dpa_federation_free(f);
    finish(&s);
}

typedef struct outcome {
    float weight[2000];
    double largest[60], cosine[60];
} outcome;

static void play(unsigned threads, size_t canaries, outcome *out) {
    set_up s = start("mlp:40", FEATURES);
    s.opts.threads = threads;
    s.opts.canaries = canaries;
    s.opts.unobserved = canaries;
    s.opts.sigma = 0.5;
    s.opts.momentum = 0.5;
    s.opts.adaptive = 1;
    s.opts.vote_noise = 0.5;
    s.opts.batch = 3;
    s.opts.client_steps = 5;
    s.opts.epochs = 2;
    s.opts.drop = 0.1;
    dpa_federation *f = federation(&s);
    play_all_rounds(f);
    assert_int_equal(dpa_federation_rounds_done(f), 6);
    memcpy(out->weight, dpa_model_weights(s.model), dpa_model_size(s.model) * sizeof(float));
    if (canaries > 0) {
        assert_ok(dpa_federation_largest(f, out->largest, NULL));
        assert_ok(dpa_federation_cosines(f, 1, out->cosine, NULL));
    }
    dpa_federation_free(f);
    finish(&s);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    static outcome one, more, without;
    play(1, 30, &one);
    for (unsigned threads = 2; threads <= 5; ++threads) {
        play(threads, 30, &more);
        assert_memory_equal(&one, &more, sizeof one);
    }
    play(3, 0, &without);
    assert_memory_not_equal(one.weight, without.weight, sizeof one.weight);
}

/* The same clients with and without canaries. */
static void canaries_do_not_change_who_comes(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.drop = 0.3;
    dpa_federation *a = federation(&s);
    s.opts.canaries = 50;
    dpa_federation *b = federation(&s);
    for (uint64_t round = 0; round < 6; ++round) {
        dpa__participation_draw(a, round, &a->cohort);
        dpa__participation_draw(b, round, &b->cohort);
        assert_int_equal(a->cohort.clients, b->cohort.clients);
        assert_memory_equal(a->cohort.client, b->cohort.client, a->cohort.clients * sizeof(size_t));
    }
    dpa_federation_free(a);
    dpa_federation_free(b);
    finish(&s);
}

static double moved(const set_up *s, const float *before) {
    double change[64];
    for (size_t i = 0; i < dpa_model_size(s->model); ++i)
        change[i] = (double)dpa_model_weights(s->model)[i] - (double)before[i];
    return norm_of(change, dpa_model_size(s->model));
}

static void one_client_moves_the_sum_by_s_at_most(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    float before[SIZE];
    s.opts.cohort = 1;
    s.opts.client_rate = 50.0;
    s.opts.clip = 0.125;
    dpa_federation *f = federation(&s);
    for (int round = 0; round < 6; ++round) {
        memcpy(before, dpa_model_weights(s.model), sizeof before);
        assert_ok(dpa_federation_round(f, NULL, NULL));
        assert_between(moved(&s, before), 0.125 * (1 - 1e-5), 0.125 * (1 + 1e-6));
    }
    dpa_federation_free(f);
    finish(&s);
}

/* The share of changes not longer than S converges to the quantile, and S to the value where it
 * is. */
static void clip_follows_the_quantile(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.cohort = CLIENTS;
    s.opts.rounds = 400;
    s.opts.server_rate = 0.0; /* keeps the norms unchanged */
    s.opts.clip = 100.0;
    s.opts.adaptive = 1;
    s.opts.quantile = 0.75;
    s.opts.batch = ROWS;
    dpa_federation *f = federation(&s);
    dpa_round_info info;
    double share = 0.0;
    for (int round = 0; round < 400; ++round) {
        assert_ok(dpa_federation_round(f, &info, NULL));
        if (round >= 300) share += (1.0 - info.norm_share) / 100.0;
    }
    assert_absolute(share, 0.75, 0.05);
    double w[SIZE], change[SIZE], norm[CLIENTS];
    for (size_t i = 0; i < SIZE; ++i) w[i] = (double)dpa_model_weights(s.model)[i];
    size_t below = 0;
    for (size_t c = 0; c < CLIENTS; ++c) {
        plain_client(&s, c, w, change);
        norm[c] = norm_of(change, SIZE);
        below += norm[c] <= info.clip * 1.03;
    }
    assert_between((double)below, 9, 10);
    dpa_federation_free(f);
    finish(&s);
}

/* Noise on the sum if the votes use a part of the budget: σ⁻² = σ_sum⁻² + (2σ_b)⁻². */
static void adaptive_noise_is_worth_sigma(void **state) {
    (void)state;
    set_up s = start("mlp:400", FEATURES); /* 3603 weights */
    s.opts.client_rate = 0.0;
    s.opts.adaptive = 1;
    s.opts.sigma = 0.3;
    s.opts.vote_noise = 0.25;
    s.opts.clip = 2.0;
    s.opts.rounds = 1;
    const size_t size = dpa_model_size(s.model);
    float *before = malloc(size * sizeof *before);
    memcpy(before, dpa_model_weights(s.model), size * sizeof *before);
    dpa_federation *f = federation(&s);
    play_all_rounds(f);
    double square = 0.0;
    for (size_t i = 0; i < size; ++i) {
        const double noise = 4.0 * ((double)dpa_model_weights(s.model)[i] - (double)before[i]);
        square += noise * noise;
    }
    const double want = 2.0 / sqrt(1.0 / 0.09 - 1.0 / 0.25); /* 0.75 */
    assert_relative(sqrt(square / (double)size), want, 4.0 / sqrt(2.0 * (double)size));
    dpa_federation_free(f);
    free(before);
    s.opts.vote_noise = 0.15;
    assert_int_equal(dpa_federation_new(s.model, s.data, s.clients, &s.opts, &f, NULL),
                     DPA_BAD_ARGUMENT);
    finish(&s);
}

/* ---- the audit ---- */

enum { WIDE = 6000, CANARIES = 400 };

/* A federation whose clients send nothing releases Σ canaries·S + σS·Z, the Gaussian mechanism of
 * Algorithm 1. Returns the largest cosines (with one round: those of the release) of all
 * canaries. */
static void silent(const dpa_federate_opts *change, double *largest, double *final) {
    set_up s = start("", WIDE / CLASSES - 1);
    s.opts.client_rate = 0.0;
    s.opts.canaries = CANARIES;
    s.opts.unobserved = CANARIES;
    s.opts.repetitions = 1;
    s.opts.rounds = change->rounds;
    s.opts.sigma = change->sigma;
    s.opts.fault = change->fault;
    s.opts.copies = change->copies;
    s.opts.share = change->share;
    s.opts.canary_scale = change->canary_scale;
    dpa_federation *f = federation(&s);
    play_all_rounds(f);
    assert_ok(dpa_federation_largest(f, largest, NULL));
    for (size_t i = 0; i < 2 * CANARIES; ++i)
        assert_int_equal(dpa__canaries_own_times(f->canaries, i), 1);
    assert_ok(dpa_federation_cosines(f, 1, final, NULL));
    dpa_federation_free(f);
    finish(&s);
}

static double mean_of(const double *x, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) sum += x[i];
    return sum / (double)count;
}

static dpa_federate_opts audit_opts(double sigma) {
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.rounds = 1;
    o.sigma = sigma;
    return o;
}

/* One round: the cosine of a present canary is about 1/√(k + σ²d) + N(0, 1/d), that of an absent
 * one N(0, 1/d); the estimate of ε must be that of the Gaussian mechanism (Theorem 3.3). */
static void one_round_is_the_gaussian_mechanism(void **state) {
    (void)state;
    static double largest[2 * CANARIES], final[2 * CANARIES];
    const double sigma = 0.8;
    const dpa_federate_opts o = audit_opts(sigma);
    silent(&o, largest, final);
    for (size_t i = 0; i < 2 * CANARIES; ++i) assert_absolute(final[i], largest[i], 1e-6);
    const double length = sqrt(CANARIES + sigma * sigma * WIDE);
    const double error = 4.0 / sqrt((double)WIDE * CANARIES);
    assert_absolute(mean_of(largest, CANARIES), 1.0 / length, error);
    assert_absolute(mean_of(largest + CANARIES, CANARIES), 0.0, error);
    dpa_cosine_fit fit;
    dpa_cosine_estimate estimate;
    assert_ok(dpa__cosine_fit_sample(final, CANARIES, &fit, NULL));
    assert_ok(dpa__cosines_mean(&fit, WIDE, 1e-5, 0.999, &estimate, NULL));
    /* k/d is not negligible here: the noise that a canary meets is √(σ² + k/d) */
    const double epsilon =
        dpa_gaussian_epsilon(1.0 / sqrt(sigma * sigma + (double)CANARIES / WIDE), 1e-5);
    assert_between(epsilon, estimate.lower, estimate.upper);
}

static void all_iterates_say_more_than_the_last(void **state) {
    (void)state;
    static double largest[2 * CANARIES], final[2 * CANARIES];
    dpa_federate_opts o = audit_opts(0.2);
    o.rounds = 8;
    silent(&o, largest, final);
    /* 50 canaries a round: 1/√(50 + σ²d) in the release, 1/√(400 + 8σ²d) at the end */
    assert_absolute(mean_of(largest, CANARIES), 1.0 / sqrt(50.0 + 0.04 * WIDE), 0.006);
    assert_absolute(mean_of(final, CANARIES), 1.0 / sqrt(400.0 + 8.0 * 0.04 * WIDE), 0.003);
    assert_true(mean_of(largest + CANARIES, CANARIES) > 1.0 / sqrt(WIDE)); /* a maximum of eight */
}

static void faults_show_in_the_cosines(void **state) {
    (void)state;
    static double right[2 * CANARIES], wrong[2 * CANARIES], final[2 * CANARIES];
    dpa_federate_opts o = audit_opts(1.0);
    o.canary_scale = 20.0; /* a correct server clips it */
    silent(&o, right, final);
    const double error = 4.0 / sqrt((double)WIDE * CANARIES);
    assert_absolute(mean_of(right, CANARIES), 1.0 / sqrt(CANARIES + WIDE), error);
    o.fault = DPA_FAULT_NO_NOISE;
    silent(&o, wrong, final);
    assert_absolute(mean_of(wrong, CANARIES), 1.0 / sqrt(CANARIES), error);
    o.fault = DPA_FAULT_CLIP_MEAN; /* the mean is at most 20/√400 = 1 long, so it is not clipped */
    silent(&o, wrong, final);
    assert_absolute(mean_of(wrong, CANARIES), 20.0 / sqrt(400.0 * CANARIES + WIDE), 2.0 * error);
    o.fault = DPA_FAULT_REPEAT;
    o.copies = 3;
    silent(&o, wrong, final);
    assert_absolute(mean_of(wrong, CANARIES), 3.0 / sqrt(9.0 * CANARIES + WIDE), error);
    o.share = 0.25; /* a quarter three times, the others once */
    silent(&o, wrong, final);
    assert_absolute(mean_of(wrong, CANARIES), 1.5 / sqrt(3.0 * CANARIES + WIDE), 2.0 * error);
}

/* ---- what is refused ---- */

static void refuses(set_up *s, dpa_federate_opts o) {
    dpa_federation *f = NULL;
    dpa_error err = {0};
    assert_int_equal(dpa_federation_new(s->model, s->data, s->clients, &o, &f, &err),
                     DPA_BAD_ARGUMENT);
    assert_true(err.text[0] != '\0');
}

static void bad_options_are_refused(void **state) {
    (void)state;
    set_up s = start("", FEATURES);
    s.opts.adaptive = 1;
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        dpa_federate_opts o = s.opts;                                                              \
        o.field = (value);                                                                         \
        refuses(&s, o);                                                                            \
    } while (0)
    REFUSED(rounds, 0);
    REFUSED(rounds, UINT64_C(1) << 40);
    REFUSED(cohort, 0);
    REFUSED(cohort, CLIENTS + 1);
    REFUSED(drop, 1.0);
    REFUSED(drop, (double)NAN);
    REFUSED(epochs, 0);
    REFUSED(batch, 0);
    REFUSED(client_rate, -1.0);
    REFUSED(server_rate, (double)INFINITY);
    REFUSED(momentum, 1.0);
    REFUSED(clip, 0.0);
    REFUSED(clip, (double)INFINITY);
    REFUSED(sigma, -0.1);
    REFUSED(sigma, (double)NAN);
    REFUSED(quantile, 1.5);
    REFUSED(clip_rate, -1.0);
    REFUSED(repetitions, 7);
    REFUSED(canary_scale, 0.0);
    REFUSED(copies, 0);
    REFUSED(share, 1.5);
    s.opts.participation = DPA_PARTICIPATE_PERIOD;
    REFUSED(period, 0);
    REFUSED(period, 4); /* 4 · 4 > 12 */
#undef REFUSED
    dpa_federation *f;
    double one;
    s.opts.participation = DPA_PARTICIPATE_UNIFORM;
    f = federation(&s);
    assert_int_equal(dpa_federation_cosines(f, 0, &one, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_federation_largest(f, &one, NULL), DPA_BAD_ARGUMENT);
    dpa_federation_free(f);
    const double owner[] = {0, 1, 2};
    dpa_clients *few;
    dpa_dataset *small;
    const float x[2 * FEATURES] = {0};
    const int32_t label[2] = {0};
    assert_ok(dpa_clients_new(owner, 3, &few, NULL));
    assert_ok(dpa_dataset_new(x, label, 2, (dpa_shape){1, 1, FEATURES}, CLASSES, &small, NULL));
    s.opts.cohort = 1;
    assert_int_equal(dpa_federation_new(s.model, small, few, &s.opts, &f, NULL), DPA_BAD_ARGUMENT);
    dpa_clients_free(few);
    dpa_dataset_free(small);
    finish(&s);
}

static void a_change_that_is_not_finite_stops_the_round(void **state) {
    (void)state;
    set_up s = start("mlp:8", FEATURES);
    s.opts.client_rate = 1e6;
    s.opts.epochs = 60;
    const size_t size = dpa_model_size(s.model);
    float before[200];
    for (size_t i = 0; i < size; ++i) dpa_model_weights(s.model)[i] *= 1e15F;
    memcpy(before, dpa_model_weights(s.model), size * sizeof *before);
    dpa_federation *f = federation(&s);
    dpa_error err = {0};
    assert_int_equal(dpa_federation_round(f, NULL, &err), DPA_NUMERIC);
    assert_non_null(strstr(err.text, "not finite in round 0"));
    assert_memory_equal(before, dpa_model_weights(s.model), size * sizeof *before);
    dpa_federation_free(f);
    finish(&s);
}

/* What docs/settings.md says of the defaults, and what the header says of the rest. */
static void defaults(void **state) {
    (void)state;
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    assert_true(o.rounds == 100 && o.cohort == 32 && o.epochs == 1 && o.batch == 16);
    assert_true(o.client_rate == 0.1 && o.server_rate == 1 && o.beta2 == 0.99 && o.tau == 1e-3);
    assert_true(o.clip == 1 && o.quantile == 0.5 && o.clip_rate == 0.2 && o.sigma == 0);
    assert_true(o.canary_seed == 1 && o.canary_scale == 1 && o.all_iterates == 1);
    assert_true(o.copies == 2 && o.share == 1 && o.canaries == 0 && o.unobserved == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(clients_are_owners_in_order),
        cmocka_unit_test(clients_come_from_files),
        cmocka_unit_test(dirichlet_deals_out_every_row),
        cmocka_unit_test(dirichlet_has_its_moments),
        cmocka_unit_test(participation_keeps_its_rules),
        cmocka_unit_test(canaries_come_as_often_as_clients),
        cmocka_unit_test(unfinished_periods_count),
        cmocka_unit_test(repetitions_are_one_in_each_part),
        cmocka_unit_test(rounds_match_a_plain_server),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(canaries_do_not_change_who_comes),
        cmocka_unit_test(one_client_moves_the_sum_by_s_at_most),
        cmocka_unit_test(clip_follows_the_quantile),
        cmocka_unit_test(adaptive_noise_is_worth_sigma),
        cmocka_unit_test(one_round_is_the_gaussian_mechanism),
        cmocka_unit_test(all_iterates_say_more_than_the_last),
        cmocka_unit_test(faults_show_in_the_cosines),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(a_change_that_is_not_finite_stops_the_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
