"""Loads the PTX and the cubins of every program, without running them: what the driver refuses.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

prepare() finds them in the programs, each once, and writes where they lie. The loading is
divided among processes, since a driver compiles PTX for some minutes in all.
"""

import hashlib
import os
import re
import struct
import subprocess

from results import TimeIsUp, execute, lastLine

GROUP = "load"
PROBE = "sinter-gpu-probe"
MISSING, NO_TIME = 77, 75  # its exit codes
TEXT = re.compile(rb"\.version \d+\.\d+\n\.target sm_(\d+)")
CUBIN = re.compile(rb"\x7fELF\x02.{13}\xbe\0", re.S)  # of the machine EM_CUDA


def texts(path):
    """(offset, text, architecture) of each PTX in a file, which ends with a zero. That of a
    program that only calls libraries has no kernel, and is not loaded."""
    with open(path, "rb") as file:
        data = file.read()
    for found in TEXT.finditer(data):
        text = data[found.start():data.find(b"\0", found.start())]
        if b".entry " in text:
            yield found.start(), text, int(found.group(1))


def cubins(path):
    """(offset, bytes, architecture) of each cubin in a file; see test/runtime/Cubin.cpp."""
    with open(path, "rb") as file:
        data = file.read()
    for found in CUBIN.finditer(data):
        head = data[found.start():found.start() + 64]
        if len(head) < 64:
            continue
        programs, sections, flags = struct.unpack_from("<QQI", head, 32)
        programSize, programCount, sectionSize, sectionCount = struct.unpack_from("<4H", head, 54)
        size = max(programs + programSize * programCount, sections + sectionSize * sectionCount)
        yield (found.start(), data[found.start():found.start() + size],
               flags >> (8 if head[8] >= 8 else 0) & 0xff)


def prepare(bundle):
    """ptx.json; the largest first."""
    known, entries = set(), []
    for path in bundle.files():
        name = os.path.relpath(path, bundle.out)
        if name.startswith(("bin/", "lib/", "models/")) or name.endswith((".json", ".npz", ".py")):
            continue
        for kind, parts_ in (("PTX", texts(path)), ("cubin", cubins(path))):
            for offset, part, architecture in parts_:
                key = hashlib.sha256(part).digest()
                if key not in known:
                    known.add(key)
                    entries.append({"file": name, "offset": offset, "size": len(part),
                                    "arch": architecture, "kind": kind})
    bundle.write("ptx", sorted(entries, key=lambda entry: -entry["size"]))


def parts(context):
    """{name: entries}: the PTX that a GPU of compute capability 9.0 loads, in two halves, its
    cubins, and then the PTX of an older one."""
    cubins_ = [entry for entry in context.list("ptx") if entry["kind"] == "cubin"]
    entries = [entry for entry in context.list("ptx") if entry["kind"] == "PTX"]
    newest = max((entry["arch"] for entry in entries), default=0)
    mine = [entry for entry in entries if entry["arch"] == newest]
    others = [entry for entry in entries if entry["arch"] != newest]
    return {"first half": mine[::2], "cubins": cubins_, "second half": mine[1::2],
            "older": others}


CASE = re.compile(r"^ *[\d.]+ s  (not run|\S+) ", re.M)  # of the probe's output


def failed(line):
    """Whether it is of a case that is not ok."""
    case = CASE.match(line)
    return case and case.group(1) not in ("ok", "not run")


def countOk(outputs):
    """(how many cases are ok, whether each process tried one), of what processes said."""
    counts = [CASE.findall(output).count("ok") for output in outputs]
    return sum(counts), all(counts)


def check(context, results, name, entries, seconds, isSample=False):
    """One row: the entries, loaded by as many processes as there are cores. Of a sample it is
    enough that each process has loaded some: a driver compiles PTX for some minutes, and a
    process that is ended while it compiles has not failed."""
    begin = results.seconds()
    if not entries:
        return results.skip(GROUP, [name], "the folder has none")
    if context.left() < 1:
        return results.skip(GROUP, [name], "no time left")
    count = min(os.cpu_count() or 1, 16, len(entries))

    def load(number):
        path = os.path.join(context.scratch, f"load-{number}.txt")
        with open(path, "w", encoding="utf-8") as file:
            for entry in entries[number::count]:
                file.write(f"{context.path(entry['file'])} {entry['offset']} {entry['size']}\n")
        left = context.left()
        try:
            return execute([*context.program("bin", PROBE), "load", path,
                            f"--device={context.device}", f"--seconds={seconds}"],
                           max(1, min(left - 0.5, seconds + 0.5) if isSample else left),
                           env=context.environment)
        except TimeIsUp as late:
            errors = "\n".join(line for line in late.output.splitlines() if failed(line))
            return subprocess.CompletedProcess([], 1 if errors else NO_TIME, late.output, errors)
    done = context.inParallel(load, range(count), jobs=count)
    for process in done:
        print(process.stdout, end="")
    taken = results.seconds() - begin
    broken = [process for process in done if process.returncode not in (0, NO_TIME, MISSING)]
    if broken:
        why = broken[0].stderr.strip() or f"exit {broken[0].returncode}"
        return results.add(GROUP, name, "failed", taken, why)
    kind = entries[0]["kind"]
    if any(process.returncode for process in done):
        missing = [process for process in done if process.returncode == MISSING]
        if missing:
            return results.skip(GROUP, [name], lastLine(missing[0].stderr))
        tried, areAllTrying = countOk([process.stdout for process in done])
        some = f"{tried} of {len(entries)} {kind} by {count} processes"
        if isSample and areAllTrying:
            return results.add(GROUP, name, "passed", taken,
                               f"{some}, the rest not tried for lack of time")
        return results.skip(GROUP, [name], f"no time left for all: {some}")
    return results.add(GROUP, name, "passed", taken,
                       f"{len(entries)} {kind} by {count} processes")


def run(context, results):
    for name, entries in parts(context).items():
        check(context, results, name, entries, max(1.0, context.left() - 5))
