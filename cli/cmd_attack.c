/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit attack: turns signals of shadow models into scores of a target, or into the risk of each
 * point. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "base/error.h"
#include "output.h"

typedef struct attack_options {
    const char *signals, *members, *population, *features, *population_features, *out;
    word_list exclude;
    dpa_signal_kind kind;
    uint64_t threads;
    dpa_leak_opts leaks; /* `how` is that of all attacks */
    /* for `points` and `select` */
    dpa_weight weight;
    dpa_challenge challenge;
    const char *split, *ids, *json;
    uint64_t count;
} attack_options;

#define AT(field) offsetof(attack_options, field)

static const option table[] = {
    HEADING("The models"),
    {"signals", OPTION_FILE, "FILE.npy",
     "models x points (x augmentations), or the points of one model; or the FILE.npz of a game, "
     "which has it all (required)",
     AT(signals)},
    {"members", OPTION_FILE, "FILE.npy",
     "membership, models x points, 0 or 1 (required unless in FILE.npz)", AT(members)},
    {"kind", OPTION_WORD, "logit|loss",
     "what a signal is: log(p/(1-p)) of the true label, or its loss (default logit)", AT(kind)},
    {"target", OPTION_COUNT, "ROW", "the model under attack (default 0)", AT(leaks.how.target)},
    {"exclude", OPTION_LIST, "ROW",
     "a model that is not a shadow, such as one kept for the audit; may be repeated", AT(exclude)},
    HEADING("The attack"),
    {"offline", OPTION_FLAG, NULL, "use only models that were not trained on the point",
     AT(leaks.how.offline)},
    {"variance", OPTION_WORD, "auto|point|pooled",
     "lira: each point's own variance or one for all (default auto: own from 64 models on)",
     AT(leaks.how.variance)},
    {"population", OPTION_FILE, "FILE.npy",
     "rmia, quantile: signals of points that no model was trained on, models x population",
     AT(population)},
    {"a", OPTION_NUMBER, "A", "rmia, offline: weight of the models without the point (default 0.3)",
     AT(leaks.how.a)},
    {"gamma", OPTION_NUMBER, "G", "rmia: how much larger a ratio must be (default 1)",
     AT(leaks.how.gamma)},
    {"features", OPTION_FILE, "FILE",
     "quantile: what is known of the points: .npy, points x features, or CSV with a header",
     AT(features)},
    {"population-features", OPTION_FILE, "FILE", "quantile: the same of the population",
     AT(population_features)},
    {"form", OPTION_WORD, "normal|pinball",
     "quantile: mean and scale given the features, or one quantile (default normal)",
     AT(leaks.how.quantile.form)},
    {"level", OPTION_NUMBER, "Q", "quantile, pinball: which quantile (default 0.9)",
     AT(leaks.how.quantile.level)},
    {"squares", OPTION_FLAG, NULL, "quantile: squares of the features are features, too",
     AT(leaks.how.quantile.squares)},
    {"ridge", OPTION_NUMBER, "R",
     "quantile: penalty on standardised weights (default: 8 times the features per population "
     "point; pinball: once)",
     AT(leaks.how.quantile.ridge)},
    HEADING("Which points leak most (points, select)"),
    {"by", OPTION_WORD, "loss|calibrated|lira|rmia|quantile",
     "the attack that finds out (default lira)", AT(leaks.attack)},
    {"split", OPTION_CHOICE, "one|all",
     "one: a share of the models tests the attack, the others fit it (default of select); all: as "
     "many splits as it takes to test each model once (default of points)",
     AT(split)},
    {"test-share", OPTION_NUMBER, "S", "share of the models that test (default 0.2)",
     AT(leaks.test_share)},
    {"weight", OPTION_WORD, "accuracy|epsilon", "what ranks the points (default accuracy)",
     AT(weight)},
    {"challenge", OPTION_WORD, "worst|random|average",
     "select: the most exposed points, any, or typical ones (default worst)", AT(challenge)},
    {"count", OPTION_COUNT, "K",
     "select: how many points (default 1); points: how many in the table on the screen (default "
     "20)",
     AT(count)},
    {"delta", OPTION_NUMBER, "D", "of the points' epsilon (default 1e-5)", AT(leaks.delta)},
    {"seed", OPTION_COUNT, "N", "of splits and random challenges (default 1)", AT(leaks.seed)},
    {"ids", OPTION_FILE, "FILE", "names of the points, one a line (default: their numbers)",
     AT(ids)},
    HEADING("Output"),
    {"out", OPTION_OUTPUT, "FILE.csv",
     "where scores go (default: standard output); points and select: a CSV beside the table",
     AT(out)},
    {"json", OPTION_OPTIONAL, "FILE.json",
     "points and select: JSON on standard output, or into FILE.json", AT(json)},
    {"threads", OPTION_COUNT, "N", "threads (default: one per core)", AT(threads)},
    END_OPTIONS,
};

static void init(void *options) {
    dpa__leak_opts_init(&((attack_options *)options)->leaks);
}

static const char *const attacks[] = {"loss", "calibrated", "lira", "rmia", "quantile"};
enum { ATTACKS = sizeof attacks / sizeof attacks[0] };

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
                  o->out, s->points, (uint64_t)o->leaks.how.target, members, o->out);
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

static int score(const attack_options *o, dpa_attack which, const dpa_signals *signals) {
    const dpa_attack_opts *how = &o->leaks.how;
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the scores"};
    double *scores = calloc(signals->points, sizeof *scores);
    int code = 0;
    if (scores == NULL || dpa__attack_run(which, signals, how, scores, &err) != DPA_OK)
        code = library_error(&err);
    if (code == 0) {
        const scored all = {signals->member + how->target * signals->points, scores,
                            signals->points};
        code = write_by(o->out, write_scores, &all);
        if (code == 0 && o->out != NULL) tell(&all, o);
    }
    free(scores);
    return code;
}

/* What was read for an attack. */
typedef struct attack_input {
    dpa_signals signals, population;            /* population: models is 0 if there is none */
    dpa_features features, population_features; /* likewise: points is 0 */
    size_t *exclude;
} attack_input;

/* ---- points | select: the risk of each point, as a table, CSV or JSON ---- */

/* What is printed: the leaks, in the order of printing. */
typedef struct listing {
    const attack_options *o;
    const dpa_leak *leaks;
    size_t count;
    const char *challenge; /* NULL: all points */
    const dpa_model_role *roles;
    size_t models, points;
    char **id; /* [points]; NULL: points are shown by number */
} listing;

static void free_ids(char **id, size_t points) {
    for (size_t p = 0; id != NULL && p < points; ++p) free(id[p]);
    free(id);
}

/* Reads exactly `points` lines. Returns 0, or an exit code after printing the error. */
static int read_ids(const char *path, size_t points, char ***out) {
    dpa_error err;
    size_t count = 0, room = 0;
    ssize_t length;
    char *line = NULL, **id = calloc(points + 1, sizeof *id);
    FILE *in = fopen(path, "r");
    while (in != NULL && id != NULL && count <= points &&
           (length = getline(&line, &room, in)) >= 0) {
        while (length > 0 && strchr("\r\n", line[length - 1]) != NULL) line[--length] = '\0';
        if (count < points) id[count] = strdup(line);
        ++count;
    }
    free(line);
    if (in != NULL) (void)fclose(in);
    if (in != NULL && count == points) {
        *out = id;
        return 0;
    }
    free_ids(id, points);
    if (in == NULL)
        (void)dpa__fail_file(&err, DPA_BAD_INPUT, path, "cannot be read");
    else
        (void)dpa__fail_file(&err, DPA_BAD_INPUT, path,
                             "expected %zu names, one a line, found %s%zu", points,
                             count > points ? "more than " : "", count > points ? points : count);
    return library_error(&err);
}

/* The evidence of a game knows which rows of the data its points are; uses these as names. Other
 * evidence gives no names. */
static int read_rows(const char *signals, size_t points, char ***out) {
    dpa_array rows;
    dpa_error err;
    if (!dpa__npz_has(signals, "point_row")) return 0;
    if (dpa__array_read(signals, "point_row", &rows, &err) != DPA_OK) return library_error(&err);
    char **id = rows.count == points ? calloc(points + 1, sizeof *id) : NULL;
    if (id != NULL && dpa__array_to_double(&rows, &err) == DPA_OK)
        for (size_t p = 0; p < points; ++p) {
            char text[32];
            (void)snprintf(text, sizeof text, "row %.0f", ((const double *)rows.data)[p]);
            id[p] = strdup(text);
        }
    dpa__array_free(&rows);
    *out = id;
    return 0;
}

static void name_of(const listing *l, size_t point, char *text, size_t size) {
    if (l->id != NULL && l->id[point] != NULL)
        (void)snprintf(text, size, "%s", l->id[point]);
    else
        (void)snprintf(text, size, "%zu", point);
}

static size_t models_of(const listing *l, dpa_model_role role) {
    size_t count = 0;
    for (size_t m = 0; m < l->models; ++m) count += l->roles[m] == role ? 1 : 0;
    return count;
}

/* After a selection, says which models may still be attacked. */
static void print_left(FILE *out, const listing *l) {
    const size_t kept = models_of(l, DPA_ROLE_KEPT);
    if (kept > 0)
        (void)fprintf(out, "attack these points in models that had no part in this: %zu are kept\n",
                      kept);
    else
        (void)fputs(
            "all models had a part in this: attack these points in models trained afresh, or "
            "keep some by --exclude\n",
            out);
}

static void print_table(FILE *out, const void *what) {
    const listing *l = what;
    const size_t tested = models_of(l, DPA_ROLE_TEST);
    if (l->challenge != NULL)
        (void)fprintf(out, "%zu of %zu points, challenge %s, by %s on %zu test models\n\n",
                      l->count, l->points, l->challenge, attacks[l->o->leaks.attack], tested);
    else
        (void)fprintf(out,
                      "%zu of %zu points, those that leak most first, by %s on %zu test models\n\n",
                      l->count, l->points, attacks[l->o->leaks.attack], tested);
    (void)fprintf(out, "%-20s %9s %9s %10s %6s %6s\n", "point", "accuracy", "epsilon", "gap",
                  "with", "without");
    for (size_t i = 0; i < l->count; ++i) {
        const dpa_leak *k = &l->leaks[i];
        char name[64];
        name_of(l, k->point, name, sizeof name);
        (void)fprintf(out, "%-20s %9.3f %9.3f %10.3f %6zu %6zu\n", name, k->accuracy, k->epsilon,
                      k->gap, k->in, k->out);
    }
    (void)fputs("\naccuracy and epsilon at each point's best threshold:\n"
                "they rank points, they are no bounds\n",
                out);
    if (l->challenge != NULL) print_left(out, l);
}

/* Quotes the text if a comma or a quote would break the line (RFC 4180). */
static void csv_text(FILE *out, const char *text) {
    if (strpbrk(text, ",\"") == NULL) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; ++text) {
        if (*text == '"') (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void csv_number(FILE *out, double value) {
    (void)fputc(',', out);
    if (isfinite(value)) (void)fprintf(out, "%.17g", value);
}

static void print_csv(FILE *out, const void *what) {
    const listing *l = what;
    (void)fprintf(out, "rank,point,id,%saccuracy,epsilon,gap,in,out\n",
                  l->challenge != NULL ? "challenge," : "");
    for (size_t i = 0; i < l->count; ++i) {
        const dpa_leak *k = &l->leaks[i];
        char name[512];
        name_of(l, k->point, name, sizeof name);
        (void)fprintf(out, "%zu,%zu,", i + 1, k->point);
        csv_text(out, name);
        if (l->challenge != NULL) (void)fprintf(out, ",%s", l->challenge);
        csv_number(out, k->accuracy);
        csv_number(out, k->epsilon);
        csv_number(out, k->gap);
        (void)fprintf(out, ",%zu,%zu\n", k->in, k->out);
    }
}

static void json_models(FILE *out, const listing *l, const char *name, dpa_model_role role) {
    const char *comma = "";
    (void)fprintf(out, "\"%s\": [", name);
    for (size_t m = 0; m < l->models; ++m)
        if (l->roles[m] == role) {
            (void)fprintf(out, "%s%zu", comma, m);
            comma = ", ";
        }
    (void)fputc(']', out);
}

static void print_json(FILE *out, const void *what) {
    const listing *l = what;
    (void)fprintf(out, "{\"dpaudit\": \"%s\", \"command\": \"attack\", \"attack\": \"%s\", ",
                  dpa_version(), attacks[l->o->leaks.attack]);
    if (l->challenge != NULL) (void)fprintf(out, "\"challenge\": \"%s\", ", l->challenge);
    (void)fprintf(out, "\"weight\": \"%s\", \"delta\": %.17g, \"models\": {",
                  l->o->weight == DPA_WEIGHT_EPSILON ? "epsilon" : "accuracy", l->o->leaks.delta);
    json_models(out, l, "fit", DPA_ROLE_FIT);
    (void)fputs(", ", out);
    json_models(out, l, "test", DPA_ROLE_TEST);
    (void)fputs(", ", out);
    json_models(out, l, "kept", DPA_ROLE_KEPT);
    (void)fputs("},\n \"points\": [", out);
    for (size_t i = 0; i < l->count; ++i) {
        const dpa_leak *k = &l->leaks[i];
        char name[512];
        name_of(l, k->point, name, sizeof name);
        (void)fprintf(out, "%s\n  {\"point\": %zu", i > 0 ? "," : "", k->point);
        json_text(out, ", \"id\": ", name);
        json_number(out, ", \"accuracy\": ", k->accuracy);
        json_number(out, ", \"epsilon\": ", k->epsilon);
        json_number(out, ", \"gap\": ", k->gap);
        (void)fprintf(out, ", \"in\": %zu, \"out\": %zu}", k->in, k->out);
    }
    (void)fputs("]}\n", out);
}

/* Files get all points, the screen as many as asked for. */
static int print(const listing *l, size_t on_screen) {
    const char *json = l->o->json;
    int code = 0;
    if (l->o->out != NULL) code = write_by(l->o->out, print_csv, l);
    if (code == 0 && json != NULL) code = write_by(json[0] == '\0' ? NULL : json, print_json, l);
    if (code != 0 || (json != NULL && json[0] == '\0')) return code;
    listing shown = *l;
    if (shown.count > on_screen) shown.count = on_screen;
    return write_by(NULL, print_table, &shown);
}

/* Moves the chosen leaks to the front, in their order. */
static dpa_status select_leaks(const attack_options *o, dpa_leak *leaks, size_t points,
                               size_t count, dpa_error *err) {
    size_t *chosen = calloc(count + 1, sizeof *chosen);
    dpa_leak *found = calloc(count + 1, sizeof *found);
    dpa_status status = DPA_NO_MEMORY;
    if (chosen != NULL && found != NULL)
        status = dpa__challenges_select(leaks, points, o->challenge, o->weight, o->leaks.seed,
                                        chosen, count, err);
    for (size_t i = 0; i < count && status == DPA_OK; ++i) found[i] = leaks[chosen[i]];
    if (status == DPA_OK) memcpy(leaks, found, count * sizeof *leaks);
    free(chosen);
    free(found);
    return status;
}

static int attack_points(const attack_options *o, int is_selection, const dpa_signals *signals) {
    const size_t wanted = (size_t)(o->count > 0 ? o->count : is_selection ? 1 : 20);
    dpa_leak *leaks = calloc(signals->points, sizeof *leaks);
    dpa_model_role *roles = calloc(signals->models, sizeof *roles);
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the points"};
    dpa_status status = DPA_NO_MEMORY;
    dpa_leak_opts opts = o->leaks;
    listing l = {o, leaks, signals->points, NULL, roles, signals->models, signals->points, NULL};
    int code = o->ids != NULL ? read_ids(o->ids, signals->points, &l.id)
                              : read_rows(o->signals, signals->points, &l.id);
    opts.every_model = o->split != NULL ? strcmp(o->split, "all") == 0 : !is_selection;
    if (code == 0 && leaks != NULL && roles != NULL)
        status = dpa__leaks_measure(signals, &opts, leaks, roles, &err);
    if (status == DPA_OK && is_selection) {
        l.challenge = dpa__challenge_name(o->challenge);
        l.count = wanted;
        status = select_leaks(o, leaks, signals->points, wanted, &err);
    } else if (status == DPA_OK)
        dpa__leaks_sort(leaks, signals->points, o->weight);
    if (code == 0) code = status == DPA_OK ? print(&l, wanted) : library_error(&err);
    free_ids(l.id, signals->points);
    free(leaks);
    free(roles);
    return code;
}

/* ---- the command ---- */

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
    const char *others = with_signals(o, o->population, "population_signals", "population_signals");
    DPA_TRY(dpa__signals_read(o->signals, members, o->kind, &in->signals, err));
    if (others != NULL) DPA_TRY(dpa__signals_read(others, NULL, o->kind, &in->population, err));
    DPA_TRY(read_features(o, o->features, "features", &in->features, err));
    return read_features(o, o->population_features, "population_features", &in->population_features,
                         err);
}

static void take_input(attack_options *o, const attack_input *in) {
    dpa_attack_opts *how = &o->leaks.how;
    how->exclude = in->exclude;
    how->exclude_count = o->exclude.count;
    if (in->population.models > 0) how->population = &in->population;
    if (in->features.points > 0) how->quantile.features = &in->features;
    if (in->population_features.points > 0)
        how->quantile.population_features = &in->population_features;
    how->threads = o->threads < 1024 ? (unsigned)o->threads : 1024;
}

static int run_on(attack_options *o, const char *word, int which, attack_input *in) {
    dpa_error err;
    const char *members = with_signals(o, o->members, "shadow_members", "members");
    if (members == NULL) return usage_error("needs --signals and --members");
    if (read_input(o, members, in, &err) != DPA_OK) return library_error(&err);
    take_input(o, in);
    if (which < ATTACKS) return score(o, (dpa_attack)which, &in->signals);
    return attack_points(o, strcmp(word, "select") == 0, &in->signals);
}

static void free_input(attack_input *in) {
    dpa__signals_free(&in->signals);
    dpa__signals_free(&in->population);
    dpa__features_free(&in->features);
    dpa__features_free(&in->population_features);
    free(in->exclude);
}

static int run(void *options, const word_list *words) {
    attack_options *o = options;
    const char *word = words->items[0];
    attack_input in = {0};
    int which = 0;
    while (which < ATTACKS && strcmp(word, attacks[which]) != 0) ++which;
    if (which == ATTACKS && strcmp(word, "points") != 0 && strcmp(word, "select") != 0)
        return usage_error(
            "'%s' is not one of loss, calibrated, lira, rmia, quantile, points, select", word);
    if (o->signals == NULL) return usage_error("needs --signals and --members");
    int code = excluded(o, &in.exclude);
    if (code == 0) code = run_on(o, word, which, &in);
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
    .words = {1, 1},
    .init = init,
    .run = run,
    .has_clock = 1,
};
