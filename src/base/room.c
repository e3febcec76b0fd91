/* See room.h. */
#include "src/base/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(size_t bytes, const char *what, va_list args)
{
    char said[MF_ERR_TEXT / 2];

    vsnprintf(said, sizeof said, what, args);
    (void)mf_fail(MF_MEMORY, "no memory for %s (%zu bytes); try: a smaller input, or a machine with more memory", said,
                  bytes);
}

/* The bytes; SIZE_MAX, which no system has, also stands for more. */
static size_t bytes_of(size_t number, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(number, size, &bytes) ? (size_t)-1 : bytes;
}

int mf_room_none(size_t bytes, const char *what, ...)
{
    va_list args;

    va_start(args, what);
    refuse(bytes, what, args);
    va_end(args);
    return MF_MEMORY;
}

void *mf_room(size_t number, size_t size, const char *what, ...)
{
    void *memory = mf_fault("room") ? NULL : calloc(number ? number : 1, size ? size : 1);
    va_list args;

    if (memory) return memory;
    va_start(args, what);
    refuse(bytes_of(number, size), what, args);
    va_end(args);
    return NULL;
}

int mf_room_more(void *at, size_t number, size_t size, const char *what, ...)
{
    const size_t bytes = bytes_of(number, size);
    void *memory;
    va_list args;

    memcpy(&memory, at, sizeof memory);
    memory = mf_fault("room") ? NULL : realloc(memory, bytes ? bytes : 1);
    if (memory) {
        memcpy(at, &memory, sizeof memory);
        return MF_OK;
    }
    va_start(args, what);
    refuse(bytes, what, args);
    va_end(args);
    return MF_MEMORY;
}
