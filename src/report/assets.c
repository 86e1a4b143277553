/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bundled script of web/, put into the object file by the assembler: a C array of a megabyte
 * would take the compiler many seconds. */
#include "report/assets.h"

#ifdef DPA_WEB_SCRIPT

#include "report_hash.h" /* generated beside the script */

__asm__(".section .rodata\n"
        ".local dpa_web_script_begin\n"
        ".local dpa_web_script_end\n"
        "dpa_web_script_begin:\n"
        ".incbin \"" DPA_WEB_SCRIPT "\"\n"
        "dpa_web_script_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char dpa_web_script_begin[] __attribute__((visibility("hidden")));
extern const char dpa_web_script_end[] __attribute__((visibility("hidden")));

const char *dpa__report_script(size_t *length) {
    *length = (size_t)(dpa_web_script_end - dpa_web_script_begin);
    return dpa_web_script_begin;
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
    return "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; /* of nothing */
}

#endif
