/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shell completion from the command tables. */
#include <string.h>

#include "help.h"

static void choice_words(FILE *out, const char *choices) {
    for (; *choices != '\0'; ++choices) (void)fputc(*choices == '|' ? ' ' : *choices, out);
}

static void command_names(FILE *out) {
    for (size_t i = 0; i < command_count(); ++i)
        (void)fprintf(out, "%s%s", i == 0 ? "" : " ", command_at(i)->name);
}

static int has_words(const option *o) {
    return o->type == OPTION_CHOICE || o->type == OPTION_WORD;
}

static int takes_value(const option *o) {
    return o->type != OPTION_HEADING && o->type != OPTION_FLAG && o->type != OPTION_SWITCH &&
           o->type != OPTION_OPTIONAL;
}

static int takes_file(const option *o) {
    return o->type == OPTION_FILE || o->type == OPTION_OUTPUT ||
           (o->value != NULL && strstr(o->value, "FILE") != NULL);
}

/* If the first operand is one of some words ("make|cosines"), the length of that list. */
static size_t operand_words(const command *cmd) {
    const size_t length = strcspn(cmd->operands, " ");
    return strchr("abcdefghijklmnopqrstuvwxyz", cmd->operands[0]) != NULL &&
                   memchr(cmd->operands, '|', length) != NULL
               ? length
               : 0;
}

/* What may follow an option: one of its words, a file, or a value that only the user knows. */
static void bash_values(FILE *out, const command *cmd) {
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        if (!takes_value(o)) continue;
        (void)fprintf(out, "    %s:--%s) ", cmd->name, o->name);
        if (has_words(o)) {
            (void)fputs("names=\"", out);
            choice_words(out, o->value);
            (void)fputs("\" ", out);
        } else if (takes_file(o)) {
            (void)fputs("files=1 ", out);
        }
        (void)fputs(";;\n", out);
    }
}

static void bash_command(FILE *out, const command *cmd) {
    const size_t words = operand_words(cmd);
    bash_values(out, cmd);
    (void)fprintf(out, "    %s:*) case \"$word\" in -*) names=\"--help ", cmd->name);
    for (const option *o = cmd->options; o->name != NULL; ++o)
        if (o->type != OPTION_HEADING) (void)fprintf(out, "--%s ", o->name);
    (void)fputs("\" ;; *) files=1", out);
    if (words > 0) {
        (void)fputs("; [ \"$COMP_CWORD\" -eq 2 ] && files=0 names=\"", out);
        for (size_t i = 0; i < words; ++i)
            (void)fputc(cmd->operands[i] == '|' ? ' ' : cmd->operands[i], out);
        (void)fputs("\"", out);
    }
    (void)fputs(" ;; esac ;;\n", out);
}

/* Bash splits --option=value into three words. */
static void bash(FILE *out) {
    (void)fputs("_dpaudit() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local names=\"\" files=0\n"
                "    if [ \"$word\" = = ]; then word=\"\"\n"
                "    elif [ \"$last\" = = ]; then last=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        names=\"",
                out);
    command_names(out);
    (void)fputs(
        " help completion --help --version\"\n"
        "    else case \"${COMP_WORDS[1]}:$last\" in\n    help:*) names=\"choose methods settings ",
        out);
    command_names(out);
    (void)fputs("\" ;;\n    completion:*) names=\"bash zsh fish\" ;;\n", out);
    for (size_t i = 0; i < command_count(); ++i) bash_command(out, command_at(i));
    (void)fputs("    esac; fi\n"
                "    COMPREPLY=($(compgen -W \"$names\" -- \"$word\"))\n"
                "    [ $files = 1 ] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
                "    return 0\n"
                "}\ncomplete -o filenames -F _dpaudit dpaudit\n",
                out);
}

/* Leaves out quotes, which would end a zsh or fish string. */
static void plain(FILE *out, const char *text) {
    for (; *text != '\0'; ++text)
        if (strchr("'[]:\\", *text) == NULL) (void)fputc(*text, out);
}

static void zsh(FILE *out) {
    (void)fputs("#compdef dpaudit\n_dpaudit() {\n    if (( CURRENT == 2 )); then\n"
                "        local -a names=(\n",
                out);
    for (size_t i = 0; i < command_count(); ++i) {
        const command *cmd = command_at(i);
        (void)fprintf(out, "            '%s:", cmd->name);
        plain(out, cmd->summary);
        (void)fputs("'\n", out);
    }
    (void)fputs("        )\n        _describe command names\n        return\n    fi\n"
                "    case $words[2] in\n",
                out);
    for (size_t i = 0; i < command_count(); ++i) {
        const command *cmd = command_at(i);
        (void)fprintf(out, "    %s) _arguments", cmd->name);
        for (const option *o = cmd->options; o->name != NULL; ++o) {
            if (o->type == OPTION_HEADING) continue;
            (void)fprintf(out, " \\\n        '%s--%s[", o->type == OPTION_LIST ? "*" : "", o->name);
            plain(out, o->help);
            (void)fputs("]", out);
            if (has_words(o)) {
                (void)fputs(":word:(", out);
                choice_words(out, o->value);
                (void)fputs(")", out);
            } else if (o->type == OPTION_FILE || o->type == OPTION_OUTPUT)
                (void)fputs(":file:_files", out);
            else if (takes_value(o))
                (void)fputs(":value:", out);
            (void)fputs("'", out);
        }
        (void)fputs(" \\\n        '*:file:_files' ;;\n", out);
    }
    (void)fputs("    esac\n}\n_dpaudit \"$@\"\n", out);
}

static void fish(FILE *out) {
    for (size_t i = 0; i < command_count(); ++i) {
        const command *cmd = command_at(i);
        (void)fprintf(out, "complete -c dpaudit -n __fish_use_subcommand -a %s -d '", cmd->name);
        plain(out, cmd->summary);
        (void)fputs("'\n", out);
        for (const option *o = cmd->options; o->name != NULL; ++o) {
            if (o->type == OPTION_HEADING) continue;
            (void)fprintf(out, "complete -c dpaudit -n '__fish_seen_subcommand_from %s' -l %s",
                          cmd->name, o->name);
            if (has_words(o)) {
                (void)fputs(" -x -a '", out);
                choice_words(out, o->value);
                (void)fputs("'", out);
            } else if (takes_value(o))
                (void)fputs(" -r", out);
            (void)fputs(" -d '", out);
            plain(out, o->help);
            (void)fputs("'\n", out);
        }
    }
}

int completion_script(FILE *out, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        bash(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out);
    else if (strcmp(shell, "fish") == 0)
        fish(out);
    else
        return 0;
    return 1;
}
