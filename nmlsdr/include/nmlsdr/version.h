/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version of nmlsdr that the headers belong to, which is that of nmlsdr/_version.py: NMLSDR_VERSION as text, and
 * NMLSDR_VERSION_NUMBER for #if. */
#ifndef NMLSDR_VERSION_H
#define NMLSDR_VERSION_H

#define NMLSDR_VERSION "0.1.0"
#define NMLSDR_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */

#endif
