/* See bare.h. */
#include "io/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/text.h"

/* 0: all went well. */
static int rows(hid_t dataset, const struct mf_slab *slab, int writes, uint8_t *phase)
{
    hsize_t start[3] = {slab->first, 0, 0}, count[3] = {slab->count, slab->dims[1], slab->dims[2]};
    hid_t file = H5Dget_space(dataset), memory = H5Screate_simple(3, count, NULL);
    int bad = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) < 0;

    if (!bad && writes) bad = H5Dwrite(dataset, H5T_NATIVE_UINT8, memory, file, H5P_DEFAULT, phase) < 0;
    if (!bad && !writes) bad = H5Dread(dataset, H5T_NATIVE_UINT8, memory, file, H5P_DEFAULT, phase) < 0;
    H5Sclose(memory);
    H5Sclose(file);
    return bad;
}

/* Inside mf_comm_enter(): HDF5 copies the communicator. */
static hid_t access_of(const struct mf_comm *comm)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    if (comm->size > 1) H5Pset_fapl_mpio(access, *(MPI_Comm *)mf_comm_native(comm), MPI_INFO_NULL);
    return access;
}

static int flush(const char *name, int flags)
{
    int file = mf_open(name, flags), bad = file < 0 || mf_flush(file) != 0;

    if (file >= 0) close(file);
    return bad;
}

/* Rank 0: all of it to the disk, and then to its name. */
static int settle(const char *temporary, const char *path)
{
    char *copy = strdup(path);
    int bad = !copy || flush(temporary, O_WRONLY) || rename(temporary, path) != 0 ||
              flush(dirname(copy), O_RDONLY | O_DIRECTORY);

    free(copy);
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno)) : MF_OK;
}

static int write_h5(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, const uint8_t *phase)
{
    hsize_t dims[3] = {slab->dims[0], slab->dims[1], slab->dims[2]};
    hid_t access, file, space, dataset = -1;
    int bad;

    mf_comm_enter(comm, "bare writing", 0);
    access = access_of(comm);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (file >= 0) {
        space = H5Screate_simple(3, dims, NULL);
        dataset = H5Dcreate2(file, "phase", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Sclose(space);
    }
    bad = dataset < 0 || rows(dataset, slab, 1, (uint8_t *)(uintptr_t)phase);
    if (dataset >= 0) bad = H5Dclose(dataset) < 0 || bad;
    if (file >= 0) bad = H5Fclose(file) < 0 || bad;
    mf_comm_leave(comm);
    return mf_agree(comm, bad ? mf_fail(MF_OUTPUT, "HDF5 cannot write '%s'", path) : MF_OK);
}

int mf_bare_h5_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int durable,
                     const uint8_t *phase)
{
    char *temporary = mf_format("%s.tmp", path);
    int rc = write_h5(comm, durable ? temporary : path, slab, phase);

    if (rc == MF_OK && durable) rc = mf_agree(comm, comm->rank == 0 ? settle(temporary, path) : MF_OK);
    free(temporary);
    return rc;
}

int mf_bare_h5_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase)
{
    hid_t access, file, dataset = -1;
    int bad;

    mf_comm_enter(comm, "bare reading", 0);
    access = access_of(comm);
    file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file >= 0) dataset = H5Dopen2(file, "phase", H5P_DEFAULT);
    bad = dataset < 0 || rows(dataset, slab, 0, phase);
    if (dataset >= 0) H5Dclose(dataset);
    if (file >= 0) H5Fclose(file);
    mf_comm_leave(comm);
    return mf_agree(comm, bad ? mf_fail(MF_INPUT, "HDF5 cannot read '%s'", path) : MF_OK);
}

static size_t offset_of(const struct mf_slab *slab) { return slab->first * slab->dims[1] * slab->dims[2]; }

static int write_own(const char *path, const struct mf_slab *slab, const uint8_t *phase)
{
    int file = mf_open(path, O_WRONLY | O_CREAT), rc;

    if (file < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    rc = mf_write_at(file, path, phase, mf_slab_voxels(slab), offset_of(slab));
    if (rc == MF_OK && slab->first && mf_flush(file) != 0) /* rank 0's comes in settle() */
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    close(file);
    return rc;
}

int mf_bare_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, const uint8_t *phase)
{
    char *temporary = mf_format("%s.tmp", path);
    int rc = mf_agree(comm, write_own(temporary, slab, phase));

    if (rc == MF_OK) rc = mf_agree(comm, comm->rank == 0 ? settle(temporary, path) : MF_OK);
    free(temporary);
    return rc;
}

static int read_own(const char *path, const struct mf_slab *slab, uint8_t *phase)
{
    int file = mf_open(path, O_RDONLY), rc;

    if (file < 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    rc = mf_read_at(file, path, phase, mf_slab_voxels(slab), offset_of(slab));
    close(file);
    return rc;
}

int mf_bare_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase)
{
    return mf_agree(comm, read_own(path, slab, phase));
}
