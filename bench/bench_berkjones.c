/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Berk–Jones level: times the exact recursion and the table. `bench_berkjones table` writes
 * src/estimate/rates/berkjones_table.c (about two minutes). */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "estimate/rates/berkjones.h"

static int print_table(void) {
    (void)printf(
        "/* SPDX-License-Identifier: GPL-3.0-or-later */\n"
        "/* Made by `bench_berkjones table`; do not edit. */\n"
        "#include \"estimate/berkjones.h\"\n\n"
        "const float dpa__berkjones_table[DPA__BERKJONES_ROWS][DPA__BERKJONES_COLUMNS] = {\n");
    for (size_t row = 0; row < DPA__BERKJONES_ROWS; ++row) {
        (void)printf("    {");
        for (size_t column = 0; column < DPA__BERKJONES_COLUMNS; ++column) {
            double crossing;
            const double gamma = exp(dpa__berkjones_column_log_gamma(column));
            if (dpa__berkjones_crossing(dpa__berkjones_row_n(row), gamma, &crossing, NULL) !=
                DPA_OK)
                return 1;
            (void)printf("%s%.8gF", column > 0 ? ", " : "", -log1p(-crossing));
        }
        (void)printf("},\n");
        (void)fflush(stdout);
    }
    (void)printf("};\n");
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "table") == 0) return print_table();
    static const size_t sizes[] = {200, 1000, 4000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        double exact, table, gamma, quick;
        dpa__berkjones_how how;
        char name[80];
        BENCH_BEST(1, exact, (void)dpa__berkjones_exact(sizes[i], 0.05, &gamma, NULL));
        BENCH_BEST(5, table, (void)dpa__berkjones_level(sizes[i], 0.05, &quick, &how, NULL));
        (void)snprintf(name, sizeof name, "level for n = %zu, %s, %.4f of the exact one", sizes[i],
                       dpa__berkjones_how_text(how), quick / gamma);
        bench_row(name, table, "the exact recursion", table / exact);
    }
    return 0;
}
