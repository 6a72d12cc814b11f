#!/usr/bin/env python3
"""Opens pages of training programs with embeddings and scans in Chromium.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_scans.py --inspect=sinter-inspect --models=test/models --work=FOLDER

Selects every name and op of them, and compares times, calls and numbers of the commands in the
body of a scan with those of `plan` and `kernels`.
"""

import json
import subprocess

import check_page
from browser import Browser
from check_page import expect


class Check(check_page.Check):
    def run(self):
        with Browser() as browser:
            self.every(browser)
            self.scans(browser)
        print("scans: all checks passed")

    def every(self, browser):
        """Every name of training programs with embeddings and scans can be selected."""
        for model, arguments in (("train-lstm-adam.onnx", ["--unroll-scans=1"]), ("train-encoder-adamw.onnx", [])):
            browser.open(self.view("every.html", self.model(model), "--train", "--batch=8", "--optimizer=adam",
                                   *arguments))
            browser.run("window.allNames = [...new Set(app.side.program.strings.filter("
                        "s => app.side.program.removals().has(nodeOfName(s))))]")
            count = browser.run("allNames.length")
            expect(count > 10, f"{model} has only the names {browser.run('allNames')}")
            for first in range(0, count, 10):
                failed = browser.run(f"""allNames.slice({first}, {first + 10}).flatMap(name => {{
                  try {{ app.selectNode(name); }} catch (problem) {{ return [[name, problem.message]]; }}
                  return [];
                }})""")
                expect(not failed, f"{model}: these cannot be selected: {failed[:5]}")
            browser.open("about:blank", "true")
            browser.open("file://" + self.path("every.html") + "#node=/embedding/Gather")
            self.settled(browser, "all names of " + model)

    def scans(self, browser):
        """The body of a scan has its times, its calls and plan's numbers."""
        arguments = [self.model("train-lstm-adam.onnx"), "--train", "--batch=8", "--optimizer=adam", "--unroll-scans=1"]
        plans, kernels = (json.loads(subprocess.run([self.options.inspect, command, *arguments, "--json"], check=True,
                                                    capture_output=True, text=True).stdout)
                          for command in ("plan", "kernels"))
        step = next(each["commands"] for each in plans if each["name"] == "step")
        events = []
        for number, command in enumerate(step):
            if command["kind"] != "scan":
                events.append({"ph": "X", "ts": 0, "dur": 1, "args": {"command": number}})
                continue
            events += [{"ph": "X", "ts": 0, "dur": 10 * (number + inBody), "args":
                        {"command": number, "in_body": inBody, "trip": trip}}
                       for trip in range(command["trips"]) for inBody in range(len(command["body"]))]
        path = self.path("scan-events.json")
        inputs = [{"name": "tokens", "shape": [8, 6]}, {"name": "labels", "shape": [8]}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "otherData": {"entry": "step", "inputs": inputs}}, file)
        browser.open(self.view("scans.html", *arguments, f"--profile={path}"))
        shown = browser.run("app.side.program.kernels().map(k => [k.name, k.commands.reduce((s, c) => s + c.plan.runs, 0), "
                            "k.commands.reduce((s, c) => s + (c.plan.micros[c.index] || 0), 0), "
                            "(app.side.program.kernelFacts[k.name] || {}).FLOPs])")
        found = {name: (calls, us, flops) for name, calls, us, flops in shown}
        number = next(i for i, command in enumerate(step) if command["kind"] == "scan")
        inBody, launch = next((i, command) for i, command in enumerate(step[number]["body"])
                              if command["kind"] == "launch")
        kernel = next(each for each in kernels if each["name"] == launch["target"])
        wanted = (kernel["calls"], 10 * (number + inBody) * step[number]["trips"], kernel["flops"])
        expect(found[launch["target"]] == wanted,
               f"{launch['target']} has (calls, us, FLOPs) {found[launch['target']]}, not {wanted}")
        browser.run("app.openMain('kernels')")
        row = browser.run("[...document.querySelectorAll('#kernelTable tr')].find(r => r.textContent.startsWith("
                          f"{json.dumps(launch['target'])})).textContent")
        expect(f"{wanted[1]:.1f}" in row and str(wanted[0]) in row, f"the kernels show {row!r}")
        browser.run(f"app.openMain('graph'), app.setSymbol(app.side, 'step'), "
                    f"byId('search').value = {json.dumps(launch['target'][:8])}, app.search.fill()")
        browser.run("[...document.querySelectorAll('#results li[role=option]')].find("
                    f"item => item.textContent.startsWith({json.dumps(launch['target'])}) && "
                    f"item.textContent.includes('@step command {number}.{inBody}')).click()")
        expect(browser.run("app.side.selected?.op.kind === 'exec.launch'"),
               "the search does not find a kernel in the body of a scan")
        expect(f"@step command {number}.{inBody}" in browser.run("document.getElementById('selectionTab').textContent"),
               "a command in the body of a scan does not have plan's number")
        # The name of what is shown is that of what is computed.
        gradient = browser.run("(leaf => { app.select(app.side, leaf); return leaf.op.computes; })"
                               "((app.showPlan(app.side.program.plans().find(p => p.symbol === 'step')), app.side.graph.leaves)"
                               ".find(leaf => leaf.op && leaf.op.kind === 'exec.launch' && leaf.op.computes.length && "
                               "leaf.op.computes.every(name => name.startsWith('grad('))))")
        nodes = browser.run("[...document.querySelectorAll('#codeNodes a')].map(a => a.textContent)")
        expect(nodes and set(gradient) <= set(nodes) and all(name.startswith("grad(") for name in nodes),
               f"the code of a kernel of {gradient} names {nodes}")
        browser.run("document.querySelector('#codeNodes a').click()")
        expect(browser.run("app.side.selected.op.computes.includes(document.querySelector('#codeNodes a').textContent)"),
               "a gradient in the code pane selects another op")
        self.settled(browser, "scans")


if __name__ == "__main__":
    check_page.main(Check, "scans")
