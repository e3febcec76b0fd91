/* The last words of a process that ends because of a breakage, or because another rank is lost. */
#ifndef MF_BASE_LAST_WORDS_H
#define MF_BASE_LAST_WORDS_H

/** Names what is called, with @p context, before mf_die() or mf_end() ends this process; NULL: nothing. Any thread may
 * end it. So the function is short, and waits for no lock: the thread that ends may hold it. */
void mf_last_words(void (*say)(void *context), void *context);

#endif
