/* Words of containers that jobs (render.h) and servers (server.h) share. */
#ifndef MF_SLURM_BOX_H
#define MF_SLURM_BOX_H

#include "slurm/words.h"

/** Where a program is: on the host, or in a container image. Apptainer and Pyxis start one container per rank.
 * Docker, Podman and Enroot start one container on one node, and mpirun inside it. */
enum mf_box { MF_BOX_NONE, MF_BOX_APPTAINER, MF_BOX_PYXIS, MF_BOX_DOCKER, MF_BOX_PODMAN, MF_BOX_ENROOT, MF_BOXES };
extern const char *const mf_box_names[MF_BOXES];

/** How a container gets GPUs. Docker has an option. CDI (docker since 25, podman) has files that describe them. NVIDIA
 * has a runtime. In apptainer, which shows all devices, variables of CUDA name them. */
enum mf_gpu_flag { MF_GPUS_BY_OPTION, MF_GPUS_BY_CDI, MF_GPUS_BY_RUNTIME, MF_GPUS_BY_CUDA };
extern const char *const mf_gpu_flag_words[]; /* the option of each */

/** Is it "0,1", a list of numbers or names of GPUs? */
int mf_box_is_gpus(const char *list);

/** Says these GPUs and no others. */
void mf_box_say_gpus(struct mf_words *to, enum mf_gpu_flag flag, const char *list);

/** Says "DIR:DIR:ro" behind the option, and "DIR" as "DIR:DIR". */
void mf_box_say_mount(struct mf_words *to, const char *option, const char *mount);

/** Refuses (MF_USAGE) a value of --@p option that is not DIR, DIR:DIR or DIR:DIR:ro with whole paths. */
int mf_box_check_mount(const char *option, const char *mount);

/** Refuses (MF_USAGE) an image that its runtime would take for an option. */
int mf_box_check_image(const char *option, const char *image);

#endif
