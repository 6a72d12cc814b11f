#!/usr/bin/env python3
"""Checks that `sinter-inspect why` numbers commands as `sinter-inspect plan` does.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    why_numbers.py MODEL [FLAG...]        sinter-inspect must be in the PATH

Asks for the memory of every node of the plan. Each answer that names a command must name one of the
plan, of that kind and with that node; a buffer of an arena must lie where that command writes.
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


def checkCommand(text, node, programs):
    """A reason "command 3 of @main: launch k0_add"."""
    for number, entry, kind, kernel in re.findall(r"^command (\d+) of @(\w+): (\w+)(?: (\w+))?", text):
        command = programs[entry]["commands"][int(number)]
        assert (command["kind"], command["target"]) == (kind, kernel or kind), (text, command)
        assert {node, f"grad({node})"} & set(command["nodes"]), (text, command)
        return 1
    return 0


def checkBuffer(text, programs):
    """A reason "buffer: @main: 64 bytes of T, written by command 3, at 0 of the arena, from ..."."""
    found = re.search(r"@(\w+): (\d+) bytes of .*, written by command (\d+), at (\d+) of the arena"
                      r"(?: of ([\w:]+))?, from command (\d+) to (\d+|the end)", text)
    if not found:
        return 0
    entry, size, writer, offset, device, first, last = found.groups()
    program = programs[entry]
    commands = program["commands"]
    assert (device is not None) == ("arenas" in program), text
    places = [w for w in commands[int(writer)]["writes"] if w["space"] == "arena"]
    assert (int(offset), int(size)) in [(w["offset"], w["size"]) for w in places], (text, places)
    assert int(first) <= int(writer), text
    assert all(c["kind"] not in ("record", "wait") for c in
               [commands[int(n)] for n in (first, writer, last) if n != "the end"]), text
    if device:
        assert device == commands[int(writer)].get("to", commands[int(writer)]["device"]), text
    return 1


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
    events = sum(c["kind"] in ("record", "wait") for p in plan for c in p["commands"])
    print(f"{events} events, {numbers[0]} commands and {numbers[1]} buffers as in the plan")
    return not all(numbers)


if __name__ == "__main__":
    sys.exit(main())
