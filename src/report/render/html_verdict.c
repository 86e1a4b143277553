/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The top of a result: the verdict's sentence, the numbers behind it, and their assumptions. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"
#include "report/model/value.h"
#include "report/render/html.h"

static int is_state(const json_t *result, const char *state) {
    return dpa__is_word(json_object_get(result, "verdict"), "state", state);
}

static const json_t *contradicted_of(const json_t *result) {
    return json_object_get(json_object_get(result, "verdict"), "contradicted");
}

int dpa__html_is_void(const json_t *result) {
    return json_array_size(contradicted_of(result)) > 0;
}

const char *dpa__html_mark(const json_t *result) {
    if (!json_is_object(json_object_get(result, "verdict")))
        return dpa__is_word(result, "command", "account") ? "● What the claim means" : "● Result";
    if (is_state(result, "refuted")) return "✗ Claim refuted";
    if (is_state(result, "inconclusive")) return "? Inconclusive";
    if (is_state(result, "not-refuted")) return "○ Claim not refuted";
    const json_t *best = dpa__headline_of(json_object_get(result, "results"));
    if (best == NULL) return "– No result";
    return strcmp(dpa__standing_of(best), "estimate") == 0 ? "◇ Estimate" : "● Lower bound";
}

static const char *command_title(const char *command) {
    static const struct {
        const char *command, *title;
    } known[] = {
        {"counts", "Audit of a confusion matrix"},      {"scores", "Audit of attack scores"},
        {"one-run", "Audit in one training run"},       {"losses", "Epsilon*: one model's losses"},
        {"cosines", "One-shot estimate from canaries"}, {"landscape", "Privacy and utility"},
        {"account", "What a mechanism promises"},       {"calibrate", "Noise for a promise"},
        {"run", "Audit by repeated training"},          {"plan", "How large an audit must be"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (strcmp(command, known[i].command) == 0) return known[i].title;
    return command;
}

/* A path with its last folder only, because two audits often have files of the same name. */
static const char *end_of_path(const char *path) {
    const char *last = strrchr(path, '/');
    while (last != NULL && last > path && last[-1] != '/') --last;
    return last != NULL ? last : path;
}

/* The files that were audited: the first two, and how many more. */
static void add_inputs(dpa__text *out, const json_t *inputs) {
    enum { SHOWN = 2 };
    const size_t count = json_array_size(inputs);
    for (size_t i = 0; i < count && i < SHOWN; ++i) {
        dpa__text_add(out, i == 0 ? ": " : ", ");
        dpa__html_escape(out, end_of_path(dpa__word_of(json_array_get(inputs, i), "path")));
    }
    if (count > SHOWN) dpa__text_printf(out, " and %zu more", count - SHOWN);
}

void dpa__html_title(dpa__text *out, const json_t *result) {
    const char *game = dpa__word_of(json_object_get(result, "evidence"), "game");
    const char *subject = dpa__word_of(result, "subject");
    if (game[0] != '\0') {
        const char first[2] = {(char)toupper((unsigned char)game[0]), '\0'};
        dpa__html_escape(out, first);
        dpa__html_between(out, "", game + 1, " game");
    } else {
        dpa__html_escape(out, command_title(dpa__word_of(result, "command")));
    }
    if (subject[0] != '\0')
        dpa__html_between(out, ": ", subject, "");
    else
        add_inputs(out, json_object_get(json_object_get(result, "provenance"), "inputs"));
}

/* ── in plain words ──────────────────────────────────────────────────────────────────── */

/* The verdict for people who do not know what ε is: how often can somebody be right who must say
 * whether one record was used? Under (ε,δ) nobody is right more often than (e^ε + δ)/(1 + e^ε),
 * because both errors of the best test are (1 − δ)/(1 + e^ε) where they are equal. A lower bound on
 * ε limits the promise that can still be made, not what any attack achieved; what the attack of
 * this audit achieved is said beside it. */

/* Uses e^−ε, because e^ε may overflow. */
static double most_right(double epsilon, double delta) {
    const double inverse = exp(-epsilon);
    return fmin((1.0 + delta * inverse) / (1.0 + inverse), 1.0);
}

/* "78", with more digits if it is almost 100. */
static void add_cases(dpa__text *out, double share) {
    const double cases = 100.0 * share;
    if (cases < 99.0)
        dpa__text_printf(out, "%.0f", cases);
    else if (cases < 99.995)
        dpa__text_printf(out, "%.2f", cases);
    else
        dpa__text_add(out, "practically all");
}

static const char *what_was_used(const char *scope) {
    return strcmp(scope, "step") == 0            ? "in one step of a training"
           : strcmp(scope, "participation") == 0 ? "by one participation in a training"
                                                 : "in a training";
}

/* "After what was shown, no promise below 88 can be kept." */
static void add_shown(dpa__text *out, double shown, double delta) {
    if (shown > 0) {
        dpa__text_add(out, "After what was shown, no promise below ");
        add_cases(out, most_right(shown, delta));
        dpa__text_add(out, " can be kept. ");
    } else {
        dpa__text_add(out, "This audit shows nothing against any such promise. ");
    }
}

static void add_plain_words(dpa__text *out, const json_t *result) {
    const json_t *verdict = json_object_get(result, "verdict");
    const json_t *claim = dpa__claim_of(result);
    const json_t *best = dpa__headline_of(json_object_get(result, "results"));
    const double shown = dpa__number_of(verdict, "epsilon_lower");
    const double delta = dpa__number_of(result, "delta");
    const double claimed = dpa__number_of(claim, "epsilon");
    const double claim_delta = dpa__number_of(claim, "delta");
    const double attack = dpa__number_of(
        json_object_get(json_object_get(result, "quality"), "balanced_accuracy"), "value");
    const int is_bound =
        best != NULL && strcmp(dpa__standing_of(best), "confidence") == 0 && !(delta < 0);
    if (!is_bound || isnan(shown) || isnan(delta) || (shown <= 0 && isnan(claimed))) return;
    dpa__text_add(out, "<p class=\"plain\"><strong>In plain words:</strong> somebody must say "
                       "whether one record was used ");
    dpa__text_add(out, what_was_used(dpa__word_of(verdict, "scope")));
    dpa__text_add(out, "; a coin is right in 50 of 100 cases. ");
    if (!isnan(claimed)) {
        dpa__text_add(out, "If the claim holds, nobody is right in more than ");
        add_cases(out, most_right(claimed, isnan(claim_delta) ? delta : claim_delta));
        dpa__text_add(out, ". ");
    }
    if (dpa__html_is_void(result))
        dpa__text_add(out, "What was observed does not count: the data contradict something that "
                           "the test stands on.");
    else
        add_shown(out, shown, delta);
    if (!isnan(attack) && !dpa__html_is_void(result)) {
        dpa__text_add(out, "The attack of this audit was right in ");
        add_cases(out, attack);
        dpa__text_add(out, ".");
    }
    dpa__text_add(out, "</p>\n");
}

/* ── the verdict and its numbers ─────────────────────────────────────────────────────── */

/* The headline of a result without a verdict. */
static void add_plain_headline(dpa__text *out, const json_t *result) {
    const json_t *landscape = json_object_get(result, "landscape");
    const json_t *epsilon = json_object_get(result, "epsilon");
    const double lower = dpa__number_of(epsilon, "lower"), upper = dpa__number_of(epsilon, "upper");
    if (landscape != NULL)
        dpa__text_printf(out,
                         "%zu strategies, %zu of them on the frontier: no mixture of others is at "
                         "least as useful and as private.",
                         json_array_size(json_object_get(landscape, "points")),
                         json_array_size(json_object_get(landscape, "frontier")));
    else if (isnan(lower))
        dpa__text_add(out, "The numbers are below.");
    else if (isnan(upper))
        dpa__text_printf(out, "ε is at least %.8g at δ = %g.", lower,
                         dpa__number_of(result, "delta"));
    else
        dpa__text_printf(out, "ε is between %.8g and %.8g at δ = %g.", lower, upper,
                         dpa__number_of(result, "delta"));
}

static void add_tile(dpa__text *out, const char *label, double value, int digits) {
    if (!isnan(value))
        dpa__text_printf(out, "<div><dt>%s</dt><dd>%.*g</dd></div>\n", label, digits, value);
}

static void add_claim_tile(dpa__text *out, const json_t *claim) {
    const char *scope = dpa__word_of(claim, "scope");
    if (isnan(dpa__number_of(claim, "epsilon"))) return;
    dpa__text_add(out, "<div><dt>ε claimed");
    if (strcmp(scope, "training") != 0) dpa__html_between(out, " of one ", scope, "");
    dpa__text_printf(out, "</dt><dd>%.4g</dd></div>\n", dpa__number_of(claim, "epsilon"));
}

static void add_notes(dpa__text *out, const json_t *notes) {
    size_t index;
    json_t *note;
    json_array_foreach(notes, index, note) {
        if (json_is_string(note))
            dpa__html_between(out, "<p class=\"note\">", json_string_value(note), "</p>\n");
    }
}

/* The promised noise and, for a result in noise multipliers, the most noise that the bound leaves
 * possible. */
static void add_noise_tiles(dpa__text *out, const json_t *result, const json_t *best) {
    const double promised = dpa__number_of(dpa__claim_of(result), "sigma");
    const json_t *parameter = json_object_get(best, "parameter");
    add_tile(out, "noise σ promised", promised, 4);
    if (!dpa__html_is_void(result) && dpa__is_word(parameter, "name", "sigma"))
        add_tile(out, "noise σ shown, at most", dpa__number_of(parameter, "lower"), 4);
}

static void add_tiles(dpa__text *out, const json_t *result) {
    const json_t *best = dpa__headline_of(json_object_get(result, "results"));
    if (best == NULL) return;
    const int estimate = strcmp(dpa__standing_of(best), "estimate") == 0;
    const int is_void = dpa__html_is_void(result);
    dpa__text_add(out, "<dl class=\"tiles\">\n");
    if (estimate)
        add_tile(out, "ε, estimated", dpa__number_of(best, "epsilon"), 4);
    else if (!is_void)
        add_tile(out, "ε at least", dpa__number_of(best, "epsilon_lower"), 4);
    add_claim_tile(out, dpa__claim_of(result));
    add_noise_tiles(out, result, best);
    add_tile(out, "at δ", dpa__number_of(result, "delta"), 3);
    if (!isnan(dpa__number_of(best, "confidence")))
        dpa__text_printf(out, "<div><dt>confidence</dt><dd>%s</dd></div>\n",
                         dpa__percent_of(dpa__number_of(best, "confidence")).text);
    const json_t *verdict = json_object_get(result, "verdict");
    const json_t *seen = json_object_get(verdict, "would_detect");
    if (!is_void) add_tile(out, "p-value of the claim", dpa__number_of(verdict, "p_value"), 2);
    add_tile(out, "would have detected ε", dpa__number_of(seen, "epsilon"), 3);
    add_tile(out, "from too little Gaussian noise", dpa__number_of(seen, "epsilon_gaussian"), 3);
    dpa__text_add(out, "</dl>\n");
}

void dpa__html_verdict(dpa__text *out, const dpa__html_part *part) {
    const json_t *verdict = json_object_get(part->result, "verdict");
    dpa__text_printf(out,
                     "<div class=\"verdict%s\" role=\"status\"><p class=\"mark\">%s</p>\n"
                     "<p class=\"headline\">",
                     is_state(part->result, "refuted") ? " refuted" : "",
                     dpa__html_mark(part->result));
    if (json_is_object(verdict))
        dpa__html_escape(out, dpa__word_of(verdict, "headline"));
    else
        add_plain_headline(out, part->result);
    dpa__text_add(out, "</p>\n");
    add_plain_words(out, part->result);
    add_notes(out, json_object_get(part->result, "notes"));
    dpa__text_add(out, "</div>\n");
    add_tiles(out, part->result);
}

/* ── how sure, and why ───────────────────────────────────────────────────────────────────────── */

static const char *assumption_sentence(const char *name) {
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i)
        if (strcmp(dpa__assumption_name(i), name) == 0) return dpa__assumption_text(i);
    return name; /* from a newer version, or invented: shown unchanged */
}

static int is_contradicted(const json_t *result, const char *name) {
    size_t index;
    json_t *one;
    json_array_foreach(contradicted_of(result), index,
                       one) if (dpa__is_word(one, "assumption", name)) return 1;
    return 0;
}

static void add_assumptions(dpa__text *out, const json_t *result, const json_t *best) {
    const json_t *names = json_object_get(best, "assumptions");
    size_t index;
    json_t *item;
    if (json_array_size(names) == 0) return;
    dpa__text_add(out, dpa__html_is_void(result) ? "<p>The test stands on:</p>\n<ul>\n"
                                                 : "<p>The headline assumes:</p>\n<ul>\n");
    json_array_foreach(names, index, item) {
        const char *name = json_string_value(item);
        if (name == NULL) continue;
        dpa__html_between(out, "<li>", assumption_sentence(name), "");
        dpa__text_add(out, is_contradicted(result, name)
                               ? " <strong>(✗ the data contradict this)</strong></li>\n"
                               : "</li>\n");
    }
    dpa__text_add(out, "</ul>\n");
}

static const char *selection_sentence(const char *select) {
    static const struct {
        const char *word, *sentence;
    } known[] = {
        {"fixed", "fixed before the data were seen"},
        {"split", "chosen on one half of the data, judged on the other"},
        {"multi-split", "chosen and judged on many random halves, combined by their median"},
        {"simultaneous", "any: the bound holds for all of them at once"},
        {"auto", "the best of a fixed list, the error split over the list"},
        {"max", "the best on the same data, uncorrected: optimistic"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const size_t length = strlen(known[i].word);
        if (strncmp(select, known[i].word, length) == 0 &&
            (select[length] == '\0' || select[length] == ':'))
            return known[i].sentence;
    }
    return "";
}

static void add_selection(dpa__text *out, const char *select) {
    if (select[0] == '\0') return;
    dpa__html_between(out, "<li>The threshold or number of guesses: <strong>", select, "</strong>");
    if (selection_sentence(select)[0] != '\0')
        dpa__text_printf(out, " (%s)", selection_sentence(select));
    dpa__text_add(out, ".</li>\n");
}

static void add_lints(dpa__text *out, const json_t *result) {
    const json_t *lints = json_object_get(json_object_get(result, "evidence"), "lints");
    size_t index;
    json_t *lint;
    if (json_array_size(lints) == 0) return;
    dpa__text_add(out, "<p>About the evidence:</p>\n<ul class=\"lints\">\n");
    json_array_foreach(lints, index, lint)
        dpa__html_between(out, "<li>", dpa__word_of(lint, "text"), "</li>\n");
    dpa__text_add(out, "</ul>\n");
}

static void add_limits(dpa__text *out, const json_t *best) {
    const double error = dpa__number_of(best, "numerical_error");
    dpa__text_add(out, "<p>What to know before quoting it:</p>\n<ul>\n");
    add_selection(out, dpa__word_of(best, "select"));
    if (!isnan(error))
        dpa__text_printf(out, "<li>Numerical error on ε: at most %.3g.</li>\n", error);
    if (dpa__word_of(best, "note")[0] != '\0')
        dpa__html_between(out, "<li>", dpa__word_of(best, "note"), "</li>\n");
    dpa__text_add(out,
                  strcmp(dpa__standing_of(best), "estimate") == 0
                      ? "<li>An estimate is the leak that this attack measured, not a bound: a "
                        "better attack may show more.</li>\n"
                      : "<li>A lower bound says what was shown, not all that is there: 0 means "
                        "that nothing was shown, never that the model is private.</li>\n");
    dpa__text_add(out, "</ul>\n");
}

void dpa__html_basis(dpa__text *out, const dpa__html_part *part) {
    const json_t *best = dpa__headline_of(json_object_get(part->result, "results"));
    const int level = part->level + 1;
    if (best == NULL) return;
    dpa__text_printf(out, "<section><h%d>How sure, and why</h%d>\n<div class=\"columns\"><div>\n",
                     level, level);
    add_assumptions(out, part->result, best);
    dpa__text_add(out, "</div><div>\n");
    add_limits(out, best);
    dpa__text_add(out, "</div></div>\n");
    add_lints(out, part->result);
    dpa__text_add(out, "</section>\n");
}
