/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit canaries: canary vectors, and their cosines with a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "canaries.h"

#define AT(field) offsetof(canaries_options, field)

static const option table[] = {
    HEADING("Which canaries"),
    SEED_OPTIONS(canaries_options),
    {"first", OPTION_COUNT, "I", "index of the first canary's stream (default 0)",
     AT(canaries.first)},
    {"direction", OPTION_CHOICE, "sphere|signs|hadamard",
     "what they are (default sphere); signs: +-1/sqrt(dim), made eight times as fast; hadamard: "
     "exactly orthogonal, any number of them by one fast transform",
     AT(direction)},
    HEADING("make: one canary as a vector"),
    {"dim", OPTION_COUNT, "D", "dimension: the number of the model's parameters", AT(canaries.dim)},
    {"index", OPTION_COUNT, "I", "which canary (default 0)", AT(index)},
    {"norm", OPTION_NUMBER, "R", "its norm (default 1)", AT(norm)},
    {"dtype", OPTION_CHOICE, "float32|float64", "what to write (default float32)", AT(dtype)},
    HEADING("cosines: of all canaries with a model"),
    {"model", OPTION_LIST, "FILE",
     "safetensors, NPY, NPZ, .f32 or .f64 (raw), or text; several are one long vector", AT(models)},
    {"initial", OPTION_LIST, "FILE", "the model before training, to be subtracted", AT(initials)},
    {"count", OPTION_COUNT, "K", "canaries that took part", AT(canaries.observed)},
    {"unobserved", OPTION_COUNT, "N", "also the next N canaries, which did not (see --null)",
     AT(canaries.unobserved)},
    HEADING("rounds and largest: of all canaries with every round's change"),
    {"state", OPTION_FILE, "FILE",
     "keeps the largest cosines between calls; made by the first 'rounds'", AT(state)},
    HEADING("schedule, rounds and known: canaries with rounds that the auditor knows"),
    {"rounds", OPTION_COUNT, "T", "rounds of the whole training", AT(rounds)},
    {"times", OPTION_COUNT, "R", "rounds of each canary: one in each of R equal parts", AT(times)},
    {"schedule", OPTION_FILE, "FILE.npy",
     "instead: a matrix with the rounds of each canary, from 0 (NaN or -1: none)", AT(schedule)},
    {"unit", OPTION_NUMBER, "U",
     "norm of one canary in a FILE: the clipping norm, divided as the sum is, times "
     "the server's rate",
     AT(unit)},
    {"momentum", OPTION_NUMBER, "B", "of the server, to be undone (default 0)", AT(momentum)},
    {"previous", OPTION_LIST, "FILE",
     "with --momentum: the change of the round before the first FILE, unless that is round 0",
     AT(previous)},
    {"sigma", OPTION_NUMBER, "S",
     "known: the noise multiplier, for the choice of canaries whose numbers of rounds differ "
     "(default 1)",
     AT(sigma)},
    HEADING("How"),
    {"kernel", OPTION_CHOICE, "avx512|avx2|portable",
     "instructions to use (default: the best here; the numbers are the same)", AT(canaries.kernel)},
    HEADING("Output"),
    {"out", OPTION_OUTPUT, "FILE",
     "where to write, NPY, or NPZ with all that the next command must know (default for cosines: "
     "one a line)",
     AT(out)},
    {"null", OPTION_OUTPUT, "FILE.npy", "where the cosines of the unobserved canaries go",
     AT(null)},
    END_OPTIONS,
};

static void init(void *options) {
    canaries_options *o = options;
    common_init(&o->common);
    dpa__canaries_opts_init(&o->canaries);
    o->norm = 1.0;
    o->sigma = 1.0;
    o->dtype = "float32";
}

dpa_canaries_opts canaries_library_opts(const canaries_options *o) {
    const char *name;
    dpa_canaries_opts opts = o->canaries;
    opts.seed = o->common.protocol.request.seed;
    opts.threads = o->common.protocol.request.threads;
    for (int i = 0; o->direction != NULL && (name = dpa__direction_name((dpa_direction)i)); ++i)
        if (strcmp(name, o->direction) == 0) opts.direction = (dpa_direction)i;
    return opts;
}

static dpa_status write_vector(const char *path, dpa_dtype dtype, const void *data, size_t count,
                               dpa_error *err) {
    const dpa_array array = {
        .dtype = dtype, .ndim = 1, .shape = {count}, .count = count, .data = (void *)data};
    return dpa__array_write(path, &array, err);
}

static dpa_status make_into(dpa_canaries *canaries, const canaries_options *o, void *block,
                            dpa_error *err) {
    const int wide = strcmp(o->dtype, "float64") == 0;
    DPA_TRY(wide ? dpa__canaries_make_f64(canaries, 0, o->norm, block, err)
                 : dpa__canaries_make_f32(canaries, 0, o->norm, block, err));
    return write_vector(o->out, wide ? DPA_F64 : DPA_F32, block, o->canaries.dim, err);
}

static int make(const canaries_options *o) {
    if (o->canaries.dim == 0) return usage_error("make: needs --dim");
    if (o->out == NULL) return usage_error("make: needs --out FILE.npy");
    dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_canaries *canaries = NULL;
    dpa_error err = {.status = DPA_NO_MEMORY, .text = "no memory for the vector"};
    opts.first += o->index;
    opts.observed = 1;
    opts.unobserved = 0;
    if (dpa__canaries_new(&opts, &canaries, &err) != DPA_OK) return library_error(&err);
    void *block = calloc(opts.dim, sizeof(double));
    const dpa_status status = block != NULL ? make_into(canaries, o, block, &err) : DPA_NO_MEMORY;
    free(block);
    dpa__canaries_free(canaries);
    return status == DPA_OK ? 0 : library_error(&err);
}

dpa_status canaries_read_model(const word_list *files, dpa_weights *out, dpa_error *err) {
    for (size_t i = 0; i < files->count; ++i)
        DPA_TRY(dpa__weights_append(out, files->items[i], NULL, err));
    return DPA_OK;
}

dpa_status canaries_show(const canaries_options *o, const dpa_canaries *canaries, const char *name,
                         const double *cosine, dpa_error *err) {
    const size_t observed = dpa__canaries_observed(canaries);
    const size_t unobserved = dpa__canaries_unobserved(canaries);
    if (canaries_is_npz(o->out)) {
        dpa_evidence e;
        dpa_status status = canaries_evidence(canaries, &e, err);
        if (status == DPA_OK) status = dpa_evidence_copy(&e, name, cosine, observed, err);
        if (status == DPA_OK && unobserved > 0)
            status = dpa_evidence_copy(&e, "unobserved", cosine + observed, unobserved, err);
        if (status == DPA_OK) status = dpa_evidence_write(&e, o->out, err);
        dpa__evidence_clear(&e);
        return status;
    }
    if (o->null != NULL)
        DPA_TRY(write_vector(o->null, DPA_F64, cosine + observed, unobserved, err));
    const size_t shown = o->null != NULL ? observed : observed + unobserved;
    if (o->out != NULL) return write_vector(o->out, DPA_F64, cosine, shown, err);
    for (size_t i = 0; i < shown; ++i) (void)printf("%.17g\n", cosine[i]);
    return DPA_OK;
}

static dpa_status compute(const canaries_options *o, const dpa_weights *model,
                          const dpa_weights *initial, dpa_error *err) {
    dpa_canaries_opts opts = canaries_library_opts(o);
    dpa_canaries *canaries = NULL;
    opts.dim = model->dim;
    dpa_status status = dpa__canaries_new(&opts, &canaries, err);
    if (status != DPA_OK) return status;
    double *cosine = calloc(dpa__canaries_count(canaries), sizeof *cosine);
    if (cosine == NULL) {
        *err = (dpa_error){.status = DPA_NO_MEMORY, .text = "no memory for the cosines"};
        dpa__canaries_free(canaries);
        return DPA_NO_MEMORY;
    }
    const dpa_vector m = dpa__weights_vector(model), i = dpa__weights_vector(initial);
    const dpa_progress progress = progress_start();
    status =
        dpa__canaries_cosines(canaries, &m, initial->dim > 0 ? &i : NULL, cosine, &progress, err);
    progress_end();
    if (status == DPA_OK) status = canaries_show(o, canaries, "final", cosine, err);
    free(cosine);
    dpa__canaries_free(canaries);
    return status;
}

static int cosines(const canaries_options *o) {
    if (o->models.count == 0) return usage_error("cosines: needs --model FILE");
    if (o->canaries.observed == 0) return usage_error("cosines: needs --count K");
    if (o->null != NULL && o->canaries.unobserved == 0)
        return usage_error("cosines: --null needs --unobserved N");
    dpa_weights model = {0}, initial = {0};
    dpa_error err;
    dpa_status status = canaries_read_model(&o->models, &model, &err);
    if (status == DPA_OK) status = canaries_read_model(&o->initials, &initial, &err);
    int code = 0;
    if (status == DPA_OK && o->canaries.dim != 0 && o->canaries.dim != model.dim)
        code = usage_error("cosines: the model has %zu parameters, --dim says %zu", model.dim,
                           o->canaries.dim);
    else if (status == DPA_OK)
        status = compute(o, &model, &initial, &err);
    dpa__weights_free(&model);
    dpa__weights_free(&initial);
    return status == DPA_OK ? code : library_error(&err);
}

static int run(void *options, const word_list *words) {
    const char *what = words->items[0];
    if (strcmp(what, "rounds") == 0) return canaries_rounds(options, words);
    if (words->count > 1) return usage_error("'%s' is one argument too many", words->items[1]);
    if (strcmp(what, "make") == 0) return make(options);
    if (strcmp(what, "cosines") == 0) return cosines(options);
    if (strcmp(what, "largest") == 0) return canaries_largest(options);
    if (strcmp(what, "schedule") == 0) return canaries_schedule(options);
    if (strcmp(what, "known") == 0) return canaries_known(options);
    return usage_error("'%s' is none of make, cosines, rounds, largest, schedule and known", what);
}

const command command_canaries = {
    .name = "canaries",
    .summary = "random canary vectors, and their cosines with a model",
    .operands = "make|cosines|rounds|largest|schedule|known [FILE...]",
    .about =
        "A canary is a random direction that a client sends instead of its update. It is a "
        "function of seed and index, so it is made again where it is needed and never stored: the "
        "cosines of thousands of canaries need the memory of one model.\n"
        "'make' writes one canary; 'cosines' prints the cosine of every canary with the model (or "
        "with its change since --initial), for 'dpaudit cosines'. The numbers are the same on any "
        "number of threads and any processor.\n"
        "'rounds' takes one FILE per round of a federated training, the change of the model in "
        "that round, and keeps each canary's largest cosine in --state: one call per round, or "
        "one with all files, or anything between. With --initial the files are models in the "
        "order of the rounds (number them with leading zeros), and --initial is the model before "
        "the first of this call. 'largest' writes what the state holds, for 'dpaudit cosines'.\n"
        "Known rounds certify most: 'schedule' draws the rounds of every canary, also of those "
        "that "
        "will stay at home; 'rounds' with the same --rounds and --times (or --schedule) and --unit "
        "also adds up each canary's part in its own rounds; 'known' writes these scores, for "
        "'dpaudit cosines KNOWN.npz'.",
    .examples =
        "dpaudit canaries make --dim 100000 --seed 7 --index 2 --out canary.npy\n"
        "dpaudit canaries make --dim 4096 --out c.npy && dpaudit canaries cosines --model c.npy "
        "--count 20 --out cosines.npy\n"
        "dpaudit canaries make --dim 4096 --out r.npy && dpaudit canaries rounds r.npy --state s "
        "--count 20 --unobserved 20 && dpaudit canaries largest --state s --out g.npy --null "
        "n.npy\n"
        "dpaudit canaries make --dim 4096 --direction hadamard --out r.npy && dpaudit canaries "
        "rounds "
        "r.npy --state known.state --count 20 --unobserved 20 --direction hadamard --rounds 1 "
        "--times 1 "
        "--unit 1 "
        "&& dpaudit canaries known --state known.state --out known.npz && dpaudit cosines "
        "known.npz",
    .options = table,
    .size = sizeof(canaries_options),
    .words = {1, (size_t)-1},
    .init = init,
    .run = run,
};
