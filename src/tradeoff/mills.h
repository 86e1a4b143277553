/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Mills ratio R(t) = (1 − Φ(t)) / φ(t): a normal tail without its exponential factor. */
#ifndef DPA_TRADEOFF_MILLS_H
#define DPA_TRADEOFF_MILLS_H

double dpa__mills(double t);     /* R(t); overflows below t = −38 */
double dpa__log_mills(double t); /* any t */
/* −R'(t) = 1 − t R(t), without cancellation. */
double dpa__mills_drop(double t);

#endif
