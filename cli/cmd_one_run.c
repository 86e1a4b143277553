/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit one-run: a bound from one training run with many canaries. */
#include <math.h>
#include <string.h>

#include "output.h"

typedef struct one_run_options {
    common_options common;
    uint64_t canaries, correct, options, simulate;
    const char *guesses, *side;
    int pointwise, ideal, losses;
    double sigma, claim_sigma;
} one_run_options;

static const option table[] = {
    HEADING("The run, as counts"),
    {"canaries", OPTION_COUNT, "M", "canaries that were put in or left out by coin",
     offsetof(one_run_options, canaries)},
    {"guesses", OPTION_TEXT, "N|auto|max",
     "how many were guessed; with a file also auto (default; valid) or max (optimistic)",
     offsetof(one_run_options, guesses)},
    {"correct", OPTION_COUNT, "C", "how many of the guesses were right",
     offsetof(one_run_options, correct)},
    {"options", OPTION_COUNT, "K", "options per canary (default 2: in or out)",
     offsetof(one_run_options, options)},
    HEADING("The run, as files"),
    {"side", OPTION_CHOICE, "both|in|out",
     "guess the highest scores \"in\", the lowest \"out\", or both (default)",
     offsetof(one_run_options, side)},
    {"losses", OPTION_FLAG, NULL,
     "MEMBERS and NONMEMBERS are losses: the lower, the more likely in",
     offsetof(one_run_options, losses)},
    HEADING("What is tested"),
    FAMILY_OPTIONS(one_run_options),
    REQUEST_OPTION(one_run_options, "method", "M", "steinke, recursion or pointwise"),
    {"pointwise", OPTION_FLAG, NULL, "also the pointwise baseline",
     offsetof(one_run_options, pointwise)},
    DELTA_OPTIONS(one_run_options),
    CONFIDENCE_OPTIONS(one_run_options),
    CLAIM_OPTIONS(one_run_options),
    {"claim-sigma", OPTION_NUMBER, "S", "the claim as noise of the family (default gaussian)",
     offsetof(one_run_options, claim_sigma)},
    HEADING("The idealised game instead of a run"),
    {"ideal", OPTION_FLAG, NULL, "expected counts and best number of guesses for --sigma",
     offsetof(one_run_options, ideal)},
    {"sigma", OPTION_NUMBER, "S", "its noise multiplier", offsetof(one_run_options, sigma)},
    {"simulate", OPTION_COUNT, "N", "also play it N times", offsetof(one_run_options, simulate)},
    SEED_OPTIONS(one_run_options),
    OUTPUT_OPTIONS(one_run_options),
    END_OPTIONS,
};

static void init(void *options) {
    one_run_options *o = options;
    dpa_request_init(&o->common.request);
    o->options = 2;
    o->correct = UINT64_MAX;
    o->sigma = NAN;
    o->claim_sigma = NAN;
    o->side = "both";
}

static int run(void *options, const word_list *words);

const command command_one_run = {
    .name = "one-run",
    .summary = "bounds from one training run with many canaries",
    .operands = "[FILE | MEMBERS NONMEMBERS]",
    .about =
        "Every canary is put in or left out by its own fair coin (or one of K options is drawn "
        "for it), one model is trained, an attack guesses some of them. The bound follows from how "
        "many guesses are right: (ε,δ) by Steinke, Nasr and Jagielski, any trade-off family by the "
        "recursion of Mahloujifar, Melis and Chaudhuri.\n"
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
    .max_words = 2,
    .init = init,
    .run = run,
    .has_clock = 1,
};

static int finish(dpa_status status, dpa_report *report, const one_run_options *o,
                  const dpa_error *err) {
    return status == DPA_OK ? show_report(report, &o->common)
                            : library_error(command_one_run.name, err);
}

/* 0, or an exit code after the error was printed. */
static int take_guesses(const one_run_options *o, const char *missing, dpa_guess_choice *choice,
                        uint64_t *guesses) {
    const char *text = o->guesses != NULL ? o->guesses : missing;
    if (parse_guesses(text, choice, guesses)) return 0;
    return usage_error(&command_one_run, "--guesses: '%s' is not a whole number, auto or max",
                       text);
}

static int run_ideal(const one_run_options *o) {
    dpa_guess_choice choice;
    uint64_t guesses;
    if (o->canaries == 0 || isnan(o->sigma))
        return usage_error(&command_one_run, "--ideal needs --sigma and --canaries");
    const int failed = take_guesses(o, "max", &choice, &guesses);
    if (failed) return failed;
    if (choice == DPA_GUESSES_AUTO)
        return usage_error(&command_one_run, "--ideal: --guesses is a number, or max (default)");
    const dpa_ideal ideal = {o->sigma, o->canaries, o->options};
    dpa_report *report = NULL;
    dpa_error err;
    const dpa_status status = dpa_audit_ideal(&ideal, guesses, o->simulate, &o->common.request,
                                              o->pointwise, &report, &err);
    return finish(status, report, o, &err);
}

static int run_counts(const one_run_options *o, dpa_onerun_query *query) {
    if (o->canaries == 0 || o->guesses == NULL || o->correct == UINT64_MAX)
        return usage_error(&command_one_run,
                           "needs a file of scores, or --canaries, --guesses and --correct");
    if (query->choice != DPA_GUESSES_FIXED)
        return usage_error(&command_one_run, "--guesses %s needs a file of scores", o->guesses);
    query->game = (dpa_onerun){o->canaries, o->options, query->guesses, o->correct};
    dpa_report *report = NULL;
    dpa_error err;
    const dpa_status status = dpa_audit_onerun(query, &o->common.request, &report, &err);
    return finish(status, report, o, &err);
}

static dpa_guess_side side_of(const char *word) {
    return word[0] == 'i' ? DPA_GUESS_IN : word[0] == 'o' ? DPA_GUESS_OUT : DPA_GUESS_BOTH;
}

static dpa_status audit_file(const one_run_options *o, const char *path, dpa_onerun_query *query,
                             const dpa_guesses *ranked, const dpa_lints *lints, dpa_report **report,
                             dpa_error *err) {
    query->ranked = ranked;
    query->game.options = o->options;
    dpa_status status = dpa_audit_onerun(query, &o->common.request, report, err);
    if (status == DPA_OK) status = dpa_report_lints(*report, lints, err);
    if (status == DPA_OK) status = dpa_report_input(*report, path, ranked->sha256, err);
    return status;
}

static dpa_status read_ranked(const one_run_options *o, const word_list *words, dpa_guesses *ranked,
                              int *is_membership, dpa_lints *lints, dpa_error *err) {
    *is_membership = 1;
    if (words->count == 2)
        return dpa_guesses_read_pair(words->items[0], words->items[1], o->losses, side_of(o->side),
                                     ranked, lints, err);
    return dpa_guesses_read(words->items[0], side_of(o->side), ranked, is_membership, lints, err);
}

static int run_file(const one_run_options *o, const word_list *words, dpa_onerun_query *query) {
    dpa_guesses ranked;
    dpa_lints lints = {0};
    dpa_report *report = NULL;
    dpa_error err;
    int is_membership;
    if (o->canaries != 0 || o->correct != UINT64_MAX)
        return usage_error(&command_one_run, "--canaries and --correct are counted from the file");
    if (o->losses && words->count != 2)
        return usage_error(&command_one_run, "--losses goes with two arrays, MEMBERS NONMEMBERS");
    dpa_status status = read_ranked(o, words, &ranked, &is_membership, &lints, &err);
    if (status == DPA_OK && is_membership && o->options != 2) {
        dpa_guesses_free(&ranked);
        dpa_lints_free(&lints);
        return usage_error(&command_one_run,
                           "--options %llu: a file of members has two; give score,correct",
                           (unsigned long long)o->options);
    }
    if (status == DPA_OK)
        status = audit_file(o, words->items[0], query, &ranked, &lints, &report, &err);
    dpa_guesses_free(&ranked);
    dpa_lints_free(&lints);
    if (status != DPA_OK) dpa_report_free(report);
    return finish(status, report, o, &err);
}

static int run(void *options, const word_list *words) {
    const one_run_options *o = options;
    dpa_onerun_query query;
    if (o->ideal) {
        if (words->count > 0)
            return usage_error(&command_one_run, "--ideal and a file do not go together");
        return run_ideal(o);
    }
    dpa_onerun_query_init(&query);
    query.pointwise = o->pointwise;
    query.claim_sigma = o->claim_sigma;
    const int failed = take_guesses(o, "auto", &query.choice, &query.guesses);
    if (failed) return failed;
    return words->count > 0 ? run_file(o, words, &query) : run_counts(o, &query);
}
