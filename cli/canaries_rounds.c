/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All iterates from files (one-shot-federated, Algorithm 3): an external federated system saves the
 * change of its model in each round, and a small state file keeps the largest cosines between
 * calls. With a schedule the state also sums each canary's scores over its own rounds; the files
 * must then come in the order of the rounds, each once. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "canaries.h"

/* Number of changes held at a time, so that each canary is generated once for all of them. */
enum { HELD = 32 };
static const size_t HELD_BYTES = (size_t)128 << 20;

typedef struct session {
    const canaries_options *options;
    dpa_canaries *canaries;
    dpa_weights before;   /* with --initial: the model of the round before */
    dpa_weights previous; /* with --momentum: the change of the round before */
    schedule_table schedule;
    size_t *candidate; /* [HELD × canaries] */
    dpa_weights held[HELD];
    size_t count;
} session;

static dpa_status fail(dpa_error *err, dpa_status status, const char *format, ...) {
    va_list list;
    *err = (dpa_error){.status = status};
    va_start(list, format);
    (void)vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    return status;
}

/* The options must agree with the state. */
static dpa_status same(const session *s, dpa_error *err) {
    const canaries_options *o = s->options;
    if ((o->count != 0 && o->count != dpa__canaries_observed(s->canaries)) ||
        (o->unobserved != 0 && o->unobserved != dpa__canaries_unobserved(s->canaries)))
        return fail(err, DPA_BAD_ARGUMENT,
                    "--count and --unobserved are not those of the state: leave them out");
    const dpa_canaries_opts asked = canaries_library_opts(o);
    dpa_canaries_opts usual;
    dpa__canaries_opts_init(&usual);
    if (asked.seed != usual.seed && asked.seed != dpa__canaries_seed(s->canaries))
        return fail(
            err, DPA_BAD_ARGUMENT, "--seed %llu is not that of the state, %llu: leave it out",
            (unsigned long long)asked.seed, (unsigned long long)dpa__canaries_seed(s->canaries));
    if (o->direction != NULL && asked.direction != dpa__canaries_direction(s->canaries))
        return fail(err, DPA_BAD_ARGUMENT, "--direction is not that of the state: leave it out");
    return DPA_OK;
}

/* Reads the canaries from the state file, or makes new ones for a first change of `dim`
 * elements. */
static dpa_status open_state(session *s, size_t dim, dpa_error *err) {
    const canaries_options *o = s->options;
    dpa_canaries_opts opts = canaries_library_opts(o);
    if (access(o->state, F_OK) == 0) {
        const dpa_status status = dpa__canaries_load(o->state, &opts, &s->canaries, err);
        return status == DPA_OK ? same(s, err) : status;
    }
    if (o->count == 0) return fail(err, DPA_BAD_ARGUMENT, "rounds: the first call needs --count K");
    opts.dim = dim;
    return dpa__canaries_new(&opts, &s->canaries, err);
}

/* The candidates in the round of held change i. */
static dpa_own_round own_round(const session *s, size_t i) {
    const schedule_table *t = &s->schedule;
    const double round = (double)(dpa__canaries_rounds(s->canaries) + i);
    size_t *candidate = s->candidate + i * t->canaries, count = 0;
    for (size_t c = 0; c < t->canaries; ++c)
        for (size_t k = 0; k < t->columns; ++k)
            if (t->round[c * t->columns + k] == round) {
                candidate[count++] = c;
                break;
            }
    return (dpa_own_round){s->options->unit, candidate, count};
}

/* A state with known rounds must be continued with the schedule it was begun with. */
static dpa_status open_schedule(session *s, dpa_error *err) {
    const canaries_options *o = s->options;
    dpa_status status = canaries_read_schedule(o, s->canaries, &s->schedule, err);
    if (status != DPA_OK) return status;
    int has_own = 0;
    for (size_t i = 0; i < dpa__canaries_count(s->canaries); ++i)
        has_own |= dpa__canaries_own_times(s->canaries, i) > 0;
    if (s->schedule.round == NULL && has_own)
        return fail(err, DPA_BAD_ARGUMENT,
                    "%s has known rounds: give --rounds and --times (or --schedule) and --unit in "
                    "every call",
                    o->state);
    if (s->schedule.round == NULL) return DPA_OK;
    if (!(o->unit > 0.0))
        return fail(err, DPA_BAD_ARGUMENT,
                    "known rounds need --unit, the norm of a whole canary in a FILE");
    s->candidate = calloc(s->schedule.canaries, HELD * sizeof *s->candidate);
    return s->candidate != NULL ? DPA_OK : fail(err, DPA_NO_MEMORY, "no memory for the schedule");
}

/* Adds the held changes to the state. */
static dpa_status take_in(session *s, dpa_error *err) {
    dpa_vector change[HELD];
    dpa_own_round own[HELD];
    for (size_t i = 0; i < s->count; ++i) {
        change[i] = dpa__weights_vector(&s->held[i]);
        if (s->candidate != NULL) own[i] = own_round(s, i);
    }
    const dpa_progress progress = progress_start();
    dpa_status status = dpa__canaries_round_many(
        s->canaries, change, s->candidate != NULL ? own : NULL, s->count, &progress, err);
    progress_end();
    if (status == DPA_OK) status = dpa__canaries_save(s->canaries, s->options->state, err);
    for (size_t i = 0; i < s->count; ++i) dpa__weights_free(&s->held[i]);
    s->count = 0;
    return status;
}

static double element(const dpa_weights *w, size_t i) {
    return w->f32 != NULL ? (double)w->f32[i] : w->f64[i];
}

/* Replaces `model` by its difference from the previous model, and keeps it as the new previous
 * one. */
static dpa_status subtract(session *s, const char *path, dpa_weights *model, dpa_error *err) {
    if (model->dim != s->before.dim)
        return fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, --initial has %zu", path,
                    model->dim, s->before.dim);
    dpa_weights change = {.f64 = calloc(model->dim, sizeof(double)), .dim = model->dim};
    if (change.f64 == NULL) return fail(err, DPA_NO_MEMORY, "no memory for a change");
    for (size_t i = 0; i < model->dim; ++i)
        change.f64[i] = element(model, i) - element(&s->before, i);
    dpa__weights_free(&s->before);
    s->before = *model;
    *model = change;
    return DPA_OK;
}

/* Recovers what the round itself released: the change minus momentum times the previous change. */
static dpa_status undo_momentum(session *s, const char *path, dpa_weights *change, dpa_error *err) {
    const uint64_t round = dpa__canaries_rounds(s->canaries) + s->count - 1;
    if (s->previous.dim == 0 && round > 0)
        return fail(err, DPA_BAD_ARGUMENT,
                    "%s is round %llu: --momentum needs --previous, the change of the round before",
                    path, (unsigned long long)round);
    if (s->previous.dim != 0 && s->previous.dim != change->dim)
        return fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, the round before has %zu", path,
                    change->dim, s->previous.dim);
    dpa_weights alone = {.f64 = calloc(change->dim, sizeof(double)), .dim = change->dim};
    if (alone.f64 == NULL) return fail(err, DPA_NO_MEMORY, "no memory for a change");
    for (size_t i = 0; i < change->dim; ++i)
        alone.f64[i] =
            element(change, i) -
            (s->previous.dim > 0 ? s->options->momentum * element(&s->previous, i) : 0.0);
    dpa__weights_free(&s->previous);
    s->previous = *change;
    *change = alone;
    return DPA_OK;
}

/* Checked here because the library's error would not name the file. */
static dpa_status check_change(const session *s, const char *path, const dpa_weights *change,
                               dpa_error *err) {
    int moves = 0;
    if (change->dim != dpa__canaries_dim(s->canaries))
        return fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, the canaries of %s have %zu", path,
                    change->dim, s->options->state, dpa__canaries_dim(s->canaries));
    for (size_t i = 0; i < change->dim; ++i) {
        const double x = element(change, i);
        if (!isfinite(x))
            return fail(err, DPA_BAD_INPUT, "%s: the change of parameter %zu is %g", path, i, x);
        moves |= x != 0.0;
    }
    if (moves) return DPA_OK;
    return fail(err, DPA_BAD_INPUT, "%s: nothing changed in this round: leave the file out", path);
}

static dpa_status add_file(session *s, const char *path, dpa_error *err) {
    dpa_weights *next = &s->held[s->count];
    dpa_status status = dpa__weights_append(next, path, NULL, err);
    if (status != DPA_OK) return status;
    ++s->count;
    if (s->before.dim > 0) status = subtract(s, path, next, err);
    if (status == DPA_OK && s->canaries == NULL) {
        status = open_state(s, next->dim, err);
        if (status == DPA_OK) status = open_schedule(s, err);
    }
    if (status == DPA_OK && s->options->momentum != 0.0) status = undo_momentum(s, path, next, err);
    if (status == DPA_OK) status = check_change(s, path, next, err);
    if (status != DPA_OK) return status;
    const size_t bytes = next->dim * sizeof(double) * s->count;
    return s->count == HELD || bytes >= HELD_BYTES ? take_in(s, err) : DPA_OK;
}

int canaries_rounds(const canaries_options *o, const word_list *words) {
    if (o->state == NULL) return usage_error("rounds: needs --state FILE");
    if (words->count < 2) return usage_error("rounds: needs a file for each round");
    session *s = calloc(1, sizeof *s);
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the rounds"};
    if (s == NULL) return library_error(&err);
    s->options = o;
    dpa_status status = canaries_read_model(&o->initials, &s->before, &err);
    if (status == DPA_OK) status = canaries_read_model(&o->previous, &s->previous, &err);
    for (size_t i = 1; i < words->count && status == DPA_OK; ++i)
        status = add_file(s, words->items[i], &err);
    if (status == DPA_OK && s->count > 0) status = take_in(s, &err);
    if (status == DPA_OK)
        (void)printf(
            "%llu round%s, %zu canaries\n", (unsigned long long)dpa__canaries_rounds(s->canaries),
            dpa__canaries_rounds(s->canaries) == 1 ? "" : "s", dpa__canaries_count(s->canaries));
    for (size_t i = 0; i < s->count; ++i) dpa__weights_free(&s->held[i]);
    dpa__weights_free(&s->before);
    dpa__weights_free(&s->previous);
    free(s->schedule.round);
    free(s->candidate);
    dpa__canaries_free(s->canaries);
    free(s);
    return status == DPA_OK ? 0 : library_error(&err);
}

/* Fails if no round has been compared with the canaries, as in states of known rounds alone. */
static dpa_status need_cosines(const canaries_options *o, const dpa_canaries *canaries,
                               dpa_error *err) {
    if (!isinf(dpa__canaries_largest(canaries)[0])) return DPA_OK;
    *err = (dpa_error){.status = DPA_BAD_INPUT};
    (void)snprintf(err->place, sizeof err->place, "%.400s", o->state);
    (void)snprintf(err->text, sizeof err->text,
                   "has no cosines with rounds; 'canaries rounds' takes them, 'canaries known' "
                   "writes what known rounds have");
    return DPA_BAD_INPUT;
}

int canaries_largest(const canaries_options *o) {
    if (o->state == NULL) return usage_error("largest: needs --state FILE");
    dpa_canaries *canaries = NULL;
    dpa_error err;
    const dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_status status = dpa__canaries_load(o->state, &opts, &canaries, &err);
    if (status == DPA_OK) status = need_cosines(o, canaries, &err);
    if (status == DPA_OK)
        status = canaries_show(o, canaries, "observed", dpa__canaries_largest(canaries), &err);
    dpa__canaries_free(canaries);
    return status == DPA_OK ? 0 : library_error(&err);
}
