/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models to be audited: data sets, small networks in single precision, SGD and DP-SGD.
 *
 * The trainer does exactly what DP-SGD prescribes: Poisson sampling at rate q, the gradient of each
 * example clipped to norm C before the sum, noise σC on the sum, division by a batch size that does
 * not depend on who is in. It exists to be audited: its noise is reproducible, hence not secret
 * (docs/trainer.md says what a production trainer must do differently).
 *
 * Everything random is a function of (seed, step): the same options give the same bytes, on any
 * number of threads, interrupted or not. A data set and a model may be shared between threads as
 * long as nobody changes them; a trainer belongs to one thread. */
#ifndef DPAUDIT_TRAIN_H
#define DPAUDIT_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

DPA_C_BEGIN

/* ---- Data sets ---- */

/* Rows of a table are 1 × 1 × columns. Images have their channels innermost. */
typedef struct dpa_shape {
    size_t height, width, channels;
} dpa_shape;

typedef struct dpa_dataset dpa_dataset;

/* Copies x [rows × height·width·channels] and label [rows], 0 ≤ label < classes. NaN, infinities
 * and labels out of range are DPA_BAD_INPUT. */
DPA_API dpa_status dpa_dataset_new(const float *x, const int32_t *label, size_t rows,
                                   dpa_shape shape, size_t classes, dpa_dataset **out,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_dataset_free(dpa_dataset *data);
DPA_API size_t dpa_dataset_rows(const dpa_dataset *data);
DPA_API size_t dpa_dataset_features(const dpa_dataset *data); /* height·width·channels */
DPA_API size_t dpa_dataset_classes(const dpa_dataset *data);
DPA_API dpa_shape dpa_dataset_shape(const dpa_dataset *data);
DPA_API const float *dpa_dataset_row(const dpa_dataset *data, size_t row);
DPA_API int32_t dpa_dataset_label(const dpa_dataset *data, size_t row);
/* Changes one row, as a game does to craft its canary. x NULL keeps the features. */
DPA_API dpa_status dpa_dataset_set_row(dpa_dataset *data, size_t row, const float *x, int32_t label,
                                       dpa_error *err) DPA_MUST_USE;

typedef enum dpa_format {
    DPA_FORMAT_ARRAYS, /* path [rows × …] and labels [rows]: NPY, IDX; or an NPZ with x and y */
    DPA_FORMAT_TABLE,  /* CSV; a text column becomes one column per value (one-hot) */
    DPA_FORMAT_WORDS,  /* a table with a text and a label; counts of the most frequent words */
    DPA_FORMAT_CIFAR,  /* CIFAR-10 binary: 1 + 3072 bytes per row */
    DPA_FORMAT_FANN    /* "rows inputs outputs", then inputs and outputs alternating */
} dpa_format;

/* gzip and xz are decompressed; of a tar archive the first file is read. */
typedef struct dpa_dataset_opts {
    dpa_format format;  /* arrays */
    const char *path;   /* features */
    const char *labels; /* arrays: the file of labels; NULL: they are in the NPZ */
    /* Tables. Columns without a header are c1, c2, … */
    const char *label;              /* the label's column; NULL: the last */
    const char *strip;              /* characters cut from the end of labels; NULL: none */
    char separator;                 /* ',' */
    int has_header;                 /* 1 */
    const char *comment;            /* lines that begin with it are skipped; NULL: none */
    const char *const *ignore;      /* columns to leave out, ended by NULL; NULL: none */
    const char *const *categorical; /* numeric columns to one-hot anyway, likewise */
    const char *text;               /* words: the column of the text ("sentence") */
    size_t vocabulary;              /* words: size of the vocabulary (1000) */
} dpa_dataset_opts;

DPA_API void dpa_dataset_opts_init(dpa_dataset_opts *opts);
/* Bytes are divided by 255. With `like`, the columns, values, words, classes and shape are those of
 * a data set that was read without `like` before (the training part): an unknown value gets no
 * column, an unknown label is an error. */
DPA_API dpa_status dpa_dataset_read(const dpa_dataset_opts *opts, const dpa_dataset *like,
                                    dpa_dataset **out, dpa_error *err) DPA_MUST_USE;
/* What the columns became, one per line ("age number", "sex: Female, Male"); "" if nothing was
 * inferred. */
DPA_API const char *dpa_dataset_schema(const dpa_dataset *data);
/* Scales each feature to mean 0 and deviation 1. Both are measured on the given rows of `fit`
 * (NULL: the first `count`) and applied to all rows of `fit` and of `also` (NULL: none). Features
 * that are constant, or only 0 or 1, in these rows stay as they are. */
DPA_API dpa_status dpa_dataset_standardise(dpa_dataset *fit, const size_t *rows, size_t count,
                                           dpa_dataset *also, dpa_error *err) DPA_MUST_USE;
/* Reads row ids from "0..5000" (the last is not included), or from a file with one id per line or
 * an integer array; each must be below `rows`. Free with free(). */
DPA_API dpa_status dpa_ids_read(const char *spec, size_t rows, size_t **out, size_t *count,
                                dpa_error *err) DPA_MUST_USE;

/* ---- Models ---- */

typedef enum dpa_loss {
    DPA_LOSS_SOFTMAX, /* one output per class, cross-entropy */
    DPA_LOSS_BINARY   /* one output, two classes, logistic loss */
} dpa_loss;

typedef struct dpa_model dpa_model;

/* Layers as words, lowest first; the dense output layer is added automatically:
 *   ""                                          logistic regression
 *   "mlp:512,256"                               the same as "dense:512 relu dense:256 relu"
 *   "conv:16,8,2,3 tanh max:2,1 dense:32 tanh"  conv:channels,kernel[,stride[,pad]],
 *                                               max: or avg:window[,stride]
 *   "conv:32,3,1,1 norm:8 relu"                 norm:groups, group normalisation
 *   "dense:9 dense:9 tanh dense:9 add:3"        add:n, residual: plus the input of the layer n
 * below "wrn:16,4"                                  wide residual network: depth, width The weights
 * are zero until dpa_model_init. */
DPA_API dpa_status dpa_model_new(const char *layers, dpa_shape input, size_t classes, dpa_loss loss,
                                 dpa_model **out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_model_free(dpa_model *model);
/* He initialisation below a relu, variance 1/inputs elsewhere, biases 0. */
DPA_API void dpa_model_init(dpa_model *model, uint64_t seed);
DPA_API size_t dpa_model_size(const dpa_model *model); /* number of weights */
DPA_API size_t dpa_model_outputs(const dpa_model *model);
DPA_API float *dpa_model_weights(dpa_model *model);

/* An NPZ with `weights` and `header` (the bytes of a JSON object: layers, input, classes, loss). */
DPA_API dpa_status dpa_model_save(const dpa_model *model, const char *path,
                                  dpa_error *err) DPA_MUST_USE;

/* Quality of a model on rows of a data set (rows NULL: the first `count`). */
typedef struct dpa_utility {
    double loss;     /* mean */
    double accuracy; /* share of rows whose largest output is the label */
    double auroc;    /* for two classes; NaN for more, or if one class is absent */
} dpa_utility;
/* logits [count × outputs], losses [count]; NULL if not wanted. */
DPA_API dpa_status dpa_model_evaluate(const dpa_model *model, const dpa_dataset *data,
                                      const size_t *rows, size_t count, float *logits,
                                      double *losses, dpa_utility *utility,
                                      dpa_error *err) DPA_MUST_USE;
/* The gradient of one example's loss with respect to the weights [size] and to the input
 * [features]; NULL if not wanted. */
DPA_API dpa_status dpa_model_gradient(const dpa_model *model, const float *x, int32_t label,
                                      float *weights, float *input, dpa_error *err) DPA_MUST_USE;

/* ---- Training ---- */

typedef enum dpa_sampling {
    DPA_SAMPLE_SHUFFLE, /* a fresh permutation per epoch, cut into batches; the remainder is left
                           out */
    DPA_SAMPLE_POISSON  /* each member independently, with probability q */
} dpa_sampling;

typedef enum dpa_schedule {
    DPA_RATE_CONSTANT,
    DPA_RATE_LINEAR, /* falls linearly to 0 at the last step */
    DPA_RATE_COSINE, /* falls to 0 along a cosine */
    DPA_RATE_STEPS   /* multiplied by rate_factor after every rate_every steps */
} dpa_schedule;

typedef enum dpa_averaging {
    DPA_AVERAGE_NONE,
    DPA_AVERAGE_EMA, /* mean ← d·mean + (1−d)·θ */
    DPA_AVERAGE_MEAN /* plain mean of θ from step average_from on (Polyak) */
} dpa_averaging;

/* Hooks for games, each may be NULL; any status other than DPA_OK ends the step with that
 * status. */
typedef struct dpa_train_hooks {
    void *user;
    /* The batch: rows[0..*count) of the data set, ascending if sampled by Poisson; ids from
     * dpa_dataset_rows(data) on are rows of `extra`. The hook may add (up to capacity), drop and
     * replace rows. It is called before any row is read, so it may also change the contents of
     * `extra`. */
    dpa_status (*sample)(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                         dpa_error *err);
    /* The sum of clipped gradients before the noise. The hook may read it, replace it or add a
     * gradient. */
    dpa_status (*sum)(void *user, uint64_t step, float *sum, size_t size, dpa_error *err);
    /* The sum after the noise, before division and update: what DP-SGD releases. */
    dpa_status (*release)(void *user, uint64_t step, float *sum, size_t size, dpa_error *err);
} dpa_train_hooks;

typedef struct dpa_train_opts {
    uint64_t seed;         /* for sampling, noise and augmentation (0) */
    dpa_sampling sampling; /* shuffle */
    size_t batch;          /* size of a shuffled batch; the sum is divided by it (256) */
    double q;              /* Poisson: sampling rate in (0,1]; 0: batch/members */
    uint64_t steps;        /* 1000 */

    double rate, momentum, decay; /* 0.1, 0, 0; decay is added to the gradient */
    dpa_schedule schedule;        /* constant */
    uint64_t rate_every;          /* for DPA_RATE_STEPS */
    double rate_factor;           /* 0.1 */
    uint64_t warmup;              /* steps of linear increase at the start (0) */

    double clip;       /* C; INFINITY: no clipping */
    double sigma;      /* noise of deviation σ·C on the sum; 0: none */
    size_t microbatch; /* number of examples whose mean gradient is clipped together (1) */
    size_t augment;    /* copies per example, whose mean gradient is clipped together (1) */
    size_t shift;      /* augmentation: random shift by at most this many pixels (0) */
    int flip;          /* augmentation: random mirror image (0) */

    dpa_averaging averaging; /* none */
    double average_decay;    /* d of the EMA (0.999) */
    uint64_t average_from;   /* first step of the mean (0) */

    size_t chunk; /* rows that go through the network at once; 0: chosen for the cache (0) */
    const dpa_dataset *extra; /* rows that only the sample hook can add; NULL: none */
    dpa_train_hooks hooks;
} dpa_train_opts;

DPA_API void dpa_train_opts_init(dpa_train_opts *opts);

typedef struct dpa_trainer dpa_trainer;

/* Statistics of the last step. */
typedef struct dpa_step_info {
    uint64_t step;     /* steps done, including this one */
    size_t batch;      /* number of examples in the batch */
    double loss;       /* their mean loss; NaN for an empty batch */
    double accuracy;   /* of the model before the step */
    double norm_mean;  /* mean gradient norm before clipping; NaN without clipping */
    double norm_share; /* share of gradients that were clipped; NaN without clipping */
} dpa_step_info;

/* Trains `model` (borrowed, changed in place) on the rows `members` of `data` (NULL: all rows). */
DPA_API dpa_status dpa_trainer_new(dpa_model *model, const dpa_dataset *data, const size_t *members,
                                   size_t count, const dpa_train_opts *opts, dpa_trainer **out,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_trainer_free(dpa_trainer *trainer);
/* Takes one step. A loss or gradient that is not finite is DPA_NUMERIC and leaves the weights as
 * they were. */
DPA_API dpa_status dpa_trainer_step(dpa_trainer *trainer, dpa_step_info *info,
                                    dpa_error *err) DPA_MUST_USE;
/* Takes all remaining steps. */
DPA_API dpa_status dpa_trainer_run(dpa_trainer *trainer, const dpa_progress *progress,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API uint64_t dpa_trainer_steps_done(const dpa_trainer *trainer);
/* Steps per epoch: members/batch, or 1/q. At least 1. */
DPA_API uint64_t dpa_trainer_epoch_steps(const dpa_trainer *trainer);
/* Noise divided by the sensitivity, for an accountant: σ, or σ/2 with microbatches, where one
 * example can move a mean from one side of the ball to the other. */
DPA_API double dpa_trainer_noise(const dpa_trainer *trainer);
/* Copies the averaged weights into a model of the same size; DPA_BAD_ARGUMENT without averaging. */
DPA_API dpa_status dpa_trainer_average(const dpa_trainer *trainer, dpa_model *model,
                                       dpa_error *err) DPA_MUST_USE;

/* Saves the whole state: weights, velocity, average, step, and the options for comparison. */
DPA_API dpa_status dpa_trainer_save(const dpa_trainer *trainer, const char *path,
                                    dpa_error *err) DPA_MUST_USE;
/* Continues from such a file: every later step is the same to the last bit as if training had never
 * stopped. DPA_BAD_INPUT if the file was made with another model or other options. */
DPA_API dpa_status dpa_trainer_resume(dpa_trainer *trainer, const char *path,
                                      dpa_error *err) DPA_MUST_USE;

/* ---- Experiment files ---- */

/* One training run as described by a YAML file (docs/trainer.md lists the keys). The texts belong
 * to the plan. Paths of data are relative to the file. */
typedef struct dpa_train_plan {
    dpa_dataset_opts data, test; /* test.path NULL: no test file */
    const char *members;         /* ids (dpa_ids_read) to train on; NULL: all rows */
    const char *heldout; /* ids to evaluate on: rows of test, or of data without test; NULL: none */
    int standardise;
    const char *layers;
    dpa_loss loss;
    uint64_t init_seed;
    dpa_train_opts train; /* its steps are 0 if `epochs` gives the length */
    double epochs;        /* 0: use train.steps */
    double epsilon;       /* find σ for this ε; 0: use train.sigma */
    double delta;
    const char *output; /* folder for the results; NULL: none */
    void *texts;        /* owns what the pointers above point to */
} dpa_train_plan;

DPA_API dpa_status dpa_train_plan_read(const char *path, dpa_train_plan **out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_train_plan_free(dpa_train_plan *plan);

/* The data of a plan: read, cut and standardised (by the members only). */
typedef struct dpa_train_data {
    dpa_dataset *data, *test; /* test NULL: no test file */
    size_t *members, member_count;
    size_t *heldout, heldout_count; /* rows of test, or of data; count 0: there are none */
} dpa_train_data;

DPA_API dpa_status dpa_train_plan_load(const dpa_train_plan *plan, dpa_train_data *out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_train_data_free(dpa_train_data *data);
/* The number of steps of the plan with so many members, and its Poisson rate (NaN: shuffled). */
DPA_API uint64_t dpa_train_plan_steps(const dpa_train_plan *plan, size_t members);
DPA_API double dpa_train_plan_q(const dpa_train_plan *plan, size_t members);
/* The instruction set of matrix products on this machine: "avx512", "avx2" or "portable". All give
 * the same bits; the last is some hundred times slower. */
DPA_API const char *dpa_train_kernel(void);

DPA_C_END

#endif
