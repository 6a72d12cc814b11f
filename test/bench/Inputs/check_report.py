"""Measures rows with sides that are stand-ins, and prints the report and its page.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    check_report.py rows                          which rows there are
    check_report.py absent FOLDER                 what is not installed is left out
    check_report.py stand-ins FOLDER              all sides are stand-ins
    check_report.py losses FOLDER                 rows of training, of stand-ins
    check_report.py programs FOLDER BIN MODELS    ours are programs; a peer is a stand-in
"""

import functools
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, ".."))
import bench
import measure
from report import Report
from rows import Row, allRows, chooseRows, goalOf

RATES = measure.Rates("""cpu     this machine's
device cpu
  caches: L1 32.0 KiB, L2 2.0 MiB, L3 16.0 MiB
  rates of one core:
    fp32: 100.0 GFLOP/s
    bf16 by one unit: 200.0 GFLOP/s
    bf16 by AMX: 1000.0 GFLOP/s
    L1 reads: 200.0 GB/s
    L2 reads: 50.0 GB/s
    L3 reads: 20.0 GB/s
    memory reads: 10.0 GB/s
    memory writes: 15.0 GB/s
device sim:0
  L1 reads: 1.0 GB/s
""")


def rows():
    def show(title, chosen):
        print(title, "; ".join(f"{row.name} {goalOf(row)}" for row in chosen))
    print("names are distinct:", len({row.name for row in allRows()}) == len(allRows()))
    show("quick:", chooseRows("", True, None))
    show("quick lstm train:", chooseRows("lstm train", True, None))
    show("lstm:", chooseRows("lstm", False, None))
    show("lstm, 2 threads:", chooseRows("lstm", False, 2))
    show("bert-base bf16:", [row for row in chooseRows("bert-base", False, None)
                             if row.precision == "bf16"])


def absent(folder):
    def install(_, package):
        measure.run([sys.executable, "-c",
                     f"import sys; print('WARNING: old'); sys.exit('ERROR: no {package} here')"])
    python = os.path.join(folder, "venv", "bin", "python3")
    os.makedirs(os.path.dirname(python))
    open(python, "w").close()
    bench.install, bench.hasModule = install, lambda _, name: name == "openvino"
    print("present:", sorted(bench.preparePeers(folder, Report())[0]))


def command(folder, name, times, error, *options):
    return [sys.executable, os.path.join(HERE, "stand_in.py"), name,
            os.path.join(folder, "order"), times, str(error), *options]


def start(folder, name, *arguments):
    log = os.path.join(folder, name + ".log")
    if name == "sinter":
        output = None if "losses=" in str(arguments[-1]) else "unread.npz"
        return measure.Ours(command(folder, name, *arguments), log, output)
    return measure.Peer(name, command(folder, name, *arguments), log)


def measureRow(folder, row, numbers, sides, reference=None):
    starts = {name: functools.partial(start, folder, name, *arguments)
              for name, arguments in sides.items()}
    result = measure.measureRow(row, starts.pop("sinter"), starts, 3, 0.001, reference)
    result.numbers = numbers
    measure.addFloor(numbers, row, RATES)
    return result


def standIns(folder):
    report = Report()
    report.about("machine: a stand-in")
    report.head()
    # The median of the rounds' ratios is not the ratio of their medians: 2, 4, 3.
    small = {"compileS": 0.5, "binaryBytes": 3 * 2**20, "flops": 2e7, "weightBytes": 2**20,
             "activationBytes": 2**20}
    large = dict(small, weightBytes=30 * 2**20)
    report.add(measureRow(folder, Row("mlp", "infer", 1, "fp32", 1), dict(small), {
        "sinter": ("1,2,3", 0), "onnxruntime": ("2,8,9", 1e-6), "openvino": ("4,8,12", 1e-5),
        "torch-eager": ("1", 0, "skip=no such type"), "torch-compile": ("9", 0, "breaks=4")}))
    with open(os.path.join(folder, "order")) as file:
        print("order:", " ".join(file.read().split()))
    report.add(measureRow(folder, Row("bert-base", "infer", 1, "bf16", 2), large,
                          {"sinter": ("5", 0), "openvino": ("4", 0.5, "distance=0.01")}))
    report.add(measureRow(folder, Row("gpt2", "infer", 1, "fp32", 1), dict(small),
                          {"sinter": ("1", 0), "openvino": ("4", 0.01)}))
    report.add(measureRow(folder, Row("unet", "infer", 1, "fp32", 1), dict(small),
                          {"sinter": ("1", 0, "breaks=5"), "openvino": ("4", 0)}))
    # In bf16 the distance from the network in fp32 counts, in int8 whose is larger.
    for precision, farther in (("bf16", -0.5), ("int8", 0.11)):
        report.add(measureRow(folder, Row("resnet50", "infer", 1, precision, 1), dict(small), {
            "sinter": ("1", 0), "openvino": ("4", 0.01, "distance=0.5", f"farther={farther}")}))
    report.costs()
    code = report.summary()
    for result in report.results:
        result.date = "2001-02-03"
    # An earlier call measured a row.
    earlier = report.results[0].json() | {"name": "lstm infer 1 fp32", "date": "2001-01-31"}
    path = os.path.join(folder, "rows.json")
    for machine in ("another machine", report.machine[0]):
        with open(path, "w") as file:
            json.dump({"machine": [machine], "rows": [earlier]}, file)
        report.kept = bench.keptRows(path, report.machine, [result.row for result in report.results])
        print("kept:", [result.row.name for result in report.kept])
    with open(os.path.join(folder, "page.md"), "w") as file:
        file.write(report.page())
    print("exit", code)
    print("floors:", json.dumps([round(r.numbers["floorMs"], 4) for r in report.results[:2]]),
          [r.numbers["floorOf"] for r in report.results[:2]])


def losses(folder):
    """The bounds of the steps are 1e-5, 1e-2 and 2e-2."""
    row, report = Row("cnn", "train", 128, "fp32", 1), Report()
    with open(os.path.join(folder, row.losses), "w") as file:
        json.dump({"losses": [2, 1, 0.5], "rounding": [1e-8, 1e-3, 2e-3]}, file)
    reference = measure.Reference.read(row, folder)
    for ours, theirs in (("2.00001,0.997,0.503", "2,1.003,0.5"), ("2.0001,1,0.5", "2,1,0.5"),
                         ("2,1.015,0.5", "2,1,0.5"), ("2,1,nan", "2,1,0.5"),
                         ("2,1,0.5", "2,1,0.52")):
        report.add(measureRow(folder, row, {"flops": 1, "weightBytes": 1, "activationBytes": 1}, {
            "sinter": ("1", 0, "losses=" + ours),
            "torch-eager": ("4", 0, "losses=" + theirs)}, reference))
    print("errors:", {name: f"{error:.1e}" for name, error in report.results[0].errors.items()})


def programs(folder, bin_, models):
    """Rows as bench.py measures them, of small models."""
    report = Report()
    for row, model, data in ((Row("mlp", "infer", 6, "fp32", 1), "mlp.onnx", "mlp-in.npz"),
                             (Row("mlp", "train", 8, "fp32", 2), "train-mlp-adam.onnx",
                              "train-mlp-adam-data.npz")):
        shutil.copy(os.path.join(models, model), os.path.join(folder, row.model + ".onnx"))
        shutil.copy(os.path.join(models, data), os.path.join(folder, row.data))
        with open(os.path.join(folder, row.model + ".json"), "w") as file:
            json.dump({"table_elements": 0}, file)
        numbers, program = measure.compileRow(row, bin_, folder)
        measure.addFloor(numbers, row, RATES)
        others = {"openvino": functools.partial(start, folder, "openvino", "1", 0)}
        ours = functools.partial(measure.startOurs, row, bin_, folder, program)
        result = measure.measureRow(row, ours, others if row.kind == "infer" else {}, 2, 0.001)
        result.numbers = numbers
        report.add(result)
        print(row.name, "rounds", {name: len(times) for name, times in result.times.items()},
              "positive", min(result.times["sinter"] + [result.firstS["sinter"]]) > 0
              and min(result.numbers[key] for key in ("floorMs", "flops", "weightBytes")) > 0)
    report.summary()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.makedirs(sys.argv[2], exist_ok=True)
    {"rows": rows, "absent": absent, "stand-ins": standIns, "losses": losses,
     "programs": programs}[sys.argv[1]](*sys.argv[2:])
