/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict for people who do not know what ε is: how often can somebody be right who must say
 * whether one record was used? Under (ε,δ) nobody is right more often than (e^ε + δ)/(1 + e^ε),
 * because both errors of the best test are (1 − δ)/(1 + e^ε) where they are equal. A lower bound on
 * ε limits the promise that can still be made, not what any attack achieved; what the attack of
 * this audit achieved is said beside it. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/value.h"

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

void dpa__html_plain(dpa__text *out, const json_t *result) {
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
    if (shown > 0) {
        dpa__text_add(out, "After what was shown, no promise below ");
        add_cases(out, most_right(shown, delta));
        dpa__text_add(out, " can be kept. ");
    } else {
        dpa__text_add(out, "This audit shows nothing against any such promise. ");
    }
    if (!isnan(attack)) {
        dpa__text_add(out, "The attack of this audit was right in ");
        add_cases(out, attack);
        dpa__text_add(out, ".");
    }
    dpa__text_add(out, "</p>\n");
}
