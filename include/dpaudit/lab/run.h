/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the trials of a game: by worker processes, with a store that keeps every finished trial.
 *
 * A trial is a function of (game key, brief, index). The store is keyed by just that, so a run that
 * was killed goes on where it was, and a changed experiment finds again what still applies. What
 * comes out does not depend on how many workers there were, in which order they finished, or how
 * often the run was interrupted. */
#ifndef DPAUDIT_RUN_H
#define DPAUDIT_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/lab/game.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* ---- The store: one SQLite file ---- */

typedef struct dpa_store dpa_store;

typedef enum dpa_store_mode {
    DPA_STORE_READ, /* the file must be there; others may be writing it */
    DPA_STORE_WRITE /* made if it is not there; nobody else may write it meanwhile */
} dpa_store_mode;

DPA_API dpa_status dpa_store_open(const char *path, dpa_store_mode mode, dpa_store **out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_store_close(dpa_store *store);

/* The trials of one stage of one game. */
typedef struct dpa_store_stage {
    char key[DPA_SHA256_SIZE]; /* of game, stage and brief */
    char *experiment;          /* file that asked for it last */
    int number;                /* 0, 1, … */
    uint64_t planned;          /* trials that it asked for */
    uint64_t stored, failures; /* trials with numbers; attempts that failed */
    uint64_t failed, lost;     /* trials whose trainer failed; whose machine failed each time */
    double seconds;            /* mean time of a stored trial; NaN: none */
    uint64_t bytes;            /* of their numbers */
} dpa_store_stage;

typedef struct dpa_store_stages {
    dpa_store_stage *items; /* in the order in which they were first asked for */
    size_t count;
} dpa_store_stages;

DPA_API dpa_status dpa_store_list(dpa_store *store, dpa_store_stages *out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_store_stages_free(dpa_store_stages *stages);

/* One stored trial or one failed attempt; what is pointed at lives during the call only. */
typedef struct dpa_store_entry {
    int stage;
    uint64_t index;
    double seconds;     /* of the trial; NaN for a failure */
    double time;        /* when the attempt failed, seconds since 1970; NaN for a trial */
    dpa_values values;  /* empty for a failure, or when the bytes are damaged */
    int damaged;        /* the checksum does not fit */
    dpa_trial_end end;  /* of a trial */
    const char *reason; /* why the attempt failed; NULL for a trial */
    int machine;        /* a failure: of the machine (played again), not of the trainer */
    const char *said;   /* what it wrote to standard error; NULL: nothing */
    const char *place;  /* host, rank and slot ("hydra slot 3"); NULL: unknown */
} dpa_store_entry;

/* A non-zero answer ends the listing. */
typedef int dpa_store_visit(void *user, const dpa_store_entry *entry);

/* By index, all stages (key NULL) or one. */
DPA_API dpa_status dpa_store_trials(dpa_store *store, const char *key, dpa_store_visit *visit,
                                    void *user, dpa_error *err) DPA_MUST_USE;
/* In the order in which they happened. */
DPA_API dpa_status dpa_store_failures(dpa_store *store, const char *key, dpa_store_visit *visit,
                                      void *user, dpa_error *err) DPA_MUST_USE;

/* Saves what a damaged store still has into a new file: every trial whose checksum fits. `game`
 * (may be NULL) helps where the store has lost its own list of keys. */
typedef struct dpa_rescued {
    uint64_t stages, trials, damaged; /* damaged: rows without a checksum that fits */
    uint64_t failures;                /* of attempts, with what they said */
} dpa_rescued;
DPA_API dpa_status dpa_store_rescue(const char *from, const char *to, const dpa_game *game,
                                    dpa_rescued *out, dpa_error *err) DPA_MUST_USE;

typedef enum dpa_run_state {
    DPA_RUN_NONE,    /* the store has seen no run */
    DPA_RUN_RUNNING, /* somebody holds the store's lock now */
    DPA_RUN_DONE,
    DPA_RUN_STOPPED, /* on request, by its budget or by an error */
    DPA_RUN_KILLED   /* nobody holds the lock and no end was recorded */
} dpa_run_state;

/* A trial that is being played. */
typedef struct dpa_run_trial {
    uint64_t index;
    double seconds; /* since it began */
    char place[128];
    double done, total; /* as far as the trial says, of its own steps; total 0: it does not */
} dpa_run_trial;

enum { DPA_RUN_LISTED = 16 };

/* The latest run on a store. */
typedef struct dpa_run_status {
    dpa_run_state state;
    int64_t process;
    char host[64];
    double started, updated; /* seconds since 1970 */
    int stage, stages;
    uint64_t planned; /* trials of the stage it is at */
    uint64_t stored;  /* of them finished, by this run and before */
    uint64_t played;  /* by this run, all stages */
    uint64_t failed;  /* attempts of this run that failed, all stages */
    uint64_t running, workers;
    uint64_t failed_trials,
        lost;                   /* of the stage: see dpa_run_summary; in `stored` are the former */
    uint64_t recent;            /* trials that ended since `recent_since` */
    double recent_since, ended; /* when the last trial ended; 0: none yet */
    double trial_seconds;       /* mean of this run's trials; NaN: none yet */
    char quarantine[200];       /* places that were taken out */
    dpa_run_trial trials[DPA_RUN_LISTED]; /* running ones, the longest first */
    size_t trial_count;
    double left; /* seconds until the stage is done, by what ended lately; NaN: unknown */
    int stalled; /* nothing has ended for much longer than a trial takes */
} dpa_run_status;

/* What the store's tables say: of a store that nobody writes, or on the machine that does. */
DPA_API dpa_status dpa_store_status(dpa_store *store, dpa_run_status *out,
                                    dpa_error *err) DPA_MUST_USE;
/* The same with all that is known of running trials, by the small file STORE.status.json, which a
 * run writes twice a second: also from another machine that sees the folder. Without such a file,
 * from the store. A damaged store is DPA_BAD_INPUT. */
DPA_API dpa_status dpa_run_status_read(const char *store, dpa_run_status *out,
                                       dpa_error *err) DPA_MUST_USE;
/* Looks at every page of a store: DPA_BAD_INPUT when it is damaged. */
DPA_API dpa_status dpa_store_check(dpa_store *store, dpa_error *err) DPA_MUST_USE;

/* ---- Running ---- */

typedef struct dpa_ranks dpa_ranks;

typedef struct dpa_run_opts {
    const char *store; /* file; NULL: the experiment's, or beside it */
    uint64_t workers;  /* processes; 0: one per core that this process may use */
    /* Command that starts a worker, ended by NULL: it calls dpa_worker_serve with the same
     * experiment. NULL: trials are played in this process, one at a time, without timeout. */
    const char *const *worker;
    uint64_t retries; /* of a trial whose machine failed, with the same seed (2) */
    double timeout;   /* seconds that a trial may take (INFINITY) */
    uint64_t trials;  /* budget: this many trials, stored ones included; 0: all */
    double seconds;   /* budget: no trial starts later than this (INFINITY) */
    /* Stop when the scores of the trials so far, in the order of their numbers, refute the claim by
     * a sequential audit (dpaudit/sequential.h) with this request; NULL: go on. The evidence is
     * that of the trials up to the deciding one: the same whoever played what when. */
    const dpa_request *stop;
    dpa_ranks *ranks; /* other processes that play too, each with `workers`; NULL: none */
    dpa_progress progress;
} dpa_run_opts;

typedef struct dpa_run_summary {
    uint64_t planned;       /* of the stages reached, within the budget */
    uint64_t stored;        /* of them found in the store */
    uint64_t played;        /* finished now */
    uint64_t failed;        /* attempts that failed now */
    uint64_t failed_trials; /* trials whose trainer failed, now or before: outcomes too */
    uint64_t lost;          /* trials given up now: the machine failed each time */
    uint64_t missing;       /* trials without an outcome at the end */
    uint64_t quarantined;   /* slots that were taken out because everything failed there */
    char quarantine[200];   /* which ("hydra slot 3, node7 rank 2 slot 0") */
    uint64_t damaged;       /* stored trials whose checksum did not fit; played again */
    uint64_t others;  /* stored trials of the same file with another key: settings or files were
                         changed since, so none of them applies */
    uint64_t crashes; /* workers that died, of themselves or by the timeout */
    double seconds;
    int out_of_time; /* the budget of seconds ended it */
    int refuted;     /* opts->stop ended it: the last stage has as many trials as it took */
} dpa_run_summary;

DPA_API void dpa_run_opts_init(dpa_run_opts *opts);
/* Where the trials of an experiment are kept, for the caller to free: its `store`, or
 * NAME.trials.db beside NAME.yaml. */
DPA_API dpa_status dpa_run_store_path(const dpa_experiment *experiment, char **out,
                                      dpa_error *err) DPA_MUST_USE;
/* Plays what is missing and gathers. When it fails (DPA_CANCELLED: the progress call said so) the
 * finished trials are in the store, and the summary says how many there are. */
DPA_API dpa_status dpa_run_play(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                                dpa_run_summary *summary, dpa_error *err) DPA_MUST_USE;
/* What the store has by now, without playing: later stages are left empty where an earlier one is
 * not complete. */
DPA_API dpa_status dpa_run_collect(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                                   dpa_run_summary *summary, dpa_error *err) DPA_MUST_USE;

/* What a run would do. */
typedef struct dpa_run_estimate {
    int stages;
    uint64_t planned, stored; /* all stages; stored: the stages whose brief is known */
    double trial_seconds;     /* mean of the stored ones, else one trial, played and timed now */
    int timed;                /* the latter; it was stored, where the store can be written */
    double seconds;           /* of the run, with `workers` */
    uint64_t workers;
    double bytes; /* that the store will have grown by */
} dpa_run_estimate;

DPA_API dpa_status dpa_run_estimate_make(const dpa_run_opts *opts, dpa_game *game,
                                         dpa_run_estimate *out, dpa_error *err) DPA_MUST_USE;

/* ---- Trials as files: job arrays, any scheduler (docs/cluster.md) ---- */

/* Which trials one process of an array plays: trial `index`, or, with `shards` above 0, the trials
 * shard, shard + shards, … */
typedef struct dpa_shard {
    const char *folder; /* for the files of finished trials; made if it is not there */
    int stage;          /* from 0; −1: the last one whose brief is in the folder */
    uint64_t index, shard, shards;
} dpa_shard;

typedef struct dpa_shard_summary {
    int stage;
    uint64_t planned, found; /* of this shard; of them in the folder already */
    uint64_t played, failed, lost;
} dpa_shard_summary;

/* Plays them as `opts` says (worker, workers, retries, timeout, seconds, progress; no store) and
 * leaves a file for each that took a second or longer, and one for all that ended within a second.
 * A file appears whole under a name that no other process takes. */
DPA_API dpa_status dpa_shard_play(const dpa_run_opts *opts, const dpa_shard *which, dpa_game *game,
                                  dpa_shard_summary *out, dpa_error *err) DPA_MUST_USE;

typedef struct dpa_import_summary {
    int stage, stages;              /* that the import came to: the first that is not complete */
    uint64_t planned, stored;       /* of all stages up to it */
    uint64_t imported;              /* now */
    uint64_t duplicates, differing; /* seen more than once; of them with other numbers */
    uint64_t foreign, damaged;      /* of other experiments, or a number too large; unreadable */
    uint64_t missing;               /* of that stage */
    char ranges[240];               /* which: "3,17-20"; ends in "…" when there are too many */
} dpa_import_summary;

/* Takes the files of a folder into the store. Where one trial is there twice the attempt that began
 * first counts, and what the store has already stays. When a stage is complete the brief of the
 * next is written to the folder. */
DPA_API dpa_status dpa_import(const dpa_run_opts *opts, const char *folder, dpa_game *game,
                              dpa_import_summary *out, dpa_error *err) DPA_MUST_USE;

/* ---- Many machines: processes that mpirun or srun has started (docs/cluster.md) ---- */

/* Which MPI there is ("Open MPI v4.1.4"); 0 and an empty text when the library was built without.
 */
DPA_API int dpa_ranks_library(char *out, size_t size);
/* Joins the others; *out is NULL when this process was started alone. Once per process, before any
 * thread. */
DPA_API dpa_status dpa_ranks_join(dpa_ranks **out, dpa_error *err) DPA_MUST_USE;
/* 0 for NULL. Rank 0 calls dpa_run_play with the ranks in its options; every other calls
 * dpa_ranks_serve with the same options, or dpa_ranks_refuse when it cannot even open the game. */
DPA_API int dpa_ranks_rank(const dpa_ranks *ranks);
/* Plays what rank 0 sends, in worker processes, until rank 0 leaves. */
DPA_API dpa_status dpa_ranks_serve(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_ranks_refuse(dpa_ranks *ranks, const dpa_error *why);
/* Every rank, last of all. Rank 0 sends the others home. NULL-safe. */
DPA_API void dpa_ranks_leave(dpa_ranks *ranks);

/* The other side: plays the trials that come over standard input and answers on standard output,
 * until the input ends. For a process of its own that does nothing else: it redirects what is
 * printed to standard error, and is ended, with all that it started, when its parent dies. */
DPA_API dpa_status dpa_worker_serve(const dpa_experiment *experiment, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
