/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit train: trains one model, with or without DP, and writes its signals. This command asks
 * the accountant at every epoch; the trainer itself knows nothing of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "output.h"

typedef struct train_options {
    const char *output, *json;
    int resume, quiet, schema;
    const char *seed_text;
} train_options;

#define AT(field) offsetof(train_options, field)

static const option table[] = {
    HEADING("The run"),
    {"seed", OPTION_TEXT, "N", "seed of sampling, noise and augmentation, instead of the file's",
     AT(seed_text)},
    {"resume", OPTION_FLAG, NULL, "continue from checkpoint.npz in the output folder, if there",
     AT(resume)},
    {"schema", OPTION_FLAG, NULL, "only show what the columns of the data became", AT(schema)},
    HEADING("Output"),
    {"output", OPTION_FILE, "FOLDER", "folder for model, losses and logits, instead of the file's",
     AT(output)},
    {"quiet", OPTION_FLAG, NULL, "no line per epoch", AT(quiet)},
    {"json", OPTION_OPTIONAL, "FILE.json", "JSON on standard output, or into FILE.json", AT(json)},
    END_OPTIONS,
};

/* The state of one run. */
typedef struct session {
    const train_options *options;
    dpa_train_plan *plan;
    dpa_train_data data;
    dpa_model *model; /* being trained */
    dpa_model *shown; /* the averaged model, which is evaluated; NULL without averaging */
    dpa_trainer *trainer;
    double start, seconds, q;
    uint64_t first_step; /* the first step that this process takes */
    dpa_interval epsilon;
    int has_epsilon;
    dpa_utility train, heldout;
    double last_heldout; /* accuracy at the end of the last epoch */
    const char *output;
} session;

/* ---- privacy ---- */

static dpa_account_opts account_opts(const session *s) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = s->plan->delta;
    return opts;
}

/* There is no accountant for shuffled batches that we trust, and no number is better than a wrong
 * one. */
static dpa_status find_noise(session *s, dpa_error *err) {
    if (!(s->plan->epsilon > 0.0)) return DPA_OK;
    if (isnan(s->q))
        return dpa__fail_file(
            err, DPA_BAD_INPUT, "privacy: epsilon",
            "a target needs sampling: poisson (shuffled batches are not accounted for)");
    return dpa_train_plan_noise(s->plan, s->data.member_count, err);
}

static dpa_status spend_within(session *s, uint64_t steps, double tolerance, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, dpa_trainer_noise(s->trainer), s->q, steps};
    dpa_account_opts opts = account_opts(s);
    opts.tolerance = tolerance;
    dpa_account *account = NULL;
    dpa_status status = dpa_account_new(&phase, 1, &opts, &account, err);
    if (status == DPA_OK) status = dpa_account_epsilon(account, s->plan->delta, &s->epsilon, err);
    dpa_account_free(account);
    return status;
}

/* The accountant must not abort a training: if the usual accuracy is out of reach, a wider interval
 * is shown, or none. */
static dpa_status spend(session *s, uint64_t steps, dpa_error *err) {
    s->has_epsilon = 0;
    if (isnan(s->q) || !(s->plan->train.sigma > 0.0) || steps == 0) return DPA_OK;
    const double usual = account_opts(s).tolerance;
    dpa_status status = DPA_NUMERIC;
    for (double factor = 1.0; status == DPA_NUMERIC && factor <= 100.0; factor *= 10.0)
        status = spend_within(s, steps, usual * factor, err);
    s->has_epsilon = status == DPA_OK;
    return status == DPA_NUMERIC ? DPA_OK : status;
}

/* ---- files ---- */

static const char *file_in(const session *s, const char *name, char path[4096]) {
    (void)snprintf(path, 4096, "%s/%s", s->output, name);
    return path;
}

static const dpa_model *evaluated(const session *s) {
    return s->shown != NULL ? s->shown : s->model;
}

/* Writes the losses and logits of the given rows to NAME-losses.npy and NAME-logits.npy, and
 * computes the utility. */
static dpa_status evaluate(const session *s, const char *name, const dpa_dataset *data,
                           const size_t *rows, size_t count, dpa_utility *utility, dpa_error *err) {
    const dpa_model *model = evaluated(s);
    const size_t outputs = dpa_model_outputs(model);
    if (s->output == NULL)
        return dpa_model_evaluate(model, data, rows, count, NULL, NULL, utility, err);
    double *losses = malloc(count * sizeof *losses);
    float *logits = malloc(count * outputs * sizeof *logits);
    dpa_status status = DPA_NO_MEMORY;
    if (losses != NULL && logits != NULL)
        status = dpa_model_evaluate(model, data, rows, count, logits, losses, utility, err);
    char file[64], path[4096];
    const dpa_array arrays[2] = {
        {.dtype = DPA_F64, .ndim = 1, .shape = {count}, .count = count, .data = losses},
        {.dtype = DPA_F32,
         .ndim = 2,
         .shape = {count, outputs},
         .count = count * outputs,
         .data = logits}};
    for (int i = 0; i < 2 && status == DPA_OK; ++i) {
        (void)snprintf(file, sizeof file, "%s-%s.npy", name, i == 0 ? "losses" : "logits");
        status = dpa__array_write(file_in(s, file, path), &arrays[i], err);
    }
    free(losses);
    free(logits);
    return status;
}

/* ---- training ---- */

static void print_epoch(const session *s, double loss, double accuracy) {
    const uint64_t done = dpa_trainer_steps_done(s->trainer), total = s->plan->train.steps;
    const uint64_t per_epoch = dpa_trainer_epoch_steps(s->trainer);
    const double elapsed = now() - s->start;
    const double left = elapsed / (double)(done - s->first_step) * (double)(total - done);
    (void)fprintf(stderr, "epoch %llu/%llu, %.0f s left: loss %.3f, accuracy %.3f",
                  (unsigned long long)((done + per_epoch - 1) / per_epoch),
                  (unsigned long long)((total + per_epoch - 1) / per_epoch), left, loss, accuracy);
    if (!isnan(s->last_heldout)) (void)fprintf(stderr, ", held out %.3f", s->last_heldout);
    if (s->has_epsilon) (void)fprintf(stderr, ", ε %.3f", s->epsilon.upper);
    (void)fputc('\n', stderr);
}

static const dpa_dataset *heldout(const session *s) {
    return s->data.test != NULL ? s->data.test : s->data.data;
}

/* ε so far, and the averaged model. */
static dpa_status take_stock(session *s, dpa_error *err) {
    DPA_TRY(spend(s, dpa_trainer_steps_done(s->trainer), err));
    return s->shown != NULL ? dpa_trainer_average(s->trainer, s->shown, err) : DPA_OK;
}

static dpa_status end_epoch(session *s, double loss, double accuracy, dpa_error *err) {
    char path[4096];
    DPA_TRY(take_stock(s, err));
    s->last_heldout = NAN;
    if (s->data.heldout_count > 0) {
        dpa_utility utility;
        DPA_TRY(dpa_model_evaluate(evaluated(s), heldout(s), s->data.heldout, s->data.heldout_count,
                                   NULL, NULL, &utility, err));
        s->last_heldout = utility.accuracy;
    }
    if (s->output != NULL)
        DPA_TRY(dpa_trainer_save(s->trainer, file_in(s, "checkpoint.npz", path), err));
    if (!s->options->quiet) print_epoch(s, loss, accuracy);
    return DPA_OK;
}

static dpa_status train(session *s, dpa_error *err) {
    const dpa_progress progress = progress_start();
    const uint64_t per_epoch = dpa_trainer_epoch_steps(s->trainer), total = s->plan->train.steps;
    double loss = 0.0, right = 0.0;
    size_t seen = 0;
    dpa_status status = DPA_OK;
    s->start = now();
    for (uint64_t step = s->first_step; step < total && status == DPA_OK;) {
        dpa_step_info info;
        status = dpa_trainer_step(s->trainer, &info, err);
        if (status != DPA_OK) break;
        step = info.step;
        if (info.batch > 0) {
            loss += info.loss * (double)info.batch;
            right += info.accuracy * (double)info.batch;
            seen += info.batch;
        }
        if (progress.call(progress.user, "step", (double)step, (double)total) != 0)
            status =
                dpa__fail(err, DPA_CANCELLED, "stopped after step %llu", (unsigned long long)step);
        else if (step % per_epoch == 0 || step == total) {
            status = end_epoch(s, loss / (double)seen, right / (double)seen, err);
            loss = right = 0.0;
            seen = 0;
        }
    }
    progress_end();
    return status;
}

/* ---- results ---- */

static void json_utility(FILE *out, const char *name, const dpa_utility *u, size_t rows) {
    (void)fprintf(out, ",\n \"%s\": {\"rows\": %zu", name, rows);
    json_number(out, ", \"loss\": ", u->loss);
    json_number(out, ", \"accuracy\": ", u->accuracy);
    json_number(out, ", \"auroc\": ", u->auroc);
    (void)fputs("}", out);
}

static void write_json(FILE *out, const void *what) {
    const session *s = what;
    const dpa_train_opts *o = &s->plan->train;
    (void)fprintf(out,
                  "{\"dpaudit\": \"%s\", \"command\": \"train\",\n \"model\": \"%s\", "
                  "\"parameters\": %zu, \"steps\": %llu, \"seed\": %llu, \"kernel\": \"%s\", "
                  "\"threads\": 1",
                  dpa_version(), s->plan->layers, dpa_model_size(s->model),
                  (unsigned long long)dpa_trainer_steps_done(s->trainer),
                  (unsigned long long)o->seed, dpa_train_kernel());
    json_number(out, ", \"seconds\": ", s->seconds);
    if (isfinite(o->clip)) {
        json_number(out, ",\n \"privacy\": {\"clip\": ", o->clip);
        json_number(out, ", \"sigma\": ", o->sigma);
        json_number(out, ", \"q\": ", s->q);
        json_number(out, ", \"delta\": ", s->plan->delta);
        if (s->has_epsilon) {
            json_number(out, ", \"epsilon\": {\"lower\": ", s->epsilon.lower);
            json_number(out, ", \"upper\": ", s->epsilon.upper);
            (void)fputs("}", out);
        }
        (void)fputs("}", out);
    }
    json_utility(out, "train", &s->train, s->data.member_count);
    if (s->data.heldout_count > 0) json_utility(out, "heldout", &s->heldout, s->data.heldout_count);
    (void)fputs("}\n", out);
}

static void print_utility(const char *name, const dpa_utility *u, size_t rows) {
    (void)printf("%-9s %8zu rows   loss %.4f   accuracy %.4f", name, rows, u->loss, u->accuracy);
    if (!isnan(u->auroc)) (void)printf("   AUROC %.4f", u->auroc);
    (void)putchar('\n');
}

static void print_text(const session *s) {
    const dpa_train_opts *o = &s->plan->train;
    (void)printf("%zu parameters, %llu steps, %.1f s\n", dpa_model_size(s->model),
                 (unsigned long long)dpa_trainer_steps_done(s->trainer), s->seconds);
    print_utility("train", &s->train, s->data.member_count);
    if (s->data.heldout_count > 0) print_utility("held out", &s->heldout, s->data.heldout_count);
    if (s->has_epsilon)
        (void)printf("privacy   epsilon %.4f at delta %g (sigma %.4f, q %.6g, clip %g)\n",
                     s->epsilon.upper, s->plan->delta, o->sigma, s->q, o->clip);
    else if (o->sigma > 0.0)
        (void)printf("privacy   not accounted for: shuffled batches (sigma %g, clip %g)\n",
                     o->sigma, o->clip);
}

static int show(session *s) {
    char path[4096];
    int code = 0;
    s->seconds = now() - s->start;
    if (s->output != NULL) code = write_by(file_in(s, "result.json", path), write_json, s);
    if (code == 0 && s->options->json != NULL) return write_by(s->options->json, write_json, s);
    if (code == 0) print_text(s);
    return code;
}

/* ---- the command ---- */

static dpa_status prepare(session *s, dpa_error *err) {
    dpa_train_plan *plan = s->plan;
    dpa_train_opts *o = &plan->train;
    const dpa_shape shape = dpa_dataset_shape(s->data.data);
    const size_t classes = dpa_dataset_classes(s->data.data);
    char path[4096];
    o->steps = dpa_train_plan_steps(plan, s->data.member_count);
    s->q = dpa_train_plan_q(plan, s->data.member_count);
    DPA_TRY(find_noise(s, err));
    DPA_TRY(dpa_model_new(plan->layers, shape, classes, plan->loss, &s->model, err));
    if (o->averaging != DPA_AVERAGE_NONE)
        DPA_TRY(dpa_model_new(plan->layers, shape, classes, plan->loss, &s->shown, err));
    dpa_model_init(s->model, plan->init_seed);
    DPA_TRY(dpa_trainer_new(s->model, s->data.data, s->data.members, s->data.member_count, o,
                            &s->trainer, err));
    if (s->output != NULL) DPA_TRY(folder_make(s->output, err));
    if (s->options->resume && s->output != NULL &&
        access(file_in(s, "checkpoint.npz", path), R_OK) == 0)
        DPA_TRY(dpa_trainer_resume(s->trainer, path, err));
    s->first_step = dpa_trainer_steps_done(s->trainer);
    return DPA_OK;
}

static dpa_status finish(session *s, dpa_error *err) {
    char path[4096];
    DPA_TRY(take_stock(s, err));
    DPA_TRY(
        evaluate(s, "train", s->data.data, s->data.members, s->data.member_count, &s->train, err));
    if (s->data.heldout_count > 0)
        DPA_TRY(evaluate(s, "heldout", heldout(s), s->data.heldout, s->data.heldout_count,
                         &s->heldout, err));
    return s->output != NULL ? dpa_model_save(evaluated(s), file_in(s, "model.npz", path), err)
                             : DPA_OK;
}

static int run_session(session *s, const char *path) {
    dpa_error err = {0};
    dpa_status status = dpa_train_plan_read(path, &s->plan, &err);
    if (status == DPA_OK && s->options->seed_text != NULL &&
        !parse_count(s->options->seed_text, &s->plan->train.seed))
        return usage_error("--seed: '%s' is not a whole number", s->options->seed_text);
    if (status == DPA_OK) {
        s->output = s->options->output != NULL ? s->options->output : s->plan->output;
        status = dpa_train_plan_load(s->plan, &s->data, &err);
    }
    if (status == DPA_OK && s->options->schema) {
        (void)fputs(dpa_dataset_schema(s->data.data), stdout);
        return 0;
    }
    if (status == DPA_OK) status = prepare(s, &err);
    if (status == DPA_OK) status = train(s, &err);
    if (status == DPA_OK) status = finish(s, &err);
    if (status == DPA_OK) return show(s);
    if (status == DPA_BAD_ARGUMENT) { /* the bad value came from the file */
        err.status = DPA_BAD_INPUT;
        if (err.place[0] == '\0') (void)snprintf(err.place, sizeof err.place, "%.400s", path);
    }
    return library_error(&err);
}

static int run(void *options, const word_list *words) {
    session s = {.options = options, .start = now()};
    const int code = run_session(&s, words->items[0]);
    dpa_trainer_free(s.trainer);
    dpa_model_free(s.model);
    dpa_model_free(s.shown);
    dpa_train_data_free(&s.data);
    dpa_train_plan_free(s.plan);
    return code;
}

const command command_train = {
    .name = "train",
    .summary = "train one model, with or without DP-SGD; losses, logits as files",
    .operands = "FILE.yaml",
    .about =
        "Trains the model of an experiment file (docs/trainer.md lists its keys) and prints, per "
        "epoch, rate, time left, loss, accuracy and the epsilon spent so far. Given a target "
        "epsilon, the noise is calibrated first. The output folder gets model.npz, checkpoint.npz, "
        "train- and heldout- losses and logits as NPY, and result.json.\n"
        "The trainer exists to be audited: its noise is reproducible and therefore not secret. Do "
        "not release a model trained with it as private.",
    .examples = "dpaudit train train-toy.yaml\n"
                "dpaudit train train-toy-dp.yaml --seed 7 --json",
    .options = table,
    .size = sizeof(train_options),
    .words = {1, 1},
    .run = run,
};
