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

static void bash(FILE *out) {
    (void)fputs("_dpaudit() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local names=\"\" files=1\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        names=\"",
                out);
    command_names(out);
    (void)fputs("\" files=0\n    else case \"${COMP_WORDS[1]}:$last\" in\n", out);
    for (size_t i = 0; i < command_count(); ++i)
        for (const option *o = command_at(i)->options; o->name != NULL; ++o)
            if (o->type == OPTION_CHOICE) {
                (void)fprintf(out, "    %s:--%s) names=\"", command_at(i)->name, o->name);
                choice_words(out, o->value);
                (void)fputs("\" files=0 ;;\n", out);
            }
    for (size_t i = 0; i < command_count(); ++i) {
        const command *cmd = command_at(i);
        (void)fprintf(out, "    %s:*) names=\"", cmd->name);
        for (const option *o = cmd->options; o->name != NULL; ++o)
            if (o->type != OPTION_HEADING) (void)fprintf(out, "--%s ", o->name);
        (void)fputs("\" ;;\n", out);
    }
    (void)fputs("    esac; fi\n"
                "    COMPREPLY=($(compgen -W \"$names\" -- \"$word\"))\n"
                "    case \"$word\" in -*) ;; *) [ $files = 1 ] && "
                "COMPREPLY+=($(compgen -f -- \"$word\")) ;; esac\n"
                "}\ncomplete -o filenames -F _dpaudit dpaudit\n",
                out);
}

/* Quotes end a zsh or fish string: leave them out of descriptions. */
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
            if (o->type == OPTION_CHOICE) {
                (void)fputs(":word:(", out);
                choice_words(out, o->value);
                (void)fputs(")", out);
            } else if (o->type == OPTION_FILE)
                (void)fputs(":file:_files", out);
            else if (o->type != OPTION_FLAG && o->type != OPTION_SWITCH &&
                     o->type != OPTION_OPTIONAL)
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
            if (o->type == OPTION_CHOICE) {
                (void)fputs(" -x -a '", out);
                choice_words(out, o->value);
                (void)fputs("'", out);
            } else if (o->type != OPTION_FLAG && o->type != OPTION_SWITCH &&
                       o->type != OPTION_OPTIONAL)
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
