/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads libdpaudit-zip, which is beside this library and stays loaded. */
#include "base/zip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "base/write.h"

const dpa__zip_library *dpa__zip;

static char reason[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* By its whole path, because the linker's list of places is lost where somebody else (a sanitizer)
 * calls dlopen for us: beside this library, or in `lib` beside the folder of a program that has it
 * inside; else wherever the linker looks. */
static void *open_library(void) {
    static const char *const places[] = {"/", "/../lib/"};
    char folder[4096], path[sizeof folder + 64];
    Dl_info info;
    void *library = NULL;
    if (dladdr(&once, &info) != 0 && info.dli_fname != NULL && info.dli_fname[0] == '/' &&
        dpa__folder_of(info.dli_fname, folder, sizeof folder))
        for (int i = 0; i < 2 && library == NULL; ++i) {
            (void)snprintf(path, sizeof path, "%s%s%s", folder, places[i], DPA_ZIP_FILE);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    return library != NULL ? library : dlopen(DPA_ZIP_FILE, RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    void *library = open_library();
    if (library != NULL) dpa__zip = dlsym(library, DPA__ZIP_SYMBOL);
    if (dpa__zip == NULL) (void)snprintf(reason, sizeof reason, "%s", dlerror());
}

dpa_status dpa__zip_load(dpa_error *err) {
    (void)pthread_once(&once, load);
    if (dpa__zip != NULL) return DPA_OK;
    return dpa__fail(err, DPA_IO, "NPZ files cannot be used; install dpaudit again (%s)", reason);
}
