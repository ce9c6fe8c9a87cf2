"""The folder in which everything happens, on a file system of its own where that is possible."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS = 0x00020000
SIZE = 16 << 30  # bytes, sparse: room for the trees of all cold runs, which stay until the end
BYTES_PER_INODE = 8192


@contextmanager
def scratch_folder(below):
    """Yields (folder, whether it is a file system of its own); all is removed afterwards.

    As root it is a fresh ext4 in an image file, mounted where nobody else sees it. For some minutes
    ext4 does not hand out the inodes of removed files again, but looks at each of them whenever it
    needs one; on a file system in use, creating files can so become several times as slow for
    reasons that have nothing to do with who creates them."""
    outer = Path(tempfile.mkdtemp(prefix="converge-", dir=below))
    folder = outer / "fs"
    folder.mkdir()
    own = False
    try:
        own = mount_fresh(outer / "image", folder)
        yield folder, own
    finally:
        if own:
            subprocess.run(["umount", "--lazy", folder], check=False)
        shutil.rmtree(outer, ignore_errors=True)


def mount_fresh(image, folder):
    if os.geteuid() != 0:
        return refused("only root may mount")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        return refused(os.strerror(ctypes.get_errno()))
    with open(image, "wb") as stream:
        stream.truncate(SIZE)
    now = "lazy_itable_init=0,lazy_journal_init=0"  # no kernel thread that does it meanwhile
    for argv in (
        ["mount", "--make-rprivate", "/"],
        ["mkfs.ext4", "-q", "-F", "-i", str(BYTES_PER_INODE), "-E", now, image],
        ["mount", "-o", "loop", image, folder],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return refused(done.stderr.strip())
    return True


def refused(why):
    print(f"No file system of its own ({why}): cold figures may be too slow, for all.", file=sys.stderr)
    return False
