/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a binding in another language needs and a C program does not. */
#ifndef DPAUDIT_BINDING_H
#define DPAUDIT_BINDING_H

#include <stddef.h>

#include "dpaudit/export.h"

DPA_C_BEGIN

/* Where a field of a public struct lies ("dpa_phase.sigma"), or how large the struct is
 * ("dpa_phase"), so that a mirror of it can be checked when the library is loaded. 1 when the name
 * is known, else 0. */
DPA_API int dpa_layout(const char *name, size_t *offset, size_t *size);

/* A dpa_progress call for languages whose own functions cannot be called from any thread: `user` is
 * an int (an atomic one, or one written by a single store) that is 0 until the call shall stop. */
DPA_API int dpa_progress_flag(void *user, const char *what, double done, double total);

DPA_C_END

#endif
