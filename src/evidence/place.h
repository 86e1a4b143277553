/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DPA_EVIDENCE_PLACE_H
#define DPA_EVIDENCE_PLACE_H

#include "dpaudit/status.h"

/* Evidence that was read from a file is checked by functions that know no file: puts its name into
 * an error about bad input that has no place yet. Gives the status back. */
dpa_status dpa__name_place(dpa_status status, const char *path, dpa_error *err);

#endif
