/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decimal text to the nearest double. With w the digits as an integer and e the decimal exponent,
 * the value is w·10^e. Up to 19 digits and |e| ≤ 19 it is computed in integers with a sticky bit,
 * so the one rounding is the right one; w < 2^53 with |e| ≤ 22 needs one exact floating-point
 * operation (Clinger 1990). The rest goes to strtod in the C locale, which glibc rounds
 * correctly. */
#include "base/number.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"

enum { LONGEST = 1000, MANY_DIGITS = 19 };

__extension__ typedef unsigned __int128 u128;

/* All of them are exact. */
static const double ten_to[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* w·10^e for w > 0 and 0 ≤ e ≤ 19. */
static double scale_up(uint64_t w, int e) {
    const u128 product = (u128)w * (uint64_t)ten_to[e];
    const uint64_t high = (uint64_t)(product >> 64);
    if (high == 0) return (double)(uint64_t)product;
    const int shift = __builtin_clzll(high);
    const u128 normal = product << shift;
    const uint64_t top = (uint64_t)(normal >> 64), sticky = (uint64_t)normal != 0;
    return ldexp((double)(top | sticky), 64 - shift);
}

/* w/10^e for w > 0 and 0 ≤ e ≤ 19. Both numbers are shifted until their top bit is set, and the
 * dividend by 63 bits more. The quotient then has 63 or 64 bits, ten more than a double keeps, and
 * the remainder gives the sticky bit. */
static double scale_down(uint64_t w, int e) {
    const uint64_t power = (uint64_t)ten_to[e];
    const int w_shift = __builtin_clzll(w), d_shift = __builtin_clzll(power);
    const u128 n = (u128)(w << w_shift) << 63;
    const uint64_t d = power << d_shift;
    const uint64_t quotient = (uint64_t)(n / d), sticky = n != (u128)quotient * d;
    return ldexp((double)(quotient | sticky), d_shift - w_shift - 63);
}

/* At most LONGEST characters. */
static dpa__number slow(const char *start, size_t length, double *out) {
    char copy[LONGEST + 1];
    memcpy(copy, start, length);
    copy[length] = '\0';
    const dpa__plain plain = dpa__plain_begin();
    *out = strtod(copy, NULL);
    dpa__plain_end(plain);
    return isinf(*out) ? DPA__NUMBER_LARGE : DPA__NUMBER_OK;
}

static int word(const char **at, const char *end, const char *what) {
    const size_t length = strlen(what);
    if ((size_t)(end - *at) < length) return 0;
    for (size_t i = 0; i < length; ++i)
        if (((*at)[i] | 0x20) != what[i]) return 0;
    *at += length;
    return 1;
}

static dpa__number not_finite(const char **at, const char *end, int negative, double *out) {
    if (word(at, end, "infinity") || word(at, end, "inf"))
        *out = negative ? -HUGE_VAL : HUGE_VAL;
    else if (word(at, end, "nan"))
        *out = (double)NAN;
    else
        return DPA__NUMBER_NONE;
    return DPA__NUMBER_OK;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads the digits at *at into *w. Beyond 19 digits w wraps around; callers do not use it then. */
static const char *digits(const char *at, const char *end, uint64_t *w) {
    for (; at < end && is_digit(*at); ++at) *w = *w * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Reads an exponent, if a complete one is there. */
static const char *exponent(const char *at, const char *end, int *e) {
    const char *p = at;
    if (p == end || (*p | 0x20) != 'e') return at;
    ++p;
    const int negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p == end || !is_digit(*p)) return at;
    int value = 0;
    for (; p < end && is_digit(*p); ++p)
        if (value < 100000) value = value * 10 + (*p - '0');
    *e += negative ? -value : value;
    return p;
}

/* The number of leading zeros among the digits of a number. */
static ptrdiff_t leading_zeros(const char *at, const char *end) {
    ptrdiff_t count = 0;
    for (; at < end && (*at == '0' || *at == '.'); ++at) count += *at == '0';
    return count;
}

static int fast(uint64_t w, int e, double *out) {
    if (w < UINT64_C(1) << 53 && e >= -22 && e <= 22)
        *out = e < 0 ? (double)w / ten_to[-e] : (double)w * ten_to[e];
    else if (w > 0 && e >= -19 && e <= 19)
        *out = e < 0 ? scale_down(w, -e) : scale_up(w, e);
    else
        return 0;
    return 1;
}

dpa__number dpa__number_parse(const char **at, const char *end, double *out) {
    const char *p = *at;
    const int negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char *const whole = p;
    uint64_t w = 0;
    int e = 0;
    p = digits(p, end, &w);
    ptrdiff_t count = p - whole;
    if (p < end && *p == '.') {
        const char *const fraction = p + 1;
        p = digits(fraction, end, &w);
        const ptrdiff_t places = p - fraction;
        if (count + places == 0) return DPA__NUMBER_NONE;
        count += places;
        e = places <= LONGEST ? -(int)places : 0; /* more are refused below */
    }
    if (count == 0) {
        p = whole;
        const dpa__number result = not_finite(&p, end, negative, out);
        if (result == DPA__NUMBER_OK) *at = p;
        return result;
    }
    if (count > MANY_DIGITS) count -= leading_zeros(whole, p);
    p = exponent(p, end, &e);
    if (p - whole > LONGEST) return DPA__NUMBER_LONG;
    if (count > MANY_DIGITS || !fast(w, e, out)) {
        const dpa__number result = slow(whole, (size_t)(p - whole), out);
        if (result != DPA__NUMBER_OK) return result;
    }
    if (negative) *out = -*out;
    *at = p;
    return DPA__NUMBER_OK;
}

int dpa__number_whole(const char *text, double *out) {
    const char *const end = text + strlen(text);
    return dpa__number_parse(&text, end, out) == DPA__NUMBER_OK && text == end && !isnan(*out);
}

double dpa__half_to_double(uint16_t half) {
    const int exponent_bits = half >> 10 & 31, fraction = half & 1023;
    const double sign = half >> 15 ? -1.0 : 1.0;
    if (exponent_bits == 31) return fraction ? (double)NAN : sign * HUGE_VAL;
    if (exponent_bits == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent_bits - 25);
}

const char *dpa__excerpt(char out[DPA__EXCERPT_SIZE], const char *at, const char *end) {
    size_t n = 0;
    for (; at < end && *at != '\n' && *at != '\r' && n < DPA__EXCERPT_SIZE - 4; ++at)
        out[n++] = *at >= 0x20 && *at < 0x7f ? *at : '?';
    if (at < end && *at != '\n' && *at != '\r') {
        memcpy(out + n, "...", 3);
        n += 3;
    }
    out[n] = '\0';
    return out;
}
