/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of known answers: numbers separated by blanks; lines that start with # are comments. */
#ifndef DPA_TESTS_KNOWN_TABLE_H
#define DPA_TESTS_KNOWN_TABLE_H

#include "check.h"

static inline FILE *known_open(const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/tests/known/%s", DPA_SOURCE, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) fail_msg("cannot open %s", path);
    return file;
}

/* Reads the next row of `columns` numbers; 0 at the end. */
static inline int known_row(FILE *file, double *row, int columns) {
    char line[1024];
    do {
        if (fgets(line, sizeof line, file) == NULL) return 0;
    } while (line[0] == '#');
    char *rest = line;
    for (int i = 0; i < columns; ++i) {
        char *end = rest;
        row[i] = strtod(rest, &end);
        if (end == rest) fail_msg("not %d numbers: %s", columns, line);
        rest = end;
    }
    return 1;
}

#endif
