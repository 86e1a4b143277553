/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times rendering 10⁶ scores (binning them and making the page) relative to reading the same scores
 * from CSV and from NPY. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/rng.h"
#include "base/text.h"
#include "bench.h"
#include "judge/judge.h"
#include "report/model/model.h"

enum { COUNT = 500000, ROUNDS = 5 };

static void check(dpa_status status, const dpa_error *err) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "%s: %s\n", err->place, err->text);
    exit(1);
}

static void write_files(const dpa_scores *scores, const char *csv, const char *members,
                        const char *nonmembers) {
    dpa__text text = {0};
    dpa_error err;
    dpa_array array = {.dtype = DPA_F64, .ndim = 1, .shape = {COUNT}, .count = COUNT};
    dpa__text_add(&text, "score,member\n");
    for (size_t i = 0; i < COUNT; ++i)
        dpa__text_printf(&text, "%.6f,1\n%.6f,0\n", scores->member[i], scores->nonmember[i]);
    check(dpa__file_write(csv, text.data, text.length, &err), &err);
    dpa__text_free(&text);
    array.data = scores->member;
    check(dpa__array_write(members, &array, &err), &err);
    array.data = scores->nonmember;
    check(dpa__array_write(nonmembers, &array, &err), &err);
}

static double time_reading(const char *path, const char *nonmembers) {
    double time;
    dpa_error err;
    dpa_scores again;
    BENCH_BEST(ROUNDS, time, {
        check(dpa__scores_read(path, nonmembers, 1, &again, &err), &err);
        dpa__scores_free(&again);
    });
    return time;
}

static double time_binning(dpa_report *report, const dpa_scores *scores) {
    const dpa__sample samples[] = {{"members", scores->member, COUNT},
                                   {"nonmembers", scores->nonmember, COUNT}};
    double time;
    dpa_error err;
    BENCH_BEST(ROUNDS, time,
               check(dpa__section_histogram(report, "histogram", samples, 2, &err), &err));
    return time;
}

static double time_page(const dpa_report *report, size_t *size) {
    double time;
    dpa_error err;
    char *page = NULL;
    BENCH_BEST(ROUNDS, time, {
        check(dpa_report_html(report, &page, &err), &err);
        *size = strlen(page);
        dpa_free(page);
    });
    return time;
}

int main(void) {
    const char *csv = "/tmp/dpaudit_bench_report.csv", *in = "/tmp/dpaudit_bench_report_in.npy",
               *out = "/tmp/dpaudit_bench_report_out.npy";
    double *member = malloc(COUNT * sizeof *member), *nonmember = malloc(COUNT * sizeof *nonmember);
    dpa_rng rng;
    dpa_error err;
    dpa_evidence evidence;
    dpa_report *report = NULL;
    size_t size = 0;
    if (member == NULL || nonmember == NULL) return 1;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < COUNT; ++i) {
        member[i] = dpa__rng_normal(&rng) + 1.0;
        nonmember[i] = dpa__rng_normal(&rng);
    }
    const dpa_scores scores = {
        .member = member, .nonmember = nonmember, .members = COUNT, .nonmembers = COUNT};
    write_files(&scores, csv, in, out);
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    check(dpa_evidence_copy(&evidence, "members", member, COUNT, &err), &err);
    check(dpa_evidence_copy(&evidence, "nonmembers", nonmember, COUNT, &err), &err);
    check(dpa_judge(&evidence, NULL, NULL, &report, &err), &err);
    dpa__evidence_clear(&evidence);
    const double from_csv = time_reading(csv, NULL), from_npy = time_reading(in, out);
    const double render = time_binning(report, &scores) + time_page(report, &size);
    (void)printf("page of 1e6 scores: %.2f MB\n", 1e-6 * (double)size);
    bench_row("reading 1e6 scores, CSV", from_csv, "reading CSV", 1.0);
    bench_row("reading 1e6 scores, NPY", from_npy, "reading CSV", from_npy / from_csv);
    bench_row("binning them and making the page", render, "reading CSV", render / from_csv);
    bench_row("binning them and making the page", render, "reading NPY", render / from_npy);
    dpa_report_free(report);
    (void)unlink(csv);
    (void)unlink(in);
    (void)unlink(out);
    free(member);
    free(nonmember);
    return 0;
}
