/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families of trade-off curves for audits: parsing the text, and the member at t. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/family.h"
#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "math/root.h"

typedef enum kind { DP, GAUSSIAN, LAPLACE, SUBSAMPLED, POINTS, PAIR, LEDGER, KINDS } kind;

struct dpa_family {
    kind kind;
    char *spec;
    double delta;
    dpa_phase phase; /* for the subsampled family; its σ is 1/t */
    dpa_adjacency adjacency;
    /* For points, a pair, a ledger: the curve to be diluted, nowhere above the truth; and one
     * nowhere below it (NULL: the same). */
    dpa_curve *whole, *above;
};

static const struct {
    const char *name, *parameter, *form;
} table[KINDS] = {
    [DP] = {"dp", "epsilon", "dp"},
    [GAUSSIAN] = {"gaussian", "mu", "gaussian"},
    [LAPLACE] = {"laplace", "epsilon0", "laplace"},
    [SUBSAMPLED] = {"subsampled-gaussian", "sigma",
                    "subsampled-gaussian:q=Q,steps=N[,adjacency=replace-one]"},
    [POINTS] = {"points", "share", "points:FILE"},
    [PAIR] = {"pair", "share", "pair:FILE[,q=Q][,steps=N]"},
    [LEDGER] = {"ledger", "share", "ledger:FILE[,adjacency=replace-one]"},
};

static dpa_status unknown(const char *spec, dpa_error *err) {
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "family '%s' is unknown; the families are %s, %s, %s, %s, %s, %s, %s", spec,
                     table[DP].form, table[GAUSSIAN].form, table[LAPLACE].form,
                     table[SUBSAMPLED].form, table[POINTS].form, table[PAIR].form,
                     table[LEDGER].form);
}

/* Parses a number that must end exactly at `end`. */
static int parse_double(const char *text, const char *end, double *out) {
    return dpa__number_parse(&text, end, out) == DPA__NUMBER_OK && text == end;
}

static int starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Parses q=Q,steps=N,adjacency=replace-one in any order, each at most once; NaN if absent. */
static dpa_status parse_items(dpa_family *family, const char *rest, double *q, double *steps,
                              dpa_error *err) {
    static const char replace[] = "adjacency=replace-one";
    *q = *steps = NAN;
    for (const char *item = rest; *item != '\0';) {
        const char *end = item + strcspn(item, ",");
        if ((size_t)(end - item) == strlen(replace) && starts_with(item, replace) &&
            family->adjacency == DPA_ADD_REMOVE) {
            family->adjacency = DPA_REPLACE_ONE;
            item = *end == ',' ? end + 1 : end;
            continue;
        }
        double *slot = starts_with(item, "q=") ? q : starts_with(item, "steps=") ? steps : NULL;
        if (slot == NULL || !isnan(*slot))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': '%.*s' is not expected; write %s",
                             family->spec, (int)(end - item), item, table[family->kind].form);
        const char *number = strchr(item, '=') + 1;
        if (!parse_double(number, end, slot))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': '%.*s' is not a number",
                             family->spec, (int)(end - number), number);
        item = *end == ',' ? end + 1 : end;
    }
    return DPA_OK;
}

static dpa_status check_items(const dpa_family *family, double q, double steps, dpa_error *err) {
    if (!(q > 0 && q <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': q must be given, in (0, 1]",
                         family->spec);
    if (!(steps >= 1 && steps <= 1e12 && steps == floor(steps)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "family '%s': steps must be given, a whole number in [1, 1e12]",
                         family->spec);
    return DPA_OK;
}

static dpa_status parse_subsampled(dpa_family *family, const char *rest, dpa_error *err) {
    double q, steps;
    DPA_TRY(parse_items(family, rest, &q, &steps, err));
    DPA_TRY(check_items(family, q, steps, err));
    family->phase = (dpa_phase){DPA_GAUSSIAN, 1, q, (uint64_t)steps};
    return DPA_OK;
}

/* Both curves of the mechanism that a file describes. */
static dpa_status take_curves(dpa_family *family, const dpa_phase *phases, size_t count,
                              dpa_error *err) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = family->adjacency;
    opts.delta = fmin(fmax(family->delta, 1e-12), 0.5);
    dpa_account *account;
    DPA_TRY(dpa_account_new(phases, count, &opts, &account, err));
    dpa_status status = dpa_account_curve(account, -1, &family->whole, err);
    if (status == DPA_OK) status = dpa_account_curve(account, 1, &family->above, err);
    dpa_account_free(account);
    return status;
}

static dpa_status read_pair(dpa_family *family, const char *path, const char *items,
                            dpa_error *err) {
    double q, steps;
    dpa_pair *pair;
    DPA_TRY(parse_items(family, items, &q, &steps, err));
    if (isnan(q)) q = 1;
    if (isnan(steps)) steps = 1;
    DPA_TRY(check_items(family, q, steps, err));
    DPA_TRY(dpa_pair_read(path, &pair, err));
    const dpa_phase phase = {DPA_PAIR, 1, q, (uint64_t)steps, pair};
    const dpa_status status = take_curves(family, &phase, 1, err);
    dpa_pair_free(pair);
    return status;
}

static dpa_status read_ledger(dpa_family *family, const char *path, const char *items,
                              dpa_error *err) {
    double q, steps;
    dpa_ledger *ledger;
    DPA_TRY(parse_items(family, items, &q, &steps, err));
    if (!isnan(q) || !isnan(steps))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': write %s", family->spec,
                         table[LEDGER].form);
    DPA_TRY(dpa_ledger_read(path, family->adjacency, &ledger, err));
    size_t count;
    const dpa_phase *phases = dpa_ledger_phases(ledger, &count);
    const dpa_status status = take_curves(family, phases, count, err);
    dpa_ledger_free(ledger);
    return status;
}

/* Parses FILE and the items after it; the file name ends where the first item starts. */
static dpa_status parse_file(dpa_family *family, const char *rest, dpa_error *err) {
    static const char *const starts[] = {",q=", ",steps=", ",adjacency="};
    char *path = dpa__strdup(rest, err);
    if (path == NULL) return DPA_NO_MEMORY;
    char *end = path + strlen(path);
    for (size_t k = 0; k < sizeof starts / sizeof starts[0]; ++k) {
        char *here = strstr(path, starts[k]);
        if (here != NULL && here < end) end = here;
    }
    const char *items = *end == ',' ? end + 1 : end;
    *end = '\0';
    dpa_status status;
    if (*path == '\0')
        status = dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': the file is missing; write %s",
                           family->spec, table[family->kind].form);
    else if (family->kind == PAIR)
        status = read_pair(family, path, items, err);
    else
        status = read_ledger(family, path, items, err);
    free(path);
    return status;
}

static dpa_status parse(dpa_family *family, dpa_error *err) {
    const char *spec = family->spec, *colon = spec + strcspn(spec, ":");
    const size_t length = (size_t)(colon - spec);
    const char *rest = *colon == ':' ? colon + 1 : "";
    for (family->kind = DP; family->kind < KINDS; family->kind = (kind)(family->kind + 1)) {
        const char *name = table[family->kind].name;
        if (strlen(name) == length && strncmp(name, spec, length) == 0) break;
    }
    switch (family->kind) {
    case DP:
    case GAUSSIAN:
    case LAPLACE:
        if (*colon == '\0') return DPA_OK;
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': nothing may follow '%s'", spec,
                         table[family->kind].name);
    case SUBSAMPLED:
        return parse_subsampled(family, rest, err);
    case POINTS:
        if (*rest == '\0')
            return dpa__fail(err, DPA_BAD_ARGUMENT, "family '%s': the file is missing; write %s",
                             spec, table[POINTS].form);
        return dpa__curve_read(rest, &family->whole, err);
    case PAIR:
    case LEDGER:
        return parse_file(family, rest, err);
    case KINDS:
    default:
        return unknown(spec, err);
    }
}

dpa_status dpa__family_parse(const char *spec, double delta, dpa_family **out, dpa_error *err) {
    *out = NULL;
    if (spec == NULL) return unknown("", err);
    if (!(delta >= 0 && delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be in [0, 1)", delta);
    dpa_family *family = DPA_NEW(dpa_family, err);
    if (family == NULL) return DPA_NO_MEMORY;
    family->delta = delta;
    family->spec = dpa__strdup(spec, err);
    const dpa_status status = family->spec == NULL ? DPA_NO_MEMORY : parse(family, err);
    if (status != DPA_OK) {
        dpa__family_free(family);
        return status;
    }
    *out = family;
    return DPA_OK;
}

int dpa__family_is_universal(const char *spec) {
    return strcmp(spec, table[DP].name) == 0;
}

int dpa__family_is_gaussian(const char *spec) {
    return strcmp(spec, table[GAUSSIAN].name) == 0;
}

int dpa__family_is_composed(const char *spec) {
    const size_t length = strlen(table[SUBSAMPLED].name);
    return strncmp(spec, table[SUBSAMPLED].name, length) == 0;
}

int dpa__family_is_noise(const dpa_family *family) {
    return family->kind == GAUSSIAN || family->kind == SUBSAMPLED;
}

void dpa__family_free(dpa_family *family) {
    if (family == NULL) return;
    dpa_curve_free(family->whole);
    dpa_curve_free(family->above);
    free(family->spec);
    free(family);
}

const char *dpa__family_spec(const dpa_family *family) {
    return family->spec;
}

const char *dpa__family_name(const dpa_family *family) {
    return table[family->kind].name;
}

const char *dpa__family_parameter(const dpa_family *family) {
    return table[family->kind].parameter;
}

double dpa__family_value(const dpa_family *family, double t) {
    return family->kind == SUBSAMPLED ? 1 / t : t;
}

double dpa__family_t(const dpa_family *family, double value) {
    return family->kind == SUBSAMPLED ? 1 / value : value;
}

double dpa__family_max(const dpa_family *family) {
    return family->whole != NULL ? 1.0 : HUGE_VAL;
}

/* At σ = 0.1 a record in a batch is already recognised but for 3e-7, so less noise changes nothing.
 */
static const double NO_NOISE = 10;

int dpa__family_is_spent(const dpa_family *family, double t) {
    if (family->whole != NULL) return t >= 1 - 1e-9;
    return family->kind == SUBSAMPLED && family->phase.q < 1 && t >= NO_NOISE;
}

static dpa_status check_t(const dpa_family *family, double t, dpa_error *err) {
    if (t >= 0 && t <= dpa__family_max(family)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "family %s: t is %g; it must be in [0, %g]",
                     family->spec, t, dpa__family_max(family));
}

/* 1/σ at the end of the accountant's range: leakier members are treated as having no noise. */
enum { LEAKIEST = 1000 };
/* Curves end at σ = 0.01. If a record may be in no batch at all, curves converge as σ falls;
 * evidence beyond the limit sends a search here, where a member costs a second or more. */
enum { LEAKIEST_CURVE = 100 };
static const double MOST_PRIVATE = 1e-9;

static dpa_status member(const dpa_family *family, double t, double delta, double tolerance,
                         dpa_account **out, dpa_error *err) {
    dpa_phase phase = family->phase;
    phase.sigma = 1 / t;
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = family->adjacency;
    opts.delta = fmin(fmax(delta, 1e-300), 0.5);
    opts.tolerance = fmax(tolerance, opts.tolerance);
    opts.absolute = fmax(tolerance / 10, opts.absolute);
    return dpa_account_new(&phase, 1, &opts, out, err);
}

/* The curve is certified at any cell width, so wide cells are good enough: a search makes about 40
 * curves. */
static dpa_status subsampled_curve(const dpa_family *family, double t, dpa__way way,
                                   dpa_curve **out, dpa_error *err) {
    if (t < MOST_PRIVATE) t = MOST_PRIVATE; /* leakier: the curve is below the member's */
    if (t > LEAKIEST_CURVE) return dpa_curve_gaussian(HUGE_VAL, out, err);
    dpa_account *account;
    const dpa_status made = member(family, t, fmax(family->delta, 1e-8), 2e-2, &account, err);
    /* Too leaky for any grid: use the curve of no privacy, which nothing is below. */
    if (made == DPA_NUMERIC && t > 10) return dpa_curve_gaussian(HUGE_VAL, out, err);
    DPA_TRY(made);
    const dpa_status status =
        dpa__account_curve(account, DPA_PESSIMISTIC, DPA_QUICK, way, out, err);
    dpa_account_free(account);
    return status;
}

dpa_status dpa__family_curve(const dpa_family *family, double t, dpa_curve **out, dpa_error *err) {
    *out = NULL;
    DPA_TRY(check_t(family, t, err));
    switch (family->kind) {
    case DP:
        return dpa_curve_dp(t, family->delta, out, err);
    case GAUSSIAN:
        return dpa_curve_gaussian(t, out, err);
    case LAPLACE:
        return dpa_curve_laplace(t, out, err);
    case SUBSAMPLED:
        if (t == 0) return dpa_curve_gaussian(0, out, err);
        return subsampled_curve(family, t, DPA_EITHER_WAY, out, err);
    case POINTS:
    case PAIR:
    case LEDGER:
    case KINDS:
    default:
        return dpa__curve_diluted(family->whole, t, out, err);
    }
}

dpa_status dpa__family_directed(const dpa_family *family, double t, dpa_curve **out,
                                dpa_error *err) {
    if (family->kind != SUBSAMPLED || !(t > 0)) return dpa__family_curve(family, t, out, err);
    *out = NULL;
    return subsampled_curve(family, t, DPA_WITHOUT_TO_WITH, out, err);
}

static dpa_status subsampled_epsilon(const dpa_family *family, double t, double delta,
                                     dpa_interval *out, dpa_error *err) {
    *out = (dpa_interval){0, 0};
    if (t == 0 || delta == 1) return DPA_OK;
    *out = (dpa_interval){HUGE_VAL, HUGE_VAL};
    if (delta == 0 || isinf(t)) return DPA_OK;
    if (t > LEAKIEST || t < MOST_PRIVATE)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "family %s: sigma is %g; it must be in [0.001, 1e9]", family->spec, 1 / t);
    dpa_account *account;
    DPA_TRY(member(family, t, delta, 0, &account, err));
    const dpa_status status = dpa_account_epsilon(account, delta, out, err);
    dpa_account_free(account);
    return status;
}

dpa_status dpa__family_epsilon(const dpa_family *family, double t, double delta, dpa_interval *out,
                               dpa_error *err) {
    DPA_TRY(check_t(family, t, err));
    if (!(delta >= 0 && delta <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be in [0, 1]", delta);
    if (family->kind == SUBSAMPLED) return subsampled_epsilon(family, t, delta, out, err);
    if (family->kind == DP && delta == family->delta) {
        *out = (dpa_interval){t, t};
        return DPA_OK;
    }
    dpa_curve *curve;
    DPA_TRY(dpa__family_curve(family, t, &curve, err));
    *out = dpa__account_around(dpa_curve_epsilon(curve, delta));
    dpa_curve_free(curve);
    if (family->above == NULL) return DPA_OK;
    DPA_TRY(dpa__curve_diluted(family->above, t, &curve, err));
    out->lower = fmin(dpa__account_around(dpa_curve_epsilon(curve, delta)).lower, out->upper);
    dpa_curve_free(curve);
    return DPA_OK;
}

typedef struct claim_search {
    const dpa_family *family;
    double epsilon, delta;
} claim_search;

/* How much the ε of the member at t is above the claim, at least. */
static dpa_status excess(double t, void *user, double *out, dpa_error *err) {
    const claim_search *s = user;
    dpa_interval got = {0, 0};
    if (t >= MOST_PRIVATE) DPA_TRY(dpa__family_epsilon(s->family, t, s->delta, &got, err));
    *out = got.lower - s->epsilon;
    return DPA_OK;
}

dpa_status dpa__family_claim(const dpa_family *family, double epsilon, double delta, double *t,
                             dpa_error *err) {
    static const double NARROW = 1e-9, FAR = 1e6;
    const double end = family->kind == SUBSAMPLED ? LEAKIEST : fmin(dpa__family_max(family), FAR);
    claim_search search = {family, epsilon, delta};
    dpa__bracket found;
    double above;
    *t = fmin(1, end);
    DPA_TRY(excess(*t, &search, &above, err));
    while (above < 0 && *t < end) {
        *t = fmin(2 * *t, end);
        DPA_TRY(excess(*t, &search, &above, err));
    }
    if (above < 0) return DPA_OK;
    DPA_TRY(dpa__root_try(excess, &search, 0, *t, NARROW, NARROW, &found, err));
    *t = found.upper;
    return DPA_OK;
}
