/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each header over _c/ ends with; see begin.h. */
#ifdef __GNUC__
#ifndef __clang__
#pragma GCC pop_options
#endif
#pragma GCC diagnostic pop
#endif
