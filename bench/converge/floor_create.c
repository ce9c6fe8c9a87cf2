/* The floor for "cold": creating every file so that no reader sees half of one and a power cut
 * after the exit loses none.
 *
 * floor_create MANIFEST ROOT: makes every directory; writes every file as a new temporary next to
 * its name, sets its mode and renames it; then one syncfs of the file system that holds ROOT. */
#include <limits.h>

#include "bench/converge/manifest.h"

static void create_file(const struct entry* wanted) {
  char temporary[PATH_MAX];
  const char* slash = strrchr(wanted->path, '/');
  const int directory_length = (int)(slash - wanted->path);
  snprintf(temporary, sizeof temporary, "%.*s/.%s.new", directory_length, wanted->path, slash + 1);

  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) die("open", temporary);
  for (size_t offset = 0; offset < wanted->length;) {
    const ssize_t written = write(fd, wanted->content + offset, wanted->length - offset);
    if (written <= 0) die("write", temporary);
    offset += (size_t)written;
  }
  if (fchmod(fd, wanted->mode) != 0) die("fchmod", temporary);
  if (close(fd) != 0) die("close", temporary);
  if (rename(temporary, wanted->path) != 0) die("rename", wanted->path);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: floor_create MANIFEST ROOT\n");
    return 2;
  }
  umask(0);
  struct manifest manifest = manifest_load(argv[1]);
  struct entry wanted;
  while (manifest_next(&manifest, &wanted)) {
    if (!wanted.is_directory)
      create_file(&wanted);
    else if (mkdir(wanted.path, wanted.mode) != 0)
      die("mkdir", wanted.path);
  }
  const int root = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || syncfs(root) != 0) die("syncfs", argv[2]);
  return 0;
}
