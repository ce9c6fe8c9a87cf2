"""A crowd at a backend's TLS port: connections of one address that take places and do not use them.

A Crowd is a process of its own, which has descriptors of its own. It opens `first` connections as fast as it can, then `rate` more a second until
stop(), and keeps all that the backend keeps. Whoever was turned away makes room for another one when there are MOST. What it says on each, before it
says nothing more, is its kind.
"""

import errno
import itertools
import multiprocessing
import resource
import select
import signal
import socket
import ssl
import time

MOST = 19_000  # descriptors that a process may have here, and ports that an address has


def client_hello():
    """The first message of a TLS client."""
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="backend").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


KINDS = {
    "silent": lambda: b"",  # connects and says nothing
    "beginners": lambda: client_hello()[:3],  # begin a handshake
    "halfway": client_hello,  # let the backend do its part of the handshake, and do not go on
}


class Crowd:
    def __init__(self, listen, kind, source, first, rate):
        host, port = listen.rsplit(":", 1)
        here, self.there = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=run, args=((host, int(port)), KINDS[kind](), source, first, rate, here), daemon=True)
        self.process.start()
        here.close()
        # The first ones are there.
        if not self.there.poll(120) or self.there.recv() != "there":
            raise AssertionError("the crowd did not come")

    def stop(self):
        """How many came, for how many of them the backend had no place any more, and how many came a second after the first ones."""
        self.there.send("stop")
        counts = self.there.recv() if self.there.poll(60) else None
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        return counts


def run(address, hello, source, first, rate, pipe):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    connections = {}  # by descriptor
    hung_up = select.epoll()
    closed = 0
    # Where the kernel chooses, it tries one after the other: with many in use that is slower than the rate that is wanted.
    ports = itertools.cycle(range(2000, 65000))

    def come():
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        while True:
            try:
                one.bind((source, next(ports)))
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        one.settimeout(10)
        try:
            one.connect(address)
            if hello:
                one.send(hello)
            one.setblocking(False)
        except OSError:
            pass  # turned away already
        connections[one.fileno()] = one
        hung_up.register(one, select.EPOLLRDHUP)

    def leave():
        """Those that were turned away; how many."""
        gone = hung_up.poll(0, MOST)
        for number, _ in gone:
            connections.pop(number).close()
        return len(gone)

    most = min(MOST, hard - 500)
    for _ in range(min(first, most)):
        come()
    pipe.send("there")
    begun = time.monotonic()
    came = 0
    while not pipe.poll(0.01):
        due = int((time.monotonic() - begun) * rate)
        while came < due:
            if len(connections) >= most:
                closed += leave()
            if len(connections) >= most:
                break
            come()
            came += 1
    seconds = time.monotonic() - begun
    closed += leave()
    for one in connections.values():
        one.close()
    pipe.send((min(first, most) + came, closed, came / seconds))
