/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was observed: counts, scores and what is odd about them. */
#ifndef DPAUDIT_EVIDENCE_H
#define DPAUDIT_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/claim.h"
#include "dpaudit/data.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* A confusion matrix of an attack that says "in" or "out". */
typedef struct dpa_counts {
    uint64_t fn, tp, fp, tn;
} dpa_counts;

/* Something about the evidence that a reader of the result must know: it is shown with every
 * result. */
typedef struct dpa_lint {
    char code[40];
    char text[320];
} dpa_lint;

typedef struct dpa_lints {
    dpa_lint *items;
    size_t count, capacity;
} dpa_lints;

DPA_API dpa_status dpa_lints_add(dpa_lints *lints, dpa_error *err, const char *code,
                                 const char *format, ...) DPA_PRINTF(4, 5);
DPA_API void dpa_lints_free(dpa_lints *lints);

/* Attack scores of both classes: higher must mean "in". Arrays are ascending once prepared. */
typedef struct dpa_scores {
    double *member, *nonmember;
    size_t members, nonmembers;
    int is_sorted;
    char sha256[2][DPA_SHA256_SIZE]; /* of the files they came from; "" where there is none */
} dpa_scores;

/* Copies. */
DPA_API dpa_status dpa_scores_from(const double *member, size_t members, const double *nonmember,
                                   size_t nonmembers, dpa_scores *out, dpa_error *err) DPA_MUST_USE;
/* Two files of one array each, or (nonmembers_path NULL) one file: an NPZ with `members` and
 * `nonmembers`, or a CSV with the columns `score` and `member` (0 or 1). */
DPA_API dpa_status dpa_scores_read(const char *path, const char *nonmembers_path, dpa_scores *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Sorts both classes and says what is odd: ties, the wrong sign, NaN, infinities, duplicates, tiny
 * classes. A NaN counts against the attack: as the lowest member, as the highest non-member. An
 * empty class, or one of NaN only, is an error. */
DPA_API dpa_status dpa_scores_prepare(dpa_scores *scores, dpa_lints *lints,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_scores_free(dpa_scores *scores);

/* The same CSV cut by the values of one more column. */
typedef struct dpa_score_groups {
    dpa_scores *items;
    char (*names)[64];
    size_t count;
} dpa_score_groups;
DPA_API dpa_status dpa_score_groups_read(const char *path, const char *column,
                                         dpa_score_groups *out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_score_groups_free(dpa_score_groups *groups);

/* Members, non-members and how often they were told apart rightly: what a threshold gives. In means
 * score ≥ threshold. The scores must be prepared. */
DPA_API dpa_counts dpa_scores_counts(const dpa_scores *scores, double threshold);

/* ── evidence of any kind, as a file that knows what it is ───────────────────────────── */

/* Which arrays there are; a game's file is read by the command of that name. */
typedef enum dpa_evidence_kind {
    DPA_EVIDENCE_COUNTS,  /* counts: fn, tp, fp, tn */
    DPA_EVIDENCE_SCORES,  /* members, nonmembers */
    DPA_EVIDENCE_GUESSES, /* score, correct: guesses among `options` */
    DPA_EVIDENCE_COSINES, /* final; observed and unobserved for all iterates */
    DPA_EVIDENCE_SIGNALS  /* signals, members [models × points]: not yet judged, see `attack` */
} dpa_evidence_kind;
enum { DPA_EVIDENCE_KINDS = 5 };
/* "counts", "scores", …; NULL past the last. */
DPA_API const char *dpa_evidence_kind_name(dpa_evidence_kind kind);

/* How the observations hang together. */
typedef enum dpa_evidence_design {
    DPA_INDEPENDENT_RUNS, /* one trained model, or one noisy step, each */
    DPA_ONE_RUN           /* canaries of one training, each in by a coin of its own */
} dpa_evidence_design;

typedef struct dpa_named_array {
    char name[32];
    double *items;
    size_t count;
    size_t rows; /* of a matrix; 0: a plain array */
} dpa_named_array;

typedef struct dpa_named_number {
    char name[48];
    double value;
} dpa_named_number;

/* What is known of the mechanism that was observed; NaN and 0: not known. */
typedef struct dpa_training_facts {
    double q;              /* sampling rate of the training */
    uint64_t steps;        /* its steps, or rounds */
    double sigma;          /* the noise multiplier it says it has */
    double rate;           /* how often the canary was in what was observed (1: always) */
    double participations; /* federated: rounds of one client, at most */
    int replace_one;       /* neighbours differ by one replaced record */
    int sees_all;          /* whoever made the scores saw every step */
} dpa_training_facts;

enum { DPA_EVIDENCE_ARRAYS = 12, DPA_EVIDENCE_FACTS = 40, DPA_EVIDENCE_WORD = 64 };

typedef struct dpa_evidence {
    dpa_evidence_kind kind;
    dpa_scope scope; /* of one observation */
    dpa_evidence_design design;
    double inclusion_rate;         /* of one run's coins: 0.5 */
    uint64_t options;              /* of guesses: 2 */
    size_t dim;                    /* of cosines; 0: not known */
    char direction[16];            /* of canaries: "sphere", "signs", …; "": not known */
    uint64_t planned, missing;     /* trials; planned 0: nothing was played */
    uint64_t failed[2], absent[2]; /* trials that failed as an outcome, that are missing: with the
                                      record, without it */
    int side;                      /* of one run's guesses: a dpa_guess_side (both ends) */
    dpa_training_facts training;
    dpa_claim claim;                           /* that was made when it was gathered */
    char *protocol;                            /* registered then, as JSON; NULL: none */
    char game[DPA_EVIDENCE_WORD], source[256]; /* who made it, from which file */
    dpa_named_array arrays[DPA_EVIDENCE_ARRAYS];
    size_t array_count;
    dpa_named_number facts[DPA_EVIDENCE_FACTS]; /* for the report: accuracy, what was trained, … */
    size_t fact_count;
    char path[2][512], sha256[2][DPA_SHA256_SIZE]; /* files it was read from; "": none */
} dpa_evidence;

DPA_API void dpa_evidence_init(dpa_evidence *evidence, dpa_evidence_kind kind);
/* The same on the heap, for languages that do not know the struct; free with
 * dpa_evidence_delete. */
DPA_API dpa_status dpa_evidence_new(dpa_evidence_kind kind, dpa_evidence **out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_evidence_delete(dpa_evidence *evidence);
/* Sets one field from text: "scope", "design", "inclusion-rate", "options", "side" (both, in,
 * out), "dim", "direction", and of the training "q", "steps", "sigma", "canary-rate",
 * "participations". */
DPA_API dpa_status dpa_evidence_set(dpa_evidence *evidence, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* Takes `items` over (also when it fails). */
DPA_API dpa_status dpa_evidence_add(dpa_evidence *evidence, const char *name, double *items,
                                    size_t count, size_t rows, dpa_error *err) DPA_MUST_USE;
/* The same with a copy. */
DPA_API dpa_status dpa_evidence_copy(dpa_evidence *evidence, const char *name, const double *items,
                                     size_t count, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_evidence_fact(dpa_evidence *evidence, const char *name, double value,
                                     dpa_error *err) DPA_MUST_USE;
/* NULL when there is no such array. */
DPA_API const dpa_named_array *dpa_evidence_find(const dpa_evidence *evidence, const char *name);
DPA_API void dpa_evidence_free(dpa_evidence *evidence);

/* An NPZ of the arrays with an entry dpaudit.json that says what they are. */
DPA_API dpa_status dpa_evidence_write(const dpa_evidence *evidence, const char *path,
                                      dpa_error *err) DPA_MUST_USE;
/* A file that dpa_evidence_write made. */
DPA_API dpa_status dpa_evidence_read(const char *path, dpa_evidence *out,
                                     dpa_error *err) DPA_MUST_USE;
/* For each kind a file of dpaudit's, or plain files of any tool. Scores: as dpa_scores_read. One
 * run: two arrays (scores, or losses: the lower, the more likely in), a table with the columns
 * score,member or score,correct, or an NPZ with the arrays members and nonmembers, or score and
 * correct. Cosines: with the final model, or with `null_path` the largest over the rounds. */
DPA_API dpa_status dpa_evidence_scores(const char *path, const char *nonmembers_path,
                                       dpa_evidence *out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_evidence_one_run(const char *path, const char *nonmembers_path,
                                        int are_losses, dpa_evidence *out,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_evidence_cosines(const char *path, const char *null_path, dpa_evidence *out,
                                        dpa_error *err) DPA_MUST_USE;
/* 1 when the file says what it is; plain arrays of other tools do not. */
DPA_API int dpa_evidence_is_file(const char *path);

DPA_C_END

#endif
