/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One writer per store: a lock on STORE.lock that the kernel drops when its holder dies, for
 * whatever reason. It is a separate file because closing any descriptor of the store itself would
 * drop SQLite's locks. The holder removes the file; whoever has locked a file that is no longer the
 * one under that name tries again.
 *
 * Some file systems do not share locks between machines (NFS mounted with nolock, most of FUSE):
 * two machines then get one each. So a file that is signed but was not removed is checked again: if
 * the run that signed it may be alive and its notes for `dpaudit status` still change, it is
 * running. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "run/store.h"

enum { LOCK_TRIES = 100, HOLDER_SIZE = 96 };

static const double notes_patience = 3.0; /* seconds; a run updates its notes twice a second */

static char *lock_path(const char *path, dpa_error *err) {
    const size_t size = strlen(path) + sizeof ".lock";
    char *name = dpa__malloc(size, 1, err);
    if (name != NULL) (void)snprintf(name, size, "%s.lock", path);
    return name;
}

static int set_lock(int fd, int command) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, command, &lock) != 0) return -1;
    return command == F_OFD_GETLK && lock.l_type != F_UNLCK;
}

static int is_current(int fd, const char *name) {
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(name, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

/* "process 812 on hydra": tells later comers who holds the lock. */
static const char before_process[] = "process ", before_host[] = " on ";

static void sign(int fd) {
    char host[64] = "", text[HOLDER_SIZE];
    (void)gethostname(host, sizeof host - 1);
    const int n =
        snprintf(text, sizeof text, "%s%ld%s%s", before_process, (long)getpid(), before_host, host);
    if (n > 0 && ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) != n) errno = 0;
}

/* Reads who signed the lock file; 0: nobody did. */
static int read_holder(int fd, char holder[HOLDER_SIZE]) {
    const ssize_t n = pread(fd, holder, HOLDER_SIZE - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static dpa_status refuse(int fd, const char *path, const char *unseen, dpa_error *err) {
    char holder[HOLDER_SIZE];
    if (!read_holder(fd, holder)) (void)snprintf(holder, sizeof holder, "another process");
    return dpa__fail_file(err, DPA_IO, path,
                          "%s is running on this store%s: wait for it (dpaudit status), stop it, "
                          "or use another store",
                          holder, unseen);
}

static int may_be_alive(const char *holder) {
    char own[64] = "", *end;
    (void)gethostname(own, sizeof own - 1);
    if (strncmp(holder, before_process, sizeof before_process - 1) != 0) return 1;
    const long process = strtol(holder + sizeof before_process - 1, &end, 10);
    if (process <= 0 || strncmp(end, before_host, sizeof before_host - 1) != 0) return 1;
    return strcmp(end + sizeof before_host - 1, own) != 0 || kill((pid_t)process, 0) == 0 ||
           errno != ESRCH;
}

/* Identifies the notes. Opens the file, because a network file system may cache what it knew about
 * a name. */
static struct timespec notes_of(const char *store, ino_t *number) {
    char name[PATH_MAX];
    struct stat info = {0};
    const int n = snprintf(name, sizeof name, "%s.status.json", store);
    const int fd = n < (int)sizeof name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (fstat(fd, &info) != 0) info = (struct stat){0};
        (void)close(fd);
    }
    *number = info.st_ino;
    return info.st_mtim;
}

static int notes_change(const char *store) {
    const double start = dpa__clock();
    ino_t first, now;
    const struct timespec before = notes_of(store, &first);
    while (dpa__clock() - start < notes_patience) {
        dpa__sleep(0.1);
        const struct timespec after = notes_of(store, &now);
        if (now != first || after.tv_sec != before.tv_sec || after.tv_nsec != before.tv_nsec)
            return 1;
    }
    return 0;
}

/* We have the lock; checks whether another machine is running all the same. */
static int is_running_unseen(int fd, const char *store) {
    char holder[HOLDER_SIZE];
    return read_holder(fd, holder) && may_be_alive(holder) && notes_change(store);
}

static dpa_status take(const char *path, const char *name, int *out, dpa_error *err) {
    for (int i = 0; i < LOCK_TRIES; ++i) {
        const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return dpa__fail_file(err, DPA_IO, path,
                                  "cannot write here: %s; is there another place for the store?",
                                  strerror(errno));
        const int is_ours = set_lock(fd, F_OFD_SETLK) == 0;
        dpa_status status = DPA_OK;
        if (!is_ours)
            status = errno == EAGAIN || errno == EACCES
                         ? refuse(fd, path, "", err)
                         : dpa__fail_file(err, DPA_IO, path,
                                          "cannot lock (%s): this file system cannot keep two runs "
                                          "apart; put the store elsewhere (--store)",
                                          strerror(errno));
        const int is_name = is_ours && is_current(fd, name);
        if (is_name && is_running_unseen(fd, path))
            status = refuse(fd, path, ", and this file system does not show its lock", err);
        if (is_name && status == DPA_OK) {
            sign(fd);
            *out = fd;
            return DPA_OK;
        }
        (void)close(fd);
        DPA_TRY(status);
    }
    return dpa__fail_file(err, DPA_IO, path, "cannot lock: others come and go too fast");
}

dpa_status dpa__store_lock(const char *path, int *out, dpa_error *err) {
    *out = -1;
    char *name = lock_path(path, err);
    if (name == NULL) return DPA_NO_MEMORY;
    const dpa_status status = take(path, name, out, err);
    free(name);
    return status;
}

void dpa__store_unlock(const char *path, int lock) {
    if (lock < 0) return;
    char *name = lock_path(path, NULL);
    if (name != NULL) (void)unlink(name);
    free(name);
    (void)close(lock);
}

int dpa__store_is_locked(const char *path) {
    char *name = lock_path(path, NULL);
    const int fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1; /* asking needs no more */
    free(name);
    if (fd < 0) return 0;
    const int held = set_lock(fd, F_OFD_GETLK) == 1;
    (void)close(fd);
    return held;
}
