/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All headers of libdpaudit-lab, in reading order: trainer, federation, games, runs. They may
 * change between versions. */
#ifndef DPAUDIT_LAB_H
#define DPAUDIT_LAB_H

/* clang-format off: this is the reading order */
#include "dpaudit/lab/federate.h"
#include "dpaudit/lab/game.h"
#include "dpaudit/lab/run.h"
#include "dpaudit/lab/train.h"
/* clang-format on */

#endif
