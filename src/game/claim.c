/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a game's evidence says besides its arrays: the observed training, what it promises, and the
 * estimators that the experiment names. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "evidence/evidence.h"
#include "game/rules.h"

/* A microbatch is clipped as a whole, so one record can turn its sum from +C to −C: the noise
 * counts half. */
static double effective_sigma(const dpa_train_plan *plan) {
    return plan->train.microbatch > 1 ? 0.5 * plan->train.sigma : plan->train.sigma;
}

static void describe_training(const dpa_game *game, dpa_evidence *out) {
    const dpa_train_plan *plan = game->plan;
    const size_t members = game->data.member_count;
    dpa_training_facts *t = &out->training;
    t->q = dpa_train_plan_q(plan, members);
    t->steps = dpa_train_plan_steps(plan, members);
    const double sigma = effective_sigma(plan);
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
    const char *method = e->method == NULL && e->stop_refuted ? "sequential" : e->method;
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

dpa_status dpa__game_describe(const dpa_game *game, dpa_evidence *out, dpa_error *err) {
    const char *path = game->experiment->path, *slash = path != NULL ? strrchr(path, '/') : NULL;
    (void)snprintf(out->game, sizeof out->game, "%s", game->rules->name);
    if (path != NULL)
        (void)snprintf(out->source, sizeof out->source, "%s", slash != NULL ? slash + 1 : path);
    if (game->plan != NULL) describe_training(game, out);
    describe_claim(game, out);
    return describe_protocol(game, out, err);
}
