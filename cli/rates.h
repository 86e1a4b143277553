/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `counts` and `scores` share. */
#ifndef DPA_CLI_RATES_H
#define DPA_CLI_RATES_H

#include "options.h"

#define RATES_OPTIONS(type)                                                                        \
    REQUEST_OPTION(type, "at-epsilon", "E", "also a lower bound on delta at this epsilon"),        \
        REQUEST_SWITCH(type, "curve", "also the bounds at other deltas (in the JSON)"),            \
        REQUEST_SWITCH(type, "explain", "say why the bound is what it is and what would raise it")

#endif
