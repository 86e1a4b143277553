/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A first audit: scores of an attack and a claim in, the verdict out. Five calls: read, claim,
 * judge, headline, free. cc first.c -o first $(pkg-config --cflags --libs dpaudit)
 *   ./first members.npy nonmembers.npy 1.5 */
#include <dpaudit/dpaudit.h>
#include <stdio.h>

int main(int argc, char **argv) {
    dpa_evidence *evidence = NULL;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa_error err = {0};
    char *headline = NULL;
    if (argc != 4) {
        (void)fprintf(stderr, "usage: first MEMBERS NONMEMBERS EPSILON\n");
        return 2;
    }
    dpa_claim_init(&claim);
    int code = 0;
    if (dpa_evidence_scores(argv[1], argv[2], &evidence, &err) == DPA_OK &&
        dpa_claim_set(&claim, "claim-epsilon", argv[3], &err) == DPA_OK &&
        dpa_judge(evidence, &claim, NULL, &report, &err) == DPA_OK &&
        dpa_report_headline(report, &headline, &err) == DPA_OK) {
        (void)printf("%s\n", headline);
        code = dpa_report_state(report) == DPA_REFUTED ? 1 : 0;
    } else {
        (void)fprintf(stderr, "first: %s%s%s\n", err.place, err.place[0] != '\0' ? ": " : "",
                      err.text);
        code = dpa_status_exit_code(err.status);
    }
    dpa_free(headline);
    dpa_report_free(report);
    dpa_evidence_free(evidence);
    return code;
}
