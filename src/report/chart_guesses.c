/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: the bound against the number of guesses. Section "guesses_curve", rows {family, method,
 * guesses, correct, epsilon_lower}. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

enum { NAME_SIZE = 120 };

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 260, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'point': {'size': 12}}, 'encoding': {"
    "     'x': {'field': 'guesses', 'type': 'quantitative', 'title': 'number of guesses',"
    "           'scale': {'type': 'log', 'nice': false}, 'axis': {'format': '~s'}},"
    "     'y': {'field': 'epsilon', 'type': 'quantitative', 'title': 'ε at least'},"
          DPA__SERIES("name") ","
    "     'tooltip': [" DPA__TIP_WORD("name", "bound") "," DPA__TIP("guesses", "guesses") ","
                        DPA__TIP("correct", "right") "," DPA__TIP("epsilon", "ε ≥") "]}},"
    DPA__CLAIM_RULE("y") "," DPA__CLAIM_WORD_Y
    "]}";
/* clang-format on */

static void fill(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "guesses_curve"), index, point) {
        char name[NAME_SIZE];
        const double guesses = dpa__number_of(point, "guesses");
        dpa__result_name(point, name, sizeof name);
        if (guesses > 0)
            dpa__chart_row(data, "main", "$name guesses correct epsilon", name, guesses,
                           dpa__number_of(point, "correct"),
                           dpa__number_of(point, "epsilon_lower"));
    }
    if (dpa__chart_rows(data, "main") > 0) (void)dpa__chart_claim(result, data);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    (void)data;
    dpa__text_add(out, "What the bound would have been with another number of guesses, each fixed "
                       "before looking. To pick the best point of this picture afterwards is "
                       "optimistic.");
}

const dpa__chart dpa__chart_guesses = {
    "guesses", "The bound and the number of guesses", DPA__PLACE_EVIDENCE, spec, fill, describe};
