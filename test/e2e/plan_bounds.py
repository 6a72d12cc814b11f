"""Checks the memory plans of models by recounting them from their commands.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    plan_bounds.py SCRATCH_FOLDER MODEL.onnx...

Each model is planned for inference and as a trainer (mean squared error on its first
float output, Adam). For every program:
  - values that are live at the same time share no byte, except a result in the memory of
  an operand whose last reader is the command that writes the result;
  - the plan's "max live" is the most that its commands keep alive;
  - the arena is at most 1.10 times that;
  - that is at most 1.05 times the best of the tried orders, of which there are at least five.
Prints the worst ratios and `N passed, M failed, 0 skipped`.
"""

import json
import os
import re
import subprocess
import sys

import npz

ARENA_BOUND, ORDER_BOUND, ALIGNMENT = 1.10, 1.05, 64


def inspect(folder, model, options):
    """The programs of `sinter-inspect plan`, the orders' bytes by program, the error."""
    remarks = os.path.join(folder, "remarks.json")
    result = subprocess.run(["sinter-inspect", "plan", model, "--json", "-O0",
                             "--remarks=" + remarks, *options], capture_output=True, text=True)
    if result.returncode != 0:
        return None, None, result.stderr.strip()
    orders = {}
    with open(remarks) as file:
        for line in file:
            remark = json.loads(line)
            if remark["kind"] == "planned":
                name, tried = re.match(r"@(\S+): .* tried:([ \d]+)$", remark["text"]).groups()
                orders[name] = [int(x) for x in tried.split()]
    return json.loads(result.stdout), orders, None


class Value:
    def __init__(self, begin, size, first):
        self.begin = begin
        self.end = begin + -(-size // ALIGNMENT) * ALIGNMENT
        self.first = self.last = first


def valuesOf(commands):
    """What commands write into the arena, with the commands of first and last use."""
    values, current = [], {}  # current: offset -> value
    for number, command in enumerate(commands):
        for slice_ in command["reads"]:
            if slice_["space"] == "arena" and slice_["size"]:
                # A product may begin inside of what it reads.
                holders = [value for value in current.values()
                           if value.begin <= slice_["offset"] < value.end]
                max(holders, key=lambda value: value.first).last = number
        for begin, end in writtenBy(command):
            value = Value(begin, end - begin, number)
            current[begin] = value
            values.append(value)
    return values


def writtenBy(command):
    """What a command writes in the arena: the begin and the end of each value. The three gradients
    of an attention may be lines of one value: then they begin equally far apart, and each slice
    reaches to the end of the value. The plan's claim of what is live confirms that it is one."""
    places = sorted((slice_["offset"], slice_["offset"] + slice_["size"])
                    for slice_ in command["writes"]
                    if slice_["space"] == "arena" and slice_["size"])
    if command["kind"] == "attention" and len(places) == 3:
        begins, ends = zip(*places)
        if len(set(ends)) == 1 and begins[1] - begins[0] == begins[2] - begins[1]:
            return [(begins[0], ends[0])]
    return places


def problemsOf(entry, tried):
    """Sentences, and the two ratios."""
    values, problems, mostLive = valuesOf(entry["commands"]), [], 0
    for number in range(len(entry["commands"])):
        live = sorted((v for v in values if v.first <= number <= v.last),
                      key=lambda v: (v.begin, v.first))
        bytes_ = 0
        for before, value in zip([None] + live, live):
            if before is None or value.begin >= before.end:
                bytes_ += value.end - value.begin
            elif (value.begin, value.end) != (before.begin, before.end) or \
                    not before.last == value.first == number:
                problems.append(f"command {number}: values at {before.begin} and"
                                f" {value.begin} overlap")
        mostLive = max(mostLive, bytes_)
    claimed, arena = entry["max_live_bytes"], entry["arena_bytes"]
    if claimed != mostLive:
        problems.append(f"{claimed} bytes live at most by the plan, {mostLive} by its commands")
    if max((v.end for v in values), default=0) > arena:
        problems.append("a value ends behind the arena")
    if len(tried) < 5:
        problems.append(f"{len(tried)} orders tried")
    arenaRatio = arena / mostLive if mostLive else 1.0
    orderRatio = mostLive / min(tried) if mostLive else 1.0
    if arenaRatio > ARENA_BOUND:
        problems.append(f"arena {arena} is {arenaRatio:.3f}x of {mostLive} live bytes")
    if orderRatio > ORDER_BOUND:
        problems.append(f"{mostLive} live bytes are {orderRatio:.3f}x of the best order tried")
    return problems, arenaRatio, orderRatio


def sizesOf(model):
    """The options that bind open sizes: those of the model's test data, or batch 4 (8, that of
    their export, for the files of make_exports.py)."""
    data = model.removesuffix(".onnx") + "-in.npz"
    if not os.path.exists(data):
        isExport = os.path.basename(model).startswith("export-")
        return ["--batch=8" if isExport else "--batch=4"]
    return [f"--shape={name}={'x'.join(map(str, array.shape))}"
            for name, array in npz.readNpz(data).items() if array.shape]


def plans(folder, model):
    """(title, programs, orders, error) of inference and of training."""
    sizes = sizesOf(model)
    programs, orders, error = inspect(folder, model, sizes)
    yield "inference", programs, orders, error
    if programs is None:
        return
    summary = subprocess.run(["sinter-inspect", model, "--json", "-O0", *sizes],
                             capture_output=True, text=True, check=True).stdout
    floats = [o["name"] for o in json.loads(summary)["entries"][0]["outputs"]
              if o["dtype"] == "float32"]
    if not floats:  # codes have no loss
        return
    trained = inspect(folder, model, [*sizes, "--train", "--allow-rewritten-parameters",
                                      "--optimizer=adam",
                                      f"--loss=mse:logits={floats[0]}"])
    # A model without weights, or whose outputs do not begin with the batch.
    if not any(why in (trained[2] or "")
               for why in ("nothing to train", "does not begin with the batch")):
        yield "trainer", *trained


def main():
    folder, models = sys.argv[1], sys.argv[2:]
    passed, failed, worstArena, worstOrder = 0, 0, (0, ""), (0, "")
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        for title, programs, orders, error in plans(folder, model):
            problems = [error] if programs is None else []
            for entry in programs or []:
                wrong, arena, order = problemsOf(entry, orders[entry["name"]])
                problems += [f"@{entry['name']}: {text}" for text in wrong]
                where = f"{name}, {title}, @{entry['name']}"
                worstArena = max(worstArena, (arena, where))
                worstOrder = max(worstOrder, (order, where))
            for problem in problems:
                print(f"{name}, {title}: {problem}")
            failed += bool(problems)
            passed += not problems
    print(f"worst arena: {worstArena[0]:.4f}x of what is live ({worstArena[1]})")
    print(f"worst order: {worstOrder[0]:.4f}x of the best tried ({worstOrder[1]})")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
