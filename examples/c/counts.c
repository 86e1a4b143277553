/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often an attack was right, as a lower bound on ε. The numbers are given here, not read from a
 * file. cc counts.c -o counts $(pkg-config --cflags --libs dpaudit) */
#include <dpaudit/dpaudit.h>
#include <stdio.h>

int main(void) {
    /* fn, tp, fp, tn: of 100 models with the record 24 were recognised, of 100 without it 4 were
     * taken for one */
    const double counts[] = {76, 24, 4, 96};
    dpa_evidence *evidence = NULL;
    dpa_protocol *protocol = NULL;
    dpa_report *report = NULL;
    dpa_error err = {0};
    dpa_status status = dpa_evidence_new(DPA_EVIDENCE_COUNTS, &evidence, &err);
    if (status == DPA_OK) status = dpa_evidence_copy(evidence, "counts", counts, 4, &err);
    if (status == DPA_OK) status = dpa_protocol_new(&protocol, &err);
    if (status == DPA_OK) status = dpa_protocol_set(protocol, "delta", "1e-5", &err);
    if (status == DPA_OK) status = dpa_judge(evidence, NULL, protocol, &report, &err);
    if (status == DPA_OK) {
        const dpa_result *bound = dpa_report_primary(report);
        (void)printf("epsilon is at least %.4f (%s, %g%% confidence)\n",
                     dpa_result_number(bound, "epsilon_lower"), dpa_result_text(bound, "method"),
                     100 * dpa_result_number(bound, "confidence"));
    } else {
        (void)fprintf(stderr, "counts: %s: %s\n", dpa_status_text(status), err.text);
    }
    dpa_report_free(report);
    dpa_free(protocol);
    dpa_evidence_free(evidence);
    return status == DPA_OK ? 0 : 4;
}
