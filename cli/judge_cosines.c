/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A federated training with canary clients: the attacker of the final model and the one of all
 * iterates side by side (one-shot-federated, Tables 2 and 5), next to what the noise promises. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

static double fact(const judgement *j, const char *name) {
    for (size_t i = 0; i < j->evidence->fact_count; ++i)
        if (strcmp(j->evidence->facts[i].name, name) == 0) return j->evidence->facts[i].value;
    return NAN;
}

/* Of the noise: for an attacker who knows in which rounds the canary was, and with Poisson
 * participation for one who does not. */
typedef struct promise {
    double unamplified, amplified; /* NaN: not known */
} promise;

static dpa_status find_promise(judgement *j, promise *out, dpa_error *err) {
    const double sigma = fact(j, "sigma"), q = fact(j, "q"), times = fact(j, "participations");
    const int random = j->experiment->federate->opts.repetitions == 0;
    *out = (promise){INFINITY, NAN};
    if (!(sigma > 0.0)) return DPA_OK;
    out->unamplified = dpa_gaussian_epsilon(sqrt(times) / sigma, j->request.delta);
    if (isnan(q) || !random) return DPA_OK;
    dpa_interval epsilon = {0, 0};
    const dpa_status status =
        training_epsilon(j, sigma, q, (uint64_t)fact(j, "rounds"), &epsilon, err);
    if (status == DPA_OK) out->amplified = epsilon.upper;
    return status;
}

static dpa_status set_claim(judgement *j, promise *p, dpa_error *err) {
    const dpa_experiment *e = j->experiment;
    j->request.delta = isnan(e->claim_delta) ? dpa_game_training(j->game)->delta : e->claim_delta;
    j->request.confidence = e->confidence;
    const dpa_status status = find_promise(j, p, err);
    if (status != DPA_OK) return status;
    double claim = isnan(p->amplified) ? p->unamplified : p->amplified;
    if (!isnan(e->claim_epsilon)) claim = e->claim_epsilon;
    if (isfinite(claim)) j->request.claim_epsilon = claim;
    return DPA_OK;
}

static int wanted(const judgement *j, const char *method) {
    return j->method == NULL || strcmp(j->method, "all") == 0 || strcmp(j->method, method) == 0;
}

/* One method on one set of cosines; `name` is how the report calls it. */
static dpa_status add(judgement *j, const dpa_cosines *cosines, const dpa_request *request,
                      const char *method, const char *name, dpa_lints *lints, dpa_error *err) {
    if (!wanted(j, name)) return DPA_OK;
    dpa_request one = *request;
    dpa_results results = {0};
    dpa_status status = dpa_request_set(&one, "method", method, err);
    if (status == DPA_OK) status = dpa_cosines_results(cosines, &one, &results, lints, err);
    for (size_t i = 0; i < results.count && status == DPA_OK; ++i) {
        dpa_result *r = &results.items[i];
        (void)snprintf(r->method, sizeof r->method, "%s", name);
        status = dpa_report_add(j->report, r, err);
    }
    dpa_results_free(&results);
    return status;
}

/* Two bounds are looked at, so each has half of the error. */
static dpa_status add_results(judgement *j, const dpa_cosines *final, const dpa_cosines *rounds,
                              dpa_error *err) {
    dpa_request bound = j->request;
    dpa_lints lints = {0}, unused = {0};
    if (rounds != NULL) bound.confidence = 0.5 * (1.0 + bound.confidence);
    dpa_status status = add(j, final, &j->request, "mean", "mean", &lints, err);
    if (status == DPA_OK)
        status =
            add(j, final, &j->request, "mean-and-deviation", "mean-and-deviation", &unused, err);
    if (status == DPA_OK) status = add(j, final, &bound, "jeffreys", "jeffreys", &unused, err);
    if (status == DPA_OK && rounds != NULL)
        status = add(j, rounds, &j->request, "all-iterates", "all-iterates", &lints, err);
    if (status == DPA_OK && rounds != NULL)
        status = add(j, rounds, &bound, "jeffreys", "all-iterates-jeffreys", &unused, err);
    if (status == DPA_OK) status = dpa_report_lints(j->report, &lints, err);
    dpa_lints_free(&lints);
    dpa_lints_free(&unused);
    return status;
}

static dpa_status say_promise(judgement *j, const promise *p, dpa_error *err) {
    const double times = fact(j, "participations");
    dpa_status status = dpa_report_fact(j->report, "epsilon_unamplified", p->unamplified, err);
    if (status == DPA_OK && !isnan(p->amplified))
        status = dpa_report_fact(j->report, "epsilon_amplified", p->amplified, err);
    if (status == DPA_OK)
        status = dpa_report_note(
            j->report, err,
            "By the noise epsilon is %.4g at delta %.3g for a client who is in up to %.0f round%s "
            "that the attacker knows.",
            p->unamplified, j->request.delta, times, times == 1.0 ? "" : "s");
    if (status == DPA_OK && !isnan(p->amplified))
        status = dpa_report_note(j->report, err,
                                 "With Poisson participation unknown to the attacker it is %.4g.",
                                 p->amplified);
    return status;
}

/* Estimates refute nothing, but one far above what the noise promises is no accident. Of all
 * iterates only the direction from absent to present counts: the other one extrapolates the narrow
 * fit of the absent canaries' maxima and is above the promise of right systems too
 * (papers/one-shot-federated). */
static dpa_status say_suspicion(judgement *j, const dpa_cosines *rounds, const promise *p,
                                dpa_error *err) {
    double found = 0.0;
    for (size_t i = 0; i < dpa_report_count(j->report); ++i) {
        const dpa_result *r = dpa_report_result(j->report, i);
        if (strcmp(r->method, "mean") == 0) found = fmax(found, r->epsilon_lower);
    }
    if (rounds != NULL) {
        dpa_cosine_fit in, out;
        dpa_status status =
            dpa_cosine_fit_sample(rounds->observed, rounds->observed_count, &in, err);
        if (status == DPA_OK)
            status = dpa_cosine_fit_sample(rounds->unobserved, rounds->unobserved_count, &out, err);
        if (status != DPA_OK) return status;
        found = fmax(found, dpa_two_gaussians_directed(out.mean, out.deviation, in.mean,
                                                       in.deviation, j->request.delta));
    }
    if (!(found > p->unamplified)) return DPA_OK;
    return dpa_report_note(j->report, err,
                           "SUSPICIOUS: the cosines mean an epsilon of about %.4g, above what the "
                           "noise promises. Look for noise that is missing, clients that are not "
                           "clipped or count twice.",
                           found);
}

/* How the estimates move: a row for each checkpoint of the first run. */
enum { POINT = 7, MOST_SAID = 10 };

typedef struct moving {
    double round, final, all; /* NaN: not known */
} moving;

static dpa_status estimate_at(const judgement *j, const double *x, moving *out, dpa_error *err) {
    const double delta = j->request.delta, confidence = j->request.confidence;
    const size_t count = dpa_game_evidence_find(j->evidence, "final")->count;
    const dpa_cosine_fit final = {count, x[1], x[2]}, in = {count, x[3], x[4]};
    const dpa_cosine_fit absent = {count, x[5], x[6]};
    dpa_cosine_estimate e;
    dpa_status status =
        dpa_cosines_mean(&final, (size_t)fact(j, "dim"), delta, confidence, &e, err);
    *out = (moving){x[0], status == DPA_OK ? e.epsilon : (double)NAN, NAN};
    if (status != DPA_OK || isnan(x[3])) return status;
    status = dpa_cosines_all_iterates(&absent, &in, delta, confidence, &e, err);
    if (status == DPA_OK) out->all = e.epsilon;
    return status;
}

static void put_number(FILE *json, const char *key, double x) {
    if (isnan(x)) return;
    (void)fprintf(json, isfinite(x) ? ", \"%s\": %.6g" : ", \"%s\": null", key, x);
}

/* As JSON, and the first of them in words. */
static dpa_status write_points(const judgement *j, const double *point, size_t points, FILE *json,
                               FILE *words, dpa_error *err) {
    (void)fprintf(json, "[");
    for (size_t i = 0; i < points; ++i) {
        moving m;
        const dpa_status status = estimate_at(j, point + POINT * i, &m, err);
        if (status != DPA_OK) return status;
        (void)fprintf(json, "%s{\"round\": %.0f", i > 0 ? ", " : "", m.round);
        put_number(json, "final", m.final);
        put_number(json, "all", m.all);
        (void)fprintf(json, "}");
        (void)fprintf(words, "%s%.3g", i > 0 ? ", " : "", m.final);
        if (!isnan(m.all)) (void)fprintf(words, " (%.3g)", m.all);
        (void)fprintf(words, " after %.0f", m.round);
    }
    (void)fprintf(json, "]");
    return DPA_OK;
}

static dpa_status add_trajectory(judgement *j, dpa_error *err) {
    const dpa_named_array *a = dpa_game_evidence_find(j->evidence, "trajectory");
    const size_t points = (size_t)j->experiment->federate->checkpoints;
    if (a == NULL || points == 0 || a->count < POINT * points) return DPA_OK;
    char *json = NULL, *words = NULL;
    size_t size = 0;
    FILE *first = open_memstream(&json, &size), *second = open_memstream(&words, &size);
    dpa_status status = DPA_NO_MEMORY;
    *err = (dpa_error){.status = status, .text = "no memory for the trajectory"};
    if (first != NULL && second != NULL)
        status = write_points(j, a->items, points, first, second, err);
    if (first != NULL) (void)fclose(first);
    if (second != NULL) (void)fclose(second);
    if (status == DPA_OK) status = dpa_report_section(j->report, "trajectory", json, err);
    if (status == DPA_OK && points <= MOST_SAID)
        status = dpa_report_say(j->report, err, "On the way 'mean' (all-iterates) was %s rounds.",
                                words);
    free(json);
    free(words);
    return status;
}

dpa_status judge_cosines(judgement *j, dpa_error *err) {
    const dpa_named_array *final = dpa_game_evidence_find(j->evidence, "final");
    const dpa_named_array *in = dpa_game_evidence_find(j->evidence, "observed");
    const dpa_named_array *out = dpa_game_evidence_find(j->evidence, "unobserved");
    const dpa_direction direction = j->experiment->federate->opts.direction;
    const dpa_cosines last = {final->items,           final->count, NULL, 0,
                              (size_t)fact(j, "dim"), direction};
    dpa_cosines rounds = {0};
    if (in != NULL && out != NULL)
        rounds = (dpa_cosines){in->items, in->count, out->items, out->count, last.dim, direction};
    promise p;
    dpa_status status = set_claim(j, &p, err);
    if (status == DPA_OK) status = dpa_report_new("run", &j->request, &j->report, err);
    if (status == DPA_OK) status = dpa_report_evidence(j->report, "cosines", err);
    if (status == DPA_OK)
        status = dpa_report_fact(j->report, "canaries", (double) final->count, err);
    if (status == DPA_OK)
        status = add_results(j, &last, rounds.observed != NULL ? &rounds : NULL, err);
    if (status == DPA_OK) status = dpa_report_cosines(j->report, &last, err);
    if (status == DPA_OK) status = say_promise(j, &p, err);
    if (status == DPA_OK)
        status = say_suspicion(j, rounds.observed != NULL ? &rounds : NULL, &p, err);
    return status == DPA_OK ? add_trajectory(j, err) : status;
}
