/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel, for any width: the including file defines the vector types and operations
 * (canary_avx2.c, canary_avx512.c) and includes this once. See canary_kernel.h for what is
 * computed.
 *
 * Philox keeps each 32-bit word in a 64-bit lane: the product's low half is where the next multiply
 * looks, its high half is one shift away, and what gathers above the low half is never read.
 *
 *   TARGET, OP               attributes of every function here
 *   WIDTH                    bytes of a vector
 *   BATCH                    steps that are computed side by side: whole groups
 *   words_multiply, …        what needs an instruction of its own; all else is written in the
 *                            compiler's vector arithmetic */
#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
/* A statement for every step `b` of a batch. */
#define EACH(statement)                                                                            \
    UNROLL for (unsigned b = 0; b < BATCH; ++b) {                                                  \
        statement;                                                                                 \
    }

/* 64-bit lanes, and the same bits as 32-bit integers and floats; a vector of double. */
typedef uint64_t words __attribute__((vector_size(WIDTH)));
typedef int32_t ints __attribute__((vector_size(WIDTH)));
typedef uint32_t uints __attribute__((vector_size(WIDTH)));
typedef float reals __attribute__((vector_size(WIDTH)));
typedef double doubles __attribute__((vector_size(WIDTH)));
typedef float narrow __attribute__((vector_size(WIDTH / 2)));
enum {
    STEP_BLOCKS = WIDTH / 8,         /* blocks of a step: the 64-bit lanes of a vector */
    HALF = WIDTH / 8,                /* doubles of a vector: half of its floats */
    LANE_VECTORS = DPA__LANES / HALF /* vectors that hold the lanes of a sum */
};

OP words words_all(uint32_t x) {
    return (words){0} + x;
}
OP reals of_bits(ints bits) {
    return (reals)bits;
}
OP reals of_ints(ints x) {
    return __builtin_convertvector(x, reals);
}

typedef struct constants {
    words key0[DPA__PHILOX_ROUNDS], key1[DPA__PHILOX_ROUNDS]; /* after constant words went in */
    words last; /* both keys of the last round, interleaved */
    words m0, m1;
} constants;

static inline uint32_t product_high(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* Words 1 to 3 of the counters are the same for all blocks of a call. So half of the first two
 * rounds, and one word of the third, are computed once and folded into the keys. */
OP void constants_init(constants *c, const dpa__canary_stream *s, uint32_t block_high) {
    const uint32_t word0 = product_high(DPA__PHILOX_M1, s->index_low) ^ block_high ^ s->key0[0];
    const uint32_t word1 = DPA__PHILOX_M1 * s->index_low;
    for (unsigned i = 3; i + 1 < DPA__PHILOX_ROUNDS; ++i) {
        c->key0[i] = words_all(s->key0[i]);
        c->key1[i] = words_all(s->key1[i]);
    }
    c->key1[0] = words_all(s->tag ^ s->key1[0]);
    c->key0[1] = words_all(word1 ^ s->key0[1]);
    c->key1[1] = words_all(product_high(DPA__PHILOX_M0, word0) ^ s->key1[1]);
    c->key0[2] = words_all(s->key0[2]);
    c->key1[2] = words_all((DPA__PHILOX_M0 * word0) ^ s->key1[2]);
    c->last = words_interleave(words_all(s->key0[DPA__PHILOX_ROUNDS - 1]),
                               words_all(s->key1[DPA__PHILOX_ROUNDS - 1]));
    c->m0 = words_all(DPA__PHILOX_M0);
    c->m1 = words_all(DPA__PHILOX_M1);
}

/* ── Philox ── */

typedef struct blocks {
    words x0[BATCH], x1[BATCH], x2[BATCH], x3[BATCH];
} blocks;

/* Rounds 1 to 3 of the blocks at `count`, which is advanced. */
OP void philox_start(const constants *c, words *count, blocks *x) {
    words p[BATCH], q[BATCH];
    EACH(p[b] = words_multiply(c->m0, *count); *count += STEP_BLOCKS)
    EACH(q[b] = words_multiply(c->m1, ((p[b] >> 32) ^ c->key1[0])))
    EACH(x->x0[b] = (q[b] >> 32) ^ c->key0[1]; x->x2[b] = (p[b] ^ c->key1[1]))
    EACH(x->x1[b] = q[b])
    EACH(p[b] = words_multiply(c->m0, x->x0[b]); q[b] = words_multiply(c->m1, x->x2[b]))
    EACH(x->x0[b] = words_xor3((q[b] >> 32), x->x1[b], c->key0[2]);
         x->x2[b] = ((p[b] >> 32) ^ c->key1[2]))
    EACH(x->x1[b] = q[b]; x->x3[b] = p[b])
}

OP void philox_round(const constants *c, unsigned i, blocks *x) {
    words p[BATCH], q[BATCH];
    EACH(p[b] = words_multiply(c->m0, x->x0[b]); q[b] = words_multiply(c->m1, x->x2[b]))
    EACH(x->x0[b] = words_xor3((q[b] >> 32), x->x1[b], c->key0[i]);
         x->x2[b] = words_xor3((p[b] >> 32), x->x3[b], c->key1[i]))
    EACH(x->x1[b] = q[b]; x->x3[b] = p[b])
}

/* The last round: words 0 and 2 interleaved to `radius`, 1 and 3 to `angle`. */
OP void philox_end(const constants *c, const blocks *x, words radius[BATCH], words angle[BATCH]) {
    words p[BATCH], q[BATCH];
    EACH(p[b] = words_multiply(c->m0, x->x0[b]); q[b] = words_multiply(c->m1, x->x2[b]))
    EACH(radius[b] = words_xor3(words_interleave_high(q[b], p[b]),
                                words_interleave(x->x1[b], x->x3[b]), c->last))
    EACH(angle[b] = words_interleave(q[b], p[b]))
}

/* ── Box–Muller ── */

typedef struct pairs {
    ints shifted[BATCH], sign[BATCH];
    reals t[BATCH], t2[BATCH], low[BATCH], r[BATCH];           /* the logarithm, then the radius */
    reals x[BATCH], z[BATCH], z2[BATCH], hs[BATCH], hc[BATCH]; /* the angle */
} pairs;

OP reals cubic(const float *a, reals x, reals x2) {
    return (a[0] + a[1] * x) + (a[2] + a[3] * x) * x2;
}

OP void take_words(const words radius[BATCH], const words angle[BATCH], pairs *w) {
    EACH(const uints word = (uints)radius[b];
         w->shifted[b] = (ints)(of_ints((ints)(word >> 1)) + 0.5F) + DPA__SHIFT_BITS;
         w->sign[b] = (ints)(word << 31))
    EACH(w->x[b] = of_ints((ints)angle[b]) * 0x1p-31F)
}

OP void take_mantissa(pairs *w){
    EACH(w->t[b] = of_bits((w->shifted[b] & DPA__MANTISSA_MASK) + DPA__SQRT_HALF_BITS) - 1.0F)
        EACH(w->z[b] = w->x[b] * w->x[b]) EACH(w->t2[b] = w->t[b] * w->t[b])
            EACH(w->z2[b] = w->z[b] * w->z[b])}

OP void log_low(pairs *w) {
    static const float c[8] = DPA__LOG_COEFFICIENTS;
    EACH(w->low[b] = cubic(c, w->t[b], w->t2[b]))
}

OP void log_high(pairs *w) {
    static const float c[8] = DPA__LOG_COEFFICIENTS;
    EACH(w->low[b] += cubic(c + 4, w->t[b], w->t2[b]) * (w->t2[b] * w->t2[b]))
}

OP void take_root(pairs *w){
    EACH(w->r[b] = of_ints(w->shifted[b] & DPA__EXPONENT_MASK) * DPA__EXPONENT_SCALE)
        EACH(w->r[b] = reals_root(w->r[b] + w->low[b] * w->t[b]))}

OP void half_sines(pairs *w) {
    static const float s[4] = DPA__SIN_COEFFICIENTS;
    EACH(w->hs[b] = cubic(s, w->z[b], w->z2[b]) * w->x[b])
}

OP void half_cosines(pairs *w) {
    static const float c[4] = DPA__COS_COEFFICIENTS;
    EACH(w->hc[b] = cubic(c, w->z[b], w->z2[b]))
}

OP void rotate(const pairs *w, reals cosine[BATCH],
               reals sine[BATCH]){EACH(sine[b] = w->r[b] * (w->hs[b] * w->hc[b]))
                                      EACH(cosine[b] = w->r[b] * (1.0F - w->hs[b] * w->hs[b]))
                                          EACH(cosine[b] = of_bits((ints)cosine[b] ^ w->sign[b]))}

/* Makes normals from `radius` and `angle`, which are then replaced by the words of the next batch.
   Philox of the next batch is interleaved with this batch's Box–Muller, so that integer and float
   units work at the same time. */
OP void batch(const constants *c, words *count, words radius[BATCH], words angle[BATCH],
              reals cosine[BATCH], reals sine[BATCH]) {
    blocks next;
    pairs now;
    take_words(radius, angle, &now);
    philox_start(c, count, &next);
    take_mantissa(&now);
    philox_round(c, 3, &next);
    log_low(&now);
    philox_round(c, 4, &next);
    log_high(&now);
    philox_round(c, 5, &next);
    take_root(&now);
    philox_round(c, 6, &next);
    half_sines(&now);
    philox_round(c, 7, &next);
    half_cosines(&now);
    philox_round(c, 8, &next);
    rotate(&now, cosine, sine);
    philox_end(c, &next, radius, angle);
}

OP words count_from(uint32_t block) {
    words count;
    for (unsigned i = 0; i < STEP_BLOCKS; ++i) count[i] = (uint64_t)block + i;
    return count;
}

/* The words of the first batch. */
OP void prepare(const constants *c, words *count, words radius[BATCH], words angle[BATCH]) {
    blocks next;
    philox_start(c, count, &next);
    UNROLL for (unsigned i = 3; i + 1 < DPA__PHILOX_ROUNDS; ++i) philox_round(c, i, &next);
    philox_end(c, &next, radius, angle);
}

enum { BATCH_BLOCKS = BATCH * STEP_BLOCKS };
_Static_assert(DPA__CALL_GROUPS *DPA__GROUP_BLOCKS % BATCH_BLOCKS == 0, "calls are whole batches");

/* Position of the first cosine of step `b` of a batch; its first sine is 16 further. */
OP size_t batch_offset(unsigned b) {
    return b * STEP_BLOCKS / DPA__GROUP_BLOCKS * DPA__GROUP +
           b * STEP_BLOCKS % DPA__GROUP_BLOCKS * 2;
}

TARGET static void normals(const dpa__canary_stream *stream, uint64_t group, size_t groups,
                           float *out) {
    const uint64_t block = group * DPA__GROUP_BLOCKS;
    constants c;
    constants_init(&c, stream, (uint32_t)(block >> 32));
    words count = count_from((uint32_t)block), radius[BATCH], angle[BATCH];
    prepare(&c, &count, radius, angle);
    for (size_t done = 0; done < groups * DPA__GROUP_BLOCKS; done += BATCH_BLOCKS) {
        reals cosine[BATCH], sine[BATCH];
        batch(&c, &count, radius, angle, cosine, sine);
        EACH(memcpy(out + 4 * done + batch_offset(b), &cosine[b], WIDTH);
             memcpy(out + 4 * done + batch_offset(b) + 16, &sine[b], WIDTH))
    }
}

typedef struct lane_sums {
    doubles dot[LANE_VECTORS], square[LANE_VECTORS];
} lane_sums;

/* Products with a model's elements are exact, so that fusing changes nothing. */
OP doubles add_product(doubles sum, narrow z, const double *model) {
    doubles m;
    memcpy(&m, model, WIDTH);
    return doubles_fuse(__builtin_convertvector(z, doubles), m, sum);
}

OP void add_step(lane_sums *t, unsigned half, narrow z, const double *model) {
    const unsigned i = half % LANE_VECTORS;
    const doubles x = __builtin_convertvector(z, doubles);
    t->dot[i] = add_product(t->dot[i], z, model);
    t->square[i] = doubles_fuse(x, x, t->square[i]);
}

TARGET static void sums(const dpa__canary_stream *stream, uint64_t group, size_t groups,
                        const double *model, dpa__lanes *lanes) {
    const uint64_t block = group * DPA__GROUP_BLOCKS;
    constants c;
    lane_sums total;
    constants_init(&c, stream, (uint32_t)(block >> 32));
    words count = count_from((uint32_t)block), radius[BATCH], angle[BATCH];
    prepare(&c, &count, radius, angle);
    memcpy(total.dot, lanes->dot, sizeof total.dot);
    memcpy(total.square, lanes->square, sizeof total.square);
    for (size_t done = 0; done < groups * DPA__GROUP_BLOCKS; done += BATCH_BLOCKS) {
        reals cosine[BATCH], sine[BATCH];
        batch(&c, &count, radius, angle, cosine, sine);
        EACH(const double *at = model + 4 * done + batch_offset(b);
             add_step(&total, 0, reals_low(cosine[b]), at);
             add_step(&total, 0, reals_low(sine[b]), at + 16);
             add_step(&total, 1, reals_high(cosine[b]), at + HALF);
             add_step(&total, 1, reals_high(sine[b]), at + 16 + HALF))
    }
    memcpy(lanes->dot, total.dot, sizeof total.dot);
    memcpy(lanes->square, total.square, sizeof total.square);
}

/* Four independent chains of additions, because a single one would wait for its own results. */
TARGET static void dots(const float *z, size_t groups, const double *model, size_t stride,
                        double *lane) {
    static const unsigned first[4] = {0, 16, 8, 24};
    doubles total[DPA__DOTS][LANE_VECTORS];
    memcpy(total, lane, sizeof total);
    for (size_t at = 0; at < groups * DPA__GROUP; at += DPA__GROUP)
        UNROLL for (unsigned part = 0; part < 4; ++part)
            UNROLL for (unsigned m = 0; m < DPA__DOTS; ++m)
                UNROLL for (unsigned i = 0; i < LANE_VECTORS; ++i) {
            const size_t place = at + first[part] + HALF * i;
            narrow x;
            memcpy(&x, z + place, WIDTH / 2);
            total[m][i] = add_product(total[m][i], x, model + m * stride + place);
        }
    memcpy(lane, total, sizeof total);
}
