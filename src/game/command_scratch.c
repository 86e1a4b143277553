/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each attempt of a trial gets a folder of its own, so that a late writer (a child that outlived
 * its trainer) writes into a folder that is gone and never into the files of another trial.
 *
 * SCRATCH/SLOT/dpa-TRIAL-xxxxxx holds the files of one attempt, and `cancel`: the words of the
 * command that ends what the attempt may have started on other machines. Whoever finds such a
 * folder without a running attempt (the worker after a failure, the run after it killed a worker,
 * the next run after a power cut) runs that command and removes the folder. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"
#include "game/command.h"

enum { CANCEL_MOST = 1 << 16, CANCEL_WORDS = 1024 };

static const char cancel_name[] = "cancel";
static const double cancel_limit = 30.0; /* seconds */

static dpa_status need_slot(dpa__external *x, const char *slot, dpa_error *err) {
    const char *place = getenv("DPAUDIT_SCRATCH"), *temporary = getenv("TMPDIR");
    if (x->scratch[0] == '\0') {
        const int n = place != NULL ? snprintf(x->scratch, sizeof x->scratch, "%s/%s", place, slot)
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

dpa_status dpa__attempt_begin(dpa__external *x, const char *slot, uint64_t index,
                              char folder[DPA__ATTEMPT_SIZE], dpa_error *err) {
    DPA_TRY(need_slot(x, slot, err));
    (void)snprintf(folder, DPA__ATTEMPT_SIZE, "%s/dpa-%" PRIu64 "-XXXXXX", x->scratch, index);
    if (mkdtemp(folder) != NULL) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, folder, "cannot make a folder for the files of a trial: %s",
                          strerror(errno));
}

static void path_in(const char *folder, const char *name, char path[PATH_MAX]) {
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) path[0] = '\0';
}

dpa_status dpa__attempt_leave_cancel(const char *attempt, const char *folder, char *const *words,
                                     dpa_error *err) {
    char path[PATH_MAX];
    path_in(attempt, cancel_name, path);
    FILE *file = fopen(path, "we");
    if (file == NULL) return dpa__fail_file(err, DPA_IO, path, "cannot write: %s", strerror(errno));
    int bad = fwrite(folder, strlen(folder) + 1, 1, file) != 1;
    for (size_t i = 0; words[i] != NULL; ++i)
        bad |= fwrite(words[i], strlen(words[i]) + 1, 1, file) != 1;
    bad |= fclose(file) != 0;
    return bad ? dpa__fail_file(err, DPA_IO, path, "cannot write: %s", strerror(errno)) : DPA_OK;
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
