/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shared library exports: everything marked DPA_API, nothing else (scripts/check-symbols).
 */
#ifndef DPAUDIT_EXPORT_H
#define DPAUDIT_EXPORT_H

#if defined(__GNUC__)
#define DPA_API __attribute__((visibility("default")))
#define DPA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define DPA_MUST_USE __attribute__((warn_unused_result))
#else
#define DPA_API
#define DPA_PRINTF(fmt, args)
#define DPA_MUST_USE
#endif

#endif
