// Stands before the C library (LD_PRELOAD): "localhost", and what ends so, has the addresses that
// stand in the file TEST_ADDRESSES at the moment of the look-up.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
  look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
  const char *path = getenv("TEST_ADDRESSES");
  size_t length = name ? strlen(name) : 0;
  if (!path || length < 9 || strcmp(name + length - 9, "localhost"))
    return real(name, service, hints, found);
  char text[1024] = "";
  FILE *file = fopen(path, "r");
  if (!file || !fgets(text, sizeof text, file)) return EAI_AGAIN;
  fclose(file);
  char *words = text, *address;
  int status = EAI_NONAME;
  while ((address = strsep(&words, " "))) {
    status = real(address, service, hints, found);
    if (status) break;
    while (*found) found = &(*found)->ai_next;
  }
  return status;
}
