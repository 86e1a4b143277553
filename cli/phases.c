/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From words to phases of a mechanism. */
#include "phases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

void phase_init(phase_options *phase) {
    phase->sigma = NAN;
    phase->q = 1.0;
    phase->steps = 1;
    phase->mechanism = "gaussian";
    phase->adjacency = "add-remove";
    phase->tolerance = NAN;
}

static dpa_mechanism mechanism_of(const char *word) {
    if (strcmp(word, "laplace") == 0) return DPA_LAPLACE;
    if (strcmp(word, "randomized-response") == 0) return DPA_RANDOMIZED_RESPONSE;
    return DPA_GAUSSIAN;
}

/* One "key=value" of a --phase. */
static int set_part(const command *cmd, const char *key, const char *value, dpa_phase *phase) {
    int good = 1;
    if (strcmp(key, "sigma") == 0)
        good = parse_number(value, &phase->sigma);
    else if (strcmp(key, "q") == 0)
        good = parse_number(value, &phase->q);
    else if (strcmp(key, "steps") == 0)
        good = parse_count(value, &phase->steps);
    else
        return usage_error(cmd, "--phase: '%s' is not one of sigma, q, steps", key);
    return good ? 0 : usage_error(cmd, "--phase: %s: '%s' is not a number", key, value);
}

static int parse_phase(const command *cmd, const char *text, dpa_phase *phase) {
    char copy[256], *rest = copy;
    if (strlen(text) >= sizeof copy) return usage_error(cmd, "--phase: '%s' is too long", text);
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        char *value = strchr(part, '=');
        if (value == NULL)
            return usage_error(cmd, "--phase: '%s' is not sigma=S, q=Q or steps=T", part);
        *value++ = '\0';
        const int failed = set_part(cmd, part, value, phase);
        if (failed) return failed;
    }
    return 0;
}

int phase_list(const command *cmd, const phase_options *phase, int sigma_is_sought, dpa_phase **out,
               size_t *count, dpa_account_opts *opts) {
    const dpa_mechanism mechanism = mechanism_of(phase->mechanism);
    const size_t extra = phase->phases.count;
    const int own = !isnan(phase->sigma) || sigma_is_sought;
    if (!own && extra == 0) return usage_error(cmd, "needs --sigma (or --phase)");
    dpa_phase *list = calloc(extra + 1, sizeof *list);
    if (list == NULL) return usage_error(cmd, "no memory for the phases");
    size_t n = 0;
    if (own) {
        const double sigma = isnan(phase->sigma) ? 1.0 : phase->sigma;
        list[n++] = (dpa_phase){mechanism, sigma, phase->q, phase->steps};
    }
    for (size_t i = 0; i < extra; ++i) {
        list[n] = (dpa_phase){mechanism, NAN, 1.0, 1};
        const int failed = parse_phase(cmd, phase->phases.items[i], &list[n++]);
        if (failed) {
            free(list);
            return failed;
        }
    }
    dpa_account_opts_init(opts);
    if (strcmp(phase->adjacency, "replace-one") == 0) opts->adjacency = DPA_REPLACE_ONE;
    if (!isnan(phase->tolerance)) {
        opts->tolerance = phase->tolerance;
        opts->absolute = fmin(opts->absolute, 0.1 * phase->tolerance);
    }
    *out = list;
    *count = n;
    return 0;
}
