/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phases in normal form: checked, merged, and what is known of them in closed form. */
#include "account/model.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static dpa_status check_phase(const dpa_phase *p, size_t number, dpa_error *err) {
    static const char *const names[] = {"sigma", "scale", "epsilon"};
    if ((int)p->mechanism < DPA_GAUSSIAN || (int)p->mechanism > DPA_RANDOMIZED_RESPONSE)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: mechanism %d is none", number,
                         (int)p->mechanism);
    if (!(p->sigma > 0) || !isfinite(p->sigma))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: %s is %g; it must be above 0 and finite", number,
                         names[p->mechanism], p->sigma);
    if (p->mechanism == DPA_GAUSSIAN && (p->sigma < 1e-3 || p->sigma > 1e9))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: sigma is %g; it must be in [0.001, 1e9]", number, p->sigma);
    if (p->mechanism == DPA_LAPLACE && (p->sigma < 1e-5 || p->sigma > 1e9))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: scale is %g; it must be in [1e-5, 1e9]",
                         number, p->sigma);
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE && (p->sigma < 1e-9 || p->sigma > 1e5))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: epsilon is %g; it must be in [1e-9, 1e5]", number, p->sigma);
    if (!(p->q >= 1e-30 && p->q <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: q is %g; it must be in [1e-30, 1]",
                         number, p->q);
    if (p->mechanism != DPA_GAUSSIAN && p->q != 1)
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "phase %zu: q is %g; only the Gaussian mechanism can be subsampled, q must "
            "be 1 here",
            number, p->q);
    if (p->steps == 0 || p->steps > UINT64_C(1000000000000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: steps is %llu; it must be in [1, 1e12]",
                         number, (unsigned long long)p->steps);
    return DPA_OK;
}

static int mergeable(const dpa_phase *a, const dpa_phase *b) {
    return a->mechanism == b->mechanism && a->sigma == b->sigma && a->q == b->q;
}

static void add_unit(dpa__model *model, dpa_phase p) {
    for (size_t k = 0; k < model->count; ++k)
        if (mergeable(&model->unit[k], &p)) {
            model->unit[k].steps += p.steps;
            return;
        }
    model->unit[model->count++] = p;
}

/* ε₀ of one step of a pure unit. */
static double unit_epsilon(const dpa_phase *p) {
    return p->mechanism == DPA_LAPLACE ? 1 / p->sigma : p->sigma;
}

static void summarise(dpa__model *model) {
    model->symmetric = 1;
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *p = &model->unit[k];
        model->steps += (double)p->steps;
        if (p->mechanism == DPA_GAUSSIAN) {
            model->pure = INFINITY;
            if (p->q < 1 && model->adjacency == DPA_ADD_REMOVE) model->symmetric = 0;
        } else {
            model->pure += unit_epsilon(p) * (double)p->steps;
        }
    }
}

dpa_status dpa__model_new(const dpa_phase *phases, size_t count, dpa_adjacency adjacency,
                          dpa__keep keep, dpa__model *out, dpa_error *err) {
    *out = (dpa__model){.adjacency = adjacency};
    if (phases == NULL || count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no phase was given; at least one is needed");
    for (size_t k = 0; k < count; ++k) DPA_TRY(check_phase(&phases[k], k + 1, err));
    out->unit = DPA_NEW_ARRAY(dpa_phase, count + 1, err);
    if (out->unit == NULL) return DPA_NO_MEMORY;
    double precision = 0; /* Σ steps/σ² of the Gaussian phases without sampling */
    for (size_t k = 0; k < count; ++k) {
        dpa_phase p = phases[k];
        if (p.mechanism == DPA_GAUSSIAN && p.q == 1 && keep == DPA_COMBINE) {
            precision += (double)p.steps / (p.sigma * p.sigma);
            continue;
        }
        if (p.mechanism == DPA_LAPLACE && adjacency == DPA_REPLACE_ONE) p.sigma /= 2;
        add_unit(out, p);
    }
    if (precision > 0) {
        const dpa_phase whole = {DPA_GAUSSIAN, 1 / sqrt(precision), 1, 1};
        if (out->count == 0) out->mu = (adjacency == DPA_REPLACE_ONE ? 2 : 1) * sqrt(precision);
        add_unit(out, whole);
    }
    summarise(out);
    return DPA_OK;
}

void dpa__model_free(dpa__model *model) {
    free(model->unit);
    *model = (dpa__model){0};
}
