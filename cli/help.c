/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, 80 columns wide. */
#include "help.h"

#include "estimate/scores.h"
#include "report/model/model.h"

#include <string.h>

enum { WIDTH = 79, OPTION_COLUMN = 26 };

/* Prints the words of one paragraph; see dpa__print_words. */
static void wrap(FILE *out, const char *text, size_t length, int column, int indent) {
    dpa__text words = {0};
    dpa__print_words(&words, text, length, WIDTH, column, indent);
    if (!words.failed) (void)fputs(words.data, out);
    dpa__text_free(&words);
}

static void paragraphs(FILE *out, const char *text) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        wrap(out, text, length, 0, 0);
        text += length + (text[length] == '\n');
    }
}

/* The width of a word; for an option, together with its value, so that both stay on one line. */
static int whole_word(const char *text) {
    const size_t word = strcspn(text, " \n");
    const char *next = text + word + (text[word] == ' ');
    const int is_value = text[word] == ' ' && strncmp(next, "--", 2) != 0 && *next != '&';
    const int is_option = strncmp(text, "--", 2) == 0;
    return (int)(is_option && is_value ? word + 1 + strcspn(next, " \n") : word);
}

/* Breaks a command that is too long for a line as a shell allows; a command after "&&" begins a
 * line. */
static void example(FILE *out, const char *text, size_t length, int width) {
    int column = 0;
    for (const char *end = text + length; text < end;) {
        const size_t word = strcspn(text, " \n");
        const int is_next = column > 0 && strncmp(text - 3, "&& ", 3) == 0;
        if (is_next || (column > 0 && column + 1 + whole_word(text) > width - 2)) {
            (void)fputs(is_next ? "\n      " : " \\\n      ", out);
            column = 6;
        } else {
            column += fprintf(out, "%s", column > 0 ? " " : "  ");
        }
        column += fprintf(out, "%.*s", (int)word, text);
        text += word + (text + word < end);
    }
    (void)fputc('\n', out);
}

void help_examples(FILE *out, const char *text, int width) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        example(out, text, length, width);
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
    int used = 0; /* columns, not bytes: "D1,D2,…" */
    for (const char *c = left; *c != '\0'; ++c) used += ((unsigned char)*c & 0xc0) != 0x80;
    (void)fputs(left, out);
    if (used >= OPTION_COLUMN)
        (void)fprintf(out, "\n%*s", OPTION_COLUMN, "");
    else
        (void)fprintf(out, "%*s", OPTION_COLUMN - used, "");
    wrap(out, o->help, strlen(o->help), OPTION_COLUMN, OPTION_COLUMN);
}

void help_command(FILE *out, const command *cmd) {
    char usage[256];
    (void)snprintf(usage, sizeof usage, "Usage: dpaudit %s%s%s [options]", cmd->name,
                   cmd->operands[0] != '\0' ? " " : "", cmd->operands);
    wrap(out, usage, strlen(usage), 0, 7);
    (void)fputc('\n', out);
    paragraphs(out, cmd->about);
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        if (o->type == OPTION_HEADING)
            (void)fprintf(out, "\n%s\n", o->help);
        else
            option_line(out, o);
    }
    if (cmd->examples[0] != '\0') {
        (void)fputs("\nExamples\n", out);
        help_examples(out, cmd->examples, WIDTH);
    }
}

/* The estimators of the registry, under the commands that take them. */
void help_methods(FILE *out) {
    static const struct {
        unsigned from;
        const char *title;
    } kinds[] = {
        {DPA_FROM_COUNTS, "counts, scores (by a threshold) and run"},
        {DPA_FROM_SCORES | DPA_FROM_ORDER, "scores and run"},
        {DPA_FROM_GUESSES, "one-run"},
        {DPA_FROM_COSINES, "cosines"},
        {DPA_FROM_LOSSES, "losses"},
    };
    (void)fputs("What --method takes, by command. docs/methods has a page about each.\n", out);
    unsigned before = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; before |= kinds[k++].from) {
        (void)fprintf(out, "\n%s\n", kinds[k].title);
        const dpa_estimator *e;
        for (size_t i = 0; (e = dpa__estimator_at(i)) != NULL; ++i) {
            char text[200];
            if (!(e->what & kinds[k].from) || (e->what & before)) continue;
            (void)snprintf(text, sizeof text, "%s%s%s%s", e->summary,
                           e->families[0] != '\0' ? " (" : "", e->families,
                           e->families[0] != '\0' ? ")" : "");
            (void)fprintf(out, "  %-*s", OPTION_COLUMN - 2, e->name);
            wrap(out, text, strlen(text), OPTION_COLUMN, OPTION_COLUMN);
        }
    }
}

/* The decision tree of `dpaudit help choose`; docs/compare.md says more. */
typedef struct choice {
    const char *have, *assume, *use, *gives;
} choice;

static const choice choices[] = {
    {"scores of independent runs or steps, with and without the target",
     "the mechanism is Gaussian-like", "dpaudit scores --family gaussian --method rank",
     "a bound; nothing is chosen, the whole sample is used"},
    {"the same scores", "nothing beyond (epsilon, delta)",
     "dpaudit scores --family dp --method scan", "a bound, smaller for the same runs"},
    {"only the four counts, the threshold fixed before", "Gaussian-like, or nothing",
     "dpaudit counts --method exact", "a bound"},
    {"the same counts", "Jeffreys priors on both rates", "dpaudit counts --method bayes",
     "a credible bound and a density; never 0, even without a leak"},
    {"one run, canaries put in by coins, and guesses", "the mechanism is Gaussian-like",
     "dpaudit one-run --family gaussian", "a bound"},
    {"the same run", "nothing beyond (epsilon, delta)", "dpaudit one-run --family dp", "a bound"},
    {"one run, scores of canaries in directions of their own",
     "the noise is independent from one direction to the next", "dpaudit one-run --method channels",
     "a bound near what as many separate runs would show"},
    {"one federated run, random canary directions", "the cosines are normal", "dpaudit cosines",
     "an estimate with its interval, for one attacker"},
    {"one released model, no canaries", "the losses are independent draws", "dpaudit losses",
     "a number about this model, not about the mechanism"},
    {"a mechanism and no evidence", "the implementation is right", "dpaudit account",
     "the claim itself, as an interval"},
    {"nothing yet", "a suspected leak", "dpaudit plan",
     "the size an audit needs, the leak it detects, the most it can show"},
};

void help_choose(FILE *out) {
    (void)fputs("Which method? The first that fits what you have and may assume.\n", out);
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; ++i)
        (void)fprintf(out,
                      "\n%zu. You have  %s\n   and assume %s\n   use        %s\n   gives      %s\n",
                      i + 1, choices[i].have, choices[i].assume, choices[i].use, choices[i].gives);
}

void help_overview(FILE *out) {
    (void)fputs("Usage: dpaudit COMMAND [arguments]\n\n"
                "How much privacy does a training pipeline really give? Evidence goes in; a lower\n"
                "bound on epsilon, its confidence and its assumptions come out.\n\n"
                "Commands\n",
                out);
    for (size_t i = 0; i < command_count(); ++i)
        (void)fprintf(out, "  %-12s %s\n", command_at(i)->name, command_at(i)->summary);
    (void)fputs("\ndpaudit help COMMAND says more about one; help choose: which one to take;\n"
                "help methods: every estimator; help settings: every key of experiment and\n"
                "training files.\n"
                "Exit: 0 no violation shown, 1 the claim is refuted, 2 usage, 3 bad input,\n"
                "4 a failure while running, 5 inconclusive.\n",
                out);
}
