/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clients of a federated game: from a file, dealt out, one for each row, or a trainer's own. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/federated_trainer.h"

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
