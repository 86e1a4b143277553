/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the phases of a mechanism. */
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
    phase->group = 1;
    phase->mechanism = "gaussian";
    phase->tolerance = NAN;
}

void phase_set_free(phase_set *set) {
    for (size_t k = 0; k < set->pairs; ++k) dpa_pair_free(set->pair[k]);
    free(set->pair);
    dpa_ledger_free(set->ledger);
    *set = (phase_set){0};
}

/* Returns 0 if the word names no mechanism. */
static int mechanism_of(const char *word, dpa_mechanism *out) {
    static const struct {
        const char *word;
        dpa_mechanism mechanism;
    } table[] = {{"gaussian", DPA_GAUSSIAN},
                 {"laplace", DPA_LAPLACE},
                 {"randomized-response", DPA_RANDOMIZED_RESPONSE},
                 {"shuffled", DPA_SHUFFLED}};
    for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
        if (strcmp(word, table[k].word) == 0) {
            *out = table[k].mechanism;
            return 1;
        }
    return 0;
}

static int take_pair(const char *path, phase_set *set, dpa_phase *phase) {
    dpa_error err;
    if (dpa_pair_read(path, &set->pair[set->pairs], &err) != DPA_OK) return library_error(&err);
    phase->mechanism = DPA_PAIR;
    phase->sigma = 1;
    phase->pair = set->pair[set->pairs++];
    return 0;
}

/* For shuffled batches q is one over their number. */
static int take_batches(uint64_t batches, dpa_phase *phase) {
    if (phase->mechanism != DPA_SHUFFLED) {
        if (batches == 0) return 0;
        return usage_error("--batches goes with --mechanism shuffled");
    }
    if (batches == 0) return usage_error("shuffled needs --batches, the batches of an epoch");
    phase->q = 1 / (double)batches;
    return 0;
}

/* One "key=value" of a --phase. */
static int set_part(const char *key, const char *value, phase_set *set, dpa_phase *phase,
                    uint64_t *batches) {
    int good = 1;
    if (strcmp(key, "sigma") == 0)
        good = dpa__number_whole(value, &phase->sigma);
    else if (strcmp(key, "q") == 0)
        good = dpa__number_whole(value, &phase->q);
    else if (strcmp(key, "steps") == 0)
        good = parse_count(value, &phase->steps);
    else if (strcmp(key, "batches") == 0)
        good = parse_count(value, batches);
    else if (strcmp(key, "pair") == 0)
        return take_pair(value, set, phase);
    else if (strcmp(key, "mechanism") == 0)
        return mechanism_of(value, &phase->mechanism)
                   ? 0
                   : usage_error("--phase: mechanism '%s' is none of gaussian, laplace, "
                                 "randomized-response, shuffled",
                                 value);
    else
        return usage_error("--phase: '%s' is not one of sigma, q, steps, mechanism, batches, pair",
                           key);
    return good ? 0 : usage_error("--phase: %s: '%s' is not a number", key, value);
}

static int parse_phase(const char *text, phase_set *set, dpa_phase *phase) {
    char copy[4096], *rest = copy;
    uint64_t batches = 0;
    if (strlen(text) >= sizeof copy) return usage_error("--phase: '%s' is too long", text);
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ",")) {
        char *value = strchr(part, '=');
        if (value == NULL) return usage_error("--phase: '%s' is not sigma=S, q=Q or steps=T", part);
        *value++ = '\0';
        const int failed = set_part(part, value, set, phase, &batches);
        if (failed) return failed;
    }
    return take_batches(batches, phase);
}

static int add_phases(dpa_account_query *query, const dpa_phase *phases, size_t count) {
    dpa_error err;
    if (dpa__account_query_add(query, phases, count, &err) == DPA_OK) return 0;
    return library_error(&err);
}

/* Adds the phase of --sigma or --pair, if one was given. */
static int own_phase(const phase_options *phase, int is_sought, phase_set *set,
                     dpa_account_query *query) {
    if (isnan(phase->sigma) && !is_sought && phase->pair == NULL) return 0;
    if (phase->pair != NULL && !isnan(phase->sigma))
        return usage_error("--pair and --sigma: one mechanism only");
    dpa_phase own = {DPA_GAUSSIAN, isnan(phase->sigma) ? 1.0 : phase->sigma, phase->q, phase->steps,
                     NULL};
    (void)mechanism_of(phase->mechanism, &own.mechanism);
    const int failed = phase->pair != NULL ? take_pair(phase->pair, set, &own)
                                           : take_batches(phase->batches, &own);
    return failed ? failed : add_phases(query, &own, 1);
}

/* Adds one --phase. */
static int listed_phase(const phase_options *phase, const char *text, phase_set *set,
                        dpa_account_query *query) {
    dpa_phase here = {DPA_GAUSSIAN, NAN, 1.0, 1, NULL};
    (void)mechanism_of(phase->mechanism, &here.mechanism);
    const int failed = parse_phase(text, set, &here);
    return failed ? failed : add_phases(query, &here, 1);
}

static int ledger_phases(const phase_options *phase, phase_set *set, dpa_account_query *query) {
    dpa_error err;
    if (dpa_ledger_read(phase->ledger, query->opts.adjacency, &set->ledger, &err) != DPA_OK)
        return library_error(&err);
    if (dpa__account_query_ledger(query, set->ledger, &err) != DPA_OK) return library_error(&err);
    return 0;
}

static int set_options(const phase_options *phase, dpa_account_query *query) {
    query->opts.adjacency = phase->adjacency;
    if (phase->group < 1 || phase->group > 1000000)
        return usage_error("--group: 1 to 1000000 records");
    query->opts.group = (unsigned)phase->group;
    if (!isnan(phase->tolerance)) dpa__account_query_tolerance(query, phase->tolerance);
    return 0;
}

int phase_list(const phase_options *phase, int sigma_is_sought, phase_set *set,
               dpa_account_query *query) {
    const size_t extra = phase->phases.count;
    *set = (phase_set){.pair = calloc(extra + 1, sizeof(dpa_pair *))};
    if (set->pair == NULL) return out_of_memory();
    int failed = set_options(phase, query);
    if (!failed) failed = own_phase(phase, sigma_is_sought && phase->ledger == NULL, set, query);
    for (size_t i = 0; i < extra && !failed; ++i)
        failed = listed_phase(phase, phase->phases.items[i], set, query);
    if (!failed && phase->ledger != NULL) failed = ledger_phases(phase, set, query);
    if (!failed && query->count == 0)
        failed = usage_error("needs --sigma (or --phase, --pair, --ledger)");
    return failed;
}
