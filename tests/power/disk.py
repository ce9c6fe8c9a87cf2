"""A disk that loses what was not flushed: an NBD server with a volatile write cache, for machines whose power is cut.

The guest sees the file `front`. Writes go there and are remembered; a flush (or a write with FUA) puts them on the file
`platter`. cut() is the power cut: of what was not flushed an arbitrary part has reached the platter, in any order, sector by
sector; the rest is gone, and `front` is what the platter has. Sectors have 4 KiB, as those of nearly all disks: ext4 itself, up to
Linux 6.9, refuses its journal when a commit block is torn inside, which disks that tear at 512 bytes could do. A flush takes as long as on a disk that turns: many cuts come while one
is under way.
"""

import contextlib
import os
import socket
import struct
import threading
import time

SECTOR = 4096
NBD_MAGIC = 0x4E42444D41474943
OPTION_MAGIC = 0x49484156454F5054
REPLY_MAGIC = 0x3E889045565A9
REQUEST, SIMPLE_REPLY = 0x25609513, 0x67446698
INFO, GO, ABORT = 6, 7, 2
ACK, REPLY_INFO, UNSUPPORTED = 1, 3, 0x80000001
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
FUA = 1
FLUSH_TIME = 0.02  # seconds


def receive(peer, size):
    parts = []
    while size:
        part = peer.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionError("the guest's machine is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def in_sectors(offset, data):
    """A write as parts, each in one sector."""
    at = 0
    while at < len(data):
        size = min(SECTOR - (offset + at) % SECTOR, len(data) - at)
        yield offset + at, data[at:at + size]
        at += size


class Disk:
    """Serves one guest at a time on a Unix socket, on a thread of its own, until close()."""

    def __init__(self, image, front, address):
        self.platter = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.platter).st_size
        self.front = os.open(front, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._copy_all()
        self.pending = []  # (offset, bytes), oldest first
        self.lock = threading.Lock()
        self.flushes = 0
        self.is_off = False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _copy_all(self):
        os.ftruncate(self.front, self.size)
        for offset in range(0, self.size, 1 << 22):
            part = os.pread(self.platter, 1 << 22, offset)
            if part.strip(b"\0"):
                os.pwrite(self.front, part, offset)

    def power_off(self):
        """From now on nothing that the guest still sends counts."""
        with self.lock:
            self.is_off = True

    def cut(self, chance):
        """After power_off() and the guest's end. `chance`: a random.Random. Answers (written, lost) sectors."""
        with self.lock:
            sectors = [part for offset, data in self.pending for part in in_sectors(offset, data)]
            lucky = chance.random()  # of some cuts nearly all survives, of others nothing
            lost = 0
            for offset, data in sectors:
                if chance.random() < lucky:
                    os.pwrite(self.platter, data, offset)
                else:
                    lost += 1
            for offset, data in sectors:
                os.pwrite(self.front, os.pread(self.platter, len(data), offset), offset)
            self.pending = []
            self.is_off = False
            return len(sectors) - lost, lost

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)
        os.close(self.platter)
        os.close(self.front)

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(ConnectionError, OSError):
                if self._negotiate(peer):
                    self._transmit(peer)

    def _negotiate(self, peer):
        peer.sendall(struct.pack(">QQH", NBD_MAGIC, OPTION_MAGIC, 3))
        receive(peer, 4)
        while True:
            _, option, length = struct.unpack(">QII", receive(peer, 16))
            receive(peer, length)

            def reply(kind, data=b""):
                peer.sendall(struct.pack(">QIII", REPLY_MAGIC, option, kind, len(data)) + data)

            if option in (INFO, GO):
                reply(REPLY_INFO, struct.pack(">HQH", 0, self.size, HAS_FLAGS | SEND_FLUSH | SEND_FUA))
                reply(ACK)
                if option == GO:
                    return True
            elif option == ABORT:
                reply(ACK)
                return False
            else:
                reply(UNSUPPORTED)

    def _transmit(self, peer):
        while True:
            magic, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", receive(peer, 28))
            if magic != REQUEST or kind == DISCONNECT:
                return
            data = receive(peer, length) if kind == WRITE else b""
            answer = b""
            if kind == FLUSH and self.pending:
                time.sleep(FLUSH_TIME)
            with self.lock:
                if self.is_off:
                    return
                if kind == READ:
                    answer = os.pread(self.front, length, offset)
                elif kind == WRITE:
                    os.pwrite(self.front, data, offset)
                    if flags & FUA:
                        os.pwrite(self.platter, data, offset)
                    else:
                        self.pending.append((offset, data))
                elif kind == FLUSH:
                    for at, written in self.pending:
                        os.pwrite(self.platter, written, at)
                    self.pending = []
                    self.flushes += 1
            peer.sendall(struct.pack(">IIQ", SIMPLE_REPLY, 0, handle) + answer)
