/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads YAML settings files into structs, driven by tables of keys. A table says of every key which
 * type it has, where its value goes, which range is allowed and what it means. Reading, error
 * messages with line numbers and `dpaudit help settings` all come from it, so a new key costs one
 * line. */
#ifndef DPA_SETTINGS_SETTINGS_H
#define DPA_SETTINGS_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dpaudit/status.h"

typedef enum dpa__field_type {
    DPA__COUNT,  /* uint64_t */
    DPA__SIZE,   /* size_t */
    DPA__NUMBER, /* double */
    DPA__FLAG,   /* int */
    DPA__WORD,   /* an enum, by one of `words` */
    DPA__TEXT,   /* const char *, not empty */
    DPA__ANY,    /* const char *, which may be empty */
    DPA__PATH,   /* const char *, relative to the folder of the settings file */
    DPA__TEXTS   /* const char *const *, ended by NULL */
} dpa__field_type;

typedef struct dpa__word {
    const char *text; /* NULL ends the list */
    int value;
} dpa__word;

typedef struct dpa__range {
    double least, most;
    int least_is_out, most_is_out;
} dpa__range;
extern const dpa__range dpa__positive;    /* (0, ∞] */
extern const dpa__range dpa__finite;      /* (0, ∞) */
extern const dpa__range dpa__rate;        /* (0, 1] */
extern const dpa__range dpa__probability; /* (0, 1) */
extern const dpa__range dpa__some;        /* [1, ∞) */

typedef struct dpa__field {
    const char *key; /* NULL ends the table */
    dpa__field_type type;
    size_t at;          /* offset in the struct that is filled */
    const void *detail; /* the list of words, or the range of numbers; NULL: any value */
    const char *help;
    const char *usual; /* default when the key is absent; NULL: the struct keeps what it holds */
    int is_needed;
} dpa__field;

/* The settings under one `name:`. The first section of a file has the name "": its keys are at the
 * top level. */
typedef struct dpa__section {
    const char *name; /* NULL ends the list of sections */
    const dpa__field *fields;
    int is_needed;
} dpa__section;

/* An open settings file whose keys and values were all checked against the sections. The texts it
 * hands out live until it is closed. */
typedef struct dpa__settings dpa__settings;
dpa_status dpa__settings_open(const char *path, const dpa__section *sections, dpa__settings **out,
                              dpa_error *err);
void dpa__settings_close(dpa__settings *settings);
/* Writes the values of a section into a struct that already holds the defaults. */
dpa_status dpa__settings_take(dpa__settings *settings, const char *section, void *target,
                              dpa_error *err);
/* Whether the key was given; with `key` NULL, whether the section was. */
int dpa__settings_has(const dpa__settings *settings, const char *section, const char *key);

/* Adds a line number to an error of the form "section: key …" that so far names only the file.
 * Returns `status` unchanged. */
dpa_status dpa__settings_locate(dpa_status status, dpa_error *err);

/* The word for a value; "" if the list has none. */
const char *dpa__word_text(const dpa__word *words, int value);
/* `name` relative to the folder of the settings file; absolute names and "-" stay as they are. */
dpa_status dpa__settings_path(dpa__settings *settings, const char *name, const char **out,
                              dpa_error *err);
/* The same for any file; the caller frees the result. */
char *dpa__path_beside(const char *path, const char *name, dpa_error *err);
/* Appends for every key its type, its default and its meaning. `defaults` is a struct such as
 * dpa__settings_take gets. */
void dpa__settings_describe(const dpa__section *section, const void *defaults, dpa__text *out);
/* Appends a line "name: value" for each of the names, which are separated by blanks ("seed
 * game.canary"). `values` is a struct that dpa__settings_take has filled. Equal lines mean equal
 * values: numbers read back exactly, and a text stays on its line. */
void dpa__settings_put(const dpa__section *sections, const char *names, const void *values,
                       dpa__text *out);
/* The field of the name that `name` begins with, up to a blank or the end; NULL: there is none. */
const dpa__field *dpa__settings_field(const dpa__section *sections, const char *name);

#endif
