#!/usr/bin/env python3
"""Checks that `sinter-inspect why` numbers commands as `sinter-inspect plan` does.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    why_numbers.py MODEL [FLAG...]        sinter-inspect must be in the PATH

Asks for the memory of every node of the plan. Each answer that names a command must name one of the
plan, of that kind and with that node; a buffer of an arena must lie where that command writes. Commands
in the body of a scan have numbers like 15.0. What is live at the peak must have all bytes of the peak.
"""

import json
import re
import subprocess
import sys


def inspect(*arguments):
    run = subprocess.run(["sinter-inspect", *arguments], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"sinter-inspect {' '.join(arguments)[:200]}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def commandAt(program, number):
    """The command "3", or "15.0": the first one in the body of command 15."""
    commands = program["commands"]
    outer, _, inner = number.partition(".")
    return commands[int(outer)]["body"][int(inner)] if inner else commands[int(outer)]


def order(number):
    return [int(part) for part in number.split(".")]


def checkCommand(text, node, programs):
    """A reason "command 3 of @main: launch k0_add"."""
    for number, entry, kind, kernel in re.findall(r"^command ([\d.]+) of @(\w+): (\w+)(?: (\w+))?", text):
        command = commandAt(programs[entry], number)
        assert (command["kind"], command["target"]) == (kind, kernel or kind), (text, command)
        assert {node, f"grad({node})"} & set(command["nodes"]), (text, command)
        return 1
    return 0


def checkBuffer(text, programs):
    """A reason "buffer: @main: 64 bytes of T, written by command 3, at 0 of the arena, from ..."."""
    found = re.search(r"@(\w+): (\d+) bytes of .*, written by command ([\d.]+), at (\d+) of the arena"
                      r"(?: of ([\w:]+))?, from command ([\d.]+) to ([\d.]+|the end(?: of the trip)?)", text)
    if not found:
        return 0
    entry, size, writer, offset, device, first, last = found.groups()
    program = programs[entry]
    command = commandAt(program, writer)
    assert (device is not None) == ("arenas" in program), text
    places = [w for w in command["writes"] if w["space"] == "arena"]
    assert (int(offset), int(size)) in [(w["offset"], w["size"]) for w in places], (text, places)
    assert order(first) <= order(writer), text
    assert all(commandAt(program, n)["kind"] not in ("record", "wait") for n in
               (first, writer, last) if not n.startswith("the end")), text
    if device:
        assert device == command.get("to", command["device"]), text
    return 1


def checkPeak(reasons, programs):
    """"@main: the peak is command 3 with 64 bytes live", and "@main: 64 bytes: NODE: ..."."""
    peaks, sums, last = {}, {}, None
    for reason in reasons:
        entry, text = reason["text"].removeprefix("@").split(": ", 1)
        if found := re.match(r"the peak(?: of [\w:]+)? is command \d+ with (\d+) bytes live", text):
            peaks[entry], last = peaks.get(entry, 0) + int(found[1]), None
            continue
        size = int(re.match(r"(\d+) bytes: .", text)[1])
        assert last is None or size <= last, reasons
        sums[entry], last = sums.get(entry, 0) + size, size
        checkBuffer(reason["text"], programs)
    assert peaks == sums and set(peaks) == set(programs), (peaks, sums)
    for entry, peak in peaks.items():
        assert peak == programs[entry]["max_live_bytes"], (entry, peak)


def main():
    flags = sys.argv[1:]
    plan = inspect("plan", *flags, "--json")
    programs = {program["name"]: program for program in plan}
    nodes = sorted({n for p in plan for c in p["commands"] for n in c["nodes"] if not n.startswith("grad(")})
    questions = [f"--{option}={node}" for node in nodes for option in ("bytes", "recomputed")]
    numbers = [0, 0]
    for question, answer in zip(questions, inspect("why", *flags, *questions, "--json")):
        node = question.split("=", 1)[1]
        for reason in answer["reasons"]:
            numbers[0] += checkCommand(reason["text"], node, programs)
            numbers[1] += checkBuffer(reason["text"], programs)
    (peak,) = inspect("why", *flags, "--bytes", "--json")
    checkPeak(peak["reasons"], programs)
    events = sum(c["kind"] in ("record", "wait") for p in plan for c in p["commands"])
    print(f"{events} events, {numbers[0]} commands and {numbers[1]} buffers as in the plan")
    return not all(numbers)


if __name__ == "__main__":
    sys.exit(main())
