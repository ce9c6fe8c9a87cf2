/* The list of directories and files that the floor programs check or create.
 *
 * One record per entry, in order, directories before what they hold:
 *     D MODE PATH\n
 *     F MODE LENGTH PATH\n followed by LENGTH bytes of content and \n
 * MODE is octal; PATH is absolute and holds no newline. */
#ifndef BENCH_CONVERGE_MANIFEST_H
#define BENCH_CONVERGE_MANIFEST_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
  int is_directory;
  mode_t mode;
  const char* path;
  const char* content;
  size_t length;
};

struct manifest {
  char* cursor;
  char* end;
};

static void die(const char* what, const char* path) {
  fprintf(stderr, "%s ", path);
  perror(what);
  exit(2);
}

static struct manifest manifest_load(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) die("open", path);
  const size_t size = (size_t)status.st_size;
  char* text = malloc(size + 1);
  size_t have = 0;
  while (text != NULL && have < size) {
    const ssize_t got = read(fd, text + have, size - have);
    if (got <= 0) die("read", path);
    have += (size_t)got;
  }
  if (text == NULL) die("malloc", path);
  close(fd);
  text[size] = '\0';
  return (struct manifest){text, text + size};
}

/* Fills `out` with the next entry, which points into the manifest; 0 at the end. */
static int manifest_next(struct manifest* manifest, struct entry* out) {
  char* at = manifest->cursor;
  if (at >= manifest->end) return 0;
  out->is_directory = *at == 'D';
  out->mode = (mode_t)strtoul(at + 2, &at, 8);
  out->length = out->is_directory ? 0 : strtoul(at + 1, &at, 10);
  out->path = at + 1;
  char* newline = strchr(at, '\n');
  if (newline == NULL) {
    fprintf(stderr, "manifest: unfinished record\n");
    exit(2);
  }
  *newline = '\0';
  out->content = newline + 1;
  manifest->cursor = out->is_directory ? newline + 1 : newline + 1 + out->length + 1;
  return 1;
}

#endif
