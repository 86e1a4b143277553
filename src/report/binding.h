/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For bindings in other languages; a C program does not need it. */
#ifndef DPA_REPORT_BINDING_H
#define DPA_REPORT_BINDING_H

#include <stddef.h>

#include "dpaudit/export.h"

/* The offset and size of a field of a public struct ("dpa_phase.sigma"), or the size of the struct
 * ("dpa_phase"). A binding that copies a struct layout can check it when the library is loaded. 1
 * if the name is known, else 0. */
DPA_API int dpa__struct_layout(const char *name, size_t *offset, size_t *size);

/* A dpa_progress callback for languages whose functions cannot be called from any thread. `user`
 * points to an int (atomic, or written by a single store) that is 0 until the call shall stop. */
DPA_API int dpa__progress_flag(void *user, const char *what, double done, double total);

#endif
