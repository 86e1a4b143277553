/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hoeffding's limits of both rates: each at most its frequency + sqrt(log(2/α)/(2n)). */
#include <math.h>

#include "base/error.h"
#include "estimate/rates.h"
#include "estimate/registry.h"

dpa_status dpa__from_hoeffding(const dpa__entry *entry, const dpa_counts *c,
                               const dpa__model *model, const dpa_request *request,
                               dpa_result *result, dpa_error *err) {
    const double members = (double)(c->fn + c->tp), others = (double)(c->fp + c->tn);
    const double log_share = log(2 * request->sides / (1 - request->confidence));
    const double fnr = (double)c->fn / members + sqrt(log_share / (2 * members));
    const double fpr = (double)c->fp / others + sqrt(log_share / (2 * others));
    double t = 0;
    (void)entry;
    if (fnr + fpr < 1) DPA_TRY(dpa__model_locate(model, fnr, fpr, 0, &t, err));
    return dpa__result_limits(result, model, request->delta, t,
                              request->sides == 2 ? (double)INFINITY : (double)NAN, 1e-12 * (1 + t),
                              err);
}
