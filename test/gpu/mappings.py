"""Small programs, one for each way in which kernels are generated: MLIR text.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The mappings are those of backends/gpu/codegen/BlockPart.h. What runs here on a GPU for the first
time fails in the smallest program that has it.
"""

from programs import Program, function, tensor

# What the PTX of a program must have, by the program's name.
TENSOR_CORES = (b"ldmatrix", b"cp.async", b"mma.sync")
HOLDS = {
    "array of parameters": (b".param .align",),
    "mapping: long row": (b"%dynamic_smem_size", b".extern .shared"),
    "staged tickets": (b"atom.",),
    "persistent kernel": (b"atom.", b"%nctaid.x"),
    "whole numbers in bf16": TENSOR_CORES,
    "whole numbers in f16": TENSOR_CORES,
    "whole numbers in tf32": TENSOR_CORES,
    "persistent kernel, bf16": (*TENSOR_CORES, b"atom.", b"%nctaid.x"),
    "persistent kernel, tf32": (*TENSOR_CORES, b"atom.", b"%nctaid.x"),
}


def mapping(name, inputs, body, outputs):
    return Program(f"mapping: {name}", function(inputs, body, outputs),
                   options=("--libraries=none",))


def mappings():
    T, R, C, U = tensor(48, 300), tensor(48, of="i64"), tensor(300), tensor(300, 48)
    yield mapping("loop", {"x": T, "y": T}, f"""
        %0 = sinter.mul %x, %y : {T}
        %1 = sinter.tanh %0 : {T}""", {"z": ("%1", T)})
    yield mapping("row", {"x": T}, f"%0 = sinter.softmax %x {{axis = 1 : i64}} : {T}",
                  {"z": ("%0", T)})
    O = tensor(1, 33000)
    yield mapping("long row", {"x": O}, f"%0 = sinter.softmax %x {{axis = 1 : i64}} : {O}",
                  {"z": ("%0", O)})
    yield mapping("column", {"x": T}, f"%0 = sinter.reduce sum %x dims [0] : ({T}) -> {C}",
                  {"z": ("%0", C)})
    yield mapping("arg", {"x": T},
                  f"%0 = sinter.arg_reduce max %x {{axis = 1 : i64}} : ({T}) -> {R}",
                  {"z": ("%0", R)})
    yield mapping("transpose", {"x": T},
                  f"%0 = sinter.transpose %x perm [1, 0] : ({T}) -> {U}", {"z": ("%0", U)})
    P = tensor(48, 48)
    yield mapping("contraction", {"x": T, "y": U}, f"""
        %0 = sinter.dot_general %x, %y batch [] x [] contract [1] x [0] : ({T}, {U}) -> {P}""",
                  {"z": ("%0", P)})
    V, E, F, Q = tensor(1, 300), tensor(300, 48), tensor(48, 300), tensor(1, 48)
    yield mapping("vector, columns", {"x": V, "w": E}, f"""
        %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : ({V}, {E}) -> {Q}""",
                  {"z": ("%0", Q)})
    yield mapping("vector, depth", {"x": V, "w": F}, f"""
        %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : ({V}, {F}) -> {Q}""",
                  {"z": ("%0", Q)})
    for name, heads, keys, depth in (("rows", 3, 256, 40), ("rows, of GPT-2", 12, 1024, 64)):
        A, B, S = tensor(heads, 1, depth), tensor(heads, keys, depth), tensor(heads, 1)
        yield mapping(name, {"q": A, "k": B, "v": B}, f"""
        %0, %1 = sinter.attention %q, %k, %v {{scale = 0.15 : f64}}
          : ({A}, {B}, {B}) -> ({A}, {S})""", {"y": ("%0", A)})
    X, W = tensor(1, 8, 20, 20), tensor(8, 1, 3, 3)
    yield mapping("direct", {"x": X, "w": W}, f"""
        %0 = sinter.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 8}}
          : ({X}, {W}) -> {X}""", {"z": ("%0", X)})
    L, K, I = tensor(3, 5000), tensor(3, 16), tensor(3, 16, of="i64")
    yield mapping("scan", {"x": L}, f"%0 = sinter.cumulative sum %x {{axis = 1 : i64}} : {L}",
                  {"z": ("%0", L)})
    yield mapping("sort", {"x": L}, f"""
        %0, %1 = sinter.top_k %x {{axis = 1 : i64, k = 16 : i64, largest}} : ({L}) -> ({K}, {I})
        """, {"z": ("%0", K), "at": ("%1", I)})
    D, N, S = tensor(64, 8), tensor(40, of="i64"), tensor(40, 8)
    yield mapping("scatter", {"x": D, "i": N, "u": S}, f"""
        %0 = sinter.scatter sum %x, %i, %u axis 0 : ({D}, {N}, {S}) -> {D}""", {"z": ("%0", D)})


def tickets():
    """A sum so long that several blocks compute it; the last of them adds theirs."""
    X, Y = tensor(1, 1 << 19), tensor(1)
    return Program("staged tickets", function({"x": X}, f"""
        %0 = sinter.mul %x, %x : {X}
        %1 = sinter.reduce sum %0 dims [1] : ({X}) -> {Y}""", {"y": ("%1", Y)}),
                   options=("--libraries=none",))


def arrayOfParameters(count=40):
    """Updates of so many parameters that their addresses are passed as one array."""
    T, S = tensor(257), tensor()
    inputs, outputs = {}, {}
    body = f"""
        %lr = sinter.constant dense<0.001> : {S}
        %decay = sinter.constant dense<0.0> : {S}
        %t = sinter.constant dense<7.0> : {S}"""
    for n in range(count):
        inputs |= {f"{letter}{n}": T for letter in "wgmv"}
        outputs |= {f"n{letter}{n}": (f"%n{letter}{n}", T) for letter in "wmv"}
        body += f"""
        %s{n} = sinter.mul %v{n}, %v{n} : {T}
        %nw{n}, %nm{n}, %nv{n} = sinter.adam_update %w{n}, %g{n}, %m{n}, %s{n}, %lr, %decay, %t
          {{beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}}
          : ({T}, {T}, {T}, {T}, {S}, {S}, {S}) -> ({T}, {T}, {T})"""
    return Program("array of parameters", function(inputs, body, outputs),
                   options=("--libraries=none",))


def persistent():
    """Three stages of one kernel, whose blocks wait for each other: a product, the softmax of its
    rows, and another product beside a sum of columns."""
    X, W, Y, V, Z, S = (tensor(*shape) for shape in [(64, 300), (300, 80), (64, 80), (80, 48),
                                                     (64, 48), (80,)])
    return Program("persistent kernel", function({"x": X, "w": W, "v": V}, f"""
        %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : ({X}, {W}) -> {Y}
        %1 = sinter.softmax %0 {{axis = 1 : i64}} : {Y}
        %2 = sinter.dot_general %1, %v batch [] x [] contract [1] x [0] : ({Y}, {V}) -> {Z}
        %3 = sinter.reduce sum %1 dims [0] : ({Y}) -> {S}""", {"z": ("%2", Z), "s": ("%3", S)}),
                   options=("--persistent-kernel=on",))


def persistentProducts(element):
    """One product after another on tensor cores, in one kernel: each block computes several tiles,
    and both products use the same shared memory. Sums of whole numbers are exact."""
    X, W, Y, V, Z = ((264, 300), (300, 272), (264, 272), (272, 136), (264, 136))
    kind, flag = ("f32", " {tf32}") if element == "tf32" else (element, "")

    def whole(name, shape):
        text = f"""
        %{name}1 = sinter.constant dense<3.0> : {tensor(*shape)}
        %{name}2 = sinter.mul %{name}, %{name}1 : {tensor(*shape)}
        %{name}3 = sinter.round %{name}2 : {tensor(*shape)}"""
        return text + (f"""
        %{name}4 = sinter.cast %{name}3 : {tensor(*shape)} -> {tensor(*shape, of=kind)}"""
                       if kind != "f32" else "")
    last = 3 if kind == "f32" else 4
    types = [tensor(*shape, of=kind) for shape in (X, W, Y, V)]
    return Program(f"persistent kernel, {element}", function(
        {"x": tensor(*X), "w": tensor(*W), "v": tensor(*V)},
        whole("x", X) + whole("w", W) + whole("v", V) + f"""
        %0 = sinter.dot_general %x{last}, %w{last} batch [] x [] contract [1] x [0]{flag}
          : ({types[0]}, {types[1]}) -> {types[2]}
        %1 = sinter.dot_general %0, %v{last} batch [] x [] contract [1] x [0]{flag}
          : ({types[2]}, {types[3]}) -> {tensor(*Z, of=kind)}""" + ("" if kind == "f32" else f"""
        %z = sinter.cast %1 : {tensor(*Z, of=kind)} -> {tensor(*Z)}"""),
        {"z": ("%1" if kind == "f32" else "%z", tensor(*Z))}),
                   options=("--persistent-kernel=on",))


def persistentKernels():
    return [persistent(), persistentProducts("bf16"), persistentProducts("tf32")]


def programs():
    return [*mappings(), tickets(), arrayOfParameters(), *persistentKernels()]


def missing(name, code):
    """What the PTX in `code` must have and does not, or an empty list."""
    return [word.decode() for word in HOLDS.get(name, ()) if word not in code] \
        if b".target sm_" in code else []
