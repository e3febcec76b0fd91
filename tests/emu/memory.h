/* Memory of the emulated device, and of the host for its copies. It holds 0xff, and its end is closed: who goes on
 * beyond it ends there. */
#ifndef MF_TESTS_EMU_MEMORY_H
#define MF_TESTS_EMU_MEMORY_H

#include <cstddef>

/* @p bytes from a multiple of 256, as cudaMalloc() has them. NULL: there are none. */
void *mf_emu_take(size_t bytes);
void mf_emu_give(void *memory, size_t bytes);

#endif
