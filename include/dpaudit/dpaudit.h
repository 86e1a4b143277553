/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All headers of libdpaudit, in reading order. */
#ifndef DPAUDIT_DPAUDIT_H
#define DPAUDIT_DPAUDIT_H

/* clang-format off: this is the reading order */
#include "dpaudit/account.h"
#include "dpaudit/attack.h"
#include "dpaudit/binding.h"
#include "dpaudit/canary.h"
#include "dpaudit/claim.h"
#include "dpaudit/cosines.h"
#include "dpaudit/data.h"
#include "dpaudit/epsilon_star.h"
#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/guesses.h"
#include "dpaudit/judge.h"
#include "dpaudit/landscape.h"
#include "dpaudit/losses.h"
#include "dpaudit/onerun.h"
#include "dpaudit/plan.h"
#include "dpaudit/report.h"
#include "dpaudit/rng.h"
#include "dpaudit/scores.h"
#include "dpaudit/sequential.h"
#include "dpaudit/status.h"
#include "dpaudit/tradeoff.h"
/* clang-format on */

#endif
