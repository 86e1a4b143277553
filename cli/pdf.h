/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page as PDF, printed by the Chromium that is installed. */
#ifndef DPA_CLI_PDF_H
#define DPA_CLI_PDF_H

/* Prints the page's text into the file. 0, or an exit code after the error was printed. */
int pdf_print(const char *page, const char *path);

#endif
