/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit example: copies files to try the commands with from the installation, and prints the
 * command to try next. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stream.h"
#include "help.h"
#include "output.h"
#include "trials.h"

enum { PATH_SIZE = 4096, MOST_FILES = 6 };

typedef struct example {
    const char *name, *about;
    const char *files[MOST_FILES]; /* relative to examples/; folders are copied whole */
    const char *next;
} example;

static const example table[] = {
    {"scores",
     "attack scores of 500 runs with a record and 500 without",
     {"members.npy", "nonmembers.npy"},
     "dpaudit scores members.npy nonmembers.npy --claim-epsilon 1.27 --report report.html"},
    {"one-run",
     "one training, each canary in or out by a coin",
     {"one-run.csv"},
     "dpaudit one-run one-run.csv --claim-epsilon 1"},
    {"losses",
     "one released model: losses of training and held-out points",
     {"losses.csv"},
     "dpaudit losses losses.csv"},
    {"shadow",
     "losses of shadow models, and who was in which",
     {"signals.npy", "membership.npy"},
     "dpaudit attack lira --signals signals.npy --members membership.npy"},
    {"training",
     "a DP-SGD trainer with a bug, every step seen",
     {"run-white-box-broken.yaml", "run-white-box.yaml", "run-mlp.yaml", "train-toy.csv"},
     "dpaudit run run-white-box-broken.yaml --report report.html"},
    {"federated",
     "a federated training with 300 canary clients",
     {"run-federated.yaml", "run-federated-broken.yaml", "federated-client.yaml", "train-toy.csv"},
     "dpaudit run run-federated.yaml"},
    {"command",
     "your own trainer: as a shell script, in C, in Python",
     {"command"},
     "dpaudit run command/count.yaml"},
    {"ci",
     "an audit that fails a build: a script, GitHub, GitLab, make, pytest",
     {"ci", "members.npy", "nonmembers.npy"},
     "sh ci/audit.sh members.npy nonmembers.npy 1.27"},
    {"landscape",
     "privacy and utility of many models",
     {"landscape.csv"},
     "dpaudit landscape landscape.csv"},
    {"python", "scripts and a notebook for the Python package", {"python"}, "cat python/README.md"},
};

enum { EXAMPLES = (int)(sizeof table / sizeof table[0]) };

typedef struct example_options {
    const char *to;
} example_options;

static const option options_table[] = {
    {"to", OPTION_TEXT, "DIR", "the folder to write to, made if needed (default: this one)",
     offsetof(example_options, to)},
    END_OPTIONS,
};

static void init(void *options) {
    ((example_options *)options)->to = ".";
}

static int failed(const char *path, const char *what) {
    (void)fprintf(stderr, "dpaudit example: %s: %s: %s\n", path, what, strerror(errno));
    return EXIT_FAILURE_RUNNING;
}

/* PREFIX/bin/dpaudit has its examples in PREFIX/share/dpaudit/examples. */
static int source_folder(char *out, size_t size) {
    char program[PATH_SIZE];
    own_program(program, sizeof program);
    for (int up = 0; up < 2; ++up) {
        char *slash = strrchr(program, '/');
        if (slash != NULL) *slash = '\0';
    }
    const int length = snprintf(out, size, "%s/share/dpaudit/examples", program);
    if (length > 0 && (size_t)length < size && access(out, R_OK) == 0) return 0;
    (void)fprintf(stderr,
                  "dpaudit example: the examples are not beside the program (%s): install dpaudit "
                  "again, or take them from the folder examples/ of its source\n",
                  out);
    return EXIT_FAILURE_RUNNING;
}

/* Returns 1 if the file exists with these bytes, -1 if with others, 0 if it does not exist. */
static int is_there(const char *path, const char *bytes, size_t count) {
    char *found = NULL;
    size_t found_count = 0;
    if (access(path, F_OK) != 0) return 0;
    if (dpa__file_read(path, DPA__ANY_SIZE, &found, &found_count, NULL) != DPA_OK) return -1;
    const int same = found_count == count && memcmp(found, bytes, count) == 0;
    free(found);
    return same ? 1 : -1;
}

static int copy_file(const char *from, const char *to, mode_t mode) {
    char *bytes = NULL;
    size_t count = 0;
    dpa_error err;
    int code = 0;
    if (dpa__file_read(from, DPA__ANY_SIZE, &bytes, &count, &err) != DPA_OK)
        return library_error(&err);
    const int there = is_there(to, bytes, count);
    if (there < 0) {
        (void)fprintf(stderr,
                      "dpaudit example: %s is there already, with other contents; choose another "
                      "folder: --to DIR\n",
                      to);
        code = EXIT_INPUT;
    } else if (there == 0) {
        if (dpa__file_write(to, bytes, count, &err) != DPA_OK) code = library_error(&err);
        if (code == 0 && (mode & S_IXUSR) != 0 && chmod(to, 0755) != 0)
            code = failed(to, "cannot be made executable");
        if (code == 0) (void)printf("wrote %s\n", to);
    }
    free(bytes);
    return code;
}

static int copy(const char *from, const char *to);

static int make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : failed(path, "cannot be made");
}

static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "__pycache__") != 0;
}

static int copy_folder(const char *from, const char *to) {
    struct dirent **entries = NULL;
    int code = make_folder(to);
    const int count = code == 0 ? scandir(from, &entries, is_shown, alphasort) : 0;
    if (count < 0) code = failed(from, "cannot be read");
    for (int i = 0; i < count; ++i) {
        char source[PATH_SIZE], target[PATH_SIZE];
        (void)snprintf(source, sizeof source, "%s/%s", from, entries[i]->d_name);
        (void)snprintf(target, sizeof target, "%s/%s", to, entries[i]->d_name);
        if (code == 0) code = copy(source, target);
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int copy(const char *from, const char *to) {
    struct stat facts;
    if (stat(from, &facts) != 0) return failed(from, "cannot be read");
    return S_ISDIR(facts.st_mode) ? copy_folder(from, to) : copy_file(from, to, facts.st_mode);
}

static int list(void) {
    for (size_t i = 0; i < EXAMPLES; ++i) (void)printf("%-10s %s\n", table[i].name, table[i].about);
    (void)puts("\ndpaudit example NAME --to DIR writes the files of one and says what to do next.");
    return 0;
}

static int write_example(const example *chosen, const char *to) {
    char folder[PATH_SIZE], source[2 * PATH_SIZE], target[2 * PATH_SIZE];
    int code = source_folder(folder, sizeof folder);
    if (code == 0) code = make_folder(to);
    for (size_t i = 0; code == 0 && i < MOST_FILES && chosen->files[i] != NULL; ++i) {
        (void)snprintf(source, sizeof source, "%s/%s", folder, chosen->files[i]);
        if (strcmp(to, ".") == 0)
            (void)snprintf(target, sizeof target, "%s", chosen->files[i]);
        else
            (void)snprintf(target, sizeof target, "%s/%s", to, chosen->files[i]);
        code = copy(source, target);
    }
    if (code != 0) return code;
    (void)fputs("Next:\n", stdout);
    if (strcmp(to, ".") != 0) (void)printf("  cd %s\n", to);
    help_examples(stdout, chosen->next, 80);
    return 0;
}

static int run(void *options, const word_list *words) {
    const example_options *o = options;
    if (words->count == 0) return list();
    for (size_t i = 0; i < EXAMPLES; ++i)
        if (strcmp(table[i].name, words->items[0]) == 0) return write_example(&table[i], o->to);
    return usage_error("there is no example '%s'; dpaudit example lists all of them",
                       words->items[0]);
}

const command command_example = {
    .name = "example",
    .summary = "write files to try dpaudit with, and say what to do with them",
    .operands = "[NAME]",
    .about = "Without a name: lists the examples. With one: writes its files and prints the "
             "command that uses them. A file that is there already with other contents is never "
             "overwritten.",
    .examples = "dpaudit example\n"
                "dpaudit example scores --to first-audit",
    .options = options_table,
    .size = sizeof(example_options),
    .words = {0, 1},
    .init = init,
    .run = run,
};
