/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a run, as text and as JSON. */
#ifndef DPA_CLI_STATUS_LINES_H
#define DPA_CLI_STATUS_LINES_H

#include <stdio.h>

#include "dpaudit/lab/run.h"

/* "running", "done", … */
const char *status_state(const dpa_run_status *status);
/* Prints one line; with `trials`, one more for each running trial. Returns the number of lines. */
int status_print(FILE *out, const dpa_run_status *status, int trials);
void status_print_json(FILE *out, const dpa_run_status *status);

/* Print JSON values: a quoted text, and a finite number or null. */
void json_put_text(FILE *out, const char *text);
void json_put_number(FILE *out, double value);

#endif
