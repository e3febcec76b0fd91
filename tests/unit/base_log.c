/* The remaining time follows from the work of this start: a continued run has done the rest in no time. Where steps are
 * unlike it follows from the work, with what comes behind the last of them. */
#include "src/base/log.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static void wait(double seconds)
{
    const double end = mf_now() + seconds;

    while (mf_now() < end) usleep(1000);
}

static void *talk(void *nothing)
{
    for (int i = 0; i < 20; ++i) mf_info("a line");
    return nothing;
}

/* Any thread may say something; lines are whole. */
static int lines_of_two(const char *path)
{
    char line[256];
    int lines = 0;
    pthread_t other;
    FILE *file;

    CHECK(freopen(path, "w", stderr) != NULL && pthread_create(&other, NULL, talk, NULL) == 0);
    (void)talk(NULL);
    (void)pthread_join(other, NULL);
    fflush(stderr);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) lines += strcmp(line, "a line\n") == 0;
    if (file) fclose(file);
    return lines;
}

int main(void)
{
    char path[64], line[256] = "";
    double took, left = -1;
    const int out = dup(STDERR_FILENO);
    int lines;
    FILE *file;

    snprintf(path, sizeof path, "/tmp/mf_log_%ld", (long)getpid());
    mf_log_open(0, 1, MF_INFO);
    CHECK(freopen(path, "w", stderr) != NULL);
    mf_progress("steps", 900, 1000, "the first after a restart");
    wait(1.1);
    mf_progress("steps", 910, 1000, "ten more");
    mf_progress_of("grids", 1, 4, 10, 100, "a coarse one");
    wait(1.1);
    mf_progress_of("grids", 4, 4, 20, 100, "the last");
    fflush(stderr);
    dup2(out, STDERR_FILENO);
    file = fopen(path, "r");
    CHECK(file && fgets(line, sizeof line, file) && strstr(line, "steps 910/1000, "));
    CHECK_SAYS(sscanf(line, "steps 910/1000, %lf s, %lf s left", &took, &left) == 2 && left >= 9, "%s", line);
    left = -1;
    CHECK(file && fgets(line, sizeof line, file));
    CHECK_SAYS(sscanf(line, "grids 4/4, %lf s, %lf s left", &took, &left) == 2 && left >= 8, "%s", line);
    if (file) fclose(file);
    lines = lines_of_two(path);
    dup2(out, STDERR_FILENO);
    CHECK_SAYS(lines == 40, "%d lines", lines);
    unlink(path);
    return failures != 0;
}
