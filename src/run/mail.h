/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What carries packets between the ranks of a job. The only implementation is the MPI module
 * (src/mpi), which is loaded when a launcher has started several processes, so that one build
 * serves machines with and without MPI. */
#ifndef DPA_RUN_MAIL_H
#define DPA_RUN_MAIL_H

#include <stddef.h>
#include <stdint.h>

enum { DPA__MAIL_VERSION = 1 };

typedef struct dpa__mail {
    int version; /* DPA__MAIL_VERSION; a module of another build is refused */
    /* "Open MPI v4.1.4". May be called before start. */
    void (*library)(char *out, size_t size);
    /* 0 when this process has joined the job; `cores` is its share of those of its machine. */
    int (*start)(int *rank, int *size, uint64_t *cores);
    /* Waits for everybody: not to be called with a rank missing. */
    void (*end)(void);
    /* Begins to send; the bytes stay where they are until `sent`. NULL: it cannot. */
    void *(*send)(const void *bytes, int size, int rank);
    /* 1 when the bytes have gone; the handle is then freed. */
    int (*sent)(void *handle);
    /* 1 when a message waits, from whom and of what size; 0 when none does, -1 when mail is broken.
     */
    int (*probe)(int *rank, int *size);
    /* 0 when the probed message was taken. */
    int (*receive)(void *bytes, int size, int rank);
} dpa__mail;

/* The one function that a module exports. */
#define DPA__MAIL_SYMBOL "dpaudit_mail"
typedef const dpa__mail *dpa__mail_get(void);

#endif
