/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All public headers, in reading order. */
#ifndef DPAUDIT_DPAUDIT_H
#define DPAUDIT_DPAUDIT_H

#include "dpaudit/status.h"

#include "dpaudit/rng.h"

#include "dpaudit/data.h"

#include "dpaudit/tradeoff.h"

#include "dpaudit/account.h"

#include "dpaudit/evidence.h"

#include "dpaudit/guesses.h"
#include "dpaudit/judge.h"

#include "dpaudit/losses.h"

#include "dpaudit/estimate.h"

#include "dpaudit/scores.h"

#include "dpaudit/sequential.h"

#include "dpaudit/onerun.h"

#include "dpaudit/canary.h"

#include "dpaudit/cosines.h"

#include "dpaudit/attack.h"

#include "dpaudit/train.h"

#include "dpaudit/federate.h"

#include "dpaudit/game.h"

#include "dpaudit/run.h"

#include "dpaudit/epsilon_star.h"

#include "dpaudit/landscape.h"

#include "dpaudit/plan.h"

#include "dpaudit/report.h"

#include "dpaudit/binding.h"

#endif
