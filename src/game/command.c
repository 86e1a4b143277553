/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A game against an external trainer: any program, run once per trial by a command template.
 *
 *     python3 train.py --seed {seed} --members {members} --queries {queries} --out {out}
 *
 * {members} is a file with the ids of the points to train on, {queries} one with the ids to give a
 * number for; the program writes these numbers to {out} in that order (text with one per line, or
 * NPY). {slot} numbers the trials that run at the same time (one GPU each), {trial} is the index.
 * The same values are in the environment as DPAUDIT_SEED and so on. The exit code and the number
 * and kind of the values are checked. */
#include "game/command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/stream.h"
#include "evidence/evidence.h"
#include "settings/settings.h"

static const dpa_command_opts *opts_of(const dpa_game *game) {
    return &game->experiment->command;
}

int dpa__command_member(const dpa_game *game, uint64_t index, uint64_t point) {
    const dpa_command_opts *o = opts_of(game);
    if (o->design == DPA_DESIGN_LEAVE_ONE_OUT) return point != o->challenge || index % 2 == 0;
    dpa_rng rng;
    dpa__rng_init(&rng, game->experiment->game.seed, DPA_PURPOSE_MEMBERSHIP,
                  index * o->points + point);
    return (int)(dpa__rng_u32(&rng) & 1U);
}

uint64_t dpa__command_queries(const dpa_game *game) {
    const dpa_command_opts *o = opts_of(game);
    if (o->queries > 0) return o->queries;
    return o->design == DPA_DESIGN_LEAVE_ONE_OUT ? 1 : o->points;
}

uint64_t dpa__command_query(const dpa_game *game, uint64_t number) {
    const dpa_command_opts *o = opts_of(game);
    return o->design == DPA_DESIGN_LEAVE_ONE_OUT ? (o->challenge + number) % o->points : number;
}

/* ---- Opening ---- */

/* Refuses unknown placeholders: a word {like} this or --option={like} this is meant for us. Braces
 * that hold more than a name, or are inside a longer word, may belong to the trainer. */
static dpa_status check_placeholders(const dpa_experiment *e, const char *key, const char *line,
                                     dpa_error *err) {
    static const char *const known[] = {"seed", "members", "queries", "out",
                                        "slot", "trial",   "attempt"};
    for (const char *at = strchr(line, '{'); at != NULL; at = strchr(at + 1, '{')) {
        const size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_-");
        const int starts = at == line || at[-1] == ' ' || at[-1] == '=';
        const char after = at[1 + length] == '}' ? at[2 + length] : 'x';
        int is_known = !starts || length == 0 || (after != ' ' && after != '\0');
        for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
            is_known |= strlen(known[i]) == length && memcmp(known[i], at + 1, length) == 0;
        if (!is_known)
            return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                                  "game: %s: {%.*s} stands for nothing; expected {seed}, "
                                  "{members}, {queries}, {out}, {slot}, {trial} or {attempt}",
                                  key, (int)(length < 60 ? length : 60), at + 1);
    }
    return DPA_OK;
}

static dpa_status check(const dpa_experiment *e, dpa_error *err) {
    const dpa_command_opts *o = &e->command;
    if (o->line == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "game: command is missing");
    DPA_TRY(check_placeholders(e, "command", o->line, err));
    if (o->cancel != NULL) DPA_TRY(check_placeholders(e, "cancel", o->cancel, err));
    if (strstr(o->line, "{out}") == NULL && strstr(o->line, "{members}") == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: command names neither {members} nor {out}: the trainer gets "
                              "the one and writes the other");
    if (o->points == 0 || o->points > UINT32_MAX)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: points %" PRIu64 ": expected how many points there are to "
                              "train on",
                              o->points);
    if (o->queries > o->points)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: queries %" PRIu64 ": there are %" PRIu64 " points", o->queries,
                              o->points);
    if (o->has_attack && o->design == DPA_DESIGN_LEAVE_ONE_OUT)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: attack: for design: coins; with leave-one-out every training "
                              "gives one score of the challenge, and there is nothing to attack");
    if (o->challenge >= o->points)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: challenge %" PRIu64 ": expected 0 to %" PRIu64, o->challenge,
                              o->points - 1);
    if (o->models < 2 || o->models > (UINT64_C(1) << DPA_RNG_INDEX_BITS) / o->points)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "game: models %" PRIu64 ": expected how many models to train, at "
                              "least 2",
                              o->models);
    return DPA_OK;
}

static dpa_status find_folder(const char *path, char folder[PATH_MAX], dpa_error *err) {
    const char *slash = strrchr(path, '/');
    char name[PATH_MAX] = ".";
    if (slash != NULL && (size_t)(slash - path) < sizeof name)
        (void)snprintf(name, sizeof name, "%.*s", (int)(slash - path + 1), path);
    if (realpath(name, folder) != NULL) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, path, "cannot find its folder: %s", strerror(errno));
}

/* Words of the command that are files (the script, its data) decide the results, so their bytes go
 * into the key of the trials. */
static dpa_status digest_file(const char *path, dpa__sha256 *sha, dpa_error *err) {
    char hex[DPA_SHA256_SIZE];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return DPA_OK;
    DPA_TRY(dpa__file_sha256(path, hex, err));
    dpa__sha256_add(sha, hex, sizeof hex);
    return DPA_OK;
}

static dpa_status digest_files(const char *path_of, dpa__external *x, dpa_error *err) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    for (size_t i = 0; i < x->words.count; ++i) {
        char *path = dpa__path_beside(path_of, x->words.items[i], err);
        const dpa_status status = path != NULL ? digest_file(path, &sha, err) : DPA_NO_MEMORY;
        free(path);
        if (status != DPA_OK) return status;
    }
    dpa__sha256_hex(&sha, x->digest);
    return DPA_OK;
}

/* ---- Confining it ---- */

dpa_status dpa__external_confine(dpa__external *x, dpa_error *err) {
    if (x->is_confined) return DPA_OK;
    DPA_TRY(dpa__confine_try(&x->confine, err));
    x->is_confined = 1;
    return DPA_OK;
}

dpa_status dpa__external_open(const char *path, const char *line, const dpa_confine *confine,
                              dpa__external *x, dpa_error *err) {
    enum { MEGABYTE = 1000000 };
    if (confine != NULL)
        x->confine = (dpa__confine){.memory = confine->memory_mb * MEGABYTE,
                                    .file = confine->file_mb * MEGABYTE,
                                    .no_network = confine->no_network};
    DPA_TRY(dpa__words_split(line, &x->words, err));
    DPA_TRY(find_folder(path, x->folder, err));
    return digest_files(path, x, err);
}

void dpa__external_close(dpa__external *x) {
    if (x->scratch[0] != '\0') dpa__scratch_sweep_slot(x->scratch);
    dpa__words_free(&x->words);
    dpa__words_free(&x->cancel);
}

static void close_game(dpa_game *game) {
    if (game->state == NULL) return;
    dpa__external_close(game->state);
    free(game->state);
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_experiment *e = game->experiment;
    DPA_TRY(check(e, err));
    dpa__external *x = DPA_NEW(dpa__external, err);
    if (x == NULL) return DPA_NO_MEMORY;
    game->state = x; /* the caller frees it, also after a failure */
    DPA_TRY(dpa__external_open(e->path, e->command.line, &e->confine, x, err));
    return e->command.cancel == NULL ? DPA_OK
                                     : dpa__words_split(e->command.cancel, &x->cancel, err);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    return opts_of(game)->models;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return (size_t)dpa__command_queries(game);
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    const dpa__external *x = game->state;
    dpa__text_printf(text, "queries: %" PRIu64 "\nfiles: %s\n", dpa__command_queries(game),
                     x->digest);
    dpa__game_put_confine(game, text);
}

/* ---- What the trainers wrote, as evidence ----
 *
 * Design coins: a matrix of signals for `dpaudit attack`. If an attack is named, also the scores of
 * the first model, whose points came in by independent coins, so they are canaries of one run. The
 * other models serve as its shadows: they know nothing of its coins.
 * Design leave-one-out: each training gives one score, the signal of the challenge, with or without
 * it. A training that failed gets the score fixed for that in advance. */

/* Signals and membership of the models that were played: those that failed teach an attack
 * nothing. Free with dpa__signals_free, also after a failure. */
static dpa_status make_signals(const dpa_game *game, const dpa_trials *trials, size_t played,
                               dpa_signals *out, dpa_error *err) {
    const size_t queries = (size_t)dpa__command_queries(game);
    *out = (dpa_signals){
        .kind = game->experiment->command.signal, .models = played, .points = queries};
    out->signal = dpa__malloc(played, queries * sizeof *out->signal, err);
    out->member = dpa__malloc(played, queries, err);
    if (out->signal == NULL || out->member == NULL) return DPA_NO_MEMORY;
    size_t k = 0;
    for (uint64_t i = 0; i < trials->count; ++i)
        for (size_t q = 0; trials->items[i].items != NULL && q < queries; ++q, ++k) {
            out->signal[k] = trials->items[i].items[q];
            out->member[k] = (uint8_t)dpa__command_member(game, i, dpa__command_query(game, q));
        }
    return DPA_OK;
}

/* Scores the points of the first model by the attack. The other models are its shadows and know
 * nothing of its coins, so failed ones may be left out. If the first model itself failed, every
 * point gets the same score, which favours no guess. */
static dpa_status gather_first(const dpa_game *game, const dpa_trials *trials, dpa_signals *s,
                               dpa_evidence *out, dpa_error *err) {
    uint64_t first = 0;
    while (dpa_trials_end(trials, first) == DPA_TRIAL_NONE) ++first;
    double *scores = dpa__calloc(2 * s->points, sizeof *scores, err);
    if (scores == NULL) return DPA_NO_MEMORY;
    double *members = scores + s->points;
    for (size_t q = 0; q < s->points; ++q)
        members[q] = dpa__command_member(game, first, dpa__command_query(game, q));
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    dpa_status status = DPA_OK;
    if (trials->items[first].items != NULL)
        status = dpa__attack_run(game->experiment->command.attack, s, &opts, scores, err);
    if (status == DPA_OK) status = dpa__gather_split(scores, members, s->points, out, err);
    free(scores);
    return status;
}

static dpa_status gather_signals(const dpa_signals *s, dpa_evidence *out, dpa_error *err) {
    const size_t count = s->models * s->points;
    DPA_TRY(dpa_evidence_copy(out, "signals", s->signal, count, err));
    dpa_named_array *members = dpa__gather_array(out, "members", count, err);
    if (members == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) members->items[members->count++] = s->member[i];
    members->rows = members[-1].rows = s->models;
    return DPA_OK;
}

/* Members have lower losses but must have higher scores. */
static dpa_status gather_one(const dpa_game *game, const dpa_trials *trials, size_t played,
                             dpa_evidence *out, dpa_error *err) {
    double *scores = DPA_NEW_ARRAY(double, played, err);
    if (scores == NULL) return DPA_NO_MEMORY;
    const double sign = game->experiment->command.signal == DPA_SIGNAL_LOSS ? -1.0 : 1.0;
    size_t k = 0;
    for (uint64_t i = 0; i < trials->count; ++i)
        if (trials->items[i].items != NULL) scores[k++] = sign * trials->items[i].items[0];
    const dpa_status status = dpa__gather_arms(game, trials, scores, out, err);
    free(scores);
    return status;
}

static dpa_status gather_coins(const dpa_game *game, const dpa_trials *trials, size_t played,
                               dpa_evidence *out, dpa_error *err) {
    dpa_signals s;
    dpa_status status = make_signals(game, trials, played, &s, err);
    if (status == DPA_OK)
        status = game->experiment->command.has_attack ? gather_first(game, trials, &s, out, err)
                                                      : gather_signals(&s, out, err);
    dpa__signals_free(&s);
    return status;
}

static void expect(const dpa_game *game, dpa_evidence *out) {
    const dpa_command_opts *o = &game->experiment->command;
    if (o->design == DPA_DESIGN_LEAVE_ONE_OUT) return;
    out->design = DPA_ONE_RUN;
    if (!o->has_attack) out->kind = DPA_EVIDENCE_SIGNALS;
}

static int arm(const dpa_game *game, uint64_t index) {
    const dpa_command_opts *o = &game->experiment->command;
    if (o->design != DPA_DESIGN_LEAVE_ONE_OUT) return -1; /* both kinds in each training */
    return dpa__command_member(game, index, o->challenge);
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const int is_one = game->experiment->command.design == DPA_DESIGN_LEAVE_ONE_OUT;
    size_t models = 0, played = 0;
    for (uint64_t i = 0; i < stages[0].count; ++i) {
        models += dpa_trials_end(&stages[0], i) != DPA_TRIAL_NONE;
        played += stages[0].items[i].items != NULL;
    }
    if (models < 2)
        return dpa__fail(err, DPA_BAD_INPUT, "%zu models: at least 2 are needed", models);
    if (played < 1)
        return dpa__fail(err, DPA_BAD_INPUT, "none of %zu trainings gave a number", models);
    DPA_TRY(is_one ? gather_one(game, &stages[0], played, out, err)
                   : gather_coins(game, &stages[0], played, out, err));
    const dpa_named_array *in = dpa__evidence_find(out, "members");
    const dpa_named_array *none = dpa__evidence_find(out, "nonmembers");
    if (none != NULL && (in->count == 0 || none->count == 0))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%zu scores with and %zu without the point: both are needed", in->count,
                         none->count);
    return dpa_evidence_fact(out, "models", (double)models, err);
}

const dpa__rules dpa__command_rules = {
    .trains_itself = 1,
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed game.design game.points game.challenge game.command",
    .describe = describe,
    .trial = dpa__command_trial,
    .expect = expect,
    .gather = gather,
    .arm = arm,
};
