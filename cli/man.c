/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Man pages from the command tables, made at build time. */
#include <stdlib.h>
#include <string.h>

#include "help.h"

enum { MAN_WIDTH = 72 }; /* man indents by seven columns */

/* Escapes backslashes, dashes, and dots and quotes at the start of a line, which mean something to
 * roff. */
static void roff_char(FILE *out, char c, int starts_line) {
    if (c == '\\')
        (void)fputs("\\e", out);
    else if (c == '-')
        (void)fputs("\\-", out);
    else
        (void)fprintf(out, starts_line && (c == '.' || c == '\'') ? "\\&%c" : "%c", c);
}

static void roff(FILE *out, const char *text) {
    int start = 1;
    for (; *text != '\0'; ++text) {
        roff_char(out, *text, start);
        start = *text == '\n';
    }
}

static void roff_examples(FILE *out, const char *examples) {
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (lines == NULL) return;
    help_examples(lines, examples, MAN_WIDTH);
    if (fclose(lines) == 0) roff(out, text);
    free(text);
}

static void title(FILE *out, const char *page, const char *summary) {
    (void)fprintf(out, ".TH \"%s\" 1 \"\" \"dpaudit %s\" \"dpaudit manual\"\n.SH NAME\n", page,
                  dpa_version());
    roff(out, page);
    (void)fputs(" \\- ", out);
    roff(out, summary);
    (void)fputs("\n", out);
}

static void options_section(FILE *out, const command *cmd) {
    (void)fputs(".SH OPTIONS\n", out);
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        if (o->type == OPTION_HEADING) {
            (void)fputs(".SS ", out);
            roff(out, o->help);
        } else {
            (void)fputs(".TP\n.B \\-\\-", out);
            roff(out, o->name);
            if (o->value != NULL) {
                (void)fputs(" \\fI", out);
                roff(out, o->value);
                (void)fputs("\\fR", out);
            }
            (void)fputc('\n', out);
            roff(out, o->help);
        }
        (void)fputc('\n', out);
    }
}

static void exit_section(FILE *out) {
    (void)fputs(".SH EXIT STATUS\n0: no violation shown. 1: the claim is refuted by a valid bound. "
                "2: usage. 3: bad input. 4: a failure while running. 5: inconclusive.\n",
                out);
}

static void paragraphs(FILE *out, const char *text) {
    int start = 1;
    for (; *text != '\0'; ++text) {
        if (*text == '\n')
            (void)fputs("\n.PP\n", out);
        else
            roff_char(out, *text, start);
        start = *text == '\n';
    }
    (void)fputc('\n', out);
}

static void command_page(FILE *out, const command *cmd) {
    char page[80];
    (void)snprintf(page, sizeof page, "dpaudit-%s", cmd->name);
    title(out, page, cmd->summary);
    (void)fprintf(out, ".SH SYNOPSIS\n.B dpaudit %s\n", cmd->name);
    roff(out, cmd->operands);
    (void)fputs(cmd->operands[0] != '\0' ? " " : "", out); /* a line that starts blank breaks */
    (void)fputs("[options]\n.SH DESCRIPTION\n", out);
    paragraphs(out, cmd->about);
    options_section(out, cmd);
    if (cmd->examples[0] != '\0') {
        (void)fputs(".SH EXAMPLES\n.nf\n", out);
        roff_examples(out, cmd->examples);
        (void)fputs(".fi\n", out);
    }
    exit_section(out);
    (void)fputs(".SH SEE ALSO\n.BR dpaudit (1), dpaudit-formats (5)\n", out);
}

void man_page(FILE *out, const command *cmd) {
    if (cmd != NULL) {
        command_page(out, cmd);
        return;
    }
    title(out, "dpaudit", "measure how much privacy a training pipeline really gives");
    (void)fputs(".SH SYNOPSIS\n.B dpaudit\nCOMMAND [arguments]\n.SH DESCRIPTION\nEvidence (attack "
                "scores, canary observations, losses, guesses, cosines) goes in; a lower bound on "
                "epsilon, its confidence, its assumptions and a verdict on the claimed epsilon "
                "come out.\n.SH COMMANDS\n",
                out);
    for (size_t i = 0; i < command_count(); ++i) {
        const command *each = command_at(i);
        (void)fprintf(out, ".TP\n.BR dpaudit-%s (1)\n", each->name);
        roff(out, each->summary);
        (void)fputc('\n', out);
    }
    exit_section(out);
}
