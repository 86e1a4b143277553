/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One writer per store: a lock on STORE.lock that the kernel drops when its holder dies, however it
 * dies. It is a file of its own because closing any descriptor of the store itself would drop
 * SQLite's locks. The file is removed by its holder; who locked a file that is no longer the one
 * under that name tries again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/store.h"

enum { LOCK_TRIES = 100, HOLDER_SIZE = 96 };

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

/* "process 812 on hydra": written for whoever comes second. */
static void sign(int fd) {
    char host[64] = "", text[HOLDER_SIZE];
    (void)gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "process %ld on %s", (long)getpid(), host);
    if (n > 0 && ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) != n) errno = 0;
}

static dpa_status refuse(int fd, const char *path, dpa_error *err) {
    char holder[HOLDER_SIZE] = "";
    if (pread(fd, holder, sizeof holder - 1, 0) <= 0)
        (void)snprintf(holder, sizeof holder, "another process");
    return dpa__fail_file(err, DPA_IO, path,
                          "%s is running on this store: wait for it (dpaudit status), stop it, or "
                          "use another store",
                          holder);
}

static dpa_status take(const char *path, const char *name, int *out, dpa_error *err) {
    for (int i = 0; i < LOCK_TRIES; ++i) {
        const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return dpa__fail_file(err, DPA_IO, path,
                                  "cannot write here: %s; is there another place for the store?",
                                  strerror(errno));
        if (set_lock(fd, F_OFD_SETLK) != 0) {
            const int held = errno == EAGAIN || errno == EACCES;
            const dpa_status status =
                held ? refuse(fd, path, err)
                     : dpa__fail_file(err, DPA_IO, path,
                                      "cannot lock (%s): this file system cannot keep two runs "
                                      "apart; put the store elsewhere (--store)",
                                      strerror(errno));
            (void)close(fd);
            return status;
        }
        if (is_current(fd, name)) {
            sign(fd);
            *out = fd;
            return DPA_OK;
        }
        (void)close(fd);
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
