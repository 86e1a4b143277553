/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a stored result what the judge wrote? */
#ifndef DPA_REPORT_INTEGRITY_H
#define DPA_REPORT_INTEGRITY_H

#include <jansson.h>

#include "dpaudit/status.h"
#include "report/model.h"

/* Adds the digest of everything else. */
dpa_status dpa__result_seal(json_t *result, dpa_error *err);
/* What in a result contradicts what, in words; NULL: nothing. */
const char *dpa__result_problem(const json_t *result);
/* A result of dpaudit, unchanged since, that does not contradict itself; else DPA_BAD_INPUT. */
dpa_status dpa__result_check(const char *path, const json_t *result, dpa_error *err);

#endif
