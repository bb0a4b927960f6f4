// Prints the name of the signal that ends a test process. Most signals print nothing, and the
// parent process sees at best a number.

#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

static char *append(char *end, const char *text) {
    size_t length = strlen(text);
    memcpy(end, text, length);
    return end + length;
}

static char *append_number(char *end, unsigned number) {
    char digits[10];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count > 0) *end++ = digits[--count];
    return end;
}

// Calls only functions that are safe in a signal handler.
static void tell(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    const char *name = sigabbrev_np(signal_number);
    char line[160];
    char *end = append(line, "error: the test process ends by SIG");
    end = append(end, name ? name : "?");
    if (info->si_code <= 0) {
        end = append(end, ", sent by process ");
        end = append_number(end, (unsigned)info->si_pid);
        if (info->si_pid == getpid()) end = append(end, " (itself)");
    }
    *end++ = '\n';
    if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0) {}
    // The handler is already removed (SA_RESETHAND), so this has the signal's default effect.
    raise(signal_number);
}

__attribute__((constructor)) static void install(void) {
    static const int signals[] = {
        SIGHUP, SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,   SIGBUS,  SIGFPE,  SIGSEGV,
        SIGSYS, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGUSR1, SIGUSR2,
    };
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = tell;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        // Swift's own handlers print a backtrace, and ignored signals end nothing: keep both.
        struct sigaction present;
        if (sigaction(signals[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
    }
}
