/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit show: lists what a store holds, down to one trial. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "live.h"
#include "output.h"
#include "trials.h"

typedef struct show_options {
    game_options game;
    int settings, trials, failures, follow;
    const char *trial_text, *json, *rescue;
} show_options;

#define AT(field) offsetof(show_options, field)

static const option table[] = {
    HEADING("What is wanted (default: one line per stage)"),
    {"settings", OPTION_FLAG, NULL, "each stage with the settings that its key is the digest of",
     AT(settings)},
    {"trials", OPTION_FLAG, NULL, "one line per finished trial", AT(trials)},
    {"failures", OPTION_FLAG, NULL, "every failed attempt, with what it wrote to standard error",
     AT(failures)},
    {"trial", OPTION_TEXT, "N",
     "all numbers of trial N, and what it printed; of a running one what it has printed so far",
     AT(trial_text)},
    {"follow", OPTION_FLAG, NULL, "with --trial: go on printing until the trial ends", AT(follow)},
    {"json", OPTION_OPTIONAL, "FILE.json",
     "the same as JSON on standard output, or in a file (with --trials, --trial N, --failures: "
     "those too)",
     AT(json)},
    {"rescue", OPTION_FILE, "NEW.db",
     "of a damaged store: saves every trial whose checksum fits into a new one", AT(rescue)},
    HEADING("Which store"),
    GAME_OPTIONS(show_options),
    STORE_OPTION(show_options),
    END_OPTIONS,
};

static void print_when(double time, char when[32]) {
    const time_t seconds = (time_t)time;
    struct tm local;
    when[0] = '\0';
    if (localtime_r(&seconds, &local) != NULL)
        (void)strftime(when, 32, "%Y-%m-%d %H:%M:%S", &local);
}

static int show_failure(void *user, const dpa_store_entry *e) {
    char when[32];
    (void)user;
    print_when(e->time, when);
    (void)printf("%s  stage %d trial %" PRIu64 ": %s (%s%s%s)\n", when, e->stage + 1, e->index,
                 e->reason, e->machine ? "the machine" : "the trainer",
                 e->place != NULL ? ", " : "", e->place != NULL ? e->place : "");
    print_said(e->said);
    return 0;
}

static const char *end_word(const dpa_store_entry *e) {
    if (e->damaged) return "damaged";
    if (e->end == DPA_TRIAL_FAILED) return "failed";
    return e->end == DPA_TRIAL_LOST ? "lost" : NULL;
}

static int show_trial(void *user, const dpa_store_entry *e) {
    const char *word = end_word(e);
    (void)user;
    (void)printf("%5d %8" PRIu64 " %10.4g %8zu", e->stage + 1, e->index, e->seconds,
                 e->values.count);
    if (word != NULL)
        (void)printf("  %s", word);
    else if (e->values.count > 0)
        (void)printf("  %.6g%s", e->values.items[0], e->values.count > 1 ? " ..." : "");
    (void)putchar('\n');
    return 0;
}

typedef struct search {
    uint64_t index, found;
    int followed; /* its output was already shown while it ran */
} search;

static int is_wanted(search *s, const dpa_store_entry *e) {
    if (e->index != s->index) return 0;
    ++s->found;
    return 1;
}

static int show_one(void *user, const dpa_store_entry *e) {
    search *s = user;
    if (!is_wanted(s, e)) return 0;
    const char *word = end_word(e);
    (void)printf("stage %d trial %" PRIu64 ": %zu number%s in %.4g s%s%s%s%s\n", e->stage + 1,
                 e->index, e->values.count, e->values.count == 1 ? "" : "s", e->seconds,
                 e->place != NULL ? " on " : "", e->place != NULL ? e->place : "",
                 word != NULL ? ", " : "", word != NULL ? word : "");
    for (size_t i = 0; i < e->values.count; ++i) (void)printf("%.17g\n", e->values.items[i]);
    if (!s->followed) print_said(e->said);
    return 0;
}

static void print_settings(const char *settings) {
    if (settings == NULL) settings = "(not stored: dpaudit run writes them)\n";
    while (*settings != '\0') {
        const size_t line = strcspn(settings, "\n");
        (void)printf("    %.*s\n", (int)line, settings);
        settings += line + (settings[line] == '\n');
    }
}

static void print_stages(const dpa_store_stages *stages, int with_settings) {
    const char *experiment = NULL;
    (void)printf("%-12s %5s %8s %8s %8s %8s %8s %10s\n", "key", "stage", "planned", "played",
                 "failed", "lost", "attempts", "s/trial");
    for (size_t i = 0; i < stages->count; ++i) {
        const dpa_store_stage *s = &stages->items[i];
        if (experiment == NULL || strcmp(experiment, s->experiment) != 0)
            (void)printf("%s\n", s->experiment);
        experiment = s->experiment;
        (void)printf("%.12s %5d %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
                     " %10.4g\n",
                     s->key, s->number + 1, s->planned, s->stored, s->failed, s->lost, s->failures,
                     s->stored > 0 ? s->seconds : 0.0);
        if (with_settings) print_settings(s->settings);
    }
}

static dpa_status list_stages(dpa_store *store, dpa_store_stages *out, dpa_error *err) {
    DPA_TRY(dpa_store_check(store, err));
    return dpa_store_list(store, out, err);
}

static dpa_status show(const show_options *o, search *one, dpa_store *store, dpa_error *err) {
    dpa_store_stages stages;
    if (o->trial_text != NULL) DPA_TRY(dpa_store_trials(store, NULL, show_one, one, err));
    if (o->trials) {
        (void)printf("%5s %8s %10s %8s  %s\n", "stage", "trial", "seconds", "numbers", "first");
        DPA_TRY(dpa_store_trials(store, NULL, show_trial, NULL, err));
    }
    if (o->failures) DPA_TRY(dpa_store_failures(store, NULL, show_failure, NULL, err));
    if (o->trial_text != NULL || o->trials || o->failures) return DPA_OK;
    DPA_TRY(list_stages(store, &stages, err));
    print_stages(&stages, o->settings);
    dpa_store_stages_free(&stages);
    return DPA_OK;
}

/* ---- JSON ---- */

typedef struct json_list {
    FILE *out;
    search *one; /* of trials: only this one, with what it printed; NULL for all of them */
    int some;
} json_list;

static void put_entry(json_list *l, const dpa_store_entry *e) {
    (void)fprintf(l->out, "%s{\"stage\": %d, \"trial\": %" PRIu64, l->some ? ", " : "",
                  e->stage + 1, e->index);
    json_text(l->out, ", \"place\": ", e->place);
    l->some = 1;
}

static int put_trial(void *user, const dpa_store_entry *e) {
    json_list *l = user;
    const char *word = end_word(e);
    if (l->one != NULL && !is_wanted(l->one, e)) return 0;
    put_entry(l, e);
    json_text(l->out, ", \"end\": ", word != NULL ? word : "played");
    json_number(l->out, ", \"seconds\": ", e->seconds);
    (void)fputs(", \"numbers\": [", l->out);
    for (size_t i = 0; i < e->values.count; ++i)
        json_number(l->out, i > 0 ? ", " : "", e->values.items[i]);
    (void)fputs("]", l->out);
    if (l->one != NULL) json_text(l->out, ", \"said\": ", e->said != NULL ? e->said : "");
    (void)fputs("}", l->out);
    return 0;
}

static int put_failure(void *user, const dpa_store_entry *e) {
    json_list *l = user;
    put_entry(l, e);
    json_text(l->out, ", \"by\": ", e->machine ? "machine" : "trainer");
    json_number(l->out, ", \"time\": ", e->time);
    json_text(l->out, ", \"reason\": ", e->reason);
    json_text(l->out, ", \"said\": ", e->said != NULL ? e->said : "");
    (void)fputs("}", l->out);
    return 0;
}

/* The lines "name: value" as an object. */
static void put_settings(FILE *out, const char *settings) {
    char text[4096];
    const char *before = "{";
    if (settings == NULL) {
        (void)fputs("null", out);
        return;
    }
    for (; *settings != '\0'; before = ", ") {
        const size_t line = strcspn(settings, "\n"), name = strcspn(settings, ":\n");
        (void)snprintf(text, sizeof text, "%.*s", (int)name, settings);
        json_text(out, before, text);
        (void)snprintf(text, sizeof text, "%.*s", line > name + 2 ? (int)(line - name - 2) : 0,
                       settings + (line > name + 2 ? name + 2 : line));
        json_text(out, ": ", text);
        settings += line + (settings[line] == '\n');
    }
    (void)fputs("}", out);
}

static void put_stages(FILE *out, const dpa_store_stages *stages) {
    (void)fputs("\"stages\": [", out);
    for (size_t i = 0; i < stages->count; ++i) {
        const dpa_store_stage *s = &stages->items[i];
        (void)fprintf(out,
                      "%s{\"key\": \"%s\", \"stage\": %d, \"planned\": %" PRIu64
                      ", \"played\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"lost\": %" PRIu64
                      ", \"failed_attempts\": %" PRIu64,
                      i > 0 ? ", " : "", s->key, s->number + 1, s->planned, s->stored, s->failed,
                      s->lost, s->failures);
        json_number(out, ", \"trial_seconds\": ", s->seconds);
        json_text(out, ", \"experiment\": ", s->experiment);
        (void)fputs(", \"settings\": ", out);
        put_settings(out, s->settings);
        (void)fputs("}", out);
    }
    (void)fputs("]", out);
}

static dpa_status put_json(const show_options *o, search *one, dpa_store *store, FILE *out,
                           dpa_error *err) {
    dpa_store_stages stages;
    DPA_TRY(list_stages(store, &stages, err));
    (void)fprintf(out, "{\"dpaudit\": \"%s\", \"command\": \"show\", ", dpa_version());
    put_stages(out, &stages);
    dpa_store_stages_free(&stages);
    json_list list = {out, o->trial_text != NULL ? one : NULL, 0};
    if (o->trials || o->trial_text != NULL) {
        (void)fputs(", \"trials\": [", out);
        DPA_TRY(dpa_store_trials(store, NULL, put_trial, &list, err));
        (void)fputs("]", out);
    }
    list.some = 0;
    if (o->failures) {
        (void)fputs(", \"failures\": [", out);
        DPA_TRY(dpa_store_failures(store, NULL, put_failure, &list, err));
        (void)fputs("]", out);
    }
    (void)fputs("}\n", out);
    return DPA_OK;
}

static int show_json(const show_options *o, search *one, dpa_store *store) {
    char *text;
    dpa_error err = {0};
    FILE *out = text_begin(&text);
    const dpa_status status = out != NULL ? put_json(o, one, store, out, &err) : DPA_OK;
    int code = text_end(out, &text);
    if (code != 0) return code;
    if (status != DPA_OK)
        code = library_error(&err);
    else if (o->trial_text != NULL && one->found == 0)
        code = 0; /* the caller says that it is not there */
    else if (o->json[0] != '\0')
        code = write_file(o->json, text);
    else
        (void)fputs(text, stdout);
    free(text);
    return code;
}

/* ---- A damaged store ---- */

static int rescue(const show_options *o, const char *path, const dpa_experiment *experiment) {
    dpa_rescued found;
    dpa_game *game = NULL;
    dpa_error err = {0};
    dpa_status status = experiment != NULL ? dpa_game_open(experiment, &game, &err) : DPA_OK;
    if (status == DPA_OK) status = dpa_store_rescue(path, o->rescue, game, &found, &err);
    dpa_game_close(game);
    if (status != DPA_OK) return library_error(&err);
    (void)printf("%s: %" PRIu64 " trials of %" PRIu64 " stages and %" PRIu64
                 " failed attempts saved, %" PRIu64 " rows left behind; go on with --store %s\n",
                 o->rescue, found.trials, found.stages, found.failures, found.damaged, o->rescue);
    return 0;
}

static int run(void *options, const word_list *words) {
    const show_options *o = options;
    dpa_experiment *experiment = NULL;
    dpa_store *store = NULL;
    dpa_error err = {0};
    char *path = NULL;
    search one = {0};
    if (o->trial_text != NULL && !parse_count(o->trial_text, &one.index))
        return usage_error("--trial: '%s' is not a whole number", o->trial_text);
    if (o->follow && (o->trial_text == NULL || o->json != NULL))
        return usage_error("--follow needs --trial N, without --json");
    if (o->json != NULL && o->trial_text != NULL && o->trials)
        return usage_error("--json: either --trials or --trial N");
    int code = store_of(words->items[0], &o->game, &experiment, &path);
    if (code == 0 && o->follow) one.followed = live_show(path, one.index, 1) == LIVE_WORDS;
    if (code == 0 && o->rescue != NULL) {
        code = rescue(o, path, experiment);
    } else if (code == 0) {
        dpa_status status = dpa_store_open(path, DPA_STORE_READ, &store, &err);
        if (status == DPA_OK && o->json != NULL)
            code = show_json(o, &one, store);
        else if (status == DPA_OK)
            status = show(o, &one, store, &err);
        if (status != DPA_OK) code = library_error(&err);
    }
    if (code == 0 && o->trial_text != NULL && one.found == 0 && o->rescue == NULL &&
        (o->json != NULL || live_show(path, one.index, 0) == LIVE_NOTHING)) {
        (void)fprintf(stderr, "dpaudit show: %s: trial %s is not there\n", path, o->trial_text);
        code = EXIT_INPUT;
    }
    dpa_store_close(store);
    free(path);
    dpa_experiment_free(experiment);
    return code;
}

const command command_show = {
    .name = "show",
    .summary = "what a store of trials holds: stages, trials, failures",
    .operands = "AUDIT.yaml | STORE.db",
    .about =
        "A store may hold the trials of several experiments: each stage of each game is named "
        "by a key, the digest of all that decides its numbers: --settings lists it. Trials whose "
        "checksum does not fit are marked as damaged; dpaudit run plays them again. A trial is "
        "failed if its trainer failed, which is an outcome and counts; it is lost if the machine "
        "failed at every attempt. Failures are listed with the machine and slot where they "
        "happened.",
    .examples = "dpaudit show command/count.yaml\n"
                "dpaudit show command/count.yaml --trial 7\n"
                "dpaudit show command/count.yaml --json",
    .options = table,
    .size = sizeof(show_options),
    .words = {1, 1},
    .run = run,
};
