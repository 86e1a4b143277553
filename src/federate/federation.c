/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server of DP-FedAvg (one-shot-federated, Algorithm 2, lines 2–9; McMahan et al. 2018).
 *
 * Adaptive clipping (Andrew et al. 2021): the server counts the changes not longer than S, with
 * noise of deviation σ_b on the count of ±½ votes, and S moves by exp(−rate·(share − quantile)).
 * Votes and sum together are one Gaussian mechanism of multiplier σ when the sum has noise
 * (σ⁻² − (2σ_b)⁻²)^−½. Canaries do not vote: they are S long by definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/simd.h"
#include "federate/federation.h"
#include "train/kernels.h"
#include "train/noise.h"

/* ---- How the server moves the model ----
 *
 * Plainly, with momentum, or by one of the adaptive optimisers of Reddi et al. (2021), Algorithm 2.
 * Canaries are measured on the mean before this, so all of it is post-processing. */

static int is_plain(const dpa_federate_opts *o) {
    return o->server == DPA_SERVER_SGD && o->momentum == 0.0;
}

DPA_CLONES static void plain(const float *sum, float scale, float rate, float *theta,
                             size_t count) {
    for (size_t i = 0; i < count; ++i) theta[i] += rate * (sum[i] * scale);
}

typedef struct step {
    float scale, rate, beta1, beta2, tau;
} step;

DPA_CLONES static void adagrad(const step *s, const float *sum, float *m, float *v, float *theta,
                               size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const float g = sum[i] * s->scale;
        m[i] = s->beta1 * m[i] + (1.0F - s->beta1) * g;
        v[i] += g * g;
        theta[i] += s->rate * m[i] / (sqrtf(v[i]) + s->tau);
    }
}

DPA_CLONES static void adam(const step *s, const float *sum, float *m, float *v, float *theta,
                            size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const float g = sum[i] * s->scale;
        m[i] = s->beta1 * m[i] + (1.0F - s->beta1) * g;
        v[i] = s->beta2 * v[i] + (1.0F - s->beta2) * (g * g);
        theta[i] += s->rate * m[i] / (sqrtf(v[i]) + s->tau);
    }
}

DPA_CLONES static void yogi(const step *s, const float *sum, float *m, float *v, float *theta,
                            size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const float g = sum[i] * s->scale, square = g * g;
        m[i] = s->beta1 * m[i] + (1.0F - s->beta1) * g;
        v[i] += (1.0F - s->beta2) * (v[i] < square ? square : v[i] > square ? -square : 0.0F);
        theta[i] += s->rate * m[i] / (sqrtf(v[i]) + s->tau);
    }
}

/* Moves the model by f->sum/count. */
static void move_model(dpa_federation *f, double count) {
    const dpa_federate_opts *o = &f->opts;
    const size_t size = f->model->size;
    const step s = {(float)(1.0 / count), (float)o->server_rate, (float)o->momentum,
                    (float)o->beta2, (float)o->tau};
    /* dpa__sgd subtracts, but the clients' changes point to where the model should go. */
    const dpa__update update = {
        .scale = s.scale, .momentum = s.beta1, .rate = (float)-o->server_rate};
    if (is_plain(o))
        plain(f->sum, s.scale, s.rate, f->model->weight, size);
    else if (o->server == DPA_SERVER_SGD)
        dpa__sgd(&update, f->sum, f->velocity, f->model->weight, size);
    else if (o->server == DPA_SERVER_ADAGRAD)
        adagrad(&s, f->sum, f->velocity, f->square, f->model->weight, size);
    else if (o->server == DPA_SERVER_ADAM)
        adam(&s, f->sum, f->velocity, f->square, f->model->weight, size);
    else
        yogi(&s, f->sum, f->velocity, f->square, f->model->weight, size);
}

/* ---- The federation ---- */

static const uint64_t VOTES = UINT64_C(1) << 55; /* noise streams that no round uses */

void dpa_federate_opts_init(dpa_federate_opts *opts) {
    *opts = (dpa_federate_opts){.rounds = 100,
                                .cohort = 32,
                                .epochs = 1,
                                .batch = 16,
                                .client_rate = 0.1,
                                .server_rate = 1.0,
                                .beta2 = 0.99,
                                .tau = 1e-3,
                                .clip = 1.0,
                                .quantile = 0.5,
                                .clip_rate = 0.2,
                                .canary_seed = 1,
                                .canary_scale = 1.0,
                                .all_iterates = 1,
                                .copies = 2,
                                .share = 1.0};
}

/* Fails unless x is finite and in [low, high]. */
static dpa_status within(const char *name, double x, double low, double high, dpa_error *err) {
    if (x >= low && x <= high && isfinite(x)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "%s %g: expected %g to %g", name, x, low, high);
}

static dpa_status check(const dpa_federate_opts *o, dpa_error *err) {
    DPA_TRY(within("client rate", o->client_rate, 0.0, 1e6, err));
    DPA_TRY(within("server rate", o->server_rate, 0.0, 1e6, err));
    DPA_TRY(within("momentum", o->momentum, 0.0, 0.999999, err));
    DPA_TRY(within("beta2", o->beta2, 0.0, 0.999999, err));
    DPA_TRY(within("tau", o->tau, 1e-12, 1e6, err));
    DPA_TRY(within("clipping norm", o->clip, 1e-30, 1e30, err));
    DPA_TRY(within("noise multiplier", o->sigma, 0.0, 1e6, err));
    DPA_TRY(within("canary scale", o->canary_scale, 1e-6, 1e6, err));
    DPA_TRY(within("share of repeated clients", o->share, 0.0, 1.0, err));
    if (o->epochs < 1 || o->batch < 1 || o->batch > 65536 || o->copies < 1 || o->copies > 65536)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "client epochs %zu, batch %zu, copies %zu: expected at least 1, at most "
                         "65536",
                         o->epochs, o->batch, o->copies);
    if (!o->adaptive) return DPA_OK;
    DPA_TRY(within("clipping quantile", o->quantile, 0.0, 1.0, err));
    DPA_TRY(within("clipping rate", o->clip_rate, 0.0, 10.0, err));
    if (o->sigma > 0.0 && !(2.0 * o->vote_noise > o->sigma && isfinite(o->vote_noise)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "vote noise %g: expected more than half of the noise multiplier %g",
                         o->vote_noise, o->sigma);
    return DPA_OK;
}

static unsigned machine_threads(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1U : count > 256 ? 256U : (unsigned)count;
}

static dpa_status allocate(dpa_federation *f, dpa_error *err) {
    const size_t size = f->model->size, clients = f->clients->count;
    f->sum = dpa__calloc(size, sizeof(float), err);
    const int moves = !is_plain(&f->opts), adapts = f->opts.server != DPA_SERVER_SGD;
    if (moves) f->velocity = dpa__calloc(size, sizeof(float), err);
    if (adapts) f->square = dpa__calloc(size, sizeof(float), err);
    f->order = DPA_NEW_ARRAY(size_t, clients, err);
    f->cohort.client = DPA_NEW_ARRAY(size_t, clients, err);
    f->cohort.canary = DPA_NEW_ARRAY(size_t, f->opts.canaries + f->opts.unobserved, err);
    f->workers = f->elsewhere != NULL ? 0 : f->opts.threads < clients ? f->opts.threads : clients;
    f->worker = dpa__calloc(f->workers, sizeof *f->worker, err);
    if (f->sum == NULL || (moves && f->velocity == NULL) || (adapts && f->square == NULL) ||
        f->order == NULL || f->cohort.client == NULL || f->cohort.canary == NULL ||
        f->worker == NULL)
        return DPA_NO_MEMORY;
    for (size_t i = 0; i < f->workers; ++i) DPA_TRY(dpa__worker_init(&f->worker[i], f, err));
    return dpa__audit_init(f, err);
}

static dpa_status check_clients(const dpa_clients *clients, const dpa_dataset *data,
                                dpa_error *err) {
    for (size_t i = 0; i < clients->start[clients->count]; ++i)
        if (clients->row[i] >= dpa_dataset_rows(data))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "a client owns row %zu of %zu", clients->row[i],
                             dpa_dataset_rows(data));
    return DPA_OK;
}

/* Without `data` the clients train elsewhere. */
static dpa_status make(dpa_model *model, const dpa_dataset *data, const dpa_clients *clients,
                       const dpa_federate_opts *opts, const dpa__elsewhere *elsewhere,
                       dpa_federation **out, dpa_error *err) {
    dpa_federate_opts o = *opts;
    if (o.threads == 0) o.threads = machine_threads();
    if (o.vote_noise == 0.0) o.vote_noise = (double)o.cohort / 20.0;
    DPA_TRY(check(&o, err));
    DPA_TRY(dpa__participation_check(&o, clients->count, err));
    if (data != NULL) DPA_TRY(dpa__model_fits(model, data, err));
    if (data != NULL) DPA_TRY(check_clients(clients, data, err));
    dpa_federation *f = DPA_NEW(dpa_federation, err);
    if (f == NULL) return DPA_NO_MEMORY;
    f->model = model;
    f->data = data;
    f->clients = clients;
    f->opts = o;
    f->clip = o.clip;
    f->elsewhere = elsewhere;
    const dpa_status status = allocate(f, err);
    if (status == DPA_OK)
        *out = f;
    else
        dpa_federation_free(f);
    return status;
}

dpa_status dpa_federation_new(dpa_model *model, const dpa_dataset *data, const dpa_clients *clients,
                              const dpa_federate_opts *opts, dpa_federation **out, dpa_error *err) {
    return make(model, data, clients, opts, NULL, out, err);
}

dpa_status dpa__federation_elsewhere(dpa_model *model, const dpa_clients *clients,
                                     const dpa_federate_opts *opts, const dpa__elsewhere *elsewhere,
                                     dpa_federation **out, dpa_error *err) {
    return make(model, NULL, clients, opts, elsewhere, out, err);
}

void dpa_federation_free(dpa_federation *f) {
    if (f == NULL) return;
    for (size_t i = 0; f->worker != NULL && i < f->workers; ++i) dpa__worker_free(&f->worker[i]);
    dpa__audit_free(f);
    free(f->worker);
    free(f->sum);
    free(f->velocity);
    free(f->square);
    free(f->order);
    free(f->cohort.client);
    free(f->cohort.canary);
    free(f);
}

/* What the sum is divided by. The expected number of clients does not depend on who comes. */
static double divisor(const dpa_federation *f, const dpa__round_tally *tally) {
    const dpa_federate_opts *o = &f->opts;
    if (o->divide_actual) return fmax((double)(tally->clients + f->cohort.canaries), 1.0);
    return (1.0 - o->drop) * (double)o->cohort + dpa__participation_canaries(f);
}

static double sum_noise(const dpa_federate_opts *o) {
    if (o->fault == DPA_FAULT_NO_NOISE || o->sigma == 0.0) return 0.0;
    if (!o->adaptive) return o->sigma;
    const double share = o->sigma / (2.0 * o->vote_noise);
    return o->sigma / sqrt(1.0 - share * share);
}

/* The fault DPA_FAULT_CLIP_MEAN: clips only the mean to length S, not each client's change. */
static void clip_mean(dpa_federation *f, double count) {
    const double norm = sqrt(dpa__sum_squares(f->sum, f->model->size)) / count;
    if (norm > f->clip) dpa__scale(f->sum, f->model->size, (float)(f->clip / norm));
}

static void move_clip(dpa_federation *f, const dpa__round_tally *tally) {
    const dpa_federate_opts *o = &f->opts;
    if (!o->adaptive || tally->clients == 0) return;
    double votes = (double)(tally->clients - tally->clipped) - 0.5 * (double)tally->clients;
    if (sum_noise(o) > 0.0) {
        dpa_rng rng;
        dpa__rng_init(&rng, o->seed, DPA_PURPOSE_NOISE, VOTES | f->round);
        votes += o->vote_noise * dpa__rng_normal(&rng);
    }
    const double count =
        o->divide_actual ? (double)tally->clients : (1.0 - o->drop) * (double)o->cohort;
    const double moved = f->clip * exp(-o->clip_rate * (votes / count + 0.5 - o->quantile));
    f->clip = fmin(fmax(moved, 1e-30), 1e30);
}

static dpa_round_info info_of(const dpa_federation *f, const dpa__round_tally *t, double clip) {
    const double noise = sum_noise(&f->opts), square = clip * clip;
    const double clients = t->clients > 0 ? (double)t->clients : (double)NAN;
    return (dpa_round_info){
        .round = f->round,
        .clients = t->clients,
        .clip = clip,
        .norm_share = (double)t->clipped / clients,
        .energy_clients = t->clients_energy / square,
        .energy_canaries = t->canaries_energy / square,
        .energy_noise = noise * noise * (double)f->model->size,
    };
}

static void add_noise(dpa_federation *f, double count) {
    if (f->opts.fault == DPA_FAULT_CLIP_MEAN) clip_mean(f, count);
    const double noise = sum_noise(&f->opts) * f->clip;
    if (noise > 0.0)
        dpa__noise_add(f->opts.seed, DPA_PURPOSE_NOISE, f->round, 0, (float)noise, f->sum,
                       f->model->size);
}

static dpa_status sum_here(dpa_federation *f, dpa__round_tally *tally, dpa_error *err) {
    DPA_TRY(dpa__round_sum(f, tally, err));
    tally->clients_energy =
        f->canaries != NULL ? dpa__sum_squares(f->sum, f->model->size) : (double)NAN;
    DPA_TRY(dpa__audit_add(f, &tally->canaries_energy, err));
    add_noise(f, divisor(f, tally));
    return DPA_OK;
}

static dpa_status sum_elsewhere(dpa_federation *f, dpa__round_tally *tally, dpa_error *err) {
    tally->clients_energy = (double)NAN;
    tally->canaries_energy = f->clip * f->clip * (double)f->cohort.canaries;
    return f->elsewhere->sum(f->elsewhere->user, f, err);
}

static void move(dpa_federation *f, const dpa__round_tally *tally) {
    move_model(f, divisor(f, tally));
    move_clip(f, tally);
}

dpa_status dpa_federation_round(dpa_federation *f, dpa_round_info *info, dpa_error *err) {
    const double clip = f->clip;
    dpa__round_tally tally = {0};
    dpa__participation_draw(f, f->round, &f->cohort);
    DPA_TRY(f->elsewhere != NULL ? sum_elsewhere(f, &tally, err) : sum_here(f, &tally, err));
    DPA_TRY(dpa__audit_release(f, err));
    if (f->elsewhere == NULL) move(f, &tally);
    ++f->round;
    if (info != NULL) *info = info_of(f, &tally, clip);
    return DPA_OK;
}

/* Adds up in double precision and in the order given, as dpa__canaries_sum_f32 does. */
static dpa_status add_changes(dpa_federation *f, const double *changes, size_t count,
                              dpa_error *err) {
    static const double ROUNDING = 1.0 + 1e-6;
    const size_t size = f->model->size;
    double *factor = DPA_NEW_ARRAY(double, count, err);
    if (factor == NULL) return DPA_NO_MEMORY;
    for (size_t k = 0; k < count; ++k) {
        double square = 0.0;
        for (size_t i = 0; i < size; ++i) square += changes[k * size + i] * changes[k * size + i];
        const int clips = f->opts.fault != DPA_FAULT_CLIP_MEAN && sqrt(square) > f->clip * ROUNDING;
        factor[k] = clips ? f->clip / sqrt(square) : 1.0;
    }
    for (size_t i = 0; i < size; ++i) {
        double total = (double)f->sum[i];
        for (size_t k = 0; k < count; ++k) total += factor[k] * changes[k * size + i];
        f->sum[i] = (float)total;
    }
    free(factor);
    return DPA_OK;
}

dpa_status dpa__federation_serve(dpa_federation *f, const double *changes, size_t count, float *sum,
                                 dpa_error *err) {
    dpa__round_tally tally = {0};
    f->cohort.canaries = count;
    DPA_TRY(dpa__round_sum(f, &tally, err));
    DPA_TRY(add_changes(f, changes, count, err));
    add_noise(f, divisor(f, &tally));
    memcpy(sum, f->sum, f->model->size * sizeof *sum);
    move(f, &tally);
    ++f->round;
    return DPA_OK;
}

uint64_t dpa_federation_rounds_done(const dpa_federation *f) {
    return f->round;
}
