/* Folders of this machine that a container sees. For the verbs launch and deploy. */
#ifndef MF_CMD_HOST_MOUNT_H
#define MF_CMD_HOST_MOUNT_H

#include "slurm/box.h"

/**
 * Appends "DIR[:DIR[:ro]]", the value of --@p option. A folder below or beside the current one gets its whole path, as
 * every container takes it. For docker and podman a bare name means something else, and stays. Refuses with
 * MF_USAGE. Local.
 */
int mf_mount_whole(const char *option, enum mf_box box, const char *mount, struct mf_words *to);

#endif
