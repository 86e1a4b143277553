/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of trials: the digest of the settings that decide a trial's numbers, each by its name in the
 * experiment file. Names and words of settings must therefore keep their meaning; the order of
 * enums and of the table of keys may change. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/sha256.h"
#include "game/rules.h"

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
    dpa__text_printf(&text, "trial: 2\ngame: %s\nstage: %d\n", dpa_game_name(game), stage + 1);
    if (game->remote != NULL)
        put_trainer(game, &text);
    else if (game->digest[0] != '\0')
        dpa__text_printf(&text, "training: %s\n", game->digest);
    if (game->rules->settings != NULL) dpa__game_put(game, game->rules->settings, &text);
    if (game->rules->describe != NULL) game->rules->describe(game, stage, &text);
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

/* ---- Keys of stores from before version 4 of their tables, so that such stores go on ----
 *
 * Those keys were digests of the texts below, with the numbers of enums in place of words. Never
 * change them. {name} stands for the value of a setting, [V|…] for a part that was left out when
 * the first value in it is V. A setting that the stage does not have is "-". */

#define SABOTAGE                                                                                   \
    "sabotage {game.sabotage}\nscale {game.noise-scale}\nseeds {game.seeds}\n"                     \
    "workers {game.workers}\n"
#define WHITE_BOX                                                                                  \
    "seed {seed}\ncanary {game.canary}\nmoving {game.moving}\nrate {game.canary-rate}\n"           \
    "length {length}\n[0.10000000000000001|quiet {game.quiet-share}\n]" SABOTAGE
#define ONE_RUN                                                                                    \
    "seed {seed}\ncanary {game.canary}\ncanaries {game.canaries}\noptions {game.options}\n"        \
    "access {game.access}\nscore {game.score}\n" SABOTAGE

static const char trainer_text[] =
    "trainer {trainer}\npoints {trainer.points}\ncanaries {trainer.canaries}\n"
    "heldout {trainer.heldout}\naccuracy {trainer.accuracy}\nsignal {trainer.signal}\n"
    "init {trainer.init-seed}\nclip {trainer.clip}\nsteps {trainer.steps}\nfiles {files}\n"
    "command {trainer.command}\n";

static const char *const texts[DPA_GAME_KINDS] = {
    [DPA_GAME_WHITE_BOX] = WHITE_BOX,
    [DPA_GAME_INPUT_CANARY] =
        WHITE_BOX "crafting {game.crafting-steps} by {game.crafting-examples}\n"
                  "radius {game.radius}\n[0|filter {game.filter} by {game.filter-examples}\n]",
    [DPA_GAME_BLACK_BOX] = "seed {seed}\ncanary {game.canary}\n[1|copies {game.copies}\n]" SABOTAGE,
    [DPA_GAME_MEMBERSHIP] = ONE_RUN,
    [DPA_GAME_RECONSTRUCTION] = ONE_RUN,
    [DPA_GAME_COMMAND] = "seed {seed}\ndesign {game.design}\npoints {game.points}\n"
                         "queries {queries}\nchallenge {game.challenge}\nfiles {files}\n"
                         "command {game.command}",
    [DPA_GAME_SHADOW] = "seed {seed}\nsignal {shadow.signal}\npopulation {population}\n"
                        "[-|design {shadow.design}\n]" SABOTAGE,
    [DPA_GAME_FEDERATED] =
        "seed {seed}\nowners {owners}\nrounds {federate.rounds}\n"
        "participation {federate.participation} {federate.cohort} {federate.period} "
        "{federate.drop}\nserver {federate.server-rate} {federate.momentum} "
        "{federate.divide-actual} {federate.adaptive} {federate.quantile} {federate.clip-rate} "
        "{federate.vote-noise}\ncanaries {federate.canaries} {federate.unobserved} "
        "{federate.repetitions} {federate.canary-scale} {federate.all-iterates}\n"
        "fault {federate.fault} {federate.copies} {federate.share}\n"
        "optimiser {federate.server} {federate.beta2} {federate.tau} known rounds\n"
        "[0|direction {federate.direction}\n]"
        "runs {federate.runs} since start {federate.since-start} "
        "checkpoints {federate.checkpoints}\n",
    [DPA_GAME_WHOLE_TRAINING] = "seed {seed}\ncanary {game.canary}\nscore {game.score}\n" SABOTAGE,
};

/* The value on the line "name: value" of the settings; NULL: there is no such line. */
static const char *find(const char *settings, const char *name, size_t length, size_t *size) {
    for (const char *line = settings; *line != '\0';) {
        const size_t all = strcspn(line, "\n");
        if (all >= length + 2 && memcmp(line, name, length) == 0 && line[length] == ':') {
            *size = all - length - 2;
            return line + length + 2;
        }
        line += all + (line[all] == '\n');
    }
    return NULL;
}

static void add_unescaped(const char *value, size_t size, dpa__text *out) {
    for (size_t i = 0; i < size; ++i) {
        const int is_escape = value[i] == '\\' && i + 1 < size;
        if (is_escape) ++i;
        dpa__text_add_bytes(out, is_escape && value[i] == 'n' ? "\n" : &value[i], 1);
    }
}

static void add_word(const dpa__word *words, const char *value, size_t size, dpa__text *out) {
    for (; words->text != NULL; ++words)
        if (strlen(words->text) == size && memcmp(words->text, value, size) == 0)
            dpa__text_printf(out, "%d", words->value);
}

/* The value as it was written then. */
static void add_value(const char *settings, const char *name, size_t length, dpa__text *out) {
    char key[64];
    size_t size = 0;
    const char *value = find(settings, name, length, &size);
    if (value == NULL) {
        dpa__text_add(out, "-");
        return;
    }
    (void)dpa__print(key, sizeof key, "%.*s", (int)length, name);
    const dpa__field *field = dpa__settings_field(dpa__experiment_sections, key);
    double number = 0.0;
    const char *at = value;
    if (field == NULL || field->type == DPA__COUNT || field->type == DPA__SIZE)
        dpa__text_add_bytes(out, value, size);
    else if (field->type == DPA__WORD)
        add_word(field->detail, value, size, out);
    else if (field->type == DPA__FLAG)
        dpa__text_add(out, value[0] == 't' ? "1" : "0");
    else if (field->type != DPA__NUMBER)
        add_unescaped(value, size, out);
    else if (dpa__number_parse(&at, value + size, &number) == DPA__NUMBER_OK)
        dpa__text_printf(out, "%.17g", number);
    else
        out->failed = 1;
}

/* Whether the part [V|…] at `text` is left out. */
static int is_left_out(const char *settings, const char *text, dpa__text *out) {
    dpa__text value = {0};
    const size_t size = strcspn(text + 1, "|");
    const char *name = text + strcspn(text, "{") + 1;
    add_value(settings, name, strcspn(name, "}"), &value);
    const int is = value.length == size && memcmp(value.data, text + 1, size) == 0;
    out->failed |= value.failed; /* without memory nobody knows */
    dpa__text_free(&value);
    return is;
}

static void fill(const char *settings, const char *text, dpa__text *out) {
    while (*text != '\0') {
        const size_t plain = strcspn(text, "{[]");
        dpa__text_add_bytes(out, text, plain);
        text += plain;
        if (*text == '{') {
            const size_t length = strcspn(text, "}");
            add_value(settings, text + 1, length - 1, out);
            text += length + 1;
        } else if (*text == '[') {
            text += is_left_out(settings, text, out) ? strcspn(text, "]") : strcspn(text, "|");
            ++text;
        } else if (*text == ']') {
            ++text;
        }
    }
}

static dpa_status digest(dpa__text *text, char hex[DPA_SHA256_SIZE], dpa_error *err) {
    if (!text->failed) dpa__sha256_of(text->data, text->length, hex);
    const dpa_status status =
        text->failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for the key of a trial") : DPA_OK;
    dpa__text_free(text);
    return status;
}

dpa_status dpa__game_key_1(const dpa_game *game, int stage, const char *settings,
                           char key[DPA_SHA256_SIZE], dpa_error *err) {
    char training[DPA_SHA256_SIZE];
    dpa__text text = {0};
    memcpy(training, game->digest, sizeof training);
    if (game->remote != NULL) {
        fill(settings, trainer_text, &text);
        DPA_TRY(digest(&text, training, err));
    }
    dpa__text_printf(&text, "trial 1\ngame %s stage %d\ntraining %s\n", dpa_game_name(game), stage,
                     training);
    fill(settings, texts[game->experiment->kind], &text);
    /* Nothing was confined then: this is the key of no trial. */
    static const char limit[] = "confine.memory-mb";
    size_t size;
    if (find(settings, limit, sizeof limit - 1, &size) != NULL) dpa__text_add(&text, "confined");
    return digest(&text, key, err);
}
