/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lints: what is odd about the evidence, collected while it is read. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "evidence/evidence.h"

dpa_status dpa__lints_add(dpa_lints *lints, dpa_error *err, const char *code, const char *format,
                          ...) {
    dpa_lint *grown = dpa__grown(lints->items, lints->count, &lints->capacity, sizeof *grown, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    lints->items = grown;
    dpa_lint *lint = &lints->items[lints->count++];
    (void)snprintf(lint->code, sizeof lint->code, "%s", code);
    va_list args;
    va_start(args, format);
    (void)dpa__vprint(lint->text, sizeof lint->text, format, args);
    va_end(args);
    return DPA_OK;
}

void dpa__lints_free(dpa_lints *lints) {
    if (lints == NULL) return;
    free(lints->items);
    *lints = (dpa_lints){0};
}
