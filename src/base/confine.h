/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program of somebody else may use of this machine. */
#ifndef DPA_BASE_CONFINE_H
#define DPA_BASE_CONFINE_H

#include <stdint.h>

#include "dpaudit/status.h"

typedef struct dpa__confine {
    uint64_t memory; /* bytes of address space of a process; 0: as much as there is */
    uint64_t file;   /* bytes of a file that it writes; 0: any */
    int no_network;  /* it sees no network but a loopback of its own */
} dpa__confine;

DPA_API int dpa__confine_is_set(const dpa__confine *confine);
/* For a forked child before it becomes the program: it and its children stay confined. 0, or −1
 * with errno. */
int dpa__confine_self(const dpa__confine *confine);
/* Whether this machine can do it, tried in a process that ends at once. DPA_IO with a sentence
 * where it cannot. */
DPA_API dpa_status dpa__confine_try(const dpa__confine *confine, dpa_error *err);

#endif
