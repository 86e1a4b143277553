/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads libdpaudit-zip, which is beside this library and stays loaded. */
#include "base/zip.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/error.h"

const dpa__zip_library *dpa__zip;

static char reason[300];

static void load(void) {
    void *library = dlopen(DPA_ZIP_FILE, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) dpa__zip = dlsym(library, DPA__ZIP_SYMBOL);
    if (dpa__zip == NULL) (void)snprintf(reason, sizeof reason, "%s", dlerror());
}

dpa_status dpa__zip_load(dpa_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    if (dpa__zip != NULL) return DPA_OK;
    return dpa__fail(err, DPA_IO, "NPZ files cannot be used; install dpaudit again (%s)", reason);
}
