"""A storm of enrolments: agents without a certificate that come all at once, and an operator who wants something meanwhile."""

import threading
import time

from programs import Backend, Load, cpu_seconds, rss_kib

PAUSE = 0.05  # between two calls: an operator, not another load


class Operator(threading.Thread):
    """Asks for a page of the instances again and again; on one connection that stays, or on a new one each time, as opsctl does."""

    def __init__(self, backend, keeps_connection):
        super().__init__(daemon=True)
        self.backend, self.keeps_connection = backend, keeps_connection
        self.times, self.is_over = [], threading.Event()
        self.kept = backend.connection() if keeps_connection else None
        self.call()  # so that the storm does not find it connecting
        self.times.clear()

    def call(self):
        start = time.monotonic()
        connection = self.kept or self.backend.connection()
        self.backend.api("GET", "/instances?limit=20", connection=connection)
        if not self.keeps_connection:
            connection.close()
        self.times.append(time.monotonic() - start)

    def run(self):
        while not self.is_over.is_set():
            self.call()
            self.is_over.wait(PAUSE)

    def end(self):
        self.is_over.set()
        self.join()
        times = sorted(self.times)
        return {"calls": len(times), "p50_ms": times[len(times) // 2] * 1e3, "max_ms": times[-1] * 1e3}


def enrolment_storm(binaries, scratch, number):
    scratch.mkdir()
    backend = Backend(binaries, scratch, tls=True)
    load = Load(binaries / "fleet-load")
    try:
        load.use_tls(backend, number)
        quiet = rss_kib(backend.pid)
        operators = {"kept": Operator(backend, True), "new": Operator(backend, False)}
        cpu = cpu_seconds(backend.pid)
        for operator in operators.values():
            operator.start()
        figures = load.agents("enrol", number, backend, "enrolled")
        figures["backend_cpu_s"] = cpu_seconds(backend.pid) - cpu
        figures["load_cpu_s"] = cpu_seconds(load.process.pid)
        figures["operator"] = {name: operator.end() for name, operator in operators.items()}
        figures["peak_rss_mib"] = rss_kib(backend.pid, "VmHWM") / 1024
        figures["quiet_rss_mib"] = quiet / 1024
        figures["per_s"] = (number - figures["failures"]) / figures["seconds"]
        load.end()
        return figures
    finally:
        load.kill()
        backend.stop()
