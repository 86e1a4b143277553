/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plain kernel: the definition of a canary's bits, one pair after the other. Tests compare the
 * vector kernels with it. */
#include "evidence/canary_kernel.h"

#include <Random123/philox.h>
#include <float.h>
#include <math.h>

#include "base/rng.h"
#include "base/simd.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float32 expressions must be rounded to float32");

void dpa__canary_stream_init(dpa__canary_stream *stream, uint64_t seed, uint64_t index) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_CANARY, index);
    stream->index_low = rng.counter[2];
    stream->tag = rng.counter[3];
    for (uint32_t i = 0; i < DPA__PHILOX_ROUNDS; ++i) {
        stream->key0[i] = rng.key[0] + i * UINT32_C(0x9E3779B9);
        stream->key1[i] = rng.key[1] + i * UINT32_C(0xBB67AE85);
    }
}

/* r = √(−2 ln((i + ½)/2³¹)): i + ½ = 2^e·(1+t) with 1+t in [√½, √2). */
static float radius(uint32_t word) {
    static const float c[8] = DPA__LOG_COEFFICIENTS;
    const float x = (float)(int32_t)(word >> 1) + 0.5F;
    const uint32_t shifted = dpa__float_bits_of(x) + (uint32_t)DPA__SHIFT_BITS;
    const float e = (float)((int32_t)shifted & DPA__EXPONENT_MASK); /* (exponent − 31)·2²³, exact */
    const float t = dpa__of_float_bits((shifted & DPA__MANTISSA_MASK) + DPA__SQRT_HALF_BITS) - 1.0F;
    const float t2 = t * t;
    const float low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2;
    const float high = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2;
    const float series = low + high * (t2 * t2);
    return sqrtf(e * DPA__EXPONENT_SCALE + series * t);
}

static void normal_pair(uint32_t word, uint32_t angle, float *cosine, float *sine) {
    static const float s[4] = DPA__SIN_COEFFICIENTS, c[4] = DPA__COS_COEFFICIENTS;
    const float r = radius(word);
    const float x = (float)(int32_t)angle * 0x1p-31F, z = x * x, z2 = z * z;
    const float half_sine = ((s[0] + s[1] * z) + (s[2] + s[3] * z) * z2) * x; /* √2 sin h */
    const float half_cosine = (c[0] + c[1] * z) + (c[2] + c[3] * z) * z2;     /* √2 cos h */
    const float across = r * (1.0F - half_sine * half_sine);
    *cosine = dpa__of_float_bits(dpa__float_bits_of(across) ^ word << 31);
    *sine = r * (half_sine * half_cosine);
}

static void normals(const dpa__canary_stream *stream, uint64_t group, size_t groups, float *out) {
    const philox4x32_key_t key = {{stream->key0[0], stream->key1[0]}};
    for (size_t g = 0; g < groups; ++g, out += DPA__GROUP) {
        for (unsigned j = 0; j < DPA__GROUP_BLOCKS; ++j) {
            const uint64_t block = (group + g) * DPA__GROUP_BLOCKS + j;
            const philox4x32_ctr_t counter = {
                {(uint32_t)block, (uint32_t)(block >> 32), stream->index_low, stream->tag}};
            const philox4x32_ctr_t word = philox4x32(counter, key);
            normal_pair(word.v[0], word.v[1], &out[2 * j], &out[2 * j + 16]);
            normal_pair(word.v[2], word.v[3], &out[2 * j + 1], &out[2 * j + 17]);
        }
    }
}

void dpa__lanes_add_group(dpa__lanes *lanes, const float *z, const double *model, size_t count) {
    static const unsigned first[4] = {0, 16, 8, 24};
    for (unsigned part = 0; part < 4; ++part) {
        for (unsigned j = 0; j < DPA__LANES; ++j) {
            const size_t at = first[part] + j;
            if (at >= count) continue;
            const double x = (double)z[at];
            lanes->dot[j] += x * model[at];
            lanes->square[j] += x * x;
        }
    }
}

double dpa__lanes_fold(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static void sums(const dpa__canary_stream *stream, uint64_t group, size_t groups,
                 const double *model, dpa__lanes *lanes) {
    float z[DPA__GROUP];
    for (size_t g = 0; g < groups; ++g, model += DPA__GROUP) {
        normals(stream, group + g, 1, z);
        dpa__lanes_add_group(lanes, z, model, DPA__GROUP);
    }
}

static void dots(const float *z, size_t groups, const double *model, size_t stride, double *lane) {
    static const unsigned first[4] = {0, 16, 8, 24};
    for (unsigned m = 0; m < DPA__DOTS; ++m)
        for (size_t g = 0; g < groups; ++g)
            for (unsigned part = 0; part < 4; ++part)
                for (unsigned j = 0; j < DPA__LANES; ++j) {
                    const size_t at = g * DPA__GROUP + first[part] + j;
                    lane[m * DPA__LANES + j] += (double)z[at] * model[m * stride + at];
                }
}

static int always(void) {
    return 1;
}

const dpa__canary_kernel dpa__canary_portable = {"portable", always, normals, sums, dots};

const dpa__canary_kernel *dpa__canary_kernel_at(size_t i) {
    static const dpa__canary_kernel *const all[] = {
#if defined(__x86_64__)
        &dpa__canary_avx512,
        &dpa__canary_avx2,
#endif
        &dpa__canary_portable
    };
    return i < sizeof all / sizeof all[0] ? all[i] : NULL;
}

const dpa__canary_kernel *dpa__canary_kernel_find(const char *name) {
    for (size_t i = 0; dpa__canary_kernel_at(i) != NULL; ++i) {
        const dpa__canary_kernel *kernel = dpa__canary_kernel_at(i);
        if ((name == NULL || strcmp(name, kernel->name) == 0) && kernel->supported()) return kernel;
    }
    return NULL;
}
