/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds (docs/methods/known-rounds.md): whole federated trainings of known ε, audited each
 * from its one run. Public interface only; built and run by
 * scripts/papers/one-shot-federated-known.
 *
 * known-rounds RUNS KEY=VALUE…: a model of 19,990 weights, 539 clients, 34 of them in a round, 80
 * rounds, 1000 + 1000 canaries in one round each, noise calibrated to ε = 3 at δ = 1e-3. Prints one
 * CSV line: what was set, runs, mean and deviation of the certified ε, how many were above the true
 * ε, how many refute the claim "ε ≤ 3" (p below 0.05), the mean of `all-iterates-jeffreys`' bound.
 * tests=both: ranks and scan, as the command has it; tests=rank: ranks alone, which is faster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpaudit/cosines.h"
#include "dpaudit/federate.h"
#include "dpaudit/rng.h"
#include "dpaudit/tradeoff.h"

enum { FEATURES = 100, CLASSES = 10, CLIENTS = 539, EACH = 4, ROWS = CLIENTS * EACH };
static const double target = 3.0, delta = 1e-3;

typedef struct setting {
    const char *direction, *server, *participation, *tests;
    double canaries, repetitions, momentum, copies, share, adaptive, all, rate, actual;
} setting;

static const char *text_of(int count, char **words, const char *key, const char *usual) {
    const size_t length = strlen(key);
    for (int i = 0; i < count; ++i)
        if (strncmp(words[i], key, length) == 0 && words[i][length] == '=')
            return words[i] + length + 1;
    return usual;
}

static double number_of(int count, char **words, const char *key, const char *usual) {
    return strtod(text_of(count, words, key, usual), NULL);
}

static void must(dpa_status status, const dpa_error *err) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "known-rounds: %s %s\n", err->place, err->text);
    exit(1);
}

static void make_data(dpa_dataset **data, dpa_clients **clients) {
    static float x[ROWS * FEATURES];
    static int32_t label[ROWS];
    static double owner[ROWS];
    dpa_error err;
    dpa_rng rng;
    dpa_rng_init(&rng, 5, DPA_PURPOSE_SIMULATE, 0);
    for (size_t i = 0; i < ROWS; ++i) {
        label[i] = (int32_t)(i % CLASSES);
        owner[i] = (double)(i / EACH);
        for (size_t k = 0; k < FEATURES; ++k)
            x[i * FEATURES + k] =
                (float)(dpa_rng_normal(&rng) + (k % CLASSES == i % CLASSES ? 1.0 : 0.0));
    }
    must(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, FEATURES}, CLASSES, data, &err), &err);
    must(dpa_clients_new(owner, ROWS, clients, &err), &err);
}

static dpa_federate_opts options(const setting *s, uint64_t run) {
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.seed = 1000 + run;
    o.canary_seed = 500000 + run;
    o.rounds = 80;
    o.cohort = 34;
    o.participation = strcmp(s->participation, "poisson") == 0   ? DPA_PARTICIPATE_POISSON
                      : strcmp(s->participation, "uniform") == 0 ? DPA_PARTICIPATE_UNIFORM
                                                                 : DPA_PARTICIPATE_SHUFFLE;
    o.clip = 0.3;
    o.batch = EACH;
    o.client_rate = 0.1;
    o.momentum = s->momentum;
    o.server_rate = s->rate;
    o.server = strcmp(s->server, "adam") == 0      ? DPA_SERVER_ADAM
               : strcmp(s->server, "adagrad") == 0 ? DPA_SERVER_ADAGRAD
               : strcmp(s->server, "yogi") == 0    ? DPA_SERVER_YOGI
                                                   : DPA_SERVER_SGD;
    o.adaptive = s->adaptive != 0.0;
    o.divide_actual = s->actual != 0.0;
    o.canaries = o.unobserved = (size_t)s->canaries;
    o.repetitions = (uint64_t)s->repetitions;
    o.direction = strcmp(s->direction, "sphere") == 0  ? DPA_DIRECTION_SPHERE
                  : strcmp(s->direction, "signs") == 0 ? DPA_DIRECTION_SIGNS
                                                       : DPA_DIRECTION_HADAMARD;
    o.all_iterates = s->all != 0.0;
    o.fault = s->copies > 1.0 ? DPA_FAULT_REPEAT : DPA_FAULT_NONE;
    o.copies = (size_t)s->copies;
    o.share = s->share;
    return o;
}

typedef struct outcome {
    double epsilon, p_value, jeffreys;
} outcome;

static double jeffreys(const setting *s, dpa_federation *f, double *largest) {
    dpa_error err;
    dpa_cosine_bound b;
    const size_t k = (size_t)s->canaries;
    if (s->all == 0.0) return (double)NAN;
    must(dpa_federation_largest(f, largest, &err), &err);
    const dpa_cosines c = {.observed = largest,
                           .observed_count = k,
                           .unobserved = largest + k,
                           .unobserved_count = k,
                           .direction = DPA_DIRECTION_SPHERE};
    must(dpa_cosines_lower(&c, "split", delta, 0.95, 1, &b, &err), &err);
    return b.epsilon;
}

static outcome audit(const setting *s, const dpa_federate_opts *o, dpa_federation *f,
                     dpa_request *request) {
    dpa_error err;
    const size_t k = (size_t)s->canaries;
    double *score = calloc(4 * k, sizeof *score), *times = score + 2 * k, spread;
    if (score == NULL) exit(1);
    must(dpa_federation_known(f, score, times, &spread, &err), &err);
    const double most = dpa_canaries_choose(score, times, k, 2 * k, o->sigma);
    size_t in = 0, out = 0;
    for (size_t i = 0; i < k; ++i)
        if (!isnan(score[i])) score[in++] = score[i];
    for (size_t i = k; i < 2 * k; ++i)
        if (!isnan(score[i])) score[k + out++] = score[i];
    const dpa_known_rounds known = {
        .observed = score,
        .observed_count = in,
        .unobserved = score + k,
        .unobserved_count = out,
        .canary_rounds = most,
        .spread = spread,
        .rule = {.times = s->repetitions > 0 ? s->repetitions : 1.0, .q = (double)NAN},
        .direction = o->direction};
    dpa_result r;
    dpa_lints lints = {0};
    must(dpa_known_rounds_result(&known, request, &r, &lints, &err), &err);
    dpa_lints_free(&lints);
    const outcome found = {r.epsilon_lower, r.p_value, jeffreys(s, f, times)};
    free(score);
    return found;
}

static outcome one_run(const setting *s, const dpa_dataset *data, const dpa_clients *clients,
                       uint64_t run) {
    dpa_error err;
    dpa_model *model = NULL;
    dpa_federation *f = NULL;
    dpa_federate_opts o = options(s, run);
    const double times = s->repetitions > 0 ? s->repetitions : 1.0;
    o.sigma = sqrt(times) / dpa_gaussian_mu(target, delta);
    must(dpa_model_new("mlp:180", (dpa_shape){1, 1, FEATURES}, CLASSES, DPA_LOSS_SOFTMAX, &model,
                       &err),
         &err);
    dpa_model_init(model, 1);
    must(dpa_federation_new(model, data, clients, &o, &f, &err), &err);
    must(dpa_federation_run(f, NULL, &err), &err);
    dpa_request request;
    dpa_request_init(&request);
    request.delta = delta;
    request.claim_epsilon = target;
    request.seed = 1 + run;
    if (strcmp(s->tests, "rank") == 0)
        (void)snprintf(request.method, sizeof request.method, "rank");
    const outcome found = audit(s, &o, f, &request);
    dpa_federation_free(f);
    dpa_model_free(model);
    return found;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    const setting s = {.direction = text_of(count, words, "direction", "hadamard"),
                       .server = text_of(count, words, "server", "sgd"),
                       .participation = text_of(count, words, "participation", "shuffle"),
                       .tests = text_of(count, words, "tests", "rank"),
                       .canaries = number_of(count, words, "canaries", "1000"),
                       .repetitions = number_of(count, words, "repetitions", "1"),
                       .momentum = number_of(count, words, "momentum", "0"),
                       .copies = number_of(count, words, "copies", "1"),
                       .share = number_of(count, words, "share", "1"),
                       .adaptive = number_of(count, words, "adaptive", "0"),
                       .all = number_of(count, words, "all", "0"),
                       .rate = number_of(count, words, "rate", "1"),
                       .actual = number_of(count, words, "actual", "0")};
    const int runs = (int)strtol(words[1], NULL, 10);
    double sum = 0.0, square = 0.0, bounds = 0.0;
    int above = 0, refuted = 0;
    dpa_dataset *data = NULL;
    dpa_clients *clients = NULL;
    make_data(&data, &clients);
    for (int run = 0; run < runs; ++run) {
        const outcome x = one_run(&s, data, clients, (uint64_t)run);
        sum += x.epsilon;
        square += x.epsilon * x.epsilon;
        bounds += x.jeffreys;
        above += x.epsilon > target;
        refuted += x.p_value < 0.05;
    }
    const double mean = sum / runs;
    (void)printf("%s,%s,%s,%g,%g,%s,%g,%g,%g,%g,%d,%.3f,%.3f,%d,%d,%.3f\n", s.tests, s.direction,
                 s.server, s.momentum, s.canaries, s.participation, s.repetitions, s.copies,
                 s.share, s.actual, runs, mean, sqrt(fmax(0.0, square / runs - mean * mean)), above,
                 refuted, bounds / runs);
    dpa_clients_free(clients);
    dpa_dataset_free(data);
    return 0;
}
