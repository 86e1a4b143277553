/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the n-th allocation fail, for every n. Programs in tests/fault are linked with malloc,
 * calloc and realloc wrapped; include this once per program.
 *
 *     FAULT_EVERY(status, dpa_x_new(&x, &err), dpa_x_free(x));
 *
 * repeats the call with its first, second, … allocation failing, until it succeeds. Each failure
 * must be DPA_NO_MEMORY and leave as much memory in use as before; after the success the clean-up
 * runs once. Allocations inside other libraries count if they go through functions of ours (zlib,
 * liblzma) or of the test (json_set_alloc_funcs); libzip's do not. */
#ifndef DPA_TESTS_FAULT_ALLOC_H
#define DPA_TESTS_FAULT_ALLOC_H

#include <malloc.h>
#include <stddef.h>

static long fault_left = -1; /* allocations before the one that fails; negative: none fails */
static long fault_hits;      /* number of failures injected */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

static inline int fault_now(void) {
    if (fault_left < 0 || fault_left-- > 0) return 0;
    ++fault_hits;
    return 1;
}

void *__wrap_malloc(size_t size) {
    return fault_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fault_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
    return fault_now() ? NULL : __real_realloc(block, size);
}

/* Bytes in use. malloc counts blocks that it caches (up to seven of each size) as used, so one call
 * may leave more in use than before without a leak; a leak grows every time. Under AddressSanitizer
 * this is always 0, and its leak check does the work. */
static inline size_t fault_in_use(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

enum { FAULT_MOST = 100000, FAULT_TRIES = 40 };

#define FAULT_EVERY(status, call, clean_up) FAULT_EVERY_OR(DPA_NO_MEMORY, status, call, clean_up)

/* The same if another library reports a failed allocation of its own as `other`. */
#define FAULT_EVERY_OR(other, status, call, clean_up)                                              \
    do {                                                                                           \
        long fault_n = 0;                                                                          \
        int fault_tries = 0;                                                                       \
        for (;;) {                                                                                 \
            const size_t fault_before = fault_in_use();                                            \
            fault_hits = 0;                                                                        \
            fault_left = fault_n;                                                                  \
            (status) = (call);                                                                     \
            fault_left = -1;                                                                       \
            if (fault_hits == 0) break;                                                            \
            if ((status) != DPA_NO_MEMORY && (status) != (other))                                  \
                fail_msg("allocation %ld failed, status %d (%s)", fault_n, (int)(status), #call);  \
            if (fault_in_use() > fault_before) {                                                   \
                if (++fault_tries == FAULT_TRIES)                                                  \
                    fail_msg("allocation %ld failed and memory leaks (%s)", fault_n, #call);       \
                continue;                                                                          \
            }                                                                                      \
            fault_tries = 0;                                                                       \
            assert_in_range(++fault_n, 0, FAULT_MOST);                                             \
        }                                                                                          \
        if ((status) != DPA_OK) fail_msg("status %d (%s)", (int)(status), #call);                  \
        assert_true(fault_n > 0); /* a call that allocates nothing would test nothing */           \
        clean_up;                                                                                  \
    } while (0)

#endif
