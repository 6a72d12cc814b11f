#!/usr/bin/env python3
"""Opens pages of training runs in Chromium: curves, legend, zoom, values under the pointer.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

  check_runs.py --inspect=sinter-inspect --models=test/models --work=FOLDER [--screenshots=FOLDER]
"""

import json
import math
import os
import subprocess
import time

from browser import Browser
from check_page import Check, expect, main


def writeLog(path, steps, rate, resumesAt=None, bad=()):
    """A log with times; it is resumed after a step, and has losses that are not finite."""
    begin = 1.7e9
    with open(path, "w", encoding="utf-8") as file:
        def write(**record):
            file.write(json.dumps(record) + "\n")
        for first, last in ((1, resumesAt or steps), (resumesAt + 1, steps)) if resumesAt else ((1, steps),):
            write(start=True, step=first - 1, model="net", build_id="0", batches_per_epoch=100, batch=32,
                  total_steps=steps, options={"lr": str(rate)}, recipe={"optimizer": "adam"}, time=begin,
                  host_peak_bytes=1 << 20)
            for step in range(first, last + 1):
                begin += 0.05
                write(step=step, epoch=(step - 1) // 100, loss=None if step in bad else 20 * rate * math.exp(-step / 100), lr=rate,
                      loss_scale=1024, skipped_steps=sum(each <= step for each in bad), grad_norm=1 + step % 7,
                      weight_norm=20, time=round(begin, 4), host_peak_bytes=1 << 21)
                if step % 100 == 0:
                    write(eval=True, epoch=(step - 1) // 100, accuracy=1 - 1 / step, loss=1 / step, time=begin)
            write(saved=True, step=last, time=begin)
            write(end="done", step=last, time=begin)
            begin += 3600


class CheckRuns(Check):
    def run(self):
        writeLog(self.path("first.json"), 400, 0.1, resumesAt=250, bad=(120,))
        writeLog(self.path("second.json"), 600, 0.05)
        url = self.view("runs.html", self.path("first.json"), self.path("second.json"))
        with Browser(width=1400, height=900) as browser:
            self.charts(browser, url)
            self.pointer(browser)
            self.strange(browser)
            self.events(browser)
            self.narrow(browser)
            self.mixed(browser)
            self.long(browser)
            self.serve(browser)
        with Browser(width=1400, height=900, dark=True) as browser:
            browser.open(url)
            self.shot(browser, "runs-dark")
        print("runs: all checks passed")

    def pixels(self, browser, chart):
        """How many pixels of a chart have the colors of each run."""
        return browser.run(
            "(() => { app.runs.draw(); const c = app.runs.charts.find(c => c.spec.key === " + json.dumps(chart) + ").canvas;"
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "return app.runs.runs.map(run => { const n = parseInt(run.color.slice(1), 16); let count = 0;"
            "for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - (n >> 16)) + Math.abs(d[i + 1] - (n >> 8 & 255)) +"
            "Math.abs(d[i + 2] - (n & 255)) < 12 && d[i + 3] > 250) ++count; return count; }); })()")

    def charts(self, browser, url):
        browser.open(url)
        keys = browser.run("app.runs.charts.map(c => c.spec.key)")
        expect(keys == ["loss", "accuracy", "lr", "grad_norm", "weight_norm", "rows_per_second", "loss_scale",
                        "host_peak_bytes"], f"the charts are {keys}")
        self.shot(browser, "runs")
        expect(all(count > 100 for count in self.pixels(browser, "loss")), "a curve is not drawn")
        browser.run("document.querySelector('#runLegend input').click()")
        first, second = self.pixels(browser, "loss")
        expect(first == 0 and second > 100, "a run that is switched off is drawn")
        browser.run("document.querySelector('#runLegend input').click()")
        text = browser.run("document.getElementById('runNumbers').textContent")
        for part in ("400 of 400", "600 of 600", "done at step 400", "Settings that differ", "option lr", "resumed",
                     "the loss is not finite", "skipped: gradients"):
            expect(part in text, f"the numbers do not show {part!r}")
        expect(browser.run("document.getElementById('runMarks').textContent") ==
               "resumenot finiteskippedcheckpointdashed, with dots: evaluations", "the marks have no legend")
        expect(not browser.run("document.getElementById('runStatus').textContent"), "a short run is downsampled")
        # Between two parts of a run, no time passes; a step takes 50 ms.
        browser.run("app.runs.setAxis('seconds')")
        low, high = browser.run("app.runs.range()")
        expect(abs(high - 600 * 0.05) < 0.1, f"the time goes from {low} to {high}")
        rates = browser.run("app.runs.runs[1].curves.rows_per_second.mean.filter(x => x !== null)")
        expect(all(abs(rate - 32 / 0.05) < 1 for rate in rates), f"throughput from {min(rates)} to {max(rates)} rows/s")
        browser.run("app.runs.setAxis('epoch')")
        expect(abs(browser.run("app.runs.range()[1]") - 6) < 0.01, "600 steps are not 6 epochs")
        browser.run("app.runs.setAxis('step'), document.getElementById('runLog').click()")
        expect(browser.run("app.runs.charts[0].isLog") and all(self.pixels(browser, "loss")), "no log scale")
        self.shot(browser, "runs-log")
        browser.run("document.getElementById('runLog').click()")
        # The smoothed values against their definition.
        got = browser.run("smoothed([1, 3, null, 5], 0.5, 1)")
        expect(got[0] == 1 and abs(got[1] - (0.25 * 1 + 0.5 * 3) / 0.75) < 1e-12 and got[2] is None, f"smoothed {got}")
        got = browser.run("[smoothed([4, 4, 8, 8], 0.9, 1)[3], smoothed([4, 8], 0.9, 2)[1]]")
        expect(abs(got[0] - got[1]) < 1e-12, f"buckets are smoothed as {got[1]}, their steps as {got[0]}")
        self.settled(browser, "charts")

    def pointer(self, browser):
        """Values under the pointer, and zoom by dragging."""
        browser.run("app.runs.setAxis('step')")
        at = ("(() => { const c = app.runs.charts[0], r = c.canvas.getBoundingClientRect();"
              "return [r.left + c.xOf(%d), r.top + r.height / 2]; })()")
        x, y = browser.run(at % 100)
        browser._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        text = browser.run("document.getElementById('tooltip').textContent")
        value = f"{2 * math.exp(-1):.5g}"
        for part in ("first.json: step 100 ", "second.json: step 100 ", value, "evaluation 0.01"):
            expect(part in text, f"the tooltip {text!r} does not show {part!r}")
        to, _ = browser.run(at % 300)
        for kind, place in (("mousePressed", x), ("mouseMoved", to), ("mouseReleased", to)):
            browser._send("Input.dispatchMouseEvent", type=kind, x=place, y=y, button="left", buttons=1, clickCount=1)
        low, high = browser.run("app.runs.range()")
        expect(abs(low - 100) < 2 and abs(high - 300) < 2, f"dragging zooms to {low}, {high}")
        self.shot(browser, "runs-zoomed")
        browser.press("f", "f")
        expect(browser.run("app.runs.range()") == [1, 600], "the key f does not show all steps")
        browser.run("[...document.querySelectorAll('#runNumbers a')].find(a => a.textContent === 'step 120').click()")
        low, high = browser.run("app.runs.range()")
        expect(100 < low < 120 < high < 140, f"the event leads to {low}, {high}")
        browser.run("app.runs.zoom(null)")
        self.settled(browser, "pointer")

    def strange(self, browser):
        """No name and no setting becomes markup."""
        path = self.path("<img src=x onerror=window.hit=1>.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"start": True, "step": 0, "model": "<b>x</b>", "options": {"<i>": "<script>window.hit=1</script>"},
                                   "time": 1}) + '\n{"step":1,"epoch":0,"loss":1,"lr":1}\n')
        browser.open(self.view("strange-runs.html", path))
        browser.run("app.runs.hover(1, app.runs.charts[0], 300, 300)")
        expect("<img" in browser.run("document.getElementById('tooltip').textContent"), "the name is not shown as it is")
        expect(browser.run("window.hit === undefined && !document.querySelector('img, td b, td i, td script')"),
               "a name became markup")
        self.settled(browser, "strange")

    def events(self, browser):
        """The number of all events, settings of one run alone, and an axis without the first slow steps."""
        writeLog(self.path("bad.json"), 1600, 0.1, bad=range(1, 1301))
        path = self.path("bare.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"step":1,"epoch":0,"loss":1,"lr":1}\n')
        browser.open(self.view("events.html", self.path("bad.json"), path))
        text = browser.run("document.getElementById('runNumbers').textContent")
        for part in ("Events (2600)", "The first 200 are shown.", "Settings that only some runs have"):
            expect(part in text, f"the numbers do not show {part!r}")
        expect("Settings that differ" not in text, "settings of one run alone are called differences")
        got = browser.run("(() => { const chart = app.runs.charts.find(c => c.spec.byPercentiles); [chart.x0, chart.x1] = [0, 1e9];"
                          "const mean = Array.from({length: 100}, (_, i) => i < 4 ? 1 : 1000 + i % 7);"
                          "chart.scale([{curve: {x: mean.map((_, i) => i), mean, points: []}}]); return [chart.y0, chart.outliers]; })()")
        expect(got[0] > 990 and got[1] == 4, f"the axis begins at {got[0]}, {got[1]} outliers")
        self.settled(browser, "events")

    def narrow(self, browser):
        """At 700 pixels nothing overlaps and nothing is cut."""
        browser.open(self.view("narrow.html", self.model("lenet.onnx"), "--batch=2", self.path("first.json"),
                               self.path("second.json")))
        browser._send("Emulation.setDeviceMetricsOverride", width=700, height=900, deviceScaleFactor=1, mobile=False)
        for tab in ("graph", "memory", "kernels", "runs"):
            browser.run(f"app.openMain('{tab}')")
            wrong = browser.run("""(() => {
              const wrong = [];
              const box = e => e.getBoundingClientRect();
              for (const e of document.querySelectorAll('header > *, nav > *, .bar > *, main > *, aside, canvas, footer'))
                if (box(e).width && (box(e).right > 700.5 || box(e).left < -0.5))
                  wrong.push(`${e.tagName} ${e.id} from ${box(e).left} to ${box(e).right}`);
              for (const bar of document.querySelectorAll('header, nav, .bar, main, #runsBody, .device')) {
                const list = [...bar.children].filter(e => box(e).width && box(e).height);
                list.forEach((a, i) => list.slice(i + 1).forEach(b => {
                  if (box(a).left < box(b).right - 1 && box(b).left < box(a).right - 1 &&
                      box(a).top < box(b).bottom - 1 && box(b).top < box(a).bottom - 1)
                    wrong.push(`${a.id || a.tagName} and ${b.id || b.tagName} overlap`);
                }));
              }
              return wrong; })()""")
            expect(not wrong, f"{tab} at 700 pixels: {wrong}")
            self.shot(browser, "narrow-" + tab)
        browser._send("Emulation.clearDeviceMetricsOverride")
        self.settled(browser, "narrow")

    def mixed(self, browser):
        """A model and a run in one page."""
        browser.open(self.view("mixed.html", self.model("lenet.onnx"), "--batch=2", self.path("first.json")))
        expect(browser.run("byId('runsTab').hidden && app.side.graph.leaves.length > 0"), "the page does not begin with the graph")
        browser.press("r", "r")
        expect(browser.run("!byId('runsTab').hidden && byId('graphTab').hidden"), "the key r does not show the runs")
        expect(all(self.pixels(browser, "loss")), "the run is not drawn beside a model")
        self.shot(browser, "runs-mixed")
        browser.press("g", "g")
        expect(browser.run("!byId('graphTab').hidden && !document.body.classList.contains('noGraph')"), "the key g does not go back")
        self.settled(browser, "mixed")

    def long(self, browser):
        path = self.path("long.json")
        with open(path, "w", encoding="utf-8") as file:
            for step in range(1, 200001):
                loss = 50 if step == 123456 else 1 + step % 3
                file.write(f'{{"step":{step},"epoch":0,"loss":{loss},"lr":0.1,"grad_norm":1,"weight_norm":2}}\n')
        begin = time.monotonic()
        browser.open(self.view("long.html", path))
        print(f"runs: page of 200000 steps made and loaded in {time.monotonic() - begin:.2f} s, "
              f"drawn in {browser.run('app.runs.drawMs'):.0f} ms")
        expect("Downsampled: a point is the mean of up to 49 steps" in
               browser.run("document.getElementById('runStatus').textContent"), "nothing says that the run is downsampled")
        expect(browser.run("app.runs.charts[0].y1") > 50, "the spike is out of sight")
        self.shot(browser, "runs-long")
        self.settled(browser, "long")

    def serve(self, browser):
        """The page follows a run that goes on, and keeps the zoom."""
        path = self.path("going.json")
        writeLog(path, 50, 0.1)
        server = subprocess.Popen([self.options.inspect, "serve", path, "--port=0"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        try:
            browser.open(server.stdout.readline().strip())
            expect(browser.run("app.runs.runs[0].steps") == 50, "another run is served")
            browser.run("app.runs.setAxis('epoch'), app.runs.zoom([0.1, 0.2])")
            with open(path, "a", encoding="utf-8") as file:
                file.write('{"step":51,"epoch":0,"loss":1,"lr":1}\n')
            browser.wait("window.app?.runs?.runs[0].steps === 51")
            expect(browser.run("JSON.stringify([byId('runAxis').value, app.runs.zoomed])") == '["epoch",[0.1,0.2]]',
                   "the page forgets its zoom")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(CheckRuns, "runs")
