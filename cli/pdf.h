/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a page as PDF with the installed Chromium. */
#ifndef DPA_CLI_PDF_H
#define DPA_CLI_PDF_H

/* Prints the page's text into the file. Returns 0, or an exit code after printing the error. */
int pdf_print(const char *page, const char *path);

#endif
