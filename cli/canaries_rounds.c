/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds from files. All iterates (one-shot-federated, Algorithm 3): an external federated system
 * saves the change of its model in each round, and a small state file keeps the largest cosines
 * between calls. Known rounds: with the schedule that the external system follows, the state also
 * sums each canary's scores over its own rounds; the files must then come in the order of the
 * rounds, each once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "canaries.h"

static dpa_status no_memory(dpa_error *err) {
    return dpa__fail(err, DPA_NO_MEMORY, "no memory for the rounds of the canaries");
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

/* ---- the schedule ---- */

/* [canaries × columns] rounds counted from 0, from --schedule or made by --rounds and --times; no
 * rows if neither was given. Free with free(). */
typedef struct schedule_table {
    double *round; /* NaN or negative: none */
    size_t canaries, columns;
} schedule_table;

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
    if (status == DPA_OK && (a.ndim < 1 || a.ndim > 2 || a.shape[0] != count))
        status = dpa__fail_file(
            err, DPA_BAD_INPUT, o->schedule,
            "expected a row for each of the %zu canaries, observed and unobserved", count);
    if (status == DPA_OK) {
        *t = (schedule_table){a.data, count, a.ndim == 2 ? a.shape[1] : 1};
        a.data = NULL;
    }
    dpa__array_free(&a);
    return status;
}

static dpa_status read_schedule(const canaries_options *o, const dpa_canaries *canaries,
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
    if (o->canaries.observed == 0) return usage_error("schedule: needs --count K");
    if (o->rounds == 0 || o->times == 0)
        return usage_error("schedule: needs --rounds T and --times R");
    dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_canaries *canaries = NULL;
    schedule_table t = {0};
    dpa_error err;
    opts.direction = DPA_DIRECTION_SPHERE; /* rounds depend on seed and index alone */
    opts.dim = 2;
    dpa_status status = dpa__canaries_new(&opts, &canaries, &err);
    if (status == DPA_OK) status = read_schedule(o, canaries, &t, &err);
    if (status == DPA_OK) status = write_schedule(o, &t, &err);
    free(t.round);
    dpa__canaries_free(canaries);
    return status == DPA_OK ? 0 : library_error(&err);
}

/* ---- rounds ---- */

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

/* The options must agree with the state. */
static dpa_status same(const session *s, dpa_error *err) {
    const canaries_options *o = s->options;
    if ((o->canaries.observed != 0 &&
         o->canaries.observed != dpa__canaries_observed(s->canaries)) ||
        (o->canaries.unobserved != 0 &&
         o->canaries.unobserved != dpa__canaries_unobserved(s->canaries)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "--count and --unobserved are not those of the state: leave them out");
    const dpa_canaries_opts asked = canaries_library_opts(o);
    dpa_canaries_opts usual;
    dpa__canaries_opts_init(&usual);
    if (asked.seed != usual.seed && asked.seed != dpa__canaries_seed(s->canaries))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT, "--seed %llu is not that of the state, %llu: leave it out",
            (unsigned long long)asked.seed, (unsigned long long)dpa__canaries_seed(s->canaries));
    if (o->direction != NULL && asked.direction != dpa__canaries_direction(s->canaries))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "--direction is not that of the state: leave it out");
    return DPA_OK;
}

/* Reads the canaries from the state file, or makes new ones for a first change of `dim`
 * elements. */
static dpa_status open_state(session *s, size_t dim, dpa_error *err) {
    const canaries_options *o = s->options;
    dpa_canaries_opts opts = canaries_library_opts(o);
    if (access(o->state, F_OK) == 0) {
        DPA_TRY(dpa__canaries_load(o->state, &opts, &s->canaries, err));
        return same(s, err);
    }
    if (o->canaries.observed == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rounds: the first call needs --count K");
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
    int has_own = 0;
    DPA_TRY(read_schedule(o, s->canaries, &s->schedule, err));
    for (size_t i = 0; i < dpa__canaries_count(s->canaries); ++i)
        has_own |= dpa__canaries_own_times(s->canaries, i) > 0;
    if (s->schedule.round == NULL && has_own)
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "%s has known rounds: give --rounds and --times (or --schedule) and --unit in "
            "every call",
            o->state);
    if (s->schedule.round == NULL) return DPA_OK;
    if (!(o->unit > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "known rounds need --unit, the norm of a whole canary in a FILE");
    s->candidate = calloc(s->schedule.canaries, HELD * sizeof *s->candidate);
    return s->candidate != NULL ? DPA_OK
                                : dpa__fail(err, DPA_NO_MEMORY, "no memory for the schedule");
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

/* Replaces the value by its difference from `factor` times the one before (if there is one), and
 * keeps it as the next one's before. */
static dpa_status subtract(dpa_weights *value, double factor, dpa_weights *before, dpa_error *err) {
    dpa_weights change = {.f64 = calloc(value->dim, sizeof(double)), .dim = value->dim};
    if (change.f64 == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a change");
    for (size_t i = 0; i < value->dim; ++i)
        change.f64[i] = element(value, i) - (before->dim > 0 ? factor * element(before, i) : 0.0);
    dpa__weights_free(before);
    *before = *value;
    *value = change;
    return DPA_OK;
}

/* The change since the model of the round before. */
static dpa_status since_before(session *s, const char *path, dpa_weights *model, dpa_error *err) {
    if (model->dim != s->before.dim)
        return dpa__fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, --initial has %zu", path,
                         model->dim, s->before.dim);
    return subtract(model, 1.0, &s->before, err);
}

/* Recovers what the round itself released: the change minus momentum times the previous change. */
static dpa_status undo_momentum(session *s, const char *path, dpa_weights *change, dpa_error *err) {
    const uint64_t round = dpa__canaries_rounds(s->canaries) + s->count - 1;
    if (s->previous.dim == 0 && round > 0)
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "%s is round %llu: --momentum needs --previous, the change of the round before", path,
            (unsigned long long)round);
    if (s->previous.dim != 0 && s->previous.dim != change->dim)
        return dpa__fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, the round before has %zu",
                         path, change->dim, s->previous.dim);
    return subtract(change, s->options->momentum, &s->previous, err);
}

/* Checked here because the library's error would not name the file. */
static dpa_status check_change(const session *s, const char *path, const dpa_weights *change,
                               dpa_error *err) {
    int moves = 0;
    if (change->dim != dpa__canaries_dim(s->canaries))
        return dpa__fail(err, DPA_BAD_INPUT, "%s: has %zu parameters, the canaries of %s have %zu",
                         path, change->dim, s->options->state, dpa__canaries_dim(s->canaries));
    for (size_t i = 0; i < change->dim; ++i) {
        const double x = element(change, i);
        if (!isfinite(x))
            return dpa__fail(err, DPA_BAD_INPUT, "%s: the change of parameter %zu is %g", path, i,
                             x);
        moves |= x != 0.0;
    }
    if (moves) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "%s: nothing changed in this round: leave the file out",
                     path);
}

static dpa_status add_file(session *s, const char *path, dpa_error *err) {
    dpa_weights *next = &s->held[s->count];
    DPA_TRY(dpa__weights_append(next, path, NULL, err));
    ++s->count;
    if (s->before.dim > 0) DPA_TRY(since_before(s, path, next, err));
    if (s->canaries == NULL) {
        DPA_TRY(open_state(s, next->dim, err));
        DPA_TRY(open_schedule(s, err));
    }
    if (s->options->momentum != 0.0) DPA_TRY(undo_momentum(s, path, next, err));
    DPA_TRY(check_change(s, path, next, err));
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
    return dpa__fail_file(
        err, DPA_BAD_INPUT, o->state,
        "has no cosines with rounds; 'canaries rounds' takes them, 'canaries known' "
        "writes what known rounds have");
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

/* ---- known rounds ---- */

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
    if (in < 2 || out < 2)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, o->state,
            "has rounds of their own for %zu observed and %zu unobserved canaries; at "
            "least 2 of each are needed (rounds with --rounds, --times and --unit)",
            in, out);
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
