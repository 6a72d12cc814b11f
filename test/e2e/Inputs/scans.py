"""Writes a scan, and the same program with its trips one after the other.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    scans.py FORM TRIPS SCAN.mlir UNROLLED.mlir [reverse]
"""

import sys

form, trips, scan_file, unrolled_file = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
reverse = sys.argv[5:] == ["reverse"]


class Form:
    """stacks, carried, whole: {name: type}; results: types of the stacked ones.

    `body` uses the names of the three as values, and its own ones; `next` are the carried
    values for the next trip, and `slices` those of the stacked results.
    """

    def __init__(self, stacks, carried, whole, results, body, next_values, slices):
        self.stacks, self.carried, self.whole, self.results = stacks, carried, whole, results
        self.body, self.next_values, self.slices = body, next_values, slices


def dot(result, a, b, types, contract=0):
    return (f"{result} = sinter.dot_general {a}, {b} batch [] x [] contract [1] x [{contract}] : ({types[0]}, {types[1]})"
            f" -> {types[2]}\n")


ROW, SQUARE, OUT = "tensor<2x8xf32>", "tensor<8x8xf32>", "tensor<2x3xf32>"
HALF, HALF_SQUARE = "tensor<4x16xbf16>", "tensor<16x16xbf16>"
STATE, WIDE = "tensor<16x24xf32>", "tensor<16x192xf32>"
ODD, LINE = "tensor<3xf32>", "tensor<5x16xf32>"
FORMS = {
    # A recurrent cell: what it carries is also stacked.
    "cell": Form({"%x": ROW}, {"%h": ROW}, {"%r": SQUARE}, [ROW],
                 dot("%p", "%h", "%r", (ROW, SQUARE, ROW)) +
                 f"%s = sinter.add %p, %x : {ROW}\n%n = sinter.tanh %s : {ROW}\n", ["%n"], ["%n"]),
    # Two carried values, of which one is stacked; two products, and a stack of another size.
    "gates": Form({"%x": ROW}, {"%h": ROW, "%c": ROW}, {"%r": SQUARE, "%o": "tensor<8x3xf32>"}, [OUT, ROW],
                  dot("%p", "%h", "%r", (ROW, SQUARE, ROW)) +
                  f"%s = sinter.add %p, %x : {ROW}\n%g = sinter.sigmoid %s : {ROW}\n"
                  f"%k = sinter.mul %g, %c : {ROW}\n%d = sinter.add %k, %s : {ROW}\n"
                  f"%t = sinter.tanh %d : {ROW}\n%n = sinter.mul %g, %t : {ROW}\n" +
                  dot("%y", "%n", "%o", (ROW, "tensor<8x3xf32>", OUT)), ["%n", "%d"], ["%y", "%d"]),
    # As many rows and columns as products read panels of: by weights, and by transposed ones.
    "panels": Form({"%x": WIDE}, {"%h": STATE}, {"%r": "tensor<192x24xf32>", "%o": "tensor<24x192xf32>"}, [WIDE],
                   dot("%p", "%h", "%r", (STATE, "tensor<192x24xf32>", WIDE), 1) +
                   dot("%q", "%h", "%o", (STATE, "tensor<24x192xf32>", WIDE)) +
                   f"%s = sinter.add %p, %x : {WIDE}\n%m = sinter.add %s, %q : {WIDE}\n%t = sinter.tanh %m : {WIDE}\n"
                   f"%n = sinter.slice %t starts [0, 80] limits [16, 104] strides [1, 1] : ({WIDE}) -> {STATE}\n",
                   ["%n"], ["%t"]),
    # Nothing is carried.
    "map": Form({"%x": LINE, "%z": LINE}, {}, {"%w": LINE}, [LINE],
                f"%a = sinter.mul %x, %w : {LINE}\n%b = sinter.sub %a, %z : {LINE}\n", [], ["%b"]),
    # Everything is carried; the values of two trips are exchanged.
    "carried": Form({}, {"%a": ROW, "%b": ROW}, {"%w": ROW}, [],
                    f"%s = sinter.mul %a, %w : {ROW}\n%t = sinter.add %s, %b : {ROW}\n", ["%b", "%t"], []),
    # Slices that begin anywhere; arguments, constants and one value twice as results.
    "odd": Form({"%x": ODD, "%i": "tensor<f32>"}, {"%h": ODD, "%old": ODD}, {"%w": ODD}, [ODD, ODD, ODD, ODD, "tensor<f32>"],
                f"%one = sinter.constant dense<[1.0, 2.0, 3.0]> : {ODD}\n"
                f"%j = sinter.broadcast %i dims [] : tensor<f32> -> {ODD}\n"
                f"%zero = sinter.constant dense<0.0> : {ODD}\n%s = sinter.add %x, %h : {ODD}\n"
                f"%t = sinter.mul %s, %j : {ODD}\n%n = sinter.sub %t, %w : {ODD}\n",
                ["%n", "%h"], ["%n", "%old", "%one", "%zero", "%i"]),
    # A running sum and a sort in the body.
    "sorted": Form({"%x": LINE}, {"%h": LINE}, {}, [LINE],
                   f"%s = sinter.cumulative sum %x {{axis = 1 : i64}} : {LINE}\n%n = sinter.add %s, %h : {LINE}\n"
                   f"%v, %i = sinter.top_k %n {{axis = 1 : i64, k = 16 : i64, largest}} : ({LINE}) -> ({LINE}, tensor<5x16xi64>)\n", ["%v"], ["%v"]),
    # 16-bit floats.
    "bf16": Form({"%x": HALF}, {"%h": HALF}, {"%r": HALF_SQUARE}, [HALF],
                 "%hf = sinter.cast %h : " + HALF + " -> tensor<4x16xf32>\n"
                 "%rf = sinter.cast %r : " + HALF_SQUARE + " -> tensor<16x16xf32>\n" +
                 dot("%p", "%hf", "%rf", ("tensor<4x16xf32>", "tensor<16x16xf32>", "tensor<4x16xf32>")) +
                 "%xf = sinter.cast %x : " + HALF + " -> tensor<4x16xf32>\n"
                 "%s = sinter.add %p, %xf : tensor<4x16xf32>\n%t = sinter.tanh %s : tensor<4x16xf32>\n"
                 "%n = sinter.cast %t : tensor<4x16xf32> -> " + HALF + "\n", ["%n"], ["%n"]),
}


def sizes(type_):
    parts = type_[len("tensor<"):-1].split("x")
    return [int(part) for part in parts[:-1]], parts[-1]


def stack(type_, count):
    return type_.replace("tensor<", f"tensor<{count}x", 1)


def names(prefix, count):
    return [f"%{prefix}{i}" for i in range(count)]


def write(path, lines, values, form_):
    arguments = [(name, stack(type_, trips)) for name, type_ in form_.stacks.items()]
    arguments += list(form_.carried.items()) + list(form_.whole.items())
    types = list(form_.carried.values()) + [stack(type_, trips) for type_ in form_.results]
    results = ", ".join(f'{type_} {{sinter.output = "r{i}"}}' for i, type_ in enumerate(types))
    inputs = ", ".join(f'{name}: {type_} {{sinter.input = "{name[1:]}"}}' for name, type_ in arguments)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"func.func @main({inputs}) -> ({results}) {{\n" + lines +
                   f"return {', '.join(values)} : {', '.join(types)}\n}}\n")


def as_scan(form_):
    results = names("last", len(form_.carried)) + names("all", len(form_.results))
    arguments = {**form_.stacks, **form_.carried, **form_.whole}
    types = [stack(type_, trips) for type_ in form_.stacks.values()]
    types += list(form_.carried.values()) + list(form_.whole.values())
    yielded = list(form_.carried.values()) + form_.results
    outputs = list(form_.carried.values()) + [stack(type_, trips) for type_ in form_.results]
    lines = (f"{', '.join(results)} = sinter.scan trips {trips} {'reverse ' if reverse else ''}"
             f"stacks({', '.join(form_.stacks)}) initial({', '.join(form_.carried)}) whole({', '.join(form_.whole)})"
             f" : ({', '.join(types)}) -> ({', '.join(outputs)}) {{\n^bb0(")
    lines += ", ".join(f"{name}_: {type_}" for name, type_ in arguments.items()) + "):\n"
    lines += rename(form_.body, {name: name + "_" for name in arguments}, "_b")
    values = [rename(name, {each: each + "_" for each in arguments}, "_b")
              for name in form_.next_values + form_.slices]
    return lines + f"sinter.yield {', '.join(values)} : {', '.join(yielded)}\n}}\n", results


def rename(text, known, suffix):
    """Replaces names by those of `known`; others get the suffix."""
    out, at = "", 0
    while at < len(text):
        end = at + 1
        if text[at] == "%":
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            name = text[at:end]
            out += known.get(name, name + suffix)
        else:
            out += text[at]
        at = end
    return out


def as_trips(form_):
    lines, now = "", {name: name for name in form_.carried}
    parts = [[None] * trips for _ in form_.results]
    for trip in range(trips):
        index = trips - 1 - trip if reverse else trip
        known = dict(now)
        known.update({name: name for name in form_.whole})
        for name, type_ in form_.stacks.items():
            dims, element = sizes(type_)
            whole = stack(type_, trips)
            starts, limits = [index] + [0] * len(dims), [index + 1] + dims
            lines += (f"{name}_c{trip} = sinter.slice {name} starts {starts} limits {limits} strides "
                      f"{[1] * (len(dims) + 1)} : ({whole}) -> {stack(type_, 1)}\n"
                      f"{name}_s{trip} = sinter.reshape {name}_c{trip} : {stack(type_, 1)} -> {type_}\n")
            known[name] = f"{name}_s{trip}"
        lines += rename(form_.body, known, f"_t{trip}")
        for number, name in enumerate(form_.slices):
            type_ = form_.results[number]
            part = f"%part{number}_{trip}"
            lines += f"{part} = sinter.reshape {rename(name, known, f'_t{trip}')} : {type_} -> {stack(type_, 1)}\n"
            parts[number][index] = part
        now = {name: rename(value, known, f"_t{trip}") for name, value in zip(form_.carried, form_.next_values)}
    values = [now[name] for name in form_.carried]
    for number, type_ in enumerate(form_.results):
        lines += (f"%all{number} = sinter.concat {', '.join(parts[number])} axis 0 : "
                  f"({', '.join([stack(type_, 1)] * trips)}) -> {stack(type_, trips)}\n")
        values.append(f"%all{number}")
    return lines, values


chosen = FORMS[form]
write(scan_file, *as_scan(chosen), chosen)
write(unrolled_file, *as_trips(chosen), chosen)
