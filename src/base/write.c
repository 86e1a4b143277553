/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Write, fsync, rename, fsync the folder: after commit the file survives a power cut, and before it
 * the old file is untouched. If the file system allows it, the new file has no name until then, so
 * a killed process leaves nothing behind. Links are followed, so that the file is replaced and not
 * the link; a replaced file keeps its permissions. */
#include "base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { BUFFER_SIZE = 1 << 16, NAME_TRIES = 100 };

struct dpa__writer {
    char *path;      /* the final name, links followed */
    char *temporary; /* a name beside the final one; NULL: written directly, or not named yet */
    int fd;
    int nameless;
    size_t used;
    unsigned char buffer[BUFFER_SIZE];
};

static dpa_status fail_errno(const dpa__writer *w, const char *doing, dpa_error *err) {
    return dpa__fail_file(err, DPA_IO, w->path, "cannot %s: %s", doing, strerror(errno));
}

void dpa__writer_abandon(dpa__writer *w) {
    if (w == NULL) return;
    if (w->fd >= 0) (void)close(w->fd);
    if (w->temporary != NULL) (void)unlink(w->temporary);
    free(w->temporary);
    free(w->path);
    free(w);
}

/* Gives the file of `fd` an unused name beside the final one; fd -1: creates a file with that name
 * and the permissions of any new file (mkstemp would make it private). */
static dpa_status name_temporary(dpa__writer *w, dpa_error *err) {
    const size_t size = strlen(w->path) + 64;
    char open_file[64];
    struct timespec now;
    int named = -1;
    w->temporary = dpa__malloc(size, 1, err);
    if (w->temporary == NULL) return DPA_NO_MEMORY;
    (void)snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", w->fd);
    for (int i = 0; i < NAME_TRIES; ++i) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(w->temporary, size, "%s.%ld.%09ld.tmp", w->path, (long)getpid(),
                       now.tv_nsec);
        if (w->nameless)
            named = linkat(AT_FDCWD, open_file, AT_FDCWD, w->temporary, AT_SYMLINK_FOLLOW);
        else
            named = w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (named >= 0 || errno != EEXIST) break;
    }
    if (named >= 0) return DPA_OK;
    free(w->temporary);
    w->temporary = NULL; /* a file of that name is not ours to remove */
    return fail_errno(w, "create", err);
}

static dpa_status open_temporary(dpa__writer *w, dpa_error *err) {
    char folder[PATH_MAX];
    if (dpa__folder_of(w->path, folder, sizeof folder) && access("/proc/self/fd", X_OK) == 0)
        w->fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    w->nameless = w->fd >= 0;
    return w->nameless ? DPA_OK : name_temporary(w, err);
}

static dpa_status open_target(dpa__writer *w, dpa_error *err) {
    struct stat info;
    const int exists = stat(w->path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
        return w->fd < 0 ? fail_errno(w, "write", err) : DPA_OK;
    }
    DPA_TRY(open_temporary(w, err));
    if (exists && fchmod(w->fd, info.st_mode & 07777) != 0)
        return fail_errno(w, "set the permissions", err);
    return DPA_OK;
}

dpa_status dpa__writer_open(const char *path, dpa__writer **out, dpa_error *err) {
    char resolved[PATH_MAX];
    *out = NULL;
    dpa__writer *w = DPA_NEW(dpa__writer, err);
    if (w == NULL) return DPA_NO_MEMORY;
    w->fd = -1;
    w->path = dpa__strdup(realpath(path, resolved) != NULL ? resolved : path, err);
    const dpa_status status = w->path == NULL ? DPA_NO_MEMORY : open_target(w, err);
    if (status != DPA_OK)
        dpa__writer_abandon(w);
    else
        *out = w;
    return status;
}

static dpa_status write_all(dpa__writer *w, const unsigned char *p, size_t count, dpa_error *err) {
    while (count > 0) {
        const ssize_t done = write(w->fd, p, count < SSIZE_MAX ? count : SSIZE_MAX);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_errno(w, "write", err);
        p += done;
        count -= (size_t)done;
    }
    return DPA_OK;
}

static dpa_status flush(dpa__writer *w, dpa_error *err) {
    const size_t used = w->used;
    w->used = 0;
    return write_all(w, w->buffer, used, err);
}

dpa_status dpa__writer_add(dpa__writer *w, const void *bytes, size_t count, dpa_error *err) {
    if (count > BUFFER_SIZE - w->used) DPA_TRY(flush(w, err));
    if (count > BUFFER_SIZE) return write_all(w, bytes, count, err);
    if (count > 0) memcpy(w->buffer + w->used, bytes, count);
    w->used += count;
    return DPA_OK;
}

/* Makes sure that the rename reaches the disk. Some file systems cannot sync a folder; that is
 * ignored. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    if (!dpa__folder_of(path, folder, sizeof folder)) return;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    (void)close(fd);
}

static dpa_status finish(dpa__writer *w, dpa_error *err) {
    DPA_TRY(flush(w, err));
    if ((w->temporary != NULL || w->nameless) && fsync(w->fd) != 0)
        return fail_errno(w, "write", err);
    if (w->nameless) DPA_TRY(name_temporary(w, err));
    const int closed = close(w->fd);
    w->fd = -1;
    if (closed != 0) return fail_errno(w, "write", err);
    if (w->temporary == NULL) return DPA_OK;
    if (rename(w->temporary, w->path) != 0) return fail_errno(w, "replace", err);
    free(w->temporary);
    w->temporary = NULL;
    sync_folder(w->path);
    return DPA_OK;
}

dpa_status dpa__writer_commit(dpa__writer *w, dpa_error *err) {
    const dpa_status status = finish(w, err);
    dpa__writer_abandon(w);
    return status;
}

dpa_status dpa__file_write(const char *path, const void *bytes, size_t count, dpa_error *err) {
    dpa__writer *w;
    DPA_TRY(dpa__writer_open(path, &w, err));
    const dpa_status status = dpa__writer_add(w, bytes, count, err);
    if (status == DPA_OK) return dpa__writer_commit(w, err);
    dpa__writer_abandon(w);
    return status;
}

int dpa__folder_of(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length >= size) return 0;
    (void)snprintf(out, size, "%.*s", length > 0 ? (int)length : 1, length > 0 ? path : ".");
    return 1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

void dpa__folder_remove(const char *folder) {
    enum { DESCRIPTORS = 8 };
    (void)nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
