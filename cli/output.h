/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the command prints: results on standard output, everything else on standard error. */
#ifndef DPA_CLI_OUTPUT_H
#define DPA_CLI_OUTPUT_H

#include "options.h"

enum {
    EXIT_STANDS = 0,
    EXIT_REFUTED = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_FAILURE_RUNNING = 4,
    EXIT_INCONCLUSIVE = 5
};

/* "dpaudit scores: …" and a pointer to the help; gives EXIT_USAGE. */
int usage_error(const command *cmd, const char *format, ...) DPA_PRINTF(2, 3);
/* 0, or EXIT_USAGE after an error: an output that is an input or another output. */
int check_files(const command *cmd, const void *options, const word_list *words);
/* A library error; gives its exit code. */
int library_error(const char *command_name, const dpa_error *err);
/* Text for people on a terminal: width, colour (NO_COLOR, not a terminal: plain). */
dpa_text_style terminal_style(void);
/* Shows a report as asked for and frees it: text or JSON. Gives the exit code: 1 when the claim is
 * refuted, 5 when the verdict is inconclusive. */
int show_report(dpa_report *report, const common_options *common);
/* Judges the evidence by the claim and the protocol of the command line (else by those that the
 * evidence carries), shows the report, frees the evidence. Gives the exit code. */
int judge_and_show(const command *cmd, dpa_evidence *evidence, const common_options *common);
/* The same up to the report. */
dpa_status judge_evidence(const dpa_evidence *evidence, const common_options *common,
                          dpa_report **out, dpa_error *err);
/* The whole text or nothing. 0, or an exit code after the error was printed. */
int write_file(const char *command_name, const char *path, const char *text);
/* The words the program was started with, for the provenance of reports. */
void output_remember(int argc, char **argv);
/* Flushes standard output; a failed write (full disk, closed pipe) turns `code` into
 * EXIT_FAILURE_RUNNING. */
int output_finish(int code);
/* Progress on standard error: nothing in the first two seconds, then what, how far, rate, time
 * left. Ctrl-C stops the call. */
dpa_progress progress_start(void);
void progress_end(void);
/* Elapsed time for commands that cannot count progress: on a terminal only, after two seconds,
 * until the first output. */
void clock_start(const char *command_name);
void clock_stop(void);

#endif
