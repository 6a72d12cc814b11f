"""Logs of training runs that are cut off, mixed, repeated, not finite or very long, and files that are no logs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    odd_runs.py SCRATCH_FOLDER
"""

import json
import os
import random
import subprocess
import sys

checks = 0


def expect(isTrue, what):
    global checks
    checks += 1
    if not isTrue:
        sys.exit(f"odd runs: error: {what}")


def inspect(*arguments, code=0):
    done = subprocess.run(["sinter-inspect", *arguments], capture_output=True, text=True)
    expect(done.returncode == code, f"{arguments}: exit code {done.returncode}: {done.stderr}")
    if code == 2:
        expect(done.stderr.count("\n") == 1 and not done.stdout, f"{arguments}: not one line: {done.stderr}")
    return done.stderr if code == 2 else done.stdout


def record(step, loss="0.5", **more):
    return json.dumps({"step": step, "epoch": (step - 1) // 10, "loss": 0, "lr": 0.1, **more}).replace(
        '"loss": 0', f'"loss": {loss}') + "\n"


def records(first, last):
    return "".join(record(step, str(1 / step)) for step in range(first, last + 1))


class Folder:
    def __init__(self, path):
        self.path = path
        os.makedirs(path)

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def crashed(folder):
    """A last line without its end."""
    path = folder.write("cut.json", records(1, 7) + '{"step": 8, "epo')
    summary = json.loads(inspect("log", path, "--json"))
    expect(summary["steps"] == 7 and summary["is_cut"] and summary["other_lines"] == 0, summary)
    expect("note: the last line is incomplete" in inspect("log", path), "a cut line is not reported")
    path = folder.write("whole.json", records(1, 7).rstrip("\n"))
    summary = json.loads(inspect("log", path, "--json"))
    expect(summary["steps"] == 7 and not summary["is_cut"], "a whole last line counts as cut")


def repeated(folder):
    """Steps that come twice: the later ones count, and the evaluations between are gone."""
    text = records(1, 10) + '{"eval":true,"epoch":0,"accuracy":0.1,"loss":9}\n' + records(11, 15)
    again = "".join(record(step, "7") for step in range(9, 13))
    path = folder.write("again.json", text + again)
    summary = json.loads(inspect("log", path, "--json"))
    expect(summary["steps"] == 12 and summary["replaced_records"] == 7 and summary["resumes"] == 1, summary)
    expect(summary["fields"]["loss"]["last"] == {"step": 12, "value": 7} and not summary["evaluations"], summary)
    expect("steps 9 to 15 were made again; the later records count" in inspect("log", path), "not said")
    runs = json.loads(inspect("view", path, "--json"))["runs"]
    expect(any(mark["kind"] == "resume" and mark["step"] == 8 for mark in runs[0]["marks"]), "no mark")


def notFinite(folder):
    path = folder.write("nan.json", records(1, 3) + record(4, "null") + record(5, "NaN") + record(6, "-Infinity") +
                        records(7, 9))
    summary = json.loads(inspect("log", path, "--json"))
    expect(summary["fields"]["loss"]["not_finite"] == 3 and summary["steps"] == 9, summary)
    run = json.loads(inspect("view", path, "--json"))["runs"][0]
    expect([mark["step"] for mark in run["marks"]] == [4, 5, 6], "steps that are not finite are not marked")
    expect(run["curves"]["loss"]["mean"][3] is None and run["curves"]["loss"]["bad"] == [3, 1, 4, 1, 5, 1], run)
    other = folder.write("finite.json", records(1, 9))
    difference = json.loads(inspect("diff", path, other, "--json", code=1))["series"]["loss"]
    expect(difference["different"] == 3 and difference["largest"]["relative"] is None and
           difference["first"] == {"step": 4, "a": None, "b": 0.25}, difference)
    path = folder.write("all.json", "".join(record(step, "null") for step in range(1, 4)))
    expect("losses not finite  3" in inspect("log", path), "a run without a finite loss")
    inspect("view", path, "-o", folder.write("all.html", ""))


def mixed(folder):
    """Lines of other writers, gaps, fields that only some records have."""
    path = folder.write("mixed.json", records(1, 2) + "epoch 1 done\n\n[1, 2]\n{}\n" + record(5, grad_norm=2.5) +
                        '{"step":"x"}\n' + record(6, grad_norm=None))
    # A run that was resumed into a new log.
    late = folder.write("late.json", record(13) + record(14))
    for command in ("log", "show"):
        expect("steps 1 to 12 are not in this log" in inspect(command, late), inspect(command, late))
    summary = json.loads(inspect("log", path, "--json"))
    expect(summary["steps"] == 4 and summary["missing_steps"] == 2 and summary["other_lines"] == 4, summary)
    expect(summary["fields"]["grad_norm"]["first"] == {"step": 5, "value": 2.5} and
           summary["fields"]["grad_norm"]["not_finite"] == 1, summary)
    text = inspect("log", path)
    expect("4 lines are not records (first: line 3)" in text and "steps 3 to 4 are not in this log" in text, text)
    # A log that lost its last records, but says how far the run came.
    for last, lost in (('{"end":"done","step":9}\n', 4), ('{"saved":true,"step":6}\n', 1), ('{"end":"failed"}\n', 0),
                       ('{"start":true,"step":9}\n', 0), ('{"saved":true,"step":9}\n' + records(4, 6), 0),
                       ('{"saved":true,"step":9}\n' + record(11), 5)):
        path = folder.write("short.json", records(1, 5) + last)
        summary = json.loads(inspect("log", path, "--json"))
        expect(summary["missing_steps"] == lost, (last, summary))
        for command in ("log", "show"):
            expect(("in this log" in inspect(command, path)) == (lost > 0), inspect(command, path))
    text = inspect("log", folder.write("end.json", records(1, 5) + '{"end":"done","step":9}\n'))
    expect("steps 6 to 9 are not in this log" in text and "done at step 9" in text, text)
    deep = folder.write("deep.json", records(1, 2) + '{"step":' + "[" * 100000 + "\n" + records(3, 3))
    expect(json.loads(inspect("log", deep, "--json"))["steps"] == 3, "a line that nests deeply")
    strange = folder.write("<b>&'\x1b[31m.json", records(1, 3))
    expect("\x1b" not in inspect("log", strange), "a name is printed as it is")


def scaled(folder):
    path = folder.write("scaled.json", "".join(
        record(step, loss_scale=65536 / 2 ** skipped, skipped_steps=skipped)
        for step, skipped in ((1, 0), (2, 1), (3, 1), (4, 2))))
    expect(json.loads(inspect("log", path, "--json"))["skipped_steps"] == [2, 4], "skipped steps")


def folders(folder):
    """Which log belongs to a folder."""
    inside = os.path.dirname(folder.write("inside/log.jsonl", records(1, 4)))
    folder.write("inside/notes.txt", "no log")
    expect(json.loads(inspect(inside, "--json"))["steps"] == 4, "the log in a folder")
    several = os.path.dirname(folder.write("several/a.json", records(1, 4)))
    folder.write("several/b.json", records(1, 4))
    expect("has several logs (a.json, b.json); give one of them" in inspect("log", several, code=2), "several")
    beside = os.path.join(folder.path, "beside")
    os.makedirs(beside)
    folder.write("beside.json", records(1, 5))
    expect(json.loads(inspect("log", beside + "/", "--json"))["steps"] == 5, "the log beside a folder")


def refused(folder):
    good = folder.write("good.json", records(1, 4))
    empty = folder.write("empty.json", "")
    evals = folder.write("numbers.json", '{"step": "one"}\n')
    for arguments, message in (
            (("log", empty), "is neither a trace nor the log of a training run"),
            (("log", good, empty), "is empty: it has no record of a step"),
            (("log", good, folder.path + "/none"), "No such file"),
            (("diff", good, "/dev/full"), "is neither a regular file nor a folder"),
            (("log", evals), "has no record of a training run; expected the file of --log-json"),
            (("plan", good), "is a training run; summary, log, show, diff, view and serve take runs"),
            (("log", good, "--batch=4"), "--batch=4: has no effect on training runs"),
            (("log", good, "-o", folder.path + "/x.html"), "'view' writes the page"),
            (("diff", good, good, good), "diff compares two runs"),
            (("view", good, "--batch=4", "-o", folder.path + "/x.html"), "--batch: has no effect without a model"),
            (("view", good, "--format=model-explorer"), "training runs are in the page and in --json only"),
            (("log", good, "-o", good), "")):
        text = inspect(*arguments, code=2)
        expect(message in text, f"{arguments}: {text}")
    expect(len(open(good, encoding="utf-8").readlines()) == 4, "a log was overwritten")


def long(folder):
    """A million steps: a small page that has the spike and the NaN."""
    draw = random.Random(1)
    path = os.path.join(folder.path, "long.json")
    with open(path, "w", encoding="utf-8") as file:
        for step in range(1, 1000001):
            loss = "null" if step == 345678 else "97.5" if step == 777777 else f"{draw.random():.9g}"
            file.write(f'{{"step":{step},"epoch":{step // 1000},"loss":{loss},"lr":0.1,"grad_norm":{draw.random():.9g},'
                       f'"weight_norm":2,"time":{1.7e9 + step / 100:.4f},"host_peak_bytes":{step}}}\n')
    page = os.path.join(folder.path, "long.html")
    inspect("view", path, "-o", page)
    expect(os.path.getsize(page) < 3e6, f"the page has {os.path.getsize(page)} bytes")
    run = json.loads(inspect("view", path, "--json"))["runs"][0]
    loss, place = run["curves"]["loss"], 777776 // run["bucket"]
    expect(len(run["at"]) <= 4096 and run["at"][-1] == 1000000, "buckets")
    expect(loss["max"][place] == 97.5 and max(filter(None, loss["max"])) == 97.5, "the spike is lost")
    expect(loss["bad"] == [345677 // run["bucket"], 1], "the NaN is lost")
    expect(any(mark == {"kind": "not finite", "step": 345678, "text": "the loss is not finite"}
               for mark in run["marks"]), "the NaN is not marked")
    rates = [rate for rate in run["curves"]["steps_per_second"]["mean"] if rate is not None]
    expect(all(abs(rate - 100) < 0.01 for rate in rates), f"throughput from {min(rates)} to {max(rates)}")
    os.remove(path)


def main(path):
    folder = Folder(path)
    for check in (crashed, repeated, notFinite, mixed, scaled, folders, refused, long):
        check(folder)
    print(f"odd runs: {checks} checks passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
