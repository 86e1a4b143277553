/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a call ended, and the words for it.
 *
 * Every call that can fail returns a dpa_status and takes a dpa_error that the caller owns (NULL is
 * allowed). The library never prints, exits or aborts on input. On failure nothing is left to free.
 */
#ifndef DPAUDIT_STATUS_H
#define DPAUDIT_STATUS_H

#include "dpaudit/export.h"

DPA_C_BEGIN

/* Status code, exit code of the command (2 usage, 3 bad input, 4 a failure while running) and name.
 */
#define DPA_STATUS_LIST(X)                                                                         \
    X(OK, 0, "ok")                                                                                 \
    X(BAD_ARGUMENT, 2, "bad argument")                                                             \
    X(BAD_INPUT, 3, "bad input")                                                                   \
    X(NO_MEMORY, 4, "out of memory")                                                               \
    X(IO, 4, "input/output failure")                                                               \
    X(NUMERIC, 4, "accuracy not reached")                                                          \
    X(CANCELLED, 4, "stopped on request")                                                          \
    X(TRAINER, 4, "the trainer failed")                                                            \
    X(INTERNAL, 4, "internal error")

typedef enum dpa_status {
#define DPA_STATUS_ENUM(name, exit_code, text) DPA_##name,
    DPA_STATUS_LIST(DPA_STATUS_ENUM)
#undef DPA_STATUS_ENUM
} dpa_status;

enum { DPA_PLACE_SIZE = 512, DPA_TEXT_SIZE = 512 };
enum { DPA_SHA256_SIZE = 65 }; /* a hash as lower-case hex, and the final zero */

typedef struct dpa_error {
    dpa_status status;
    char place[DPA_PLACE_SIZE]; /* "scores.csv:12:3", "model.npy: offset 128", or empty */
    char text[DPA_TEXT_SIZE];   /* what was found and what would be right; one line */
} dpa_error;

/* Returns the name of a status ("bad input"), a constant string; "unknown status" for any other
 * number. */
DPA_API const char *dpa_status_text(dpa_status status);
/* Returns the exit code of the command for this status; 4 for a number that is none. */
DPA_API int dpa_status_exit_code(dpa_status status);

/* Progress of a long call. `call` gets how much of `total` is done (total 0: not known yet); if it
 * returns non-zero, the call stops with DPA_CANCELLED. It may be called from any thread, but never
 * by two threads at once. */
typedef struct dpa_progress {
    int (*call)(void *user, const char *what, double done, double total);
    void *user;
} dpa_progress;

/* Returns the library's version, "0.1.0"; a constant string. */
DPA_API const char *dpa_version(void);
/* Frees a string, a claim or a protocol that the library returned; NULL is allowed. */
DPA_API void dpa_free(void *block);

DPA_C_END

#endif
