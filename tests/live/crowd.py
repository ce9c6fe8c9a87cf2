"""A crowd at a backend's TLS port: connections of one address that take places and do not use them.

A Crowd is a process of its own, which has descriptors of its own. It opens `first` connections as fast as it can, then `rate` more a second, and keeps
all of them until stop(), at most MOST. What it says on each, before it says nothing more, is its kind.
"""

import multiprocessing
import resource
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
        """How many came, and for how many the backend had no place any more."""
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
    connections = []

    def come():
        one = socket.socket()
        # A port is chosen when it connects: the same one may be used towards others.
        one.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        one.bind((source, 0))
        one.settimeout(10)
        try:
            one.connect(address)
            if hello:
                one.send(hello)
            one.setblocking(False)
        except OSError:
            pass  # turned away already
        connections.append(one)

    most = min(MOST, hard - 500)
    for _ in range(min(first, most)):
        come()
    pipe.send("there")
    begun = time.monotonic()
    came = 0
    while not pipe.poll(0.01):
        due = int((time.monotonic() - begun) * rate)
        while came < due and len(connections) < most:
            come()
            came += 1
    closed = 0
    for one in connections:
        try:
            while one.recv(65536):
                pass
            closed += 1
        except BlockingIOError:
            pass
        except OSError:
            closed += 1
        one.close()
    pipe.send((len(connections), closed))
