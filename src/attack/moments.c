/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over models, by the kernel of this machine (moments_vector.h). The sums of every column run
 * over the models in the order of the list, whatever the strip, the thread or the kernel, so that
 * equal columns give equal bits. */
#include "attack/moments.h"

#include <string.h>

#include "attack/moments_kernel.h"
#include "base/simd.h"

enum { EARLY = 16 };

static const dpa__moments_kernel *const kernels[] = {
#if defined(__x86_64__)
    &dpa__moments_avx512, &dpa__moments_avx2,
#endif
    &dpa__moments_portable};

const dpa__moments_kernel *dpa__moments_kernel_at(size_t i) {
    return i < sizeof kernels / sizeof *kernels ? kernels[i] : NULL;
}

static const dpa__moments_kernel *best_kernel(void) {
    size_t i = 0;
    while (!kernels[i]->is_supported()) ++i; /* the last one always is */
    return kernels[i];
}

/* ── rows of a strip ── */

/* Numbers that are not of the strip: what a kernel reads beyond its last column. */
typedef struct padding {
    double x[DPA__MODELS][DPA__COLUMNS];
    uint8_t member[DPA__MODELS][DPA__COLUMNS];
} padding;

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

static dpa__models models_at(const dpa__strip *s, size_t i, uint8_t (*buffer)[DPA__STRIP]) {
    dpa__models out = {0};
    for (size_t k = 0; k < DPA__MODELS; ++k) {
        const size_t next = i + k + DPA__MODELS;
        out.x[k] = signals_of(s, i + k);
        out.next[k] = signals_of(s, next < s->rows ? next : i + k);
        out.member[k] = members_of(s, i + k, buffer[k]);
    }
    return out;
}

/* The last columns, too few for a vector, as rows of their own. */
static dpa__models padded(const dpa__models *given, size_t first, size_t count, padding *pad) {
    dpa__models out = {0};
    memset(pad, 0, sizeof *pad);
    for (size_t k = 0; k < DPA__MODELS; ++k) {
        memcpy(pad->x[k], given->x[k] + first, count * sizeof(double));
        memcpy(pad->member[k], given->member[k] + first, count);
        out.x[k] = out.next[k] = pad->x[k];
        out.member[k] = pad->member[k];
    }
    return out;
}

/* ── sums of signals ── */

static inline double kept(double x, uint64_t mask) {
    return dpa__of_bits(dpa__bits_of(x) & mask);
}

static inline double chosen(uint64_t mask, double yes, double no) {
    return dpa__of_bits((dpa__bits_of(yes) & mask) | (dpa__bits_of(no) & ~mask));
}

DPA_CLONES static void set_origins(const double *x, const uint8_t *member, size_t width,
                                   dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c) {
        const uint64_t in = 0 - (uint64_t)member[c];
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

/* A row that is left over: the same operations in the same order as in a kernel. */
DPA_CLONES static void add_signals(const double *x, const uint8_t *member, size_t width,
                                   dpa__moments *restrict m) {
    for (size_t c = 0; c < width; ++c) {
        const uint64_t in = 0 - (uint64_t)member[c];
        const double d = x[c] - chosen(in, m->origin_in[c], m->origin_out[c]);
        m->count_in[c] += member[c];
        m->sum_in[c] += kept(d, in);
        m->square_in[c] += kept(d * d, in);
        m->sum_out[c] += kept(d, ~in);
        m->square_out[c] += kept(d * d, ~in);
    }
}

void dpa__strip_signals(const dpa__strip *strip, dpa__moments *out) {
    const dpa__moments_kernel *kernel = best_kernel();
    const size_t whole = strip->width - strip->width % DPA__COLUMNS;
    uint8_t buffer[DPA__MODELS][DPA__STRIP];
    padding pad;
    size_t i = 0;
    memset(out, 0, sizeof *out);
    if (strip->rows == 0) return;
    find_origins(strip, out);
    for (; i + DPA__MODELS <= strip->rows; i += DPA__MODELS) {
        const dpa__models models = models_at(strip, i, buffer);
        kernel->signals(&models, whole, 0, out);
        if (whole == strip->width) continue;
        const dpa__models last = padded(&models, whole, strip->width - whole, &pad);
        kernel->signals(&last, DPA__COLUMNS, whole, out);
    }
    for (; i < strip->rows; ++i)
        add_signals(signals_of(strip, i), members_of(strip, i, buffer[0]), strip->width, out);
}

/* ── probabilities ── */

void dpa__probabilities(const double *signal, size_t count, int is_loss, double *out) {
    const dpa__moments_kernel *kernel = best_kernel();
    const size_t whole = count - count % DPA__COLUMNS;
    double last[DPA__COLUMNS] = {0}, of_last[DPA__COLUMNS];
    kernel->map(signal, whole, is_loss, out);
    if (whole == count) return;
    memcpy(last, signal + whole, (count - whole) * sizeof *last);
    kernel->map(last, DPA__COLUMNS, is_loss, of_last);
    memcpy(out + whole, of_last, (count - whole) * sizeof *out);
}

/* A row that is left over. x − x is NaN if x is not finite. */
static void add_probabilities(const double *x, const uint8_t *member, int is_loss, size_t width,
                              dpa__moments *m) {
    double p[DPA__STRIP];
    dpa__probabilities(x, width, is_loss, p);
    for (size_t c = 0; c < width; ++c) {
        const double checked = p[c] + (x[c] - x[c]);
        const uint64_t in = 0 - (uint64_t)member[c];
        m->count_in[c] += member[c];
        m->sum_in[c] += kept(checked, in);
        m->sum_out[c] += kept(checked, ~in);
    }
}

/* Not 0: some signal needs `careful`. */
static int sum_probabilities(const dpa__strip *strip, dpa__wanted wanted, dpa__moments *out) {
    const dpa__moments_kernel *kernel = best_kernel();
    const size_t whole = strip->width - strip->width % DPA__COLUMNS;
    uint8_t buffer[DPA__MODELS][DPA__STRIP];
    padding pad;
    int is_beyond = 0;
    size_t i = 0;
    memset(out, 0, sizeof *out);
    for (; i + DPA__MODELS <= strip->rows; i += DPA__MODELS) {
        const dpa__models models = models_at(strip, i, buffer);
        is_beyond |= kernel->probabilities(&models, whole, 0, wanted, out);
        if (whole == strip->width) continue;
        const dpa__models last = padded(&models, whole, strip->width - whole, &pad);
        is_beyond |= kernel->probabilities(&last, DPA__COLUMNS, whole, wanted, out);
    }
    for (; i < strip->rows; ++i)
        add_probabilities(signals_of(strip, i), members_of(strip, i, buffer[0]), wanted.is_loss,
                          strip->width, out);
    return is_beyond;
}

void dpa__strip_probabilities(const dpa__strip *strip, int is_loss, dpa__sides sides,
                              dpa__moments *out) {
    if (strip->member == NULL) sides = DPA__SIDES_NONE;
    if (sum_probabilities(strip, (dpa__wanted){is_loss, sides, 0}, out))
        (void)sum_probabilities(strip, (dpa__wanted){is_loss, sides, 1}, out);
}
