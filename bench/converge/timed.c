/* Runs one program and writes what it cost.
 *
 * timed RESULT PROGRAM [ARGUMENT...] writes to RESULT one line: wall time in ns, user and system
 * CPU time in us, peak resident memory in KiB, exit status (or 128 + signal).
 *
 * CPU time is the sum, peak memory the maximum, over the program and all descendants that were
 * waited for. This is a program of its own because a child inherits, in ru_maxrss, the size of the
 * process that started it: below a Python interpreter every program would appear that large. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long to_us(struct timeval time) {
  return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: timed RESULT PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  pid_t child;
  int status;
  struct rusage used;
  const long long start = now_ns();
  const int error = posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", argv[2], strerror(error));
    return 2;
  }
  if (wait4(child, &status, 0, &used) != child) {
    perror("wait4");
    return 2;
  }
  const long long wall = now_ns() - start;
  FILE* result = fopen(argv[1], "we");
  if (result == NULL) {
    perror(argv[1]);
    return 2;
  }
  fprintf(result, "%lld %lld %lld %ld %d\n", wall, to_us(used.ru_utime), to_us(used.ru_stime), used.ru_maxrss,
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return fclose(result) == 0 ? 0 : 2;
}
