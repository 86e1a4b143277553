/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joins and leaves the processes that mpirun or srun has started, and sends packets between them.
 *
 * If the MPI module cannot be loaded, being one of several processes is an error that says so,
 * because they would compete for the store. */
#include "run/ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/write.h"
#include "game/rules.h"
#include "run/schedule.h"
#include "run/scratch.h"

/* ---- The MPI module: dpaudit/mpi.so in the folder of this library ---- */

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

static dpa_status load_mail(const dpa__mail **out, dpa_error *err) {
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

/* ---- Joining and leaving ---- */

/* The number of processes according to the launcher. */
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
    DPA_TRY(dpa__run_path(opts, game, &path, err));
    const dpa_status status = dpa__scratch_name(path, rank, out, err);
    free(path);
    return status;
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

extern char **environ;

int dpa_ranks_library(char *out, size_t size) {
    const dpa__mail *mail = NULL;
    (void)snprintf(out, size, "%s", "");
    if (load_mail(&mail, NULL) != DPA_OK) return 0;
    mail->library(out, size);
    return 1;
}

/* Trainers may use MPI themselves and must not see this job's variables. */
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
        (void)unsetenv(name); /* shifts the later ones down */
    }
}

static dpa_status need_mail(dpa_ranks *ranks, dpa_error *err) {
    dpa_error why = {0};
    if (load_mail(&ranks->mail, &why) == DPA_OK) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "%ld processes were started, but the MPI module of dpaudit is not there "
                     "(%.300s); start one process, or build with -DDPAUDIT_MPI=ON",
                     launched(), why.text);
}

static dpa_status start(dpa_ranks *ranks, dpa_error *err) {
    DPA_TRY(need_mail(ranks, err));
    if (ranks->mail->start(&ranks->rank, &ranks->size, &ranks->cores) != 0)
        return dpa__fail(err, DPA_IO, "MPI does not start");
    const long expected = launched();
    if (ranks->size == 1 && expected > 1) {
        char library[128];
        ranks->mail->end();
        ranks->mail->library(library, sizeof library);
        return dpa__fail(err, DPA_IO,
                         "%ld processes were started, but MPI (%s) sees one: with srun, try "
                         "--mpi=pmix; or use the mpirun of that MPI",
                         expected, library);
    }
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
    if (status == DPA_OK)
        *out = ranks;
    else
        free(ranks);
    return status;
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
        (void)sent; /* ignored: a rank that cannot be told is gone */
    }
    ranks->stopped = 1;
}

void dpa_ranks_leave(dpa_ranks *ranks) {
    if (ranks == NULL) return;
    if (ranks->rank == 0 && !ranks->stopped) stop_others(ranks);
    empty_outbox(ranks);
    /* MPI's end waits for all ranks, so it is skipped when one is missing. */
    if (!somebody_is_lost(ranks)) ranks->mail->end();
    free(ranks->lost);
    free(ranks);
}

/* ---- Packets ---- */

struct dpa__letter {
    dpa__letter *next;
    void *handle; /* from `mail`, until the letter is sent */
    int rank;
    unsigned char bytes[];
};

/* Frees the letters that were sent. */
static void sweep_outbox(dpa_ranks *ranks) {
    for (dpa__letter **at = &ranks->outbox; *at != NULL;) {
        dpa__letter *letter = *at;
        if (ranks->mail->sent(letter->handle)) {
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

/* Waits until the last letters are sent, except those to dead ranks, which belong to MPI until the
 * process ends. */
static void empty_outbox(dpa_ranks *ranks) {
    for (int i = 0; i < 10000 && is_waiting(ranks); ++i) {
        sweep_outbox(ranks);
        dpa__sleep(1e-3);
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
    letter->handle = ranks->mail->send(letter->bytes, (int)size, rank);
    if (letter->handle == NULL) {
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
    DPA_TRY(dpa__values_copy(bytes + sizeof *h, (size_t)h->values, &out->values, err));
    if (h->said > 0) {
        out->said = dpa__malloc((size_t)h->said + 1, 1, err);
        if (out->said == NULL) {
            dpa__packet_free(out);
            return DPA_NO_MEMORY;
        }
        memcpy(out->said, bytes + size - failure - h->said, (size_t)h->said);
        out->said[h->said] = '\0';
    }
    if (failure > 0) memcpy(&out->error, bytes + size - failure, failure);
    return DPA_OK;
}

dpa_status dpa__packet_take(dpa_ranks *ranks, dpa__packet *out, int *some, dpa_error *err) {
    int count = 0, rank = 0;
    *out = (dpa__packet){0};
    *some = 0;
    if (ranks->outbox != NULL) sweep_outbox(ranks);
    const int there = ranks->mail->probe(&rank, &count);
    if (there < 0) return dpa__fail(err, DPA_IO, "MPI cannot be asked for messages any more");
    if (!there) return DPA_OK;
    unsigned char *bytes = DPA_NEW_ARRAY(unsigned char, (size_t)count, err);
    if (bytes == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    if (ranks->mail->receive(bytes, count, rank) != 0)
        status = dpa__fail(err, DPA_IO, "a message of rank %d was lost", rank);
    if (status == DPA_OK) status = unpack(bytes, (size_t)count, out, err);
    free(bytes);
    if (status != DPA_OK) return status;
    out->rank = rank;
    *some = 1;
    return DPA_OK;
}
