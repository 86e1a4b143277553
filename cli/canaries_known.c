/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds from files: the schedule that an external system follows, and the scores over each
 * canary's own rounds that `rounds` has accumulated in the state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canaries.h"
#include "evidence/evidence.h"

static dpa_status no_memory(dpa_error *err) {
    *err = (dpa_error){.status = DPA_NO_MEMORY, .text = "no memory for the rounds of the canaries"};
    return DPA_NO_MEMORY;
}

int canaries_is_npz(const char *path) {
    const size_t length = path != NULL ? strlen(path) : 0;
    return length > 4 && strcmp(path + length - 4, ".npz") == 0;
}

dpa_status canaries_evidence(const dpa_canaries *canaries, dpa_evidence *out, dpa_error *err) {
    dpa__evidence_init(out, DPA_EVIDENCE_COSINES);
    out->design = DPA_ONE_RUN;
    out->dim = dpa__canaries_dim(canaries);
    (void)snprintf(out->direction, sizeof out->direction, "%s",
                   dpa__direction_name(dpa__canaries_direction(canaries)));
    return dpa_evidence_fact(out, "canary_seed", (double)dpa__canaries_seed(canaries), err);
}

static dpa_status draw(const canaries_options *o, const dpa_canaries *canaries, schedule_table *t,
                       dpa_error *err) {
    const size_t count = dpa__canaries_count(canaries), times = (size_t)o->times;
    uint64_t *mine = calloc(times > 0 ? times : 1, sizeof *mine);
    dpa_status status = DPA_OK;
    t->round = calloc(count, (times > 0 ? times : 1) * sizeof(double));
    if (mine == NULL || t->round == NULL) status = no_memory(err);
    for (size_t i = 0; i < count && status == DPA_OK; ++i) {
        status = dpa__canaries_schedule(canaries, i, o->rounds, o->times, mine, err);
        for (size_t k = 0; k < times && status == DPA_OK; ++k)
            t->round[i * times + k] = (double)mine[k];
    }
    free(mine);
    t->canaries = count;
    t->columns = times;
    return status;
}

static dpa_status read_table(const canaries_options *o, const dpa_canaries *canaries,
                             schedule_table *t, dpa_error *err) {
    dpa_array a = {0};
    const size_t count = dpa__canaries_count(canaries);
    dpa_status status = dpa__array_read(o->schedule, NULL, &a, err);
    if (status == DPA_OK) status = dpa__array_to_double(&a, err);
    if (status == DPA_OK && (a.ndim < 1 || a.ndim > 2 || a.shape[0] != count)) {
        *err = (dpa_error){.status = DPA_BAD_INPUT};
        (void)snprintf(err->place, sizeof err->place, "%.400s", o->schedule);
        (void)snprintf(err->text, sizeof err->text,
                       "expected a row for each of the %zu canaries, observed and unobserved",
                       count);
        status = DPA_BAD_INPUT;
    }
    if (status == DPA_OK) {
        *t = (schedule_table){a.data, count, a.ndim == 2 ? a.shape[1] : 1};
        a.data = NULL;
    }
    dpa__array_free(&a);
    return status;
}

dpa_status canaries_read_schedule(const canaries_options *o, const dpa_canaries *canaries,
                                  schedule_table *out, dpa_error *err) {
    *out = (schedule_table){0};
    if (o->schedule != NULL) return read_table(o, canaries, out, err);
    return o->times > 0 || o->rounds > 0 ? draw(o, canaries, out, err) : DPA_OK;
}

static dpa_status write_schedule(const canaries_options *o, const schedule_table *t,
                                 dpa_error *err) {
    const dpa_array a = {.dtype = DPA_F64,
                         .ndim = 2,
                         .shape = {t->canaries, t->columns},
                         .count = t->canaries * t->columns,
                         .data = t->round};
    if (o->out != NULL) return dpa__array_write(o->out, &a, err);
    for (size_t i = 0; i < t->canaries; ++i)
        for (size_t k = 0; k < t->columns; ++k)
            (void)printf("%.0f%c", t->round[i * t->columns + k], k + 1 < t->columns ? ' ' : '\n');
    return DPA_OK;
}

int canaries_schedule(const canaries_options *o) {
    if (o->count == 0) return usage_error("schedule: needs --count K");
    if (o->rounds == 0 || o->times == 0)
        return usage_error("schedule: needs --rounds T and --times R");
    dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_canaries *canaries = NULL;
    schedule_table t = {0};
    dpa_error err;
    opts.direction = DPA_DIRECTION_SPHERE; /* rounds depend on seed and index alone */
    opts.dim = 2;
    dpa_status status = dpa__canaries_new(&opts, &canaries, &err);
    if (status == DPA_OK) status = canaries_read_schedule(o, canaries, &t, &err);
    if (status == DPA_OK) status = write_schedule(o, &t, &err);
    free(t.round);
    dpa__canaries_free(canaries);
    return status == DPA_OK ? 0 : library_error(&err);
}

/* Moves the scores of canaries from … to−1 that exist to position `at`. */
static size_t keep(double *score, size_t from, size_t to, size_t at) {
    size_t kept = 0;
    for (size_t i = from; i < to; ++i)
        if (!isnan(score[i])) score[at + kept++] = score[i];
    return kept;
}

static dpa_status write_known(const canaries_options *o, const dpa_canaries *canaries,
                              double *score, double *times, dpa_error *err) {
    const size_t observed = dpa__canaries_observed(canaries), all = dpa__canaries_count(canaries);
    for (size_t i = 0; i < all; ++i) {
        score[i] = dpa__canaries_own_score(canaries, i);
        times[i] = (double)dpa__canaries_own_times(canaries, i);
    }
    const double most = dpa__canaries_choose(score, times, observed, all, o->sigma);
    const size_t in = keep(score, 0, observed, 0), out = keep(score, observed, all, observed);
    if (in < 2 || out < 2) {
        *err = (dpa_error){.status = DPA_BAD_INPUT};
        (void)snprintf(err->place, sizeof err->place, "%.400s", o->state);
        (void)snprintf(err->text, sizeof err->text,
                       "has rounds of their own for %zu observed and %zu unobserved canaries; at "
                       "least 2 of each are needed (rounds with --rounds, --times and --unit)",
                       in, out);
        return DPA_BAD_INPUT;
    }
    dpa_evidence e;
    dpa_status status = canaries_evidence(canaries, &e, err);
    e.scope = DPA_SCOPE_PARTICIPATION;
    e.training.participations = most;
    if (status == DPA_OK) status = dpa_evidence_copy(&e, "members", score, in, err);
    if (status == DPA_OK) status = dpa_evidence_copy(&e, "nonmembers", score + observed, out, err);
    if (status == DPA_OK) status = dpa_evidence_fact(&e, "canary_rounds", most, err);
    if (status == DPA_OK)
        status = dpa_evidence_fact(&e, "spread", dpa__canaries_own_spread(canaries), err);
    if (status == DPA_OK) status = dpa_evidence_write(&e, o->out, err);
    dpa__evidence_clear(&e);
    return status;
}

int canaries_known(const canaries_options *o) {
    if (o->state == NULL) return usage_error("known: needs --state FILE");
    if (!canaries_is_npz(o->out)) return usage_error("known: needs --out FILE.npz");
    if (!(o->sigma > 0.0)) return usage_error("known: --sigma must be above 0");
    dpa_canaries *canaries = NULL;
    dpa_error err;
    const dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_status status = dpa__canaries_load(o->state, &opts, &canaries, &err);
    if (status != DPA_OK) return library_error(&err);
    const size_t all = dpa__canaries_count(canaries);
    double *score = calloc(all, sizeof *score), *times = calloc(all, sizeof *times);
    status = score != NULL && times != NULL ? write_known(o, canaries, score, times, &err)
                                            : no_memory(&err);
    free(score);
    free(times);
    dpa__canaries_free(canaries);
    return status == DPA_OK ? 0 : library_error(&err);
}
