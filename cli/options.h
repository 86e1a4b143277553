/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands and their options as tables: parsing, help, completion and man pages all come from them.
 */
#ifndef DPA_CLI_OPTIONS_H
#define DPA_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/dpaudit.h"
#include "dpaudit/lab.h"
#include "judge/judge.h"

typedef enum option_type {
    OPTION_HEADING,  /* not an option: its help is the heading of a group */
    OPTION_FLAG,     /* int, set to 1 */
    OPTION_NUMBER,   /* double */
    OPTION_COUNT,    /* uint64_t or size_t; 1e6 is understood */
    OPTION_TEXT,     /* const char * */
    OPTION_FILE,     /* const char *, completed with file names */
    OPTION_OUTPUT,   /* the same for an output file, which must not be one of the inputs */
    OPTION_CHOICE,   /* const char *, one of the words in `value`: "a|b|c" */
    OPTION_WORD,     /* the same for an enum, whose values are the words in their order */
    OPTION_OPTIONAL, /* const char *, "" without a value; --name=FILE, or a next word that ends in
                        ".name" */
    OPTION_LIST,     /* word_list; may be given many times */
    OPTION_NUMBERS,  /* number_list: "1e-5,1e-6" */
    OPTION_PROTOCOL, /* dpa_protocol: the field of this name */
    OPTION_SWITCH,   /* dpa_protocol: the same for a field that takes no value */
    OPTION_CLAIM     /* dpa_claim: the field of this name */
} option_type;

typedef struct word_list {
    const char **items;
    size_t count;
} word_list;

typedef struct number_list {
    double *items;
    size_t count;
} number_list;

typedef struct option {
    const char *name; /* NULL ends the table; "" in a heading */
    option_type type;
    const char *value; /* the help's name for the value; for a choice, its words */
    const char *help;
    size_t offset; /* of the field in the command's options struct */
} option;

typedef struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* "MEMBERS NONMEMBERS"; "" for none */
    const char *about;    /* paragraphs, one per line */
    const char *examples; /* command lines, one per line; the tests run them */
    const option *options;
    size_t size;                 /* of the options struct */
    size_t words[2];             /* the fewest and the most operands */
    void (*init)(void *options); /* sets defaults other than zero; NULL: there are none */
    int (*run)(void *options, const word_list *words);
    int has_clock; /* may take long without a progress count: see clock_start */
} command;

size_t command_count(void);
const command *command_at(size_t index);
const command *command_find(const char *name); /* NULL if there is no such command */

/* Options of every command that gives bounds: `common`, the first member of its options struct. */
typedef struct common_options {
    dpa_protocol protocol;
    dpa_claim claim;
    const char *protocol_file;
    const char *json, *report, *vega, *junit, *sarif;
    int plot;
} common_options;
void common_init(void *common);

#define HEADING(text)                                                                              \
    { "", OPTION_HEADING, NULL, text, 0 }
#define REQUEST_OPTION(type, name, value, help)                                                    \
    { name, OPTION_PROTOCOL, value, help, offsetof(type, common.protocol) }
#define REQUEST_SWITCH(type, name, help)                                                           \
    { name, OPTION_SWITCH, NULL, help, offsetof(type, common.protocol) }
#define CLAIM_OPTION(type, name, value, help)                                                      \
    { name, OPTION_CLAIM, value, help, offsetof(type, common.claim) }

/* Groups of common options, from which a command composes its table. */
#define DELTA_OPTIONS(type)                                                                        \
    REQUEST_OPTION(type, "delta", "D", "delta of the guarantee (default 1e-5)")
#define CONFIDENCE_OPTIONS(type)                                                                   \
    REQUEST_OPTION(type, "confidence", "P", "confidence of the statement (default 0.95)"),         \
        REQUEST_SWITCH(type, "one-sided", "a lower bound (default)"),                              \
        REQUEST_SWITCH(type, "two-sided", "an interval")
#define CLAIM_OPTIONS(type)                                                                        \
    CLAIM_OPTION(type, "claim-epsilon", "E", "the promised epsilon: exit 1 when it is refuted"),   \
        CLAIM_OPTION(type, "claim-delta", "D", "its delta (default: --delta)"),                    \
        CLAIM_OPTION(type, "claim-sigma", "S", "the claim as a noise multiplier instead …"),       \
        CLAIM_OPTION(type, "claim-q", "Q", "… with this sampling rate (default 1)"),               \
        CLAIM_OPTION(type, "claim-steps", "T", "… and so many steps (default 1)"),                 \
        CLAIM_OPTION(type, "claim-curve", "FILE", "the claim as a trade-off curve (fpr,fnr)"),     \
        CLAIM_OPTION(type, "claim-scope", "training|step|participation",                           \
                     "what the claim is about (default training)"),                                \
        CLAIM_OPTION(type, "neighbours", "add-remove|replace-one",                                 \
                     "how neighbouring data sets differ (default add-remove)")
/* The test that decides, and the effect it must be able to detect. */
#define PROTOCOL_OPTIONS(type)                                                                     \
    {"protocol", OPTION_FILE, "FILE", "decide by the test that plan --write-protocol registered",  \
     offsetof(type, common.protocol_file)},                                                        \
        REQUEST_OPTION(type, "must-detect", "E",                                                   \
                       "inconclusive (exit 5) unless this epsilon would have been detected"),      \
        REQUEST_OPTION(type, "decide", "confidence|posterior",                                     \
                       "what decides: a bound (default), or a posterior probability, as the "      \
                       "headline then says"),                                                      \
        REQUEST_SWITCH(type, "all", "every row, not only the first six")
#define FAMILY_OPTIONS(type)                                                                       \
    REQUEST_OPTION(type, "family", "F",                                                            \
                   "dp, gaussian, laplace, subsampled-gaussian:q=Q,steps=T, points:FILE, "         \
                   "pair:FILE or ledger:FILE (default: dp decides, others are shown; several "     \
                   "joined by + share the error)")
/* Of the commands about rates. */
#define RATES_OPTIONS(type)                                                                        \
    REQUEST_OPTION(type, "at-epsilon", "E", "also a lower bound on delta at this epsilon"),        \
        REQUEST_SWITCH(type, "curve", "also the bounds at other deltas (in the JSON)"),            \
        REQUEST_SWITCH(type, "explain", "say why the bound is what it is and what would raise it")
#define SEED_OPTIONS(type)                                                                         \
    REQUEST_OPTION(type, "seed", "N", "seed of everything random (default 1)"),                    \
        REQUEST_OPTION(type, "threads", "N", "threads (default: one per core)")
#define OUTPUT_OPTIONS(type)                                                                       \
    {"json", OPTION_OPTIONAL, "FILE.json",                                                         \
     "JSON on standard output; with FILE.json into that file, beside the text",                    \
     offsetof(type, common.json)},                                                                 \
        {"report", OPTION_OUTPUT, "FILE.html", "also write a page for the browser",                \
         offsetof(type, common.report)},                                                           \
        {"vega", OPTION_OUTPUT, "DIR", "also write each chart of that page as DIR/NAME.vl.json",   \
         offsetof(type, common.vega)},                                                             \
        {"junit", OPTION_OUTPUT, "FILE.xml", "also write the verdict as a test, for CI systems",   \
         offsetof(type, common.junit)},                                                            \
        {"sarif", OPTION_OUTPUT, "FILE.sarif", "also write it as a finding, for code hosts",       \
         offsetof(type, common.sarif)},                                                            \
    {                                                                                              \
        "plot", OPTION_FLAG, NULL, "also small plots in the terminal", offsetof(type, common.plot) \
    }
#define END_OPTIONS                                                                                \
    { NULL, OPTION_FLAG, NULL, NULL, 0 }

/* Parses argv[0…argc) into `options` and the operands, which point into argv. Returns 0, or an exit
 * code after printing the error. */
int options_parse(const command *cmd, int argc, char **argv, void *options, word_list *words);
void words_free(word_list *words);
/* Frees the lists inside the options. */
void options_free(const command *cmd, void *options);

/* Levenshtein distance of short words, to suggest a correction for a misspelt one. */
size_t word_distance(const char *a, const char *b);
/* Parses the whole word as a count; returns 0 if it is none. */
int parse_count(const char *text, uint64_t *out);
/* Appends the numbers of "1e-5,1e-6"; returns where the first that is none begins, NULL if all are.
 */
const char *parse_numbers(const char *text, number_list *out);

#endif
