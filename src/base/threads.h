/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks on several threads, the caller's among them. */
#ifndef DPA_BASE_THREADS_H
#define DPA_BASE_THREADS_H

#include <stddef.h>

#include "dpaudit/status.h"

/* Does task number `task`. Non-zero: do no further tasks. */
typedef int dpa__task(void *user, size_t task);

/* Calls `call` once for each of 0 … tasks−1, in no fixed order, unless one of them says to stop:
 * then DPA_CANCELLED. A thread that cannot be started is done without. */
dpa_status dpa__parallel(unsigned threads, size_t tasks, dpa__task *call, void *user,
                         dpa_error *err);

enum { DPA__MOST_THREADS = 4096 };
/* As many as the machine has when `asked` is 0. */
unsigned dpa__threads(unsigned asked);

#endif
