/* Messages for people, on standard error, by rank 0. Rule: results go to standard output and never through here. */
#ifndef MF_BASE_LOG_H
#define MF_BASE_LOG_H

enum mf_log_level { MF_QUIET, MF_WARN, MF_INFO, MF_DEBUG };

/** Who speaks and how much. Rank 0 speaks; the others only from MF_DEBUG on, with "[rank/size]" before the line. */
void mf_log_open(int rank, int size, enum mf_log_level level);

/** 1: warnings alone, until 0 (what is done many times over need not be told each time). */
void mf_log_hush(int hush);

/** Lines go to this file as well (rank 0), appended; NULL closes it. Refuses with MF_OUTPUT. */
int mf_log_copy(const char *path);

void mf_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mf_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mf_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * One line of progress: a bar that overwrites itself on a terminal, else a plain line at most every 30 s (first after
 * 1 s, the last always). @p done of @p total steps; @p text is shown behind it. Knows the time that is left. @p total
 * 0: nobody knows how many steps there are; they are counted.
 */
void mf_progress(const char *what, long done, long total, const char *text);

/** Seconds on a monotonic clock. */
double mf_now(void);

#endif
