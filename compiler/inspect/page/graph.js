// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The graph of one function or planned program: ops, edges, and the tree of
// modules and kernels that they are in.
'use strict';

// The modules in the name of a node: ["encoder", "layer.0"] of
// "/encoder/layer.0/Add".
function modulePath(name) {
  if (name.startsWith('<'))
    return [];
  const parts = name.includes('/') ? name.split('/') : name.split('.');
  return parts.filter(Boolean).slice(0, -1);
}

function commonPath(paths) {
  let common = paths[0] || [];
  for (const path of paths) {
    let n = 0;
    while (n < common.length && n < path.length && common[n] === path[n])
      ++n;
    common = common.slice(0, n);
  }
  return common;
}

const CATEGORIES = [
  ['contraction', /^(dot_general|matmul|library_call|attention\w*)/],
  ['convolution', /^conv/],
  ['kernel', /^(kernel|launch)/],
  ['reduction', /^(reduce|softmax|layer_norm|batch_norm|cumulative|sort|top_k|\w*norm)/],
  ['shape', /^(reshape|transpose|broadcast|slice|concat|pad|gather|scatter|copy|cast|fill)/],
  ['input', /^(constant|input|state|control|return)/],
  ['optimizer', /_update/],
];

function categoryOf(kind) {
  const name = kind.replace(/^\w+\./, '');
  for (const [category, pattern] of CATEGORIES)
    if (pattern.test(name))
      return category;
  return 'elementwise';
}

// An op, an argument, or a group of them. Leaves have `op` or `argument`.
class GraphNode {
  constructor(key, label) {
    this.key = key;
    this.label = label;
    this.parent = null;
    this.children = null; // of a group
    this.inputs = [];     // leaves
    this.outputs = [];
    this.nodes = [];
    this.category = 'elementwise';
    this.isQuiet = false; // a constant or a state: hidden by default
  }
  get isGroup() { return this.children !== null; }
  get isKernel() { return this.isGroup && !!this.op; }
}

class Graph {
  // `states`: the names of the program's states.
  constructor(ops, states = new Set()) {
    this.states = states;
    this.byKey = new Map();
    this.leaves = [];
    this.top = []; // what is in no kernel
    this.root = this.group('', 'root');
    if (ops && ops.length)
      this.build(ops);
  }

  group(key, label) {
    const node = new GraphNode(key, label);
    node.children = [];
    this.byKey.set(key, node);
    return node;
  }

  addTo(parent, node) {
    node.parent = parent;
    parent.children.push(node);
  }

  leaf(key, label, order) {
    const node = new GraphNode(key, label);
    node.order = order;
    this.byKey.set(key, node);
    this.leaves.push(node);
    return node;
  }

  build(ops) {
    const head = ops[0];
    this.isPlan = head.kind === 'exec.program';
    this.ops = new Map(ops.map(op => [op.id, op]));
    this.parents = new Map();
    this.nested = new Map(); // id -> ops inside
    const around = [];
    for (const op of ops) {
      around.length = op.depth;
      const parent = around[op.depth - 1];
      this.parents.set(op.id, parent);
      if (parent) {
        if (!this.nested.has(parent.id))
          this.nested.set(parent.id, []);
        this.nested.get(parent.id).push(op);
      }
      around[op.depth] = op;
    }
    this.head = head;
    this.addArguments(ops[1] && ops[1].isHead ? ops[1] : head);
    ops.forEach((op, order) => this.addOp(op, order));
    this.connect(ops);
    this.roles();
    for (const node of this.top)
      this.place(node);
    this.flatten(this.root);
  }

  // The inputs and states of a function, "%: type {sinter.state = @"w"}", or the
  // arguments of a kernel's block.
  addArguments(head) {
    if (this.isPlan)
      return;
    const parts = head.text.split('%').slice(1);
    parts.forEach((part, i) => {
      const match = /sinter\.(input|state|control) = @?(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))/.exec(part);
      const kind = match ? match[1] : head.isHead ? `argument ${i}` : 'input';
      const node = this.leaf('a' + i, kind, -1);
      node.nodes = match ? [match[2] || match[3]] : [];
      node.type = (/tensor<[^>]*>/.exec(part) || [''])[0];
      node.category = 'input';
      node.isQuiet = kind === 'state' || kind === 'control';
      node.argument = i;
      this.top.push(node);
    });
  }

  addOp(op, order) {
    if (op.depth === 0 || op.isHead || op.kind === 'sinter.yield' || op.kind === 'exec.buffer')
      return;
    const inner = (this.nested.get(op.id) || []).some(o => !o.isHead && o.kind !== 'sinter.yield');
    const node = inner ? this.group('o' + op.id, op.label) : this.leaf('o' + op.id, op.label, order);
    node.op = op;
    node.order = order;
    node.nodes = op.nodes;
    node.type = op.type;
    node.category = categoryOf(op.kind);
    node.isQuiet = op.kind === 'sinter.constant';
    const parent = this.byKey.get('o' + (this.parents.get(op.id) || {}).id);
    if (parent)
      this.addTo(parent, node);
    else
      this.top.push(node);
  }

  // The leaf that makes a value; null if nothing in the graph does.
  source([id, number], hops = 0) {
    const op = this.ops.get(id);
    if (!op || hops > 50)
      return null;
    if (number < 0) {
      if (id === this.head.id || op.isHead && this.parents.get(id) === this.head)
        return this.byKey.get('a' + (-1 - number)) || null;
      const owner = op.isHead ? this.parents.get(id) : op;
      const operand = owner && owner.operands[-1 - number];
      return operand && operand[0] !== id ? this.source(operand, hops + 1) : null;
    }
    const node = this.byKey.get('o' + id);
    if (!node || !node.isGroup)
      return node || null;
    const inside = this.nested.get(id);
    const last = inside[inside.length - 1];
    const result = last.kind === 'sinter.yield' && last.operands[number];
    return (result && this.source(result, hops + 1)) || lastLeaf(node);
  }

  connect(ops) {
    if (this.isPlan)
      return this.connectCommands(ops);
    for (const op of ops) {
      const node = this.byKey.get('o' + op.id);
      if (!node || node.isGroup)
        continue;
      for (const operand of op.operands)
        this.edge(this.source(operand), node);
    }
  }

  edge(from, to) {
    if (!from || from === to || to.inputs.includes(from))
      return;
    to.inputs.push(from);
    from.outputs.push(to);
  }

  // A command depends on the last one that wrote bytes which it reads.
  connectCommands(ops) {
    const plan = new Plan('', ops, []);
    const writers = new Map(); // place -> [[begin, end, node]]
    const overlap = (buffer, visit) => {
      const key = buffer.space + buffer.place;
      const list = writers.get(key) || [];
      for (let i = list.length - 1; i >= 0; --i)
        if (list[i][0] < buffer.offset + buffer.size && buffer.offset < list[i][1])
          visit(list[i][2]);
      return [key, list];
    };
    const streams = new Map(); // "place stream" -> {last, waits}
    const records = new Map(); // event -> node
    for (const command of plan.commands) {
      const node = this.byKey.get('o' + command.op.id);
      this.connectEvent(node, streams, records);
      for (const buffer of command.reads)
        overlap(buffer, from => this.edge(from, node));
      for (const buffer of command.writes) {
        const [key, list] = overlap(buffer, () => {});
        const begin = buffer.offset, end = begin + buffer.size;
        // What is left of older writes before and behind these bytes.
        writers.set(key, [...list.flatMap(([b, e, from]) => [[b, Math.min(e, begin), from], [Math.max(b, end), e, from]])
          .filter(([b, e]) => b < e), [begin, end, node]]);
      }
      node.type = command.writes.length ? command.writes[0].type : '';
      node.bytes = command.writes.reduce((sum, buffer) => sum + buffer.size, 0);
      node.label = command.op.kind === 'exec.launch' || command.bytes ? command.target : node.label;
    }
  }

  // An event is recorded after the last command of its stream. What follows a
  // wait in its stream depends on it.
  connectEvent(node, streams, records) {
    const number = name => (new RegExp(`exec\\.${name} = (\\d+)`).exec(node.op.text) || [0, 0])[1];
    const key = number('place') + ' ' + number('stream');
    if (!streams.has(key))
      streams.set(key, {last: null, waits: []});
    const stream = streams.get(key);
    const event = /^exec\.(record|wait) (\d+)/.exec(node.op.text);
    if (event && event[1] === 'record') {
      this.edge(stream.last, node);
      records.set(event[2], node);
    } else if (event) {
      this.edge(records.get(event[2]), node);
      stream.waits.push(node);
      return;
    } else {
      stream.last = node;
    }
    stream.waits.splice(0).forEach(wait => this.edge(wait, node));
  }

  // Which part of a training step an op belongs to: forward, loss, backward, optimizer, or an update with the
  // gradients that are fused with it.
  roles() {
    const states = new Set(this.states);
    for (const leaf of this.leaves)
      if (leaf.label === 'state')
        leaf.nodes.forEach(name => states.add(name));
    const isPart = (leaf, part) => leaf.nodes.includes(part);
    const hasLoss = this.leaves.some(leaf => isPart(leaf, '<loss>'));
    // What the loss is computed from.
    const before = new Set(), work = this.leaves.filter(leaf => isPart(leaf, '<loss>'));
    while (work.length)
      for (const from of work.pop().inputs)
        if (!before.has(from)) {
          before.add(from);
          work.push(from);
        }
    for (const leaf of this.leaves) {
      leaf.role = 'forward';
      // Where all results of a step meet tells nothing.
      if (leaf.label === 'return') {
        leaf.isQuiet = hasLoss;
        continue;
      }
      if (!hasLoss || leaf.argument !== undefined)
        continue;
      // An op that names nodes says whether it is of their gradient. Another one, of the side of the loss that its
      // operands are on; an update's step size tells nothing.
      const names = leaf.op ? leaf.op.computes.filter(name => !states.has(name) && !/^(grad[(])?</.test(name)) : [];
      // A gradient rule computes values of the forward pass again, and equal ops are one: an op of a node and of its
      // gradient is forward if the loss needs it.
      const isGradient = names.some(name => name !== nodeOfName(name));
      const isForward = before.has(leaf) && names.some(name => name === nodeOfName(name));
      const fromLoss = names.length ? isGradient && !isForward
        : leaf.inputs.some(from => from.role === 'loss' || /^backward/.test(from.role));
      // Of an update, nodes of the model are those of gradients that are fused with it.
      const isUpdate = leaf.nodes.some(name => /^<(optimizer|clip|ema)/.test(name) || states.has(name)) || /_update$/.test(leaf.label);
      if (isPart(leaf, '<loss>') && leaf.nodes.length === 1)
        leaf.role = 'loss';
      else if (isUpdate)
        leaf.role = isGradient ? 'backward and optimizer' : 'optimizer';
      else if (fromLoss)
        leaf.role = 'backward';
      else if (isPart(leaf, '<loss>'))
        leaf.role = 'loss';
    }
    this.hasRoles = hasLoss;
  }

  // Puts a leaf or a kernel into the group of its module.
  place(node) {
    let parent = this.root;
    node.role = node.isGroup ? lastLeaf(node).role : node.role;
    if (/backward|optimizer/.test(node.role))
      parent = this.subgroup(parent, node.role);
    const names = node.nodes.filter(name => !name.startsWith('<'));
    if (node.argument === undefined && node.role !== 'optimizer')
      for (const part of commonPath(names.map(modulePath)))
        parent = this.subgroup(parent, part);
    this.addTo(parent, node);
  }

  subgroup(parent, label) {
    const key = parent.key + '/' + label;
    let group = this.byKey.get(key);
    if (!group) {
      group = this.group(key, label);
      this.addTo(parent, group);
    }
    return group;
  }

  // A module with a single child is replaced by that child.
  flatten(group) {
    for (let i = 0; i < group.children.length; ++i) {
      const child = group.children[i];
      if (!child.isGroup)
        continue;
      this.flatten(child);
      if (child.isKernel || child.children.length !== 1)
        continue;
      const only = child.children[0];
      if (only.isGroup && !only.isKernel)
        only.label = child.label + '/' + only.label;
      only.parent = group;
      group.children[i] = only;
      this.byKey.delete(child.key);
    }
    const orders = group.children.map(child => child.order);
    if (!group.isKernel)
      group.order = Math.min(...orders);
    group.count = group.children.reduce((sum, child) => sum + (child.isGroup ? child.count : 1), 0);
    if (!group.isKernel)
      group.nodes = [];
  }
}

function lastLeaf(group) {
  const child = group.children[group.children.length - 1];
  return !child ? null : child.isGroup ? lastLeaf(child) : child;
}

function leavesOf(node) {
  return node.isGroup ? node.children.flatMap(leavesOf) : [node];
}
