// Replaces libdispatch's dispatch_main (LD_PRELOAD) when valgrind runs a Swift program.
//
// libdispatch's version ends the main thread and keeps the other threads, which crashes valgrind
// 3.19. This version keeps the main thread and drains the main queue, as CoreFoundation's run loop
// does on Linux. The two declared functions exist for that run loop.
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
    // The value is a number of wake-ups; draining the queue once handles all of them.
    if (read(wakeup.fd, &count, sizeof count) < 0) continue;
    _dispatch_main_queue_callback_4CF(0);
  }
}
