/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders with all that is in them. */
#ifndef DPA_BASE_FOLDER_H
#define DPA_BASE_FOLDER_H

/* Removes a folder and what is in it, as far as it can. Links are removed, not followed; other file
 * systems are left alone. */
void dpa__folder_remove(const char *folder);

#endif
