/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From trials to evidence: its arrays, what trials without numbers count as, the observed training
 * and what it promises, and the estimators that the experiment names. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/rules.h"

static const char *const arms[2] = {"members", "nonmembers"};

/* ---- Trials without numbers ----
 *
 * A trainer that diverges or runs out of memory may do so because of the challenge. Leaving such
 * trials out can double epsilon (a pure epsilon = 1 mechanism is then refuted at its own claim in
 * 43% of audits), so they keep their place, with a score fixed in advance. */

dpa_trial_end dpa_trials_end(const dpa_trials *trials, uint64_t index) {
    if (trials->items[index].items != NULL) return DPA_TRIAL_PLAYED;
    return trials->ends != NULL ? (dpa_trial_end)trials->ends[index] : DPA_TRIAL_NONE;
}

/* Only `command` lets the user choose. NaN counts as a wrong guess in either arm. */
static double score_of_end(const dpa_game *game, dpa_trial_end end) {
    const dpa_failed_as failed = game->experiment->kind == DPA_GAME_COMMAND
                                     ? game->experiment->command.failed
                                     : DPA_FAILED_LOW;
    if (end != DPA_TRIAL_FAILED || failed == DPA_FAILED_AGAINST) return (double)NAN;
    return failed == DPA_FAILED_HIGH ? (double)INFINITY : -(double)INFINITY;
}

/* Adds the numbers of failed and lost trials of the last stage, by arm, as facts. */
static dpa_status gather_failures(const dpa_game *game, const dpa_trials *trials, dpa_evidence *out,
                                  dpa_error *err) {
    static const char *const names[3] = {"trials", "failed", "missing"};
    uint64_t counts[3][2] = {{0}};
    for (uint64_t i = 0; i < trials->count; ++i) {
        const dpa_trial_end end = dpa_trials_end(trials, i);
        const int arm = game->rules->arm != NULL ? game->rules->arm(game, i) : -1;
        for (int k = 0; k < 2; ++k) {
            if (arm == k) continue; /* 1 is with the challenge, so among the members */
            counts[0][k] += end != DPA_TRIAL_NONE;
            counts[1][k] += end == DPA_TRIAL_FAILED;
            counts[2][k] += end == DPA_TRIAL_LOST;
        }
    }
    if (counts[1][0] + counts[1][1] + counts[2][0] + counts[2][1] == 0) return DPA_OK;
    memcpy(out->failed, counts[1], sizeof counts[1]);
    memcpy(out->absent, counts[2], sizeof counts[2]);
    for (int i = 0; i < 6; ++i) {
        char name[DPA_EVIDENCE_WORD];
        (void)snprintf(name, sizeof name, "%s_%s", names[i / 2], arms[i % 2]);
        DPA_TRY(dpa_evidence_fact(out, name, (double)counts[i / 2][i % 2], err));
    }
    return DPA_OK;
}

/* ---- Arrays ---- */

dpa_named_array *dpa__gather_array(dpa_evidence *out, const char *name, size_t room,
                                   dpa_error *err) {
    double *items = DPA_NEW_ARRAY(double, room, err);
    if (items == NULL || dpa__evidence_add(out, name, items, 0, 0, err) != DPA_OK) return NULL;
    return &out->arrays[out->array_count - 1];
}

dpa_status dpa__gather_halves(const dpa_game *game, const dpa_trials *trials, size_t each,
                              size_t want, dpa_evidence *out, dpa_error *err) {
    for (size_t half = 0; half < 2; ++half) {
        dpa_named_array *a = dpa__gather_array(out, arms[half], want, err);
        if (a == NULL) return DPA_NO_MEMORY;
        for (uint64_t i = 0; i < trials->count; ++i) {
            const dpa_trial_end end = dpa_trials_end(trials, i);
            for (size_t k = 0; k < each && a->count < want && end != DPA_TRIAL_NONE; ++k)
                a->items[a->count++] = end == DPA_TRIAL_PLAYED
                                           ? trials->items[i].items[half * each + k]
                                           : score_of_end(game, end);
        }
    }
    return DPA_OK;
}

dpa_status dpa__gather_arms(const dpa_game *game, const dpa_trials *trials, const double *scores,
                            dpa_evidence *out, dpa_error *err) {
    dpa_named_array *in = dpa__gather_array(out, arms[0], (size_t)trials->count, err);
    dpa_named_array *none = dpa__gather_array(out, arms[1], (size_t)trials->count, err);
    if (in == NULL || none == NULL) return DPA_NO_MEMORY;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const dpa_trial_end end = dpa_trials_end(trials, i);
        dpa_named_array *a = game->rules->arm(game, i) ? in : none;
        if (end == DPA_TRIAL_PLAYED)
            a->items[a->count++] = scores != NULL ? *scores++ : trials->items[i].items[0];
        else if (end != DPA_TRIAL_NONE)
            a->items[a->count++] = score_of_end(game, end);
    }
    return DPA_OK;
}

dpa_status dpa__gather_split(const double *scores, const double *members, size_t count,
                             dpa_evidence *out, dpa_error *err) {
    dpa_named_array *in = dpa__gather_array(out, arms[0], count, err);
    dpa_named_array *none = dpa__gather_array(out, arms[1], count, err);
    if (in == NULL || none == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        dpa_named_array *a = members[i] > 0.0 ? in : none;
        a->items[a->count++] = scores[i];
    }
    return DPA_OK;
}

dpa_status dpa__gather_mean(const dpa_trials *trials, size_t place, const char *name,
                            dpa_evidence *out, dpa_error *err) {
    double sum = 0.0, played = 0.0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        if (trials->items[i].items == NULL) continue;
        sum += trials->items[i].items[place];
        played += 1.0;
    }
    if (played == 0.0 || isnan(sum)) return DPA_OK;
    return dpa_evidence_fact(out, name, sum / played, err);
}

/* ---- What it says besides ---- */

static void describe_training(const dpa_game *game, dpa_evidence *out) {
    const dpa_train_plan *plan = game->plan;
    const size_t members = game->data.member_count;
    dpa_training_facts *t = &out->training;
    t->q = dpa_train_plan_q(plan, members);
    t->steps = dpa_train_plan_steps(plan, members);
    /* A microbatch is clipped as a whole, so one record can turn its sum from +C to −C: the noise
     * counts half. */
    const double sigma = plan->train.microbatch > 1 ? 0.5 * plan->train.sigma : plan->train.sigma;
    if (sigma > 0.0) t->sigma = sigma;
}

/* The claim is the experiment's ε if it names one, else the noise of the training file. A training
 * without noise, or with batches that are not Poisson samples, promises nothing. */
static void describe_claim(const dpa_game *game, dpa_evidence *out) {
    const dpa_experiment *e = game->experiment;
    const dpa_training_facts *t = &out->training;
    dpa_claim *claim = &out->claim;
    claim->epsilon = e->claim_epsilon;
    if (!isnan(e->claim_epsilon)) claim->delta = e->claim_delta;
    if (game->plan == NULL) return;
    if (isnan(e->claim_epsilon) && !isnan(t->sigma) && !isnan(t->q)) {
        claim->sigma = t->sigma;
        claim->q = t->q;
        claim->steps = t->steps;
        claim->delta = e->claim_delta;
    }
    if (dpa__claim_is_made(claim) && isnan(claim->delta)) claim->delta = game->plan->delta;
}

static dpa_status put_word(json_t *object, const char *key, const char *word, dpa_error *err) {
    return word == NULL ? DPA_OK : dpa__json_set(object, key, dpa__json_text(word), err);
}

static dpa_status fill_protocol(json_t *object, const dpa_game *game, dpa_error *err) {
    const dpa_experiment *e = game->experiment;
    /* With stop_refuted the run ends at a time chosen by what was seen, where only sequential
     * bounds hold. */
    const char *method = e->method == NULL && e->stop_refuted ? DPA__SEQUENTIAL : e->method;
    const double delta = !isnan(e->claim_delta) ? e->claim_delta
                         : game->plan != NULL   ? game->plan->delta
                                                : (double)NAN;
    DPA_TRY(dpa__json_put(object, "confidence", e->confidence, err));
    if (!isnan(delta)) DPA_TRY(dpa__json_put(object, "delta", delta, err));
    DPA_TRY(put_word(object, "family", e->family, err));
    DPA_TRY(put_word(object, "method", method, err));
    DPA_TRY(put_word(object, "select", e->select, err));
    return put_word(object, "guesses", e->guesses, err);
}

static dpa_status describe_protocol(const dpa_game *game, dpa_evidence *out, dpa_error *err) {
    json_t *object = json_object();
    dpa__text text = {0};
    if (object == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a protocol");
    dpa_status status = fill_protocol(object, game, err);
    if (status == DPA_OK) {
        dpa__json_write(&text, object, -1);
        status = dpa__text_take(&text, &out->protocol, err);
    }
    json_decref(object);
    return status;
}

static dpa_status describe(const dpa_game *game, dpa_evidence *out, dpa_error *err) {
    const char *path = game->experiment->path, *slash = path != NULL ? strrchr(path, '/') : NULL;
    (void)snprintf(out->game, sizeof out->game, "%s", dpa_game_name(game));
    if (path != NULL)
        (void)snprintf(out->source, sizeof out->source, "%s", slash != NULL ? slash + 1 : path);
    if (game->plan != NULL) describe_training(game, out);
    describe_claim(game, out);
    return describe_protocol(game, out, err);
}

static dpa_status gather_limits(const dpa_confine *c, dpa_evidence *out, dpa_error *err) {
    if (c->memory_mb > 0)
        DPA_TRY(dpa_evidence_fact(out, "confined_memory_mb", (double)c->memory_mb, err));
    if (c->file_mb > 0)
        DPA_TRY(dpa_evidence_fact(out, "confined_file_mb", (double)c->file_mb, err));
    return c->no_network ? dpa_evidence_fact(out, "confined_no_network", 1.0, err) : DPA_OK;
}

dpa_status dpa_game_expect(const dpa_game *game, dpa_evidence *out, dpa_error *err) {
    dpa__evidence_init(out, DPA_EVIDENCE_SCORES);
    const dpa_status status = describe(game, out, err);
    if (status == DPA_OK && game->rules->expect != NULL) game->rules->expect(game, out);
    return status;
}

/* Checks the trials of the first `stages` stages. */
static dpa_status check_numbers(const dpa_game *game, int stages, const dpa_trials *trials,
                                dpa_error *err) {
    for (int s = 0; s < stages; ++s)
        for (uint64_t i = 0; i < trials[s].count; ++i) {
            const dpa_values *v = &trials[s].items[i];
            const size_t want = game->rules->numbers(game, s, i);
            if (v->items != NULL && v->count != want)
                return dpa__fail(err, DPA_BAD_INPUT,
                                 "trial %llu has %zu numbers, expected %zu: is the store of "
                                 "another version?",
                                 (unsigned long long)i, v->count, want);
        }
    return DPA_OK;
}

dpa_status dpa_game_brief(dpa_game *game, int stage, const dpa_trials *earlier, dpa_values *brief,
                          dpa_error *err) {
    *brief = (dpa_values){0};
    if (stage == 0 || game->rules->brief == NULL) return DPA_OK;
    DPA_TRY(check_numbers(game, stage, earlier, err));
    return game->rules->brief(game, stage, earlier, brief, err);
}

dpa_status dpa_game_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                           dpa_error *err) {
    *out = (dpa_evidence){0};
    DPA_TRY(check_numbers(game, dpa_game_stages(game), stages, err));
    dpa_status status = dpa_game_expect(game, out, err);
    if (status == DPA_OK) status = game->rules->gather(game, stages, out, err);
    if (status == DPA_OK)
        status = gather_failures(game, &stages[dpa_game_stages(game) - 1], out, err);
    if (status == DPA_OK) status = gather_limits(&game->experiment->confine, out, err);
    if (status != DPA_OK) dpa__evidence_clear(out);
    return status;
}
