/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bundled script of web/, embedded by the assembler, because compiling a C array of a megabyte
 * would take many seconds. */
#include "report/charts/charts.h"
#include "report/render/html.h"

#define EMBED(name, file)                                                                          \
    __asm__(".section .rodata\n.local " #name "_begin\n.local " #name "_end\n" #name               \
            "_begin:\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n.previous\n");                \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                        \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(dpa_style, DPA_STYLE_SHEET);
EMBED(dpa_charts, DPA_CHARTS);

const char *dpa__report_style(void) {
    return dpa_style_begin;
}

const char *dpa__report_chart_plans(void) {
    return dpa_charts_begin;
}

#ifdef DPA_WEB_SCRIPT

#include "report_hash.h" /* generated beside the script */

EMBED(dpa_script, DPA_WEB_SCRIPT);

const char *dpa__report_script(size_t *length) {
    *length = (size_t)(dpa_script_end - dpa_script_begin);
    return dpa_script_begin;
}

const char *dpa__report_script_hash(void) {
    return DPA_REPORT_SCRIPT_HASH;
}

#else

const char *dpa__report_script(size_t *length) {
    *length = 0;
    return "";
}

const char *dpa__report_script_hash(void) {
    return "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; /* hash of an empty script */
}

#endif
