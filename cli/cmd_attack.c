/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit attack: signals of shadow models to scores of a target. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

typedef struct attack_options {
    const char *signals, *members, *population, *kind, *variance, *out;
    uint64_t target;
    word_list exclude;
    int offline;
    double a, gamma;
} attack_options;

static const option table[] = {
    HEADING("The models"),
    {"signals", OPTION_FILE, "FILE.npy", "matrix models x points (required)",
     offsetof(attack_options, signals)},
    {"members", OPTION_FILE, "FILE.npy", "membership, 0 or 1, of the same shape (required)",
     offsetof(attack_options, members)},
    {"kind", OPTION_CHOICE, "logit|loss",
     "what a signal is: log(p/(1-p)) of the true label, or its loss (default logit)",
     offsetof(attack_options, kind)},
    {"target", OPTION_COUNT, "ROW", "the model under attack (default 0)",
     offsetof(attack_options, target)},
    {"exclude", OPTION_LIST, "ROW", "a model that serves as no shadow; may be repeated",
     offsetof(attack_options, exclude)},
    HEADING("The attack"),
    {"offline", OPTION_FLAG, NULL, "use only models that were not trained on the point",
     offsetof(attack_options, offline)},
    {"variance", OPTION_CHOICE, "auto|point|pooled",
     "lira: each point's own variance or one for all (default auto: own from 64 models on)",
     offsetof(attack_options, variance)},
    {"population", OPTION_FILE, "FILE.npy", "rmia: signals of points that no model was trained on",
     offsetof(attack_options, population)},
    {"a", OPTION_NUMBER, "A", "rmia, offline: weight of the models without the point (default 0.3)",
     offsetof(attack_options, a)},
    {"gamma", OPTION_NUMBER, "G", "rmia: how much larger a ratio must be (default 1)",
     offsetof(attack_options, gamma)},
    HEADING("Output"),
    {"out", OPTION_FILE, "FILE.csv", "where the scores go (default: standard output)",
     offsetof(attack_options, out)},
    END_OPTIONS,
};

static void init(void *options) {
    attack_options *o = options;
    dpa_attack_opts defaults;
    dpa_attack_opts_init(&defaults);
    o->kind = "logit";
    o->variance = "auto";
    o->a = defaults.a;
    o->gamma = defaults.gamma;
}

static int run(void *options, const word_list *words);

const command command_attack = {
    .name = "attack",
    .summary = "signals of shadow models to membership scores of a target model",
    .operands = "loss|calibrated|lira|rmia",
    .about =
        "Reads what each model says about each point (and who was trained on what) and gives one "
        "score per point for the target model, as a CSV with the columns score,member: higher "
        "means more likely a member. The file is input for one-run, when membership was drawn by "
        "coin.",
    .examples = "dpaudit attack lira --signals signals.npy --members membership.npy\n"
                "dpaudit attack loss --signals signals.npy --members membership.npy --target 3",
    .options = table,
    .size = sizeof(attack_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
};

static int attack_of(const char *word, dpa_attack *out) {
    static const char *const names[] = {"loss", "calibrated", "lira", "rmia"};
    for (int i = 0; i < 4; ++i)
        if (strcmp(word, names[i]) == 0) {
            *out = (dpa_attack)i;
            return 1;
        }
    return 0;
}

static int write_scores(const attack_options *o, const dpa_signals *signals, const double *scores) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = o->out != NULL ? open_memstream(&text, &size) : stdout;
    if (out == NULL) return EXIT_FAILURE_RUNNING;
    const uint8_t *member = signals->member + o->target * signals->points;
    (void)fputs("score,member\n", out);
    for (size_t p = 0; p < signals->points; ++p)
        (void)fprintf(out, "%.17g,%d\n", scores[p], member[p]);
    if (o->out == NULL) return 0;
    if (fclose(out) != 0) return EXIT_FAILURE_RUNNING;
    const int code = write_file("attack", o->out, text);
    free(text);
    return code;
}

/* The --exclude rows as numbers. 0, or an exit code after the error was printed. */
static int excluded(const command *cmd, const attack_options *o, size_t **out) {
    *out = calloc(o->exclude.count + 1, sizeof **out);
    if (*out == NULL) return usage_error(cmd, "no memory for --exclude");
    for (size_t i = 0; i < o->exclude.count; ++i) {
        uint64_t row = 0;
        if (!parse_count(o->exclude.items[i], &row))
            return usage_error(cmd, "--exclude: '%s' is not a row", o->exclude.items[i]);
        (*out)[i] = (size_t)row;
    }
    return 0;
}

static dpa_status attack(const attack_options *o, dpa_attack which, const dpa_signals *signals,
                         const dpa_signals *population, const size_t *exclude, double *scores,
                         dpa_error *err) {
    dpa_attack_opts opts;
    dpa_attack_opts_init(&opts);
    opts.target = (size_t)o->target;
    opts.exclude = exclude;
    opts.exclude_count = o->exclude.count;
    opts.offline = o->offline;
    opts.variance = strcmp(o->variance, "point") == 0    ? DPA_VARIANCE_POINT
                    : strcmp(o->variance, "pooled") == 0 ? DPA_VARIANCE_POOLED
                                                         : DPA_VARIANCE_AUTO;
    opts.a = o->a;
    opts.gamma = o->gamma;
    opts.population = o->population != NULL ? population : NULL;
    return dpa_attack_run(which, signals, &opts, scores, err);
}

static int run_on(const attack_options *o, dpa_attack which, const size_t *exclude) {
    const dpa_signal_kind kind = strcmp(o->kind, "loss") == 0 ? DPA_SIGNAL_LOSS : DPA_SIGNAL_LOGIT;
    dpa_signals signals = {0}, population = {0};
    double *scores = NULL;
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the scores"};
    dpa_status status = dpa_signals_read(o->signals, o->members, kind, &signals, &err);
    if (status == DPA_OK && o->population != NULL)
        status = dpa_signals_read(o->population, NULL, kind, &population, &err);
    if (status == DPA_OK) {
        scores = calloc(signals.points, sizeof *scores);
        status = scores != NULL ? attack(o, which, &signals, &population, exclude, scores, &err)
                                : DPA_NO_MEMORY;
    }
    const int code =
        status == DPA_OK ? write_scores(o, &signals, scores) : library_error("attack", &err);
    free(scores);
    dpa_signals_free(&signals);
    dpa_signals_free(&population);
    return code;
}

static int run(void *options, const word_list *words) {
    const attack_options *o = options;
    const command *cmd = &command_attack;
    dpa_attack which;
    size_t *exclude = NULL;
    if (!attack_of(words->items[0], &which))
        return usage_error(cmd, "'%s' is not one of loss, calibrated, lira, rmia", words->items[0]);
    if (o->signals == NULL || o->members == NULL)
        return usage_error(cmd, "needs --signals and --members");
    int code = excluded(cmd, o, &exclude);
    if (code == 0) code = run_on(o, which, exclude);
    free(exclude);
    return code;
}
