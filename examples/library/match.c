/* Makes a volume with the statistics of an image. Shows how far it is, and stops after some seconds.
 *
 *     cc match.c $(pkg-config --cflags --libs mesoforge) -o match && ./match 10
 */
#include <mesoforge.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 64 };

static unsigned char image[N][N];

/* Blobs: sums of waves that meet. */
static void draw(void)
{
    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) image[y][x] = (x * x + 3 * y * y + x * y) / 37 % 11 < 4;
}

static int complain(void)
{
    const struct mesoforge_error *error = mesoforge_last_error();

    fprintf(stderr, "%s%s%s\n", error->sentence, *error->advice ? "; try: " : "", error->advice);
    return error->code;
}

/* The library calls this between two steps. The answer 0 ends the call. */
static int go_on(void *context, const char *what, double share)
{
    const time_t *end = context;

    fprintf(stderr, "\r%s: %3.0f %%", what, 100 * (share > 0 ? share : 0));
    return time(NULL) < *end;
}

int main(int argc, char **argv)
{
    const struct mesoforge_array array = {.type = "u1", .ndim = 2, .shape = {N, N}, .stride = {N, 1}, .data = image};
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *result;
    struct mesoforge_array made;
    int code;

    draw();
    if (mesoforge_open(&session, "threads=2") != MESOFORGE_OK) return complain();
    if (mesoforge_on_progress(session, go_on, &end) != MESOFORGE_OK) return complain();
    if (mesoforge_field_array(session, "image", &array, &field) != MESOFORGE_OK) return complain();
    code = mesoforge_match(session, field, "size=32,32,32 limit-to=8 seed=3", &result);
    fputc('\n', stderr);
    if (code != MESOFORGE_OK && (code != MESOFORGE_STOPPED || !result)) return complain();
    if (mesoforge_result_array(result, 0, &made))
        printf("%s, [%s], %zu x %zu x %zu%s\n", made.name, made.axes, made.shape[0], made.shape[1], made.shape[2],
               code == MESOFORGE_STOPPED ? ", the best so far" : "");
    mesoforge_result_free(result);
    return mesoforge_close(session);
}
