/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shared libraries export to programs: everything marked DPA_API (scripts/check-symbols).
 * DPA_C_BEGIN and DPA_C_END let C++ programs include the headers as they are. */
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

#ifdef __cplusplus
#define DPA_C_BEGIN extern "C" {
#define DPA_C_END }
#else
#define DPA_C_BEGIN
#define DPA_C_END
#endif

#endif
