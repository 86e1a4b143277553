/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks on several threads, the caller's among them. */
#ifndef DPA_EVIDENCE_CANARY_THREADS_H
#define DPA_EVIDENCE_CANARY_THREADS_H

#include <stddef.h>

#include "dpaudit/status.h"

/* Does task number `task`. Non-zero: do no further tasks. */
typedef int dpa__canary_task(void *user, size_t task);

/* Calls `call` once for each of 0 … tasks−1, in no fixed order, unless one of them says to stop:
 * then DPA_CANCELLED. A thread that cannot be started is done without. */
dpa_status dpa__canary_parallel(unsigned threads, size_t tasks, dpa__canary_task *call, void *user,
                                dpa_error *err);

#endif
