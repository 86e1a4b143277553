/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the text of a family tells before it is parsed. Only this file knows the names. */
#ifndef DPA_ACCOUNT_FAMILY_H
#define DPA_ACCOUNT_FAMILY_H

#include "dpaudit/account.h"

int dpa__family_is_gaussian(const char *spec);
/* 1 if the accountant composes the members step by step, which takes milliseconds to seconds each.
 */
int dpa__family_is_composed(const char *spec);

#endif
