/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel, for any width: the including file defines the vector types and operations
 * (canary_avx2.c, canary_avx512.c) and includes this once. See canary_kernel.h for what is
 * computed.
 *
 * Philox keeps each 32-bit word in a 64-bit lane: the product's low half is where the next multiply
 * looks, its high half is one shift away, and what gathers above the low half is never read.
 *
 *   BATCH                    steps that are computed side by side: whole groups
 *   STEP_BLOCKS              blocks of a step: the 64-bit lanes of a vector
 *   words, reals, doubles    vectors of 64-bit lanes, of float, of double
 *   OP                       attributes of every function here */

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
    EACH(p[b] = words_multiply(c->m0, *count); *count = words_add(*count, words_all(STEP_BLOCKS)))
    EACH(q[b] = words_multiply(c->m1, words_xor(words_high(p[b]), c->key1[0])))
    EACH(x->x0[b] = words_xor(words_high(q[b]), c->key0[1]); x->x2[b] = words_xor(p[b], c->key1[1]))
    EACH(x->x1[b] = q[b])
    EACH(p[b] = words_multiply(c->m0, x->x0[b]); q[b] = words_multiply(c->m1, x->x2[b]))
    EACH(x->x0[b] = words_xor3(words_high(q[b]), x->x1[b], c->key0[2]);
         x->x2[b] = words_xor(words_high(p[b]), c->key1[2]))
    EACH(x->x1[b] = q[b]; x->x3[b] = p[b])
}

OP void philox_round(const constants *c, unsigned i, blocks *x) {
    words p[BATCH], q[BATCH];
    EACH(p[b] = words_multiply(c->m0, x->x0[b]); q[b] = words_multiply(c->m1, x->x2[b]))
    EACH(x->x0[b] = words_xor3(words_high(q[b]), x->x1[b], c->key0[i]);
         x->x2[b] = words_xor3(words_high(p[b]), x->x3[b], c->key1[i]))
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
    words shifted[BATCH], sign[BATCH];
    reals t[BATCH], t2[BATCH], low[BATCH], r[BATCH];           /* the logarithm, then the radius */
    reals x[BATCH], z[BATCH], z2[BATCH], hs[BATCH], hc[BATCH]; /* the angle */
} pairs;

/* a + b·x, two roundings. */
OP reals linear(float a, float b, reals x) {
    return reals_add(reals_all(a), reals_multiply(reals_all(b), x));
}

OP reals cubic(const float *a, reals x, reals x2) {
    return reals_add(linear(a[0], a[1], x), reals_multiply(linear(a[2], a[3], x), x2));
}

OP void take_words(const words radius[BATCH], const words angle[BATCH], pairs *w){
    EACH(w->shifted[b] =
             ints_add(bits_of_reals(reals_add(reals_of_ints(ints_shift_right(radius[b], 1)),
                                              reals_all(0.5F))),
                      ints_all(DPA__SHIFT_BITS))) EACH(w->sign[b] = ints_shift_left(radius[b], 31))
        EACH(w->x[b] = reals_multiply(reals_of_ints(angle[b]), reals_all(0x1p-31F)))}

OP void take_mantissa(pairs *w){
    EACH(w->t[b] = reals_subtract(reals_of_bits(ints_add(ints_and(w->shifted[b],
                                                                  ints_all(DPA__MANTISSA_MASK)),
                                                         ints_all(DPA__SQRT_HALF_BITS))),
                                  reals_all(1.0F))) EACH(w->z[b] = reals_multiply(w->x[b], w->x[b]))
        EACH(w->t2[b] = reals_multiply(w->t[b], w->t[b]))
            EACH(w->z2[b] = reals_multiply(w->z[b], w->z[b]))}

OP void log_low(pairs *w) {
    static const float c[8] = DPA__LOG_COEFFICIENTS;
    EACH(w->low[b] = cubic(c, w->t[b], w->t2[b]))
}

OP void log_high(pairs *w) {
    static const float c[8] = DPA__LOG_COEFFICIENTS;
    EACH(w->low[b] = reals_add(w->low[b], reals_multiply(cubic(c + 4, w->t[b], w->t2[b]),
                                                         reals_multiply(w->t2[b], w->t2[b]))))
}

OP void take_root(pairs *w){
    EACH(w->r[b] = reals_multiply(reals_of_ints(ints_and(w->shifted[b],
                                                         ints_all(DPA__EXPONENT_MASK))),
                                  reals_all(DPA__EXPONENT_SCALE)))
        EACH(w->r[b] = reals_root(reals_add(w->r[b], reals_multiply(w->low[b], w->t[b]))))}

OP void half_sines(pairs *w) {
    static const float s[4] = DPA__SIN_COEFFICIENTS;
    EACH(w->hs[b] = reals_multiply(cubic(s, w->z[b], w->z2[b]), w->x[b]))
}

OP void half_cosines(pairs *w) {
    static const float c[4] = DPA__COS_COEFFICIENTS;
    EACH(w->hc[b] = cubic(c, w->z[b], w->z2[b]))
}

OP void rotate(const pairs *w, reals cosine[BATCH], reals sine[BATCH]){
    EACH(sine[b] = reals_multiply(w->r[b], reals_multiply(w->hs[b], w->hc[b])))
        EACH(cosine[b] = reals_multiply(
                 w->r[b], reals_subtract(reals_all(1.0F), reals_multiply(w->hs[b], w->hs[b]))))
            EACH(cosine[b] = reals_of_bits(words_xor(bits_of_reals(cosine[b]), w->sign[b])))}

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
    words count = words_count((uint32_t)block), radius[BATCH], angle[BATCH];
    prepare(&c, &count, radius, angle);
    for (size_t done = 0; done < groups * DPA__GROUP_BLOCKS; done += BATCH_BLOCKS) {
        reals cosine[BATCH], sine[BATCH];
        batch(&c, &count, radius, angle, cosine, sine);
        EACH(reals_store(out + 4 * done + batch_offset(b), cosine[b]);
             reals_store(out + 4 * done + batch_offset(b) + 16, sine[b]))
    }
}

TARGET static void sums(const dpa__canary_stream *stream, uint64_t group, size_t groups,
                        const double *model, dpa__lanes *lanes) {
    const uint64_t block = group * DPA__GROUP_BLOCKS;
    constants c;
    lane_sums total;
    constants_init(&c, stream, (uint32_t)(block >> 32));
    words count = words_count((uint32_t)block), radius[BATCH], angle[BATCH];
    prepare(&c, &count, radius, angle);
    lane_sums_load(&total, lanes);
    for (size_t done = 0; done < groups * DPA__GROUP_BLOCKS; done += BATCH_BLOCKS) {
        reals cosine[BATCH], sine[BATCH];
        batch(&c, &count, radius, angle, cosine, sine);
        EACH(lane_sums_step(&total, cosine[b], sine[b], model + 4 * done + batch_offset(b)))
    }
    lane_sums_store(&total, lanes);
}

/* Four independent chains of additions, because a single one would wait for its own results. */
TARGET static void dots(const float *z, size_t groups, const double *model, size_t stride,
                        double *lane) {
    lane_dots total[DPA__DOTS];
    UNROLL for (unsigned m = 0; m < DPA__DOTS; ++m)
        lane_dots_load(&total[m], lane + m * DPA__LANES);
    for (size_t at = 0; at < groups * DPA__GROUP; at += DPA__GROUP) {
        static const unsigned first[4] = {0, 16, 8, 24};
        UNROLL for (unsigned part = 0; part < 4; ++part) UNROLL for (unsigned m = 0; m < DPA__DOTS;
                                                                     ++m)
            lane_dots_add(&total[m], z + at + first[part], model + m * stride + at + first[part]);
    }
    UNROLL for (unsigned m = 0; m < DPA__DOTS; ++m)
        lane_dots_store(&total[m], lane + m * DPA__LANES);
}
