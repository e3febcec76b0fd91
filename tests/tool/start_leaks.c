/* In builds with sanitizers nobody looks for what a start of MPI leaves allocated. Its library asks libc for some of
 * it. Only a slow unwinder, at every allocation, would tell that from ours. */
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
    int rc;

    __lsan_disable();
    rc = PMPI_Init_thread(argc, argv, wanted, provided);
    __lsan_enable();
    return rc;
}
