/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reports on one run share. */
#ifndef DPA_JUDGE_ONE_RUN_H
#define DPA_JUDGE_ONE_RUN_H

#include "estimate/onerun.h"
#include "evidence/guesses.h"
#include "judge/case.h"
#include "report/model.h"

enum { DPA__GRID_SIZE = 32 };

/* One run, evaluated with one or several guess counts. */
typedef struct dpa__onerun_games {
    dpa_onerun *items;
    size_t count;
    dpa_guess_choice choice;
} dpa__onerun_games;

/* The bound for one family and method. */
dpa_status dpa__onerun_row(const dpa__onerun_games *games, const dpa_request *request,
                           const char *family, const char *method, dpa_result *out, dpa_error *err);
/* The method for canaries with independent channels: the bound of one family from the scores, and a
 * check whether coordinates without a canary contradict independence (evidence `null_noise`). */
dpa_status dpa__channels_row(const dpa__case *c, const dpa_request *request, const char *family,
                             dpa_result *out, dpa_error *err);
dpa_status dpa__channels_check(dpa__case *c, dpa_error *err);
/* Section `guesses_curve`: the bound for each number of guesses, as if only that one had been fixed
 * before; rows {family, method, guesses, correct, epsilon_lower}. */
dpa_status dpa__onerun_put_curve(dpa_report *report, const dpa_guesses *ranked, uint64_t options,
                                 const dpa_request *request, dpa_error *err);

#endif
