"""What the figures say: the table, the expectations, the JSON."""

import json
import os
import platform
import subprocess
from datetime import datetime, timezone

from tools import COLD, CONVERGED, EMPTY

FLOOR, OURS, OURS_YAML, OURS_TEMPLATES = "c", "opsagent-json", "opsagent-yaml", "opsagent-templates"


class Figures:
    """Looks up medians; None where something was not measured."""

    def __init__(self, series, tools):
        self.series = series
        self.tools = tools
        self.index = {(one.tool, one.count, one.phase): one for one in series}

    def get(self, tool, count, phase, what="wall"):
        one = self.index.get((tool, count, phase))
        return one.median(what) if one else None

    def groups(self):
        """(count, phase) in the order measured."""
        return list(dict.fromkeys((one.count, one.phase) for one in self.series))

    def fastest_peer(self, count, phase):
        """(wall, label), or None."""
        walls = [(self.get(tool.key, count, phase), tool.label) for tool in self.tools if tool.peer]
        return min((pair for pair in walls if pair[0] is not None), default=None)


def divide(above, below):
    return above / below if above is not None and below else None


def expectations(figures):
    """(what is expected, what was measured as text, True / False / None when not measured)."""

    def at_most(what, value, limit, unit="x"):
        if value is None:
            return what, "not measured", None
        return what, f"{value:.2f} {unit}", value <= limit

    wall = figures.get
    peer = figures.fastest_peer(10000, CONVERGED)
    lead = divide(peer and peer[0], wall(OURS, 10000, CONVERGED))
    empty = wall(OURS, 0, EMPTY)
    return [
        at_most("N = 10,000 converged, JSON: at most 2.5 x the C floor",
                divide(wall(OURS, 10000, CONVERGED), wall(FLOOR, 10000, CONVERGED)), 2.5),
        ("N = 10,000 converged, JSON: at least 20 x faster than the fastest peer",
         f"{lead:.1f} x ({peer[1]})" if lead else "not measured", lead >= 20 if lead else None),
        at_most("N = 1,000 converged, JSON: at most 4 x the C floor",
                divide(wall(OURS, 1000, CONVERGED), wall(FLOOR, 1000, CONVERGED)), 4),
        at_most("Empty recipe: under 15 ms", empty and empty * 1000, 15, "ms"),
        at_most("N = 10,000 converged: YAML at most 3 x JSON",
                divide(wall(OURS_YAML, 10000, CONVERGED), wall(OURS, 10000, CONVERGED)), 3),
        at_most("N = 10,000 converged: templates at most 1.15 x the same files with plain content",
                divide(wall(OURS_TEMPLATES, 10000, CONVERGED), wall(OURS, 10000, CONVERGED)), 1.15),
        at_most("N = 10,000 cold, JSON: at most 1.5 x the C floor",
                divide(wall(OURS, 10000, COLD), wall(FLOOR, 10000, COLD)), 1.5),
        at_most("N = 10,000 converged, JSON: peak memory under 64 MiB",
                wall(OURS, 10000, CONVERGED, "memory"), 64, "MiB"),
        at_most("N = 10,000 cold, JSON: peak memory under 64 MiB",
                wall(OURS, 10000, COLD, "memory"), 64, "MiB"),
    ]  # fmt: skip


def duration(seconds):
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def ratio(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def table(figures):
    """One Markdown table per group: it goes into docs/benchmarks.md as it is."""
    lines = []
    for count, phase in figures.groups():
        lines.append(f"\n### {title(count, phase)}\n")
        rows = [("", "wall, median", "min .. max", "CPU", "peak memory", "x C", "x OpsAgent", "runs")]
        for tool in figures.tools:
            one = figures.index.get((tool.key, count, phase))
            if one is None:
                rows.append((tool.label, f"not run (only up to N = {tool.largest:,})", *[""] * 6))
                continue
            wall = one.median("wall")
            rows.append((
                tool.label,
                duration(wall),
                f"{duration(min(one.walls()))} .. {duration(max(one.walls()))}",
                duration(one.median("cpu")),
                f"{one.median('memory'):.1f} MiB",
                ratio(divide(wall, figures.get(FLOOR, count, phase))),
                ratio(divide(wall, figures.get(OURS, count, phase))),
                str(len(one.runs)),
            ))  # fmt: skip
        lines += markdown(rows)
    lines.append("\n### Expected\n")
    words = {True: "PASS", False: "MISS", None: "-"}
    rows = [("expected", "measured", "")]
    lines += markdown(rows + [(what, value, words[met]) for what, value, met in expectations(figures)])
    return "\n".join(lines)


def markdown(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return text


def title(count, phase):
    if phase == EMPTY:
        return "Nothing at all to do (empty recipe)"
    return f"N = {count:,}, {'all to be created' if phase == COLD else 'converged, nothing to do'}"


def machine(scratch, own):
    """What somebody needs to know to compare these figures with others."""
    cpu = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    kind = subprocess.run(["findmnt", "--noheadings", "--output=FSTYPE", "--target", scratch], capture_output=True, text=True, check=True)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "system": system,
        "file_system": kind.stdout.strip(),
        "file_system_is_fresh": own,
        "load_before": os.getloadavg()[0],
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def write_json(path, figures, host, versions):
    document = {
        "machine": host,
        "versions": versions,
        "series": [
            {
                "tool": one.tool,
                "files": one.count,
                "phase": one.phase,
                "median": {what: one.median(what) for what in ("wall", "cpu", "memory")},
                "runs": [vars(run) for run in one.runs],
            }
            for one in figures.series
        ],
        "units": {"wall": "s", "cpu": "s", "memory": "MiB"},
        "expectations": [
            {"expected": what, "measured": value, "met": met} for what, value, met in expectations(figures)
        ],
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
