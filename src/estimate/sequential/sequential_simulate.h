/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated sequential audits for plans. Each draws its pairs from its own stream, so that the same
 * audit can be repeated under another truth, or continued. */
#ifndef DPA_ESTIMATE_SEQUENTIAL_SIMULATE_H
#define DPA_ESTIMATE_SEQUENTIAL_SIMULATE_H

#include "base/rng.h"
#include "estimate/plan/plan.h"
#include "estimate/sequential/sequential.h"

enum { DPA__MOST_AUDITS = 2000 };

typedef struct dpa__arrival {
    uint64_t index; /* index of its stream */
    uint64_t pairs; /* pairs drawn so far */
    uint64_t stopped_at;
    dpa_sequential *audit; /* NULL: not started, or stopped */
    dpa_rng rng;
} dpa__arrival;

void dpa__arrival_close(dpa__arrival *arrival);
/* Continues each of them until the claim is refuted or n pairs are seen, under the plan's truth. */
dpa_status dpa__arrivals_reach(const dpa__plan *plan, dpa__arrival *items, size_t count, uint64_t n,
                               dpa_error *err);
/* An audit of the plan's claim by its family. */
dpa_status dpa__pairs_open(const dpa__plan *plan, dpa_sequential **out, dpa_error *err);

#endif
