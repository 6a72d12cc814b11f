"""Runs graphs with sinter-graphs and reads what it says.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

MODES = ["cpu", "cpu-O0", "cpu-none", "cpu-bf16", "cpu-grad", "sim", "sim-none", "sim-bf16",
         "sim-grad"]
DEFECT = "defect of Sinter"


@dataclass(frozen=True)
class Result:
    mode: str
    outcome: str  # passed, unstable, none, refused, failed, crashed
    text: str

    @property
    def isFinding(self):
        return self.outcome in ("failed", "crashed") or DEFECT in self.text

    def kind(self):
        """The same for graphs that fail in the same way: the text without numbers and names."""
        text = re.sub(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|-?\d+(\.\d+)?(e[+-]?\d+)?|\b(nan|inf)\b", "#",
                      self.text)
        return self.mode, self.outcome, re.sub(r"tensor<[^>]*>", "tensor", text)


def modesOf(number, wanted):
    """A graph runs in two modes of the wanted ones beside the first; in turn."""
    first, *rest = wanted
    chosen = [rest[(2 * number + i) % len(rest)] for i in range(min(2, len(rest)))]
    return [first, *dict.fromkeys(chosen)]


class Runner:
    def __init__(self, build, folder, jobs, oracle=None):
        self.program = os.path.join(build, "bin", "sinter-graphs")
        self.folder, self.jobs, self.oracle = folder, jobs, oracle

    def run(self, graphs, timeoutSeconds=120):
        """`graphs`: name -> (graph, modes). Returns name -> list of Result."""
        lines, results = [], {name: [] for name in graphs}
        for name, (graph, modes) in graphs.items():
            folder = os.path.join(self.folder, name)
            graph.write(folder)
            if self.oracle:
                why = self.oracle.write(graph, folder)
                if why:
                    results[name].append(Result("oracle", "none", why))
            lines.append("\t".join([folder, *modes]) + "\n")
        done = subprocess.run([self.program, f"--jobs={self.jobs}",
                               f"--timeout={timeoutSeconds}"], input="".join(lines),
                              stdout=subprocess.PIPE, text=True, errors="replace", check=True)
        for line in done.stdout.splitlines():
            folder, mode, outcome, text = line.split("\t", 3)
            name = os.path.basename(folder)
            if outcome == "crashed":
                ended = {r.mode for r in results[name]}
                mode = next((m for m in graphs[name][1] if m not in ended), "")
            results[name].append(Result(mode, outcome, text))
        for name in graphs:
            shutil.rmtree(os.path.join(self.folder, name))
        return results
