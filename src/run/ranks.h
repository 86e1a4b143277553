/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks of an MPI job and their packets. Rank 0 owns the store and plays trials too. Every rank
 * plays them in worker processes, so that a trial that crashes costs no rank. */
#ifndef DPA_RUN_RANKS_H
#define DPA_RUN_RANKS_H

#include "run/mail.h"
#include "run/transport.h"

typedef struct dpa__letter dpa__letter; /* a packet on its way */

struct dpa_ranks {
    const dpa__mail *mail;
    int rank, size;
    dpa__letter *outbox;
    int *lost;      /* per rank: 1 once it timed out or reported a fatal error */
    int stopped;    /* rank 0 has told the others to end */
    uint64_t cores; /* cores that each rank of this machine may use */
};

typedef enum dpa__packet_kind {
    DPA__PACKET_HELLO = 1, /* to 0: slots, host and the game's keys; or why it has none */
    DPA__PACKET_BRIEF,     /* from 0: the brief of `stage` */
    DPA__PACKET_PLAY,      /* from 0: trial `index` of `stage` in `slot` */
    DPA__PACKET_OUTCOME,   /* to 0 */
    DPA__PACKET_ALIVE,     /* to 0, regularly: the progress of its trials by slot, if known */
    DPA__PACKET_LOST,      /* to 0: this rank can start no more workers */
    DPA__PACKET_STOP       /* from 0; `crashed`: a rank was lost during the run */
} dpa__packet_kind;

/* Both ends are the same program on the same type of machine, so structs are sent as they are. */
typedef struct dpa__packet_head {
    uint32_t kind, slot, stage, status, crashed, retired;
    uint64_t index, values, said; /* values and said count what follows: doubles, bytes */
    double seconds;
} dpa__packet_head;

typedef struct dpa__packet {
    dpa__packet_head head;
    int rank;          /* who sent it */
    dpa_values values; /* the receiver frees it */
    char *said;        /* likewise; ended by NUL; NULL: nothing */
    dpa_error error;   /* set if the head's status is not DPA_OK */
} dpa__packet;

/* Begins to send a packet. The head gives the sizes of `values` and `said`; `error` is sent if its
 * status is not DPA_OK. Returns at once, so that a dead rank does not hold up the others. */
dpa_status dpa__packet_send(dpa_ranks *ranks, int rank, const dpa__packet_head *head,
                            const double *values, const char *said, const dpa_error *error,
                            dpa_error *err);
/* Takes the next packet; *some is 0 if there is none. */
dpa_status dpa__packet_take(dpa_ranks *ranks, dpa__packet *out, int *some, dpa_error *err);
void dpa__packet_free(dpa__packet *packet);

/* Rank 0: opens one transport over its own pool and those of all other ranks. */
dpa_status dpa__ranks_open(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           const char *scratch, dpa__transport *out, dpa_error *err);
/* The folder beside the store for the trainers' files of a rank; the caller frees it. */
dpa_status dpa__ranks_scratch(const dpa_run_opts *opts, const dpa_game *game, int rank, char **out,
                              dpa_error *err);
/* The number of workers of each rank on this machine. */
uint64_t dpa__ranks_workers(const dpa_ranks *ranks, const dpa_run_opts *opts);

/* How long to sleep between two polls if the last event was `quiet` seconds ago. */
double dpa__ranks_nap(double quiet);

#endif
