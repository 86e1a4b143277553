/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over the weights of a model, and how the server moves it by a round's mean: plainly, with
 * momentum, or by one of the adaptive optimisers of Reddi et al. (2021), Algorithm 2. Canaries are
 * measured on the mean before this, so all of it is post-processing. */
#include <math.h>

#include "base/simd.h"
#include "federate/federation.h"
#include "train/kernels.h"

DPA_CLONES void dpa__add_scaled(float *y, float by, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] += by * x[i];
}

DPA_CLONES void dpa__subtract(float *y, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] -= x[i];
}

int dpa__server_is_plain(const dpa_federate_opts *o) {
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

void dpa__server_move(dpa_federation *f, double count) {
    const dpa_federate_opts *o = &f->opts;
    const size_t size = f->model->size;
    const step s = {(float)(1.0 / count), (float)o->server_rate, (float)o->momentum,
                    (float)o->beta2, (float)o->tau};
    /* dpa__sgd subtracts, but the clients' changes point to where the model should go. */
    const dpa__update update = {
        .scale = s.scale, .momentum = s.beta1, .rate = (float)-o->server_rate};
    if (dpa__server_is_plain(o))
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
