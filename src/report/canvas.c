/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dots in a terminal. A Braille character is U+2800 plus one bit per dot: from the top, bits 0, 1,
 * 2, 6 in the left column and 3, 4, 5, 7 in the right one. */
#include "report/canvas.h"

#include <math.h>
#include <stdio.h>

enum { WIDE = 2 * DPA__CANVAS_COLUMNS, HIGH = 4 * DPA__CANVAS_ROWS, LABEL = 9 };

void dpa__canvas_init(dpa__canvas *canvas, double left, double right, double bottom, double top,
                      int unicode) {
    *canvas = (dpa__canvas){.left = left,
                            .right = right > left ? right : left + 1.0,
                            .bottom = bottom,
                            .top = top > bottom ? top : bottom + 1.0,
                            .unicode = unicode};
}

/* The index of a value among n dots; −1 if it is outside. */
static int place(double value, double low, double high, int n) {
    const double share = (value - low) / (high - low);
    if (!(share >= 0.0 && share <= 1.0)) return -1;
    return (int)(share * (n - 1) + 0.5);
}

static void dot(dpa__canvas *canvas, double x, double y) {
    static const unsigned char bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const int column = place(x, canvas->left, canvas->right, WIDE);
    const int row = HIGH - 1 - place(y, canvas->bottom, canvas->top, HIGH);
    if (column < 0 || row < 0 || row >= HIGH) return;
    unsigned char *cell = &canvas->dots[row / 4][column / 2];
    *cell = (unsigned char)(*cell | bit[row % 4][column % 2]);
}

static void segment(dpa__canvas *canvas, double x0, double y0, double x1, double y1, int step) {
    enum { DOTS = 2 * WIDE };
    for (int i = 0; i <= DOTS; i += step) {
        const double share = (double)i / DOTS;
        dot(canvas, x0 + share * (x1 - x0), y0 + share * (y1 - y0));
    }
}

void dpa__canvas_line(dpa__canvas *canvas, double x0, double y0, double x1, double y1) {
    segment(canvas, x0, y0, x1, y1, 1);
}

void dpa__canvas_dotted(dpa__canvas *canvas, double x0, double y0, double x1, double y1) {
    segment(canvas, x0, y0, x1, y1, 8);
}

static void print_cell(const dpa__canvas *canvas, dpa__text *out, unsigned char cell) {
    if (!canvas->unicode || cell == 0) {
        dpa__text_add(out, cell ? "*" : " ");
        return;
    }
    const char bytes[] = {(char)0xe2, (char)(0xa0 | cell >> 6), (char)(0x80 | (cell & 0x3f)), '\0'};
    dpa__text_add(out, bytes);
}

static void print_label(const dpa__canvas *canvas, dpa__text *out, int row) {
    if (row == 0)
        dpa__text_printf(out, "  %*.4g ", LABEL, canvas->top);
    else if (row == DPA__CANVAS_ROWS - 1)
        dpa__text_printf(out, "  %*.4g ", LABEL, canvas->bottom);
    else
        dpa__text_printf(out, "  %*s ", LABEL, "");
    dpa__text_add(out, canvas->unicode ? "│" : "|");
}

void dpa__canvas_print(const dpa__canvas *canvas, dpa__text *out, const char *x_title,
                       const char *y_title) {
    char right[24];
    dpa__text_printf(out, "  %s\n", y_title);
    for (int row = 0; row < DPA__CANVAS_ROWS; ++row) {
        int last = DPA__CANVAS_COLUMNS;
        while (last > 0 && canvas->dots[row][last - 1] == 0) --last;
        print_label(canvas, out, row);
        for (int column = 0; column < last; ++column)
            print_cell(canvas, out, canvas->dots[row][column]);
        dpa__text_add(out, "\n");
    }
    dpa__text_printf(out, "  %*s %s", LABEL, "", canvas->unicode ? "└" : "+");
    for (int column = 0; column < DPA__CANVAS_COLUMNS; ++column)
        dpa__text_add(out, canvas->unicode ? "─" : "-");
    (void)dpa__print(right, sizeof right, "%.4g", canvas->right);
    dpa__text_printf(out, "\n  %*s  %-10.4g%-*s%s\n", LABEL, "", canvas->left,
                     DPA__CANVAS_COLUMNS - 10 - (int)sizeof "0.0000", x_title, right);
}
