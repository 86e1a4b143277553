/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of the attacks, compiled for several instruction sets (base/simd.h). The sums
 * of every column run over the models in the order of the list, whatever the strip, the thread
 * or the vector width, so that equal columns give equal bits.
 *
 * Probabilities: with r = x − k·ln 2, e^r = (Q + rP)/(Q − rP), the diagonal Padé approximant of
 * order 6 (error below 2e-19 for |r| ≤ ln(2)/2), so that 1/(1 + 2^k e^r) costs one division.
 * Numerator and denominator are so near 1 that four models can share one division. */
#include "attack/moments.h"

#include <string.h>

#include "base/simd.h"

enum { EARLY = 16 };

/* All ones for a member. */
static inline uint64_t mask_of(uint8_t member) {
    return 0 - (uint64_t)member;
}

/* x where the mask is all ones, 0 where it is zero: NaN times 0 would be NaN. */
static inline double kept(double x, uint64_t mask) {
    return dpa__of_bits(dpa__bits_of(x) & mask);
}

static inline double chosen(uint64_t mask, double yes, double no) {
    return dpa__of_bits((dpa__bits_of(yes) & mask) | (dpa__bits_of(no) & ~mask));
}

/* ── probabilities ── */

/* A probability is above/below, with below between 0.7 and 3. */
typedef struct ratio {
    double above, below;
} ratio;

/* The smaller one; b if a is NaN. Uses masks, because gcc would compute both branches of a
 * conditional. */
static inline double smaller(double a, double b) {
    return chosen(0 - (uint64_t)(a < b), a, b);
}

/* e^−x for x up to 690; beyond, `above` would leave the normal numbers. */
static inline ratio exp_minus(double x) {
    const double shift = 0x1.8p52; /* adding this rounds to an integer in the low bits */
    const double shifted = shift - x * 0x1.71547652b82fep0;
    const double k = shifted - shift;
    const double r = -(x + k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    const double y = r * r;
    const double even =
        1.0 + y * (0x1.d1745d1745d17p-4 + y * (0x1.4afd6a052bf5bp-10 + y * 0x1.937e11175f095p-20));
    const double odd = r * (0.5 + y * (0x1.f07c1f07c1f08p-7 + y * 0x1.08cabb37565e2p-14));
    const double power = dpa__of_bits((dpa__bits_of(shifted) + 1023) << 52);
    return (ratio){(even + odd) * power, even - odd};
}

/* 1/(1 + e^−x) from e^−|x|, which is never large. */
static inline ratio of_logit(double x) {
    const double size = dpa__of_bits(dpa__bits_of(x) & ~(UINT64_C(1) << 63));
    const ratio e = exp_minus(smaller(size, 690.0));
    const uint64_t negative = 0 - (dpa__bits_of(x) >> 63);
    return (ratio){chosen(negative, e.above, e.below), e.above + e.below};
}

static inline ratio of_loss(double x) {
    return exp_minus(-smaller(-smaller(x, 690.0), 690.0));
}

static inline ratio ratio_of(double x, int is_loss) {
    return is_loss ? of_loss(x) : of_logit(x);
}

static inline void map(const double *signal, size_t count, int is_loss, double *restrict out) {
    for (size_t i = 0; i < count; ++i) {
        const ratio p = ratio_of(signal[i], is_loss);
        out[i] = p.above / p.below;
    }
}

DPA_CLONES static void map_logits(const double *signal, size_t count, double *restrict out) {
    map(signal, count, 0, out);
}

DPA_CLONES static void map_losses(const double *signal, size_t count, double *restrict out) {
    map(signal, count, 1, out);
}

void dpa__probabilities(const double *signal, size_t count, int is_loss, double *out) {
    if (is_loss)
        map_losses(signal, count, out);
    else
        map_logits(signal, count, out);
}

/* ── rows of a strip ── */

static const double *signals_of(const dpa__strip *s, size_t i) {
    return s->signal + s->row[i] * s->stride;
}

/* The membership of each column; without augmentations these are the bytes of the matrix itself. */
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

/* Goes backwards, so that each side ends up with its first value; a side without an early value
 * uses the other's. */
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

/* Columns that are worked on together; gcc's own choice for loops over bytes and doubles is 64,
 * whose sums do not fit the registers. */
enum { LANES = 8 };
typedef double numbers
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double))));
typedef uint64_t masks __attribute__((vector_size(LANES * sizeof(uint64_t))));
typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1)));

/* Four rows at a time: the sums are loaded and stored once for all of them. The same operations in
 * the same order as `added`. Rows lie far apart, where the hardware fetches nothing ahead: `next`
 * are the rows after these. */
DPA_CLONES static void add_four(const double *const x[4], const double *const next[4],
                                const uint8_t *const member[4], size_t width,
                                dpa__moments *restrict m) {
    const masks one = (masks)((numbers){0} + 1.0);
    size_t c = 0;
    for (; c + LANES <= width; c += LANES) {
        const masks origin_in = (masks) * (const numbers *)&m->origin_in[c];
        const masks origin_out = (masks) * (const numbers *)&m->origin_out[c];
        numbers count = *(const numbers *)&m->count_in[c];
        numbers sum_in = *(const numbers *)&m->sum_in[c];
        numbers square_in = *(const numbers *)&m->square_in[c];
        numbers sum_out = *(const numbers *)&m->sum_out[c];
        numbers square_out = *(const numbers *)&m->square_out[c];
        for (size_t k = 0; k < 4; ++k) {
            __builtin_prefetch(&next[k][c]);
            const masks in = -__builtin_convertvector(*(const bytes *)&member[k][c], masks);
            const masks origin = (origin_in & in) | (origin_out & ~in);
            const masks d = (masks)(*(const numbers *)&x[k][c] - (numbers)origin);
            const numbers with = (numbers)(d & in), without = (numbers)(d & ~in);
            count += (numbers)(one & in);
            sum_in += with;
            square_in += with * with;
            sum_out += without;
            square_out += without * without;
        }
        *(numbers *)&m->count_in[c] = count;
        *(numbers *)&m->sum_in[c] = sum_in;
        *(numbers *)&m->square_in[c] = square_in;
        *(numbers *)&m->sum_out[c] = sum_out;
        *(numbers *)&m->square_out[c] = square_out;
    }
    for (size_t k = 0; k < 4; ++k)
        for (size_t r = c; r < width; ++r)
            store(added(load(m, r), x[k][r], member[k][r], m->origin_in[r], m->origin_out[r]), r,
                  m);
}

void dpa__strip_signals(const dpa__strip *strip, dpa__moments *out) {
    uint8_t buffer[4][DPA__STRIP];
    size_t i = 0;
    memset(out, 0, sizeof *out);
    if (strip->rows == 0) return;
    find_origins(strip, out);
    for (; i + 4 <= strip->rows; i += 4) {
        const double *x[4], *next[4];
        const uint8_t *member[4];
        for (size_t k = 0; k < 4; ++k) {
            x[k] = signals_of(strip, i + k);
            next[k] = signals_of(strip, i + k + 4 < strip->rows ? i + k + 4 : i + k);
            member[k] = members_of(strip, i + k, buffer[k]);
        }
        add_four(x, next, member, strip->width, out);
    }
    for (; i < strip->rows; ++i)
        add_one(signals_of(strip, i), members_of(strip, i, buffer[0]), strip->width, out);
}

/* ── sums of probabilities ── */

enum { FOUR = 4 };

/* The probabilities of four models with one division. x − x is NaN if x is not finite, and makes
 * the probability NaN too. */
static inline void four(const double x[FOUR], int is_loss, double p[FOUR]) {
    ratio e[FOUR];
    for (size_t k = 0; k < FOUR; ++k) e[k] = ratio_of(x[k], is_loss);
    const double first = e[0].below * e[1].below, second = e[2].below * e[3].below;
    const double inverse = 1.0 / (first * second);
    const double of_first = second * inverse, of_second = first * inverse;
    p[0] = e[0].above * (e[1].below * of_first) + (x[0] - x[0]);
    p[1] = e[1].above * (e[0].below * of_first) + (x[1] - x[1]);
    p[2] = e[2].above * (e[3].below * of_second) + (x[2] - x[2]);
    p[3] = e[3].above * (e[2].below * of_second) + (x[3] - x[3]);
}

/* The masks of one row of a strip; widening bytes inside the sums would keep gcc from using
 * registers. */
DPA_CLONES static void widen(const uint8_t *member, size_t width, uint64_t *restrict mask) {
    for (size_t c = 0; c < width; ++c) mask[c] = mask_of(member[c]);
}

static inline void add_known(const double *const row[FOUR], const uint64_t mask[FOUR][DPA__STRIP],
                             int is_loss, size_t width, dpa__moments *restrict m) {
    const double *x0 = row[0], *x1 = row[1], *x2 = row[2], *x3 = row[3];
    for (size_t c = 0; c < width; ++c) {
        const double x[FOUR] = {x0[c], x1[c], x2[c], x3[c]};
        const uint64_t in[FOUR] = {mask[0][c], mask[1][c], mask[2][c], mask[3][c]};
        double p[FOUR];
        four(x, is_loss, p);
        m->count_in[c] +=
            (kept(1.0, in[0]) + kept(1.0, in[1])) + (kept(1.0, in[2]) + kept(1.0, in[3]));
        m->sum_in[c] +=
            (kept(p[0], in[0]) + kept(p[1], in[1])) + (kept(p[2], in[2]) + kept(p[3], in[3]));
        m->sum_out[c] +=
            (kept(p[0], ~in[0]) + kept(p[1], ~in[1])) + (kept(p[2], ~in[2]) + kept(p[3], ~in[3]));
    }
}

/* For a population: nobody is a member. */
static inline void add_population(const double *const row[FOUR], int is_loss, size_t width,
                                  double *restrict sum) {
    const double *x0 = row[0], *x1 = row[1], *x2 = row[2], *x3 = row[3];
    for (size_t c = 0; c < width; ++c) {
        const double x[FOUR] = {x0[c], x1[c], x2[c], x3[c]};
        double p[FOUR];
        four(x, is_loss, p);
        sum[c] += (p[0] + p[1]) + (p[2] + p[3]);
    }
}

DPA_CLONES static void add_logits(const double *const row[FOUR],
                                  const uint64_t mask[FOUR][DPA__STRIP], size_t width,
                                  dpa__moments *restrict m) {
    add_known(row, mask, 0, width, m);
}

DPA_CLONES static void add_losses(const double *const row[FOUR],
                                  const uint64_t mask[FOUR][DPA__STRIP], size_t width,
                                  dpa__moments *restrict m) {
    add_known(row, mask, 1, width, m);
}

DPA_CLONES static void add_other_logits(const double *const row[FOUR], size_t width,
                                        double *restrict sum) {
    add_population(row, 0, width, sum);
}

DPA_CLONES static void add_other_losses(const double *const row[FOUR], size_t width,
                                        double *restrict sum) {
    add_population(row, 1, width, sum);
}

static void add_rest(const double *x, const uint8_t *member, int is_loss, size_t width,
                     dpa__moments *m) {
    double p[DPA__STRIP];
    dpa__probabilities(x, width, is_loss, p);
    for (size_t c = 0; c < width; ++c) {
        const double checked = p[c] + (x[c] - x[c]);
        m->count_in[c] += (double)member[c];
        *(member[c] ? &m->sum_in[c] : &m->sum_out[c]) += checked;
    }
}

void dpa__strip_probabilities(const dpa__strip *strip, int is_loss, dpa__moments *out) {
    uint8_t buffer[DPA__STRIP];
    uint64_t mask[FOUR][DPA__STRIP];
    size_t i = 0;
    memset(out, 0, sizeof *out);
    for (; i + FOUR <= strip->rows; i += FOUR) {
        const double *x[FOUR];
        for (size_t k = 0; k < FOUR; ++k) {
            x[k] = signals_of(strip, i + k);
            if (strip->member != NULL)
                widen(members_of(strip, i + k, buffer), strip->width, mask[k]);
        }
        if (strip->member == NULL)
            (is_loss ? add_other_losses : add_other_logits)(x, strip->width, out->sum_out);
        else
            (is_loss ? add_losses : add_logits)(x, mask, strip->width, out);
    }
    for (; i < strip->rows; ++i)
        add_rest(signals_of(strip, i), members_of(strip, i, buffer), is_loss, strip->width, out);
}
