/* Messages for people, on standard error, by rank 0. Rule: results go to standard output and never through here. */
#ifndef MF_BASE_LOG_H
#define MF_BASE_LOG_H

enum mf_log_level { MF_QUIET, MF_WARN, MF_INFO, MF_DEBUG };

/** Sets which rank prints, and how much. Rank 0 prints; others only from MF_DEBUG on, with "[rank/size]" before the
 * line. */
void mf_log_open(int rank, int size, enum mf_log_level level);

/** 1: prints only warnings, until 0. For work that is repeated many times. */
void mf_log_hush(int hush);

/** Also appends lines to this file (rank 0); NULL closes it. Refuses with MF_OUTPUT. */
int mf_log_copy(const char *path);

void mf_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mf_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mf_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * One line of progress. On a terminal it is a bar that overwrites itself. Else it is a plain line at most every 30 s;
 * the first comes after 1 s, the last always. The line has @p done of @p total steps, and behind that @p text. It shows
 * the remaining time. @p total 0: unknown, so the line only counts steps.
 */
void mf_progress(const char *what, long done, long total, const char *text);

/** The same, where steps are unlike. The remaining time follows from @p work of @p all of it, in whatever unit. Work
 * behind the last step belongs to @p all, too. */
void mf_progress_of(const char *what, long done, long total, double work, double all, const char *text);

/** Seconds on a monotonic clock. */
double mf_now(void);

#endif
