/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bindings in other languages need because they see no struct. */
#include "report/binding.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/rng.h"

typedef struct stop {
    dpa_progress progress; /* first: a pointer to it is one to the whole */
    atomic_int is_set;
} stop;

static int look(void *user, const char *what, double done, double total) {
    (void)what;
    (void)done;
    (void)total;
    return atomic_load_explicit(&((stop *)user)->is_set, memory_order_relaxed) != 0;
}

dpa_progress *dpa__stop_new(void) {
    stop *made = DPA_NEW(stop, NULL);
    if (made == NULL) return NULL;
    made->progress = (dpa_progress){look, made};
    return &made->progress;
}

void dpa__stop_set(dpa_progress *progress) {
    atomic_store_explicit(&((stop *)(void *)progress)->is_set, 1, memory_order_relaxed);
}

size_t dpa__error_size(void) {
    return sizeof(dpa_error);
}

const char *dpa__error_place(const dpa_error *err) {
    return err->place;
}

const char *dpa__error_text(const dpa_error *err) {
    return err->text;
}

size_t dpa__rng_size(void) {
    return sizeof(dpa_rng);
}

dpa_status dpa__request_new(dpa_request **out, dpa_error *err) {
    *out = DPA_NEW(dpa_request, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    dpa__request_init(*out);
    return DPA_OK;
}

void dpa__request_progress(dpa_request *request, const dpa_progress *progress) {
    request->progress = *progress;
}

/* ── queries by name ─────────────────────────────────────────────────────────────────── */

#define NEIGHBOURS "add-remove|replace-one"

static const dpa__key account_keys[] = {
    DPA__KEY_OF(WORD, "adjacency", dpa_account_query, opts.adjacency, NEIGHBOURS),
    DPA__KEY(NUMBER, "delta", dpa_account_query, opts.delta),
    DPA__KEY(COUNT, "group", dpa_account_query, opts.group),
    DPA__KEY(NUMBER, "epsilon", dpa_account_query, epsilon),
    DPA__KEY(NUMBER, "fpr", dpa_account_query, fpr),
    DPA__KEY(COUNT, "points", dpa_account_query, curve_points),
    DPA__KEY(NUMBER, "check", dpa_account_query, check),
    {0},
};

static const dpa__key attack_keys[] = {
    DPA__KEY_OF(WORD, "by", dpa_leak_opts, attack, "loss|calibrated|lira|rmia|quantile"),
    DPA__KEY(COUNT, "target", dpa_leak_opts, how.target),
    DPA__KEY(FLAG, "offline", dpa_leak_opts, how.offline),
    DPA__KEY_OF(WORD, "variance", dpa_leak_opts, how.variance, "auto|point|pooled"),
    DPA__KEY(NUMBER, "a", dpa_leak_opts, how.a),
    DPA__KEY(NUMBER, "gamma", dpa_leak_opts, how.gamma),
    DPA__KEY_OF(WORD, "form", dpa_leak_opts, how.quantile.form, "normal|pinball"),
    DPA__KEY(NUMBER, "level", dpa_leak_opts, how.quantile.level),
    DPA__KEY(NUMBER, "ridge", dpa_leak_opts, how.quantile.ridge),
    DPA__KEY(FLAG, "squares", dpa_leak_opts, how.quantile.squares),
    DPA__KEY(NUMBER, "test-share", dpa_leak_opts, test_share),
    DPA__KEY(FLAG, "every-model", dpa_leak_opts, every_model),
    DPA__KEY(COUNT, "seed", dpa_leak_opts, seed),
    DPA__KEY(NUMBER, "delta", dpa_leak_opts, delta),
    {0},
};

static const dpa__key canaries_keys[] = {
    DPA__KEY(COUNT, "seed", dpa_canaries_opts, seed),
    DPA__KEY(COUNT, "first", dpa_canaries_opts, first),
    DPA__KEY(COUNT, "dim", dpa_canaries_opts, dim),
    DPA__KEY(COUNT, "count", dpa_canaries_opts, observed),
    DPA__KEY(COUNT, "unobserved", dpa_canaries_opts, unobserved),
    DPA__KEY(COUNT, "threads", dpa_canaries_opts, threads),
    DPA__KEY_OF(WORD, "direction", dpa_canaries_opts, direction, "sphere|signs|hadamard"),
    {0},
};

static const dpa__key ideal_keys[] = {
    DPA__KEY(NUMBER, "sigma", dpa_ideal, sigma),
    DPA__KEY(COUNT, "canaries", dpa_ideal, canaries),
    DPA__KEY(COUNT, "options", dpa_ideal, options),
    {0},
};

static const dpa__key losses_keys[] = {
    DPA__KEY(COUNT, "bootstrap", dpa_losses_query, opts.bootstrap),
    DPA__KEY(COUNT, "components", dpa_losses_query, opts.mixture.components),
    DPA__KEY_OF(WORD, "transform", dpa_losses_query, opts.mixture.transform, "paper|quantile"),
    DPA__KEY(FLAG, "whole-training-set", dpa_losses_query, opts.whole_training_set),
    DPA__KEY(FLAG, "resampled", dpa_losses_query, opts.resampled),
    DPA__KEY_OF(WORD, "neighbours", dpa_losses_query, opts.replace_one, NEIGHBOURS),
    DPA__KEY(FLAG, "paper-goodness", dpa_losses_query, opts.paper_goodness),
    DPA__KEY(COUNT, "goodness", dpa_losses_query, goodness),
    DPA__KEY(NAME, "group", dpa_losses_query, group),
    DPA__KEY(COUNT, "records", dpa_losses_query, records),
    {0},
};

static const dpa__key plan_keys[] = {
    DPA__KEY(NAME, "game", dpa_plan_query, game),
    DPA__KEY(NUMBER, "claim-sigma", dpa_plan_query, claim_sigma),
    DPA__KEY(NUMBER, "leak", dpa_plan_query, truth_epsilon),
    DPA__KEY(NUMBER, "leak-sigma", dpa_plan_query, truth_sigma),
    DPA__KEY(NAME, "leak-family", dpa_plan_query, truth),
    DPA__KEY(NUMBER, "q", dpa_plan_query, q),
    DPA__KEY(COUNT, "steps", dpa_plan_query, steps),
    DPA__KEY(NUMBER, "power", dpa_plan_query, power),
    DPA__KEY(COUNT, "size", dpa_plan_query, size),
    DPA__KEY(COUNT, "most", dpa_plan_query, most),
    DPA__KEY(COUNT, "points", dpa_plan_query, points),
    DPA__KEY(COUNT, "audits", dpa_plan_query, audits),
    DPA__KEY(NUMBER, "half-width", dpa_plan_query, half_width),
    DPA__KEY(NUMBER, "fnr", dpa_plan_query, fnr),
    DPA__KEY(NUMBER, "fpr", dpa_plan_query, fpr),
    {0},
};

static void account_init(void *query) {
    dpa__account_query_init(query);
}
static void attack_init(void *query) {
    dpa__leak_opts_init(query);
}
static void canaries_init(void *query) {
    dpa__canaries_opts_init(query);
}
static void losses_init(void *query) {
    dpa__losses_query_init(query);
}
static void plan_init(void *query) {
    dpa__plan_query_init(query);
}
static void account_free(void *query) {
    dpa__account_query_free(query);
}
static void losses_free(void *query) {
    dpa__losses_query_free(query);
}

typedef struct kind {
    const char *name;
    size_t size;
    const dpa__key *keys;
    void (*init)(void *query);  /* NULL: zeros */
    void (*clear)(void *query); /* frees what the query owns; NULL: nothing */
} kind;

static const kind kinds[] = {
    {"account", sizeof(dpa_account_query), account_keys, account_init, account_free},
    {"attack", sizeof(dpa_leak_opts), attack_keys, attack_init, NULL},
    {"canaries", sizeof(dpa_canaries_opts), canaries_keys, canaries_init, NULL},
    {"ideal", sizeof(dpa_ideal), ideal_keys, NULL, NULL},
    {"losses", sizeof(dpa_losses_query), losses_keys, losses_init, losses_free},
    {"plan", sizeof(dpa_plan_query), plan_keys, plan_init, NULL},
};

static const kind *find(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        if (strcmp(name, kinds[i].name) == 0) return &kinds[i];
    return NULL;
}

dpa_status dpa__query_new(const char *name, void **out, dpa_error *err) {
    const kind *k = find(name);
    *out = NULL;
    if (k == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "there is no query '%s'", name);
    *out = dpa__calloc(1, k->size, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    if (k->init != NULL) k->init(*out);
    return DPA_OK;
}

dpa_status dpa__query_set(const char *name, void *query, const char *key, const char *value,
                          dpa_error *err) {
    const kind *k = find(name);
    if (k == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "there is no query '%s'", name);
    return dpa__keys_set(k->keys, query, key, value, err);
}

void dpa__query_free(const char *name, void *query) {
    const kind *k = find(name);
    if (query != NULL && k != NULL && k->clear != NULL) k->clear(query);
    dpa_free(query);
}

/* ── accounts ────────────────────────────────────────────────────────────────────────── */

dpa_status dpa__account_query_phase(dpa_account_query *query, dpa_mechanism mechanism, double sigma,
                                    double q, uint64_t steps, const dpa_pair *pair,
                                    dpa_error *err) {
    const dpa_phase phase = {mechanism, sigma, q, steps, pair};
    return dpa__account_query_add(query, &phase, 1, err);
}

dpa_status dpa__account_open(const dpa_account_query *query, dpa_account **out, dpa_error *err) {
    return dpa_account_new(query->phases, query->count, &query->opts, out, err);
}

static dpa_status fnrs(const dpa_account *account, const double *at, size_t count,
                       dpa_interval *out, dpa_error *err) {
    for (size_t i = 0; i < count; ++i) DPA_TRY(dpa_account_fnr(account, at[i], &out[i], err));
    return DPA_OK;
}

dpa_status dpa__account_ask(const dpa_account *account, const char *what, const double *at,
                            size_t count, double *lower, double *upper, dpa_error *err) {
    dpa_interval *answer = DPA_NEW_ARRAY(dpa_interval, count, err);
    if (answer == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        (strcmp(what, "epsilon") == 0 ? dpa__account_epsilons
         : strcmp(what, "delta") == 0 ? dpa__account_deltas
                                      : fnrs)(account, at, count, answer, err);
    for (size_t i = 0; i < count && status == DPA_OK; ++i) {
        lower[i] = answer[i].lower;
        upper[i] = answer[i].upper;
    }
    dpa_free(answer);
    return status;
}

/* ── arrays ──────────────────────────────────────────────────────────────────────────── */

dpa_status dpa__vector_view(const float *f32, const double *f64, size_t dim, dpa_vector **out,
                            dpa_error *err) {
    *out = DPA_NEW(dpa_vector, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    **out = (dpa_vector){f32, f64, dim};
    return DPA_OK;
}

dpa_status dpa__canaries_own_of(dpa_canaries *canaries, const dpa_vector *released, double unit,
                                const size_t *candidate, size_t candidates,
                                const dpa_progress *progress, dpa_error *err) {
    const dpa_own_round own = {unit, candidate, candidates};
    return dpa__canaries_own(canaries, released, &own, progress, err);
}

dpa_status dpa__signals_view(dpa_signal_kind of, size_t models, size_t points, size_t augmentations,
                             double *signal, uint8_t *member, dpa_signals **out, dpa_error *err) {
    *out = DPA_NEW(dpa_signals, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    **out = (dpa_signals){of, models, points, signal, member, augmentations};
    return DPA_OK;
}

dpa_status dpa__features_view(size_t points, size_t count, double *value, dpa_features **out,
                              dpa_error *err) {
    *out = DPA_NEW(dpa_features, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    **out = (dpa_features){points, count, value};
    return DPA_OK;
}

/* ── attacks ─────────────────────────────────────────────────────────────────────────── */

void dpa__attack_data(dpa_leak_opts *opts, const dpa_signals *population,
                      const dpa_features *features, const dpa_features *of_population,
                      const size_t *exclude, size_t exclude_count) {
    opts->how.population = population;
    opts->how.quantile.features = features;
    opts->how.quantile.population_features = of_population;
    opts->how.exclude = exclude;
    opts->how.exclude_count = exclude_count;
}

dpa_status dpa__attack_score(const dpa_leak_opts *opts, const dpa_signals *signals, double *scores,
                             dpa_error *err) {
    return dpa__attack_run(opts->attack, signals, &opts->how, scores, err);
}

dpa_status dpa__leaks_new(size_t points, dpa_leak **out, dpa_error *err) {
    *out = dpa__calloc(points, sizeof **out, err);
    return *out == NULL ? DPA_NO_MEMORY : DPA_OK;
}

void dpa__leak_row(const dpa_leak *leaks, size_t index, double row[DPA__LEAK_NUMBERS]) {
    const dpa_leak *l = &leaks[index];
    const double numbers[DPA__LEAK_NUMBERS] = {(double)l->point, (double)l->in, (double)l->out,
                                               l->accuracy,      l->epsilon,    l->gap};
    memcpy(row, numbers, sizeof numbers);
}
