/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reports about one run share. */
#ifndef DPA_JUDGE_ONE_RUN_H
#define DPA_JUDGE_ONE_RUN_H

#include "dpaudit/guesses.h"
#include "dpaudit/onerun.h"
#include "report/model.h"

enum { DPA__GRID_SIZE = 32 };

/* One run, looked at with one or several guess counts. */
typedef struct dpa__onerun_games {
    dpa_onerun *items;
    size_t count;
    dpa_guess_choice choice;
} dpa__onerun_games;

/* The bound of one family and method. */
dpa_status dpa__onerun_row(const dpa__onerun_games *games, const dpa_request *request,
                           const char *family, const char *method, dpa_result *out, dpa_error *err);
/* Section `guesses_curve`: the bound against the number of guesses, each as if it alone had been
 * fixed before: rows {family, method, guesses, correct, epsilon_lower}. */
dpa_status dpa__onerun_put_curve(dpa_report *report, const dpa_guesses *ranked, uint64_t options,
                                 const dpa_request *request, dpa_error *err);

#endif
