/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimators from counts that the registry lists. */
#ifndef DPA_ESTIMATE_METHODS_H
#define DPA_ESTIMATE_METHODS_H

#include "estimate/registry.h"

dpa_status dpa__from_rectangle(const dpa__entry *entry, const dpa_counts *counts,
                               const dpa__model *model, const dpa_request *request,
                               dpa_result *result, dpa_error *err);
dpa_status dpa__from_posterior(const dpa__entry *entry, const dpa_counts *counts,
                               const dpa__model *model, const dpa_request *request,
                               dpa_result *result, dpa_error *err);
dpa_status dpa__from_ratio(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err);
dpa_status dpa__from_point(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err);

#endif
