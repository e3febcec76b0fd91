/* The files that a verb writes: their names, and early refusals of a name.
 * Rule: no verb writes over a file that it reads. */
#ifndef MF_CMD_OUTPUT_H
#define MF_CMD_OUTPUT_H

#include "src/cmd/common.h"

/** Is standard output a terminal? mpirun gives ranks a pseudo terminal for it, and a pipe for messages. So
 * both must be terminals. Local. */
int mf_output_terminal(void);

/** Makes a folder and those above it: MF_OUTPUT, with the remedy. Local. */
int mf_output_folder(const char *path, const char *remedy);
#define MF_OUTPUT_ELSEWHERE "--output FILE, or another --data_folder"

/** "FOLDER/BASE[_INFIX]SUFFIX"; @p infix may be NULL. The caller frees. */
char *mf_output_join(const char *folder, const char *base, const char *infix, const char *suffix);

/** "FOLDER/BASE[_INFORMATION]SUFFIX" from --data_folder and --information, or --output. A link is followed to its
 * file. Rank 0 makes the folder. The caller frees. Collective; refuses (agreed) with MF_OUTPUT. The second:
 * in another folder. */
int mf_session_path(const struct mf_session *session, const char *base, const char *suffix, char **path);
int mf_session_path_in(const struct mf_session *session, const char *folder, const char *base, const char *suffix,
                       char **path);

/** The name alone, as mf_session_path() gives it: no folder is made. Collective; refuses (agreed) with MF_OUTPUT. */
int mf_session_name(const struct mf_session *session, const char *base, const char *suffix, char **path);

/** Refuses (MF_USAGE) an output that is one of @p n files that the verb reads, or the file of --config. NULLs and ""
 * are ignored. Collective. */
int mf_session_spares(const struct mf_session *session, const char *path, size_t n, const char *const *inputs);

/** Refuses before the work a @p path that does not end with @p ending (MF_USAGE). Refuses also one whose folder is not
 * writable (MF_OUTPUT). NULL: no check. Collective. */
int mf_session_may_write(const struct mf_session *session, const char *path, const char *ending);

/** Refuses (MF_OUTPUT) a file written beside @p output if it is there and @p output is not. Then it is somebody else's.
 * Collective. */
int mf_session_may_accompany(const struct mf_session *session, const char *output, const char *beside);

#endif
