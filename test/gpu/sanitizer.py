"""Runs compute-sanitizer on generated kernels: memcheck, racecheck, initcheck, synccheck. The
programs are those that simulated.py packs, with each value in memory of its own.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re
import shutil

from results import TimeIsUp, execute, lastLine

GROUP = "sanitizer"
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
# Of the programs beside the simulated device: none calls a library.
PROGRAMS = ["norms", "whole numbers in bf16", "lenet", "few-results", "softmax, 4096 columns",
            "layer norm, gradient", "cross-entropy and gradient, 1000 classes", "transpose",
            "whole numbers in tf32", "gru", "attention-mask", "whole numbers in f16", "add + gelu",
            "Adam", "unet-transpose", "mobilenet-v3", "ranking", "gpt2"]
FOLDERS = ["/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/opt/cuda/bin"]
ERRORS = 9  # what it exits with when it found something
LONGEST = 120  # seconds of one program


def find(given):
    """The tool, or why there is none."""
    if given:
        return (given, "") if shutil.which(given) else ("", f"{given} is not there")
    for folder in [None, *FOLDERS]:
        found = shutil.which("compute-sanitizer", path=folder)
        if found:
            return found, ""
    return "", "compute-sanitizer is not installed"


def verdict(text):
    """(outcome, detail) of what the tool and the program printed. Where the tool cannot work
    nothing was checked; without its sum, something ended the program."""
    unable = re.search(r"Device not supported.*|Unable to .*|Failed to initialize.*|"
                       r"Internal Sanitizer Error.*|before first instrumented API call", text)
    summary = re.findall(r"SUMMARY: (.*)", text)
    if unable and (not summary or summary[-1].startswith("0 ")):
        return "skipped", unable.group(0)
    if not summary:
        return "failed", f"it gave no summary: {lastLine(text)}"
    if re.match(r"0 (errors|hazards)", summary[-1]):
        return "passed", summary[-1]
    found = re.search(r"^=+ ((?!COMPUTE-SANITIZER).*)", text, re.M)
    return "failed", f"{summary[-1]}: {found.group(1).strip() if found else ''}"


def run(context, results):
    entries = {entry["name"]: entry for entry in context.list("simulated")}
    jobs = [(tool, name) for name in PROGRAMS if name in entries
            for tool in TOOLS][:8 if context.small else None]
    names = [f"{tool}: {name}" for tool, name in jobs]
    if not context.sanitizer and context.kind != "cuda":
        return results.skip(GROUP, TOOLS, "a simulated device has checks of its own")
    sanitizer, why = find(context.sanitizer)
    if not sanitizer:
        return results.skip(GROUP, TOOLS, why)

    def check(job):
        (tool, program), name = job
        inputs, = context.models([entries[program]["inputs"]])
        log = os.path.join(context.scratch, f"{tool}-{os.path.basename(entries[program]['file'])}")
        command = [sanitizer, f"--tool={tool}", f"--error-exitcode={ERRORS}", f"--log-file={log}",
                   *context.runner(entries[program]["file"], inputs, "--sync-launches")]
        limit = min(LONGEST, context.left())
        if limit < 1:
            return results.skip(GROUP, [name], "no time left")
        return judge(context, name, command, limit, log)
    return context.inParallel(check, list(zip(jobs, names)))


def judge(context, name, command, limit, log):
    begin = context.results.seconds()
    try:
        done = execute(command, limit,
                       env={**context.environment, "SINTER_DEBUG": "separate-slices"})
    except TimeIsUp:
        return context.results.skip(GROUP, [name], f"not done after {limit:.0f} s")
    except OSError as error:
        return context.results.skip(GROUP, [name], str(error))
    text = done.stdout + done.stderr
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read() + text
    outcome, detail = verdict(text)
    if outcome == "passed" and done.returncode:
        outcome, detail = "failed", f"exit {done.returncode}: {lastLine(done.stderr)}"
    return context.results.add(GROUP, name, outcome, context.results.seconds() - begin, detail)
