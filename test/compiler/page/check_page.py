#!/usr/bin/env python3
"""Opens pages of `sinter-inspect view` in Chromium and clicks through them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_page.py --inspect=sinter-inspect --models=test/models --work=FOLDER [--screenshots=FOLDER]

Makes the pages, follows the links between graph, IR, kernels, code, passes and memory, and
fails on a wrong link, on an error in the console and on a request to the network. Prints the
times of loading and layout; no time is a failure. With --screenshots it also keeps pictures
of each view, light and dark.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

import models
from browser import Browser, PageError

LAYOUT_NODES = 5000


def expect(isTrue, what):
    if not isTrue:
        raise PageError(what)


class Check:
    def __init__(self, options):
        self.options = options
        os.makedirs(options.work, exist_ok=True)

    def path(self, name):
        return os.path.abspath(os.path.join(self.options.work, name))

    def view(self, name, *arguments):
        """The URL of a new page."""
        page = self.path(name)
        subprocess.run([self.options.inspect, "view", *arguments, "-o", page], check=True,
                       stderr=subprocess.DEVNULL)
        return "file://" + page

    def model(self, name):
        return os.path.join(self.options.models, name)

    def shot(self, browser, name):
        if self.options.screenshots:
            os.makedirs(self.options.screenshots, exist_ok=True)
            browser.screenshot(os.path.join(self.options.screenshots, name + ".png"))

    def settled(self, browser, what):
        expect(not browser.errors, f"{what}: errors in the console: {browser.errors}")

    def run(self):
        training = self.view("training.html", self.model("train-cnn-adam.onnx"), "--train", "--batch=8",
                             "--loss=cross-entropy", "--optimizer=adam", "--target=cuda")
        for dark in (False, True):
            with Browser(dark=dark) as browser:
                self.panes(browser, training, "dark" if dark else "light")
        with Browser() as browser:
            self.memory(browser, training)
            self.messages(browser)
            self.roles(browser)
            self.overlays(browser)
            self.strange(browser)
            self.two(browser)
            self.serve(browser)
            self.large(browser)
            self.broken(browser)
        print("page: all checks passed")

    def panes(self, browser, url, theme):
        begin = time.monotonic()
        browser.open(url)
        print(f"page: training page loaded in {time.monotonic() - begin:.2f} s, "
              f"{os.path.getsize(url[7:])} bytes")
        self.shot(browser, f"plan-{theme}")
        self.follow(browser)
        self.shot(browser, f"node-{theme}")
        self.passes(browser)
        self.shot(browser, f"pass-{theme}")
        self.keys(browser)
        self.settled(browser, "panes")

    def follow(self, browser):
        """A search finds a node; graph, selection, IR, kernel and code follow."""
        browser.run("document.getElementById('stepList').value = app.side.program.steps.findIndex("
                    "s => s.phase === 'place'); document.getElementById('stepList').onchange("
                    "{target: document.getElementById('stepList')})")
        browser.press("/", "/")
        browser.type("/3/Conv")
        expect("/3/Conv" in browser.run("document.querySelector('#results li').textContent"),
               "the search does not find a node")
        browser.press("Enter")
        expect(browser.run("app.side.selected.nodes.includes('/3/Conv')"), "the search selects another node")
        browser.run("byId('search').value = 'grad(/3/Conv)', app.search.fill()")
        expect(browser.run("[...document.querySelectorAll('#results li[role=option]')].map(item => item.textContent)."
                           "every(text => text.includes('grad(/3/Conv)')) && "
                           "document.querySelectorAll('#results li[role=option]').length > 1"),
               "the search does not find a gradient")
        browser.run("document.querySelector('#results li').click()")
        expect(browser.run("app.side.selected.op.computes.includes('grad(/3/Conv)')"),
               "the search for a gradient selects another op")
        browser.run("byId('search').value = 'optimizer', app.search.fill()")
        expect("<optimizer>" in browser.run("byId('results').textContent"), "the search does not find <optimizer>")
        browser.run("app.selectNode('/3/Conv')")
        x, y = browser.run(
            "(() => { const v = app.side.view, b = v.boxOf(app.side.selected), r = v.canvas.getBoundingClientRect();"
            "return [r.left + r.width / 2 + (b.x - v.x) * v.scale, r.top + r.height / 2 + (b.y - v.y) * v.scale]; })()")
        browser.press("Escape")
        browser.run("app.escape()")
        expect(browser.run("app.side.selected === null"), "Escape keeps the selection")
        browser.click(x, y)
        expect(browser.run("app.side.selected && app.side.selected.nodes.includes('/3/Conv')"),
               "a click does not select the node under it")
        text = browser.run("document.getElementById('selectionTab').textContent")
        for part in ("Nodes of the model", "/3/Conv", "Gradients of it", "conv_filter_grad",
                     "Kernels and library calls"):
            expect(part in text, f"the selection does not show {part!r}")
        browser.run("[...document.querySelectorAll('#selectionTab a')].find("
                    "a => a.textContent.startsWith('conv_filter_grad')).click()")
        expect(browser.run("app.side.selected.role") == "backward", "a gradient is not in the backward part")
        browser.run("app.openSide('ir')")
        expect("conv_filter_grad" in browser.run("document.querySelector('#irTab .row.selected').textContent"),
               "the IR does not show the selected op")
        kernel = browser.run("app.side.program.kernels().find(k => k.isGenerated && [...k.nodes].some("
                             "n => n.startsWith('/1/'))).name")
        browser.run(f"app.openMain('kernels'), [...document.querySelectorAll('#kernelTable a')].find("
                    f"a => a.textContent === {json.dumps(kernel)}).click()")
        code = browser.run("document.getElementById('code').textContent")
        expect(code.startswith("define") and kernel in code, "the code of a kernel is not its LLVM IR")
        browser.run("document.getElementById('codeForm').value = 'ptx', app.kernels.fillCode()")
        expect(f".entry {kernel}(" in browser.run("document.getElementById('code').textContent"),
               "the code of a kernel is not its PTX")
        expect(any(name.startswith("/1/") for name in browser.run("app.names")),
               "a kernel does not select its nodes")
        browser.run("document.getElementById('kernelGraph').click()")
        expect(browser.run("app.side.symbol") == kernel and browser.run("app.side.graph.leaves.length") > 1,
               "the graph of a kernel is not shown")
        node = browser.run("document.querySelector('#codeNodes a').textContent")
        browser.run("document.querySelector('#codeNodes a').click()")
        expect(browser.run("app.names") == [node], "a kernel's node is not selected from its code")
        browser.run("app.goTo(app.side.program.steps.findIndex(s => s.phase === 'place'))")
        browser.run("app.openMain('graph'), app.openSide('selection'), app.selectNode('/3/Conv')")

    def passes(self, browser):
        """The slider goes through all passes; a pass shows its changes and rewrites."""
        steps = browser.run("app.side.program.steps.length")
        for step in range(steps):
            browser.run(f"document.getElementById('slider').value = {step},"
                        f"document.getElementById('slider').oninput({{target: document.getElementById('slider')}})")
            expect(browser.run("app.side.step") == step, "the slider does not choose the pass")
            expect(browser.run("app.side.graph.leaves.length") > 0, f"no graph after step {step}")
        step = browser.run("app.side.program.steps.findIndex(s => s.pass === 'sinter-recognize-composites')")
        browser.run(f"app.goTo({step}), app.openSide('pass')")
        text = browser.run("document.getElementById('passTab').textContent")
        for part in ("Added in @main", "Removed in @main", "gelu", "Rewrites"):
            expect(part in text, f"the pass does not show {part!r}")
        browser.run("[...document.querySelectorAll('#passTab summary')].find("
                    "s => s.textContent.startsWith('RecognizeGelu')).parentElement.open = true")
        browser.wait("document.querySelector('#passTab pre.op .added')?.textContent.includes('sinter.gelu')")
        expect(browser.run("app.side.graph.leaves.some(l => app.side.markOf(l) === 'added')"),
               "no added op is marked")
        browser.press("b", "b")
        expect(browser.run("app.side.isBefore && app.side.graph.leaves.some(l => app.side.markOf(l) === 'removed')"),
               "no removed op is marked before the pass")
        browser.press("b", "b")
        # The erf of the GELU goes into one op of all its nodes; the constant behind it vanishes.
        browser.run("app.selectNode('/1/Constant'), app.openSide('selection')")
        text = browser.run("document.querySelector('#selectionTab .removed').textContent")
        gone = browser.run("app.side.program.steps.findIndex((s, i) => i > 0 && "
                           "!app.side.program.symbols(i).some(y => app.side.program.ops(y.name, i).some("
                           "o => o.nodes.includes('/1/Constant'))))")
        expect(gone > 0 and f"removed by {gone} " in text, f"'/1/Constant' is {text!r}, and gone after step {gone}")
        browser.run("document.querySelector('#selectionTab .removed a').click()")
        expect(browser.run("app.side.step") == gone, "the link does not go to the pass that removed a node")
        browser.run(f"app.goTo({step}), app.openSide('ir')")
        expect(browser.run("app.ir.rows.some(r => r.kind === 'removed') && app.ir.rows.some(r => r.kind === 'added')"),
               "the IR does not show the change")

    def keys(self, browser):
        browser.run("app.side.view.canvas.focus(), app.goTo(0)")
        before = browser.run("app.side.step")
        browser.press("]", "]")
        expect(browser.run("app.side.step") > before, "the key ] does not go to the next change")
        browser.run("app.selectNode('/0/Conv'), app.side.view.canvas.focus()")
        first = browser.run("app.side.selected.key")
        browser.press("ArrowDown")
        expect(browser.run("app.side.selected.key") != first, "the arrow keys do not walk along edges")
        count = browser.run("app.side.view.boxes.length")
        browser.press("c", "c")
        collapsed = browser.run("app.side.view.boxes.length")
        expect(collapsed < count, "the key c does not collapse the modules")
        browser.run("app.select(app.side, app.side.view.boxes.find(b => b.isGroup))")
        browser.run("app.side.view.canvas.focus()")
        browser.press("Enter")
        expect(browser.run("app.side.view.boxes.length") > collapsed, "Enter does not expand a module")
        browser.press("e", "e")

    def roles(self, browser):
        """With weight decay, an op of the update comes before all others."""
        example = os.path.join(self.options.models, "..", "..", "docs", "examples", "fashion_cnn.onnx")
        browser.open(self.view("decay.html", example, "--train", "--batch=8", "--loss=cross-entropy",
                               "--optimizer=adamw"))
        roles = browser.run("app.side.graph.leaves.filter(leaf => leaf.op).map(leaf => [leaf.role, leaf.op.computes])")
        counts = {role: sum(each == role for each, _ in roles) for role in ("forward", "backward")}
        expect(min(counts.values()) > 3, f"the plan of a step has {counts} commands")
        for role, names in roles:
            nodes = [name for name in names if name.startswith(("/", "grad(/"))]
            kinds = {"backward" if name.startswith("grad(") else "forward" for name in nodes}
            expect(not nodes or role.startswith((*kinds, "optimizer")), f"{names} is {role}")
        # The decisions about an op are those about what it computes.
        for role in ("forward", "backward"):
            names, computed = browser.run(
                "(leaf => (app.select(app.side, leaf), [[...namesOfSelection(app)], leaf.op.computes]))"
                f"(app.side.graph.leaves.find(leaf => leaf.op && leaf.role === '{role}' && "
                "leaf.nodes.some(name => name.startsWith('/'))))")
            expect(names and set(names) <= set(computed), f"an op of {computed} has the remarks of {names}")
            expect(browser.run("document.getElementById('selectionTab').textContent.includes('Decisions of passes')"),
                   f"no pass decided about {names}")

        # What the loss needs is forward, even if a gradient needs it as well.
        browser.open(self.view("bert.html", self.model("train-bert-adamw.onnx"), "--train", "--batch=4",
                               "--optimizer=adamw"))
        forward = browser.run("app.side.graph.leaves.filter(l => l.op && l.role === 'forward').map(l => l.op.computes)")
        expect(any("grad(" in name for names in forward for name in names), "no forward op has a gradient's nodes")
        for node in ("/bert/word/Gather", "/bert/layers.0/Softmax", "/bert/layers.1/MatMul", "/bert/layers.1/n2/LayerNormalization"):
            expect(any(node in names for names in forward), f"no forward op computes {node}")
        expect(browser.run("app.side.graph.leaves.every(leaf => leaf.role !== 'forward' || "
                           "leaf.inputs.every(from => from.role !== 'backward'))"), "a forward op reads a gradient")

    def messages(self, browser):
        """Messages of replicas are named after what they do, with their bytes; their buffers live until the await."""
        browser.open(self.view("messages.html", self.model("train-mlp-adam.onnx"), "--train", "--batch=4",
                               "--replicas=2", "--shard=optimizer", "--loss=cross-entropy", "--optimizer=adam"))
        browser.run("app.openMain('kernels')")
        table = browser.run("byId('kernelTable').textContent")
        for kind in ("all_reduce", "reduce_scatter", "all_gather"):
            expect(re.search(kind + r" [^,]*, [0-9.]+ (Ki)?BFLOPs 0, bytes read", table),
                   f"the kernels do not list {kind} with its bytes: {table}")
        expect("collective" not in table, "a message is called 'collective'")
        browser.run("app.openMain('memory')")
        browser.run("document.getElementById('program').value = [...document.getElementById('program').options]"
                    ".find(o => o.text === '@step').value, app.fillMemory()")
        awaited = browser.run(
            "(() => { const {commands} = app.memory.charts[0].plan; const event = c => / event (\\d+)/.exec(c.op.text)?.[1];"
            "return commands.filter(c => c.bytes).map(c => [c.bytes, c.op.kind, [...c.reads, ...c.writes].every("
            "b => b.last >= commands.find(e => e.op.kind === 'exec.await' && event(e) === event(c)).index)]); })()")
        expect([kind for _, kind, _ in awaited] == ["exec.all_reduce", "exec.reduce_scatter", "exec.all_gather"] and
               all(bytes_ > 0 and lives for bytes_, _, lives in awaited),
               f"buffers of messages end before the await: {awaited}")
        self.settled(browser, "messages")

    def memory(self, browser, url):
        browser.open(url)
        browser.run("app.openMain('memory')")
        plan = json.loads(subprocess.run(
            [self.options.inspect, "plan", self.model("train-cnn-adam.onnx"), "--train", "--batch=8",
             "--loss=cross-entropy", "--optimizer=adam", "--target=cuda", "--json"],
            check=True, capture_output=True, text=True).stdout)
        step = next(each for each in plan if each["name"] == "step")
        browser.run("document.getElementById('program').value = [...document.getElementById('program').options]"
                    ".find(o => o.text === '@step').value, app.fillMemory()")
        roles = browser.run("app.side.graph.leaves.map(leaf => [leaf.role, leaf.nodes.filter(name => "
                            "!name.startsWith('<') && !app.side.program.stateNames().has(name)).length])")
        expect(all(count == 0 for role, count in roles if role == "optimizer") and
               any(role == "backward and optimizer" for role, count in roles),
               f"updates that are fused with gradients are not told from updates: {roles}")
        arena, live = browser.run("[Math.max(...app.memory.charts[0].buffers.map(endOf)), Math.max(...app.memory.charts[0].live)]")
        expect((arena, live) == (step["arena_bytes"], step["max_live_bytes"]),
               f"the chart's arena has {arena} bytes, {live} live, the plan {step['arena_bytes']}, {step['max_live_bytes']} live")
        expect(browser.run("app.memory.charts[0].plan.commands.length") == len(step["commands"]),
               "the chart has other commands than the plan")
        expect(re.search(r"Peak: .* at command \d+", browser.run("document.getElementById('peak').textContent")),
               "the tensors at the peak are not listed")
        self.shot(browser, "memory")
        peak = browser.run("document.querySelector('#peak table').textContent")
        rows = browser.run("[...document.querySelectorAll('#peak tr')].map(row => row.textContent)")
        expect(len(set(rows)) == len(rows) > 2, f"tensors at the peak are not told apart: {rows}")
        expect("grad(/" in peak, f"the tensors at the peak do not tell gradients: {peak}")
        browser.run("document.querySelector('#peak table a').click()")
        expect(browser.run("app.names.length") > 0, "a tensor at the peak does not select its nodes")
        browser.run("app.openMain('kernels')")
        table = browser.run("byId('kernelTable').textContent")
        expect("<optimizer>" in table, "the kernels do not show <optimizer>")
        browser.open("about:blank", "true")
        browser.open(url + "#node=/no/such<b>")
        expect("names the node '/no/such<b>', but no op" in browser.run("document.querySelector('#selectionTab [role=alert]').textContent"),
               "an unknown node in the address is not reported")
        browser.run("location.hash = 'node=/3/Conv'")
        browser.wait("app.side.selected?.nodes.includes('/3/Conv')")
        expect(browser.run("!document.querySelector('#selectionTab [role=alert]')"), "an old report stays")
        browser.run("location.hash = 'node=grad(/3/Conv)'")
        browser.wait("app.side.selected?.op?.computes.includes('grad(/3/Conv)')")
        browser.run("location.hash = 'function=nothing'")
        browser.wait("document.querySelector('#selectionTab [role=alert]')?.textContent.includes(\"the function 'nothing'\")")
        browser.open("about:blank", "true")
        browser.open(url + "#pass=9&function=eval&node=/3/Conv")
        expect(browser.run("[app.side.step, app.side.symbol, app.names.join()]") == [9, "eval", "/3/Conv"],
               "the address does not choose pass, function and node")
        browser.open("about:blank", "true")
        browser.open(url + "#node=/3/Conv")
        expect(browser.run("app.names.join() === '/3/Conv' && !app.side.graph.isPlan && app.side.selected.nodes.includes('/3/Conv')"),
               "an address with a node alone does not show its ops")
        expect(browser.run("Object.keys(app.side.program.kernelFacts).some(name => name.startsWith('conv ') && "
                           "app.side.program.kernels().some(kernel => kernel.name === name))"), "no call of the page has its work")
        places = self.view("places.html", self.model("lenet.onnx"), "--batch=2", "--target=sim", "--place=.*Tanh.*=cpu")
        browser.open(places)
        browser.run("app.openMain('memory')")
        expect(browser.run("app.memory.charts.map(chart => chart.place)") == [0, 1] and
               all(part in browser.run("byId('memoryTotals').textContent") for part in ("sim:0: arena", "cpu: arena")),
               "not each device has a picture of its memory")
        expect(browser.run("app.setOverlay('device'), app.side.overlay.legend().map(([, name]) => name)") == ["sim:0", "cpu"],
               "the colors of devices do not have their names")
        self.narrow(browser)
        browser.open(places)
        self.plans(browser)
        browser.open(self.view("rounded.html", self.model("fusion-resnet50.onnx"), "--target=cuda", "--precision=bf16"))
        strays = browser.run("app.side.graph.leaves.filter(leaf => leaf.op && leaf.op.kind === 'exec.conv' && "
                             "leaf.nodes.some(name => name.includes('MaxPool'))).map(leaf => leaf.nodes.join())")
        expect(browser.run("app.side.graph.leaves.some(leaf => leaf.op && leaf.op.kind === 'exec.conv')") and not strays,
               f"convolutions are in the module of the pooling that they read: {strays}")
        browser.open(url)
        browser.run("location.hash = 'pass=12'")
        browser.wait("app.side.step === 12")
        self.settled(browser, "memory")

    def narrow(self, browser):
        """Nothing is wider than a narrow window, with three devices."""
        browser.open(self.view("three.html", self.model("vit.onnx"), "--batch=2", "--target=sim",
                               "--place=.*Erf.*=cpu", "--place=.*Softmax.*=sim:1"))
        browser.run("app.openMain('memory')")
        for width in (700, 950, 1280):
            browser.resize(width, 800)
            wide = browser.run("[document.documentElement, ...document.querySelectorAll('header, #memoryTab, #memoryTab *')]"
                               ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && "
                               "getComputedStyle(e).overflowX === 'visible').map(e => e.id || e.className || e.tagName)")
            expect(not wide, f"at a width of {width}, these are too wide: {wide}")
            self.shot(browser, f"narrow-{width}")

    def plans(self, browser):
        """The page of `plan` draws the memory that the page of `view` draws for the model."""
        arguments = [self.model("lenet.onnx"), "--batch=2", "--target=sim", "--place=.*Tanh.*=cpu"]
        facts = ("app.memory.charts.map(chart => [chart.place, chart.live, chart.buffers.map("
                 "b => [b.offset, b.size, b.first, b.last]).sort()])")
        drawn = browser.run(facts)
        page = self.path("plan.html")
        subprocess.run([self.options.inspect, "plan", *arguments, "-o", page], check=True, stderr=subprocess.DEVNULL)
        browser.open("file://" + page)
        expect("sim:0: arena" in browser.run("byId('memoryTotals').textContent"), "the page of plan does not name the devices")
        expect(browser.run(facts) == drawn, f"plan draws {browser.run(facts)}, view draws {drawn}")
        expect(browser.run("byId('memoryTab').querySelector('canvas').clientWidth > 0 && "
                           "getComputedStyle(document.querySelector('aside')).display === 'none'"),
               "the page of plan shows more than the memory, or nothing")
        browser.run("document.querySelector('#peak table a').click()")
        expect(browser.run("app.names.length") > 0, "a tensor at the peak does not select its nodes")
        self.shot(browser, "plan")
        several = self.path("several.html")
        subprocess.run([self.options.inspect, "plan", self.model("train-mlp-adam.onnx"), "--train", "--batch=8",
                        "--optimizer=adam", "-o", several], check=True, stderr=subprocess.DEVNULL)
        browser.open("file://" + several)
        names = browser.run("[...byId('program').options].map(o => o.text)")
        expect("@step" in names and "@eval" in names, f"the page of plan has the programs {names}")
        browser.run("byId('program').value = byId('program').options.length - 1, byId('program').onchange()")
        expect(browser.run("app.memory.plan === app.memory.plans.at(-1)"), "another program cannot be chosen")
        self.settled(browser, "plan")

    def overlays(self, browser):
        """Times of a profile, and every other overlay."""
        model = self.model("lenet.onnx")
        events = self.path("events.json")
        commands = json.loads(subprocess.run([self.options.inspect, "plan", model, "--batch=2", "--json"],
                                             check=True, capture_output=True, text=True).stdout)[0]["commands"]
        with open(events, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "X", "ts": 10 * i, "dur": 5 + i, "args": {"command": i}}
                                       for i in range(len(commands))]}, file)
        numbers = self.path("numbers.json")
        with open(numbers, "w", encoding="utf-8") as file:
            json.dump({"error <i>": {"/c1/Conv": 0.25, "/f3/Gemm": 1e-3}}, file)
        browser.open(self.view("profile.html", model, "--batch=2", f"--profile={events}", f"--overlay={numbers}"))
        for kind in browser.run("[...document.getElementById('overlay').options].map(o => o.value)"):
            browser.run(f"app.setOverlay({json.dumps(kind)})")
            expect(browser.run("app.side.view.boxes.some(b => app.side.overlay.color(b))"),
                   f"the overlay {kind} colors nothing")
        browser.run("app.setOverlay('error <i>')")
        expect(browser.run("app.side.overlay.most") == 0.25, "the numbers of --overlay are not shown")
        browser.run("app.setOverlay('time'), app.openMain('kernels')")
        last = 5 + len(commands) - 1
        expect(f"{last:.1f}" in browser.run("document.getElementById('kernelTable').textContent"),
               "the kernels do not show the times of the profile")
        expect(browser.run("[...document.querySelectorAll('#kernelTable tr')].slice(1).every(row => Number(row.children[3].textContent) >= 0) && "
                           "[...document.querySelectorAll('#kernelTable th')].map(th => th.textContent).join() === 'kernel,calls,us,at best, us,nodes'"),
               "the kernels do not show their least times beside those of the profile")
        self.shot(browser, "times")
        self.settled(browser, "overlays")

    def strange(self, browser):
        """No name of a model becomes markup or a script."""
        model = self.path("<b>strange.onnx")
        models.strange(model)
        browser.open(self.view("strange.html", model))
        browser.run("app.goTo(0)")
        expect(browser.run("app.side.graph.leaves.length") > len(models.STRANGE), "nodes are missing")
        for tab in ("selection", "pass", "ir", "code"):
            browser.run(f"app.openSide('{tab}')")
        browser.run("app.side.graph.leaves.forEach(l => app.select(app.side, l))")
        browser.run("document.getElementById('search').value = 'a', app.search.fill()")
        found = browser.run("document.getElementById('results').textContent")
        expect("<script>window.hit=1</script>" in found, "the search does not show a name as it is")
        browser.run("app.openMain('kernels'), app.openMain('memory'), app.openMain('graph')")
        expect(browser.run("window.hit === undefined && !document.querySelector('img, b b')"),
               "a name became markup")
        self.shot(browser, "strange")
        self.settled(browser, "strange names")

    def two(self, browser):
        browser.open(self.view("two.html", self.model("resnet-basic.onnx"), "--batch=2",
                               f"--with={self.model('resnet-bottleneck.onnx')}"))
        expect(browser.run("app.sides.length") == 2, "there are not two graphs")
        text = browser.run("document.getElementById('selectionTab').textContent")
        expect("Nodes only in resnet-bottleneck.onnx" in text, "the files are not compared")
        browser.run("app.setOverlay('difference')")
        expect(browser.run("app.sides[1].overlay.legend().some(([, name]) => name === 'only here')"),
               "the differences have no color")
        self.shot(browser, "difference")
        browser.run("app.goTo(0), app.activate(app.sides[1])")
        expect(browser.run("app.sides[1].step") == 0, "the second graph does not follow the pass")
        name = browser.run("app.sides[0].graph.leaves.map(l => l.nodes[0]).find(n => n && "
                           "app.sides[1].graph.leaves.some(l => l.nodes[0] === n))")
        browser.run(f"app.selectNode({json.dumps(name)})")
        expect(browser.run("app.sides.every(s => s.selected)"), "a node is not selected in both graphs")
        exchanged = self.path("exchanged.onnx")
        subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect", "exchange.py"),
                        self.model("bert.onnx"), exchanged, "/layers.1/q/Add", "/layers.1/k/Add"], check=True)
        self.shot(browser, "two")
        browser.open(self.view("exchanged.html", self.model("bert.onnx"), "--batch=2", f"--with={exchanged}"))
        text = browser.run("document.getElementById('selectionTab').textContent")
        expect("Nodes that differ in the models (2)" in text and "/layers.1/q/Add" in text and "/layers.1/k/Add" in text,
               f"the nodes that read other values are not named: {text}")
        self.settled(browser, "two files")

    def large(self, browser):
        model = self.path("large.onnx")
        models.large(model, LAYOUT_NODES)
        url = self.view("large.html", model, "--stop-after=import")
        begin = time.monotonic()
        browser.open(url)
        print(f"page: {LAYOUT_NODES} nodes of a model loaded in {time.monotonic() - begin:.2f} s")
        browser.run("app.side.view.expandAll(true)")
        boxes, layout, paint = browser.run(
            "(() => { const v = app.side.view; const t = performance.now(); v.paint();"
            "return [v.boxes.length, v.layoutMs, performance.now() - t]; })()")
        expect(boxes > LAYOUT_NODES, f"only {boxes} boxes")
        print(f"page: layout of {boxes} boxes {layout:.0f} ms (aim: 2000 ms), one frame {paint:.1f} ms")
        self.shot(browser, "large")
        browser.run("app.side.view.fitWhole()")
        self.shot(browser, "large-whole")
        # No two boxes of one group overlap.
        expect(browser.run("""(() => {
          const groups = [app.side.graph.root, ...app.side.view.boxes.filter(b => b.items)];
          return groups.every(g => g.items.every((a, i) => g.items.slice(i + 1, i + 40).every(b =>
            Math.abs(a.x - b.x) >= (a.width + b.width) / 2 - 1 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2 - 1)));
        })()"""), "boxes overlap")
        self.settled(browser, "large graph")

    def serve(self, browser):
        """The served page follows its file."""
        model = self.path("served.onnx")
        shutil.copy(self.model("lenet.onnx"), model)
        server = subprocess.Popen([self.options.inspect, "serve", model, "--batch=2", "--port=0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = server.stdout.readline().strip()
            browser.open(url)
            expect(browser.run("app.side.graph.leaves.length") == 8, "another program is served")
            browser.run("app.goTo(1)")
            shutil.copy(self.model("mlp.onnx"), model)
            browser.wait("window.app && app.side.program.removals().has('/body/body.0/Gemm')")
            expect(browser.run("app.side.step") == 1, "the pass is lost when the page loads again")
            with open(model, "w", encoding="utf-8") as file:
                file.write("no model")
            browser.wait("document.getElementById('status')?.textContent?.includes('no page could be made')")
        finally:
            server.terminate()
            server.wait()
        browser.wait("document.getElementById('status')?.textContent?.includes('has ended')")
        # The browser reports the request that nobody answered.
        browser.errors = [error for error in browser.errors if "ERR_CONNECTION_REFUSED" not in error]
        self.settled(browser, "serve")

    def broken(self, browser):
        """A page whose data is cut off says so."""
        with open(self.path("two.html"), encoding="utf-8") as file:
            text = file.read()
        with open(self.path("broken.html"), "w", encoding="utf-8") as file:
            file.write(re.sub(r'(id="data">[\w+/]{400})[^<]*', r"\1", text))
        browser.open("file://" + self.path("broken.html"), "document.getElementById('status')?.textContent")
        expect("cannot be shown" in browser.run("document.getElementById('status')?.textContent"),
               "a damaged page says nothing")


def main(check, name):
    """Runs a class of checks with the options of the command line."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__.splitlines()[0])
    parser.add_argument("--inspect", default="sinter-inspect")
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True, help="folder for the pages")
    parser.add_argument("--screenshots")
    try:
        check(parser.parse_args()).run()
    except (PageError, subprocess.CalledProcessError) as problem:
        sys.exit(f"{name}: error: {problem}")


if __name__ == "__main__":
    main(Check, "page")
