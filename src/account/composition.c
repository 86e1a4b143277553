/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phases in normal form: checked, merged, with closed forms where they exist. */
#include "account/composition.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"

static dpa_status check_phase(const dpa_phase *p, size_t number, dpa_error *err) {
    static const char *const names[] = {"sigma", "scale", "epsilon", "sigma", "sigma"};
    if ((int)p->mechanism < DPA_GAUSSIAN || (int)p->mechanism > DPA_SHUFFLED)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: mechanism %d is none", number,
                         (int)p->mechanism);
    if (!(p->sigma > 0) || !isfinite(p->sigma))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: %s is %g; it must be above 0 and finite", number,
                         names[p->mechanism], p->sigma);
    if (p->mechanism == DPA_PAIR && p->pair == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: the pair is missing", number);
    if ((p->mechanism == DPA_GAUSSIAN || p->mechanism == DPA_SHUFFLED) &&
        (p->sigma < 1e-3 || p->sigma > 1e9))
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
    if (p->steps == 0 || p->steps > UINT64_C(1000000000000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: steps is %llu; it must be in [1, 1e12]",
                         number, (unsigned long long)p->steps);
    return DPA_OK;
}

static int mergeable(const dpa_phase *a, const dpa_phase *b) {
    return a->mechanism == b->mechanism && a->sigma == b->sigma && a->q == b->q &&
           a->pair == b->pair;
}

static void add_unit(dpa__composition *model, dpa_phase p) {
    for (size_t k = 0; k < model->count; ++k)
        if (mergeable(&model->unit[k], &p)) {
            model->unit[k].steps += p.steps;
            return;
        }
    model->unit[model->count++] = p;
}

/* ε₀ of one step of a pure unit. */
static double unit_epsilon(const dpa_phase *p) {
    if (p->mechanism == DPA_LAPLACE) return 1 / p->sigma;
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE) return p->sigma;
    return p->mechanism == DPA_PAIR && p->q == 1 ? dpa__pair_pure(p->pair) : HUGE_VAL;
}

static int is_symmetric(const dpa__composition *model, const dpa_phase *p) {
    if (p->mechanism == DPA_PAIR) return p->q == 1 && dpa__pair_is_symmetric(p->pair);
    if (p->mechanism == DPA_SHUFFLED) return 0;
    return p->q == 1 || model->adjacency == DPA_REPLACE_ONE;
}

static void summarise(dpa__composition *model) {
    model->symmetric = 1;
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *p = &model->unit[k];
        model->steps += (double)p->steps;
        model->pure += unit_epsilon(p) * (double)p->steps;
        model->symmetric = model->symmetric && is_symmetric(model, p);
        model->has_gap = model->has_gap || p->mechanism == DPA_SHUFFLED;
    }
}

/* Uses a pair that the composition makes and owns: Poisson-sampled Laplace noise or response, or a
 * group. */
static dpa_status own_pair(dpa__composition *model, dpa_pair *pair, dpa_phase *p) {
    model->own[model->owned++] = pair;
    p->mechanism = DPA_PAIR;
    p->pair = pair;
    p->sigma = p->q = 1;
    return DPA_OK;
}

/* The number of the group's records in the batch is binomial. */
static dpa_status sampled_group(dpa__composition *model, double group, dpa_phase *p,
                                dpa_error *err) {
    const size_t count = (size_t)group + 1;
    const double zero = 0, one = 1;
    double *mean = DPA_NEW_ARRAY(double, 2 * count, err);
    if (mean == NULL) return DPA_NO_MEMORY;
    double *weight = mean + count;
    for (size_t k = 0; k < count; ++k) {
        mean[k] = (double)k;
        weight[k] = exp(dpa__binom_log_pmf((double)k, group, p->q));
    }
    dpa_pair *pair;
    const dpa_status status =
        dpa__pair_gaussians(p->sigma, mean, weight, count, &zero, &one, 1, &pair, err);
    free(mean);
    return status == DPA_OK ? own_pair(model, pair, p) : status;
}

static dpa_status apply_group(dpa__composition *model, double group, dpa_phase *p, dpa_error *err) {
    if (group == 1) return DPA_OK;
    if (p->mechanism == DPA_PAIR || (p->q < 1 && (model->adjacency == DPA_REPLACE_ONE ||
                                                  p->mechanism != DPA_GAUSSIAN || group > 1000)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "group: known for noise without sampling, and for up to 1000 records and "
                         "Poisson-sampled Gaussian noise under add/remove; for a pair give that of "
                         "the whole group");
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE) {
        p->steps *= (uint64_t)group; /* each record gives its own response */
        return DPA_OK;
    }
    if (p->q < 1) return sampled_group(model, group, p, err);
    p->sigma /= group;
    return DPA_OK;
}

/* Poisson sampling of mechanisms whose cells do not include it. */
static dpa_status apply_sampling(dpa__composition *model, dpa_phase *p, dpa_error *err) {
    if (p->q == 1 || p->mechanism == DPA_GAUSSIAN || p->mechanism == DPA_SHUFFLED) return DPA_OK;
    if (model->adjacency == DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "q is %g: for replace-one only Gaussian noise can be sampled", p->q);
    if (p->mechanism == DPA_PAIR) return DPA_OK; /* the grid handles it */
    dpa_pair *pair;
    DPA_TRY(p->mechanism == DPA_LAPLACE ? dpa__pair_laplace(p->sigma, &pair, err)
                                        : dpa__pair_epsilon_delta(p->sigma, 0, &pair, err));
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, p->q, &pair, err));
    return own_pair(model, pair, p);
}

static dpa_status add_phases(dpa__composition *model, const dpa_phase *phases, size_t count,
                             const dpa_account_opts *opts, dpa__keep keep, dpa_error *err) {
    double precision = 0; /* Σ steps/σ² of the Gaussian phases without sampling */
    for (size_t k = 0; k < count; ++k) {
        dpa_phase p = phases[k];
        DPA_TRY(apply_group(model, opts->group, &p, err));
        if (p.mechanism == DPA_GAUSSIAN && p.q == 1 && keep == DPA_COMBINE) {
            precision += (double)p.steps / (p.sigma * p.sigma);
            continue;
        }
        if (p.mechanism == DPA_LAPLACE && model->adjacency == DPA_REPLACE_ONE) p.sigma /= 2;
        DPA_TRY(apply_sampling(model, &p, err));
        add_unit(model, p);
    }
    if (precision > 0) {
        const dpa_phase whole = {DPA_GAUSSIAN, 1 / sqrt(precision), 1, 1, NULL};
        if (model->count == 0)
            model->mu = (model->adjacency == DPA_REPLACE_ONE ? 2 : 1) * sqrt(precision);
        add_unit(model, whole);
    }
    return DPA_OK;
}

dpa_status dpa__composition_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                                dpa__keep keep, dpa__composition *out, dpa_error *err) {
    *out = (dpa__composition){.adjacency = opts->adjacency};
    if (phases == NULL || count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no phase was given; at least one is needed");
    for (size_t k = 0; k < count; ++k) DPA_TRY(check_phase(&phases[k], k + 1, err));
    out->unit = DPA_NEW_ARRAY(dpa_phase, count + 1, err);
    if (out->unit != NULL) out->own = dpa__calloc(count, sizeof(dpa_pair *), err);
    if (out->own == NULL) return DPA_NO_MEMORY;
    DPA_TRY(add_phases(out, phases, count, opts, keep, err));
    summarise(out);
    return DPA_OK;
}

void dpa__composition_free(dpa__composition *model) {
    for (size_t k = 0; k < model->owned; ++k) dpa_pair_free(model->own[k]);
    free(model->own);
    free(model->unit);
    *model = (dpa__composition){0};
}
