/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress on standard error for work of more than two seconds: one line that is rewritten on a
 * terminal, a line every ten seconds elsewhere. Ctrl-C (and SIGTERM) asks the library to stop.
 * Commands without a progress count show a clock on the terminal. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

static volatile sig_atomic_t interrupted;

static struct {
    double start, last;
    char what[64];      /* the current part of the work, which has a rate of its own: … */
    double since, from; /* … when it began, and how much was done then (much in a resumed run) */
    double done;        /* value at the last call */
    int shown, terminal;
} state;

double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_interrupt(int signal_number) {
    interrupted = 1;
    (void)signal_number;
    (void)signal(SIGINT, SIG_DFL); /* a second signal, of either kind, ends the program at once */
    (void)signal(SIGTERM, SIG_DFL);
}

void print_about(FILE *out, double value) {
    if (!(fabs(value) >= 1000.0 && fabs(value) < 1e15)) {
        (void)fprintf(out, "%.3g", value);
        return;
    }
    const double unit = pow(10.0, floor(log10(fabs(value))) - 2.0);
    (void)fprintf(out, "%.0f", rint(value / unit) * unit);
}

void print_duration(FILE *out, double seconds) {
    if (seconds < 120)
        (void)fprintf(out, "%.3g s", seconds);
    else if (seconds < 7200)
        (void)fprintf(out, "%.3g min", seconds / 60);
    else if (seconds < 172800)
        (void)fprintf(out, "%.3g h", seconds / 3600);
    else {
        print_about(out, seconds / 86400);
        (void)fputs(" days", out);
    }
}

/* Prints counts in full. */
static void print_amount(const char *before, double amount) {
    (void)fprintf(stderr, amount == floor(amount) && fabs(amount) < 1e15 ? "%s%.0f" : "%s%.6g",
                  before, amount);
}

static void print_line(const char *what, double done, double total, double time) {
    const double rate = (done - state.from) / (time - state.since);
    (void)fprintf(stderr, "%s%s", state.terminal ? "\r\033[K" : "", what);
    print_amount(": ", done);
    if (total > 0) {
        print_amount(" of ", total);
        (void)fprintf(stderr, " (%.0f%%)", 100 * done / total);
    }
    if (rate > 0 && rate < 1e300) {
        (void)fputs(", ", stderr);
        print_about(stderr, rate);
        (void)fputs("/s", stderr);
        if (total > 0) {
            (void)fputs(", about ", stderr);
            print_duration(stderr, rint((total - done) / rate));
            (void)fputs(" left", stderr);
        }
    }
    if (!state.terminal) (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

static void begin_part(const char *what, double done, double time) {
    (void)snprintf(state.what, sizeof state.what, "%s", what);
    state.since = time;
    state.from = done;
}

static int report_progress(void *user, const char *what, double done, double total) {
    (void)user;
    const double time = now();
    const double pause = state.terminal ? 0.2 : 10.0;
    if (strncmp(what, state.what, sizeof state.what - 1) != 0 || done < state.done)
        begin_part(what, done, time);
    state.done = done;
    if (time - state.start > 2.0 && time - state.last > pause) {
        print_line(what, done, total, time);
        state.last = time;
        state.shown = 1;
    }
    return interrupted != 0;
}

/* ---- the clock: driven by a signal, so that the work needs to know nothing of it ---- */

static volatile sig_atomic_t ticks;
static char clock_text[64]; /* "dpaudit scores: " */

/* Uses only functions that are allowed in a signal handler. */
static void on_tick(int signal_number) {
    (void)signal_number;
    const int saved = errno;
    char line[128], digits[12];
    size_t length = 0, count = 0;
    const char *const parts[] = {"\r\033[K", clock_text, "working for ", NULL};
    for (int seconds = (int)++ticks + 1; seconds > 0; seconds /= 10)
        digits[count++] = (char)('0' + seconds % 10);
    for (size_t p = 0; parts[p] != NULL; ++p)
        for (const char *c = parts[p]; *c != '\0'; ++c) line[length++] = *c;
    while (count > 0) line[length++] = digits[--count];
    line[length++] = ' ';
    line[length++] = 's';
    if (write(STDERR_FILENO, line, length) < 0) ticks = 0;
    errno = saved;
}

static void set_clock(int first, int next) {
    const struct itimerval timer = {.it_value = {.tv_sec = first}, .it_interval = {.tv_sec = next}};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

void clock_start(const char *command_name) {
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    if (!isatty(STDERR_FILENO)) return;
    (void)snprintf(clock_text, sizeof clock_text, "dpaudit %s: ", command_name);
    (void)sigaction(SIGALRM, &action, NULL);
    set_clock(2, 1);
}

void clock_stop(void) {
    set_clock(0, 0);
    if (ticks > 0) (void)fputs("\r\033[K", stderr);
    ticks = 0;
}

dpa_progress progress_start(void) {
    clock_stop();
    state.start = now();
    state.last = 0;
    state.what[0] = '\0';
    state.shown = 0;
    state.terminal = isatty(STDERR_FILENO);
    (void)signal(SIGINT, on_interrupt);
    (void)signal(SIGTERM, on_interrupt); /* batch systems announce the end by SIGTERM */
    return (dpa_progress){report_progress, NULL};
}

void progress_end(void) {
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (state.shown && state.terminal) (void)fputs("\r\033[K", stderr);
    state.shown = 0;
}
