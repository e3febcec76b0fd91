/* Tells how containers get the GPUs of this machine: by NVIDIA's container toolkit and the programs that run them. */
#ifndef MF_PLAN_TOOLKIT_H
#define MF_PLAN_TOOLKIT_H

#include <stddef.h>

#include "slurm/box.h"

enum { MF_TOOLKIT_TEXT = 200 };

struct mf_toolkit {
    int hook;                  /* the hook is there, by which --gpus of docker works */
    int is_tegra;              /* a board of NVIDIA, where that hook refuses */
    int is_labelled;           /* SELinux is enforced: containers see neither folders nor GPUs of others' labels */
    char mode[24];             /* of NVIDIA's runtime by its configuration: "auto", "legacy", "cdi", ..; "": none */
    char cdi[MF_TOOLKIT_TEXT]; /* a file that describes NVIDIA's GPUs for CDI; "": none */
};

/** Looks for it. The folder @p root is "", or in tests the parent of etc/ and usr/. Local. */
void mf_toolkit_look(const char *root, struct mf_toolkit *toolkit);

/** Which way to give GPUs to a container works here, and why. Returns 0 where none is set up; then *flag is the usual
 * one of the program. */
int mf_toolkit_flag(const struct mf_toolkit *toolkit, enum mf_box box, enum mf_gpu_flag *flag,
                    char why[MF_TOOLKIT_TEXT]);

/** The program @p name in PATH; 0: it is not there. */
int mf_program_find(const char *name, char *path, size_t room);

#endif
