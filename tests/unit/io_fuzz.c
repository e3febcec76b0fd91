/* Whatever is done to a file, reading it succeeds or is refused with MF_INPUT (an extent or a count that is believed
 * may be too large for memory: MF_MEMORY); nothing crashes. argv[1]: mutations per file, argv[2..]: the files. */
#include "tests/check.h"

#include <stdint.h>

#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "tests/scratch.h"

enum { LIMIT = 256 << 20, EXTRA = 64 };

static struct mf_comm comm;
static struct mf_arena *arena;
static uint64_t draws;

static uint32_t draw(uint32_t below)
{
    uint32_t r[4];

    mf_random4(20240601, 1, draws++, r);
    return below ? r[0] % below : 0;
}

static unsigned char *load(const char *path, size_t *n)
{
    FILE *from = fopen(path, "rb");
    unsigned char *bytes;

    if (!from || fseek(from, 0, SEEK_END) != 0) exit(1);
    *n = (size_t)ftell(from);
    rewind(from);
    bytes = malloc(*n + EXTRA);
    if (!bytes || fread(bytes, 1, *n, from) != *n) exit(1);
    fclose(from);
    return bytes;
}

/* One to four changes; most of them near the beginning, where headers are. Returns the new length. */
static size_t mutate(unsigned char *b, size_t n)
{
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '(', '\''};
    uint32_t changes = 1 + draw(4);

    while (changes-- && n) {
        uint32_t at = draw(2) ? draw((uint32_t)n) : draw(n < 256 ? (uint32_t)n : 256);

        switch (draw(6)) {
        case 0: b[at] ^= (unsigned char)(1U << draw(8)); break;
        case 1: b[at] = telling[draw(sizeof telling)]; break;
        case 2: memset(b + at, telling[draw(5)], n - at < 4 ? n - at : 4); break;
        case 3: b[at] = (unsigned char)draw(256); break;
        case 4: n = at; break;
        default: memmove(b + at, b + draw((uint32_t)n - at < 8 ? at + 1 : at + 8) % n, 1); break;
        }
    }
    return n;
}

static int read_once(const char *path, uint32_t kind)
{
    static const long labels[] = {0, 1, 2, 127, 255};
    static const struct mf_micro_read how[] = {
        {.grey = 0}, {.threshold = "otsu"}, {.grey = 1}, {.label_count = 5, .labels = labels}};
    struct mf_micro m;
    int rc = mf_micro_read(&comm, arena, path, &how[kind % 4], &m);

    if (rc == MF_OK) mf_micro_free(&m);
    return rc;
}

static void fuzz(const char *path, long count)
{
    size_t n, length;
    unsigned char *good = load(path, &n), *bad = malloc(n + EXTRA);
    long fine = 0, broke = 0;

    for (long i = 0; bad && i < count; ++i) {
        int rc;

        memcpy(bad, good, n);
        length = mutate(bad, n);
        scratch_write(scratch_file("fuzz"), bad, length);
        rc = read_once(scratch_file("fuzz"), (uint32_t)i);
        fine += rc == MF_OK;
        broke += rc != MF_OK && strstr(mf_err_text(), "broke down") != NULL;
        if (rc == MF_OK || rc == MF_INPUT || rc == MF_MEMORY) continue;
        fprintf(stderr, "%s, mutation %ld: code %d: %s\n", path, i, rc, mf_err_text());
        CHECK(0);
    }
    printf("%s: %ld mutations, %ld still readable, %ld broke the decoding library in its child\n", path, count, fine,
           broke);
    CHECK(strstr(path, ".h5") || broke == 0);
    free(bad);
    free(good);
}

int main(int argc, char **argv)
{
    if (argc < 3 || mf_arena_open(&arena, NULL, LIMIT) != MF_OK) return 1;
    mf_comm_self(&comm);
    mf_log_open(0, 1, MF_QUIET);
    scratch_open(&comm);
    for (int i = 2; i < argc; ++i) fuzz(argv[i], atol(argv[1]));
    scratch_close(&comm);
    mf_arena_close(arena);
    return failures != 0;
}
