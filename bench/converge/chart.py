"""The chart for docs/benchmarks.md: wall times as bars on a logarithmic scale, in SVG."""

import math
from html import escape

from report import duration, title

COLOURS = {
    "c": "#8a8f98",
    "opsagent-json": "#0b6e4f",
    "opsagent-yaml": "#5aa786",
    "opsagent-templates": "#8cc4ab",
    "cfengine": "#c8871e",
    "puppet": "#b4472f",
    "ansible": "#4a4f8c",
}
WIDTH, LEFT, RIGHT = 860, 130, 90
BAR, GAP, GROUP_HEAD, GROUP_GAP = 15, 4, 24, 14
TOP, BOTTOM = 56, 34


def write_svg(path, figures, host):
    groups = [(key, bars_of(figures, *key)) for key in figures.groups()]
    walls = [wall for _, bars in groups for _, wall in bars]
    low, high = math.floor(math.log10(min(walls))), math.ceil(math.log10(max(walls)))
    height = TOP + BOTTOM + sum(GROUP_HEAD + GROUP_GAP + len(bars) * (BAR + GAP) for _, bars in groups)

    def x(seconds):
        return LEFT + (math.log10(seconds) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="12" fill="#24292f">',
        "<title>Time to converge N files</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(16, 24, "Time to converge N files (median wall time, logarithmic scale, shorter is better)", 15, "600"),
        text(16, 42, f"{host['cpu']}, {host['cores']} cores, {host['file_system']}, {host['system']}", 11),
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{height - BOTTOM}" stroke="#d8dee4"/>')
        out.append(text(at, height - BOTTOM + 16, tick(power), 11, anchor="middle"))
    y = TOP
    for (count, phase), bars in groups:
        out.append(text(16, y + 16, title(count, phase), 12, "600", halo=True))
        y += GROUP_HEAD
        for tool, wall in bars:
            middle = y + BAR - 3.5
            out.append(text(LEFT - 8, middle, tool.label, 11, anchor="end"))
            out.append(
                f'<rect x="{LEFT}" y="{y}" width="{max(x(wall) - LEFT, 1):.1f}" height="{BAR}" rx="2" '
                f'fill="{COLOURS[tool.key]}"/>'
            )
            out.append(text(max(x(wall), LEFT) + 6, middle, duration(wall), 11, halo=True))
            y += BAR + GAP
        y += GROUP_GAP
    out.append("</svg>\n")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(out))


def bars_of(figures, count, phase):
    """(tool, wall) of all that were run."""
    walls = [(tool, figures.get(tool.key, count, phase)) for tool in figures.tools]
    return [pair for pair in walls if pair[1] is not None]


def tick(power):
    if power < 0:
        return f"{10.0 ** (power + 3):g} ms"
    return f"{10**power:,} s"


def text(x, y, words, size, weight="400", anchor="start", halo=False):
    """`halo` keeps words readable where they cross a grid line."""
    around = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
        f"{around}>{escape(words)}</text>"
    )
