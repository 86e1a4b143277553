/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel for any width: the including file defines what needs an instruction of its own
 * (moments_avx2.c, moments_avx512.c, moments_portable.c) and includes this once; all else is
 * written in the compiler's vector arithmetic.
 *
 *   TARGET, OP      attributes of every function here
 *   LANES           doubles of a vector
 *   widen(p)        LANES bytes as masks
 *   fuse(a, b, c)   a·b + c, rounded once
 *   least(a, b)     a < b ? a : b, so b if one of them is NaN; most(a, b) likewise
 *
 * Probabilities: with 8f = x·log₂e − k, 2^8f = (Q + fP)/(Q − fP) with the minimax P and Q of degree
 * two in f² (error below 1e-18 for |8f| ≤ ½), so that 1/(1 + e^−x) costs one division. Numerator
 * and denominator are so near 1 that four models can share it. */

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

typedef double numbers __attribute__((vector_size(LANES * sizeof(double))));
typedef uint64_t masks __attribute__((vector_size(LANES * sizeof(uint64_t))));
/* The same in an array. */
typedef double stored_numbers
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef uint64_t stored_masks
    __attribute__((vector_size(LANES * sizeof(uint64_t)), aligned(sizeof(uint64_t)), may_alias));

OP numbers all(double x) {
    return (numbers){0} + x;
}
OP numbers load(const double *x) {
    return *(const stored_numbers *)x;
}
OP void store(numbers x, double *to) {
    *(stored_numbers *)to = x;
}
OP void add_counts(masks x, uint64_t *to) {
    *(stored_masks *)to += x;
}

/* ── sums of signals ── */

typedef struct side {
    numbers sum, square;
} side;

OP side added(side s, numbers d, numbers square, masks is_here) {
    s.sum += (numbers)((masks)d & is_here); /* a mask, because NaN times 0 would be NaN */
    s.square += (numbers)((masks)square & is_here);
    return s;
}

TARGET static void signals(const dpa__models *models, size_t width, size_t at, dpa__moments *m) {
    const dpa__models rows = *models;
    for (size_t c = 0; c < width; c += LANES) {
        const masks origin_in = (masks)load(&m->origin_in[at + c]);
        const masks origin_out = (masks)load(&m->origin_out[at + c]);
        side in = {load(&m->sum_in[at + c]), load(&m->square_in[at + c])};
        side out = {load(&m->sum_out[at + c]), load(&m->square_out[at + c])};
        masks count = {0};
        UNROLL for (size_t k = 0; k < DPA__MODELS; ++k) {
            __builtin_prefetch(&rows.next[k][c]);
            const masks member = widen(&rows.member[k][c]), is_in = -member;
            const masks origin = (origin_in & is_in) | (origin_out & ~is_in);
            const numbers d = load(&rows.x[k][c]) - (numbers)origin, square = d * d;
            count += member;
            in = added(in, d, square, is_in);
            out = added(out, d, square, ~is_in);
        }
        store(in.sum, &m->sum_in[at + c]);
        store(in.square, &m->square_in[at + c]);
        store(out.sum, &m->sum_out[at + c]);
        store(out.square, &m->square_out[at + c]);
        add_counts(count, &m->count_in[at + c]);
    }
}

/* ── probabilities ── */

/* A probability is in/below of a member, out/below of another. */
typedef struct ratio {
    numbers in, out, below;
} ratio;

/* e^x = 2^k·above/below, or e^−x. */
typedef struct power {
    masks shifted; /* k in its low bits */
    numbers above, below;
} power;

OP power power_of(numbers x, int is_loss, int exact) {
    const numbers shift = all(0x1.8p49); /* adding this rounds to an eighth */
    const double sign = is_loss ? -1.0 : 1.0;
    const numbers log2e = all(sign * 0x1.71547652b82fep-3);
    const numbers shifted = fuse(x, log2e, shift);
    numbers f = fuse(x, log2e, shift - shifted);
    if (exact) f = fuse(x, all(sign * 0x1.777d0ffda0d24p-59), f);
    const numbers y = f * f;
    const numbers odd = fuse(all(0x1.7a5c8543cc49bp-3), y, all(0x1.433ba9383e16fp+1));
    const numbers p = fuse(odd, y, all(0x1.7a7a090ba5813p+1));
    const numbers q = fuse(y + 0x1.d25e51041ecf7p+1, y, all(0x1.11036301a6793p+0));
    return (power){(masks)shifted, fuse(f, p, q), fuse(-f, p, q)};
}

/* Within ±690, beyond which 2^k would leave the normal numbers. A logit above 40 has probability 1;
 * 89 leaves alone what the quick way can do. */
OP numbers clamped(numbers x, int is_loss) {
    return most(all(-690.0), least(all(is_loss ? 690.0 : 89.0), x));
}

OP ratio ratio_of(power e, int is_loss) {
    const numbers above = (numbers)((masks)e.above + (e.shifted << 52));
    return (ratio){above, above, is_loss ? e.below : above + e.below};
}

OP ratio merged(ratio a, ratio b) {
    return (ratio){fuse(a.in, b.below, b.in * a.below), fuse(a.out, b.below, b.out * a.below),
                   a.below * b.below};
}

OP int add(const dpa__models *models, size_t width, size_t at, dpa__wanted wanted,
           dpa__moments *m) {
    const dpa__models rows = *models;
    masks beyond = {0};
    for (size_t c = 0; c < width; c += LANES) {
        masks count = {0};
        ratio p[DPA__MODELS];
        UNROLL for (size_t k = 0; k < DPA__MODELS; ++k) {
            __builtin_prefetch(&rows.next[k][c]);
            const numbers given = load(&rows.x[k][c]);
            const power e = power_of(wanted.careful ? clamped(given, wanted.is_loss) : given,
                                     wanted.is_loss, 0);
            p[k] = ratio_of(e, wanted.is_loss);
            beyond |= e.shifted - (UINT64_C(0x4308000000000000) - DPA__QUICK);
            if (wanted.careful) p[k].below += given - given; /* NaN if it is not finite */
            if (wanted.sides != DPA__SIDES_NONE) {
                const masks member = widen(&rows.member[k][c]), is_out = member - 1;
                count += member;
                p[k].in = (numbers)((masks)p[k].in & ~is_out);
                p[k].out = (numbers)((masks)p[k].out & is_out);
            }
        }
        const ratio sum = merged(merged(p[0], p[1]), merged(p[2], p[3]));
        store(load(&m->sum_out[at + c]) + sum.out / sum.below, &m->sum_out[at + c]);
        if (wanted.sides == DPA__SIDES_BOTH)
            store(load(&m->sum_in[at + c]) + sum.in / sum.below, &m->sum_in[at + c]);
        if (wanted.sides != DPA__SIDES_NONE) add_counts(count, &m->count_in[at + c]);
    }
    uint64_t any = 0;
    for (size_t i = 0; i < LANES; ++i) any |= beyond[i];
    return any >= 2 * DPA__QUICK;
}

/* One loop for every case: nothing is decided inside it. */
OP int add_kind(const dpa__models *models, size_t width, size_t at, dpa__sides sides, dpa__wanted w,
                dpa__moments *m) {
    if (w.is_loss)
        return w.careful ? add(models, width, at, (dpa__wanted){1, sides, 1}, m)
                         : add(models, width, at, (dpa__wanted){1, sides, 0}, m);
    return w.careful ? add(models, width, at, (dpa__wanted){0, sides, 1}, m)
                     : add(models, width, at, (dpa__wanted){0, sides, 0}, m);
}

TARGET static int probabilities(const dpa__models *models, size_t width, size_t at,
                                dpa__wanted wanted, dpa__moments *m) {
    if (wanted.sides == DPA__SIDES_NONE)
        return add_kind(models, width, at, DPA__SIDES_NONE, wanted, m);
    if (wanted.sides == DPA__SIDES_OUT)
        return add_kind(models, width, at, DPA__SIDES_OUT, wanted, m);
    return add_kind(models, width, at, DPA__SIDES_BOTH, wanted, m);
}

OP void map_kind(const double *signal, size_t count, int is_loss, double *out) {
    for (size_t c = 0; c < count; c += LANES) {
        const ratio p = ratio_of(power_of(clamped(load(signal + c), is_loss), is_loss, 1), is_loss);
        store(p.out / p.below, &out[c]);
    }
}

TARGET static void map(const double *signal, size_t count, int is_loss, double *out) {
    if (is_loss)
        map_kind(signal, count, 1, out);
    else
        map_kind(signal, count, 0, out);
}
