/* The part of NVTX that kernels/cuda uses: ranges are counted (MF_EMU_REPORT). See cuda_runtime.h. */
#ifndef MF_EMU_NVTX_H
#define MF_EMU_NVTX_H

int nvtxRangePushA(const char *name);
int nvtxRangePop();

#endif
