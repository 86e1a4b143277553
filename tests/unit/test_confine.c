/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program of somebody else may use: limits that are only ever lowered, and no network. */
#include "check.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/process.h"

enum { CANNOT = 77, NOBODY = 65534 };

static dpa_error err;

/* The exit code of a process of its own that does this, because a limit cannot be raised again. */
static int apart(int (*what)(void)) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(what());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int has_limit(__rlimit_resource_t which, rlim_t want) {
    struct rlimit limit;
    return getrlimit(which, &limit) == 0 && limit.rlim_cur == want && limit.rlim_max == want;
}

static int lowers(void) {
    const dpa__confine c = {.memory = UINT64_C(1) << 46, .file = 4096};
    if (dpa__confine_self(&c) != 0) return 1;
    if (!has_limit(RLIMIT_FSIZE, 4096)) return 2;
    return has_limit(RLIMIT_AS, (rlim_t)1 << 46) ? 0 : 3;
}

/* A hard limit that is lower already stays; one that is equal or higher is replaced. */
static int keeps(void) {
    const struct rlimit low = {500, 1000};
    const dpa__confine larger = {.file = 4096}, equal = {.file = 1000}, less = {.file = 999};
    if (setrlimit(RLIMIT_FSIZE, &low) != 0) return 1;
    if (dpa__confine_self(&larger) != 0 || !has_limit(RLIMIT_FSIZE, 1000)) return 2;
    if (dpa__confine_self(&equal) != 0 || !has_limit(RLIMIT_FSIZE, 1000)) return 3;
    return dpa__confine_self(&less) == 0 && has_limit(RLIMIT_FSIZE, 999) ? 0 : 4;
}

static int leaves_alone(void) {
    struct rlimit before[2], after[2];
    const dpa__confine c = {0};
    (void)getrlimit(RLIMIT_FSIZE, &before[0]);
    (void)getrlimit(RLIMIT_AS, &before[1]);
    if (dpa__confine_self(&c) != 0) return 1;
    (void)getrlimit(RLIMIT_FSIZE, &after[0]);
    (void)getrlimit(RLIMIT_AS, &after[1]);
    return memcmp(before, after, sizeof before) == 0 ? 0 : 2;
}

static void limits(void **state) {
    (void)state;
    assert_int_equal(apart(lowers), 0);
    assert_int_equal(apart(keeps), 0);
    assert_int_equal(apart(leaves_alone), 0);
}

static void is_set(void **state) {
    (void)state;
    assert_false(dpa__confine_is_set(&(dpa__confine){0}));
    assert_true(dpa__confine_is_set(&(dpa__confine){.memory = 1}));
    assert_true(dpa__confine_is_set(&(dpa__confine){.file = 1}));
    assert_true(dpa__confine_is_set(&(dpa__confine){.no_network = 1}));
}

/* Tried in another process: our own limits stay. */
static void tried(void **state) {
    (void)state;
    struct rlimit before, after;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_ok(dpa__confine_try(&(dpa__confine){0}, &err));
    assert_ok(dpa__confine_try(&(dpa__confine){.file = 4096}, &err));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &after), 0);
    assert_memory_equal(&before, &after, sizeof before);
}

/* The interfaces that this process sees; *flags are those of the loopback. */
static int interfaces(short *flags) {
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        count += strchr(line, ':') != NULL;
    if (file != NULL) (void)fclose(file);
    struct ifreq request = {.ifr_name = "lo"};
    const int handle = socket(AF_INET, SOCK_DGRAM, 0);
    *flags = handle >= 0 && ioctl(handle, SIOCGIFFLAGS, &request) == 0 ? request.ifr_flags : 0;
    if (handle >= 0) (void)close(handle);
    return count;
}

static int has_no_network(void) {
    const dpa__confine c = {.no_network = 1};
    const uid_t user = geteuid();
    const gid_t group = getegid();
    short flags = 0;
    if (dpa__confine_self(&c) != 0) return CANNOT;
    if (interfaces(&flags) != 1) return 1;
    if ((flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING)) return 2;
    return geteuid() == user && getegid() == group ? 0 : 3;
}

/* Dumpable again, as a program that nobody started is: else its files in /proc are root's. */
static int as_nobody(void) {
    return setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static int nobody_has_no_network(void) {
    return as_nobody() ? has_no_network() : CANNOT;
}

static int may(void) {
    return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : 1;
}

static int nobody_may(void) {
    return as_nobody() && unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : 1;
}

/* Where the machine lets us: one loopback that is up, and the same user. */
static void network(void **state) {
    (void)state;
    const dpa__confine c = {.no_network = 1};
    const int can = apart(may) == 0;
    assert_int_equal(apart(has_no_network), can ? 0 : CANNOT);
    assert_int_equal(dpa__confine_try(&c, &err), can ? DPA_OK : DPA_IO);
    if (geteuid() == 0)
        assert_int_equal(apart(nobody_has_no_network), apart(nobody_may) == 0 ? 0 : CANNOT);
}

/* Nobody inside of a changed root may make no namespace at all. */
static int refused(void) {
    const dpa__confine c = {.no_network = 1};
    if (chroot("/tmp") != 0 || chdir("/") != 0 || !as_nobody()) return CANNOT;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) return CANNOT;
    if (dpa__confine_self(&c) != -1 || errno != EPERM) return 1;
    if (dpa__confine_try(&c, &err) != DPA_IO) return 2;
    static const char want[] = "this machine does not let a program be confined (no-network): "
                               "Operation not permitted. Allow it, or";
    return strncmp(err.text, want, strlen(want)) == 0 ? 0 : 3;
}

static void refusal(void **state) {
    (void)state;
    const int code = apart(refused);
    if (code != CANNOT) assert_int_equal(code, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits), cmocka_unit_test(is_set),
                                       cmocka_unit_test(tried), cmocka_unit_test(network),
                                       cmocka_unit_test(refusal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
