/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "dpaudit/dpaudit.h"

int main(void) {
    (void)printf("dpaudit %s\n", dpa_version());
    return 0;
}
