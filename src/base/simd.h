/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One source, several instruction sets: a function marked DPA_CLONES is compiled for the baseline,
 * for AVX2 and for AVX-512, and the loader picks one. Nothing here is reassociated or contracted
 * (-ffp-contract=off), and sums run over a fixed number of lanes, so that every clone gives the
 * same bytes. Sanitizers instrument the loader's choice before they are ready: one version there.
 */
#ifndef DPA_BASE_SIMD_H
#define DPA_BASE_SIMD_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DPA_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DPA_CLONES
#endif

/* Lanes of a sum. More than 16, because gcc would unroll a shorter loop before it could vectorise
 * it. */
enum { DPA_LANES = 32 };

#endif
