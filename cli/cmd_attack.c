/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit attack: turns signals of shadow models into scores of a target, or into the risk of each
 * point. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"

static const option table[] = {
    HEADING("The models"),
    {"signals", OPTION_FILE, "FILE.npy",
     "models x points (x augmentations), or the points of one model; or the FILE.npz of a game, "
     "which has it all (required)",
     offsetof(attack_options, signals)},
    {"members", OPTION_FILE, "FILE.npy",
     "membership, models x points, 0 or 1 (required unless in FILE.npz)",
     offsetof(attack_options, members)},
    {"kind", OPTION_CHOICE, "logit|loss",
     "what a signal is: log(p/(1-p)) of the true label, or its loss (default logit)",
     offsetof(attack_options, kind)},
    {"target", OPTION_COUNT, "ROW", "the model under attack (default 0)",
     offsetof(attack_options, target)},
    {"exclude", OPTION_LIST, "ROW",
     "a model that is not a shadow, such as one kept for the audit; may be repeated",
     offsetof(attack_options, exclude)},
    HEADING("The attack"),
    {"offline", OPTION_FLAG, NULL, "use only models that were not trained on the point",
     offsetof(attack_options, offline)},
    {"variance", OPTION_CHOICE, "auto|point|pooled",
     "lira: each point's own variance or one for all (default auto: own from 64 models on)",
     offsetof(attack_options, variance)},
    {"population", OPTION_FILE, "FILE.npy",
     "rmia, quantile: signals of points that no model was trained on, models x population",
     offsetof(attack_options, population)},
    {"a", OPTION_NUMBER, "A", "rmia, offline: weight of the models without the point (default 0.3)",
     offsetof(attack_options, a)},
    {"gamma", OPTION_NUMBER, "G", "rmia: how much larger a ratio must be (default 1)",
     offsetof(attack_options, gamma)},
    {"features", OPTION_FILE, "FILE",
     "quantile: what is known of the points: .npy, points x features, or CSV with a header",
     offsetof(attack_options, features)},
    {"population-features", OPTION_FILE, "FILE", "quantile: the same of the population",
     offsetof(attack_options, population_features)},
    {"form", OPTION_CHOICE, "normal|pinball",
     "quantile: mean and scale given the features, or one quantile (default normal)",
     offsetof(attack_options, form)},
    {"level", OPTION_NUMBER, "Q", "quantile, pinball: which quantile (default 0.9)",
     offsetof(attack_options, level)},
    {"squares", OPTION_FLAG, NULL, "quantile: squares of the features are features, too",
     offsetof(attack_options, squares)},
    {"ridge", OPTION_NUMBER, "R",
     "quantile: penalty on standardised weights (default: 8 times the features per population "
     "point; pinball: once)",
     offsetof(attack_options, ridge)},
    HEADING("Which points leak most (points, select)"),
    {"by", OPTION_CHOICE, "loss|calibrated|lira|rmia|quantile",
     "the attack that finds out (default lira)", offsetof(attack_options, by)},
    {"split", OPTION_CHOICE, "one|all",
     "one: a share of the models tests the attack, the others fit it (default of select); all: as "
     "many splits as it takes to test each model once (default of points)",
     offsetof(attack_options, split)},
    {"test-share", OPTION_NUMBER, "S", "share of the models that test (default 0.2)",
     offsetof(attack_options, test_share)},
    {"weight", OPTION_CHOICE, "accuracy|epsilon", "what ranks the points (default accuracy)",
     offsetof(attack_options, weight)},
    {"challenge", OPTION_CHOICE, "worst|random|average",
     "select: the most exposed points, any, or typical ones (default worst)",
     offsetof(attack_options, challenge)},
    {"count", OPTION_COUNT, "K",
     "select: how many points (default 1); points: how many in the table on the screen (default "
     "20)",
     offsetof(attack_options, count)},
    {"delta", OPTION_NUMBER, "D", "of the points' epsilon (default 1e-5)",
     offsetof(attack_options, delta)},
    {"seed", OPTION_COUNT, "N", "of splits and random challenges (default 1)",
     offsetof(attack_options, seed)},
    {"ids", OPTION_FILE, "FILE", "names of the points, one a line (default: their numbers)",
     offsetof(attack_options, ids)},
    HEADING("Output"),
    {"out", OPTION_OUTPUT, "FILE.csv",
     "where scores go (default: standard output); points and select: a CSV beside the table",
     offsetof(attack_options, out)},
    {"json", OPTION_OPTIONAL, "FILE.json",
     "points and select: JSON on standard output, or into FILE.json",
     offsetof(attack_options, json)},
    {"threads", OPTION_COUNT, "N", "threads (default: one per core)",
     offsetof(attack_options, threads)},
    END_OPTIONS,
};

static void init(void *options) {
    attack_options *o = options;
    dpa_attack_opts defaults;
    dpa_leak_opts leaks;
    dpa__attack_opts_init(&defaults);
    dpa__leak_opts_init(&leaks);
    o->kind = "logit";
    o->variance = "auto";
    o->a = defaults.a;
    o->gamma = defaults.gamma;
    o->form = "normal";
    o->level = defaults.quantile.level;
    o->ridge = defaults.quantile.ridge;
    o->by = "lira";
    o->weight = "accuracy";
    o->challenge = "worst";
    o->test_share = leaks.test_share;
    o->delta = leaks.delta;
    o->seed = leaks.seed;
}

int attack_named(const char *word, dpa_attack *out) {
    static const char *const names[] = {"loss", "calibrated", "lira", "rmia", "quantile"};
    for (int i = 0; i < 5; ++i)
        if (strcmp(word, names[i]) == 0) {
            *out = (dpa_attack)i;
            return 1;
        }
    return 0;
}

int attack_write(const char *path, attack_writer *write, const void *what) {
    char *text;
    if (path == NULL) {
        clock_stop();
        write(stdout, what);
        return 0;
    }
    FILE *out = text_begin(&text);
    if (out != NULL) write(out, what);
    int code = text_end(out, &text);
    if (code == 0) code = write_file(path, text);
    free(text);
    return code;
}

typedef struct scored {
    const uint8_t *member;
    const double *scores;
    size_t points;
} scored;

static void write_scores(FILE *out, const void *what) {
    const scored *s = what;
    (void)fputs("score,member\n", out);
    for (size_t p = 0; p < s->points; ++p)
        (void)fprintf(out, "%.17g,%d\n", s->scores[p], s->member[p]);
}

/* Says what the output file contains and which command reads it. */
static void tell(const scored *s, const attack_options *o) {
    size_t members = 0;
    for (size_t p = 0; p < s->points; ++p) members += s->member[p];
    (void)fprintf(stderr,
                  "%s: scores of %zu points in model %" PRIu64 ", %zu of them members; "
                  "bounds: dpaudit one-run %s (membership drawn by coin)\n",
                  o->out, s->points, o->target, members, o->out);
}

/* Parses the --exclude rows. Returns 0, or an exit code after printing the error. */
static int excluded(const attack_options *o, size_t **out) {
    *out = calloc(o->exclude.count + 1, sizeof **out);
    if (*out == NULL) return out_of_memory();
    for (size_t i = 0; i < o->exclude.count; ++i) {
        uint64_t row = 0;
        if (!parse_count(o->exclude.items[i], &row))
            return usage_error("--exclude: '%s' is not a row", o->exclude.items[i]);
        (*out)[i] = (size_t)row;
    }
    return 0;
}

void attack_opts_from(const attack_options *o, const attack_input *in, dpa_attack_opts *out) {
    dpa__attack_opts_init(out);
    out->target = (size_t)o->target;
    out->exclude = in->exclude;
    out->exclude_count = o->exclude.count;
    out->offline = o->offline;
    out->variance = strcmp(o->variance, "point") == 0    ? DPA_VARIANCE_POINT
                    : strcmp(o->variance, "pooled") == 0 ? DPA_VARIANCE_POOLED
                                                         : DPA_VARIANCE_AUTO;
    out->a = o->a;
    out->gamma = o->gamma;
    out->population = in->population.models > 0 ? &in->population : NULL;
    out->quantile.features = in->features.points > 0 ? &in->features : NULL;
    out->quantile.population_features =
        in->population_features.points > 0 ? &in->population_features : NULL;
    out->quantile.form =
        strcmp(o->form, "pinball") == 0 ? DPA_QUANTILE_PINBALL : DPA_QUANTILE_NORMAL;
    out->quantile.level = o->level;
    out->quantile.ridge = o->ridge;
    out->quantile.squares = o->squares;
    out->threads = o->threads < 1024 ? (unsigned)o->threads : 1024;
}

static int score(const attack_options *o, dpa_attack which, const attack_input *in) {
    const dpa_signals *signals = &in->signals;
    dpa_attack_opts opts;
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the scores"};
    double *scores = calloc(signals->points, sizeof *scores);
    attack_opts_from(o, in, &opts);
    int code = 0;
    if (scores == NULL || dpa__attack_run(which, signals, &opts, scores, &err) != DPA_OK)
        code = library_error(&err);
    if (code == 0) {
        const scored all = {signals->member + opts.target * signals->points, scores,
                            signals->points};
        code = attack_write(o->out, write_scores, &all);
        if (code == 0 && o->out != NULL) tell(&all, o);
    }
    free(scores);
    return code;
}

/* An array without an option of its own is taken from the file of the signals, if it is there. */
static const char *with_signals(const attack_options *o, const char *given, const char *name,
                                const char *other_name) {
    if (given != NULL) return given;
    const int is_there = dpa__npz_has(o->signals, name) || dpa__npz_has(o->signals, other_name);
    return is_there ? o->signals : NULL;
}

static dpa_status read_features(const attack_options *o, const char *given, const char *name,
                                dpa_features *out, dpa_error *err) {
    const char *path = with_signals(o, given, name, name);
    if (path == NULL) return DPA_OK;
    return dpa__features_read(path, dpa__npz_has(path, name) ? name : NULL, out, err);
}

static dpa_status read_input(const attack_options *o, const char *members, attack_input *in,
                             dpa_error *err) {
    const dpa_signal_kind kind = strcmp(o->kind, "loss") == 0 ? DPA_SIGNAL_LOSS : DPA_SIGNAL_LOGIT;
    const char *others = with_signals(o, o->population, "population_signals", "population_signals");
    dpa_status status = dpa__signals_read(o->signals, members, kind, &in->signals, err);
    if (status == DPA_OK && others != NULL)
        status = dpa__signals_read(others, NULL, kind, &in->population, err);
    if (status == DPA_OK) status = read_features(o, o->features, "features", &in->features, err);
    if (status == DPA_OK)
        status = read_features(o, o->population_features, "population_features",
                               &in->population_features, err);
    return status;
}

static int run_on(const attack_options *o, const char *word, attack_input *in) {
    dpa_attack which;
    dpa_error err;
    const char *members = with_signals(o, o->members, "shadow_members", "members");
    if (members == NULL) return usage_error("needs --signals and --members");
    if (read_input(o, members, in, &err) != DPA_OK) return library_error(&err);
    if (attack_named(word, &which)) return score(o, which, in);
    return attack_points(o, strcmp(word, "select") == 0, in);
}

static void free_input(attack_input *in) {
    dpa__signals_free(&in->signals);
    dpa__signals_free(&in->population);
    dpa__features_free(&in->features);
    dpa__features_free(&in->population_features);
    free(in->exclude);
}

static int is_known(const char *word) {
    dpa_attack which;
    return attack_named(word, &which) || strcmp(word, "points") == 0 || strcmp(word, "select") == 0;
}

static int run(void *options, const word_list *words) {
    const attack_options *o = options;
    attack_input in = {0};
    if (!is_known(words->items[0]))
        return usage_error(
            "'%s' is not one of loss, calibrated, lira, rmia, quantile, points, select",
            words->items[0]);
    if (o->signals == NULL) return usage_error("needs --signals and --members");
    int code = excluded(o, &in.exclude);
    if (code == 0) code = run_on(o, words->items[0], &in);
    free_input(&in);
    return code;
}

const command command_attack = {
    .name = "attack",
    .summary = "signals of shadow models to membership scores of a target model",
    .operands = "loss|calibrated|lira|rmia|quantile|points|select",
    .about =
        "Reads what each model says about each point (and who was trained on what) and gives one "
        "score per point for the target model, as a CSV with the columns score,member: higher "
        "means more likely a member. Give the file to one-run if membership was drawn by coin, not "
        "to scores, whose scores must come from independent models, one each.\n"
        "quantile needs no shadow model: one row of signals will do, with those of a population "
        "that "
        "no model was trained on and features of both.\n"
        "points: how well an attack tells, point by point, the models that were trained on it from "
        "those that were not; always on models that the attack was not fitted to. select: the "
        "points to challenge a training with (SelectWorst), to be attacked in models that neither "
        "fitted nor tested the attack: train new ones, or keep some by --exclude.",
    .examples =
        "dpaudit attack lira --signals signals.npy --members membership.npy\n"
        "dpaudit attack loss --signals signals.npy --members membership.npy --target 3\n"
        "dpaudit attack quantile --signals signals.npy --members membership.npy --population "
        "population.npy --features features.csv --population-features population-features.csv\n"
        "dpaudit attack points --signals signals.npy --members membership.npy --count 5\n"
        "dpaudit attack select --signals signals.npy --members membership.npy --json",
    .options = table,
    .size = sizeof(attack_options),
    .min_words = 1,
    .max_words = 1,
    .init = init,
    .run = run,
    .has_clock = 1,
};
