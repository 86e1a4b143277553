/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Carries packets between the ranks of a job. The only implementation is the MPI module (src/mpi),
 * which is loaded when a launcher has started several processes, so that one build serves machines
 * with and without MPI. */
#ifndef DPA_RUN_MAIL_H
#define DPA_RUN_MAIL_H

#include <stddef.h>
#include <stdint.h>

enum { DPA__MAIL_VERSION = 1 };

typedef struct dpa__mail {
    int version; /* must be DPA__MAIL_VERSION: modules of other builds are refused */
    /* Name of the library, such as "Open MPI v4.1.4". May be called before `start`. */
    void (*library)(char *out, size_t size);
    /* 0 once this process has joined the job; `cores` is its share of the machine's cores. */
    int (*start)(int *rank, int *size, uint64_t *cores);
    /* Waits for all ranks, so it must not be called when one is missing. */
    void (*end)(void);
    /* Begins to send; the bytes must stay valid until `sent` returns 1. NULL: it cannot send. */
    void *(*send)(const void *bytes, int size, int rank);
    /* 1 once the bytes have gone; this also frees the handle. */
    int (*sent)(void *handle);
    /* 1 if a message is waiting, with its sender and size; 0 if none is, -1 if the connection is
     * broken. */
    int (*probe)(int *rank, int *size);
    /* 0 on success; takes the message that `probe` found. */
    int (*receive)(void *bytes, int size, int rank);
} dpa__mail;

/* The one function that a module exports. */
#define DPA__MAIL_SYMBOL "dpaudit_mail"
typedef const dpa__mail *dpa__mail_get(void);

#endif
