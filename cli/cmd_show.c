/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit show: what a store holds, down to one trial. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output.h"
#include "trials.h"

typedef struct show_options {
    game_options game;
    int trials, failures;
    const char *trial_text;
} show_options;

static const option table[] = {
    HEADING("What is wanted (default: one line per stage)"),
    {"trials", OPTION_FLAG, NULL, "one line per finished trial", offsetof(show_options, trials)},
    {"failures", OPTION_FLAG, NULL, "every failed attempt, with what it wrote to standard error",
     offsetof(show_options, failures)},
    {"trial", OPTION_TEXT, "N", "all numbers of trial N, and what it wrote to standard error",
     offsetof(show_options, trial_text)},
    HEADING("Which store"),
    GAME_OPTIONS(show_options),
    STORE_OPTION(show_options),
    END_OPTIONS,
};

static void init(void *options) {
    (void)options;
}

static int run(void *options, const word_list *words);

const command command_show = {
    .name = "show",
    .summary = "what a store of trials holds: stages, trials, failures",
    .operands = "AUDIT.yaml | STORE.db",
    .about = "A store may hold the trials of several experiments: each stage of each game is named "
             "by a key, the digest of all that decides its numbers. Trials whose checksum does not "
             "fit are marked; dpaudit run plays them again.",
    .examples = "dpaudit show command/count.yaml\n"
                "dpaudit show command/count.yaml --trial 7",
    .options = table,
    .size = sizeof(show_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
};

/* What a program wrote, line by line behind a bar; no control characters for the terminal. */
static void print_said(const char *said) {
    if (said == NULL) return;
    for (const char *line = said; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        (void)fputs("    | ", stdout);
        for (size_t i = 0; i < length; ++i)
            (void)putchar((unsigned char)line[i] < ' ' && line[i] != '\t' ? '?' : line[i]);
        (void)putchar('\n');
        line += length + (line[length] == '\n');
    }
}

static int show_failure(void *user, const dpa_store_entry *e) {
    char when[32] = "";
    const time_t seconds = (time_t)e->time;
    struct tm local;
    (void)user;
    if (localtime_r(&seconds, &local) != NULL)
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    (void)printf("%s  stage %d trial %" PRIu64 ": %s\n", when, e->stage + 1, e->index, e->reason);
    print_said(e->said);
    return 0;
}

static int show_trial(void *user, const dpa_store_entry *e) {
    (void)user;
    (void)printf("%5d %8" PRIu64 " %10.4g %8zu", e->stage + 1, e->index, e->seconds,
                 e->values.count);
    if (e->damaged)
        (void)fputs("  damaged", stdout);
    else if (e->values.count > 0)
        (void)printf("  %.6g%s", e->values.items[0], e->values.count > 1 ? " ..." : "");
    (void)putchar('\n');
    return 0;
}

typedef struct search {
    uint64_t index, found;
} search;

static int show_one(void *user, const dpa_store_entry *e) {
    search *s = user;
    if (e->index != s->index) return 0;
    ++s->found;
    (void)printf("stage %d trial %" PRIu64 ": %zu number%s in %.4g s%s\n", e->stage + 1, e->index,
                 e->values.count, e->values.count == 1 ? "" : "s", e->seconds,
                 e->damaged ? ", damaged" : "");
    for (size_t i = 0; i < e->values.count; ++i) (void)printf("%.17g\n", e->values.items[i]);
    print_said(e->said);
    return 0;
}

static dpa_status show_stages(dpa_store *store, dpa_error *err) {
    dpa_store_stages stages;
    const dpa_status status = dpa_store_list(store, &stages, err);
    if (status != DPA_OK) return status;
    (void)printf("%-12s %5s %8s %8s %8s %10s  %s\n", "key", "stage", "planned", "stored", "failed",
                 "s/trial", "experiment");
    for (size_t i = 0; i < stages.count; ++i) {
        const dpa_store_stage *s = &stages.items[i];
        (void)printf("%.12s %5d %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10.4g  %s\n", s->key,
                     s->number + 1, s->planned, s->stored, s->failures,
                     s->stored > 0 ? s->seconds : 0.0, s->experiment);
    }
    dpa_store_stages_free(&stages);
    return DPA_OK;
}

static dpa_status show(const show_options *o, search *one, dpa_store *store, dpa_error *err) {
    dpa_status status = DPA_OK;
    if (o->trial_text != NULL) status = dpa_store_trials(store, NULL, show_one, one, err);
    if (status == DPA_OK && o->trials) {
        (void)printf("%5s %8s %10s %8s  %s\n", "stage", "trial", "seconds", "numbers", "first");
        status = dpa_store_trials(store, NULL, show_trial, NULL, err);
    }
    if (status == DPA_OK && o->failures)
        status = dpa_store_failures(store, NULL, show_failure, NULL, err);
    if (status == DPA_OK && o->trial_text == NULL && !o->trials && !o->failures)
        status = show_stages(store, err);
    return status;
}

static int run(void *options, const word_list *words) {
    const show_options *o = options;
    dpa_experiment *experiment = NULL;
    dpa_store *store = NULL;
    dpa_error err = {0};
    char *path = NULL;
    search one = {0, 0};
    if (o->trial_text != NULL && !parse_count(o->trial_text, &one.index))
        return usage_error(&command_show, "--trial: '%s' is not a whole number", o->trial_text);
    int code = store_of(&command_show, words->items[0], &o->game, &experiment, &path);
    if (code == 0) {
        dpa_status status = dpa_store_open(path, DPA_STORE_READ, &store, &err);
        if (status == DPA_OK) status = show(o, &one, store, &err);
        if (status != DPA_OK) code = library_error("show", &err);
    }
    if (code == 0 && o->trial_text != NULL && one.found == 0) {
        (void)fprintf(stderr, "dpaudit show: %s: trial %s is not there\n", path, o->trial_text);
        code = EXIT_INPUT;
    }
    dpa_store_close(store);
    free(path);
    dpa_experiment_free(experiment);
    return code;
}
