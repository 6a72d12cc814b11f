"""Profiles the generated kernels that are measured by bandwidth with NVIDIA Nsight Compute.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The programs are those of the group machine. Where the driver does not allow profiles, the rows
are skipped with its words.
"""

import csv
import re

from missing import findTool
from results import TimeIsUp, execute, lastLine

GROUP = "ncu"
METRICS = {
    "gpu__time_duration.sum": "ns",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
    "launch__registers_per_thread": "registers",
}
UNABLE = re.compile(r"ERR_NVGPUCTRPERM.*|Unable to .*|not supported.*|No kernels were profiled.*")


def readRows(text):
    """{kernel: {figure: value}} of ncu's CSV, the last launch of each kernel."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError(lastLine(text) or "ncu printed nothing")
    kernels = {}
    for row in csv.DictReader(lines[start:]):
        figure = METRICS.get(row.get("Metric Name"))
        if figure:
            kernels.setdefault(row["Kernel Name"], {})[figure] = \
                float(row["Metric Value"].replace(",", ""))
    if not kernels:
        raise ValueError("ncu reported no kernel")
    return kernels


def check(context, results, tool, entry):
    name, begin = entry["name"], results.seconds()
    limit = min(60, context.left())
    if limit < 1:
        return results.skip(GROUP, [name], "no time left")
    command = [tool, "--csv", "--target-processes=all", "--clock-control=none",
               "--metrics=" + ",".join(METRICS),
               *context.runner(entry["file"], "random:seed=0")]
    try:
        done = execute(command, limit, env=context.environment)
    except TimeIsUp:
        return results.skip(GROUP, [name], f"not done after {limit:.0f} s")
    except OSError as error:
        return results.skip(GROUP, [name], str(error))
    taken, text = results.seconds() - begin, done.stdout + done.stderr
    try:
        kernels = readRows(done.stdout)
    except (ValueError, KeyError) as error:
        unable = UNABLE.search(text)
        if unable:
            return results.skip(GROUP, [name], unable.group(0))
        return results.add(GROUP, name, "failed", taken, f"exit {done.returncode}: {error}")
    slowest = max(kernels, key=lambda kernel: kernels[kernel].get("ns", 0))
    figures = ", ".join(f"{figure} {value:g}" for figure, value in kernels[slowest].items())
    return results.add(GROUP, name, "measured", taken, f"{slowest}: {figures}", kernels=kernels)


def run(context, results):
    entries = [entry for entry in context.list("machine") if entry["kind"] == "kernel"]
    tool = context.ncu or findTool("ncu")
    if not context.ncu and context.kind != "cuda":
        return results.skip(GROUP, ["kernels"], "a simulated device cannot be profiled")
    if not tool:
        return results.skip(GROUP, ["kernels"], "ncu is not installed")
    for entry in entries:
        check(context, results, tool, entry)
    return None
