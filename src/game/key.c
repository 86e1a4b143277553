/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of trials: the digest of the settings that decide a trial's numbers, each by its name in the
 * experiment file. Names and words of settings must therefore keep their meaning; the order of
 * enums and of the table of keys may change. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "game/experiment_keys.h"
#include "game/rules.h"
#include "game/trainer_wire.h"

void dpa__game_put(const dpa_game *game, const char *names, dpa__text *text) {
    dpa__settings_put(dpa__experiment_sections, names, game->experiment, text);
}

void dpa__game_put_confine(const dpa_game *game, dpa__text *text) {
    const dpa_confine *c = &game->experiment->confine;
    if (c->memory_mb > 0 || c->file_mb > 0 || c->no_network)
        dpa__game_put(game, "confine.memory-mb confine.file-mb confine.no-network", text);
}

/* Left out are values of the trainer that are only claimed (sigma, q, delta): they change no
 * number. */
static void put_trainer(const dpa_game *game, dpa__text *text) {
    dpa__text_printf(text, "trainer: %d\nfiles: %s\n", DPA__TRAINER_PROTOCOL, game->digest);
    dpa__game_put(game,
                  "trainer.points trainer.canaries trainer.heldout trainer.accuracy "
                  "trainer.signal trainer.init-seed trainer.clip trainer.steps trainer.command",
                  text);
    dpa__game_put_confine(game, text);
}

dpa_status dpa__game_settings(const dpa_game *game, int stage, char **out, dpa_error *err) {
    dpa__text text = {0};
    /* Change the number after "trial" when the numbers of a trial change their meaning. */
    dpa__text_printf(&text, "trial: 2\ngame: %s\nstage: %d\n", game->rules->name, stage + 1);
    if (game->remote != NULL)
        put_trainer(game, &text);
    else if (game->digest[0] != '\0')
        dpa__text_printf(&text, "training: %s\n", game->digest);
    game->rules->describe(game, stage, &text);
    return dpa__text_take(&text, out, err);
}

dpa_status dpa_game_key(const dpa_game *game, int stage, char key[DPA_SHA256_SIZE],
                        dpa_error *err) {
    char *text = NULL;
    DPA_TRY(dpa__game_settings(game, stage, &text, err));
    dpa__sha256_of(text, strlen(text), key);
    free(text);
    return DPA_OK;
}
