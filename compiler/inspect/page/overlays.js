// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// What the color of a node says.
'use strict';

const PRECISION_COLORS = {
  f64: '#7a4fc9', f32: '#3b6fd4', tf32: '#2a93a8', f16: '#3f9152', bf16: '#8a9a2c', f8: '#c98a1b', i64: '#8b6a4e',
  i32: '#a5785a', i8: '#c0612b', i4: '#c0392b', i1: '#7d8794',
};
const ROLE_COLORS = {forward: '#3b6fd4', loss: '#c98a1b', backward: '#b23a78', 'backward and optimizer': '#7a4fc9', optimizer: '#3f9152'};
const RUN_COLORS = {'library call': '#3b6fd4', 'generated kernel': '#0f8a8a', 'copy or fill': '#c98a1b', 'no command': '#7d8794'};
const DEVICE_COLORS = ['#3b6fd4', '#c0612b', '#3f9152', '#7a4fc9', '#0f8a8a', '#b23a78'];

// A color between pale yellow and dark red for a share of the maximum.
function heat(share) {
  return `hsl(${50 - 50 * share} 85% ${62 - 22 * share}%)`;
}

function elementType(type) {
  const match = /^tensor<(?:\d+x)*([a-z]\w*)>$/.exec(type || '');
  const name = match ? match[1] : '';
  return name.startsWith('f8') ? 'f8' : name;
}

// The commands that compute a node of the model, by its name.
function commandsByNode(program) {
  if (!program.commandsOfNode) {
    program.commandsOfNode = new Map();
    for (const plan of program.plans())
      for (const command of plan.commands)
        for (const node of command.op.nodes) {
          if (!program.commandsOfNode.has(node))
            program.commandsOfNode.set(node, []);
          program.commandsOfNode.get(node).push({plan, command});
        }
  }
  return program.commandsOfNode;
}

// The commands of a leaf: itself in a plan, else those that bear its names.
function commandsOf(leaf, program, graph, symbol) {
  if (graph.isPlan) {
    const plan = program.plans().find(each => each.symbol === symbol);
    const command = plan && leaf.op && plan.commands.find(each => each.op.id === leaf.op.id);
    return command ? [{plan, command}] : [];
  }
  const found = new Map();
  for (const name of leaf.nodes)
    for (const each of commandsByNode(program).get(name) || [])
      found.set(each.command, each);
  return [...found.values()];
}

function runKind(command) {
  return command.op.kind === 'exec.launch' ? 'generated kernel' : /^exec\.(copy|fill|record|wait|await)/.test(command.op.kind) ? 'copy or fill' : 'library call';
}

function deviceOf(op) {
  const match = op && /(?:sinter\.device|exec\.place|exec\.to) = (\d+)/.exec(op.text);
  return match ? Number(match[1]) : 0;
}

const SAME = 'same kernel', OTHER_KERNEL = 'other kernel', CHANGED = 'changed in the model', ONLY_HERE = 'only here';
const DIFFERENCE_COLORS = {[SAME]: '#7d8794', [OTHER_KERNEL]: '#c98a1b', [CHANGED]: '#7a4fc9', [ONLY_HERE]: '#c0262d'};

// For each node of the imported model: its ops without types, and the nodes, inputs, states and constants that they
// read. Types say nothing: those of a whole model change with one shape.
function importedNodes(program) {
  const linesOf = new Map();
  if (!program.steps.length)
    return linesOf;
  const withoutTypes = text => text.replace(/ : (?!.* : ).*$/, '');
  for (const {name} of program.symbols(0)) {
    const ops = program.ops(name, 0) || [], byId = new Map(ops.map(op => [op.id, op]));
    const valueOf = ([id, number]) => {
      const op = byId.get(id);
      if (!op)
        return '';
      if (number < 0) // "sinter.input = "x"" stands behind each argument of a function
        return [...op.text.matchAll(/sinter\.(?:input|state|control) = @?("(?:[^"\\]|\\.)*"|[\w$.-]+)/g)].map(match => match[1])[-1 - number] ?? `argument ${-1 - number}`;
      return op.kind === 'sinter.constant' ? op.text : `${op.computes.join(',')}#${number}`;
    };
    for (const op of ops)
      if (op.kind !== 'sinter.constant')
        for (const node of op.nodes) {
          if (!linesOf.has(node))
            linesOf.set(node, []);
          linesOf.get(node).push(`${withoutTypes(op.text)} <- ${op.operands.map(valueOf).join(' ; ')}`);
        }
  }
  return new Map([...linesOf].map(([node, lines]) => [node, lines.join('\n')]));
}

// For each node that `program` computes, or that the models have in two forms: how the kernels that compute it compare
// with those of `other`. Kernels are equal if they compute the same nodes in the same way.
function compareNodes(program, other) {
  const kernelsOf = each => new Map([...commandsByNode(each)].map(([node, list]) =>
    [node, [...new Set(list.map(({command}) => `${command.op.kind}\n${[...command.op.computes].sort().join('\n')}`))].sort().join('\n\n')]));
  const here = kernelsOf(program), there = kernelsOf(other);
  const result = new Map([...here].map(([node, kernels]) =>
    [node, !there.has(node) ? ONLY_HERE : there.get(node) === kernels ? SAME : OTHER_KERNEL]));
  const own = importedNodes(program), its = importedNodes(other);
  for (const [node, lines] of own)
    if (its.has(node) && its.get(node) !== lines)
      result.set(node, CHANGED);
  return result;
}

class Overlay {
  // Values of the leaves of one graph, and the legend.
  constructor(kind, side) {
    this.kind = kind;
    this.values = new Map(); // leaf -> color or number
    const {graph, program, symbol} = side;
    this.devices = program.devices;
    this.given = Object.hasOwn(program.overlays, kind) ? program.overlays[kind] : null;
    this.isSum = kind === 'time' || kind === 'bytes' || this.given !== null;
    const other = side.app.sides.find(each => each !== side);
    if (kind === 'difference' && other)
      this.differences = compareNodes(program, other.program);
    const timeOf = new Map();
    if (kind === 'time')
      for (const leaf of graph.leaves)
        for (const {plan, command} of commandsOf(leaf, program, graph, symbol))
          if (plan.micros.length && (graph.isPlan || !command.body)) // the body of a scan has its time
            timeOf.set(leaf, (timeOf.get(leaf) || 0) + plan.micros[command.index]);
    for (const leaf of graph.leaves)
      this.values.set(leaf, this.valueOf(leaf, side, timeOf));
    this.most = this.isSum ? Math.max(...this.values.values(), 0) : 0;
  }

  valueOf(leaf, {graph, program, symbol}, timeOf) {
    if (this.given)
      return Math.max(0, ...leaf.nodes.filter(name => Object.hasOwn(this.given, name)).map(name => Math.abs(this.given[name])));
    switch (this.kind) {
    case 'category':
      return leaf.category;
    case 'role':
      return leaf.role;
    case 'difference':
      return [ONLY_HERE, CHANGED, OTHER_KERNEL, SAME].find(value => leaf.nodes.some(name => this.differences.get(name) === value)) || '';
    case 'time':
      return timeOf.get(leaf) || 0;
    case 'bytes':
      return leaf.bytes !== undefined ? leaf.bytes : bytesOfType(leaf.type);
    case 'precision':
      return elementType(leaf.type);
    default: {
      const [first] = commandsOf(leaf, program, graph, symbol);
      if (this.kind === 'device')
        return first ? deviceName(program.devices, deviceOf(first.command.op)) : '';
      return first ? runKind(first.command) : 'no command';
    }
    }
  }

  palette() {
    switch (this.kind) {
    case 'category':
      return CATEGORY_COLORS;
    case 'role':
      return ROLE_COLORS;
    case 'precision':
      return PRECISION_COLORS;
    case 'difference':
      return DIFFERENCE_COLORS;
    case 'device':
      return Object.fromEntries(DEVICE_COLORS.map((color, i) => [deviceName(this.devices, i), color]));
    default:
      return RUN_COLORS;
    }
  }

  valueOfBox(box) {
    const values = leavesOf(box).filter(leaf => !leaf.isQuiet || leaf === box).map(leaf => this.values.get(leaf));
    if (this.given)
      return Math.max(0, ...values);
    if (this.isSum)
      return values.reduce((sum, value) => sum + value, 0);
    if (box.isKernel && this.kind === 'category')
      return box.category;
    return values.every(value => value === values[0]) ? values[0] : '';
  }

  color(box) {
    const value = this.valueOfBox(box);
    if (this.isSum)
      return value && this.most ? heat(Math.min(1, value / this.most)) : '';
    return this.palette()[value] || '';
  }

  text(value) {
    if (this.given)
      return String(Number(value.toPrecision(4)));
    return this.kind === 'time' ? `${value.toFixed(1)} us` : bytesText(value);
  }

  legend() {
    if (this.isSum)
      return this.most ? [[heat(0), '0'], [heat(0.5), this.text(this.most / 2)], [heat(1), this.text(this.most)]] : [];
    const palette = this.palette();
    const present = new Set();
    for (const [leaf, value] of this.values)
      if (!leaf.isQuiet)
        present.add(value);
    return Object.keys(palette).filter(name => present.has(name)).map(name => [palette[name], name]);
  }
}

// The overlays that a side has data for: [kind, name].
function overlaysOf({program, graph, app}) {
  const list = [['category', 'op kind'], ['bytes', 'bytes'], ['precision', 'precision']];
  if (graph.hasRoles)
    list.push(['role', 'forward / backward']);
  if (app.sides.length === 2 && app.sides.every(side => side.program.plans().length))
    list.push(['difference', 'difference of the two']);
  if (program.plans().length)
    list.push(['runs', 'kernel / library']);
  if (program.plans().some(plan => plan.micros.length))
    list.push(['time', 'time of the profile']);
  if (program.plans().some(plan => plan.commands.some(command => deviceOf(command.op))))
    list.push(['device', 'device']);
  for (const title of Object.keys(program.overlays))
    list.push([title, shown(title)]);
  return list;
}
