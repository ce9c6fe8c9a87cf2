"""Runs the tools in turns and keeps what each run cost."""

import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tools import COLD, CONVERGED, EMPTY
from workload import Workload

HERE = Path(__file__).resolve().parent
C_PROGRAMS = ("timed", "floor_check", "floor_create")
C_FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-D_GNU_SOURCE"]

# How often a run that took so many seconds at first is repeated in all.
REPETITIONS = ((0.5, 15), (5, 7), (60, 3), (float("inf"), 1))


class NotConverged(Exception):
    """A run that did not do what it was timed for. Its figure would be worthless, so all stops."""


@dataclass
class Run:
    wall: float  # seconds
    cpu: float  # seconds, user and system
    memory: float  # MiB, peak


@dataclass
class Series:
    """All runs of one tool with one workload in one phase."""

    tool: str
    count: int
    phase: str
    runs: list = field(default_factory=list)

    def median(self, what):
        return statistics.median(getattr(run, what) for run in self.runs)

    def walls(self):
        return [run.wall for run in self.runs]


def compile_programs(folder):
    """The C programs, by name."""
    for name in C_PROGRAMS:
        subprocess.run(["cc", *C_FLAGS, f"-I{HERE.parent.parent}", HERE / f"{name}.c", "-o", folder / name], check=True)
    return {name: folder / name for name in C_PROGRAMS}


class Bench:
    def __init__(self, scratch, programs, most_repetitions, say):
        self.scratch = scratch
        self.timed = programs["timed"]
        self.most = most_repetitions
        self.say = say
        self.order = random.Random(1)  # the same order in every run of the bench

    def measure(self, tools, count):
        """All series of one size; of the phase EMPTY when the count is 0."""
        workload = Workload(self.scratch / "tree", count)
        workload.start_afresh()
        for tool in tools:
            folder = self.scratch / f"{tool.key}-{count}"
            folder.mkdir()
            tool.prepare(workload, folder)
        phases = (COLD, CONVERGED) if count else (EMPTY,)
        return [series for phase in phases for series in self._phase(tools, workload, phase)]

    def _phase(self, tools, workload, phase):
        """Interleaves: every round runs every tool that is due, in another order. The first round
        tells how long each takes; slow ones then sit out rounds, spread evenly over the phase, so
        that a machine that becomes slower or faster meanwhile does so for all."""
        if phase == CONVERGED:
            self._create(workload)
        series = {tool.key: Series(tool.key, workload.count, phase) for tool in tools}
        for number in range(self.most):
            for tool in self.order.sample(tools, len(tools)):
                done = series[tool.key].runs
                if number and not is_due(number, self._wanted(done[0].wall), self.most):
                    continue
                done.append(self._run(tool, workload, phase))
            self.say(f"N = {workload.count}, {phase}: round {number + 1} of {self.most}")
        return series.values()

    def _wanted(self, first_wall):
        return min(self.most, next(times for limit, times in REPETITIONS if first_wall < limit))

    @staticmethod
    def _create(workload):
        """The converged tree, by nobody in particular."""
        workload.start_afresh()
        for path, content in workload.in_order():
            if content is None:
                os.mkdir(path)
                os.chmod(path, 0o755)
            else:
                Path(path).write_text(content, encoding="utf-8")
                os.chmod(path, 0o644)

    def _run(self, tool, workload, phase):
        if phase == COLD:
            workload.start_afresh()
        # Also what keeps the page cache warm: it reads everything.
        elif found := workload.problems():
            raise NotConverged(f"before {tool.label}, {phase}: {found[0]}")
        before = workload.fingerprint()
        os.sync()
        run, status, output = self._timed(tool, phase)
        complaint = tool.complaint(phase, status, output)
        found = workload.problems()
        if complaint is None and found:
            complaint = f"{len(found)} entries are not as they should be; {found[0]}"
        if complaint is None and phase != COLD and workload.fingerprint() != before:
            complaint = "it wrote, although there was nothing to do"
        if complaint is not None:
            last = "\n".join(output.splitlines()[-20:])
            raise NotConverged(f"{tool.label}, N = {workload.count}, {phase}: {complaint}\n{last}")
        return run

    def _timed(self, tool, phase):
        result = self.scratch / "result"
        output = self.scratch / "output"
        argv = [str(self.timed), str(result), *map(str, tool.command(phase))]
        with open(output, "wb") as stream:
            subprocess.run(
                argv,
                env=tool.environment,
                cwd=self.scratch,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                check=True,
            )
        wall, user, system, memory, status = map(int, result.read_text(encoding="ascii").split())
        run = Run(wall / 1e9, (user + system) / 1e6, memory / 1024)
        return run, status, output.read_text(encoding="utf-8", errors="replace")


def is_due(number, wanted, rounds):
    """Whether a tool that is to run `wanted` times in `rounds` rounds runs in this one (not the
    first, in which all do)."""
    return number * wanted // rounds != (number - 1) * wanted // rounds


def progress(quiet):
    """Says how far it is, on a terminal in one line that is overwritten."""
    if quiet:
        return lambda line: None
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    return lambda line: print(line, file=sys.stderr, flush=True)
