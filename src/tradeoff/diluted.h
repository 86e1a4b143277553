/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How mixing with the null changes ε: e^ε = 1 + t (e^ε' − 1). */
#ifndef DPA_TRADEOFF_DILUTED_H
#define DPA_TRADEOFF_DILUTED_H

double dpa__dilute_epsilon(double epsilon, double t);   /* log(1 + t (e^ε − 1)) */
double dpa__undilute_epsilon(double epsilon, double t); /* log(1 + (e^ε − 1)/t) */

#endif
