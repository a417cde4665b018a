/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forget one SIMD level, so that simd.h can define the next. */
#undef NM_TARGET
#undef NM_LEVEL
#undef NM_BYTES
#undef G
#undef V
#undef HITS
#undef VWIDEN
#undef VFMA
#undef VMIN
#undef VGE
#undef VMASK
#undef VI
#undef VI_MADD
#undef VI_MADD_FROM
#undef NM_MADD
