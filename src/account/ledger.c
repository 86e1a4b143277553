/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ledger of events as JSON, one object {"class_name": "GaussianDpEvent", "noise_multiplier": 1}:
 * Google's DpEvent classes with their fields, and a few of ours (docs/methods/account.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/event.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "math/dist.h"

struct dpa_ledger {
    dpa_adjacency adjacency;
    int is_limit; /* as in dpa__event_made, of any event */
    size_t count, room;
    dpa_phase *phase;
    size_t pairs, pair_room;
    dpa_pair **pair;
};

static const uint64_t MOST_STEPS = UINT64_C(1000000000000);
enum { MOST_PHASES = 100000 };

/* The class name without "DpEvent". */
static dpa_status event_name(const json_t *event, char name[64], dpa_error *err) {
    static const char *const keys[] = {"class_name", "type", "_type"};
    const char *text = NULL;
    for (size_t k = 0; k < 3 && text == NULL; ++k)
        text = json_string_value(json_object_get(event, keys[k]));
    if (text == NULL || strlen(text) >= 64)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "an event without a name: write {\"class_name\": \"GaussianDpEvent\", …}");
    memcpy(name, text, strlen(text) + 1);
    const size_t length = strlen(name), end = strlen("DpEvent");
    if (length > end && strcmp(name + length - end, "DpEvent") == 0) name[length - end] = '\0';
    return DPA_OK;
}

dpa_status dpa__event_number(const json_t *event, const char *key, double *out, dpa_error *err) {
    const json_t *value = json_object_get(event, key);
    char name[64];
    *out = json_number_value(value);
    if (json_is_number(value)) return DPA_OK;
    DPA_TRY(event_name(event, name, err));
    return dpa__fail(err, DPA_BAD_INPUT, "%s: '%s' is missing or is not a number", name, key);
}

double dpa__event_number_or(const json_t *event, const char *key, double otherwise) {
    const json_t *value = json_object_get(event, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* ── events on a random sample of the records ──────────────────────────────────────────────── */

/* Poisson: (P, Q) → ((1−q)Q + qP, Q) for add/remove (Zhu, Dong, Wang 2022, Theorem 11). Samples of
 * a fixed size, for replace-one (Balle, Barthe, Gaboardi 2018): without replacement, rate γ = m/n,
 * δ′(ε′) = γ·δ(ε) with e^ε′ = 1 + γ(e^ε − 1) (Theorem 9): the same transform with γ for q, for
 * ε′ ≥ 0, and symmetric. With replacement, γ = 1−(1−1/n)^m and δ is the mean over the number k of
 * times that the record was drawn (Theorem 10): k is revealed. Both are upper bounds; the interval
 * encloses the ε of the theorem's pair. */

/* A Gaussian whose mean moves by `distance`, as a pair. */
static dpa_status moved(double sigma, double distance, dpa_pair **out, dpa_error *err) {
    const double zero = 0, one = 1;
    return dpa__pair_gaussians(sigma, &distance, &one, 1, &zero, &one, 1, out, err);
}

/* The inner event as a pair; replace-one doubles the sensitivity of the noise. */
static dpa_status inner_pair(const dpa__event_made *made, dpa_adjacency adjacency, dpa_pair **out,
                             dpa_error *err) {
    const double distance = adjacency == DPA_REPLACE_ONE ? 2 : 1;
    if (made->pair != NULL) {
        *out = made->pair;
        return DPA_OK;
    }
    if (made->phase.q == 1 && made->phase.mechanism == DPA_GAUSSIAN)
        return moved(made->phase.sigma / sqrt((double)made->phase.steps), distance, out, err);
    if (made->phase.mechanism == DPA_LAPLACE && made->phase.steps == 1)
        return dpa__pair_laplace(made->phase.sigma / distance, out, err);
    if (made->phase.mechanism == DPA_RANDOMIZED_RESPONSE && made->phase.steps == 1)
        return dpa__pair_epsilon_delta(made->phase.sigma, 0, out, err);
    return dpa__fail(err, DPA_BAD_INPUT, "the event on a sample must be one mechanism");
}

static dpa_status poisson(const json_t *event, dpa_adjacency adjacency, dpa__event_made *made,
                          dpa_error *err) {
    double q;
    dpa_pair *pair;
    DPA_TRY(dpa__event_number(event, "sampling_probability", &q, err));
    if (!(q > 0 && q <= 1))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "PoissonSampled: sampling_probability is %g; it must be in (0, 1]", q);
    if (q == 1) return DPA_OK;
    if (made->pair == NULL && made->phase.mechanism == DPA_GAUSSIAN && made->phase.q == 1) {
        made->phase.sigma /= sqrt((double)made->phase.steps); /* all steps use the same sample */
        made->phase.steps = 1;
        made->phase.q = q;
        return DPA_OK;
    }
    if (adjacency == DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "PoissonSampled: for replace-one only Gaussian noise has a known pair");
    DPA_TRY(inner_pair(made, adjacency, &pair, err));
    made->pair = NULL;
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, q, &made->pair, err));
    made->phase.steps = 1;
    return DPA_OK;
}

static dpa_status without_replacement(double n, double m, dpa__event_made *made, dpa_error *err) {
    dpa_pair *pair;
    DPA_TRY(inner_pair(made, DPA_REPLACE_ONE, &pair, err));
    made->pair = NULL;
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, m / n, &pair, err));
    return dpa__pair_node(DPA__PAIR_SYMMETRIC, pair, 1, &made->pair, err);
}

enum { MOST_DRAWS = 200 };

/* Gaussian noise only, because the pair of a record drawn k times is known for it. */
static dpa_status with_replacement(double n, double m, dpa__event_made *made, dpa_error *err) {
    if (made->pair != NULL || made->phase.mechanism != DPA_GAUSSIAN || made->phase.q != 1)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "SampledWithReplacement: only Gaussian noise has a known pair");
    const double sigma = made->phase.sigma / sqrt((double)made->phase.steps);
    const double drawn = -expm1(m * log1p(-1 / n));
    dpa_pair *part[MOST_DRAWS], *pair;
    double chance[MOST_DRAWS], rest = 1;
    size_t count = 0;
    while (count < MOST_DRAWS && rest > 1e-30 && (double)count < m) {
        const double k = (double)(count + 1);
        const dpa_status status = moved(sigma, 2 * k, &part[count], err);
        if (status != DPA_OK) {
            for (size_t i = 0; i < count; ++i) dpa_pair_free(part[i]);
            return status;
        }
        chance[count] = exp(dpa__binom_log_pmf(k, m, 1 / n)) / drawn;
        rest = dpa__binom_cdf(k, m, 1 / n, DPA_UPPER) / drawn;
        ++count;
    }
    DPA_TRY(dpa__pair_choice(part, chance, count, &pair, err));
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, drawn, &pair, err));
    return dpa__pair_node(DPA__PAIR_SYMMETRIC, pair, 1, &made->pair, err);
}

static dpa_status fixed_size(const json_t *event, const char *name, dpa_adjacency adjacency,
                             dpa__event_made *made, dpa_error *err) {
    double n, m;
    DPA_TRY(dpa__event_number(event, "source_dataset_size", &n, err));
    DPA_TRY(dpa__event_number(event, "sample_size", &m, err));
    if (adjacency != DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%s: samples of a fixed size are known for replace-one: add --adjacency "
                         "replace-one",
                         name);
    const int without = strcmp(name, "SampledWithoutReplacement") == 0;
    if (!(n >= 2 && n <= 1e15 && m >= 1 && m <= 1e15 && (!without || m < n)))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%s: %g records of %g; the sample must have at least one and be smaller "
                         "than the data",
                         name, m, n);
    made->is_limit = 1;
    return without ? without_replacement(n, m, made, err) : with_replacement(n, m, made, err);
}

static int is_sampling(const char *name) {
    return strcmp(name, "PoissonSampled") == 0 || strcmp(name, "SampledWithReplacement") == 0 ||
           strcmp(name, "SampledWithoutReplacement") == 0;
}

static dpa_status sampled_event(const json_t *event, const char *name, dpa_adjacency adjacency,
                                dpa__event_made *out, dpa_error *err) {
    const json_t *inside = json_object_get(event, "event");
    char inner[64];
    double count = 1;
    if (!is_sampling(name))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "sampling '%s' is none of PoissonSampled, SampledWithReplacement, "
                         "SampledWithoutReplacement",
                         name);
    DPA_TRY(event_name(inside, inner, err));
    if (strcmp(inner, "SelfComposed") == 0) {
        DPA_TRY(dpa__event_number(inside, "count", &count, err));
        inside = json_object_get(inside, "event");
        DPA_TRY(event_name(inside, inner, err));
    }
    DPA_TRY(dpa__event_mechanism(inside, inner, adjacency, out, err));
    out->phase.steps *= (uint64_t)fmax(count, 1);
    dpa_pair *made = out->pair;
    if (made != NULL && out->phase.steps > 1) {
        dpa_pair_free(made);
        return dpa__fail(err, DPA_BAD_INPUT, "the event on a sample must be one mechanism");
    }
    const dpa_status status = strcmp(name, "PoissonSampled") == 0
                                  ? poisson(event, adjacency, out, err)
                                  : fixed_size(event, name, adjacency, out, err);
    if (status != DPA_OK && out->pair == made) dpa_pair_free(made);
    return status;
}

/* ── the ledger ────────────────────────────────────────────────────────────────────────────── */

static dpa_status add_phase(dpa_ledger *ledger, dpa_phase phase, dpa_error *err) {
    if (ledger->count == MOST_PHASES)
        return dpa__fail(err, DPA_BAD_INPUT, "more than %d events: use SelfComposedDpEvent",
                         MOST_PHASES);
    dpa_phase *block = dpa__grown(ledger->phase, ledger->count, &ledger->room, sizeof *block, err);
    if (block == NULL) return DPA_NO_MEMORY;
    ledger->phase = block;
    ledger->phase[ledger->count++] = phase;
    return DPA_OK;
}

/* Adds a phase with this pair, which the ledger then owns. */
static dpa_status add_pair(dpa_ledger *ledger, dpa_pair *pair, uint64_t steps, dpa_error *err) {
    dpa_pair **block =
        dpa__grown(ledger->pair, ledger->pairs, &ledger->pair_room, sizeof(dpa_pair *), err);
    if (block == NULL) {
        dpa_pair_free(pair);
        return DPA_NO_MEMORY;
    }
    ledger->pair = block;
    ledger->pair[ledger->pairs++] = pair;
    const dpa_phase phase = {DPA_PAIR, 1, 1, steps, pair};
    return add_phase(ledger, phase, err);
}

static dpa_status count_of(const json_t *event, uint64_t steps, uint64_t *out, dpa_error *err) {
    double count = 0;
    DPA_TRY(dpa__event_number(event, "count", &count, err));
    if (!(count >= 1 && floor(count) == count && count * (double)steps <= (double)MOST_STEPS))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "SelfComposed: count is %g; it must be a whole number from 1, with at most "
            "1e12 steps in all",
            count);
    *out = steps * (uint64_t)count;
    return DPA_OK;
}

static dpa_status add_event(dpa_ledger *ledger, const json_t *event, uint64_t steps,
                            dpa_error *err);

static dpa_status add_list(dpa_ledger *ledger, const json_t *list, uint64_t steps, dpa_error *err) {
    if (!json_is_array(list))
        return dpa__fail(err, DPA_BAD_INPUT, "Composed: 'events' is not a list");
    for (size_t i = 0; i < json_array_size(list); ++i)
        DPA_TRY(add_event(ledger, json_array_get(list, i), steps, err));
    return DPA_OK;
}

static dpa_status add_made(dpa_ledger *ledger, dpa__event_made made, uint64_t steps,
                           dpa_error *err) {
    ledger->is_limit |= made.is_limit;
    if (made.pair != NULL) return add_pair(ledger, made.pair, steps * made.phase.steps, err);
    made.phase.steps *= steps;
    return add_phase(ledger, made.phase, err);
}

/* Adds `steps` times the event to the ledger. */
static dpa_status add_event(dpa_ledger *ledger, const json_t *event, uint64_t steps,
                            dpa_error *err) {
    char name[64];
    DPA_TRY(event_name(event, name, err));
    if (strcmp(name, "NoOp") == 0) return DPA_OK;
    if (strcmp(name, "NonPrivate") == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "the ledger has a NonPrivateDpEvent: epsilon is infinite");
    if (strcmp(name, "Composed") == 0)
        return add_list(ledger, json_object_get(event, "events"), steps, err);
    if (strcmp(name, "SelfComposed") == 0) {
        uint64_t all = steps;
        DPA_TRY(count_of(event, steps, &all, err));
        return add_event(ledger, json_object_get(event, "event"), all, err);
    }
    dpa__event_made made = {.phase = {DPA_GAUSSIAN, 1, 1, 1, NULL}};
    if (strstr(name, "Sampled") != NULL)
        DPA_TRY(sampled_event(event, name, ledger->adjacency, &made, err));
    else
        DPA_TRY(dpa__event_mechanism(event, name, ledger->adjacency, &made, err));
    return add_made(ledger, made, steps, err);
}

static dpa_status fill(dpa_ledger *ledger, const json_t *root, dpa_error *err) {
    DPA_TRY(json_is_array(root) ? add_list(ledger, root, 1, err) : add_event(ledger, root, 1, err));
    if (ledger->count > 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "no event: nothing to account for");
}

dpa_status dpa_ledger_read(const char *path, dpa_adjacency adjacency, dpa_ledger **out,
                           dpa_error *err) {
    json_t *root;
    dpa_error inner;
    *out = NULL;
    DPA_TRY(dpa__json_read(path, &root, NULL, err));
    dpa_ledger *ledger = DPA_NEW(dpa_ledger, err);
    dpa_status status = ledger == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) {
        ledger->adjacency = adjacency;
        status = fill(ledger, root, &inner);
        if (status != DPA_OK) (void)dpa__fail_file(err, status, path, "%s", inner.text);
    }
    json_decref(root);
    if (status != DPA_OK) {
        dpa_ledger_free(ledger);
        return status;
    }
    *out = ledger;
    return DPA_OK;
}

void dpa_ledger_free(dpa_ledger *ledger) {
    if (ledger == NULL) return;
    for (size_t k = 0; k < ledger->pairs; ++k) dpa_pair_free(ledger->pair[k]);
    free(ledger->pair);
    free(ledger->phase);
    free(ledger);
}

const dpa_phase *dpa_ledger_phases(const dpa_ledger *ledger, size_t *count) {
    *count = ledger->count;
    return ledger->phase;
}

int dpa__ledger_is_limit(const dpa_ledger *ledger) {
    return ledger->is_limit;
}
