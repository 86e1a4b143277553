/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small picture in a terminal: dots on a grid of Braille characters (2 × 4 dots each), or of
 * plain characters without Unicode. Coordinates are in data units; points outside are not drawn. */
#ifndef DPA_REPORT_CANVAS_H
#define DPA_REPORT_CANVAS_H

#include "base/text.h"

enum { DPA__CANVAS_COLUMNS = 60, DPA__CANVAS_ROWS = 15 };

typedef struct dpa__canvas {
    double left, right, bottom, top; /* range of the data */
    unsigned char dots[DPA__CANVAS_ROWS][DPA__CANVAS_COLUMNS];
    int unicode;
} dpa__canvas;

void dpa__canvas_init(dpa__canvas *canvas, double left, double right, double bottom, double top,
                      int unicode);
void dpa__canvas_line(dpa__canvas *canvas, double x0, double y0, double x1, double y1);
/* A line with only every fourth dot drawn. */
void dpa__canvas_dotted(dpa__canvas *canvas, double x0, double y0, double x1, double y1);
/* The picture with its axes; each line is indented by two blanks. */
void dpa__canvas_print(const dpa__canvas *canvas, dpa__text *out, const char *x_title,
                       const char *y_title);

#endif
