/* Forget one SIMD level, so that simd.h can define the next. */
#undef NM_TARGET
#undef NM_LEVEL
#undef HITS
#undef HITS_NONE
#undef HITS_OR
#undef HITS_ANY
#undef G
#undef V
#undef VWIDEN
#undef VFMA
#undef VMIN
#undef VGE
#undef VMASK
#undef NM_OR
