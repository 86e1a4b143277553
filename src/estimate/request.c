/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request: defaults, fields from text, ranges. The command line and Python both use this code, so
 * that a wrong value is refused in one place with one wording. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "estimate/estimate.h"

void dpa__request_init(dpa_request *request) {
    *request = (dpa_request){
        .delta = 1e-5,
        .confidence = 0.95,
        .sides = 1,
        .claim_epsilon = NAN,
        .claim_delta = NAN,
        .seed = 1,
    };
}

static dpa_status set_number(const char *key, const char *value, double *out, dpa_error *err) {
    double number;
    if (!dpa__number_whole(value, &number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a number", key, value);
    *out = number;
    return DPA_OK;
}

static dpa_status set_integer(const char *key, const char *value, uint64_t *out, dpa_error *err) {
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (end == value || *end != '\0' || value[0] == '-' || errno == ERANGE)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a whole number from 0 to 2^64-1",
                         key, value);
    *out = number;
    return DPA_OK;
}

static dpa_status set_text(const char *key, const char *value, char *out, size_t size,
                           dpa_error *err) {
    if (strlen(value) >= size)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: longer than %zu characters", key, size - 1);
    memcpy(out, value, strlen(value) + 1);
    return DPA_OK;
}

/* Which field a key names. */
typedef struct field {
    const char *key;
    enum { NUMBER, TEXT, SEED, THREADS } type;
    size_t offset, size;
} field;

#define FIELD(key, type, member)                                                                   \
    { key, type, offsetof(dpa_request, member), sizeof((dpa_request *)0)->member }

static const field fields[] = {
    FIELD("delta", NUMBER, delta),
    FIELD("confidence", NUMBER, confidence),
    FIELD("claim-epsilon", NUMBER, claim_epsilon),
    FIELD("claim-delta", NUMBER, claim_delta),
    FIELD("family", TEXT, family),
    FIELD("method", TEXT, method),
    FIELD("select", TEXT, select),
    FIELD("seed", SEED, seed),
    FIELD("threads", THREADS, threads),
};

static dpa_status set_threads(const char *value, unsigned *out, dpa_error *err) {
    uint64_t threads = 0;
    DPA_TRY(set_integer("threads", value, &threads, err));
    if (threads > 4096)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "threads: at most 4096, not %s", value);
    *out = (unsigned)threads;
    return DPA_OK;
}

static dpa_status set_field(dpa_request *request, const field *f, const char *value,
                            dpa_error *err) {
    char *place = (char *)request + f->offset;
    if (value == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", f->key);
    switch (f->type) {
    case NUMBER:
        return set_number(f->key, value, (double *)(void *)place, err);
    case TEXT:
        return set_text(f->key, value, place, f->size, err);
    case SEED:
        return set_integer(f->key, value, (uint64_t *)(void *)place, err);
    case THREADS:
        return set_threads(value, (unsigned *)(void *)place, err);
    }
    return dpa__fail(err, DPA_INTERNAL, "field of no type");
}

dpa_status dpa__request_set(dpa_request *request, const char *key, const char *value,
                            dpa_error *err) {
    if (strcmp(key, "one-sided") == 0 || strcmp(key, "two-sided") == 0) {
        request->sides = key[0] == 'o' ? 1 : 2;
        return DPA_OK;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        if (strcmp(key, fields[i].key) == 0) {
            DPA_TRY(set_field(request, &fields[i], value, err));
            return dpa__request_check(request, err);
        }
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no option is called '%s'", key);
}

dpa_status dpa__request_check(const dpa_request *request, dpa_error *err) {
    if (!(request->delta >= 0.0 && request->delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: must be at least 0 and less than 1, not %g",
                         request->delta);
    if (!(request->confidence > 0.0 && request->confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "confidence: must be between 0 and 1 (0.95 for 95%%), not %g",
                         request->confidence);
    if (request->sides != 1 && request->sides != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sides: 1 or 2, not %d", request->sides);
    if (request->claim_epsilon < 0.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-epsilon: must not be negative, not %g",
                         request->claim_epsilon);
    if (request->claim_delta < 0.0 || request->claim_delta >= 1.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-delta: must be at least 0 and less than 1, not %g",
                         request->claim_delta);
    return DPA_OK;
}
