/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "status_lines.h"

#include <inttypes.h>
#include <math.h>

#include "output.h"

const char *status_state(const dpa_run_status *s) {
    static const char *const names[] = {"not started", "running", "done", "stopped", "killed"};
    return names[s->state];
}

static double rate_of(const dpa_run_status *s) {
    const double seconds = s->updated - s->started;
    return seconds > 0.0 ? (double)s->played / seconds : 0.0;
}

static void print_counts(FILE *out, const dpa_run_status *s) {
    const uint64_t missing = s->planned - s->stored;
    (void)fprintf(out, ": %" PRIu64 " of %" PRIu64 " trials done", s->stored, s->planned);
    if (s->failed_trials > 0)
        (void)fprintf(out, " (%" PRIu64 " by a trainer that failed)", s->failed_trials);
    if (s->state != DPA_RUN_RUNNING && missing > 0)
        (void)fprintf(out, ", %" PRIu64 " missing", missing);
    if (s->state == DPA_RUN_RUNNING) (void)fprintf(out, ", %" PRIu64 " running", s->running);
    (void)fprintf(out, ", %" PRIu64 " failed attempt%s", s->failed, s->failed == 1 ? "" : "s");
    if (s->played > 0) {
        (void)fputs(", ", out);
        print_about(out, rate_of(s));
        (void)fputs("/s", out);
    }
}

int status_print(FILE *out, const dpa_run_status *s, int trials) {
    int lines = 1;
    (void)fputs(status_state(s), out);
    if (s->state == DPA_RUN_RUNNING)
        (void)fprintf(out, " (process %" PRId64 " on %s)", s->process, s->host);
    if (s->state != DPA_RUN_NONE) {
        if (s->stages > 1) (void)fprintf(out, ", stage %d of %d", s->stage + 1, s->stages);
        print_counts(out, s);
    }
    if (s->stalled)
        (void)fputs(", nothing has ended for long: does it hang?", out);
    else if (isfinite(s->left)) {
        (void)fputs(", about ", out);
        print_duration(out, s->left);
        (void)fputs(" left", out);
    }
    if (s->quarantine[0] != '\0') (void)fprintf(out, "; taken out: %s", s->quarantine);
    (void)fputc('\n', out);
    for (size_t i = 0; i < s->trial_count && trials; ++i, ++lines) {
        const dpa_run_trial *t = &s->trials[i];
        (void)fprintf(out, "  trial %" PRIu64 " on %s for ", t->index, t->place);
        print_duration(out, t->seconds);
        if (t->total > 0.0) (void)fprintf(out, " (%.0f of %.0f)", t->done, t->total);
        (void)fputc('\n', out);
    }
    return lines;
}

void json_put_text(FILE *out, const char *text) {
    (void)fputc('"', out);
    for (; *text != '\0'; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < ' ')
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}

void json_put_number(FILE *out, double value) {
    if (isfinite(value))
        (void)fprintf(out, "%.17g", value);
    else
        (void)fputs("null", out);
}

static void put_trials(FILE *out, const dpa_run_status *s) {
    (void)fputs(", \"trials\": [", out);
    for (size_t i = 0; i < s->trial_count; ++i) {
        const dpa_run_trial *t = &s->trials[i];
        (void)fprintf(out, "%s{\"trial\": %" PRIu64 ", \"seconds\": ", i > 0 ? ", " : "", t->index);
        json_put_number(out, t->seconds);
        (void)fputs(", \"place\": ", out);
        json_put_text(out, t->place);
        (void)fprintf(out, ", \"done\": %.0f, \"total\": %.0f}", t->done, t->total);
    }
    (void)fputs("]", out);
}

void status_print_json(FILE *out, const dpa_run_status *s) {
    (void)fprintf(out, "{\"dpaudit\": \"%s\", \"command\": \"status\", \"state\": \"%s\", ",
                  dpa_version(), status_state(s));
    (void)fputs("\"host\": ", out);
    json_put_text(out, s->host);
    (void)fprintf(out,
                  ", \"stage\": %d, \"stages\": %d, \"planned\": %" PRIu64 ", \"done\": %" PRIu64
                  ", \"missing\": %" PRIu64 ", \"failed_trials\": %" PRIu64
                  ", \"lost_trials\": %" PRIu64 ", \"running\": %" PRIu64
                  ", \"failed_attempts\": %" PRIu64 ", \"played\": %" PRIu64
                  ", \"workers\": %" PRIu64,
                  s->stage + 1, s->stages, s->planned, s->stored, s->planned - s->stored,
                  s->failed_trials, s->lost, s->running, s->failed, s->played, s->workers);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"rate", rate_of(s)},
                   {"seconds_left", s->left},
                   {"trial_seconds", s->trial_seconds},
                   {"updated", s->updated}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        (void)fprintf(out, ", \"%s\": ", numbers[i].name);
        json_put_number(out, numbers[i].value);
    }
    (void)fprintf(out, ", \"stalled\": %s, \"quarantined\": ", s->stalled ? "true" : "false");
    json_put_text(out, s->quarantine);
    put_trials(out, s);
    (void)fputs("}\n", out);
}
