/* Notes to the user about files that are read: lines that name the file.
 * Rule: many files give one line for each kind of note, with the first file and their number. */
#ifndef MF_IO_NOTES_H
#define MF_IO_NOTES_H

#include "mpi/comm.h"

/** Tells of a file (@p warns: a warning), at once or when the notes that are gathered end. Local. */
void mf_note(const char *file, int warns, const char *text);

/** Gathers notes from here on: for verbs that read many files. Local. */
void mf_notes_begin(void);

/** Are notes gathered? Then numbers of one file do not stand in them. */
int mf_notes_gathered(void);

/** Says what was gathered. The ranks of @p comm read different files, and their notes are counted together. Where all
 * ranks read the same, it is the rank alone. Collective. */
void mf_notes_end(const struct mf_comm *comm);

/** Forgets what was gathered, of files that are read a second time. Local. */
void mf_notes_drop(void);

#endif
