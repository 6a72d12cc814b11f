"""The results of test/exports as lines, counts and a Markdown table; called by run.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
from collections import Counter

KINDS = ["training", "inference"]
RESULTS = ["agrees", "differs", "names differ", "refused", "crash", "export failed",
           "no reference"]
# Of PyTorch's own float32 run: above this the bound of 1e-5 would mean little.
FLOAT32 = 5e-6


def read(path):
    """{(network, way): the newest result}."""
    results = {}
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                result = json.loads(line)
                results[result["network"], result["way"]] = result
    return results


def append(path, result):
    with open(path, "a") as file:
        file.write(json.dumps(result) + "\n")


def failed(name, error):
    """The result of a network that PyTorch itself cannot train."""
    result = {"result": "no reference", "what": error}
    return {"network": name, "way": "reference", "training": result, "inference": result}


def describe(result):
    """One result in words."""
    text = result["result"]
    if "loss" in result and result["result"] == "agrees":
        text += f" (loss {result['loss']:.0e}, states {result['state']:.0e})"
    if result.get("unused"):
        text += f", {result['unused']} unused left out"
    return text + (": " + result["what"] if result["what"] else "")


def show(result):
    print(f"{result['network']:<24} {result['way']:<13} {describe(result['training'])}"
          + (f" | inference {describe(result['inference'])}"
             if result["inference"]["result"] != result["training"]["result"] else ""), flush=True)


def counts(results, ways):
    """[(way, kind, Counter of results)]."""
    return [(way, kind, Counter(r[kind]["result"] for r in results if r["way"] == way))
            for way in ways for kind in KINDS]


def inaccurate(results):
    """Networks that PyTorch's own float32 trains too differently from its float64."""
    return sorted({(r["network"], r["float32"]) for r in results if r.get("float32", 0) > FLOAT32})


def summary(results, ways):
    print("\nsummary")
    for way, kind, count in counts(results, ways):
        print(f"  {way:<13} {kind:<10} "
              + (", ".join(f"{count[name]} {name}" for name in RESULTS if count[name]) or "none"))
    for name, error in inaccurate(results):
        print(f"  PyTorch's own float32 differs: {name} by {error:.1e}")


def cell(result):
    """A result in a word or two; what it means in full is in the list below the table."""
    text = result["result"]
    if text == "agrees" and "loss" in result:
        text += f" {max(result['loss'], result['state']):.0e}"
    return text


def write(path, results, ways):
    """Counts, a row for each network with its trainings (the larger of the distances of losses
    and weights), and in full what does not agree."""
    used = [name for name in RESULTS if any(c[name] for _, _, c in counts(results, ways))]
    lines = ["| export | | " + " | ".join(used) + " |", "|---|---|" + "---:|" * len(used)]
    for way, kind, count in counts(results, ways):
        lines.append(f"| {way} | {kind} | " + " | ".join(str(count[n]) for n in used) + " |")
    found = {(r["network"], r["way"]): r for r in results}
    lines += ["", "| network | " + " | ".join(ways) + " | inference |",
              "|---|" + "---|" * (len(ways) + 1)]
    for network in dict.fromkeys(r["network"] for r in results):
        row = [found[network, way] for way in ways if (network, way) in found]
        inference = Counter(cell(r["inference"]) for r in row)
        lines.append("| " + " | ".join(
            [network, *(cell(r["training"]) for r in row),
             ", ".join(f"{n} {what}" for what, n in inference.items())]) + " |")
    lines += ["", "What does not agree:", ""]
    for r in results:
        for kind in KINDS:
            if r[kind]["result"] == "agrees" or (kind == "inference" and
                                                 r[kind] == r["training"]):
                continue
            lines.append(f"- {r['network']}, {r['way']}, {kind}: {describe(r[kind])}")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"table: {path}")
