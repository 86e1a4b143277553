/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that appear completely or not at all. */
#include "readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/write.h"

static char folder[] = "/tmp/dpaudit_write_XXXXXX";

static const char *in_folder(const char *name) {
    static char path[2][128];
    static int next;
    char *out = path[next++ % 2];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static void assert_content(const char *path, const char *want) {
    char have[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(have, 1, sizeof have - 1, file);
    (void)fclose(file);
    assert_int_equal(size, strlen(want));
    assert_string_equal(have, want);
}

static int count_files(void) {
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += e->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static void new_and_replaced(void **state) {
    (void)state;
    const char *path = in_folder("x");
    struct stat info;
    const mode_t mask = umask(022);
    assert_ok(dpa__file_write(path, "one", 3, NULL));
    assert_content(path, "one");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(dpa__file_write(path, "", 0, NULL));
    assert_content(path, "");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(count_files(), 1);
    (void)umask(mask);
    (void)unlink(path);
}

static void through_a_link(void **state) {
    (void)state;
    const char *target = in_folder("target"), *link_name = in_folder("link");
    struct stat info;
    assert_ok(dpa__file_write(target, "old", 3, NULL));
    assert_int_equal(symlink(target, link_name), 0);
    assert_ok(dpa__file_write(link_name, "new", 3, NULL));
    assert_content(target, "new");
    assert_int_equal(lstat(link_name, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    (void)unlink(link_name);
    (void)unlink(target);
}

static void abandoned(void **state) {
    (void)state;
    const char *path = in_folder("x");
    dpa__writer *w;
    dpa_error err;
    assert_ok(dpa__file_write(path, "old", 3, NULL));
    assert_ok(dpa__writer_open(path, &w, &err));
    char *much = calloc(1, 200000);
    assert_non_null(much);
    assert_ok(dpa__writer_add(w, much, 200000, &err));
    free(much);
    assert_content(path, "old");
    assert_in_range(count_files(), 1, 2); /* no name yet, if the file system supports that */
    dpa__writer_abandon(w);
    dpa__writer_abandon(NULL);
    assert_content(path, "old");
    assert_int_equal(count_files(), 1);
    (void)unlink(path);
}

/* A process that dies in the middle leaves the old file and, where files without a name are
 * possible, nothing else. */
static void killed(void **state) {
    (void)state;
    const char *path = in_folder("x");
    dpa__writer *w;
    assert_ok(dpa__file_write(path, "old", 3, NULL));
    const int nameless = open(in_folder("."), O_WRONLY | O_TMPFILE, 0600);
    const pid_t child = fork();
    if (child == 0) {
        char much[200000] = {0};
        if (dpa__writer_open(in_folder("x"), &w, NULL) == DPA_OK &&
            dpa__writer_add(w, much, sizeof much, NULL) == DPA_OK)
            (void)raise(SIGKILL);
        _exit(1);
    }
    int code = 0;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFSIGNALED(code));
    assert_content(in_folder("x"), "old");
    assert_int_equal(count_files(), nameless >= 0 ? 1 : 2);
    if (nameless >= 0) (void)close(nameless);
    (void)unlink(in_folder("x"));
}

static void pieces(void **state) {
    (void)state;
    const char *path = in_folder("x");
    dpa__writer *w;
    dpa_error err;
    struct stat info;
    size_t total = 0;
    char block[1000] = {0};
    assert_ok(dpa__writer_open(path, &w, &err));
    for (size_t i = 0; i < 1000; ++i) {
        assert_ok(dpa__writer_add(w, block, i, &err));
        total += i;
    }
    assert_ok(dpa__writer_commit(w, &err));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, total);
    (void)unlink(path);
}

static void failures(void **state) {
    (void)state;
    dpa_error err;
    assert_int_equal(dpa__file_write("/nonexistent/x", "a", 1, &err), DPA_IO);
    assert_string_equal(err.place, "/nonexistent/x");
    assert_string_equal(err.text, "cannot create: No such file or directory");
    assert_int_equal(dpa__file_write(folder, "a", 1, &err), DPA_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(dpa__file_write("/dev/full", "a", 1, &err), DPA_IO);
    assert_non_null(strstr(err.text, "No space left"));
    char *much = calloc(1, 200000);
    assert_non_null(much);
    assert_int_equal(dpa__file_write("/dev/full", much, 200000, &err), DPA_IO);
    free(much);
    /* devices are written to, not replaced */
    struct stat info;
    assert_ok(dpa__file_write("/dev/null", "a", 1, &err));
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(count_files(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_and_replaced), cmocka_unit_test(through_a_link),
        cmocka_unit_test(abandoned),        cmocka_unit_test(killed),
        cmocka_unit_test(pieces),           cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
