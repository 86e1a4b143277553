/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit attack points | select: the risk of each point, as a table, CSV or JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"
#include "base/error.h"

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

/* ── names ── */

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

/* ── the three output formats ── */

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
                      l->count, l->points, l->challenge, attack_name(l->o->leaks.attack), tested);
    else
        (void)fprintf(out,
                      "%zu of %zu points, those that leak most first, by %s on %zu test models\n\n",
                      l->count, l->points, attack_name(l->o->leaks.attack), tested);
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
                  dpa_version(), attack_name(l->o->leaks.attack));
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

/* ── the work ── */

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

int attack_points(const attack_options *o, int is_selection, const dpa_signals *signals) {
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
