/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts generated from the command tables. */
#ifndef DPA_CLI_HELP_H
#define DPA_CLI_HELP_H

#include <stdio.h>

#include "options.h"

void help_overview(FILE *out);
void help_command(FILE *out, const command *cmd);
/* Prints examples, one command per line of the text, in lines of at most that width that can be
 * pasted into a shell. */
void help_examples(FILE *out, const char *text, int width);
/* roff for dpaudit(1) (cmd NULL) or dpaudit-NAME(1). */
void man_page(FILE *out, const command *cmd);
/* Completion for "bash", "zsh" or "fish"; 0 for other shells. */
int completion_script(FILE *out, const char *shell);

/* Which method for which situation. */
void help_choose(FILE *out);
void help_methods(FILE *out);

#endif
