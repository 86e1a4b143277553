/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses options by table. Every error names the option, what was found and what would be right; a
 * misspelt option is answered with the nearest one. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "output.h"

int parse_count(const char *text, uint64_t *out) {
    double number = 0;
    if (!dpa__number_whole(text, &number) || number < 0 || number != floor(number)) return 0;
    if (number < 0x1p53) {
        *out = (uint64_t)number;
        return 1;
    }
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10); /* beyond 2^53 only plain digits are exact */
    return *end == '\0' && errno != ERANGE;
}

const char *parse_numbers(const char *text, number_list *out) {
    for (;; ++text) {
        const char *at = text, *end = text + strcspn(text, ",");
        double *grown = realloc(out->items, (out->count + 1) * sizeof *grown), value = NAN;
        if (grown == NULL) return text;
        out->items = grown;
        /* nan means "not given" in the options */
        if (dpa__number_parse(&at, end, &value) != DPA__NUMBER_OK || at != end || isnan(value))
            return text;
        grown[out->count++] = value;
        text = end;
        if (*text == '\0') return NULL;
    }
}

static size_t smallest(size_t a, size_t b, size_t c) {
    const size_t m = a < b ? a : b;
    return m < c ? m : c;
}

size_t word_distance(const char *a, const char *b) {
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    const size_t n = strlen(b);
    if (n > LONGEST || strlen(a) > LONGEST) return LONGEST;
    for (size_t j = 0; j <= n; ++j) row[j] = j;
    for (size_t i = 0; a[i] != '\0'; ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; ++j) {
            const size_t above = row[j + 1];
            row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[n];
}

static const option *find(const command *cmd, const char *name, size_t length) {
    for (const option *o = cmd->options; o->name != NULL; ++o)
        if (o->type != OPTION_HEADING && strlen(o->name) == length &&
            strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* The number of the word in "a|b|c"; -1 if it is none of them. */
static int choice_of(const char *words, const char *value) {
    for (int index = 0;; ++index) {
        const size_t length = strcspn(words, "|");
        if (strlen(value) == length && strncmp(words, value, length) == 0) return index;
        if (words[length] == '\0') return -1;
        words += length + 1;
    }
}

/* Words that other tools and the papers use for our options. Of the names listed, the first that
 * the command has is suggested. */
static const option *find_by_meaning(const command *cmd, const char *word) {
    enum { NAMES = 4 };
    static const struct {
        const char *words;
        const char *names[NAMES];
    } known[] = {
        {"eps|epsilon|claim|claimed-epsilon|claimed|promise|promised-epsilon|budget|target-epsilon",
         {"claim-epsilon", "epsilon", "leak"}},
        {"noise|noise-multiplier|sigma|claimed-sigma", {"claim-sigma", "sigma"}},
        {"sample-rate|sampling-rate|sampling|rate|q|p", {"claim-q", "q"}},
        {"iterations|rounds|epochs|steps|t", {"claim-steps", "steps", "rounds"}},
        {"alpha|level|conf|credibility|significance", {"confidence"}},
        {"d|target-delta", {"delta", "claim-delta"}},
        {"html|page|web|browser", {"report"}},
        {"output|save|file|to|write", {"out", "output", "report", "json"}},
        {"format|machine|raw", {"json"}},
        {"jobs|cores|cpus|processes|parallel|j", {"workers", "threads"}},
        {"chart|charts|graph|ascii", {"plot"}},
        {"n|samples|runs|trials", {"size", "observations", "canaries"}},
        {"detect|min-detect|minimum|require", {"must-detect"}},
        {"mechanism|distribution|curve", {"family", "claim-curve"}},
        {"estimator|test|bound", {"method"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (choice_of(known[i].words, word) < 0) continue;
        for (size_t k = 0; k < NAMES && known[i].names[k] != NULL; ++k) {
            const option *o = find(cmd, known[i].names[k], strlen(known[i].names[k]));
            if (o != NULL) return o;
        }
    }
    return NULL;
}

static const option *find_by_spelling(const command *cmd, const char *word) {
    const option *nearest = NULL;
    size_t best = strlen(word) < 4 ? 2 : 4; /* a greater distance is not a misspelling */
    for (const option *o = cmd->options; o->name != NULL; ++o)
        if (o->type != OPTION_HEADING && word_distance(word, o->name) < best) {
            best = word_distance(word, o->name);
            nearest = o;
        }
    return nearest;
}

static int unknown_option(const command *cmd, const char *name) {
    const option *meant = find_by_meaning(cmd, name);
    if (meant == NULL) meant = find_by_spelling(cmd, name);
    if (meant != NULL)
        return usage_error("there is no option --%s; did you mean --%s?", name, meant->name);
    return usage_error("there is no option --%s", name);
}

static int push(word_list *list, const char *word) {
    const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (grown == NULL) return 0;
    grown[list->count++] = word;
    list->items = grown;
    return 1;
}

void common_init(void *options) {
    common_options *common = options;
    dpa__protocol_init(&common->protocol);
    dpa_claim_init(&common->claim);
}

static int store_field(const option *o, const char *value, void *field) {
    dpa_error err;
    const dpa_status status = o->type == OPTION_CLAIM
                                  ? dpa_claim_set(field, o->name, value, &err)
                                  : dpa_protocol_set(field, o->name, value, &err);
    return status == DPA_OK ? 0 : usage_error("--%s", err.text);
}

/* `value` is NULL for options that take none. */
static int store(const option *o, const char *value, void *options) {
    void *field = (char *)options + o->offset;
    const char *wrong;
    uint64_t count;
    int choice;
    switch (o->type) {
    case OPTION_FLAG:
        *(int *)field = 1;
        return 0;
    case OPTION_SWITCH:
    case OPTION_PROTOCOL:
    case OPTION_CLAIM:
        return store_field(o, value, field);
    case OPTION_NUMBER:
        if (dpa__number_whole(value, field)) return 0;
        return usage_error("--%s: '%s' is not a number", o->name, value);
    case OPTION_COUNT:
        if (parse_count(value, &count)) {
            memcpy(field, &count, sizeof count);
            return 0;
        }
        return usage_error("--%s: '%s' is not a whole number from 0 to 2^64-1 (in plain digits "
                           "from 2^53 on)",
                           o->name, value);
    case OPTION_CHOICE:
    case OPTION_WORD:
        choice = choice_of(o->value, value);
        if (choice < 0) return usage_error("--%s: '%s' is not one of %s", o->name, value, o->value);
        if (o->type == OPTION_WORD)
            memcpy(field, &choice, sizeof choice);
        else
            *(const char **)field = value;
        return 0;
    case OPTION_NUMBERS:
        ((number_list *)field)->count = 0;
        wrong = parse_numbers(value, field);
        if (wrong == NULL) return 0;
        return usage_error("--%s: '%.*s' is not a number", o->name, (int)strcspn(wrong, ","),
                           wrong);
    case OPTION_LIST:
        if (push(field, value)) return 0;
        return out_of_memory();
    default:
        *(const char **)field = value;
        return 0;
    }
}

static int ends_in_name(const char *word, const char *name) {
    const size_t w = strlen(word), n = strlen(name);
    return w > n + 1 && word[w - n - 1] == '.' && strcmp(word + w - n, name) == 0;
}

/* Parses the option at argv[*at] and moves *at past its value. -o is short for --out. */
static int parse_option(const command *cmd, int argc, char **argv, int *at, void *options) {
    const char *name = strcmp(argv[*at], "-o") == 0 ? "out" : argv[*at] + 2;
    const size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const option *o = find(cmd, name, length);
    if (o == NULL) {
        char bare[80];
        (void)snprintf(bare, sizeof bare, "%.*s", (int)(length < 72 ? length : 72), name);
        return unknown_option(cmd, bare);
    }
    if (o->type == OPTION_FLAG || o->type == OPTION_SWITCH) {
        if (value != NULL) return usage_error("--%s takes no value", o->name);
        return store(o, NULL, options);
    }
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (o->type == OPTION_OPTIONAL && value == NULL) {
        if (next == NULL || !ends_in_name(next, o->name)) return store(o, "", options);
    }
    if (value == NULL) {
        if (next == NULL) return usage_error("--%s needs a value (%s)", o->name, o->value);
        value = next;
        ++*at;
    }
    return store(o, value, options);
}

int options_parse(const command *cmd, int argc, char **argv, void *options, word_list *words) {
    int only_words = 0;
    for (int at = 0; at < argc; ++at) {
        const char *word = argv[at];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = 1;
        } else if (!only_words && (strncmp(word, "--", 2) == 0 || strcmp(word, "-o") == 0)) {
            const int failed = parse_option(cmd, argc, argv, &at, options);
            if (failed) return failed;
        } else if (!only_words && word[0] == '-' && word[1] != '\0') {
            return usage_error("'%s': options start with two dashes", word);
        } else if (!push(words, word)) {
            return out_of_memory();
        }
    }
    if (words->count < cmd->words[0]) return usage_error("needs %s", cmd->operands);
    if (words->count > cmd->words[1])
        return usage_error("'%s' is one argument too many", words->items[cmd->words[1]]);
    return 0;
}

void words_free(word_list *words) {
    free(words->items);
    *words = (word_list){0};
}

void options_free(const command *cmd, void *options) {
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        void *field = (char *)options + o->offset;
        if (o->type == OPTION_LIST) words_free(field);
        if (o->type == OPTION_NUMBERS) free(((number_list *)field)->items);
    }
}

/* ---- files that would be overwritten ---- */

enum { MOST = 64, LONGEST = 4096 };

typedef struct place {
    const char *path, *option; /* option is "" for an operand */
    dev_t device;
    ino_t number;
    const char *name; /* NULL: the file exists, and device and inode are its own */
    int is_output;
} place;

typedef struct places {
    place items[MOST];
    size_t count;
} places;

/* Returns 0 if nothing can be overwritten there. */
static int find_place(const char *path, place *out) {
    char folder[LONGEST] = ".";
    struct stat what;
    if (path == NULL || path[0] == '\0' || strcmp(path, "-") == 0) return 0;
    if (stat(path, &what) == 0) {
        if (!S_ISREG(what.st_mode)) return 0;
    } else {
        const char *slash = strrchr(path, '/');
        const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
        if (length >= sizeof folder) return 0;
        if (length > 0) (void)snprintf(folder, sizeof folder, "%.*s", (int)length, path);
        if (stat(folder, &what) != 0) return 0;
        out->name = slash != NULL ? slash + 1 : path;
    }
    out->path = path;
    out->device = what.st_dev;
    out->number = what.st_ino;
    return 1;
}

static void add_place(places *all, const char *path, const char *option_name, int is_output) {
    place p = {.option = option_name, .is_output = is_output};
    if (all->count < MOST && find_place(path, &p)) all->items[all->count++] = p;
}

static int is_same(const place *a, const place *b) {
    if (a->device != b->device || a->number != b->number) return 0;
    if (a->name == NULL || b->name == NULL) return a->name == b->name;
    return strcmp(a->name, b->name) == 0;
}

static void collect(const command *cmd, const void *options, const word_list *words, places *all) {
    for (size_t i = 0; i < words->count; ++i) add_place(all, words->items[i], "", 0);
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        const void *field = (const char *)options + o->offset;
        const word_list *list = field;
        if (o->type == OPTION_LIST)
            for (size_t i = 0; i < list->count; ++i) add_place(all, list->items[i], o->name, 0);
        else if (o->type == OPTION_FILE || o->type == OPTION_OUTPUT || o->type == OPTION_OPTIONAL)
            add_place(all, *(const char *const *)field, o->name, o->type != OPTION_FILE);
    }
}

/* No output may overwrite an input or another output. Existing files are compared by device and
 * inode, so that links and different spellings of a name are recognised; a file that does not exist
 * yet by its folder and its name. Anything but a regular file (/dev/null, a pipe) may be given
 * twice. */
int check_files(const command *cmd, const void *options, const word_list *words) {
    places all = {0};
    collect(cmd, options, words, &all);
    for (size_t i = 0; i < all.count; ++i)
        for (size_t j = 0; j < all.count; ++j) {
            const place *out = &all.items[i], *other = &all.items[j];
            if (i == j || !out->is_output || !is_same(out, other)) continue;
            return usage_error("--%s %s would replace the file of %s%s%s; give it another name",
                               out->option, out->path, other->option[0] != '\0' ? "--" : "",
                               other->option, other->option[0] != '\0' ? "" : other->path);
        }
    return 0;
}
