"""The figures of bench/fleet/run as tables."""


def usual_push(figures):
    pushes = sorted(figures["push"][1:] or figures["push"], key=lambda push: push["last_ms"])
    return pushes[len(pushes) // 2]


def three(times):
    return f"{times['p50_ms']:.0f} / {times['p99_ms']:.0f} / {times['last_ms']:.0f} ms"


# What a row shows of one run, how its ratio is computed (None: it has none), and what is wanted.
def rows(figures):
    push = usual_push(figures)
    yield "agents connected", f"{figures['agents']:,}", None, "10,000"
    yield "… at first, 400 at a time, in", f"{figures['connect_s']:.1f} s", figures["connect_s"], ""
    yield "… again, in", f"{figures['reconnect_s']:.1f} s", figures["reconnect_s"], ""
    yield "backend's CPU for a first connection", f"{figures['connect_cpu_ms']:.2f} ms", figures["connect_cpu_ms"], ""
    yield "… for another", f"{figures['reconnect_cpu_ms']:.2f} ms", figures["reconnect_cpu_ms"], ""
    yield "backend memory per connected agent", f"{figures['kib_per_agent']:.1f} KiB", figures["kib_per_agent"], "under 20 KiB without TLS"
    yield "… after the pushes", f"{figures['kib_per_agent_after_pushes']:.1f} KiB", figures["kib_per_agent_after_pushes"], ""
    yield (f"recipe of {push['bytes']:,} bytes pushed to all: median / 99 % / last", three(push), push["last_ms"],
           "last within 2,000 ms")
    yield "results stored durably", f"{figures['results']['per_s']:,.0f} /s", figures["results"]["per_s"], "20,000 /s"
    if restart := figures.get("restart"):
        yield "restart: all agents back after", f"{restart['all_back_s']:.1f} s", restart["all_back_s"], "60 s"
        yield "… attempts that failed", str(restart["failed_attempts"]), None, ""
        yield "reports refused", str(restart["refused"]), None, "0"
    if idle := figures.get("idle_agent"):
        yield "idle agent, PSS", f"{idle['pss_mib']:.1f} MiB", idle["pss_mib"], "under 10 MiB"
        yield "idle agent, wake-ups", f"{idle['wake_ups_per_s']:.2f} /s", None, "under 1 /s"


def lines(table):
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def fleet_table(runs):
    """`runs` has figures by name, "plain" or "tls" or both."""
    names = list(runs)
    titles = {"plain": "plain", "tls": "TLS"}
    head = ["what", *(titles[name] for name in names), *(["TLS / plain"] if len(names) == 2 else []), "wanted"]
    table = [head, ["---"] * len(head)]
    for same in zip(*(rows(runs[name]) for name in names)):
        values = [row[2] for row in same]
        ratio = [f"{values[1] / values[0]:.2f}" if None not in values and values[0] else ""] if len(names) == 2 else []
        table.append([same[0][0], *(row[1] for row in same), *ratio, same[0][3]])
    return lines(table)


def nats_table(nats, runs):
    table = [["the same bytes through nats-server", three(nats)]]
    for name, figures in runs.items():
        table.append([f"our last arrival ({name}) against theirs", f"{usual_push(figures)['last_ms'] / nats['last_ms']:.1f}x"])
    return lines([["reference", "measured"], ["---", "---"], *table])


def storm_table(storm):
    new, kept = storm["operator"]["new"], storm["operator"]["kept"]
    return lines([
        ["enrolment storm", "measured", "wanted"], ["---", "---", "---"],
        ["agents that come at once", f"{storm['agents']:,}", ""],
        ["the last is enrolled and welcome after", f"{storm['seconds']:.1f} s", ""],
        ["enrolments", f"{storm['per_s']:,.0f} /s", ""],
        ["failures", str(storm["failures"]), "0"],
        ["attempts that had to be repeated", str(storm["retries"]), ""],
        ["slowest TLS handshake, with its time in the queue", f"{storm['slowest_handshake_s']:.1f} s", "30 s: then agents give up"],
        ["backend: CPU", f"{storm['backend_cpu_s']:.1f} s", ""],
        ["backend: peak memory (before: " + f"{storm['quiet_rss_mib']:.0f} MiB)", f"{storm['peak_rss_mib']:.0f} MiB", ""],
        ["an operator's call meanwhile, on an open connection: median / longest",
         f"{kept['p50_ms']:.0f} / {kept['max_ms']:.0f} ms", ""],
        ["… on a new connection", f"{new['p50_ms']:.0f} / {new['max_ms']:.0f} ms", ""],
    ])
