/* verify: are files of ours as they were written? */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/look.h"
#include "io/seal.h"
#include "io/target.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/run/checkpoint.h"

struct verify {
    struct mf_common common;
};

static const struct mf_opt *const tables[] = {mf_common_opts, NULL};

/* A file without checksums, which is no damage if it never had any. Rank 0 checks, and its finding about the seal
 * counts, because another rank may not see the file. Collective. */
static int refuse_plain(const struct mf_comm *comm, const char *path, int sealed, int *plain)
{
    int is_h5;

    *plain = comm->rank == 0 && !sealed && access(path, R_OK) == 0 &&
             (mf_ends_with(path, ".dream3d") || (mf_look_is_h5(path, &is_h5) == MF_OK && !is_h5 &&
                                                 !mf_ends_with(path, ".h5") && !mf_ends_with(path, ".vtkhdf")));
    mf_comm_bcast(comm, 0, plain, sizeof *plain);
    if (!*plain) return MF_INPUT;
    return mf_fail(MF_INPUT, "'%s' has no checksums: only .h5 and .vtkhdf files of mesoforge carry them", path);
}

/* Checksums, then what the file says of itself; what it is called into @p kind. Collective. */
static int check(const struct mf_comm *comm, const char *path, char kind[MF_NAME_TEXT], int *plain)
{
    struct mf_look look;
    int sealed, rc = mf_seal_check(comm, path, &sealed);

    if (rc == MF_INPUT) rc = refuse_plain(comm, path, sealed, plain);
    MF_TRY(rc);
    rc = mf_look(path, &look);
    if (rc == MF_OK) {
        snprintf(kind, MF_NAME_TEXT, "%s", look.schema);
        if (look.version > MF_SCHEMA_VERSION)
            rc = mf_fail(MF_INPUT, "'%s' is sound, but its schema %ld is newer than this version of mesoforge", path,
                         look.version);
        mf_look_free(&look);
    }
    rc = mf_agree(comm, rc);
    if (rc == MF_OK && strcmp(kind, MF_CHECKPOINT_NAME) == 0) {
        struct mf_checkpoint *in = NULL;

        rc = mf_checkpoint_open(comm, path, 1, &in);
        if (rc == MF_OK) mf_checkpoint_free(in);
    }
    return rc;
}

/* The sentence of a file alone is that of the program's end. */
static void say(const struct mf_session *s, const char *path, int rc, const char *kind, int plain, struct mf_json *all,
                int alone)
{
    if (mf_common_of(s)->json) {
        struct mf_json *one = mf_json_object();

        mf_json_text(one, "file", path);
        if (plain)
            mf_json_null(one, "sound");
        else
            mf_json_bool(one, "sound", rc == MF_OK);
        mf_json_text(one, rc == MF_OK ? "kind" : "reason", rc == MF_OK ? kind : mf_err_text());
        mf_json_put(all, NULL, one);
    } else if (s->comm->rank == 0 && rc == MF_OK) {
        printf("%s: sound (%s)\n", path, kind);
    } else if (s->comm->rank == 0 && !alone) {
        printf("%s\n", mf_err_text());
    }
}

static int run(struct mf_session *session, void *options)
{
    const char *const *files;
    size_t count = mf_arguments(session, &files), bad = 0;
    struct mf_json *all = mf_json_array();
    int worst = MF_OK, rc = MF_OK;

    (void)options;
    if (count == 0) rc = mf_fail(MF_USAGE, "no file; try: mesoforge verify FILE");
    for (size_t i = 0; i < count; ++i) {
        char kind[MF_NAME_TEXT] = "";
        int plain = 0, one = check(session->comm, files[i], kind, &plain);

        say(session, files[i], one, kind, plain, all, count == 1);
        bad += one != MF_OK;
        if (one > worst) worst = one;
    }
    if (mf_common_of(session)->json && session->comm->rank == 0 && rc == MF_OK) rc = mf_json_write(all, stdout);
    mf_json_free(all);
    rc = mf_agree(session->comm, rc);
    if (rc != MF_OK || !bad) return rc;
    return count == 1 ? worst : mf_fail(worst, "%zu of %zu files are damaged or cannot be checked", bad, count);
}

const struct mf_cmd mf_cmd_verify = {
    .name = "verify",
    .summary = "check that files are unchanged",
    .synopsis = "FILE ... [--json]",
    .text =
        "Reads every byte of HDF5 files that this program wrote (volumes, descriptors, checkpoints) and compares it "
        "with the checksums at their ends. One line for each file: sound, or what is wrong and from which byte on. The "
        "exit status is 3 if a file is damaged; a file that another program has changed counts as damaged. .npy, PNG "
        "and TIFF files have no checksums: a line says so, with the same status. Several ranks share the reading.\n"
        "\n"
        "  mesoforge verify results/image_reconstructed.h5\n"
        "  mpirun -n 4 mesoforge verify *.ckpt-*.h5\n",
    .tables = tables,
    .size = sizeof(struct verify),
    .positional_max = 10000,
    .run = run,
    .in_library = 1,
};
