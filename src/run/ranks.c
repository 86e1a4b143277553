/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joining and leaving the processes that mpirun or srun has started; packets between them.
 *
 * Without MPI at build time there is only ever one process; being one of several is then an error
 * that says so, because they would fight for the store. */
#include "run/ranks.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/schedule.h"

/* How many processes the launcher says there are. */
static long launched(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    long most = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const char *value = getenv(names[i]);
        const long count = value != NULL ? strtol(value, NULL, 10) : 0;
        if (count > most) most = count;
    }
    return most;
}

int dpa_ranks_rank(const dpa_ranks *ranks) {
    return ranks != NULL ? ranks->rank : 0;
}

uint64_t dpa__ranks_workers(const dpa_ranks *ranks, const dpa_run_opts *opts) {
    return opts->workers > 0 ? opts->workers : ranks->cores;
}

dpa_status dpa__ranks_scratch(const dpa_run_opts *opts, const dpa_game *game, int rank, char **out,
                              dpa_error *err) {
    char *path = NULL;
    dpa__text text = {0};
    DPA_TRY(dpa__run_path(opts, game, &path, err));
    dpa__text_printf(&text, "%s.scratch.rank%d", path, rank);
    free(path);
    return dpa__text_take(&text, out, err);
}

double dpa__ranks_nap(double quiet) {
    const double least = 5e-5, most = 1e-3;
    return quiet < 10 * least ? least : quiet > 10 * most ? most : 0.1 * quiet;
}

void dpa__packet_free(dpa__packet *packet) {
    dpa_values_free(&packet->values);
    free(packet->said);
    packet->said = NULL;
}

#ifndef DPA_MPI

int dpa_ranks_library(char *out, size_t size) {
    (void)snprintf(out, size, "%s", "");
    return 0;
}

dpa_status dpa_ranks_join(dpa_ranks **out, dpa_error *err) {
    *out = NULL;
    if (launched() == 1) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "%ld processes were started, but this dpaudit was built without MPI (cmake "
                     "-DDPAUDIT_MPI=ON); start one",
                     launched());
}

void dpa_ranks_leave(dpa_ranks *ranks) {
    free(ranks);
}

dpa_status dpa_ranks_serve(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           dpa_error *err) {
    (void)ranks, (void)opts, (void)game;
    return dpa__fail(err, DPA_INTERNAL, "built without MPI");
}

void dpa_ranks_refuse(dpa_ranks *ranks, const dpa_error *why) {
    (void)ranks, (void)why;
}

dpa_status dpa__ranks_open(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           const char *scratch, dpa__transport *out, dpa_error *err) {
    (void)ranks, (void)opts, (void)game, (void)scratch, (void)out;
    return dpa__fail(err, DPA_INTERNAL, "built without MPI");
}

#else

#include <mpi.h>

extern char **environ;

static const int tag = 3477;

/* "Open MPI v4.1.4, package: …": up to the comma. */
int dpa_ranks_library(char *out, size_t size) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    (void)MPI_Get_library_version(text, &length);
    (void)snprintf(out, size, "%.*s", (int)strcspn(text, ",\n"), text);
    return 1;
}

/* Trainers may use MPI themselves; they must not take this job's variables for theirs. */
static void forget_launcher(void) {
    static const char *const prefixes[] = {"OMPI_", "PMIX_", "PMI_"};
    for (char **at = environ; *at != NULL;) {
        char name[256];
        const size_t length = strcspn(*at, "=");
        int found = 0;
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; ++i)
            found |= strncmp(*at, prefixes[i], strlen(prefixes[i])) == 0;
        if (!found || length >= sizeof name) {
            ++at;
            continue;
        }
        memcpy(name, *at, length);
        name[length] = '\0';
        (void)unsetenv(name); /* moves the rest down */
    }
}

/* Ranks of one machine share its cores: those that all of them together may use, divided. */
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

static dpa_status start(dpa_ranks *ranks, dpa_error *err) {
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return dpa__fail(err, DPA_IO, "MPI does not start");
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    const long expected = launched();
    if (ranks->size == 1 && expected > 1) {
        (void)MPI_Finalize();
        char library[128];
        (void)dpa_ranks_library(library, sizeof library);
        return dpa__fail(err, DPA_IO,
                         "%ld processes were started, but MPI (%s) sees one: with srun, try "
                         "--mpi=pmix; or use the mpirun of that MPI",
                         expected, library);
    }
    ranks->cores = share_of_cores();
    forget_launcher();
    return DPA_OK;
}

dpa_status dpa_ranks_join(dpa_ranks **out, dpa_error *err) {
    *out = NULL;
    if (launched() == 1) return DPA_OK;
    dpa_ranks *ranks = DPA_NEW(dpa_ranks, err);
    if (ranks == NULL) return DPA_NO_MEMORY;
    dpa_status status = start(ranks, err);
    if (status == DPA_OK) {
        ranks->lost = dpa__calloc((size_t)ranks->size, sizeof *ranks->lost, err);
        if (ranks->lost == NULL) status = DPA_NO_MEMORY;
    }
    if (status != DPA_OK) {
        free(ranks);
        return status;
    }
    *out = ranks;
    return DPA_OK;
}

static void empty_outbox(dpa_ranks *ranks);

static int somebody_is_lost(const dpa_ranks *ranks) {
    int lost = 0;
    for (int i = 0; i < ranks->size; ++i) lost |= ranks->lost[i];
    return lost;
}

static void stop_others(dpa_ranks *ranks) {
    const dpa__packet_head stop = {.kind = DPA__PACKET_STOP,
                                   .crashed = (uint32_t)somebody_is_lost(ranks)};
    for (int i = 1; i < ranks->size; ++i) {
        if (ranks->lost[i]) continue;
        const dpa_status sent = dpa__packet_send(ranks, i, &stop, NULL, NULL, NULL, NULL);
        (void)sent; /* who cannot be told any more is gone */
    }
    ranks->stopped = 1;
}

void dpa_ranks_leave(dpa_ranks *ranks) {
    if (ranks == NULL) return;
    if (ranks->rank == 0 && !ranks->stopped) stop_others(ranks);
    empty_outbox(ranks);
    /* MPI_Finalize waits for everybody, so not with somebody missing. */
    if (!somebody_is_lost(ranks)) (void)MPI_Finalize();
    free(ranks->lost);
    free(ranks);
}

/* ---- Packets ---- */

struct dpa__letter {
    dpa__letter *next;
    MPI_Request request;
    int rank;
    unsigned char bytes[];
};

/* Frees what has arrived. */
static void sweep_outbox(dpa_ranks *ranks) {
    for (dpa__letter **at = &ranks->outbox; *at != NULL;) {
        dpa__letter *letter = *at;
        int done = 0;
        if (MPI_Test(&letter->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = 0;
        if (done) {
            *at = letter->next;
            free(letter);
        } else {
            at = &letter->next;
        }
    }
}

static int is_waiting(const dpa_ranks *ranks) {
    for (const dpa__letter *at = ranks->outbox; at != NULL; at = at->next)
        if (!ranks->lost[at->rank]) return 1;
    return 0;
}

/* The last words must arrive before this process ends; the dead are not waited for. Letters to them
 * stay MPI's until the process ends. */
static void empty_outbox(dpa_ranks *ranks) {
    const struct timespec t = {0, 1000000};
    for (int i = 0; i < 10000 && is_waiting(ranks); ++i) {
        sweep_outbox(ranks);
        (void)nanosleep(&t, NULL);
    }
}

dpa_status dpa__packet_send(dpa_ranks *ranks, int rank, const dpa__packet_head *head,
                            const double *values, const char *said, const dpa_error *error,
                            dpa_error *err) {
    const size_t numbers = (size_t)head->values * sizeof *values, words = (size_t)head->said;
    const size_t failure = head->status != DPA_OK ? sizeof *error : 0;
    const size_t size = sizeof *head + numbers + words + failure;
    sweep_outbox(ranks);
    if (size > INT_MAX)
        return dpa__fail(err, DPA_IO, "%zu bytes are too many for one message between ranks", size);
    dpa__letter *letter = dpa__malloc(1, sizeof *letter + size, err);
    if (letter == NULL) return DPA_NO_MEMORY;
    unsigned char *to = letter->bytes;
    memcpy(to, head, sizeof *head);
    if (numbers > 0 && values != NULL) memcpy(to + sizeof *head, values, numbers);
    if (words > 0 && said != NULL) memcpy(to + sizeof *head + numbers, said, words);
    if (failure > 0 && error != NULL) memcpy(to + size - failure, error, failure);
    const int code =
        MPI_Isend(letter->bytes, (int)size, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &letter->request);
    if (code != MPI_SUCCESS) {
        free(letter);
        return dpa__fail(err, DPA_IO, "rank %d cannot be reached", rank);
    }
    letter->rank = rank;
    letter->next = ranks->outbox;
    ranks->outbox = letter;
    return DPA_OK;
}

static dpa_status unpack(const unsigned char *bytes, size_t size, dpa__packet *out,
                         dpa_error *err) {
    if (size < sizeof out->head) return dpa__fail(err, DPA_INTERNAL, "a packet that is too short");
    memcpy(&out->head, bytes, sizeof out->head);
    const dpa__packet_head *h = &out->head;
    const size_t failure = h->status != DPA_OK ? sizeof out->error : 0;
    const size_t rest = size - sizeof *h;
    if (h->values > rest / sizeof(double) || failure > rest - h->values * sizeof(double) ||
        h->said != rest - h->values * sizeof(double) - failure)
        return dpa__fail(err, DPA_INTERNAL, "a packet of another size than it says");
    out->values.items = DPA_NEW_ARRAY(double, (size_t)h->values, err);
    out->said = h->said > 0 ? dpa__malloc((size_t)h->said + 1, 1, err) : NULL;
    if (out->values.items == NULL || (h->said > 0 && out->said == NULL)) {
        dpa__packet_free(out);
        return DPA_NO_MEMORY;
    }
    out->values.count = (size_t)h->values;
    if (h->values > 0) memcpy(out->values.items, bytes + sizeof *h, h->values * sizeof(double));
    if (h->said > 0) {
        memcpy(out->said, bytes + size - failure - h->said, (size_t)h->said);
        out->said[h->said] = '\0';
    }
    if (failure > 0) memcpy(&out->error, bytes + size - failure, failure);
    return DPA_OK;
}

dpa_status dpa__packet_take(dpa_ranks *ranks, dpa__packet *out, int *some, dpa_error *err) {
    MPI_Status info;
    int count = 0;
    *out = (dpa__packet){0};
    if (ranks->outbox != NULL) sweep_outbox(ranks);
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, some, &info) != MPI_SUCCESS)
        return dpa__fail(err, DPA_IO, "MPI cannot be asked for messages any more");
    if (!*some) return DPA_OK;
    *some = 0;
    (void)MPI_Get_count(&info, MPI_BYTE, &count);
    unsigned char *bytes = DPA_NEW_ARRAY(unsigned char, (size_t)count, err);
    if (bytes == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    if (MPI_Recv(bytes, count, MPI_BYTE, info.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
        status = dpa__fail(err, DPA_IO, "a message of rank %d was lost", info.MPI_SOURCE);
    if (status == DPA_OK) status = unpack(bytes, (size_t)count, out, err);
    free(bytes);
    if (status != DPA_OK) return status;
    out->rank = info.MPI_SOURCE;
    *some = 1;
    return DPA_OK;
}

#endif
