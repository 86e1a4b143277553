/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of `trainer`. */
#include "game/trainer_keys.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

static const cyaml_strval_t signals[] = {{"confidence", DPA_TRAINER_CONFIDENCE},
                                         {"loss", DPA_TRAINER_LOSS}};

enum {
    MAYBE = CYAML_FLAG_OPTIONAL,
    MAYBE_PTR = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
    STRICT = CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT
};

#define COUNT(name, member) CYAML_FIELD_UINT_PTR(name, MAYBE_PTR, dpa__trainer_keys, member)
#define NUMBER(name, member) CYAML_FIELD_FLOAT_PTR(name, MAYBE_PTR, dpa__trainer_keys, member)

const cyaml_schema_field_t dpa__trainer_fields[] = {
    CYAML_FIELD_STRING_PTR("command", MAYBE_PTR, dpa__trainer_keys, command, 1, CYAML_UNLIMITED),
    COUNT("points", points),
    COUNT("canaries", canaries),
    COUNT("heldout", heldout),
    COUNT("steps", steps),
    COUNT("init-seed", init_seed),
    CYAML_FIELD_BOOL("accuracy", MAYBE, dpa__trainer_keys, accuracy),
    CYAML_FIELD_ENUM("signal", STRICT, dpa__trainer_keys, signal, signals,
                     CYAML_ARRAY_LEN(signals)),
    NUMBER("clip", clip),
    NUMBER("sigma", sigma),
    NUMBER("q", q),
    NUMBER("delta", delta),
    NUMBER("timeout", timeout),
    CYAML_FIELD_END};

void dpa__trainer_opts_init(dpa_trainer_opts *opts) {
    *opts = (dpa_trainer_opts){
        .clip = 1.0, .q = (double)NAN, .delta = 1e-5, .timeout = (double)INFINITY};
}

static dpa_status check(const dpa_trainer_opts *o, const char *path, dpa_error *err) {
    const uint64_t most = UINT32_MAX;
    if (o->command == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: command is missing: the program that trains");
    if (o->points < 1 || o->points > most || o->canaries > most || o->heldout > most)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: points %llu: expected how many examples there are to train "
                              "on, at least 1",
                              (unsigned long long)o->points);
    if (!(o->clip > 0.0 && isfinite(o->clip)) || !(o->sigma >= 0.0 && o->sigma <= 1e6))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: clip %g, sigma %g: expected more than 0, 0 to 1e6", o->clip,
                              o->sigma);
    if (!isnan(o->q) && !(o->q > 0.0 && o->q <= 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: q %g: expected more than 0, at most 1", o->q);
    if (o->sigma > 0.0 && o->steps == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: steps is missing: how many steps with this sigma");
    if (!(o->delta > 0.0 && o->delta < 1.0) || !(o->timeout > 0.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "trainer: delta %g, timeout %g: expected 0 to 1, above 0", o->delta,
                              o->timeout);
    return DPA_OK;
}

dpa_status dpa__trainer_take(const dpa__trainer_keys *keys, const char *path, dpa_trainer_opts *out,
                             dpa_error *err) {
    out->accuracy = keys->accuracy;
    out->signal = keys->signal;
    DPA_TAKE(out->points, keys->points);
    DPA_TAKE(out->canaries, keys->canaries);
    DPA_TAKE(out->heldout, keys->heldout);
    DPA_TAKE(out->steps, keys->steps);
    DPA_TAKE(out->init_seed, keys->init_seed);
    DPA_TAKE(out->clip, keys->clip);
    DPA_TAKE(out->sigma, keys->sigma);
    DPA_TAKE(out->q, keys->q);
    DPA_TAKE(out->delta, keys->delta);
    DPA_TAKE(out->timeout, keys->timeout);
    if (keys->command != NULL) {
        out->command = dpa__strdup(keys->command, err);
        if (out->command == NULL) return DPA_NO_MEMORY;
    }
    return check(out, path, err);
}
