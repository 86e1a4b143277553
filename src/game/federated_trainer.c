/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "game/federated_trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

dpa_status dpa__federated_model(const dpa_game *game, uint64_t init, dpa_model **out,
                                dpa_error *err) {
    const dpa_dataset *data = game->data.data;
    DPA_TRY(dpa_model_new(game->plan->layers, dpa_dataset_shape(data), dpa_dataset_classes(data),
                          game->plan->loss, out, err));
    dpa_model_init(*out, init);
    return DPA_OK;
}

/* ---- Who the clients are: from a file, dealt out, one for each row, or a trainer's own ---- */

/* Takes rows that are not to be trained on away from their clients. */
static dpa_status keep_members(const dpa_game *game, dpa_clients **clients, dpa_error *err) {
    const size_t rows = dpa_dataset_rows(game->data.data);
    if (game->data.member_count == rows) return DPA_OK;
    double *all = DPA_NEW_ARRAY(double, rows, err), *owner = DPA_NEW_ARRAY(double, rows, err);
    dpa_status status = all != NULL && owner != NULL ? DPA_OK : DPA_NO_MEMORY;
    dpa_clients *kept = NULL;
    for (size_t i = 0; status == DPA_OK && i < rows; ++i) all[i] = owner[i] = (double)NAN;
    for (size_t c = 0; status == DPA_OK && c < dpa_clients_count(*clients); ++c) {
        size_t count;
        const size_t *row = dpa_clients_rows(*clients, c, &count);
        for (size_t i = 0; i < count; ++i) all[row[i]] = (double)c;
    }
    for (size_t i = 0; status == DPA_OK && i < game->data.member_count; ++i)
        owner[game->data.members[i]] = all[game->data.members[i]];
    if (status == DPA_OK) status = dpa_clients_new(owner, rows, &kept, err);
    free(all);
    free(owner);
    if (status != DPA_OK) return status;
    dpa_clients_free(*clients);
    *clients = kept;
    return DPA_OK;
}

/* Each row is a client of its own: example-level, or clients whose rows somebody else has. */
static dpa_status number_clients(size_t rows, dpa_clients **out, dpa_error *err) {
    double *owner = DPA_NEW_ARRAY(double, rows, err);
    if (owner == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < rows; ++i) owner[i] = (double)i;
    const dpa_status status = dpa_clients_new(owner, rows, out, err);
    free(owner);
    return status;
}

dpa_status dpa__federated_clients(const dpa_game *game, dpa_clients **out, dpa_error *err) {
    const dpa_federate_plan *p = &game->experiment->federate;
    if (game->remote != NULL) return number_clients(game->remote->points, out, err);
    const dpa_dataset *data = game->data.data;
    if (p->each_row)
        DPA_TRY(number_clients(dpa_dataset_rows(data), out, err));
    else if (p->clients != NULL)
        DPA_TRY(dpa_clients_read(p->clients, p->column, dpa_dataset_rows(data), out, err));
    else
        DPA_TRY(dpa_clients_dirichlet(data, p->split, p->concentration, game->experiment->game.seed,
                                      out, err));
    return keep_members(game, out, err);
}

/* ---- Somebody else's clients ---- */

/* Canary clients send their change at full length and rely on the trainer's clipping. */
static dpa_status make_changes(dpa__far *far, const dpa_federation *f, dpa_error *err) {
    const size_t count = f->cohort.canaries, size = far->trainer->size;
    if (count > far->room) {
        free(far->changes);
        far->room = 0;
        far->changes = dpa__malloc(count, size * sizeof(double), err);
        if (far->changes == NULL) return DPA_NO_MEMORY;
        far->room = count;
    }
    const double norm = f->clip * f->opts.canary_scale;
    for (size_t k = 0; k < count; ++k)
        DPA_TRY(dpa__canaries_make_f64(f->canaries, f->cohort.canary[k], norm,
                                       far->changes + k * size, err));
    return DPA_OK;
}

static dpa_status sum_of_round(void *user, dpa_federation *f, dpa_error *err) {
    dpa__far *far = user;
    dpa__trainer *trainer = far->trainer;
    dpa__step step = {.batch = far->batch};
    DPA_TRY(make_changes(far, f, err));
    step.extra = (dpa__extra){.count = f->cohort.canaries, .wide = far->changes, .value = 1.0F};
    DPA_TRY(trainer->calls->batch(trainer, 0, trainer->points, far->batch, &step.count, err));
    return trainer->calls->step(trainer, &step, f->sum, err);
}

dpa_status dpa__far_begin(dpa__far *far, dpa__trainer *trainer, size_t size, uint64_t init,
                          uint64_t seed, dpa_error *err) {
    *far = (dpa__far){.trainer = trainer};
    far->clients = (dpa__elsewhere){far, sum_of_round};
    far->batch = DPA_NEW_ARRAY(size_t, trainer->points, err);
    far->model = DPA_NEW(dpa_model, err);
    if (far->batch == NULL || far->model == NULL) return DPA_NO_MEMORY;
    far->model->size = size;
    far->model->weight = DPA_NEW_ARRAY(float, size, err);
    if (far->model->weight == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < trainer->points; ++i) far->batch[i] = i;
    const dpa__order order = {.members = far->batch,
                              .count = trainer->points,
                              .init = init,
                              .seed = seed,
                              .look_seed = seed};
    DPA_TRY(trainer->calls->start(trainer, &order, err));
    return dpa__far_look(far, err);
}

dpa_status dpa__far_look(dpa__far *far, dpa_error *err) {
    return far->trainer->calls->weights(far->trainer, far->model->weight, err);
}

dpa_status dpa__far_accuracy(dpa__far *far, double *out, dpa_error *err) {
    *out = (double)NAN;
    if (!far->trainer->tells_accuracy) return DPA_OK;
    const dpa__question ask = {.ids = far->batch, .accuracy = out};
    return far->trainer->calls->signals(far->trainer, &ask, err);
}

void dpa__far_end(dpa__far *far) {
    dpa_model_free(far->model);
    free(far->batch);
    free(far->changes);
    *far = (dpa__far){0};
}

/* ---- dpaudit's own federation as a trainer ---- */

typedef struct served {
    dpa__trainer base;
    const dpa_game *game;
    const dpa_clients *clients;
    dpa_federate_opts opts;
    dpa_model *model;
    dpa_federation *federation; /* NULL: not started */
} served;

static void end_training(served *s) {
    dpa_federation_free(s->federation);
    dpa_model_free(s->model);
    s->federation = NULL;
    s->model = NULL;
}

static void close_served(dpa__trainer *trainer) {
    end_training((served *)trainer);
    free(trainer);
}

static dpa_status start(dpa__trainer *trainer, const dpa__order *order, dpa_error *err) {
    served *s = (served *)trainer;
    end_training(s);
    DPA_TRY(dpa__federated_model(s->game, order->init, &s->model, err));
    s->opts.seed = order->seed;
    return dpa_federation_new(s->model, s->game->data.data, s->clients, &s->opts, &s->federation,
                              err);
}

static dpa_status need_start(const served *s, dpa_error *err) {
    if (s->federation != NULL) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no training was started");
}

static dpa_status batch(dpa__trainer *trainer, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *err) {
    const served *s = (const served *)trainer;
    DPA_TRY(need_start(s, err));
    dpa_federation *f = s->federation;
    if (look) return dpa__fail(err, DPA_BAD_ARGUMENT, "a federated training has no looks");
    dpa__participation_draw(f, f->round, &f->cohort);
    if (f->cohort.clients > room)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu clients, room for %zu", f->cohort.clients,
                         room);
    *count = f->cohort.clients;
    memcpy(ids, f->cohort.client, *count * sizeof *ids);
    return DPA_OK;
}

static dpa_status step(dpa__trainer *trainer, const dpa__step *taken, float *sum, dpa_error *err) {
    const served *s = (const served *)trainer;
    DPA_TRY(need_start(s, err));
    dpa_federation *f = s->federation;
    if (taken->look || taken->count > trainer->points ||
        (taken->extra.count > 0 && taken->extra.wide == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a round has clients and changes, and no looks");
    f->cohort.clients = taken->count;
    memcpy(f->cohort.client, taken->batch, taken->count * sizeof *taken->batch);
    return dpa__federation_serve(f, taken->extra.wide, taken->extra.count, sum, err);
}

static dpa_status weights(dpa__trainer *trainer, float *out, dpa_error *err) {
    const served *s = (const served *)trainer;
    DPA_TRY(need_start(s, err));
    memcpy(out, dpa_model_weights(s->model), trainer->size * sizeof *out);
    return DPA_OK;
}

static dpa_status accuracy_alone(dpa__trainer *trainer, const dpa__question *ask, dpa_error *err) {
    const served *s = (const served *)trainer;
    const dpa_train_data *d = &s->game->data;
    dpa_utility utility;
    DPA_TRY(need_start(s, err));
    if (ask->count > 0 || ask->accuracy == NULL || d->heldout_count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "clients have no signals");
    DPA_TRY(dpa_model_evaluate(s->model, d->test != NULL ? d->test : d->data, d->heldout,
                               d->heldout_count, NULL, NULL, &utility, err));
    *ask->accuracy = utility.accuracy;
    return DPA_OK;
}

static dpa_status train(dpa__trainer *trainer, const dpa__order *order, const dpa__question *ask,
                        dpa_error *err) {
    (void)trainer, (void)order, (void)ask;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "a federated training goes by rounds: start, step");
}

static dpa_status gradient(dpa__trainer *trainer, size_t id, float *out, dpa_error *err) {
    (void)trainer, (void)id, (void)out;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "clients have no gradient");
}

static dpa_status canary(dpa__trainer *trainer, dpa_game_canary kind, uint64_t seed, uint64_t index,
                         dpa_error *err) {
    (void)trainer, (void)kind, (void)seed, (void)index;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "canary clients are the game's");
}

static const dpa__trainer_calls calls = {.close = close_served,
                                         .train = train,
                                         .start = start,
                                         .batch = batch,
                                         .step = step,
                                         .gradient = gradient,
                                         .signals = accuracy_alone,
                                         .weights = weights,
                                         .canary = canary};

dpa_status dpa__federated_serve_new(const dpa_game *game, const dpa_clients *clients,
                                    const dpa_federate_opts *opts, size_t size, dpa__trainer **out,
                                    dpa_error *err) {
    served *s = DPA_NEW(served, err);
    if (s == NULL) return DPA_NO_MEMORY;
    *s = (served){.game = game, .clients = clients, .opts = *opts};
    s->opts.all_iterates = 0; /* nobody watches the canaries here */
    s->base = (dpa__trainer){.calls = &calls,
                             .levels = DPA__LEVEL_ROUND,
                             .points = dpa_clients_count(clients),
                             .tells_accuracy = game->data.heldout_count > 0,
                             .size = size};
    *out = &s->base;
    return DPA_OK;
}
