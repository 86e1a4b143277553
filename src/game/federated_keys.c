/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of `federate`. What they may be is checked where they are used: dpa_federation_new. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/federated.h"

static const cyaml_strval_t participations[] = {{"uniform", DPA_PARTICIPATE_UNIFORM},
                                                {"poisson", DPA_PARTICIPATE_POISSON},
                                                {"shuffle", DPA_PARTICIPATE_SHUFFLE},
                                                {"period", DPA_PARTICIPATE_PERIOD}};
static const cyaml_strval_t faults[] = {{"none", DPA_FAULT_NONE},
                                        {"no-noise", DPA_FAULT_NO_NOISE},
                                        {"clip-after-mean", DPA_FAULT_CLIP_MEAN},
                                        {"repeated-clients", DPA_FAULT_REPEAT}};

static const cyaml_strval_t directions[] = {{"sphere", DPA_DIRECTION_SPHERE},
                                            {"signs", DPA_DIRECTION_SIGNS},
                                            {"hadamard", DPA_DIRECTION_HADAMARD}};

static const cyaml_strval_t servers[] = {{"sgd", DPA_SERVER_SGD},
                                         {"adagrad", DPA_SERVER_ADAGRAD},
                                         {"adam", DPA_SERVER_ADAM},
                                         {"yogi", DPA_SERVER_YOGI}};

enum {
    MAYBE = CYAML_FLAG_OPTIONAL,
    STRICT = MAYBE | CYAML_FLAG_STRICT,
    MAYBE_PTR = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL
};

#define TEXT(name, member)                                                                         \
    CYAML_FIELD_STRING_PTR(name, MAYBE_PTR, dpa__federate_keys, member, 1, CYAML_UNLIMITED)
#define COUNT(name, member) CYAML_FIELD_UINT_PTR(name, MAYBE_PTR, dpa__federate_keys, member)
#define NUMBER(name, member) CYAML_FIELD_FLOAT_PTR(name, MAYBE_PTR, dpa__federate_keys, member)
#define FLAG(name, member) CYAML_FIELD_BOOL(name, MAYBE, dpa__federate_keys, member)
#define CHOICE(name, member, list)                                                                 \
    CYAML_FIELD_ENUM(name, STRICT, dpa__federate_keys, member, list, CYAML_ARRAY_LEN(list))

const cyaml_schema_field_t dpa__federate_fields[] = {
    TEXT("clients", clients),
    TEXT("column", column),
    COUNT("split", split),
    NUMBER("concentration", concentration),
    COUNT("rounds", rounds),
    CHOICE("participation", participation, participations),
    COUNT("cohort", cohort),
    COUNT("period", period),
    NUMBER("drop", drop),
    CHOICE("server", server, servers),
    NUMBER("server-rate", server_rate),
    NUMBER("beta2", beta2),
    NUMBER("tau", tau),
    NUMBER("momentum", momentum),
    FLAG("adaptive", adaptive),
    NUMBER("quantile", quantile),
    NUMBER("clip-rate", clip_rate),
    NUMBER("vote-noise", vote_noise),
    FLAG("divide-actual", divide_actual),
    COUNT("canaries", canaries),
    COUNT("unobserved", unobserved),
    COUNT("repetitions", repetitions),
    NUMBER("canary-scale", canary_scale),
    CHOICE("direction", direction, directions),
    CYAML_FIELD_BOOL_PTR("all-iterates", MAYBE_PTR, dpa__federate_keys, all_iterates),
    CHOICE("fault", fault, faults),
    COUNT("copies", copies),
    NUMBER("share", share),
    COUNT("runs", runs),
    FLAG("baseline", baseline),
    FLAG("since-start", since_start),
    COUNT("checkpoints", checkpoints),
    CYAML_FIELD_END};

void dpa_federate_plan_free(dpa_federate_plan *plan) {
    if (plan == NULL) return;
    free(plan->clients);
    free(plan->column);
    free(plan);
}

#define TAKE(to, type, from)                                                                       \
    do {                                                                                           \
        if ((from) != NULL) (to) = (type) * (from);                                                \
    } while (0)

static void take_training(const dpa__federate_keys *k, dpa_federate_opts *o) {
    dpa_federate_opts_init(o);
    o->participation = k->participation;
    o->adaptive = k->adaptive;
    o->divide_actual = k->divide_actual;
    o->fault = k->fault;
    o->server = k->server;
    TAKE(o->beta2, double, k->beta2);
    TAKE(o->tau, double, k->tau);
    TAKE(o->rounds, uint64_t, k->rounds);
    TAKE(o->cohort, size_t, k->cohort);
    TAKE(o->period, uint64_t, k->period);
    TAKE(o->drop, double, k->drop);
    TAKE(o->server_rate, double, k->server_rate);
    TAKE(o->momentum, double, k->momentum);
    TAKE(o->quantile, double, k->quantile);
    TAKE(o->clip_rate, double, k->clip_rate);
    TAKE(o->vote_noise, double, k->vote_noise);
}

static void take_audit(const dpa__federate_keys *k, dpa_federate_plan *plan) {
    dpa_federate_opts *o = &plan->opts;
    o->direction = k->direction;
    TAKE(o->canaries, size_t, k->canaries);
    TAKE(o->all_iterates, int, k->all_iterates);
    o->unobserved = o->all_iterates ? DPA__AS_MANY : 0;
    TAKE(o->unobserved, size_t, k->unobserved);
    TAKE(o->repetitions, uint64_t, k->repetitions);
    TAKE(o->canary_scale, double, k->canary_scale);
    TAKE(o->copies, size_t, k->copies);
    TAKE(o->share, double, k->share);
    plan->concentration = 1.0;
    plan->runs = 1;
    plan->baseline = k->baseline;
    plan->since_start = k->since_start;
    TAKE(plan->split, size_t, k->split);
    TAKE(plan->concentration, double, k->concentration);
    TAKE(plan->runs, uint64_t, k->runs);
    TAKE(plan->checkpoints, uint64_t, k->checkpoints);
}

static dpa_status take(const dpa__federate_keys *k, const char *path, dpa_federate_plan *plan,
                       dpa_error *err) {
    take_training(k, &plan->opts);
    take_audit(k, plan);
    if ((k->clients != NULL) == (k->split != NULL))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "federate: give either clients, a file, or split, a number");
    if ((k->canaries != NULL && plan->opts.canaries < 1) || plan->runs < 1 || plan->runs > 1000000)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "federate: canaries %zu, runs %llu: expected at least 1",
                              plan->opts.canaries, (unsigned long long)plan->runs);
    if (plan->opts.rounds < 1)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "federate: rounds 0: expected at least 1");
    if (plan->checkpoints > plan->opts.rounds)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "federate: %llu checkpoints in %llu rounds",
                              (unsigned long long)plan->checkpoints,
                              (unsigned long long)plan->opts.rounds);
    if (plan->opts.all_iterates && plan->opts.unobserved < 2)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "federate: all-iterates needs 2 unobserved canaries or more");
    if (k->clients != NULL) {
        plan->clients = dpa__path_beside(path, k->clients, err);
        if (plan->clients == NULL) return DPA_NO_MEMORY;
    }
    if (k->column != NULL) {
        plan->column = dpa__strdup(k->column, err);
        if (plan->column == NULL) return DPA_NO_MEMORY;
    }
    return DPA_OK;
}

dpa_status dpa__federate_plan_take(const dpa__federate_keys *keys, const char *path,
                                   dpa_federate_plan **out, dpa_error *err) {
    dpa_federate_plan *plan = DPA_NEW(dpa_federate_plan, err);
    if (plan == NULL) return DPA_NO_MEMORY;
    const dpa_status status = take(keys, path, plan, err);
    if (status == DPA_OK)
        *out = plan;
    else
        dpa_federate_plan_free(plan);
    return status;
}
