/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit one-run: a bound from one training run with many canaries. */
#include <ctype.h>
#include <math.h>

#include "output.h"

typedef struct one_run_options {
    common_options common;
    uint64_t canaries, correct, options, simulate;
    dpa_guess_side side;
    const char *null_noise;
    int ideal, losses;
    double sigma, rate;
} one_run_options;

#define AT(field) offsetof(one_run_options, field)

static const option table[] = {
    HEADING("The run, as counts"),
    {"canaries", OPTION_COUNT, "M", "canaries that were put in or left out by coin", AT(canaries)},
    REQUEST_OPTION(one_run_options, "guesses", "N|auto|max",
                   "how many were guessed; with a file also auto (default; valid) or max "
                   "(optimistic, shown only)"),
    {"correct", OPTION_COUNT, "C", "how many of the guesses were right", AT(correct)},
    {"options", OPTION_COUNT, "K", "options per canary (default 2: in or out)", AT(options)},
    HEADING("The run, as files"),
    {"side", OPTION_WORD, "both|in|out",
     "guess the highest scores \"in\", the lowest \"out\", or both (default)", AT(side)},
    {"losses", OPTION_FLAG, NULL,
     "MEMBERS and NONMEMBERS are losses: the lower, the more likely in", AT(losses)},
    {"null-noise", OPTION_FILE, "FILE.npy",
     "for --method channels: the noise of coordinates without a canary, steps x coordinates",
     AT(null_noise)},
    {"inclusion-rate", OPTION_NUMBER, "R", "how often a canary was put in (default 0.5)", AT(rate)},
    HEADING("What is tested"),
    FAMILY_OPTIONS(one_run_options),
    REQUEST_OPTION(one_run_options, "method", "M",
                   "either, steinke, recursion or pointwise by guesses; channels by all scores, "
                   "where every canary has noise of its own"),
    REQUEST_SWITCH(one_run_options, "pointwise", "also the pointwise baseline"),
    DELTA_OPTIONS(one_run_options),
    CONFIDENCE_OPTIONS(one_run_options),
    CLAIM_OPTIONS(one_run_options),
    PROTOCOL_OPTIONS(one_run_options),
    HEADING("The idealised game instead of a run"),
    {"ideal", OPTION_FLAG, NULL, "expected counts and best number of guesses for --sigma",
     AT(ideal)},
    {"sigma", OPTION_NUMBER, "S", "its noise multiplier", AT(sigma)},
    {"simulate", OPTION_COUNT, "N", "also play it N times", AT(simulate)},
    SEED_OPTIONS(one_run_options),
    OUTPUT_OPTIONS(one_run_options),
    END_OPTIONS,
};

static void init(void *options) {
    one_run_options *o = options;
    common_init(&o->common);
    o->options = 2;
    o->correct = UINT64_MAX;
    o->sigma = NAN;
    o->rate = NAN;
}

/* The number of guesses; 0 if it is chosen. Returns 0, or an exit code after printing the error. */
static int take_guesses(const char *given, uint64_t *guesses) {
    *guesses = 0;
    if (!isdigit((unsigned char)given[0]) || parse_count(given, guesses)) return 0;
    return usage_error("--guesses: '%s' is not a whole number, auto or max", given);
}

static int run_ideal(const one_run_options *o) {
    const dpa_protocol *p = &o->common.protocol;
    uint64_t guesses;
    if (o->canaries == 0 || isnan(o->sigma))
        return usage_error("--ideal needs --sigma and --canaries");
    const int failed = take_guesses(p->guesses, &guesses);
    if (failed) return failed;
    if (p->guesses[0] == 'a')
        return usage_error("--ideal: --guesses is a number, or max (default)");
    const dpa_ideal ideal = {o->sigma, o->canaries, o->options};
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa__audit_ideal(&ideal, guesses, o->simulate, &p->request, p->pointwise, &report, &err) !=
        DPA_OK)
        return library_error(&err);
    return show_report(report, &o->common);
}

/* Copies what the options say about the run into the evidence. */
static void describe(const one_run_options *o, dpa_evidence *e) {
    e->side = o->side;
    if (o->options != 2) e->options = o->options;
    if (!isnan(o->rate)) e->inclusion_rate = o->rate;
}

static int run_counts(const one_run_options *o) {
    uint64_t guesses;
    dpa_evidence evidence;
    dpa_error err = {0};
    if (o->canaries == 0 || o->common.protocol.guesses[0] == '\0' || o->correct == UINT64_MAX)
        return usage_error("needs a file of scores, or --canaries, --guesses and --correct");
    const int failed = take_guesses(o->common.protocol.guesses, &guesses);
    if (failed) return failed;
    if (!isdigit((unsigned char)o->common.protocol.guesses[0]))
        return usage_error("--guesses %s needs a file of scores", o->common.protocol.guesses);
    const double counts[] = {(double)o->canaries, (double)guesses, (double)o->correct};
    dpa__evidence_init(&evidence, DPA_EVIDENCE_GUESSES);
    evidence.design = DPA_ONE_RUN;
    describe(o, &evidence);
    if (dpa_evidence_copy(&evidence, "guess_counts", counts, 3, &err) != DPA_OK)
        return library_error(&err);
    return judge_and_show(&evidence, &o->common);
}

static dpa_status add_noise(const char *path, dpa_evidence *e, dpa_error *err) {
    dpa_array array;
    dpa_status status = dpa__array_read(path, NULL, &array, err);
    if (status != DPA_OK) return status;
    status = dpa__array_to_double(&array, err);
    if (status == DPA_OK) {
        status = dpa__evidence_add(e, "null_noise", array.data, array.count,
                                   array.ndim == 2 ? array.shape[0] : 0, err);
        array.data = NULL; /* the evidence owns it now */
    }
    dpa__array_free(&array);
    return status;
}

static int run_file(const one_run_options *o, const word_list *words) {
    dpa_evidence evidence;
    dpa_error err = {0};
    if (o->canaries != 0 || o->correct != UINT64_MAX)
        return usage_error("--canaries and --correct are counted from the file");
    if (o->losses && words->count != 2)
        return usage_error("--losses goes with two arrays, MEMBERS NONMEMBERS");
    const char *second = words->count > 1 ? words->items[1] : NULL;
    if (dpa__evidence_one_run(words->items[0], second, o->losses, &evidence, &err) != DPA_OK)
        return library_error(&err);
    if (evidence.kind == DPA_EVIDENCE_SCORES && o->options != 2) {
        dpa__evidence_clear(&evidence);
        return usage_error("--options %llu: a file of members has two; give score,correct",
                           (unsigned long long)o->options);
    }
    describe(o, &evidence);
    if (o->null_noise != NULL && add_noise(o->null_noise, &evidence, &err) != DPA_OK) {
        dpa__evidence_clear(&evidence);
        return library_error(&err);
    }
    return judge_and_show(&evidence, &o->common);
}

static int run(void *options, const word_list *words) {
    const one_run_options *o = options;
    if (!isnan(o->rate) && !(o->rate > 0 && o->rate < 1))
        return usage_error("--inclusion-rate: must be between 0 and 1, not %g", o->rate);
    if (!o->ideal) return words->count > 0 ? run_file(o, words) : run_counts(o);
    if (words->count > 0) return usage_error("--ideal and a file do not go together");
    return run_ideal(o);
}

const command command_one_run = {
    .name = "one-run",
    .summary = "bounds from one training run with many canaries",
    .operands = "[FILE | MEMBERS NONMEMBERS]",
    .about =
        "Every canary is put in or left out by its own fair coin (or one of K options is drawn "
        "for it), one model is trained, an attack guesses some of them. The bound follows from how "
        "many guesses are right: any trade-off family by the "
        "recursion of Mahloujifar, Melis and Chaudhuri, (ε,δ) by the smaller of its p-value and "
        "that "
        "of Steinke, Nasr and Jagielski.\n"
        "FILE is a CSV with the columns score,member (higher means in), or score,correct for "
        "guesses that were made already, or an NPZ with the arrays members and nonmembers, or "
        "score and correct. MEMBERS and NONMEMBERS are two arrays, one number a canary; with "
        "--losses the lower means in. The "
        "number of guesses must be fixed before looking; auto splits the error over a fixed grid "
        "of counts, max takes the best count and is marked as optimistic.",
    .examples = "dpaudit one-run --canaries 100000 --guesses 1500 --correct 1429\n"
                "dpaudit one-run one-run.csv\n"
                "dpaudit one-run one-run.csv --guesses 200 --family gaussian --claim-sigma 1\n"
                "dpaudit one-run --canaries 500 --guesses 500 --correct 480 --options 50 "
                "--confidence 0.99\n"
                "dpaudit one-run --canaries 1000 --guesses 100 --correct 98 --claim-epsilon 1\n"
                "dpaudit one-run --ideal --sigma 1 --canaries 1e5 --simulate 5",
    .options = table,
    .size = sizeof(one_run_options),
    .words = {0, 2},
    .init = init,
    .run = run,
    .has_clock = 1,
};
