/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding and loading the MPI module: dpaudit/mpi.so in the folder of this library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "run/ranks.h"

static const char module_name[] = "/dpaudit/mpi.so";

/* dlsym returns an object pointer; POSIX guarantees that it can be used as a function pointer. */
static dpa__mail_get *function_of(void *symbol) {
    dpa__mail_get *get = NULL;
    memcpy(&get, &symbol, sizeof get);
    return get;
}

static dpa_status path_of_module(char *out, size_t size, dpa_error *err) {
    static const char here = 0; /* an address inside this library */
    Dl_info info;
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL)
        return dpa__fail(err, DPA_INTERNAL, "the library does not know where it is");
    const size_t end = sizeof module_name - 1;
    if (size <= end || !dpa__folder_of(info.dli_fname, out, size - end))
        return dpa__fail(err, DPA_IO, "the path of the MPI module is too long");
    memcpy(out + strlen(out), module_name, sizeof module_name);
    return DPA_OK;
}

dpa_status dpa__mail_load(const dpa__mail **out, dpa_error *err) {
    char path[4096];
    *out = NULL;
    DPA_TRY(path_of_module(path, sizeof path, err));
    /* RTLD_GLOBAL, because Open MPI's plugins look for its symbols among the global ones. Never
     * unloaded, because MPI does not survive that. */
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (module == NULL) return dpa__fail(err, DPA_IO, "%.400s", dlerror());
    void *symbol = dlsym(module, DPA__MAIL_SYMBOL);
    const dpa__mail *mail = symbol != NULL ? function_of(symbol)() : NULL;
    if (mail == NULL || mail->version != DPA__MAIL_VERSION)
        return dpa__fail(err, DPA_IO, "%.400s: from another version of dpaudit", path);
    *out = mail;
    return DPA_OK;
}
