/* A module that answers at once: what a warm call costs the agent, without what a module does. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text, size_t length) {
  while (length > 0) {
    const ssize_t written = write(4, text, length);
    if (written <= 0) _exit(0);
    text += written;
    length -= (size_t)written;
  }
}

int main(void) {
  static char buffer[1 << 20];
  static const char hello[] = "{\"type\":\"hello\",\"protocol\":1,\"module\":\"bench.answers\",\"version\":\"1.0\"}\n";
  size_t used = 0;
  say(hello, sizeof hello - 1);
  for (;;) {
    const ssize_t length = read(3, buffer + used, sizeof buffer - used - 1);
    if (length <= 0) return 0;
    used += (size_t)length;
    buffer[used] = 0;
    for (char *end; (end = memchr(buffer, '\n', used)) != NULL;) {
      unsigned long long id = 0;
      char answer[128];
      if (sscanf(buffer, "{\"type\":\"plan\",\"id\":%llu", &id) == 1)
        say(answer, (size_t)snprintf(answer, sizeof answer, "{\"type\":\"planned\",\"id\":%llu,\"verdict\":\"kept\"}\n", id));
      used -= (size_t)(end + 1 - buffer);
      memmove(buffer, end + 1, used);
    }
  }
}
