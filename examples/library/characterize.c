/* Measures an image by libmesoforge, and prints two numbers of each phase.
 *
 *     cc characterize.c $(pkg-config --cflags --libs mesoforge) -o characterize && ./characterize
 */
#include <mesoforge.h>
#include <stdio.h>
#include <string.h>

enum { N = 128 };

static unsigned char image[N][N];

/* Stripes of two widths. */
static void draw(void)
{
    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) image[y][x] = (x + y / 2) % 16 < 5;
}

static int complain(void)
{
    const struct mesoforge_error *error = mesoforge_last_error();

    fprintf(stderr, "%s%s%s\n", error->sentence, *error->advice ? "; try: " : "", error->advice);
    return error->code;
}

/* Arrays "all/fraction" and "all/variation" are [phase][level]; level 0 is the full resolution. */
static void print(const mesoforge_result *result)
{
    struct mesoforge_array array;

    for (size_t i = 0; mesoforge_result_array(result, i, &array); ++i) {
        const double *values = array.data;

        if (strcmp(array.name, "all/fraction") != 0 && strcmp(array.name, "all/variation") != 0) continue;
        for (size_t phase = 0; phase < array.shape[0]; ++phase)
            printf("phase %zu: %s %g\n", phase,
                   strcmp(array.name, "all/fraction") ? "jumps per pixel" : "volume fraction",
                   values[phase * array.shape[1]]);
    }
}

int main(void)
{
    const struct mesoforge_array array = {.type = "u1", .ndim = 2, .shape = {N, N}, .stride = {N, 1}, .data = image};
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *result;

    draw();
    if (mesoforge_open(&session, "threads=2") != MESOFORGE_OK) return complain();
    if (mesoforge_field_array(session, "image", &array, &field) != MESOFORGE_OK) return complain();
    if (mesoforge_characterize(session, field, "limit-to=16", &result) != MESOFORGE_OK) return complain();
    print(result);
    mesoforge_result_free(result);
    return mesoforge_close(session);
}
