/* See memory.h. The address sanitizer closes ends to the byte. Without it a closed page follows at most 255 bytes
 * behind the end; these are looked at when the memory is given back. */
#include "tests/emu/memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace
{
constexpr size_t UNIT = 256;
}

#if defined(__SANITIZE_ADDRESS__)
void *mf_emu_take(size_t bytes)
{
    void *memory = nullptr;

    if (posix_memalign(&memory, UNIT, bytes ? bytes : 1) != 0) return nullptr;
    memset(memory, 0xff, bytes);
    return memory;
}

void mf_emu_give(void *memory, size_t) { free(memory); }
#else
namespace
{
constexpr size_t PAGE = 65536;

size_t upto(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace

void *mf_emu_take(size_t bytes)
{
    const size_t open = upto(bytes, UNIT), pages = upto(open, PAGE);
    void *all = mmap(nullptr, pages + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (all == MAP_FAILED) return nullptr;
    if (pages && mprotect(all, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
    char *memory = static_cast<char *>(all) + pages - open;
    memset(memory, 0xff, open);
    return memory;
}

void mf_emu_give(void *memory, size_t bytes)
{
    const size_t open = upto(bytes, UNIT), pages = upto(open, PAGE);
    const auto *at = static_cast<const unsigned char *>(memory);

    for (size_t i = bytes; i < open; ++i)
        if (at[i] != 0xff) {
            fprintf(stderr, "emulator: an array of %zu bytes was written at %zu\n", bytes, i);
            abort();
        }
    munmap(static_cast<char *>(memory) + open - pages, pages + PAGE);
}
#endif
