/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the table of a landscape: refused in words, or points whose ranges hold their means,
 * a frontier of rising ε and rising utility, and densities that are numbers. */
#include "fuzz.h"

#include <math.h>

#include "estimate/losses/landscape.h"

static void must(int condition) {
    if (!condition) abort();
}

static void check_spread(const dpa_spread *s) {
    const double slack = 1e-9 * (1.0 + fabs(s->lowest) + fabs(s->highest));
    must(s->lowest <= s->mean + slack && s->mean <= s->highest + slack);
}

static void check(const dpa_landscape *l) {
    size_t runs = 0;
    must(l->count > 0 && l->frontier_count > 0 && l->frontier_count <= l->count);
    for (size_t i = 0; i < l->count; ++i) {
        check_spread(&l->points[i].utility);
        check_spread(&l->points[i].epsilon);
        runs += l->points[i].runs;
    }
    must(runs == l->rows);
    for (size_t i = 0; i < l->frontier_count; ++i) {
        must(l->frontier[i] < l->count && l->points[l->frontier[i]].on_frontier);
        if (i == 0) continue;
        const dpa_landscape_point *a = &l->points[l->frontier[i - 1]],
                                  *b = &l->points[l->frontier[i]];
        must(a->epsilon.mean <= b->epsilon.mean && a->utility.mean <= b->utility.mean);
    }
}

static void check_density(const dpa_landscape *l) {
    enum { MOST = 64 };
    double x[MOST], density[2];
    dpa_error err = {0};
    const size_t count = l->count < MOST ? l->count : MOST;
    for (size_t i = 0; i < count; ++i) x[i] = l->points[i].epsilon.mean;
    const double at[] = {x[0], x[count - 1]};
    const dpa_status status = dpa__kernel_density(x, count, at, 2, density, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK) must(density[0] >= 0.0 && density[1] >= 0.0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa_landscape landscape;
    dpa_error err = {0};
    char path[FUZZ_PATH];
    const int file = fuzz_file(data, size, path);
    if (file < 0) return 0;
    const dpa_status status = dpa__landscape_read(path, &landscape, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK) {
        check(&landscape);
        check_density(&landscape);
        dpa__landscape_free(&landscape);
    }
    (void)close(file);
    return 0;
}
