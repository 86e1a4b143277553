/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs tasks on several threads, the caller's included. */
#ifndef DPA_BASE_THREADS_H
#define DPA_BASE_THREADS_H

#include <stddef.h>

#include "dpaudit/status.h"

/* Does task number `task`. Non-zero: start no further tasks. */
typedef int dpa__task(void *user, size_t task);

/* Calls `call` once for each of 0 … tasks−1, in no fixed order. If one call says stop, the result
 * is DPA_CANCELLED. If a thread cannot be started, the others do its share. */
DPA_API dpa_status dpa__parallel(unsigned threads, size_t tasks, dpa__task *call, void *user,
                                 dpa_error *err);

enum { DPA__MOST_THREADS = 4096 };
/* `asked`, or the number of processors if that is 0. */
unsigned dpa__threads(unsigned asked);
/* At most as many of them as there are shares of `share` in `work`, and one for the rest: with less
 * to do a thread costs more than it saves. */
unsigned dpa__threads_worth(unsigned asked, double work, double share);

#endif
