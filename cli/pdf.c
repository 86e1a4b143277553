/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a page as PDF. The page is written to a temporary folder, a headless Chromium (run as a
 * program, not linked) turns it into a PDF there, and the PDF is copied to its place, completely or
 * not at all. The browser gets a fresh profile in the same folder and options that keep it off the
 * network. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stream.h"
#include "output.h"

enum { PATH_SIZE = 4096, NOT_FOUND = 127 };

extern char **environ;

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

/* Runs a program with its output discarded. Returns its exit code; NOT_FOUND if there is no such
 * program. */
static int run_quietly(const char *program, char *const *arguments) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) return NOT_FOUND;
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed) return NOT_FOUND;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return NOT_FOUND;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_browser(const char *program, const char *folder) {
    char profile[PATH_SIZE], pdf[PATH_SIZE], page[PATH_SIZE], name[PATH_SIZE];
    (void)snprintf(name, sizeof name, "%s", program);
    (void)snprintf(profile, sizeof profile, "--user-data-dir=%.2000s/profile", folder);
    (void)snprintf(pdf, sizeof pdf, "--print-to-pdf=%.2000s/page.pdf", folder);
    (void)snprintf(page, sizeof page, "file://%.2000s/page.html", folder);
    /* Chromium refuses its sandbox as root; the page is ours and runs one script */
    char *arguments[] = {name,
                         "--headless",
                         "--disable-gpu",
                         "--no-first-run",
                         "--disable-background-networking",
                         "--disable-component-update",
                         "--disable-sync",
                         "--no-pdf-header-footer",
                         "--virtual-time-budget=20000",
                         profile,
                         pdf,
                         geteuid() == 0 ? "--no-sandbox" : page,
                         geteuid() == 0 ? page : NULL,
                         NULL};
    return run_quietly(program, arguments);
}

/* Runs the first browser that is installed, or the one that DPAUDIT_CHROMIUM names. */
static int run_any_browser(const char *folder) {
    static const char *const programs[] = {"chromium", "chromium-browser", "google-chrome",
                                           "google-chrome-stable"};
    const char *chosen = getenv("DPAUDIT_CHROMIUM");
    if (chosen != NULL && chosen[0] != '\0') return run_browser(chosen, folder);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i) {
        const int code = run_browser(programs[i], folder);
        if (code != NOT_FOUND) return code;
    }
    return NOT_FOUND;
}

static int print_in(const char *folder, const char *page, const char *path) {
    char name[PATH_SIZE], *pdf = NULL;
    dpa_error err;
    size_t size = 0;
    (void)snprintf(name, sizeof name, "%.2000s/page.html", folder);
    const int written = write_file(name, page);
    if (written != 0) return written;
    if (run_any_browser(folder) == NOT_FOUND) {
        (void)fprintf(stderr, "dpaudit report: --pdf needs Chromium, and there is none here: "
                              "install it, or open the page and print it\n");
        return EXIT_FAILURE_RUNNING;
    }
    (void)snprintf(name, sizeof name, "%.2000s/page.pdf", folder);
    if (dpa__file_read(name, DPA__ANY_SIZE, &pdf, &size, NULL) != DPA_OK || size == 0) {
        free(pdf);
        (void)fprintf(stderr, "dpaudit report: Chromium did not print the page\n");
        return EXIT_FAILURE_RUNNING;
    }
    const dpa_status status = dpa__file_write(path, pdf, size, &err);
    free(pdf);
    return status == DPA_OK ? 0 : library_error(&err);
}

int pdf_print(const char *page, const char *path) {
    char folder[PATH_SIZE];
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.1900s/dpaudit-pdf-XXXXXX",
                   parent != NULL && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        (void)fprintf(stderr, "dpaudit report: cannot make a folder %s: %s\n", folder,
                      strerror(errno));
        return EXIT_FAILURE_RUNNING;
    }
    const int code = print_in(folder, page, path);
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return code;
}
