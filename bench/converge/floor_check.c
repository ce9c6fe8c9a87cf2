/* The floor for "converged": what the kernel charges for looking at every file.
 *
 * floor_check MANIFEST: stats every directory; opens, stats, reads and compares every file.
 * Exit status 0 when all are as the manifest says, 1 when one is not, 2 on an error. */
#include "bench/converge/manifest.h"

static char buffer[1 << 16];

static int directory_is_kept(const struct entry* wanted) {
  struct stat status;
  return lstat(wanted->path, &status) == 0 && S_ISDIR(status.st_mode) &&
         (status.st_mode & 07777) == wanted->mode;
}

static int file_is_kept(const struct entry* wanted) {
  const int fd = open(wanted->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return 0;
  struct stat status;
  int kept = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 07777) == wanted->mode &&
             (size_t)status.st_size == wanted->length;
  for (size_t offset = 0; kept && offset < wanted->length;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    kept = got > 0 && (size_t)got <= wanted->length - offset &&
           memcmp(buffer, wanted->content + offset, (size_t)got) == 0;
    offset += kept ? (size_t)got : 0;
  }
  close(fd);
  return kept;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: floor_check MANIFEST\n");
    return 2;
  }
  struct manifest manifest = manifest_load(argv[1]);
  struct entry wanted;
  int different = 0;
  while (manifest_next(&manifest, &wanted)) {
    if (wanted.is_directory ? directory_is_kept(&wanted) : file_is_kept(&wanted)) continue;
    fprintf(stderr, "differs: %s\n", wanted.path);
    different = 1;
  }
  return different;
}
