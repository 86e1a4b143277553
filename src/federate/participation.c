/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who takes part in a round. A draw is a function of (seed, round) or (seed, period), so it does
 * not depend on the past, and the clients' draws do not depend on the canaries.
 *
 * A canary has the marginal law of a client: in each period it comes with the probability with
 * which a client comes, in a round of the period chosen uniformly. Uniform and Poisson
 * participation have periods of one round. With `repetitions` the periods are equal parts of the
 * training and a canary comes in each of them (one-shot-federated, section 5.1). */
#include <math.h>

#include "base/error.h"
#include "base/rng.h"
#include "federate/federation.h"

enum { MOST_ROUNDS = 1 << 24 };
/* Stream numbers that no round and no canary uses. */
static const uint64_t DROPS = UINT64_C(1) << 54, COPIES = UINT64_C(1) << 55;

/* The length of a period, in which a client comes at most once; 1 if every round is drawn anew. */
static uint64_t period_of(const dpa_federate_opts *o, size_t clients) {
    if (o->participation == DPA_PARTICIPATE_SHUFFLE) return clients / o->cohort;
    return o->participation == DPA_PARTICIPATE_PERIOD ? o->period : 1;
}

static double rate_of(const dpa_federate_opts *o, size_t clients) {
    return (double)o->cohort / (double)clients;
}

uint64_t dpa_federate_participations(const dpa_federate_opts *o, size_t clients) {
    const uint64_t period = period_of(o, clients);
    return o->repetitions > 0 ? o->repetitions : (o->rounds + period - 1) / period;
}

double dpa__participation_canary(const dpa_federate_opts *o, size_t clients) {
    return o->repetitions > 0 ? (double)o->repetitions / (double)o->rounds : rate_of(o, clients);
}

double dpa__participation_canaries(const dpa_federation *f) {
    const dpa_federate_opts *o = &f->opts;
    const double rate = dpa__participation_canary(o, f->clients->count);
    return (1.0 - o->drop) * rate * (double)o->canaries;
}

dpa_status dpa__participation_check(const dpa_federate_opts *o, size_t clients, dpa_error *err) {
    if (o->rounds < 1 || o->rounds > MOST_ROUNDS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu rounds: expected 1 to %d",
                         (unsigned long long)o->rounds, MOST_ROUNDS);
    if (o->cohort < 1 || o->cohort > clients)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "cohort of %zu: expected 1 to %zu, the clients",
                         o->cohort, clients);
    if (o->participation == DPA_PARTICIPATE_PERIOD &&
        (o->period < 1 || o->period > clients / o->cohort))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "period of %llu rounds: expected 1 to %zu, for which cohorts of %zu out of "
            "%zu clients suffice",
            (unsigned long long)o->period, clients / o->cohort, o->cohort, clients);
    if (!(o->drop >= 0.0 && o->drop < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "drop %g: expected 0 up to less than 1", o->drop);
    if (o->repetitions > o->rounds)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu repetitions in %llu rounds",
                         (unsigned long long)o->repetitions, (unsigned long long)o->rounds);
    if (o->canaries > UINT32_MAX || o->unobserved > UINT32_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "more than 2^32 canaries");
    return DPA_OK;
}

/* Draws a cohort from a random permutation, leaving out its first `skip` clients. */
static size_t draw_permuted(const dpa_federation *f, uint64_t index, size_t skip, size_t *out) {
    const size_t clients = f->clients->count, end = skip + f->opts.cohort;
    dpa_rng rng;
    dpa__rng_init(&rng, f->opts.seed, DPA_PURPOSE_SAMPLING, index);
    for (size_t i = 0; i < clients; ++i) f->order[i] = i;
    for (size_t i = 0; i < end; ++i) {
        const size_t j = i + (size_t)dpa__rng_below(&rng, clients - i), chosen = f->order[j];
        f->order[j] = f->order[i];
        f->order[i] = chosen;
        if (i >= skip) out[i - skip] = chosen;
    }
    return f->opts.cohort;
}

static size_t draw_poisson(const dpa_federation *f, uint64_t round, size_t *out) {
    const double q = rate_of(&f->opts, f->clients->count);
    size_t count = 0;
    dpa_rng rng;
    dpa__rng_init(&rng, f->opts.seed, DPA_PURPOSE_SAMPLING, round);
    for (size_t i = 0; i < f->clients->count; ++i)
        if (dpa__rng_uniform(&rng) < q) out[count++] = i;
    return count;
}

static int canary_comes(const dpa_federation *f, uint64_t round, size_t canary) {
    const dpa_federate_opts *o = &f->opts;
    uint64_t length = period_of(o, f->clients->count);
    uint64_t part = round / length, start = part * length;
    double rate = rate_of(o, f->clients->count) * (double)length;
    if (o->repetitions > 0) {
        part = o->repetitions * round / o->rounds;
        start = (part * o->rounds + o->repetitions - 1) / o->repetitions;
        length = ((part + 1) * o->rounds + o->repetitions - 1) / o->repetitions - start;
        rate = 1.0;
    }
    dpa_rng rng;
    dpa__rng_init(&rng, o->seed, DPA_PURPOSE_MEMBERSHIP, (uint64_t)canary << 24 | part);
    if (dpa__rng_uniform(&rng) >= rate) return 0;
    return start + dpa__rng_below(&rng, length) == round;
}

static size_t drop_some(dpa_rng *rng, double drop, size_t *who, size_t count) {
    size_t left = 0;
    for (size_t i = 0; i < count; ++i)
        if (dpa__rng_uniform(rng) >= drop) who[left++] = who[i];
    return left;
}

/* The unobserved canaries are drawn last, so that the other draws do not depend on them. */
static void drop_canaries(dpa_rng *rng, double drop, dpa__cohort *c) {
    size_t left = 0, observed = 0;
    for (size_t i = 0; i < c->candidates; ++i) {
        if (dpa__rng_uniform(rng) < drop) continue;
        observed += i < c->canaries;
        c->canary[left++] = c->canary[i];
    }
    c->canaries = observed;
    c->candidates = left;
}

void dpa__participation_draw(dpa_federation *f, uint64_t round, dpa__cohort *out) {
    const dpa_federate_opts *o = &f->opts;
    const uint64_t period = period_of(o, f->clients->count);
    if (o->participation == DPA_PARTICIPATE_POISSON)
        out->clients = draw_poisson(f, round, out->client);
    else
        out->clients =
            draw_permuted(f, round / period, (size_t)(round % period) * o->cohort, out->client);
    out->canaries = out->candidates = 0;
    for (size_t i = 0; i < o->canaries + o->unobserved; ++i) {
        if (i == o->canaries) out->canaries = out->candidates;
        if (canary_comes(f, round, i)) out->canary[out->candidates++] = i;
    }
    if (o->unobserved == 0) out->canaries = out->candidates;
    if (o->drop > 0.0) {
        dpa_rng rng;
        dpa__rng_init(&rng, o->seed, DPA_PURPOSE_SAMPLING, DROPS | round);
        out->clients = drop_some(&rng, o->drop, out->client, out->clients);
        drop_canaries(&rng, o->drop, out);
    }
}

double dpa__copies(const dpa_federation *f, size_t who) {
    if (f->opts.fault != DPA_FAULT_REPEAT) return 1.0;
    dpa_rng rng;
    dpa__rng_init(&rng, f->opts.seed, DPA_PURPOSE_SAMPLING, COPIES | who);
    return dpa__rng_uniform(&rng) < f->opts.share ? (double)f->opts.copies : 1.0;
}
