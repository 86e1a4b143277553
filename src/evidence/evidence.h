/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was observed: counts, scores and what is odd about them. */
#ifndef DPA_EVIDENCE_EVIDENCE_H
#define DPA_EVIDENCE_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/data.h"
#include "dpaudit/claim.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

enum { DPA_SCOPES = 4 };
/* As files and options write them: of claims, and of evidence. */
#define DPA__CLAIM_SCOPES "training|step|participation"
#define DPA__SCOPES DPA__CLAIM_SCOPES "|model"
/* "training", "step", "participation", "model"; NULL past the last. */
const char *dpa__scope_name(dpa_scope scope);
/* 1 if the claim promises anything, else 0. */
DPA_API int dpa__claim_is_made(const dpa_claim *claim);
/* DPA_BAD_ARGUMENT if the claim makes more than one kind of promise or a number is out of range. */
dpa_status dpa__claim_check(const dpa_claim *claim, dpa_error *err) DPA_MUST_USE;

/* The method of runs that may stop early: its bounds hold at a time chosen by what was seen. */
#define DPA__SEQUENTIAL "sequential"

/* How often an attack that answers "in" or "out" was right and wrong. */
typedef struct dpa_counts {
    uint64_t fn, tp, fp, tn;
} dpa_counts;

/* A warning about the evidence; it is shown with every result. */
typedef struct dpa_lint {
    char code[40];
    char text[320];
} dpa_lint;

typedef struct dpa_lints {
    dpa_lint *items;
    size_t count, capacity;
} dpa_lints;

/* Appends a warning; `lints` starts as all zeros. `code` is copied. */
dpa_status dpa__lints_add(dpa_lints *lints, dpa_error *err, const char *code, const char *format,
                          ...) DPA_PRINTF(4, 5);
DPA_API void dpa__lints_free(dpa_lints *lints);

/* Attack scores of both classes: higher must mean "in". Arrays are ascending once prepared. */
typedef struct dpa_scores {
    double *member, *nonmember;
    size_t members, nonmembers;
    int is_sorted;
    char sha256[2][DPA_SHA256_SIZE]; /* of the files they came from; "" where there is none */
} dpa_scores;

/* Room for so many scores; free with dpa__scores_free. */
dpa_status dpa__scores_room(size_t members, size_t nonmembers, dpa_scores *out,
                            dpa_error *err) DPA_MUST_USE;
/* Copies both arrays. */
DPA_API dpa_status dpa__scores_from(const double *member, size_t members, const double *nonmember,
                                    size_t nonmembers, dpa_scores *out,
                                    dpa_error *err) DPA_MUST_USE;
/* Reads two files of one array each, or, if nonmembers_path is NULL, one file: an NPZ with the
 * arrays `members` and `nonmembers`, or a CSV with the columns `score` and `member` (0 or 1). With
 * two threads (0: as many as the machine has) large files of two classes are read at the same time.
 */
dpa_status dpa__scores_read(const char *path, const char *nonmembers_path, unsigned threads,
                            dpa_scores *out, dpa_error *err) DPA_MUST_USE;
/* Sorts both classes and adds a lint for whatever is odd: ties, the wrong sign, NaN, infinities,
 * duplicates, tiny classes. A NaN counts against the attack: it becomes the lowest member score or
 * the highest non-member score. DPA_BAD_INPUT if a class is empty or all NaN. */
DPA_API dpa_status dpa__scores_prepare_here(dpa_scores *scores, dpa_lints *lints,
                                            dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__scores_free(dpa_scores *scores);

/* The scores of such a CSV, one item for each value of another column. */
typedef struct dpa_score_groups {
    dpa_scores *items;
    char (*names)[64];
    size_t count;
} dpa_score_groups;
/* Reads a CSV with the columns score, member and `column`; free *out with dpa__score_groups_free.
 */
dpa_status dpa__score_groups_read(const char *path, const char *column, dpa_score_groups *out,
                                  dpa_error *err) DPA_MUST_USE;
void dpa__score_groups_free(dpa_score_groups *groups);

/* Scores for each of which a further thread pays. */
enum { DPA__SCORES_A_THREAD = 1 << 16 };
/* dpa__scores_prepare_here of a copy, which the caller frees also on failure; with two threads each
 * class is copied and sorted by one. */
dpa_status dpa__scores_prepare(const dpa_scores *given, unsigned threads, dpa_scores *out,
                               dpa_lints *lints, dpa_error *err);

/* How many of the ascending numbers are at least x. */
size_t dpa__count_at_least(const double *sorted, size_t count, double x);

/* Adds the lint "sign" if members score lower than non-members by more than chance. The scores must
 * be sorted. */
dpa_status dpa__scores_lint_sign(const dpa_scores *scores, dpa_lints *lints, dpa_error *err);

/* The largest number that divides both; of 0 and n it is n. */
size_t dpa__common_divisor(size_t a, size_t b);

/* Adds the lint "copied-scores" or "shared-scores" if observations seem to be there more than once.
 * The scores must be sorted; `names` says what the classes are, in the plural. */
dpa_status dpa__scores_lint_copies(const dpa_scores *scores, const char *const names[2],
                                   dpa_lints *lints, dpa_error *err);

/* Sorts ascending; no NaN allowed. Needs as much memory again during the call. */
dpa_status dpa__sort_numbers(double *values, size_t count, dpa_error *err);

/* The counts of the attack "in if score ≥ threshold". The scores must be prepared. */
dpa_counts dpa__scores_counts(const dpa_scores *scores, double threshold);

enum { DPA_EVIDENCE_KINDS = 5 };
/* "counts", "scores", …; NULL past the last. */
const char *dpa__evidence_kind_name(dpa_evidence_kind kind);

/* How the observations depend on each other. */
typedef enum dpa_evidence_design {
    DPA_INDEPENDENT_RUNS, /* each is one trained model, or one noisy step */
    DPA_ONE_RUN           /* canaries of one training, each included by its own coin */
} dpa_evidence_design;
#define DPA__DESIGNS "independent-runs|one-run"

typedef struct dpa_named_array {
    char name[32];
    double *items;
    size_t count;
    size_t rows; /* rows of a matrix; 0: a plain array */
} dpa_named_array;

typedef struct dpa_named_number {
    char name[48];
    double value;
} dpa_named_number;

/* What is known about the mechanism that was observed; NaN and 0 mean "not known". */
typedef struct dpa_training_facts {
    double q;              /* sampling rate of the training */
    uint64_t steps;        /* its steps, or rounds */
    double sigma;          /* the noise multiplier it claims to use */
    double rate;           /* share of the observations that contain the canary (1: all) */
    double participations; /* federated: the most rounds that one client takes part in */
    int replace_one;       /* neighbours differ by one replaced record */
    uint64_t records;      /* records that the two sides differ by (0 or 1: one) */
    int sees_all;          /* the attacker who made the scores saw every step */
} dpa_training_facts;

enum { DPA_RECORDS_MOST = 1000 };
enum { DPA_EVIDENCE_ARRAYS = 12, DPA_EVIDENCE_FACTS = 40, DPA_EVIDENCE_WORD = 64 };

struct dpa_evidence {
    dpa_evidence_kind kind;
    dpa_scope scope; /* of one observation */
    dpa_evidence_design design;
    double inclusion_rate;         /* probability of "in" in one run: 0.5 */
    uint64_t options;              /* options per guess: 2 */
    size_t dim;                    /* dimension of cosines; 0: not known */
    char direction[16];            /* canary directions: "sphere", "signs", …; "": not known */
    uint64_t planned, missing;     /* numbers of trials; planned 0: no trials were run */
    uint64_t failed[2], absent[2]; /* trials whose failure counts as an outcome, and missing ones:
                                      [0] with the record, [1] without */
    int side;                      /* for one run's guesses, a dpa_guess_side (both ends) */
    dpa_training_facts training;
    dpa_claim claim; /* the claim that was made when the evidence was gathered */
    char *protocol;  /* the protocol registered then, as JSON; NULL: none */
    char game[DPA_EVIDENCE_WORD], source[256]; /* which game made it, from which file */
    dpa_named_array arrays[DPA_EVIDENCE_ARRAYS];
    size_t array_count;
    dpa_named_number facts[DPA_EVIDENCE_FACTS]; /* for the report: accuracy, … */
    size_t fact_count;
    char path[2][512], sha256[2][DPA_SHA256_SIZE]; /* the files it was read from; "": none */
};

/* Empty evidence of this kind, with the defaults of the comments above; free its contents with
 * dpa__evidence_clear. */
DPA_API void dpa__evidence_init(dpa_evidence *evidence, dpa_evidence_kind kind);

/* Adds an array (rows 0) or a matrix. The evidence owns `items`, a malloc block, from now on; if
 * the call fails, it is freed. */
DPA_API dpa_status dpa__evidence_add(dpa_evidence *evidence, const char *name, double *items,
                                     size_t count, size_t rows, dpa_error *err) DPA_MUST_USE;

/* The array with this name, owned by the evidence; NULL if there is none. */
DPA_API const dpa_named_array *dpa__evidence_find(const dpa_evidence *evidence, const char *name);
/* The same numbers as a file's writer wants them. */
DPA_API dpa_array dpa__named_array_view(const dpa_named_array *array);
/* Frees the arrays and the protocol, not the struct. */
DPA_API void dpa__evidence_clear(dpa_evidence *evidence);

/* Reads a file that dpa_evidence_write made; free *out with dpa__evidence_clear. */
dpa_status dpa__evidence_read(const char *path, dpa_evidence *out, dpa_error *err) DPA_MUST_USE;
/* Read evidence from a file of dpaudit's own or from plain files of any tool. Scores: as
 * dpa__scores_read. One run: two arrays (scores, or losses if `are_losses`: lower means "in"), a
 * table with the columns score,member or score,correct, or an NPZ with the arrays members and
 * nonmembers, or score and correct. Cosines: with the final model in `path`; if `null_path` is
 * given, both files hold the largest cosines over the rounds. */
DPA_API dpa_status dpa__evidence_scores(const char *path, const char *nonmembers_path,
                                        unsigned threads, dpa_evidence *out,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__evidence_one_run(const char *path, const char *nonmembers_path,
                                         int are_losses, dpa_evidence *out,
                                         dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__evidence_cosines(const char *path, const char *null_path, dpa_evidence *out,
                                         dpa_error *err) DPA_MUST_USE;
/* 1 if the file has dpaudit's description of itself; plain arrays of other tools do not. */
int dpa__evidence_is_file(const char *path);

#endif
