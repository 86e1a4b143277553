/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks of an MPI job and what they say to each other. Rank 0 owns the store and plays trials
 * too; every rank plays them in worker processes, so that a trial that crashes costs no rank. */
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
    uint64_t cores; /* that each rank of this machine may use */
};

typedef enum dpa__packet_kind {
    DPA__PACKET_HELLO = 1, /* to 0: slots, host and the keys of the game; or why there are none */
    DPA__PACKET_BRIEF,     /* from 0: what the trials of `stage` must know */
    DPA__PACKET_PLAY,      /* from 0: trial `index` of `stage` in `slot` */
    DPA__PACKET_OUTCOME,   /* to 0 */
    DPA__PACKET_ALIVE,     /* to 0, now and then */
    DPA__PACKET_LOST,      /* to 0: this rank cannot start workers any more */
    DPA__PACKET_STOP       /* from 0; `crashed`: a rank was lost on the way */
} dpa__packet_kind;

/* Both ends are the same program on the same machine type: structs are sent as they are. */
typedef struct dpa__packet_head {
    uint32_t kind, slot, stage, status, crashed, retired;
    uint64_t index, values, said; /* counts of what follows: doubles, bytes */
    double seconds;
} dpa__packet_head;

typedef struct dpa__packet {
    dpa__packet_head head;
    int rank;          /* who sent it */
    dpa_values values; /* the receiver's to free */
    char *said;        /* likewise; ended by NUL; NULL: nothing */
    dpa_error error;   /* when the head's status is not DPA_OK */
} dpa__packet;

/* The MPI module, or why it cannot be loaded. */
dpa_status dpa__mail_load(const dpa__mail **out, dpa_error *err);

/* Begins to send a packet; `values` and `said` as many as the head says, `error` when its status is
 * not DPA_OK. Returns at once: whoever is dead must not hold up the others. */
dpa_status dpa__packet_send(dpa_ranks *ranks, int rank, const dpa__packet_head *head,
                            const double *values, const char *said, const dpa_error *error,
                            dpa_error *err);
/* The next packet that is there; *some is 0 when there is none. */
dpa_status dpa__packet_take(dpa_ranks *ranks, dpa__packet *out, int *some, dpa_error *err);
void dpa__packet_free(dpa__packet *packet);

/* Rank 0: its own pool and those of all other ranks as one transport. */
dpa_status dpa__ranks_open(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           const char *scratch, dpa__transport *out, dpa_error *err);
/* The folder for the trainers' files of a rank, beside the store; for the caller to free. */
dpa_status dpa__ranks_scratch(const dpa_run_opts *opts, const dpa_game *game, int rank, char **out,
                              dpa_error *err);
/* How many workers each rank of this machine has. */
uint64_t dpa__ranks_workers(const dpa_ranks *ranks, const dpa_run_opts *opts);

/* How long to sleep between two looks when the last event was so many seconds ago. */
double dpa__ranks_nap(double quiet);

#endif
