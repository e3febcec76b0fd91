/* No memory for what grows with the input. Each such place of typical calls refuses in turn, on each rank alone. The
 * call then ends on all ranks with one sentence, and the session goes on. Without the word "all" some are tried. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MESOFORGE_WITH_MPI
#include "src/base/room.h"
#include "tests/unit/lib_host.h"

struct call {
    const char *verb, *inputs, *options;
    int plans; /* where memory is short, a smaller plan is tried, or notes are those of rank 0 */
    int once;  /* for the calls behind it: nothing refuses */
};

#define IMPORT                                                                                          \
    "table=x.csv questions=x.questions.csv scenes=x.scenes.jsonl question-types=x.question_types.json " \
    "vocabulary=x.vocab.txt phases=2 output=again.h5"

static const struct call calls[] = {
    {"characterize", "@image", "limit-to=5", 0, 0},
    {"compare", "@image @image", "limit-to=4", 0, 0},
    {"match", "@image", "size=8,8,8 limit-to=4 max-iter=2", 1, 0},
    {"properties", "@image", "conductivity=1,10", 0, 0},
    {"synth", "", "num-samples=40 size=16,16 compress=1 questions=3 output=set.h5", 0, 0},
    {"info", "set.h5", "", 0, 0},
    {"data info", "set.h5", "", 0, 0},
    {"compare", "set.h5 set.h5", "", 0, 0},
    {"view", "set.h5", "output=set.png", 0, 0},
    {"train classify", "", "data=set.h5 epochs=1 effective-batch=8 arch=mlp results-dir=run", 1, 0},
    {"eval", "run/model.safetensors", "data=set.h5", 0, 0},
    {"info", "run/model.safetensors", "", 0, 0},
    {"infer classify", "run/model.safetensors set.h5 @image", "", 1, 0},
    {"train vqa", "", "data=set.h5 epochs=1 effective-batch=8 results-dir=vqa", 1, 1},
    {"infer answer", "vqa/model.safetensors set.h5", "question='Is the dark phase connected?'", 1, 0},
    {"data export", "set.h5", "output=x.npy", 0, 0},
    {"data import", "x.npy", IMPORT, 0, 0},
};

/* Places that refuse: memory that grows with the input (src/base/room.h), and that of arenas. Some calls do without
 * arrays for which an arena has no memory. */
static const char optional[] = "memory", *const sites[] = {"room", optional};

static int rank, ranks;

/* How many refusals of a call, a place and a rank are tried. */
enum { SOME = 4, ALL = 1 << 20, RANKS = 8 };

static int run(mesoforge_session *session, const struct call *c)
{
    mesoforge_result *result = NULL;
    const int rc = mesoforge_run(session, c->verb, c->inputs, c->options, &result);

    mesoforge_result_free(result);
    return rc;
}

/* How often each rank asks for such memory in this call, which then succeeds. Collective. */
static void count(mesoforge_session *session, const struct call *c, const char *site, long visits[RANKS])
{
    char fault[64];
    long own;

    (void)snprintf(fault, sizeof fault, "%s:visit=0", site);
    mf_fault_set(fault);
    CHECK_SAYS(run(session, c) == MESOFORGE_OK, "%s %s: %s", c->verb, c->options, mesoforge_last_error()->sentence);
    own = mf_fault_visits();
    mf_fault_set(NULL);
    MPI_Allgather(&own, 1, MPI_LONG, visits, 1, MPI_LONG, MPI_COMM_WORLD);
}

/* Visit @p visit of rank @p of refuses, if the call comes so far. One that finds files may take another way.
 * Collective. */
static void refuse(mesoforge_session *session, const struct call *c, const char *site, int of, long visit)
{
    const struct mesoforge_error *error;
    char fault[64];
    int rc, reached;

    (void)snprintf(fault, sizeof fault, "%s:visit=%ld", site, visit);
    mf_fault_set(rank == of ? fault : NULL);
    rc = run(session, c);
    reached = mf_fault_visits() >= visit;
    MPI_Bcast(&reached, 1, MPI_INT, of, MPI_COMM_WORLD);
    error = mesoforge_last_error();
    CHECK_SAYS((rc == MESOFORGE_OK && (!reached || c->plans || strcmp(site, optional) == 0)) ||
                   (rc == MESOFORGE_MEMORY && strstr(error->sentence, "no memory")),
               "%s, %s %ld of rank %d: code %d: %s", c->verb, site, visit, of, rc, error->sentence);
    mf_fault_set(NULL);
}

static void walk(mesoforge_session *session, const struct call *c, const char *site, long most)
{
    long visits[RANKS];

    count(session, c, site, visits);
    for (int of = 0; of < ranks; ++of) {
        const long step = visits[of] / most + 1;

        if (rank == 0 && most == ALL) printf("%s: %ld times %s of rank %d\n", c->verb, visits[of], site, of);
        for (long v = 1 + of % step; v <= visits[of]; v += step) refuse(session, c, site, of, v);
    }
}

/* A folder of the test's own, the same on all ranks. */
static void open_folder(char folder[64])
{
    (void)snprintf(folder, 64, "lib_memory_XXXXXX");
    if (rank == 0) CHECK(mkdtemp(folder));
    MPI_Bcast(folder, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(chdir(folder) == 0);
}

static void close_folder(const char *folder)
{
    char command[128];

    CHECK(chdir("..") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    if (rank == 0) CHECK(system(command) == 0);
}

int main(int argc, char **argv)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    mesoforge_session *session = NULL;
    mesoforge_field *field;
    char folder[64];
    int given;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    open_folder(folder);
    draw();
    CHECK(mesoforge_open_mpi(&session, MPI_COMM_WORLD, "device=cpu threads=1 trust-files") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(session, "image", &plain, &field) == MESOFORGE_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        if (calls[i].once) CHECK(run(session, &calls[i]) == MESOFORGE_OK);
        for (int k = 0; k < 2 && !calls[i].once; ++k) walk(session, &calls[i], sites[k], argc > 1 ? ALL : SOME / ranks);
    }
    CHECK(mesoforge_close(session) == MESOFORGE_OK);
    close_folder(folder);
    MPI_Finalize();
    return failures != 0;
}
