/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loadable module that talks to MPI. It calls nothing in our libraries, so it can be loaded on
 * its own. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/mail.h"

static const int tag = 3477;

/* The name and version of the MPI library: of "Open MPI v4.1.4, package: …" the part before the
 * comma. */
static void library(char *out, size_t size) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    (void)MPI_Get_library_version(text, &length);
    (void)snprintf(out, size, "%.*s", (int)strcspn(text, ",\n"), text);
}

/* The cores for each rank: all cores that the ranks of this machine may use, divided by their
 * number. */
static uint64_t share_of_cores(void) {
    cpu_set_t own, all;
    MPI_Comm machine;
    int local = 1;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_SET(0, &own);
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    (void)MPI_Comm_size(machine, &local);
    (void)MPI_Allreduce(&own, &all, (int)sizeof own, MPI_BYTE, MPI_BOR, machine);
    (void)MPI_Comm_free(&machine);
    const int each = CPU_COUNT(&all) / local;
    return each > 1 ? (uint64_t)each : 1;
}

static void end(void) {
    (void)MPI_Finalize();
}

static int start(int *rank, int *size, uint64_t *cores) {
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return -1;
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, size);
    *cores = share_of_cores();
    return 0;
}

static void *send_bytes(const void *bytes, int size, int rank) {
    MPI_Request *request = malloc(sizeof *request);
    if (request == NULL) return NULL;
    if (MPI_Isend(bytes, size, MPI_BYTE, rank, tag, MPI_COMM_WORLD, request) == MPI_SUCCESS)
        return request;
    free(request);
    return NULL;
}

static int sent(void *handle) {
    int done = 0;
    if (MPI_Test(handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done) return 0;
    free(handle);
    return 1;
}

static int probe(int *rank, int *size) {
    MPI_Status info;
    int some = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &some, &info) != MPI_SUCCESS) return -1;
    if (!some) return 0;
    *rank = info.MPI_SOURCE;
    return MPI_Get_count(&info, MPI_BYTE, size) == MPI_SUCCESS ? 1 : -1;
}

static int receive(void *bytes, int size, int rank) {
    return MPI_Recv(bytes, size, MPI_BYTE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

static const dpa__mail mail = {DPA__MAIL_VERSION, library, start, end,
                               send_bytes,        sent,    probe, receive};

__attribute__((visibility("default"))) dpa__mail_get dpaudit_mail;

const dpa__mail *dpaudit_mail(void) {
    return &mail;
}
