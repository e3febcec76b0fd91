/* See resident.h. The system's high-water mark (VmHWM) is read and reset whenever the mapped memory of other processes
 * changes. So each part of the run is measured with its own. */
#include "src/base/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/guest.h"

static size_t first, most; /* resident at the begin; most since then, less that and what was borrowed */
static ptrdiff_t borrowed;

/* A line "VmHWM:   1234 kB" of /proc/self/status [bytes]; 0: there is none. */
static size_t status(const char *key)
{
    FILE *from = fopen("/proc/self/status", "r");
    char line[256];
    size_t n = strlen(key), kilobytes = 0;

    if (!from) return 0;
    while (fgets(line, sizeof line, from))
        if (strncmp(line, key, n) == 0) {
            kilobytes = strtoul(line + n, NULL, 10);
            break;
        }
    (void)fclose(from);
    return kilobytes * 1024;
}

/* The high-water mark falls to what is resident now. A guest leaves it to its host. */
static void set_back(void)
{
    int file = mf_is_guest() ? -1 : open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    ssize_t written; /* where this is not allowed the mark stays: resident.h says what that means */

    if (file < 0) return;
    written = write(file, "5", 1);
    (void)written;
    close(file);
}

static void look(void)
{
    size_t now = status("VmHWM:"), less = first + (size_t)borrowed;

    if (now > less && now - less > most) most = now - less;
}

void mf_resident_open(void)
{
    set_back();
    first = status("VmRSS:");
    most = 0;
    borrowed = 0;
}

void mf_resident_borrow(ptrdiff_t bytes)
{
    if (!first) return;
    look(); /* with what was borrowed until now */
    borrowed += bytes;
    if (bytes < 0) set_back();
}

size_t mf_resident_peak(void)
{
    if (first) look();
    return most;
}
