/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One trial of an external trainer: makes its folder and files, runs the command with its
 * placeholders filled in, reads the numbers that it wrote, and cleans up. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/write.h"
#include "game/command.h"

/* ---- Folders ----
 *
 * Each attempt of a trial gets a folder of its own, so that a late writer (a child that outlived
 * its trainer) writes into a folder that is gone and never into the files of another trial.
 *
 * SCRATCH/SLOT/dpa-TRIAL-xxxxxx holds the files of one attempt, and `cancel`: the words of the
 * command that ends what the attempt may have started on other machines. Whoever finds such a
 * folder without a running attempt (the worker after a failure, the run after it killed a worker,
 * the next run after a power cut) runs that command and removes the folder. */

enum { CANCEL_MOST = 1 << 16, CANCEL_WORDS = 1024 };

static const char cancel_name[] = "cancel";
static const double cancel_limit = 30.0; /* seconds */

const char *dpa__slot_name(void) {
    const char *slot = getenv("DPAUDIT_SLOT");
    return slot != NULL ? slot : "0";
}

static dpa_status need_slot(dpa__external *x, dpa_error *err) {
    const char *place = getenv("DPAUDIT_SCRATCH"), *temporary = getenv("TMPDIR");
    if (x->scratch[0] == '\0') {
        const int n = place != NULL ? snprintf(x->scratch, sizeof x->scratch, "%s/%s", place,
                                               dpa__slot_name())
                                    : snprintf(x->scratch, sizeof x->scratch, "%s/dpaudit-XXXXXX",
                                               temporary != NULL ? temporary : "/tmp");
        int ok = n > 0 && (size_t)n < sizeof x->scratch;
        if (ok && place == NULL) ok = mkdtemp(x->scratch) != NULL;
        if (!ok) {
            x->scratch[0] = '\0';
            return dpa__fail(err, DPA_IO, "cannot make a folder for the files of a trial: %s",
                             strerror(errno));
        }
    }
    /* Recreated, because somebody may have cleaned up meanwhile. */
    int ok = place == NULL || mkdir(place, 0777) == 0 || errno == EEXIST;
    ok = ok && (mkdir(x->scratch, 0777) == 0 || errno == EEXIST);
    if (ok) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, x->scratch,
                          "cannot make a folder for the files of a trial: %s", strerror(errno));
}

dpa_status dpa__attempt_begin(dpa__external *x, uint64_t index, char folder[DPA__ATTEMPT_SIZE],
                              dpa_error *err) {
    DPA_TRY(need_slot(x, err));
    (void)snprintf(folder, DPA__ATTEMPT_SIZE, "%s/dpa-%" PRIu64 "-XXXXXX", x->scratch, index);
    if (mkdtemp(folder) != NULL) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, folder, "cannot make a folder for the files of a trial: %s",
                          strerror(errno));
}

static void path_in(const char *folder, const char *name, char path[PATH_MAX]) {
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) path[0] = '\0';
}

/* Records the command that ends the attempt's work on other machines: words to be run in
 * `folder`. */
static dpa_status write_cancel(const char *attempt, const char *folder, char *const *words,
                               dpa_error *err) {
    char path[PATH_MAX];
    path_in(attempt, cancel_name, path);
    dpa__text text = {0};
    dpa__text_add_bytes(&text, folder, strlen(folder) + 1);
    for (size_t i = 0; words[i] != NULL; ++i)
        dpa__text_add_bytes(&text, words[i], strlen(words[i]) + 1);
    return dpa__write_plainly(path, &text, NULL, 0, err);
}

/* `text` holds the folder and the words, each ended by NUL. */
static void run_cancel(char *text, size_t length) {
    char *words[CANCEL_WORDS + 1] = {NULL};
    size_t count = 0;
    for (size_t at = strlen(text) + 1; at < length && count < CANCEL_WORDS;
         at += strlen(text + at) + 1)
        words[count++] = text + at;
    const dpa__command command = {.words = words, .folder = text, .limit = cancel_limit};
    if (count == 0) return;
    const dpa_status status = dpa__command_run(&command, NULL);
    (void)status; /* ignored: a job that has ended meanwhile cannot be cancelled */
}

static void cancel(const char *attempt) {
    char path[PATH_MAX];
    path_in(attempt, cancel_name, path);
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    char *text = dpa__malloc(CANCEL_MOST + 1, 1, NULL);
    const size_t length = text != NULL ? fread(text, 1, CANCEL_MOST, file) : 0;
    (void)fclose(file);
    if (length > 0) {
        text[length] = '\0';
        run_cancel(text, length);
    }
    free(text);
}

void dpa__attempt_end(const char *attempt, int failed) {
    if (failed) cancel(attempt);
    dpa__folder_remove(attempt);
}

/* Calls `visit` for every folder in a folder. */
static void visit_folders(const char *folder, void (*visit)(const char *path)) {
    DIR *all = opendir(folder);
    if (all == NULL) return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        char path[PATH_MAX];
        struct stat info;
        if (e->d_name[0] == '.') continue;
        path_in(folder, e->d_name, path);
        if (path[0] != '\0' && lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) visit(path);
    }
    (void)closedir(all);
}

void dpa__scratch_sweep_slot(const char *folder) {
    visit_folders(folder, cancel);
    dpa__folder_remove(folder);
}

void dpa__scratch_sweep(const char *folder) {
    visit_folders(folder, dpa__scratch_sweep_slot);
    dpa__folder_remove(folder);
}

/* ---- One trial ---- */

enum { NAME_SIZE = DPA__ATTEMPT_SIZE + 16 };

typedef struct trial_files {
    const char *folder; /* of this attempt only */
    char members[NAME_SIZE], queries[NAME_SIZE], out[NAME_SIZE], out_npy[NAME_SIZE];
} trial_files;

static dpa_status write_files(const dpa_game *game, uint64_t index, trial_files *f,
                              dpa_error *err) {
    dpa__text members = {0}, queries = {0};
    (void)snprintf(f->members, sizeof f->members, "%s/members", f->folder);
    (void)snprintf(f->queries, sizeof f->queries, "%s/queries", f->folder);
    (void)snprintf(f->out, sizeof f->out, "%s/out", f->folder);
    (void)snprintf(f->out_npy, sizeof f->out_npy, "%s/out.npy", f->folder);
    for (uint64_t i = 0; i < game->experiment->command.points; ++i)
        if (dpa__command_member(game, index, i)) dpa__text_printf(&members, "%" PRIu64 "\n", i);
    DPA_TRY(dpa__write_plainly(f->members, &members, NULL, 0, err));
    for (uint64_t i = 0; i < dpa__command_queries(game); ++i)
        dpa__text_printf(&queries, "%" PRIu64 "\n", dpa__command_query(game, i));
    return dpa__write_plainly(f->queries, &queries, NULL, 0, err);
}

/* A placeholder or variable and its value. */
typedef struct binding {
    const char *placeholder, *variable, *value;
} binding;

enum { BINDINGS = 7 };

static void substitute(const char *word, const binding *bindings, dpa__text *out) {
    dpa__text_add(out, "");
    while (*word != '\0') {
        size_t k = 0;
        while (k < BINDINGS &&
               strncmp(word, bindings[k].placeholder, strlen(bindings[k].placeholder)) != 0)
            ++k;
        if (k < BINDINGS) {
            dpa__text_add(out, bindings[k].value);
            word += strlen(bindings[k].placeholder);
        } else {
            dpa__text_add_bytes(out, word++, 1);
        }
    }
}

static void free_words(char **words, size_t count) {
    for (size_t i = 0; words != NULL && i < count; ++i) free(words[i]);
    free(words);
}

/* Copies words with their placeholders filled in; NULL ends the list. */
static dpa_status bind_words(const dpa__words *from, const binding *bindings, char ***out,
                             dpa_error *err) {
    char **words = dpa__calloc(from->count + 1, sizeof *words, err);
    dpa_status status = words != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < from->count && status == DPA_OK; ++i) {
        dpa__text text = {0};
        substitute(from->items[i], bindings, &text);
        status = dpa__text_take(&text, &words[i], err);
    }
    if (status != DPA_OK) {
        free_words(words, from->count);
        words = NULL;
    }
    *out = words;
    return status;
}

static dpa_status run_bound(dpa__external *x, const binding *bindings, dpa_error *err) {
    char **words;
    char *environment[BINDINGS + 1] = {NULL};
    DPA_TRY(dpa__external_confine(x, err));
    dpa_status status = bind_words(&x->words, bindings, &words, err);
    for (size_t i = 0; i < BINDINGS && status == DPA_OK; ++i) {
        dpa__text text = {0};
        dpa__text_printf(&text, "%s=%s", bindings[i].variable, bindings[i].value);
        status = dpa__text_take(&text, &environment[i], err);
    }
    const dpa__command command = {.words = words,
                                  .environment = (const char *const *)environment,
                                  .folder = x->folder,
                                  .confine = &x->confine};
    if (status == DPA_OK) status = dpa__command_run(&command, err);
    for (size_t i = 0; i < BINDINGS; ++i) free(environment[i]);
    free_words(words, x->words.count);
    return status;
}

/* Leaves the cancel command on disk, so that whoever cleans up finds it even if this process
 * dies. */
static dpa_status leave_cancel(const dpa__external *x, const binding *bindings, const char *folder,
                               dpa_error *err) {
    char **words;
    if (x->cancel.count == 0) return DPA_OK;
    DPA_TRY(bind_words(&x->cancel, bindings, &words, err));
    const dpa_status status = write_cancel(folder, x->folder, words, err);
    free_words(words, x->cancel.count);
    return status;
}

/* Different for every trial of an experiment, and 32 bits because many libraries take no more. */
static uint32_t seed_of(const dpa_game *game, uint64_t index) {
    dpa_rng rng;
    dpa__rng_init(&rng, game->experiment->game.seed, DPA_PURPOSE_INIT, 0);
    return dpa__rng_u32(&rng) + (uint32_t)index;
}

static dpa_status run_trainer(const dpa_game *game, uint64_t index, const trial_files *f,
                              dpa_error *err) {
    char seed[24], trial[24];
    (void)snprintf(seed, sizeof seed, "%" PRIu32, seed_of(game, index));
    (void)snprintf(trial, sizeof trial, "%" PRIu64, index);
    const char *name = strrchr(f->folder, '/') + 1;
    const binding bindings[BINDINGS] = {{"{seed}", "DPAUDIT_SEED", seed},
                                        {"{members}", "DPAUDIT_MEMBERS", f->members},
                                        {"{queries}", "DPAUDIT_QUERIES", f->queries},
                                        {"{out}", "DPAUDIT_OUT", f->out},
                                        {"{slot}", "DPAUDIT_SLOT", dpa__slot_name()},
                                        {"{trial}", "DPAUDIT_TRIAL", trial},
                                        {"{attempt}", "DPAUDIT_ATTEMPT", name}};
    DPA_TRY(leave_cancel(game->state, bindings, f->folder, err));
    return run_bound(game->state, bindings, err);
}

static dpa_status read_values(const dpa_game *game, const trial_files *f, dpa_values *out,
                              dpa_error *err) {
    const uint64_t want = dpa__command_queries(game);
    const char *path =
        access(f->out, F_OK) != 0 && access(f->out_npy, F_OK) == 0 ? f->out_npy : f->out;
    dpa_array array = {0};
    if (access(path, F_OK) != 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "the command ended well but wrote no {out}: expected %" PRIu64 " values",
                         want);
    dpa_status status = dpa__doubles_read(path, NULL, &array, err);
    if (status == DPA_OK && array.count != want)
        status =
            dpa__fail(err, DPA_BAD_INPUT,
                      "the command wrote %zu values to {out}: expected %" PRIu64 ", one per query",
                      array.count, want);
    const double *items = array.data;
    for (uint64_t i = 0; i < want && status == DPA_OK; ++i)
        if (!isfinite(items[i]))
            status = dpa__fail(err, DPA_BAD_INPUT,
                               "value %" PRIu64 " of {out} is %g: expected a finite number", i + 1,
                               items[i]);
    if (status == DPA_OK) memcpy(out->items, items, want * sizeof *items);
    dpa__array_free(&array);
    return status;
}

static dpa_status play(const dpa_game *game, uint64_t index, trial_files *files, dpa_values *out,
                       dpa_error *err) {
    DPA_TRY(write_files(game, index, files, err));
    DPA_TRY(run_trainer(game, index, files, err));
    return read_values(game, files, out, err);
}

dpa_status dpa__command_trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                              dpa_values *out, dpa_error *err) {
    trial_files files;
    char folder[DPA__ATTEMPT_SIZE];
    (void)stage, (void)brief;
    DPA_TRY(dpa__attempt_begin(game->state, index, folder, err));
    files.folder = folder;
    const dpa_status status = play(game, index, &files, out, err);
    dpa__attempt_end(folder, status != DPA_OK);
    return status;
}
