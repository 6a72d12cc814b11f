// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The data of the page: programs, their passes, and the ops after each pass.
'use strict';

async function readData() {
  const text = atob(document.getElementById('data').textContent);
  const bytes = Uint8Array.from(text, c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

// "sinter.add" of "sinter.add %, % : ...", "exec.all_reduce" of "exec.collective all_reduce over ...".
function kindOf(text) {
  const message = /^exec\.collective +(\w+)/.exec(text);
  if (message)
    return 'exec.' + message[1];
  const end = text.search(/[ ({]/);
  return end < 0 ? text : text.slice(0, end);
}

function gradientName(node) {
  return `grad(${node})`;
}

// The node of "grad(NODE)" or of "NODE".
function nodeOfName(name) {
  return name.startsWith('grad(') && name.endsWith(')') ? name.slice(5, -1) : name;
}

// One op in one version of a symbol. `operands` are [op's id, number] for each
// "%" of the text; a negative number is a block argument.
class Op {
  constructor(record, strings) {
    [this.id, this.textNumber, this.depth, this.results] = record;
    this.text = strings[this.textNumber];
    this.computes = record[4].map(i => strings[i]); // "NODE", "grad(NODE)"
    this.nodes = [...new Set(this.computes.map(nodeOfName))];
    this.operands = [];
    for (let i = 0; i < record[5].length; i += 2)
      this.operands.push([record[5][i], record[5][i + 1]]);
    this.kind = kindOf(this.text);
    this.isHead = this.text.startsWith('^');
  }

  get label() {
    const name = this.kind.replace(/^\w+\./, '');
    const detail = this.kind === 'exec.launch' ? /@("[^"]*"|[\w$.-]+)/.exec(this.text)
      : ['sinter.kernel', 'sinter.library_call', 'sinter.reduce_window', 'sinter.reduce',
         'sinter.compare'].includes(this.kind) ? / +([a-z_]+)/.exec(this.text.slice(this.kind.length)) : null;
    return detail ? name + ' ' + detail[1] : name;
  }

  // The type of the first result, or "".
  get type() {
    const types = this.text.match(/tensor<[^>]*>/g);
    return types ? types[types.length - 1] : '';
  }

  // The text with the names of values, which are the ids of their ops.
  get line() {
    let i = 0, quoted = false, result = '';
    for (let at = 0; at < this.text.length; ++at) {
      const c = this.text[at];
      if (c === '\\' && quoted)
        result += c + this.text[++at];
      else if (c === '%' && !quoted && i < this.operands.length)
        result += valueName(this.operands[i++]);
      else {
        if (c === '"')
          quoted = !quoted;
        result += c;
      }
    }
    const results = this.results ? `%${this.id}${this.results > 1 ? ':' + this.results : ''} = ` : '';
    return results + result;
  }
}

function valueName([id, number]) {
  return number < 0 ? `%arg${id}.${-1 - number}` : number ? `%${id}#${number}` : `%${id}`;
}

// Bytes of "tensor<8x3xf32>".
function bytesOfType(type) {
  const match = /^tensor<((?:\d+x)*)([a-z]\w*)>$/.exec(type);
  if (!match)
    return 0;
  const count = match[1].split('x').filter(Boolean).reduce((product, size) => product * Number(size), 1);
  const bits = Number(/^[a-z]+(\d+)/.exec(match[2])?.[1] ?? 32);
  // A truth value takes a byte.
  return Math.ceil(count * (bits === 1 ? 8 : bits) / 8);
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

class Program {
  constructor(data) {
    this.title = data.title;
    this.strings = data.strings;
    this.steps = data.steps;
    this.code = data.code || {};
    this.kernelFacts = data.kernels || {};
    this.overlays = data.overlays || {};
    this.commandMicros = data.command_us || [];
    this.bodyMicros = data.body_us || {};
    this.profiled = data.profiled || '';
    this.devices = data.devices || [];
    for (const step of this.steps)
      for (const change of step.changes)
        change.name = this.strings[change.symbol];
    this.versions = new Map(); // symbol -> [[step, ops or null]...]
    this.steps.forEach((step, number) => {
      for (const change of step.changes) {
        if (!this.versions.has(change.name))
          this.versions.set(change.name, []);
        this.versions.get(change.name).push({step: number, change, ops: undefined});
      }
    });
  }

  // The ops of `symbol` after step `number`; null if it is not there.
  ops(symbol, number) {
    const versions = this.versions.get(symbol);
    if (!versions)
      return null;
    let last = versions.length - 1;
    while (last >= 0 && versions[last].step > number)
      --last;
    return last < 0 ? null : this.decode(versions, last);
  }

  decode(versions, last) {
    let first = last;
    while (first > 0 && versions[first].ops === undefined)
      --first;
    for (let i = first; i <= last; ++i) {
      if (versions[i].ops !== undefined)
        continue;
      if (versions[i].change.gone) {
        versions[i].ops = null;
        continue;
      }
      const before = i ? versions[i - 1].ops : null;
      const ops = [];
      const list = versions[i].change.ops;
      for (let k = 0; k < list.length; ++k) {
        if (Array.isArray(list[k])) {
          ops.push(new Op(list[k], this.strings));
        } else {
          for (let n = 0; n < list[k + 1]; ++n)
            ops.push(before[list[k] + n]);
          ++k;
        }
      }
      versions[i].ops = ops;
    }
    return versions[last].ops;
  }

  // The symbols after a step: {name, kind} of each.
  symbols(number) {
    const result = [];
    for (const name of this.versions.keys()) {
      const ops = this.ops(name, number);
      if (ops && ops.length)
        result.push({name, kind: ops[0].kind, count: ops.length});
    }
    return result;
  }

  // What step `number` did to `symbol`: maps from ids to ops.
  changes(symbol, number) {
    const result = {added: new Map(), removed: new Map(), changed: new Map()};
    if (!this.steps[number] || !this.steps[number].changes.some(c => c.name === symbol))
      return result;
    const before = new Map((number ? this.ops(symbol, number - 1) || [] : []).map(op => [op.id, op]));
    for (const op of this.ops(symbol, number) || []) {
      const old = before.get(op.id);
      if (!old)
        result.added.set(op.id, op);
      // An op whose operands are only renumbered has not changed.
      else if (old !== op && (old.text !== op.text || String(old.operands) !== String(op.operands) ||
                              String(old.computes) !== String(op.computes)))
        result.changed.set(op.id, op);
      before.delete(op.id);
    }
    for (const [id, op] of before)
      result.removed.set(id, op);
    return result;
  }

  // For each node of the model that an op bears: the step that removed the last
  // of its ops, or -1 if the last step still has one.
  removals() {
    if (this.removedBy)
      return this.removedBy;
    this.removedBy = new Map();
    let before = new Set();
    this.steps.forEach((step, number) => {
      if (number && !step.changes.length)
        return;
      const now = new Set();
      for (const {name} of this.symbols(number))
        for (const op of this.ops(name, number))
          op.nodes.forEach(node => now.add(node));
      for (const node of before)
        if (!now.has(node))
          this.removedBy.set(node, number);
      now.forEach(node => this.removedBy.set(node, -1));
      before = now;
    });
    return this.removedBy;
  }

  // The names of the states, which inputs of functions bear.
  stateNames() {
    if (!this.states) {
      this.states = new Set();
      for (const text of this.strings)
        for (const match of text.matchAll(/sinter\.state = @?(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))/g))
          this.states.add(match[1] || match[2]);
    }
    return this.states;
  }

  rewrites(number) {
    return this.steps[number].rewrites.map(([name, symbol, nodes, before, after]) => ({
      name: this.strings[name], symbol: this.strings[symbol], nodes: nodes.map(i => this.strings[i]),
      before: this.strings[before], after: this.strings[after]}));
  }

  remarks(number) {
    return this.steps[number].remarks.map(([pass, kind, nodes, text, count, others]) => ({
      pass: this.strings[pass], kind: this.strings[kind], nodes: nodes.map(i => this.strings[i]),
      text: this.strings[text], count, others: others.map(i => this.strings[i])}));
  }

  // The planned programs, with the commands and buffers of each.
  plans() {
    if (!this.planned) {
      this.planned = this.symbols(this.steps.length - 1).filter(s => s.kind === 'exec.program')
        .map(s => new Plan(s.name, this.ops(s.name, this.steps.length - 1), this.commandMicros, this.devices));
      this.linkBodies();
    }
    return this.planned;
  }

  // The programs that scans run in each trip get their runs and times. A profile
  // that does not name its program is of the one with as many commands.
  linkBodies() {
    const bySymbol = new Map(this.planned.map(plan => [plan.symbol, plan]));
    const scans = this.planned.flatMap(plan => plan.commands.filter(command => command.body).map(command => ({plan, command, body: bySymbol.get(command.body)})))
      .filter(({body}) => body);
    const bodies = new Set(scans.map(({body}) => body));
    for (const plan of this.planned)
      if (bodies.has(plan) || this.profiled && plan.symbol !== this.profiled)
        plan.micros = [];
    bodies.forEach(body => { body.runs = 0; });
    for (const {plan, command, body} of scans) {
      body.runs += command.trips;
      body.scan = {plan, command};
      const micros = plan.micros.length ? this.bodyMicros[command.index] : null;
      if (micros && micros.length === body.commands.length)
        body.micros = micros.map((time, i) => time + (body.micros[i] || 0));
    }
  }

  // All generated kernels, and the library calls and copies one by one:
  // {name, label, nodes, computes, commands: [{plan, index, command}]}.
  kernels() {
    if (this.kernelList)
      return this.kernelList;
    const byName = new Map();
    for (const plan of this.plans())
      plan.commands.forEach((command, index) => {
        const {name} = command;
        if (!byName.has(name))
          byName.set(name, {name, label: command.label, isGenerated: command.op.kind === 'exec.launch', isScan: Boolean(command.body), nodes: new Set(), computes: new Set(), commands: []});
        const kernel = byName.get(name);
        kernel.commands.push({plan, index, command});
        command.op.nodes.forEach(node => kernel.nodes.add(node));
        command.op.computes.forEach(name => kernel.computes.add(name));
      });
    this.kernelList = [...byName.values()];
    return this.kernelList;
  }
}

// The end of the bytes that a buffer takes of the arena, which are counted in multiples of 64.
const BUFFER_ALIGNMENT = 64;
function endOf({offset, size}) {
  return Math.ceil((offset + size) / BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT;
}

function deviceName(devices, place) {
  return devices[place] ?? `device ${place}`;
}

// The commands of one program, and its buffers over time.
class Plan {
  constructor(symbol, ops, micros, devices) {
    this.symbol = symbol;
    this.devices = devices;
    this.runs = 1; // of the body of a scan: trips
    this.scan = null; // of such a body: {plan, command}
    this.commands = [];
    this.buffers = new Map(); // by the id of exec.buffer
    this.sent = new Map(); // the command of each message, by event
    for (const op of ops)
      if (op.kind === 'exec.buffer')
        this.addBuffer(op);
      else if (op.depth === 1 && !op.isHead)
        this.addCommand(op);
    this.arena = [...this.buffers.values()].filter(b => b.space === 'arena' && b.first <= b.last);
    this.micros = micros.length === this.commands.length ? micros : [];
  }

  // Of a compiled program, which has commands and bytes, but no ops.
  static ofCompiled({target, entry, devices, commands, values}, namesTarget) {
    const plan = new Plan(entry, [], [], devices || []);
    plan.title = `@${entry}` + (namesTarget ? ` for ${target}` : '');
    plan.commands = commands.map(({kind, target: name, nodes}, index) => (
      {op: {kind: `exec.${kind}`, nodes: [...new Set(nodes.map(nodeOfName))], computes: nodes}, index, target: name, reads: [], writes: []}));
    plan.arena = values.map(value => {
      const writer = plan.commands[value.first];
      return {...value, space: 'arena', type: '', nodes: writer.op.nodes, computes: writer.op.computes, writer};
    });
    return plan;
  }

  addBuffer(op) {
    const match = /^exec\.buffer (\w+)\[(\d+)\] (\d+) \+ (\d+)/.exec(op.text);
    if (match)
      this.buffers.set(op.id, {id: op.id, space: match[1], place: Number(match[2]),
                               offset: Number(match[3]), size: Number(match[4]), type: op.type,
                               nodes: op.nodes, computes: op.computes, first: Infinity, last: -1, writer: null});
  }

  addCommand(op) {
    const index = this.commands.length;
    const reads = (op.text.split('->')[0].match(/%/g) || []).length;
    const symbol = ['exec.launch', 'exec.scan'].includes(op.kind) ? /@(?:"([^"]*)"|([\w$.-]+))/.exec(op.text) : null;
    const name = op.kind === 'exec.launch' ? symbol : null;
    const target = name ? name[1] || name[2] : op.kind.replace(/^exec\./, '');
    const more = op.computes.length > 1 ? ` +${op.computes.length - 1}` : '';
    const command = {op, index, target, reads: [], writes: [],
                     name: name ? target : `${target} ${op.computes.join(', ')}`,
                     body: op.kind === 'exec.scan' && symbol ? symbol[1] || symbol[2] : '', // the program of each trip
                     trips: Number(/ trips (\d+)/.exec(op.text)?.[1] ?? 1),
                     label: name ? target : `${target} ${op.computes[0] || ''}${more}`};
    op.operands.forEach(([id], k) => {
      const buffer = this.buffers.get(id);
      if (!buffer)
        return;
      buffer.first = Math.min(buffer.first, index);
      buffer.last = Math.max(buffer.last, index);
      if (k >= reads && !buffer.writer)
        buffer.writer = command;
      (k < reads ? command.reads : command.writes).push(buffer);
    });
    const event = Number(/ event (\d+)/.exec(op.text)?.[1] ?? -1);
    if (op.text.startsWith('exec.collective'))
      this.addMessage(command, event);
    else if (op.kind === 'exec.await' && this.sent.has(event))
      this.endMessage(command, this.sent.get(event));
    this.commands.push(command);
  }

  // Whole arrays, of which a replica may read or write a part.
  addMessage(command, event) {
    const sum = buffers => buffers.reduce((bytes, {size}) => bytes + size, 0);
    command.bytes = Math.max(sum(command.reads), sum(command.writes));
    command.target += `, ${bytesText(command.bytes)}`;
    command.label += `, ${bytesText(command.bytes)}`;
    this.sent.set(event, command);
  }

  // The buffers of a message live until its await.
  endMessage({index}, {reads, writes}) {
    for (const buffer of [...reads, ...writes])
      buffer.last = Math.max(buffer.last, index);
  }

  // The command's program and number, as 'plan' prints them: "@step command 3",
  // "@step command 6.1" in the body of a scan.
  placeOf(index) {
    return this.scan ? `${this.scan.plan.placeOf(this.scan.command.index)}.${index}` : `@${this.symbol} command ${index}`;
  }

  // "sim:0"; "device 0" if its name is not known.
  deviceName(place) { return deviceName(this.devices, place); }

  // Live bytes of one place at each command. Values that share bytes, as in an
  // update in place, count once.
  live(place) {
    const starts = this.commands.map(() => []);
    for (const buffer of this.arena)
      if (buffer.place === place)
        starts[buffer.first].push(buffer);
    let current = [];
    return this.commands.map((_, i) => {
      current = [...current.filter(buffer => buffer.last >= i), ...starts[i]].sort((a, b) => a.offset - b.offset);
      let end = 0, bytes = 0;
      for (const buffer of current) {
        bytes += Math.max(0, endOf(buffer) - Math.max(buffer.offset, end));
        end = Math.max(end, endOf(buffer));
      }
      return bytes;
    });
  }
}
