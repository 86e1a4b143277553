/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 (FIPS 180-4, sections 4.1.2, 5 and 6.2). Where the processor has the SHA extensions they
 * are used: a gigabyte of scores is then hashed in less time than it takes to read it. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static uint32_t load_big(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void schedule(uint32_t w[64], const unsigned char *block) {
    for (int t = 0; t < 16; ++t) w[t] = load_big(block + 4 * t);
    for (int t = 16; t < 64; ++t) {
        const uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void compress_plain(uint32_t hash[8], const unsigned char *block) {
    uint32_t w[64], v[8];
    schedule(w, block);
    memcpy(v, hash, sizeof v);
    for (int t = 0; t < 64; ++t) {
        const uint32_t e = v[4], a = v[0];
        const uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & v[5]) ^ (~e & v[6])) + k[t] + w[t];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) hash[i] += v[i];
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

static int have_hardware(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b >> 29 & 1)) return 0; /* SHA */
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 19 & 1) && (c >> 9 & 1);   /* SSE4.1, SSSE3 */
}

/* The instructions keep the state as (a b e f) and (c d g h), and do two rounds at a time; the
 * message schedule runs in a ring of four vectors of four words. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
compress_hardware(uint32_t hash[8], const unsigned char *p, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)hash), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(hash + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
    for (; blocks > 0; --blocks, p += 64) {
        const __m128i abef_in = abef, cdgh_in = cdgh;
        __m128i m[4];
        for (int i = 0; i < 4; ++i)
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const __m128i now = m[i & 3], last = m[(i + 3) & 3];
            const __m128i sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(k + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            /* the words 16 ahead replace those just used */
            const __m128i part = _mm_add_epi32(_mm_sha256msg1_epu32(now, m[(i + 1) & 3]),
                                               _mm_alignr_epi8(last, m[(i + 2) & 3], 4));
            m[i & 3] = _mm_sha256msg2_epu32(part, last);
        }
        abef = _mm_add_epi32(abef, abef_in);
        cdgh = _mm_add_epi32(cdgh, cdgh_in);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)hash, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(hash + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
static int have_hardware(void) {
    return 0;
}

static void compress_hardware(uint32_t hash[8], const unsigned char *p, size_t blocks) {
    for (; blocks > 0; --blocks, p += 64) compress_plain(hash, p);
}
#endif

static void compress(dpa__sha256 *sha, const unsigned char *p, size_t blocks) {
    if (sha->hardware) {
        compress_hardware(sha->hash, p, blocks);
        return;
    }
    for (; blocks > 0; --blocks, p += 64) compress_plain(sha->hash, p);
}

void dpa__sha256_init(dpa__sha256 *sha) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->hash, start, sizeof start);
    sha->length = 0;
    sha->hardware = have_hardware();
}

void dpa__sha256_add(dpa__sha256 *sha, const void *bytes, size_t count) {
    if (count == 0) return; /* bytes may be NULL then */
    const unsigned char *p = bytes;
    const size_t have = (size_t)(sha->length % 64);
    sha->length += count;
    if (have > 0) {
        const size_t take = count < 64 - have ? count : 64 - have;
        memcpy(sha->block + have, p, take);
        if (have + take < 64) return;
        compress(sha, sha->block, 1);
        p += take;
        count -= take;
    }
    compress(sha, p, count / 64);
    if (count % 64 > 0) memcpy(sha->block, p + (count - count % 64), count % 64);
}

void dpa__sha256_hex(dpa__sha256 *sha, char hex[65]) {
    static const char digits[] = "0123456789abcdef";
    static const unsigned char pad[64] = {0x80};
    const uint64_t bits = sha->length * 8;
    unsigned char tail[8];
    for (int i = 0; i < 8; ++i) tail[i] = (unsigned char)(bits >> (56 - 8 * i));
    dpa__sha256_add(sha, pad, 1 + (size_t)((119 - sha->length % 64) % 64));
    dpa__sha256_add(sha, tail, 8);
    for (int i = 0; i < 64; ++i) hex[i] = digits[sha->hash[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}

void dpa__sha256_of(const void *bytes, size_t count, char hex[65]) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    dpa__sha256_add(&sha, bytes, count);
    dpa__sha256_hex(&sha, hex);
}
