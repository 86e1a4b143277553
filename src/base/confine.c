/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Confines a process by resource limits and, on Linux, by a network namespace of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#endif

#include "base/error.h"
#include "base/process.h"

/* Lowers a limit; one that is lower already stays. */
static int lower(int which, uint64_t most) {
    struct rlimit limit;
    if (most == 0) return 0;
    if (getrlimit((__rlimit_resource_t)which, &limit) != 0) return -1;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < most) most = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = (rlim_t)most;
    return setrlimit((__rlimit_resource_t)which, &limit);
}

#ifdef __linux__
static int put(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t written = write(file, text, strlen(text));
    const int why = errno;
    (void)close(file);
    errno = why;
    return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* Within its user namespace the process keeps its user and group, so that files stay its own. */
static int keep_user(unsigned user, unsigned group) {
    char text[64];
    (void)snprintf(text, sizeof text, "%u %u 1", user, user);
    if (put("/proc/self/uid_map", text) != 0 || put("/proc/self/setgroups", "deny") != 0) return -1;
    (void)snprintf(text, sizeof text, "%u %u 1", group, group);
    return put("/proc/self/gid_map", text);
}

/* Loopback of the new namespace; trainers with several processes talk over it. */
static int raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) return errno == EAFNOSUPPORT ? 0 : -1;
    const int done = ioctl(handle, SIOCSIFFLAGS, &request);
    (void)close(handle);
    return done;
}

/* Who may not make a network namespace may make one inside of a user namespace. */
static int leave_network(void) {
    const unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWNET) == 0) return raise_loopback();
    if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return -1;
    return keep_user(user, group) == 0 ? raise_loopback() : -1;
}
#else
static int leave_network(void) {
    errno = ENOSYS;
    return -1;
}
#endif

int dpa__confine_is_set(const dpa__confine *c) {
    return c->memory > 0 || c->file > 0 || c->no_network;
}

int dpa__confine_self(const dpa__confine *c) {
    if (c->no_network && leave_network() != 0) return -1;
    if (lower(RLIMIT_FSIZE, c->file) != 0) return -1;
    return lower(RLIMIT_AS, c->memory);
}

dpa_status dpa__confine_try(const dpa__confine *c, dpa_error *err) {
    if (!dpa__confine_is_set(c)) return DPA_OK;
    const pid_t child = fork();
    if (child == 0) _exit(dpa__confine_self(c) == 0 ? 0 : errno);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return DPA_OK;
    const int why = child < 0 ? errno : WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
    return dpa__fail(err, DPA_IO,
                     "this machine does not let a program be confined (%s): %s. Allow it, or leave "
                     "that key out and confine the whole run (a container, systemd-run)",
                     c->no_network ? "no-network" : "memory-mb, file-mb", strerror(why));
}
