// Stands before libdispatch (LD_PRELOAD) where valgrind runs a Swift program.
//
// libdispatch ends the main thread and goes on with the others, at which valgrind 3.19 crashes. This
// one stays, and drains the main queue as CoreFoundation's run loop does on Linux: these two
// functions are there for it.
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *);

_Noreturn void dispatch_main(void) {
  struct pollfd wakeup = {.fd = _dispatch_get_main_queue_handle_4CF(), .events = POLLIN};
  for (;;) {
    uint64_t count;
    poll(&wakeup, 1, -1);
    // What was read is a number of wake-ups; one look at the queue is enough for all.
    if (read(wakeup.fd, &count, sizeof count) < 0) continue;
    _dispatch_main_queue_callback_4CF(0);
  }
}
