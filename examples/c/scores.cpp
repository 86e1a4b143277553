// SPDX-License-Identifier: GPL-3.0-or-later
// The same library from C++: scores from memory, every row of the report.
//   c++ -std=c++17 scores.cpp -o scores $(pkg-config --cflags --libs dpaudit)
#include <cstdio>
#include <dpaudit/dpaudit.h>
#include <dpaudit/lab.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

static void check(dpa_status status, const dpa_error &err) {
    if (status != DPA_OK) throw std::runtime_error(err.text);
}

int main() try {
    std::mt19937_64 random(1);
    std::normal_distribution<double> with(1.0, 1.0), without(0.0, 1.0);
    std::vector<double> members(500), others(500);
    for (double &x : members) x = with(random);
    for (double &x : others) x = without(random);

    dpa_error err = {};
    dpa_evidence *raw = nullptr;
    check(dpa_evidence_new(DPA_EVIDENCE_SCORES, &raw, &err), err);
    const std::unique_ptr<dpa_evidence, decltype(&dpa_evidence_free)> evidence(raw, dpa_evidence_free);
    check(dpa_evidence_copy(raw, "members", members.data(), members.size(), &err), err);
    check(dpa_evidence_copy(raw, "nonmembers", others.data(), others.size(), &err), err);

    dpa_report *made = nullptr;
    check(dpa_judge(raw, nullptr, nullptr, &made, &err), err);
    const std::unique_ptr<dpa_report, decltype(&dpa_report_free)> report(made, dpa_report_free);
    for (size_t i = 0; i < dpa_report_count(made); ++i) {
        const dpa_result *row = dpa_report_result(made, i);
        std::printf("%-10s %-24s epsilon at least %.4f\n", dpa_result_text(row, "method"), dpa_result_text(row, "family"), dpa_result_number(row, "epsilon_lower"));
    }
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "scores: %s\n", e.what());
    return 4;
}
