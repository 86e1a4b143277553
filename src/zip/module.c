/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libdpaudit-zip: the functions of libzip as one table, for base/zip.c, which loads it. */
#include "base/zip.h"

extern const dpa__zip_library dpa__zip_library_1;

const dpa__zip_library dpa__zip_library_1 = {
#define MEMBER(name) .name = zip_##name,
    DPA__ZIP_CALLS(MEMBER)
#undef MEMBER
};
