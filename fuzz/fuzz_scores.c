/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as scores of two classes: every choice of threshold and every method gives a number
 * that is not negative, or an error with words in it; a valid simultaneous bound is never above the
 * flagged maximum. The first byte says where to cut, the second which family and which choice, the
 * third which method: one for each input, because all together take a third of a second, and those
 * that take more than a millisecond rarely. */
#include "fuzz.h"

#include <string.h>

#include "estimate/scores.h"

enum { HEAD = 3, MOST = 24 };

/* Quick ones with every family first; the others are for rare inputs. */
static const char *const methods[] = {"cp",         "jeffreys", "exact",        "katz",
                                      "bailey",     "point",    "adjusted-log", "inverse-sinh",
                                      "sequential", "rank",     "scan",         "bayes"};
enum { METHODS = sizeof methods / sizeof methods[0], QUICK = 9, RARE = 256 };

/* The bound of the method; 0 if there is none. */
static double run(const dpa_scores *scores, const char *family, const char *method,
                  const char *select) {
    dpa_request request;
    dpa_results results = {0};
    dpa_error err = {0};
    double bound = 0;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    if (dpa__estimate_scores(scores, &request, &results, &err) != DPA_OK) {
        if (err.text[0] == '\0' || err.status == DPA_INTERNAL) abort();
    }
    for (size_t i = 0; i < results.count; ++i) {
        const dpa_result *r = &results.items[i];
        if (r->kind == DPA_BOUND && !(r->epsilon_lower >= 0)) abort();
        bound = r->epsilon_lower;
    }
    dpa__results_free(&results);
    return bound;
}

static void check_quality(const dpa_scores *scores) {
    dpa_quality quality;
    dpa_request request;
    dpa__request_init(&request);
    if (dpa__scores_quality(scores, &request, &quality, NULL) == DPA_OK &&
        !(quality.auc.value >= 0 && quality.auc.value <= 1))
        abort();
}

static void try_one(const dpa_scores *scores, unsigned choice, const char *method) {
    static const char *const selects[] = {"", "fixed:0", "fixed-fpr:0.3", "split"};
    const char *family = choice % 2 ? "dp" : "gaussian";
    choice = choice / 2 % 6;
    if (choice < 4)
        (void)run(scores, family, method, selects[choice]);
    else if (choice == 4)
        check_quality(scores);
    else if (run(scores, family, "cp", "simultaneous") > run(scores, family, "cp", "max") + 1e-9)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    double values[MOST];
    if (size < HEAD + sizeof *values) return 0;
    const size_t given = (size - HEAD) / sizeof *values, count = given < MOST ? given : MOST;
    memcpy(values, data + HEAD, count * sizeof *values);
    const size_t members = data[0] % (count + 1);
    dpa_scores scores;
    dpa_lints lints = {0};
    if (dpa__scores_from(values, members, values + members, count - members, &scores, NULL) !=
        DPA_OK)
        return 0;
    const unsigned known = fuzz_is_rare(data, size, RARE) ? METHODS : QUICK;
    if (dpa__scores_prepare_here(&scores, &lints, NULL) == DPA_OK)
        try_one(&scores, data[1], methods[data[2] % known]);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return 0;
}
