"""What is to be converged, and whether it really is."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

FILES_PER_DIRECTORY = 100
FILE_MODE = 0o644
DIRECTORY_MODE = 0o755


@dataclass(frozen=True)
class ManagedFile:
    path: str
    content: str


def content_of(number):
    """About 200 bytes that differ from file to file. No character needs quoting in any of the
    tools' languages, so that none of them is slowed down by escapes that another does not have."""
    return (
        f"# Service instance {number:06d}, written by configuration management\n"
        f"listen = 10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:8080\n"
        "log_level = info\n"
        f"workers = {number % 16 + 1}\n"
        "timeout_seconds = 30\n"
        f"data_dir = /srv/instances/{number:06d}/data\n"
        "max_connections = 1024\n"
    )


class Workload:
    """`count` files below `root`, FILES_PER_DIRECTORY in each managed directory. `root` itself
    exists beforehand and is managed by nobody. With a count of 0 there is nothing to do at all."""

    def __init__(self, root, count):
        self.root = Path(root)
        self.count = count
        last = (count + FILES_PER_DIRECTORY - 1) // FILES_PER_DIRECTORY
        self.directories = [f"{self.root}/d{number:03d}" for number in range(last)]
        self.files = [
            ManagedFile(f"{self.directories[number // FILES_PER_DIRECTORY]}/f{number:05d}", content_of(number))
            for number in range(count)
        ]

    def in_order(self):
        """Every directory followed by its files: the order in which each tool is told of them.
        Yields (path, content), content None for a directory."""
        for number, directory in enumerate(self.directories):
            yield directory, None
            first = number * FILES_PER_DIRECTORY
            for file in self.files[first : first + FILES_PER_DIRECTORY]:
                yield file.path, file.content

    def start_afresh(self):
        """An empty root. What was there is moved aside, not removed: creating files soon after others
        were removed is slow on ext4, see scratch.py."""
        used = self.root.parent / "used"
        used.mkdir(exist_ok=True)
        if self.root.exists():
            self.root.rename(used / str(len(os.listdir(used))))
        self.root.mkdir(mode=0o755)

    def problems(self):
        """Everything in which the tree differs from what it should be: contents, modes, missing
        entries, and entries that nobody asked for (temporaries left behind)."""
        found = []
        for directory in self.directories:
            self._check(found, directory, stat.S_IFDIR | DIRECTORY_MODE)
        for file in self.files:
            if self._check(found, file.path, stat.S_IFREG | FILE_MODE):
                with open(file.path, "rb") as stream:
                    if stream.read() != file.content.encode():
                        found.append(f"{file.path}: wrong content")
        wanted = set(self.directories) | {file.path for file in self.files}
        found += [f"{path}: not asked for" for path in self._present() if path not in wanted]
        return found

    def fingerprint(self):
        """Changes whenever anything below the root is written, replaced, or has its mode set."""
        marks = {}
        for path in self._present():
            entry = os.lstat(path)
            marks[path] = (entry.st_ino, entry.st_mtime_ns, entry.st_ctime_ns)
        return marks

    def _present(self):
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                yield f"{folder}/{name}"

    @staticmethod
    def _check(found, path, wanted_mode):
        try:
            mode = os.lstat(path).st_mode
        except OSError as error:
            found.append(f"{path}: {error.strerror}")
            return False
        if mode != wanted_mode:
            found.append(f"{path}: mode is {mode:o}, should be {wanted_mode:o}")
        return stat.S_ISREG(mode)
