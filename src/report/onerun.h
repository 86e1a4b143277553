/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reports about one run share. */
#ifndef DPA_REPORT_ONERUN_H
#define DPA_REPORT_ONERUN_H

#include "dpaudit/onerun.h"
#include "report/model.h"

enum { DPA__GRID_SIZE = 32 };

/* One run, looked at with one or several guess counts. */
typedef struct dpa__onerun_games {
    dpa_onerun *items;
    size_t count;
    dpa_guess_choice choice;
} dpa__onerun_games;

/* A result for the request's family and method, or for all that apply. */
dpa_status dpa__onerun_add_bounds(dpa_report *report, const dpa__onerun_games *games,
                                  const dpa_request *request, int pointwise, dpa_error *err);
/* Section `guesses_curve`: the bound against the number of guesses, each as if it alone had been
 * fixed before: rows {family, method, guesses, correct, epsilon_lower}. */
dpa_status dpa__onerun_put_curve(dpa_report *report, const dpa_guesses *ranked, uint64_t options,
                                 const dpa_request *request, dpa_error *err);

#endif
