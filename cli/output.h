/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of the command: results on standard output, everything else on standard error. Errors name
 * the command that was remembered. */
#ifndef DPA_CLI_OUTPUT_H
#define DPA_CLI_OUTPUT_H

#include <stdio.h>

#include "options.h"

enum {
    EXIT_STANDS = 0,
    EXIT_REFUTED = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_FAILURE_RUNNING = 4,
    EXIT_INCONCLUSIVE = 5,
    EXIT_MORE_TO_DO = 75 /* stopped on request, or trials are missing; the same command continues */
};

/* Prints "dpaudit scores: …" and a pointer to the help; returns EXIT_USAGE. */
int usage_error(const char *format, ...) DPA_PRINTF(1, 2);
/* Says that memory ran out, which is no mistake of the user; returns that exit code. */
int out_of_memory(void);
/* Returns EXIT_USAGE after an error if an output is also an input or another output; else 0. */
int check_files(const command *cmd, const void *options, const word_list *words);
/* Prints an error of the library; returns its exit code. */
int library_error(const dpa_error *err);
/* Width and colour for text on a terminal (plain if NO_COLOR is set or it is not a terminal). */
dpa_text_style terminal_style(void);
/* Shows a report as text or JSON, as asked for, and frees it. Returns the exit code: 1 if the claim
 * is refuted, 5 if the verdict is inconclusive. */
int show_report(dpa_report *report, const common_options *common);
/* Judges the evidence by the claim and the protocol of the command line (or else by those that the
 * evidence carries), shows the report and frees the evidence. Returns the exit code. */
int judge_and_show(dpa_evidence *evidence, const common_options *common);
/* Only judges: returns the report without showing it. */
dpa_status judge_evidence(const dpa_evidence *evidence, const common_options *common,
                          dpa_report **out, dpa_error *err);
/* Gives the protocol and the claim of the options, with those of the file of --protocol. */
dpa_status protocol_asked(const common_options *common, dpa_protocol *protocol, dpa_claim *claim,
                          dpa_error *err);
/* Writes the whole text or nothing. Returns 0, or an exit code after printing the error. */
int write_file(const char *path, const char *text);
/* A stream to collect a text in memory, NULL without memory; text_end closes it. Nothing of it may
 * be used unless text_end returns 0; otherwise it has printed the error and returns the exit code.
 * The caller frees *text. */
FILE *text_begin(char **text);
int text_end(FILE *stream, char **text);
/* Prints the text of a page as PDF into the file, by the installed Chromium. Returns 0, or an exit
 * code after printing the error. */
int pdf_print(const char *page, const char *path);
/* Makes a folder unless it is there. */
dpa_status folder_make(const char *folder, dpa_error *err);
/* Writes what `write` prints to the file, completely or not at all, or to standard output if `path`
 * is NULL or "". Returns an exit code. */
typedef void text_writer(FILE *out, const void *what);
int write_by(const char *path, text_writer *write, const void *what);
/* Print parts of JSON: what comes before, and a quoted text (NULL: null), or a number (null unless
 * it is finite). */
void json_text(FILE *out, const char *before, const char *text);
void json_number(FILE *out, const char *before, double value);
/* Remembers the command line for the provenance of reports. */
void output_remember(int argc, char **argv);
/* Flushes standard output; a failed write (full disk, closed pipe) turns `code` into
 * EXIT_FAILURE_RUNNING. */
int output_finish(int code);
/* Seconds of a clock that is never set. */
double now(void);
/* Prints three digits and never a power of ten: 0.12, 12.3, 1230000. */
void print_about(FILE *out, double value);
/* 95 s, 12 min, 3.4 h, 2.1 days */
void print_duration(FILE *out, double seconds);
/* Progress on standard error: nothing in the first two seconds, then the activity, how far, rate
 * and time left. Ctrl-C makes the library call stop. */
dpa_progress progress_start(void);
void progress_end(void);
/* Elapsed time for commands that cannot count progress: on a terminal only, after two seconds,
 * until the first output. */
void clock_start(const char *command_name);
void clock_stop(void);

#endif
