"""Measures a row of tools/dev bench: processes that time runs when they are told to.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. All sides of a row are started, give their first result one
after the other, and stay alive; then rounds alternate between them. A side is a Side: ours is
`sinter-run --bench --rounds=stdin` or a trainer's `bench`, others speak as peers.py does.
"""

import datetime
import json
import os
import queue
import re
import statistics
import subprocess
import threading
import time

import peers
import rows

# Seconds: threads of the side before may wait in a loop for so long.
SPIN_S = 0.25


class SideError(Exception):
    """Why a side has no figures: one line."""


class Side:
    """A process. `prepare()` waits for its first result, `measure(count)` gives milliseconds of
    one run. `firstS` and `bytes` are of the process: from its start to the first result, and the
    most memory that it had."""

    def __init__(self, name, command, log, timeoutS=900):
        self.name, self.log, self.timeoutS = name, log, timeoutS
        self.facts, self.firstS, self.bytes, self.version = {}, None, None, ""
        self.answers, self.begin = queue.Queue(), time.monotonic()
        with open(log, "w") as errors:
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True,
                                                stdout=subprocess.PIPE, stderr=errors)
            except OSError as error:
                raise SideError(str(error)) from None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def tell(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            raise SideError(self.lastWords()) from None

    def answer(self):
        try:
            line = self.answers.get(timeout=self.timeoutS)
        except queue.Empty:
            raise SideError(f"took more than {self.timeoutS} s") from None
        if line is None:
            raise SideError(self.lastWords())
        try:
            found = json.loads(line)
        except ValueError:
            raise SideError(f"says '{line.strip()[:80]}'") from None
        if "skip" in found:
            raise SideError(found["skip"])
        return found

    def lastWords(self):
        code = self.process.wait()
        with open(self.log, errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return f"exit {code}" + (f": {lines[-1][:200]}" if lines else "")

    def countMemory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    self.bytes = 1024 * int(line.split()[1])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


class Ours(Side):
    """`output`: where a program for inference writes its results; a trainer has losses."""

    def __init__(self, command, log, output=None):
        super().__init__("sinter", command, log)
        self.output = output

    def prepare(self):
        self.tell("1")
        first = self.answer()
        self.firstS = time.monotonic() - self.begin
        if self.output:
            return
        losses = [first["loss"]]
        for _ in range(rows.FIRST_STEPS - 1):
            self.tell("1")
            losses.append(self.answer()["loss"])
        self.facts = {"losses": losses}

    def measure(self, count):
        self.tell(str(count))
        found = self.answer()
        return found.get("ms_per_run", found.get("ms_per_step"))


class Peer(Side):
    def prepare(self):
        self.facts = self.answer()
        self.firstS = time.monotonic() - self.begin
        self.version = self.facts.get("version", "")

    def measure(self, count):
        self.tell(json.dumps({"run": count}))
        return self.answer()["ms"]

    def errorsTo(self, ours):
        """How far our output is from its own (peers.py)."""
        self.tell(json.dumps({"check": ours.output}))
        return self.answer()


class Reference:
    """What the losses of a row's first steps should be: those in float64, and how far float32
    alone takes them from there."""

    # The rounding is the largest of few runs of one implementation; others, which add in another
    # order, round several times as much.
    FACTOR = 10

    def __init__(self, losses, rounding, tolerance):
        self.losses = losses
        self.bounds = [max(tolerance, self.FACTOR * distance) for distance in rounding]

    @staticmethod
    def read(row, folder):
        with open(os.path.join(folder, row.losses)) as file:
            return Reference(**json.load(file), tolerance=rows.LOSS_TOLERANCE[row.precision])

    def check(self, losses):
        """The largest relative distance, and what is wrong with the first step that is beyond
        its bound, or None."""
        errors = [abs(loss - own) / abs(own) for loss, own in zip(losses, self.losses, strict=True)]
        for step, (error, bound) in enumerate(zip(errors, self.bounds), 1):
            if not error <= bound:
                return max(errors), (f"the loss of step {step} is {error:.1e} away from that in"
                                     f" float64, more than {bound:.0e}")
        return max(errors), None


class Result:
    """Of one row. `times`: {side: [milliseconds of a round]}; `leftOut`: {peer: why};
    `problems`: why the row fails; `numbers`: compileS, binaryBytes, floorMs, where known."""

    def __init__(self, row):
        self.date = datetime.date.today().isoformat()
        self.row, self.times, self.leftOut, self.problems = row, {}, {}, []
        self.errors, self.versions, self.numbers = {}, {}, {}
        self.firstS, self.bytes, self.peerCompileS = {}, {}, {}

    def medianMs(self, name):
        return statistics.median(self.times[name])

    def ratios(self, name):
        """Of each round, ascending: above 1, we are faster."""
        return sorted(theirs / ours for theirs, ours in zip(self.times[name], self.times["sinter"]))

    def best(self):
        """The median ratio to the fastest peer, or None."""
        return min((statistics.median(self.ratios(name)) for name in self.times
                    if name != "sinter"), default=None)

    @classmethod
    def fromJson(cls, row, found):
        result, numbers = cls(row), dict(found)
        for key, name in cls.KEYS.items():
            setattr(result, name, numbers.pop(key))
        del numbers["name"]
        result.numbers = numbers
        return result

    KEYS = {"date": "date", "ms": "times", "left_out": "leftOut", "problems": "problems",
            "errors": "errors", "versions": "versions", "first_s": "firstS",
            "peak_bytes": "bytes", "peer_compile_s": "peerCompileS"}

    def json(self):
        return {"name": self.row.name,
                **{key: getattr(self, name) for key, name in self.KEYS.items()}, **self.numbers}


def compare(row, name, errors):
    """The error of our output beside that of the peer `name`, and what is wrong with it, or None."""
    limit, farther = rows.TOLERANCE.get(row.precision), errors.get("farther")
    if limit is None:
        farther = float("inf") if farther is None else farther
        return farther, (None if farther <= rows.MORE_ERROR else
                         f"the output is farther from that in fp32 than that of {name}:"
                         f" {farther:.2f} of its distance, more than {rows.MORE_ERROR:.0e}")
    # In bf16 each side rounds other values, and the distance of two has both errors.
    of, error = (("in fp32", errors.get("distance", float("inf"))) if row.precision == "bf16"
                 else (f"of {name}", errors["error"]))
    if error <= limit:
        return error, None
    wrong = f"the output is {error:.1e} away from that {of}, more than {limit:.0e}"
    if farther is not None:
        wrong += f" ({1 + farther:.2f} times as far as that of {name})"
    return error, wrong


def measureRow(row, makeOurs, makePeers, roundCount, roundS, reference=None):
    """A Result. `makeOurs` starts our side, `makePeers` are {name: function that starts it}.
    In training each side is compared with `reference`, else our output with that of each peer."""
    result, sides = Result(row), []

    def check(side):
        if not reference:
            result.errors[side.name], wrong = compare(row, side.name, side.errorsTo(sides[0]))
        else:
            result.errors[side.name], wrong = reference.check(side.facts["losses"])
            wrong = wrong and f"{side.name}: {wrong}"
        if wrong:
            result.problems.append(wrong)

    try:
        try:
            ours = makeOurs()
            sides.append(ours)
            ours.prepare()
            if reference:
                check(ours)
        except SideError as error:
            result.problems.append(f"sinter: {error}")
            return result
        for name, make in makePeers.items():
            try:
                peer = make()
                sides.append(peer)
                peer.prepare()
                check(peer)
            except SideError as why:
                result.leftOut[name] = str(why)
                continue
            result.versions[name] = peer.version
            result.peerCompileS[name] = peer.facts.get("compile_s")
        takeRounds(result, [side for side in sides if side.name not in result.leftOut],
                   roundCount, roundS)
    finally:
        for side in sides:
            side.close()
    return result


def takeRounds(result, sides, roundCount, roundS):
    """Each round begins with another side, so that none always follows the same one."""
    counts = {}
    for side in list(sides):
        try:
            side.measure(1)
            counts[side.name] = max(1, round(1e3 * roundS / max(side.measure(2), 1e-4)))
        except SideError as error:
            drop(result, sides, side, error)
    for index in range(roundCount):
        if result.problems and not any(side.name == "sinter" for side in sides):
            break
        first = index % len(sides)
        for side in sides[first:] + sides[:first]:
            try:
                if result.row.threads > 1:
                    time.sleep(SPIN_S)
                if counts[side.name] > 4:  # the caches hold what the side before used
                    side.measure(1)
                result.times.setdefault(side.name, []).append(side.measure(counts[side.name]))
            except SideError as error:
                drop(result, sides, side, error)
    for side in sides:
        side.countMemory()
        result.bytes[side.name], result.firstS[side.name] = side.bytes, side.firstS


def drop(result, sides, side, error):
    """A side that broke has no figures: ours is the row's."""
    sides.remove(side)
    result.times.pop(side.name, None)
    result.peerCompileS.pop(side.name, None)
    if side.name == "sinter":
        result.problems.append(f"sinter: {error}")
    else:
        result.leftOut[side.name] = str(error)


# --- our side and the peers of a row ---------------------------------------------------------


def compileRow(row, bin_, folder):
    """Compiles a library or trainer: ({compileS, binaryBytes, flops, ...}, its path)."""
    output = os.path.join(folder, row.file + (".trainer" if row.kind == "train" else ".so"))
    command = [os.path.join(bin_, "sinterc"), os.path.join(folder, row.graph), "-o", output,
               f"--precision={'bf16' if row.precision == 'bf16' else 'fp32'}"]
    if row.precision == rows.FAST:
        command.append("--fast-convolutions")
    if row.network not in rows.FIXED and row.precision != "int8":  # quantised for one example
        command.append(f"--batch={row.batch}")
    if row.kind == "train":
        training = rows.TRAINING[row.network]
        command += ["--train", f"--loss={training.loss}", f"--optimizer={training.optimizer}"]
        command += [f"--{key}={value}" for key, value in training.options.items()]
    else:
        command.append("--emit=lib")
    begin = time.monotonic()
    run(command)
    seconds = time.monotonic() - begin
    plan = json.loads(run([os.path.join(bin_, "sinter-inspect"), "--json", output]))
    entry = plan["entries"][0]
    with open(os.path.join(folder, row.model + ".json")) as file:
        sizes = json.load(file)
    tables = sizes["table_elements"]
    if row.precision in rows.QUANTIZED:  # products have their own codes of a tied table
        tables += sizes["tied_elements"]
    inputs = sum(4 * product(value["dims"]) for value in entry["inputs"] + entry["outputs"])
    isTraining = row.kind == "train"
    weights = plan["constants_bytes"] + (2 if isTraining else 1) * plan["state_bytes"]
    if not isTraining:
        weights -= min(weights, tables * (2 if row.precision == "bf16" else 4))
    return {"compileS": seconds, "binaryBytes": os.path.getsize(output), "flops": entry["flops"],
            "weightBytes": weights, "activationBytes": entry["max_live_bytes"] + inputs}, output


def product(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        line = next((line for line in lines if re.search(r"\b(error|ERROR):", line)), lines[-1])
        raise SideError(f"{os.path.basename(command[0])}: {line}")
    return done.stdout


def startOurs(row, bin_, folder, program):
    data = os.path.join(folder, row.data)
    log = os.path.join(folder, "sinter.log")
    if row.kind == "train":
        return Ours([program, "bench", "--json", "--shuffle=false", f"--data=npz:{data}",
                     f"--threads={row.threads}"], log)
    output = os.path.join(folder, "output.npz")
    return Ours([os.path.join(bin_, "sinter-run"), program, f"--inputs={data}", "--bench",
                 "--rounds=stdin", f"--outputs={output}", f"--threads={row.threads}"], log, output)


def startPeer(name, row, folder, python):
    """`python`: an interpreter that has the framework."""
    command = [python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.py"), name,
               folder, row.network, row.kind, str(row.batch), row.precision, str(row.threads)]
    return Peer(name, command, os.path.join(folder, name + ".log"))


# --- floors ----------------------------------------------------------------------------------


class Rates:
    """Of one core, as `sinter-run --list-devices -v` prints them."""

    def __init__(self, text):
        self.lines, self.sizes = {}, {}
        sections = text.split("\ndevice ")  # the first is about targets, the second about this CPU
        for line in sections[min(1, len(sections) - 1)].splitlines():
            name, _, value = line.strip().partition(": ")
            words = value.split()
            if len(words) == 2 and words[1] in ("GFLOP/s", "GOP/s", "GB/s"):
                self.lines[name] = float(words[0])
            if name == "caches":
                for part in value.split(", "):
                    level, size, unit = part.split()
                    self.sizes[level] = float(size) * {"KiB": 2**10, "MiB": 2**20}[unit]

    def products(self, precision):
        """1e9 operations a second, by the fastest unit that has the type; 0: not known."""
        return max((rate for name, rate in self.lines.items() if name.split()[0] == precision),
                   default=0)

    def reads(self, size):
        """1e9 bytes a second of the level that holds so many bytes, and its name."""
        for level in ("L1", "L2", "L3"):
            if size <= self.sizes.get(level, 0) and f"{level} reads" in self.lines:
                return self.lines[f"{level} reads"], level
        return self.lines.get("memory reads", 0), "memory"


def addFloor(numbers, row, rates):
    """The least time: the larger of that of the operations and that of reading weights and
    activations once, with the rates of one core times the threads. None for fast convolutions,
    which have fewer operations than are counted."""
    if row.precision == rows.FAST:
        return
    size = numbers["weightBytes"] + numbers["activationBytes"]
    unit = row.precision if row.precision in ("bf16", "int8") else "fp32"
    products, (reads, level) = rates.products(unit), rates.reads(size)
    if products and reads:
        operations = numbers["flops"] / products / 1e6
        moved = size / reads / 1e6
        numbers["floorMs"] = max(operations, moved) / row.threads
        numbers["floorOf"] = "operations" if operations >= moved else level
