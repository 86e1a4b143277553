/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printing: reports, errors, files. */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"

static char invocation[4096];
static const char *running = "";
static int is_terminal;

int usage_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    clock_stop();
    (void)fprintf(stderr, "dpaudit %s: ", running);
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\nTry: dpaudit help %s\n", running);
    va_end(args);
    return EXIT_USAGE;
}

int out_of_memory(void) {
    clock_stop();
    (void)fprintf(stderr, "dpaudit %s: out of memory\n", running);
    return EXIT_FAILURE_RUNNING;
}

int library_error(const dpa_error *err) {
    clock_stop();
    (void)fprintf(stderr, "dpaudit %s: %s%s%s\n", running, err->place,
                  err->place[0] != '\0' ? ": " : "", err->text);
    if (err->place[0] != '\0' && strcmp(err->text, strerror(ENOENT)) == 0)
        (void)fputs("Try: dpaudit example (it writes files to try the commands with)\n", stderr);
    return dpa_status_exit_code(err->status);
}

dpa_text_style terminal_style(void) {
    dpa_text_style style = {80, 0, 1, 0};
    const char *no_colour = getenv("NO_COLOR");
    struct winsize size;
    if (!is_terminal) return style;
    style.colour = no_colour == NULL || no_colour[0] == '\0';
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        style.width = size.ws_col < 120 ? size.ws_col : 120;
    return style;
}

void output_remember(int argc, char **argv) {
    /* Open MPI gives its first rank a terminal, wherever its own output goes. */
    is_terminal = isatty(STDOUT_FILENO) && getenv("OMPI_COMM_WORLD_RANK") == NULL;
    if (argc > 1) running = argv[1];
    size_t used = (size_t)snprintf(invocation, sizeof invocation, "dpaudit");
    for (int i = 1; i < argc && used < sizeof invocation; ++i)
        used += (size_t)snprintf(invocation + used, sizeof invocation - used, " %s", argv[i]);
}

int write_file(const char *path, const char *text) {
    dpa_error err;
    if (dpa__file_write(path, text, strlen(text), &err) == DPA_OK) return 0;
    return library_error(&err);
}

static size_t text_size; /* the C library keeps it up to date until the stream is closed */

FILE *text_begin(char **text) {
    *text = NULL;
    return open_memstream(text, &text_size);
}

int text_end(FILE *stream, char **text) {
    const int is_bad = stream == NULL || ferror(stream) != 0;
    const int is_closed = stream != NULL && fclose(stream) == 0;
    if (!is_bad && is_closed && *text != NULL) return 0;
    (void)fprintf(stderr, "dpaudit %s: no memory for the output\n", running);
    free(*text);
    *text = NULL;
    return EXIT_FAILURE_RUNNING;
}

int write_by(const char *path, text_writer *write, const void *what) {
    char *text;
    if (path == NULL || path[0] == '\0') {
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

void json_text(FILE *out, const char *before, const char *text) {
    (void)fputs(before, out);
    (void)fputs(text != NULL ? "\"" : "null", out);
    for (const char *at = text; at != NULL && *at != '\0'; ++at) {
        const unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < ' ')
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    if (text != NULL) (void)fputc('"', out);
}

void json_number(FILE *out, const char *before, double value) {
    (void)fputs(before, out);
    if (isfinite(value))
        (void)fprintf(out, "%.17g", value);
    else
        (void)fputs("null", out);
}

static int json_on_stdout(const common_options *common) {
    return common->json != NULL && common->json[0] == '\0';
}

/* JSON or text on standard output. */
static int show(const dpa_report *report, const common_options *common, dpa_error *err) {
    char *text = NULL;
    const dpa_text_style style = terminal_style();
    const dpa_status status = json_on_stdout(common) ? dpa_report_json(report, &text, err)
                                                     : dpa_report_text(report, &style, &text, err);
    if (status != DPA_OK) return library_error(err);
    clock_stop();
    (void)fputs(text, stdout);
    dpa_free(text);
    return 0;
}

typedef dpa_status render(const dpa_report *report, char **out, dpa_error *err);

/* Does nothing if no file was named. */
static int write_as(render *as, const dpa_report *report, const char *path, dpa_error *err) {
    char *text = NULL;
    if (path == NULL) return 0;
    if (as(report, &text, err) != DPA_OK) return library_error(err);
    const int code = write_file(path, text);
    dpa_free(text);
    return code;
}

/* On a terminal, a report with several bounds also gets a small picture without being asked. */
static int wants_picture(const dpa_report *report, const common_options *common) {
    return common->plot || (!json_on_stdout(common) && is_terminal && dpa_report_count(report) > 1);
}

/* Prints the plot below the text, or on standard error if standard output holds JSON. */
static int show_plot(const dpa_report *report, const common_options *common, dpa_error *err) {
    char *text = NULL;
    dpa_text_style style = terminal_style();
    style.brief = !common->plot;
    if (dpa__report_plot(report, &style, &text, err) != DPA_OK) return library_error(err);
    (void)fputs(text, json_on_stdout(common) ? stderr : stdout);
    dpa_free(text);
    return 0;
}

static int write_charts(const dpa_report *report, const char *directory, dpa_error *err) {
    return dpa__report_vega(report, directory, err) == DPA_OK ? 0 : library_error(err);
}

int show_report(dpa_report *report, const common_options *common) {
    dpa_error err;
    int code = EXIT_FAILURE_RUNNING;
    if (dpa__report_invocation(report, invocation, &err) != DPA_OK)
        code = library_error(&err);
    else
        code = show(report, common, &err);
    if (code == 0 && common->json != NULL && !json_on_stdout(common))
        code = write_as(dpa_report_json, report, common->json, &err);
    if (code == 0 && wants_picture(report, common)) code = show_plot(report, common, &err);
    if (code == 0) code = write_as(dpa_report_html, report, common->report, &err);
    if (code == 0) code = write_as(dpa_report_junit, report, common->junit, &err);
    if (code == 0) code = write_as(dpa_report_sarif, report, common->sarif, &err);
    if (code == 0 && common->vega != NULL) code = write_charts(report, common->vega, &err);
    const dpa_state state = dpa_report_state(report);
    if (code == 0 && state == DPA_REFUTED) code = EXIT_REFUTED;
    if (code == 0 && state == DPA_INCONCLUSIVE) code = EXIT_INCONCLUSIVE;
    dpa_report_free(report);
    return code;
}

dpa_status protocol_asked(const common_options *common, dpa_protocol *protocol, dpa_claim *claim,
                          dpa_error *err) {
    *protocol = common->protocol;
    *claim = common->claim;
    return common->protocol_file == NULL
               ? DPA_OK
               : dpa_protocol_read(protocol, claim, common->protocol_file, err);
}

dpa_status judge_evidence(const dpa_evidence *evidence, const common_options *common,
                          dpa_report **out, dpa_error *err) {
    dpa_protocol protocol;
    dpa_claim claim;
    *out = NULL;
    DPA_TRY(protocol_asked(common, &protocol, &claim, err));
    protocol.plain =
        common->json == NULL && !common->plot && common->report == NULL && common->vega == NULL;
    return dpa_judge(evidence, &claim, &protocol, out, err);
}

int judge_and_show(dpa_evidence *evidence, const common_options *common) {
    dpa_report *report = NULL;
    dpa_error err = {0};
    const dpa_status status = judge_evidence(evidence, common, &report, &err);
    dpa__evidence_clear(evidence);
    return status == DPA_OK ? show_report(report, common) : library_error(&err);
}

int output_finish(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    (void)fprintf(stderr, "dpaudit: cannot write the result: %s\n", strerror(errno));
    return EXIT_FAILURE_RUNNING;
}
