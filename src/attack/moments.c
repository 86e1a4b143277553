/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of the attacks, compiled for several instruction sets (base/simd.h). Every
 * column's sums run over the models in the order of the list, whatever the strip, the thread or the
 * width of a vector: equal columns give equal bits wherever they stand.
 *
 * Probabilities: with r = x − k·ln 2, e^r = (Q + rP)/(Q − rP), the diagonal Padé approximant of
 * order 6 (error below 2e-19 for |r| ≤ ln(2)/2), so that 1/(1 + 2^k e^r) costs one division. */
#include "attack/moments.h"

#include <string.h>

#include "base/simd.h"

enum { EARLY = 16 };

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All ones for a member. */
static inline uint64_t mask_of(uint8_t member) {
    return 0 - (uint64_t)member;
}

/* x where the mask is all ones, 0 where it is zero: NaN times 0 would be NaN. */
static inline double kept(double x, uint64_t mask) {
    return of_bits(bits_of(x) & mask);
}

static inline double chosen(uint64_t mask, double yes, double no) {
    return of_bits((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}

/* ── probabilities ── */

typedef struct ratio {
    double above, below; /* e^x = above/below */
} ratio;

/* |x| is cut at 690, before above or below can leave the normal numbers; NaN is taken for a large
 * number. With masks, because gcc would compute both branches of a choice to the end. */
static inline ratio exp_ratio(double x) {
    const double shift = 0x1.8p52; /* adding it rounds to a whole number in the low bits */
    x = chosen(0 - (uint64_t)(x < 690.0), x, 690.0);
    x = chosen(0 - (uint64_t)(x > -690.0), x, -690.0);
    const double shifted = x * 0x1.71547652b82fep0 + shift;
    const double k = shifted - shift;
    const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    const double y = r * r;
    const double even = 665280.0 + y * (75600.0 + y * (840.0 + y));
    const double odd = r * (332640.0 + y * (10080.0 + y * 42.0));
    const double power = of_bits((bits_of(shifted) + 1023) << 52);
    return (ratio){(even + odd) * power, even - odd};
}

static inline double probability_of_logit(double logit) {
    const ratio e = exp_ratio(-logit);
    return e.below / (e.below + e.above);
}

static inline double probability_of_loss(double loss) {
    const ratio e = exp_ratio(-loss);
    return e.above / e.below;
}

DPA_CLONES static void of_logits(const double *signal, size_t count, double *restrict out) {
    for (size_t i = 0; i < count; ++i) out[i] = probability_of_logit(signal[i]);
}

DPA_CLONES static void of_losses(const double *signal, size_t count, double *restrict out) {
    for (size_t i = 0; i < count; ++i) out[i] = probability_of_loss(signal[i]);
}

void dpa__probabilities(const double *signal, size_t count, int is_loss, double *out) {
    if (is_loss)
        of_losses(signal, count, out);
    else
        of_logits(signal, count, out);
}

/* ── rows of a strip ── */

static const double *signals_of(const dpa__strip *s, size_t i) {
    return s->signal + s->row[i] * s->stride;
}

/* The membership of each column: the matrix's own bytes where it has one per column. */
static const uint8_t *members_of(const dpa__strip *s, size_t i, uint8_t *buffer) {
    if (s->member == NULL) return memset(buffer, 0, s->width);
    const uint8_t *member = s->member + s->row[i] * (s->stride / s->repeat);
    if (s->repeat == 1) return member;
    for (size_t c = 0; c < s->width; ++c) buffer[c] = member[(s->phase + c) / s->repeat];
    return buffer;
}

/* ── sums of signals ── */

DPA_CLONES static void set_origins(const double *x, const uint8_t *member, size_t width,
                                   dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c) {
        const uint64_t in = mask_of(member[c]);
        m->origin_in[c] = chosen(in, x[c], m->origin_in[c]);
        m->origin_out[c] = chosen(in, m->origin_out[c], x[c]);
    }
}

/* Backwards, so that each side ends with its first value; a side that comes late starts from the
 * other's. */
static void find_origins(const dpa__strip *s, dpa__moments *m) {
    uint8_t buffer[DPA__STRIP];
    size_t i = s->rows < EARLY ? s->rows : EARLY;
    memcpy(m->origin_in, signals_of(s, i - 1), s->width * sizeof(double));
    memcpy(m->origin_out, signals_of(s, i - 1), s->width * sizeof(double));
    while (i-- > 0) set_origins(signals_of(s, i), members_of(s, i, buffer), s->width, m);
}

typedef struct sums {
    double count, sum_in, square_in, sum_out, square_out;
} sums;

static inline sums load(const dpa__moments *m, size_t c) {
    return (sums){m->count_in[c], m->sum_in[c], m->square_in[c], m->sum_out[c], m->square_out[c]};
}

static inline void store(sums s, size_t c, dpa__moments *m) {
    m->count_in[c] = s.count;
    m->sum_in[c] = s.sum_in;
    m->square_in[c] = s.square_in;
    m->sum_out[c] = s.sum_out;
    m->square_out[c] = s.square_out;
}

static inline sums added(sums s, double x, uint8_t member, double origin_in, double origin_out) {
    const uint64_t in = mask_of(member);
    const double d = x - chosen(in, origin_in, origin_out);
    const double with = kept(d, in), without = kept(d, ~in);
    s.count += kept(1.0, in);
    s.sum_in += with;
    s.square_in += with * with;
    s.sum_out += without;
    s.square_out += without * without;
    return s;
}

DPA_CLONES static void add_one(const double *x, const uint8_t *member, size_t width,
                               dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c)
        store(added(load(m, c), x[c], member[c], m->origin_in[c], m->origin_out[c]), c, m);
}

/* Four rows at a time: the sums are loaded and stored once for all of them. */
DPA_CLONES static void add_four(const double *const x[4], const uint8_t *const member[4],
                                size_t width, dpa__moments *restrict m) {
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    const uint8_t *b0 = member[0], *b1 = member[1], *b2 = member[2], *b3 = member[3];
    for (size_t c = 0; c < width; ++c) {
        const double in = m->origin_in[c], out = m->origin_out[c];
        sums s = added(load(m, c), x0[c], b0[c], in, out);
        s = added(s, x1[c], b1[c], in, out);
        s = added(s, x2[c], b2[c], in, out);
        store(added(s, x3[c], b3[c], in, out), c, m);
    }
}

void dpa__strip_signals(const dpa__strip *strip, dpa__moments *out) {
    uint8_t buffer[4][DPA__STRIP];
    size_t i = 0;
    memset(out, 0, sizeof *out);
    if (strip->rows == 0) return;
    find_origins(strip, out);
    for (; i + 4 <= strip->rows; i += 4) {
        const double *x[4];
        const uint8_t *member[4];
        for (size_t k = 0; k < 4; ++k) {
            x[k] = signals_of(strip, i + k);
            member[k] = members_of(strip, i + k, buffer[k]);
        }
        add_four(x, member, strip->width, out);
    }
    for (; i < strip->rows; ++i)
        add_one(signals_of(strip, i), members_of(strip, i, buffer[0]), strip->width, out);
}

/* ── sums of probabilities ── */

static inline void add_probability(double p, double x, uint8_t member, size_t c, dpa__moments *m) {
    const uint64_t in = mask_of(member);
    const double checked = p + (x - x); /* NaN and infinities, too, have been given a p */
    m->count_in[c] += kept(1.0, in);
    m->sum_in[c] += kept(checked, in);
    m->sum_out[c] += kept(checked, ~in);
}

DPA_CLONES static void add_logits(const double *x, const uint8_t *member, size_t width,
                                  dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c)
        add_probability(probability_of_logit(x[c]), x[c], member[c], c, m);
}

DPA_CLONES static void add_losses(const double *x, const uint8_t *member, size_t width,
                                  dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c)
        add_probability(probability_of_loss(x[c]), x[c], member[c], c, m);
}

void dpa__strip_probabilities(const dpa__strip *strip, int is_loss, dpa__moments *out) {
    uint8_t buffer[DPA__STRIP];
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < strip->rows; ++i) {
        const double *x = signals_of(strip, i);
        const uint8_t *member = members_of(strip, i, buffer);
        if (is_loss)
            add_losses(x, member, strip->width, out);
        else
            add_logits(x, member, strip->width, out);
    }
}
