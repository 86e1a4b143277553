/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes the keys of a training file as help text. */
#ifndef DPA_TRAIN_PLAN_H
#define DPA_TRAIN_PLAN_H

#include "base/text.h"

void dpa__train_plan_describe(dpa__text *out);

#endif
