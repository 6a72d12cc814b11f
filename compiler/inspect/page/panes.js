// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The side panel: the selection, the pass, the IR, the code of kernels.
'use strict';

const byId = id => document.getElementById(id);

// An element with text and children. Text of a model is never markup.
function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'onclick') {
      node.onclick = value;
      if (tag === 'a') {
        node.tabIndex = 0;
        node.onkeydown = event => { if (event.key === 'Enter') value(event); };
      }
    } else if (name === 'class') {
      node.className = value;
    } else {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// A name on one line: control characters as \xNN.
function shown(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
                      c => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
}

// The name of a node, of a gradient or of a part of a step.
function nodeText(name) { return shown(name); }

function showTooltip(text, x, y) {
  const tip = byId('tooltip');
  tip.hidden = !text;
  tip.textContent = text;
  if (text) {
    tip.style.left = `${Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 14, window.innerHeight - tip.offsetHeight - 8)}px`;
  }
}

function nodeLink(app, name) {
  return element('a', {onclick: () => app.selectNode(name)}, nodeText(name));
}

const MOST_LISTED = 200;
// Longer lists of a pass begin closed.
const MOST_OPEN = 15;

function listOf(items, make) {
  const list = element('ul', {class: 'plain'});
  for (const item of items.slice(0, MOST_LISTED))
    list.append(element('li', {}, ...[make(item)].flat()));
  if (items.length > MOST_LISTED)
    list.append(element('li', {class: 'faint'}, `and ${items.length - MOST_LISTED} more`));
  return list;
}

// An op of the current graph, as a link.
function opLink(app, side, leaf) {
  return element('a', {onclick: () => app.select(side, leaf)},
                 leaf.label + (leaf.op ? ` %${leaf.op.id}` : ''));
}

function fillSelection(app, pane) {
  pane.replaceChildren();
  const side = app.side, {program} = side;
  if (app.problem)
    pane.append(element('p', {class: 'removed', role: 'alert'}, app.problem));
  if (!side.selected && !app.names.length) {
    pane.append(element('p', {class: 'faint'}, 'Select a node in the graph, a line of the IR or a kernel. Everything that belongs to it is shown here.'));
    fillOverview(app, pane);
    return;
  }
  const box = side.selected;
  if (box) {
    pane.append(element('h2', {}, box.isGroup && !box.isKernel ? 'Module ' + shown(box.label) : shown(box.label)));
    if (box.op)
      pane.append(element('pre', {class: 'op'}, shown(box.op.line)));
    else if (box.type)
      pane.append(element('pre', {class: 'op'}, box.type));
    const facts = [];
    if (box.role && side.graph.hasRoles)
      facts.push(box.role);
    const bytes = box.bytes !== undefined ? box.bytes : bytesOfType(box.type);
    if (bytes)
      facts.push(`${bytesText(bytes)} ${side.graph.isPlan ? 'written' : 'result'}`);
    if (box.isGroup)
      facts.push(`${box.count} ops`);
    if (facts.length)
      pane.append(element('p', {class: 'faint'}, facts.join(', ')));
  }
  if (app.names.length) {
    pane.append(element('h2', {}, `Nodes of the model (${app.names.length})`));
    pane.append(listOf(app.names, name => [nodeLink(app, name), fateOf(app, side, name)]));
  }
  if (box && !box.isGroup) {
    if (box.inputs.length) {
      pane.append(element('h2', {}, 'Operands'));
      pane.append(listOf(box.inputs, leaf => [opLink(app, side, leaf), faintName(leaf)]));
    }
    if (box.outputs.length) {
      pane.append(element('h2', {}, 'Users'));
      pane.append(listOf(box.outputs, leaf => [opLink(app, side, leaf), faintName(leaf)]));
    }
  }
  fillRelated(app, pane);
  fillKernelsOf(app, pane);
  fillHistory(app, pane, program);
}

function faintName(leaf) {
  return element('span', {class: 'faint'}, leaf.nodes.length ? '  ' + nodeText(leaf.nodes[0]) : '');
}

// The pass that removed the last op of a node; null if it has ops at the end.
function fateOf(app, side, name) {
  const number = side.program.removals().get(name);
  if (number === undefined || number < 0)
    return null;
  return element('span', {class: 'removed'}, ' removed by ',
                 element('a', {onclick: () => app.goTo(number)}, `${number} ${side.program.steps[number].pass.replace(/^sinter-/, '')}`));
}

// Ops that come from the same nodes, by their part of the step.
function fillRelated(app, pane) {
  const {side} = app;
  const names = new Set(app.names);
  const related = side.graph.leaves.filter(leaf => leaf !== side.selected && leaf.nodes.some(name => names.has(name)));
  if (!related.length)
    return;
  const byRole = new Map();
  for (const leaf of related) {
    const role = side.graph.hasRoles ? leaf.role : 'ops';
    if (!byRole.get(role)?.push(leaf))
      byRole.set(role, [leaf]);
  }
  for (const [role, leaves] of byRole) {
    pane.append(element('h2', {}, relation(side, role)));
    pane.append(listOf(leaves, leaf => [opLink(app, side, leaf), element('span', {class: 'faint'}, '  ' + leaf.type)]));
  }
}

// What ops of the same nodes in another part of the step are to the selected op.
function relation(side, role) {
  const own = side.selected ? side.selected.role : '';
  return role === 'ops' ? 'Ops of the same nodes' : role === own ? `Same nodes, ${role}`
    : role === 'backward' && own === 'forward' ? 'Gradients of it (backward)'
    : role === 'forward' && own === 'backward' ? 'It is a gradient of (forward)' : `Same nodes, ${role}`;
}

function fillKernelsOf(app, pane) {
  const {program, graph, symbol, selected} = app.side;
  let found = [];
  if (selected && graph.isPlan && !selected.isGroup)
    found = commandsOf(selected, program, graph, symbol);
  else
    for (const name of app.names)
      for (const each of commandsByNode(program).get(name) || [])
        if (!found.some(other => other.command === each.command))
          found.push(each);
  if (!found.length)
    return;
  pane.append(element('h2', {}, 'Kernels and library calls'));
  pane.append(listOf(found, ({plan, command}) => [
    element('a', {onclick: () => app.showKernel(command.name)}, shown(command.target)),
    element('span', {class: 'faint'}, `  ${plan.placeOf(command.index)}`),
    plan.micros.length ? element('span', {class: 'faint'}, `, ${plan.micros[command.index].toFixed(1)} us`) : null]));
}

// The names of the selected nodes in remarks and rewrites: of an op, those that
// it computes; else the nodes and their gradients.
function namesOfSelection(app) {
  const both = app.names.flatMap(name => [name, gradientName(name)]);
  const op = app.side.selected?.op;
  const own = op ? both.filter(name => op.computes.includes(name)) : [];
  return new Set(own.length ? own : both);
}

// What passes decided about the selected nodes, and which rewrote their ops.
function fillHistory(app, pane, program) {
  const names = namesOfSelection(app);
  if (!names.size)
    return;
  const decisions = [], rows = [];
  program.steps.forEach((step, number) => {
    const concerns = each => each.nodes.some(name => names.has(name)) || each.others?.some(name => names.has(name));
    program.remarks(number).filter(concerns).forEach(remark => decisions.push({number, step, remark}));
    const rewrites = program.rewrites(number).filter(concerns);
    if (rewrites.length)
      rows.push({number, step, rewrites});
  });
  const stepLink = (number, step) => element('a', {onclick: event => { event.preventDefault(); app.goTo(number); }}, `${number} ${step.pass.replace(/^sinter-/, '')}`);
  if (decisions.length) {
    pane.append(element('h2', {}, 'Decisions of passes'));
    pane.append(listOf(decisions, ({number, step, remark}) => [stepLink(number, step), ' ', element('b', {}, shown(remark.kind)), otherNodes(remark, names), ' ', shown(remark.text)]));
  }
  if (rows.length)
    pane.append(element('h2', {}, 'Passes that rewrote it'));
  for (const {number, step, rewrites} of rows)
    pane.append(lazyDetails([stepLink(number, step), element('span', {class: 'faint'}, `  ${rewrites.length} rewrites`)],
                            () => listOf(rewrites, rewrite => rewriteElement(app, rewrite))));
}

// Of a remark about two ops: the nodes of the one that is not selected.
function otherNodes(remark, names) {
  const others = remark.nodes.some(name => names.has(name)) ? remark.others : remark.nodes;
  if (!remark.others.length || !others.length) // the other op may have no node
    return '';
  return ` with ${nodeText(others[0])}${others.length > 1 ? ` and ${others.length - 1} more` : ''}:`;
}

// A list that is made when it is opened.
function lazyDetails(summary, make) {
  const details = element('details', {}, element('summary', {}, ...summary));
  details.ontoggle = () => {
    if (details.open && details.children.length === 1)
      details.append(make());
  };
  return details;
}

function rewriteElement(app, rewrite) {
  return element('div', {}, element('b', {title: rewrite.name}, shown(rewrite.name.replace(/^.*::/, ''))), ' ',
                 ...rewrite.nodes.slice(0, 6).flatMap(name => [nodeLink(app, name), ' ']),
                 element('pre', {class: 'op'}, element('span', {class: 'removed'}, rewrite.before), '\n',
                         element('span', {class: 'added'}, rewrite.after || '(nothing)')));
}

function remarkElement(app, remark) {
  return element('div', {}, element('b', {}, shown(remark.kind)), ' ', shown(remark.text),
                 remark.count > 1 ? ` (${remark.count})` : '', ' ',
                 ...remark.nodes.slice(0, 6).flatMap(name => [nodeLink(app, name), ' ']),
                 remark.others.length ? 'with ' : '',
                 ...remark.others.slice(0, 6).flatMap(name => [nodeLink(app, name), ' ']));
}

function fillPass(app, pane) {
  pane.replaceChildren();
  const {side} = app, {program, step: number, symbol} = side;
  const step = program.steps[number];
  pane.append(element('h2', {}, `${number}  ${step.pass}`));
  pane.append(element('p', {class: 'faint'}, `phase ${step.phase}, ${step.ms.toFixed(2)} ms, changed ${step.changes.length} of ${program.symbols(number).length} symbols`));
  const {added, removed, changed} = side.changes;
  const opItem = (op, isThere) => [isThere ? element('a', {onclick: () => app.selectOp(side, op.id)}, op.label + ' %' + op.id) : op.label + ' %' + op.id,
                                   element('span', {class: 'faint'}, '  ' + op.nodes.map(nodeText).join(', '))];
  for (const [title, map, kind] of [['Added', added, 'added'], ['Changed', changed, 'changed'], ['Removed', removed, 'removed']]) {
    const ops = [...map.values()].filter(op => !op.isHead);
    if (!ops.length)
      continue;
    const list = element('details', {}, element('summary', {class: kind}, `${title} in @${shown(symbol)} (${ops.length})`),
                         listOf(ops, op => opItem(op, (kind === 'removed') === side.isBefore || kind === 'changed')));
    list.open = ops.length <= MOST_OPEN;
    pane.append(list);
  }
  const others = step.changes.filter(change => change.name !== symbol);
  if (others.length) {
    pane.append(element('h2', {}, 'Other symbols changed'));
    pane.append(listOf(others, change => change.gone ? element('span', {class: 'removed'}, '@' + shown(change.name))
      : element('a', {onclick: () => app.setSymbol(side, change.name)}, '@' + shown(change.name))));
  }
  const remarks = program.remarks(number);
  if (remarks.length) {
    pane.append(element('h2', {}, `Remarks (${remarks.length})`));
    pane.append(listOf(remarks, remark => remarkElement(app, remark)));
  }
  const rewrites = program.rewrites(number);
  if (rewrites.length) {
    pane.append(element('h2', {}, `Rewrites (${rewrites.length})`));
    const byPattern = new Map();
    for (const rewrite of rewrites)
      if (!byPattern.get(rewrite.name)?.push(rewrite))
        byPattern.set(rewrite.name, [rewrite]);
    for (const [name, list] of byPattern) {
      const details = lazyDetails([element('b', {title: name}, shown(name.replace(/^.*::/, ''))), element('span', {class: 'faint'}, `  ${list.length}`)],
                                  () => listOf(list, rewrite => rewriteElement(app, rewrite)));
      details.open = rewrites.length <= MOST_OPEN;
      pane.append(details);
    }
  }
  if (!step.changes.length && !rewrites.length && !remarks.length)
    pane.append(element('p', {class: 'faint'}, 'This pass changed nothing.'));
}

const ROW_HEIGHT = 18;

// The lines of the IR; only those in sight are elements.
class IrPane {
  constructor(app, pane) {
    this.app = app;
    this.pane = pane;
    this.rows = [];
    pane.addEventListener('scroll', () => this.paint());
    new ResizeObserver(() => this.paint()).observe(pane);
  }

  fill() {
    const {side} = this.app;
    const {added, removed, changed} = side.changes;
    this.rows = [];
    const ops = side.ops || [];
    // Removed ops stand behind the nearest op before them that is still there.
    const removedBehind = new Map();
    if (removed.size && !side.isBefore && side.step > 0) {
      let anchor = -1;
      for (const op of side.program.ops(side.symbol, side.step - 1) || []) {
        if (!removed.has(op.id))
          anchor = op.id;
        else if (removedBehind.has(anchor))
          removedBehind.get(anchor).push(op);
        else
          removedBehind.set(anchor, [op]);
      }
    }
    const push = (op, kind) => this.rows.push({op, kind});
    (removedBehind.get(-1) || []).forEach(op => push(op, 'removed'));
    for (const op of ops) {
      push(op, side.isBefore ? removed.has(op.id) ? 'removed' : changed.has(op.id) ? 'changed' : ''
        : added.has(op.id) ? 'added' : changed.has(op.id) ? 'changed' : '');
      (removedBehind.get(op.id) || []).forEach(other => push(other, 'removed'));
    }
    const spacer = element('div', {});
    spacer.style.height = `${this.rows.length * ROW_HEIGHT + 8}px`;
    this.pane.replaceChildren(spacer);
    this.spacer = spacer;
    this.paint();
  }

  paint() {
    if (this.pane.hidden || !this.spacer)
      return;
    const first = Math.max(0, Math.floor(this.pane.scrollTop / ROW_HEIGHT) - 5);
    const last = Math.min(this.rows.length, first + Math.ceil(this.pane.clientHeight / ROW_HEIGHT) + 10);
    const elements = [];
    const {side} = this.app;
    for (let i = first; i < last; ++i) {
      const {op, kind} = this.rows[i];
      const isSelected = side.selected && side.selected.op && side.selected.op.id === op.id;
      const sign = {added: '+ ', removed: '- ', changed: '~ '}[kind] || '  ';
      const row = element('div', {class: `row ${kind}${isSelected ? ' selected' : ''}`, onclick: () => this.app.selectOp(side, op.id)},
                          sign + '  '.repeat(op.depth) + shown(op.line).slice(0, 2000),
                          element('span', {class: 'faint'}, op.computes.length ? `   // ${shown(op.computes.join(', ')).slice(0, 300)}` : ''));
      row.style.top = `${i * ROW_HEIGHT + 4}px`;
      elements.push(row);
    }
    this.pane.replaceChildren(this.spacer, ...elements);
  }

  // Scrolls to the selected op.
  show() {
    const {selected} = this.app.side;
    const at = selected && selected.op ? this.rows.findIndex(row => row.op.id === selected.op.id) : -1;
    if (at >= 0) {
      const top = at * ROW_HEIGHT;
      if (top < this.pane.scrollTop || top > this.pane.scrollTop + this.pane.clientHeight - 2 * ROW_HEIGHT)
        this.pane.scrollTop = Math.max(0, top - this.pane.clientHeight / 3);
    }
    this.paint();
  }
}

// Numbers of the whole program, for a page without a selection.
function fillOverview(app, pane) {
  for (const side of app.sides) {
    const {program} = side;
    pane.append(element('h2', {}, shown(program.title)));
    const rows = [['passes', program.steps.length], ['with changes', program.steps.filter(step => step.changes.length).length],
                  ['time', `${program.steps.reduce((sum, step) => sum + step.ms, 0).toFixed(1)} ms`],
                  ['rewrites', program.steps.reduce((sum, step) => sum + step.rewrites.length, 0)],
                  ['remarks', program.steps.reduce((sum, step) => sum + step.remarks.length, 0)]];
    for (const plan of program.plans()) {
      const launches = plan.commands.filter(command => command.op.kind === 'exec.launch').length;
      rows.push([`@${plan.symbol}`, `${plan.commands.length} commands, ${launches} launches, peak ${[...new Set([0, ...plan.arena.map(buffer => buffer.place)])].sort((a, b) => a - b).map(place => bytesText(Math.max(0, ...plan.live(place)))).join(' + ')}`]);
    }
    const table = element('table');
    for (const [name, value] of rows)
      table.append(element('tr', {}, element('td', {class: 'faint'}, shown(name)), element('td', {}, String(value))));
    pane.append(table);
  }
  if (app.sides.length === 2)
    fillComparison(app, pane);
}

// Nodes that only one of the two files has, that read other values or do something else, or whose kernels differ.
function fillComparison(app, pane) {
  const [a, b] = app.sides.map(side => side.program);
  const left = compareNodes(a, b), right = compareNodes(b, a);
  const having = (map, value) => [...map].filter(entry => entry[1] === value).map(([name]) => name);
  for (const [title, names] of [[`Nodes only in ${a.title}`, having(left, ONLY_HERE)], [`Nodes only in ${b.title}`, having(right, ONLY_HERE)],
                                ['Nodes that differ in the models', having(left, CHANGED)],
                                ['Nodes in other kernels', having(left, OTHER_KERNEL)]])
    if (names.length) {
      pane.append(element('h2', {}, `${shown(title)} (${names.length})`));
      pane.append(listOf(names, name => nodeLink(app, name)));
    }
}
