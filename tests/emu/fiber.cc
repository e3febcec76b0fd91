/* See fiber.h. On x86-64 a switch is a dozen instructions; elsewhere the system's swapcontext(). */
#include "tests/emu/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace
{

constexpr size_t STACK = size_t(512) << 10; /* the pages that are used are few */

/* -- switching stacks -- */

#if defined(__x86_64__)
struct context {
    void *sp;
};

extern "C" void mf_emu_switch(void **save, void *to);
asm(R"(
.text
.globl mf_emu_switch
.hidden mf_emu_switch
.type mf_emu_switch, @function
mf_emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size mf_emu_switch, . - mf_emu_switch
)");

void prepare(context *c, char *stack, void (*entry)())
{
    static size_t shift; /* stacks that end alike would all want the same lines of the cache */
    auto *top =
        reinterpret_cast<uintptr_t *>(stack + STACK - shift) - 1; /* as after a call: 8 more than a multiple of 16 */

    shift = (shift + 832) % 32768;
    *top = 0;
    *--top = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < 6; ++i) *--top = 0;
    c->sp = top;
}

void change(context *from, context *to) { mf_emu_switch(&from->sp, to->sp); }
#else
struct context {
    ucontext_t u;
};

void prepare(context *c, char *stack, void (*entry)())
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = STACK;
    c->u.uc_link = nullptr;
    makecontext(&c->u, entry, 0);
}

void change(context *from, context *to) { swapcontext(&from->u, &to->u); }
#endif

} // namespace

struct mf_fiber {
    context own, caller;
    char *stack;
    void (*work)(void *);
    void *argument;
    bool ended;
    const void *caller_stack; /* what the address sanitizer wants to know */
    size_t caller_size;
};

namespace
{

mf_fiber *now;

void into(mf_fiber *f)
{
    mf_fiber *outer = now;

    now = f;
#if defined(__SANITIZE_ADDRESS__)
    void *fake;

    __sanitizer_start_switch_fiber(&fake, f->stack, STACK);
    change(&f->caller, &f->own);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    change(&f->caller, &f->own);
#endif
    now = outer;
}

void out_of(mf_fiber *f)
{
#if defined(__SANITIZE_ADDRESS__)
    void *fake;

    __sanitizer_start_switch_fiber(&fake, f->caller_stack, f->caller_size);
    change(&f->own, &f->caller);
    __sanitizer_finish_switch_fiber(fake, &f->caller_stack, &f->caller_size);
#else
    change(&f->own, &f->caller);
#endif
}

/* A coroutine never returns: when its work is done it waits for more. */
void entry()
{
    mf_fiber *f = now;

#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &f->caller_stack, &f->caller_size);
#endif
    for (;;) {
        f->work(f->argument);
        f->ended = true;
        out_of(f);
    }
}

} // namespace

mf_fiber *mf_fiber_new()
{
    auto *f = new mf_fiber();

    f->stack = static_cast<char *>(
        mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (f->stack == MAP_FAILED) {
        fprintf(stderr, "emulator: no memory for the stack of a thread\n");
        abort();
    }
    prepare(&f->own, f->stack, entry);
    f->ended = true;
    return f;
}

bool mf_fiber_run(mf_fiber *fiber, void (*work)(void *), void *argument)
{
    fiber->work = work;
    fiber->argument = argument;
    fiber->ended = false;
    into(fiber);
    return !fiber->ended;
}

bool mf_fiber_resume(mf_fiber *fiber)
{
    into(fiber);
    return !fiber->ended;
}

void mf_fiber_pause() { out_of(now); }
