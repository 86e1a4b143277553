/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trade-off curve of a claim: the smallest false negative rate at each false positive rate. */
#include "report/charts.h"

static json_t *rows(const json_t *result) {
    return json_incref(json_object_get(result, "curve"));
}

static json_t *spec(const json_t *result) {
    (void)result;
    return json_pack("{s:{s:s, s:b}, s:i, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}}", "mark",
                     "type", "line", "tooltip", 1, "height", 300, "encoding", "x", "field", "fpr",
                     "type", "quantitative", "title", "false positive rate", "y", "field", "fnr",
                     "type", "quantitative", "title", "smallest false negative rate");
}

static void describe(const json_t *result, dpa__text *out) {
    (void)result;
    dpa__text_add(
        out, "The trade-off curve of the mechanism: no attack on it has a point below this line.");
}

const dpa__chart dpa__chart_curve = {"curve", "What any attack can reach", rows, spec, describe};
