"""How much of the GPU's memory rows need, and which rows and peers may be there at a time.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. Sides are processes that stay alive, so all that a part of a wave
has prepared is in memory at once.
"""

SHARE = 0.6  # of the memory, at most: estimates are rough, and tuning takes some for a while
OWN, PEER = 600 << 20, 768 << 20  # of a process: its context, its libraries, small buffers
# Of a kind of peers over our program's memory. PyTorch has two sides, eager and a graph, each
# with about twice ours, since its allocator keeps what it has freed.
FACTORS = {"torch": 4, "torch-compile": 2, "jax": 1.5}


def needed(kind, facts, ours=1):
    """Bytes for one row, of a kind of peers or of `ours` processes of "sinter". `facts` are
    rows.json's. Inference has no planned_bytes there, so twice its weights are taken."""
    planned = facts.get("planned_bytes") or 2 * facts["least_bytes"]
    if kind == "sinter":
        return ours * (OWN + planned)
    return PEER + FACTORS.get(kind, max(FACTORS.values())) * planned


def parts(rows, kinds, need, limit):
    """Splits a wave into [(rows, kinds of peers)] that are prepared and measured one after the
    other. need(row, kind) gives bytes, also of the kind "sinter", which is in each part; those of
    a part are at most `limit`. Rows go into the first part with room for them. A row that does
    not fit with all kinds has parts of its own, with as many kinds at a time as fit, and at
    least one: where that is too much, the side itself will say that it is out of memory. `limit`
    None: the memory is not known, and nothing is split."""
    if limit is None:
        return [(rows, kinds)]
    found, shared = [], []  # shared: [rows, bytes that are left]
    for row in rows:
        own, needs = need(row, "sinter"), {kind: need(row, kind) for kind in kinds}
        whole = own + sum(needs.values())
        if whole > limit:
            found += [([row], some) for some in apart(kinds, needs, limit - own)]
            continue
        part = next((part for part in shared if part[1] >= whole), None)
        if part is None:
            part = [[], limit]
            shared.append(part)
            found.append((part[0], kinds))
        part[0].append(row)
        part[1] -= whole
    return found


def apart(kinds, needs, limit):
    """`kinds` in groups, each of which needs at most `limit` bytes if it has more than one."""
    groups, left = [[]], limit
    for kind in kinds:
        if groups[-1] and needs[kind] > left:
            groups.append([])
            left = limit
        groups[-1].append(kind)
        left -= needs[kind]
    return groups
