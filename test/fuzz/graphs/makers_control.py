"""Makers of control flow and recurrent layers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, maker
from graph import BOOL, F32, Graph, I32, I64, Node, Tensor

STEPS = ["Tanh", "Sigmoid", "Abs", "Neg", "Sin", "Relu"]


def chain(b, graph, name, length):
    """Elementwise nodes in a body; the last one's name."""
    for _ in range(length):
        out = b.name("t")
        graph.nodes.append(Node(b.r.of(STEPS), [name], [out]))
        name = out
    return name


@maker("control", 11)
def ifNode(b):
    x = b.any(most=20)
    test = b.feed(Tensor(BOOL, b.r.of([(), (1,)]) if b.opset < 13 else (), [b.r.chance()]))
    branches = []
    for _ in range(2):
        body = Graph(b.opset)
        body.outputs = [(chain(b, body, x.name, b.r.between(1, 3)), F32)]
        branches.append(body)
    b.used.add(x.name)
    b.node("If", [test], [(F32, x.shape, x.most)], then_branch=branches[0],
           else_branch=branches[1])


@maker("control", 11)
def loop(b):
    """A carried value that a value of the outer graph is added to, and one stacked output."""
    x = b.any(ranks=[0, 1, 2, 3], most=20)
    y = b.partner(x)
    trips = b.r.between(1, 4)
    body = Graph(b.opset)
    step, go, carried, total, still = (b.name("t") for _ in range(5))
    body.parameters = [(step, I64, ()), (go, BOOL, ()), (carried, F32, x.shape)]
    last = chain(b, body, carried, b.r.between(1, 2))
    body.nodes += [Node("Add", [last, y.name], [total]), Node("Identity", [go], [still])]
    body.outputs = [(still, BOOL), (total, F32)]
    most = x.most + trips * y.most
    outputs = [(F32, x.shape, most)]
    if b.r.chance():
        stacked = b.name("t")
        body.nodes.append(Node("Mul", [total, total], [stacked]))
        body.outputs.append((stacked, F32))
        outputs.append((F32, (trips, *x.shape), most ** 2))
    b.used.add(y.name)
    b.node("Loop", [b.constant([trips], I64, ()), b.constant([True], BOOL, ()), x], outputs,
           body=body)


@maker("control", 11)
def scan(b):
    """A running state over the rows of a value, forwards or backwards, along any axis."""
    x = b.any(ranks=[2, 3], most=20)
    axis, outAxis = b.r.below(x.rank), b.r.below(x.rank)
    row = tuple(s for i, s in enumerate(x.shape) if i != axis)
    state = b.new(row)
    body = Graph(b.opset)
    s, r, t, u = (b.name("t") for _ in range(4))
    body.parameters = [(s, F32, row), (r, F32, row)]
    body.nodes = [Node(b.r.of(["Add", "Sub"]), [s, r], [t])]
    last = chain(b, body, t, 1)
    body.nodes.append(Node("Mul", [last, r], [u]))
    body.outputs = [(last, F32), (u, F32)]
    stacked = list(row)
    stacked.insert(outAxis, x.shape[axis])
    most = state.most + x.most * x.shape[axis]
    backwards = b.maybe(b.r.below(2))
    outwards = b.maybe(b.r.below(2))
    b.node("Scan", [state, x], [(F32, row, most), (F32, tuple(stacked), most * x.most)], body=body,
           num_scan_inputs=1, scan_input_axes=[axis] if axis or b.r.chance() else None,
           scan_output_axes=[outAxis] if outAxis or b.r.chance() else None,
           scan_input_directions=None if backwards is None else [backwards],
           scan_output_directions=None if outwards is None else [outwards])


@maker("recurrent", 14, weight=2)
def recurrent(b):
    op, gates = b.r.of([("RNN", 1), ("LSTM", 4), ("GRU", 3)])
    x = b.any(rank=3, most=4)
    steps, batch, size = x.shape
    hidden = b.r.of([1, 3, 4, 8])
    direction = b.r.of([None, "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    layout = 0
    w = b.new((ways, gates * hidden, size), most=1.0)
    r = b.new((ways, gates * hidden, hidden), most=1.0)
    bias = b.new((ways, 2 * gates * hidden)) if b.r.chance(0.6) else None
    lengths = None
    if b.r.chance(0.3):
        lengths = b.feed(b.tensor((batch,), I32, steps, 1), steps)
    state = b.new((ways, batch, hidden)) if b.r.chance() else None
    inputs = [x, w, r, bias, lengths, state]
    given = {"hidden_size": hidden, "direction": direction}
    if op == "LSTM":
        inputs.append(b.new((ways, batch, hidden)) if b.r.chance() else None)
        inputs.append(b.new((ways, 3 * hidden)) if b.r.chance(0.3) else None)
        given["input_forget"] = b.maybe(0)
    if op == "GRU":
        given["linear_before_reset"] = b.maybe(b.r.below(2))
    if b.r.chance(0.2):
        given["clip"] = 0.9
    if b.r.chance(0.3):
        names = {"RNN": ["Relu"], "LSTM": ["Sigmoid", "Tanh", "Softsign"],
                 "GRU": ["Sigmoid", "Softsign"]}[op]
        given["activations"] = names * ways
    most = 1 if "activations" not in given and not state else 40
    last = (F32, (ways, batch, hidden), most)
    outputs = [(F32, (steps, ways, batch, hidden), most), last]
    if op == "LSTM":
        outputs.append((F32, last[1], steps + 2))
    if b.r.chance(0.3):
        outputs[0] = None
    b.node(op, inputs, outputs, layout=b.maybe(layout), **given)
