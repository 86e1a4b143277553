/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts made from the command tables. */
#ifndef DPA_CLI_HELP_H
#define DPA_CLI_HELP_H

#include <stdio.h>

#include "options.h"

void help_overview(FILE *out);
void help_command(FILE *out, const command *cmd);
/* roff for dpaudit(1) (cmd NULL) or dpaudit-NAME(1). */
void man_page(FILE *out, const command *cmd);
/* Completion for "bash", "zsh" or "fish"; 0 when the shell is none of them. */
int completion_script(FILE *out, const char *shell);

/* Which method for whom. */
void help_choose(FILE *out);

#endif
