#!/usr/bin/env python3
"""Decodes the data of a page as docs/inspector.md describes it, and compares it with the trace.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_data.py PAGE TRACE_JSON MODEL_JSON TRACE
"""

import base64
import json
import re
import subprocess
import sys
import zlib


def versions(program):
    """{(step, symbol): ops}: each op is (id, text, depth, number of results, nodes, operands)."""
    strings, last, all_ = program["strings"], {}, {}
    for number, step in enumerate(program["steps"]):
        for change in step["changes"]:
            symbol = strings[change["symbol"]]
            if change.get("gone"):
                del last[symbol]
                continue
            ops, items = [], iter(change["ops"])
            for item in items:
                if isinstance(item, list):
                    id_, text, depth, results, nodes, operands = item
                    ops.append((id_, strings[text], depth, results, [strings[n] for n in nodes],
                                list(zip(operands[::2], operands[1::2]))))
                else:
                    ops += last[symbol][item:item + next(items)]
            assert len({op[0] for op in ops}) == len(ops), f"{symbol}: an id twice"
            last[symbol] = all_[number, symbol] = ops
    return all_


def histories(all_):
    """{symbol: versions in order}."""
    return {name: [ops for (_, symbol), ops in sorted(all_.items(), key=lambda item: item[0][0]) if symbol == name]
            for name in {symbol for _, symbol in all_}}


def shape(text):
    """A line of IR without names of values, locations and spaces; "" for one that only ends a region."""
    text = re.sub(r'\bloc\((?:[^()"]|"(?:[^"\\]|\\.)*")*\)', "", text)
    text = re.sub(r"^(%[\w$.#:-]+,? ?)+ = ", "", text.strip())
    text = re.sub(r"%[\w$.#-]*", "%", text)
    return "" if text.strip().startswith("}") else re.sub(r"\s+", "", text)


def shown(trace, number):
    """The lines of `show` after one step, by symbol."""
    text = subprocess.run(["sinter-inspect", "show", trace, f"--pass={number}"], check=True,
                          capture_output=True, text=True).stdout
    return [shape(line) for line in text.splitlines() if not line.startswith("//")]


def edges(lines):
    """For each line of one symbol, the values in it: (line, number), where a number below 0 is an
    argument that the line of a function or block defines."""
    last, result = {}, []
    for number, line in enumerate(lines):
        text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        text = re.sub(r"\bloc\((?:[^()]|\([^()]*\))*\)", "", text)
        results, rest = re.match(r"\s*((?:%[\w$.-]+(?::\d+)?(?:, )?)+ = )?(.*)", text).groups()
        uses, arguments = [], {}
        for name, part in re.findall(r"(%[\w$.-]+)(?:#(\d+))?", rest):
            if name in arguments or re.search(re.escape(name) + ": ", rest) and name.startswith("%arg"):
                arguments.setdefault(name, -1 - len(arguments))
                uses.append((number, arguments[name]))
            else:
                place, first = last[name]
                uses.append((place, first + int(part or 0)))
        last.update({name: (number, value) for name, value in arguments.items()})
        count = 0
        for name, size in re.findall(r"(%[\w$.-]+)(?::(\d+))?", results or ""):
            last[name] = number, count
            count += int(size or 1)
        result.append(uses)
    return result


def checkEdges(ops, lines, what):
    """The operands of `ops` are the values in `lines`. Values are named once in a function, or again
    where the first is out of scope."""
    places = {op[0]: place for place, op in enumerate(ops)}
    wanted = edges(lines)
    assert len(wanted) == len(ops), f"{what}: {len(ops)} ops in {len(wanted)} lines"
    for op, uses in zip(ops, wanted):
        got = [(places[id_], number) for id_, number in op[5]]
        assert got == uses, f"{what}: {op[1]}: {got}, not {uses}"


def blocks(trace, number):
    """The lines of functions and programs after one step, by symbol, without those that only end regions."""
    text = subprocess.run(["sinter-inspect", "show", trace, f"--pass={number}"], check=True,
                          capture_output=True, text=True).stdout
    result, lines = {}, None
    for line in text.splitlines():
        if line.startswith(("func.func", "exec.program")):
            symbol = re.search(r'@"?([\w$./-]+)', line).group(1)
            lines = result[symbol] = []
        elif line[:1] not in (" ", "^", "}"):
            lines = None
        if lines is not None and not line.strip().startswith("}"):
            lines.append(line)
    return result


def main(page, traceJson, modelJson, trace):
    with open(page, encoding="utf-8") as file:
        packed = re.search(r'id="data">([^<]*)<', file.read()).group(1)
    inPage = json.loads(zlib.decompress(base64.b64decode(packed)))
    with open(traceJson, encoding="utf-8") as file:
        fromTrace = json.load(file)["programs"][0]
    with open(modelJson, encoding="utf-8") as file:
        fromModel = json.load(file)["programs"][0]
    got = versions(inPage["programs"][0])
    # Functions are compiled in parallel, so the steps of two compilations may be in another order.
    assert histories(got) == histories(versions(fromModel)), "the page and --json differ"
    got = versions(fromTrace)
    assert histories(got) == histories(versions(fromModel)), "the model and its trace differ"
    checked = 0
    for number in range(len(fromTrace["steps"])):
        symbols = sorted(symbol for step, symbol in got if step == number)
        # Lines that are only "}" have no op of their own.
        lines = sorted(line for line in shown(trace, number) if line)
        ops = sorted(filter(None, (shape(op[1]) for symbol in symbols for op in got[number, symbol])))
        assert ops == lines, f"step {number}: the ops are not those of the trace"
        for symbol, text in blocks(trace, number).items():
            checkEdges(got[number, symbol], text, f"step {number}, @{symbol}")
            checked += 1
    kernels = [name for step, name in got if name.startswith("k") and got[step, name][0][1].startswith("exec.kernel")]
    code = inPage["programs"][0]["code"]["llvm"]
    missing = [name for name in kernels if not code.get(name, "").startswith("define")]
    assert kernels and not missing, f"no code of {missing}"
    print(f"data: {len(fromTrace['steps'])} passes, {len(got)} versions of symbols are those of the trace, "
          f"the edges of {checked} functions too, {len(kernels)} kernels have code")


if __name__ == "__main__":
    main(*sys.argv[1:])
