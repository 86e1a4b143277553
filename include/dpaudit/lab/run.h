/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the trials of a game in worker processes, with a store that keeps every finished trial.
 *
 * A trial is a function of (game key, brief, index), and this is the key in the store. So a run
 * that was killed goes on where it was, and a changed experiment finds the trials that still apply.
 * The result does not depend on how many workers there were, in which order they finished, or how
 * often the run was interrupted. */
#ifndef DPAUDIT_RUN_H
#define DPAUDIT_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/lab/game.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_request dpa_request;

/* ---- The store: one SQLite file ---- */

typedef struct dpa_store dpa_store;

typedef enum dpa_store_mode {
    DPA_STORE_READ, /* the file must exist; others may be writing it */
    DPA_STORE_WRITE /* the file is made if needed; nobody else may write it meanwhile */
} dpa_store_mode;

DPA_API dpa_status dpa_store_open(const char *path, dpa_store_mode mode, dpa_store **out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_store_close(dpa_store *store);

/* The trials of one stage of one game. */
typedef struct dpa_store_stage {
    char key[DPA_SHA256_SIZE]; /* of game, stage and brief */
    char *settings;   /* lines "name: value", of which the key is the digest, with the brief;
                         NULL: stored by an older version */
    char *experiment; /* the experiment file that asked for it last */
    int number;       /* 0, 1, … */
    uint64_t planned; /* number of trials that it asked for */
    uint64_t stored, failures; /* trials with numbers; failed attempts */
    uint64_t failed, lost; /* trials whose trainer failed; whose machine failed at every attempt */
    double seconds;        /* mean duration of a stored trial; NaN: none */
    uint64_t bytes;        /* size of their numbers */
} dpa_store_stage;

typedef struct dpa_store_stages {
    dpa_store_stage *items; /* in the order in which they were first asked for */
    size_t count;
} dpa_store_stages;

DPA_API dpa_status dpa_store_list(dpa_store *store, dpa_store_stages *out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_store_stages_free(dpa_store_stages *stages);

/* One stored trial or one failed attempt; pointers are valid only during the call. */
typedef struct dpa_store_entry {
    int stage;
    uint64_t index;
    double seconds;     /* of the trial; NaN for a failure */
    double time;        /* when the attempt failed, seconds since 1970; NaN for a trial */
    dpa_values values;  /* empty for a failure, or if the bytes are damaged */
    int damaged;        /* the checksum does not fit */
    dpa_trial_end end;  /* of a trial */
    const char *reason; /* why the attempt failed; NULL for a trial */
    int machine;        /* of a failure: the machine failed (played again), not the trainer */
    const char *said;   /* its standard error; NULL: nothing */
    const char *place;  /* host, rank and slot ("hydra slot 3"); NULL: unknown */
} dpa_store_entry;

/* A non-zero return value ends the listing. */
typedef int dpa_store_visit(void *user, const dpa_store_entry *entry);

/* Visits the trials by index, of all stages (key NULL) or one. */
DPA_API dpa_status dpa_store_trials(dpa_store *store, const char *key, dpa_store_visit *visit,
                                    void *user, dpa_error *err) DPA_MUST_USE;
/* Visits the failed attempts in the order in which they happened. */
DPA_API dpa_status dpa_store_failures(dpa_store *store, const char *key, dpa_store_visit *visit,
                                      void *user, dpa_error *err) DPA_MUST_USE;

/* Copies what a damaged store still has into a new file: every trial whose checksum fits. `game`
 * (may be NULL) helps if the store has lost its own list of keys. */
typedef struct dpa_rescued {
    uint64_t stages, trials, damaged; /* damaged: rows without a fitting checksum */
    uint64_t failures;                /* records of failed attempts */
} dpa_rescued;
DPA_API dpa_status dpa_store_rescue(const char *from, const char *to, const dpa_game *game,
                                    dpa_rescued *out, dpa_error *err) DPA_MUST_USE;

typedef enum dpa_run_state {
    DPA_RUN_NONE,    /* the store has seen no run */
    DPA_RUN_RUNNING, /* somebody holds the store's lock now */
    DPA_RUN_DONE,
    DPA_RUN_STOPPED, /* ended on request, by its budget or by an error */
    DPA_RUN_KILLED   /* nobody holds the lock and no end was recorded */
} dpa_run_state;

/* A trial that is being played. */
typedef struct dpa_run_trial {
    uint64_t index;
    double seconds; /* since it began */
    char place[128];
    double done, total; /* progress of the trial in its own steps; total 0: it does not say */
} dpa_run_trial;

enum { DPA_RUN_LISTED = 16 };

/* The latest run on a store. */
typedef struct dpa_run_status {
    dpa_run_state state;
    int64_t process;
    char host[64];
    double started, updated; /* seconds since 1970 */
    int stage, stages;
    uint64_t planned; /* number of trials of the current stage */
    uint64_t stored;  /* finished trials of this stage, by this run and before */
    uint64_t played;  /* trials played by this run, all stages */
    uint64_t failed;  /* attempts of this run that failed, all stages */
    uint64_t running, workers;
    uint64_t failed_trials,
        lost;        /* of the stage: see dpa_run_summary; `stored` includes the failed ones */
    uint64_t recent; /* trials that ended since `recent_since` */
    double recent_since, ended;           /* when the last trial ended; 0: none yet */
    double trial_seconds;                 /* mean of this run's trials; NaN: none yet */
    char quarantine[200];                 /* the quarantined slots */
    dpa_run_trial trials[DPA_RUN_LISTED]; /* the running trials, the longest-running first */
    size_t trial_count;
    double left; /* seconds until the stage is done, by the recent rate; NaN: unknown */
    int stalled; /* nothing has ended for much longer than a trial takes */
} dpa_run_status;

/* From the store's tables: correct if nobody writes the store, or on the machine that does. */
DPA_API dpa_status dpa_store_status(dpa_store *store, dpa_run_status *out,
                                    dpa_error *err) DPA_MUST_USE;
/* The same with everything that is known of running trials, from the small file STORE.status.json,
 * which a run writes twice a second; so it works from any machine that sees the folder. Without
 * such a file, from the store. A damaged store is DPA_BAD_INPUT. */
DPA_API dpa_status dpa_run_status_read(const char *store, dpa_run_status *out,
                                       dpa_error *err) DPA_MUST_USE;
/* The log file of a running trial of the store's run; the caller frees the name. NULL: it has
 * printed nothing, or does not run. */
DPA_API dpa_status dpa_run_log_find(const char *store, uint64_t index, char **out,
                                    dpa_error *err) DPA_MUST_USE;
/* Checks every page of a store; DPA_BAD_INPUT if it is damaged. */
DPA_API dpa_status dpa_store_check(dpa_store *store, dpa_error *err) DPA_MUST_USE;

/* ---- Running ---- */

typedef struct dpa_ranks dpa_ranks;

typedef struct dpa_run_opts {
    const char *store; /* file; NULL: the experiment's, or beside it */
    uint64_t workers;  /* number of processes; 0: one per core that this process may use */
    /* The command that starts a worker, ended by NULL; it must call dpa_worker_serve with the same
     * experiment. NULL: trials are played in this process, one at a time, without timeout. */
    const char *const *worker;
    uint64_t retries; /* retries of a trial whose machine failed, with the same seed (2) */
    double timeout;   /* seconds allowed for a trial (INFINITY) */
    uint64_t trials;  /* budget: number of trials, stored ones included; 0: all */
    double seconds;   /* budget: no trial starts after so many seconds (INFINITY) */
    /* Stops once the scores of the trials so far, in the order of their numbers, refute the claim
     * by a sequential audit (dpaudit/sequential.h) with this request; NULL: plays the whole budget.
     * The evidence is that of the trials up to the deciding one, whoever played which trial
     * when. */
    const dpa_request *stop;
    const char *events; /* file that gets a JSON line per event; NULL: none */
    dpa_ranks *ranks;   /* other processes that play too, each with `workers`; NULL: none */
    dpa_progress progress;
} dpa_run_opts;

typedef struct dpa_run_summary {
    uint64_t planned;       /* trials of the stages reached, within the budget */
    uint64_t stored;        /* of these, found in the store */
    uint64_t played;        /* finished by this run */
    uint64_t failed;        /* failed attempts of this run */
    uint64_t failed_trials; /* trials whose trainer failed, now or before: outcomes too */
    uint64_t lost;          /* given up by this run: the machine failed at every attempt */
    uint64_t missing;       /* trials without an outcome at the end */
    uint64_t quarantined;   /* slots quarantined because everything failed there */
    char quarantine[200];   /* their names ("hydra slot 3, node7 rank 2 slot 0") */
    uint64_t damaged;       /* stored trials with a wrong checksum; they were played again */
    uint64_t others;  /* stored trials of the same file under another key: settings or files have
                         changed since, so none of them applies */
    uint64_t crashes; /* workers that died, by themselves or by the timeout */
    double seconds;
    int out_of_time; /* ended by the budget of seconds */
    int refuted;     /* ended by opts->stop: the last stage has the trials that it took */
} dpa_run_summary;

DPA_API void dpa_run_opts_init(dpa_run_opts *opts);
/* The path of an experiment's store, which the caller frees: its `store`, or NAME.trials.db beside
 * NAME.yaml. */
DPA_API dpa_status dpa_run_store_path(const dpa_experiment *experiment, char **out,
                                      dpa_error *err) DPA_MUST_USE;
/* Plays the missing trials and gathers the evidence. If it fails (DPA_CANCELLED: the progress
 * function said so), the finished trials are in the store, and the summary counts them. */
DPA_API dpa_status dpa_run_play(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                                dpa_run_summary *summary, dpa_error *err) DPA_MUST_USE;
/* Gathers what the store has so far, without playing. If a stage is incomplete, later ones are left
 * empty. */
DPA_API dpa_status dpa_run_collect(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                                   dpa_run_summary *summary, dpa_error *err) DPA_MUST_USE;

/* What a run would do. */
typedef struct dpa_run_estimate {
    int stages;
    uint64_t planned, stored; /* planned: all stages; stored: those whose brief is known */
    double trial_seconds;     /* mean of the stored trials, else the time of one played now */
    int timed;                /* a trial was played and timed now (and stored, if possible) */
    double seconds;           /* duration of the run with `workers` */
    uint64_t workers;
    double bytes; /* growth of the store */
} dpa_run_estimate;

DPA_API dpa_status dpa_run_estimate_make(const dpa_run_opts *opts, dpa_game *game,
                                         dpa_run_estimate *out, dpa_error *err) DPA_MUST_USE;

/* ---- Trials as files: job arrays, any scheduler (docs/cluster.md) ---- */

/* Which trials one process of an array plays: trial `index` or, with `shards` above 0, one of every
 * `shards` trials. */
typedef struct dpa_shard {
    const char *folder; /* for the files of finished trials; made if needed */
    int stage;          /* from 0; −1: the last one whose brief is in the folder */
    uint64_t index, shard, shards;
} dpa_shard;

typedef struct dpa_shard_summary {
    int stage;
    uint64_t planned, found; /* trials of this shard; of these, already in the folder */
    uint64_t played, failed, lost;
} dpa_shard_summary;

/* Plays them by `opts` (worker, workers, retries, timeout, seconds, progress; no store). Each trial
 * of a second or longer gets its own file; shorter ones that end within the same second share one.
 * A file appears complete, under a name that no other process uses. */
DPA_API dpa_status dpa_shard_play(const dpa_run_opts *opts, const dpa_shard *which, dpa_game *game,
                                  dpa_shard_summary *out, dpa_error *err) DPA_MUST_USE;

typedef struct dpa_import_summary {
    int stage, stages;        /* the stage that the import reached: the first incomplete one */
    uint64_t planned, stored; /* over all stages up to it */
    uint64_t imported;        /* by this call */
    uint64_t duplicates, differing; /* seen more than once; of them with other numbers */
    uint64_t foreign, damaged;      /* of other experiments, or a number too large; unreadable */
    uint64_t missing;               /* trials missing from that stage */
    char *ranges;                   /* their numbers: "3,17-20" */
    uint64_t broken, blamed; /* machines or processes that failed all their last trials, as by all
                                others is no coincidence; such trials: missing, not failed */
    char places[200];        /* their names */
} dpa_import_summary;

/* Imports the files of a folder into the store. If a trial is there twice, the attempt that began
 * first counts; a trial that the store already has stays. When a stage is complete, the brief of
 * the next is written to the folder. */
DPA_API dpa_status dpa_import(const dpa_run_opts *opts, const char *folder, dpa_game *game,
                              dpa_import_summary *out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_import_summary_free(dpa_import_summary *summary);

/* ---- Many machines: processes that mpirun or srun has started (docs/cluster.md) ---- */

/* The MPI library ("Open MPI v4.1.4"); 0 and an empty text if there is none. */
DPA_API int dpa_ranks_library(char *out, size_t size);
/* Joins the other processes; *out is NULL if this process was started alone. Call once per process,
 * before starting any thread. */
DPA_API dpa_status dpa_ranks_join(dpa_ranks **out, dpa_error *err) DPA_MUST_USE;
/* The rank; 0 for NULL. Rank 0 calls dpa_run_play with the ranks in its options; every other calls
 * dpa_ranks_serve with the same options, or dpa_ranks_refuse if it cannot even open the game. */
DPA_API int dpa_ranks_rank(const dpa_ranks *ranks);
/* Plays what rank 0 sends, in worker processes, until rank 0 leaves. */
DPA_API dpa_status dpa_ranks_serve(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_ranks_refuse(dpa_ranks *ranks, const dpa_error *why);
/* Every rank calls this last. Rank 0 thereby ends the others. NULL-safe. */
DPA_API void dpa_ranks_leave(dpa_ranks *ranks);

/* The worker's side: plays the trials that arrive on standard input and answers on standard output,
 * until the input ends. For a process that does nothing else: it redirects everything printed to
 * standard error, and it is killed, with everything that it started, when its parent dies. */
DPA_API dpa_status dpa_worker_serve(const dpa_experiment *experiment, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
