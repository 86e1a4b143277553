/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, 80 columns wide. */
#include "help.h"

#include <string.h>

enum { WIDTH = 79, OPTION_COLUMN = 26 };

/* Words of one paragraph, wrapped, each line after the first indented. `column` is where the pen
 * stands. */
static void wrap(FILE *out, const char *text, size_t length, int column, int indent) {
    int first = 1;
    for (const char *end = text + length; text < end;) {
        size_t word = 0;
        int shown = 0;
        for (; text + word < end && text[word] != ' '; ++word)
            shown += ((unsigned char)text[word] & 0xc0) != 0x80;
        if (!first && column + 1 + shown > WIDTH) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            (void)fputc(' ', out);
            ++column;
        }
        (void)fwrite(text, 1, word, out);
        column += shown;
        first = 0;
        text += word;
        while (text < end && *text == ' ') ++text;
    }
    (void)fputc('\n', out);
}

static void paragraphs(FILE *out, const char *text) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        wrap(out, text, length, 0, 0);
        text += length + (text[length] == '\n');
    }
}

static void lines(FILE *out, const char *text) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        (void)fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void option_line(FILE *out, const option *o) {
    char left[80];
    const int optional = o->type == OPTION_OPTIONAL;
    const int bare = o->type == OPTION_FLAG || o->type == OPTION_SWITCH;
    (void)snprintf(left, sizeof left, "  --%s%s%s%s", o->name,
                   bare       ? ""
                   : optional ? "[="
                              : " ",
                   bare ? "" : o->value, optional ? "]" : "");
    const int used = fprintf(out, "%s", left);
    if (used >= OPTION_COLUMN)
        (void)fprintf(out, "\n%*s", OPTION_COLUMN, "");
    else
        (void)fprintf(out, "%*s", OPTION_COLUMN - used, "");
    wrap(out, o->help, strlen(o->help), OPTION_COLUMN, OPTION_COLUMN);
}

void help_command(FILE *out, const command *cmd) {
    (void)fprintf(out, "Usage: dpaudit %s%s%s [options]\n\n", cmd->name,
                  cmd->operands[0] != '\0' ? " " : "", cmd->operands);
    paragraphs(out, cmd->about);
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        if (o->type == OPTION_HEADING)
            (void)fprintf(out, "\n%s\n", o->help);
        else
            option_line(out, o);
    }
    if (cmd->examples[0] != '\0') {
        (void)fputs("\nExamples\n", out);
        lines(out, cmd->examples);
    }
}

void help_overview(FILE *out) {
    (void)fputs("Usage: dpaudit COMMAND [arguments]\n\n"
                "How much privacy does a training pipeline really give? Evidence goes in; a lower\n"
                "bound on epsilon, its confidence and its assumptions come out.\n\n"
                "Commands\n",
                out);
    for (size_t i = 0; i < command_count(); ++i)
        (void)fprintf(out, "  %-12s %s\n", command_at(i)->name, command_at(i)->summary);
    (void)fputs("\ndpaudit help COMMAND says more about one; help choose: which one to take.\n"
                "Exit: 0 no violation shown, 1 the claim is refuted, 2 usage, 3 bad input,\n"
                "4 a failure while running.\n",
                out);
}
