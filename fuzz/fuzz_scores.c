/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as scores of two classes: every choice of threshold and every method gives a number
 * that is not negative, or an error with words in it; a valid simultaneous bound is never above the
 * flagged maximum. The first byte says where to cut, the second which family and which choice: one
 * of them for each input, as all together take a third of a second. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpaudit/scores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double run(const dpa_scores *scores, const char *family, const char *select) {
    dpa_request request;
    dpa_results results = {0};
    dpa_error err = {0};
    double largest = 0;
    dpa_request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    if (dpa_estimate_scores(scores, &request, &results, &err) != DPA_OK) {
        if (err.text[0] == '\0' || err.status == DPA_INTERNAL) abort();
    }
    for (size_t i = 0; i < results.count; ++i) {
        const dpa_result *r = &results.items[i];
        if (r->kind == DPA_BOUND && !(r->epsilon_lower >= 0)) abort();
        if (strcmp(r->method, "cp") == 0) largest = r->epsilon_lower;
    }
    dpa_results_free(&results);
    return largest;
}

static void try_one(const dpa_scores *scores, unsigned choice) {
    static const char *const selects[] = {"", "fixed:0", "fixed-fpr:0.3", "split"};
    const char *family = choice % 2 ? "dp" : "gaussian";
    choice = choice / 2 % 16;
    dpa_quality quality;
    dpa_request request;
    if (choice == 0) {
        (void)run(scores, family, selects[0]);
    } else if (choice < 12) {
        (void)run(scores, family, selects[1 + choice % 3]);
    } else if (choice < 13) {
        if (run(scores, family, "simultaneous") > run(scores, family, "max") + 1e-9) abort();
    } else {
        dpa_request_init(&request);
        if (dpa_scores_quality(scores, &request, &quality, NULL) == DPA_OK &&
            !(quality.auc.value >= 0 && quality.auc.value <= 1))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MOST = 40 };
    double values[MOST];
    if (size < 10) return 0;
    const size_t count = (size - 2) / 8 < MOST ? (size - 2) / 8 : MOST;
    memcpy(values, data + 2, count * sizeof *values);
    const size_t members = data[0] % (count + 1);
    dpa_scores scores;
    dpa_lints lints = {0};
    if (dpa_scores_from(values, members, values + members, count - members, &scores, NULL) !=
        DPA_OK)
        return 0;
    if (dpa_scores_prepare(&scores, &lints, NULL) == DPA_OK) try_one(&scores, data[1]);
    dpa_lints_free(&lints);
    dpa_scores_free(&scores);
    return 0;
}
