// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The search field.
'use strict';

// What a leaf computes: "NODE", "grad(NODE)".
function namesOf(leaf) {
  return leaf.op ? leaf.op.computes : leaf.nodes;
}

// The search field: ops of the graph by text, and nodes of the model that the
// graph does not have any more.
class Search {
  constructor(app) {
    this.app = app;
    this.input = byId('search');
    this.list = byId('results');
    this.input.oninput = () => this.fill();
    this.input.onfocus = () => this.fill();
    this.input.onkeydown = event => this.key(event);
    document.addEventListener('pointerdown', event => {
      if (!event.target.closest('.search'))
        this.close();
    });
  }

  isOpen() { return !this.list.hidden; }

  close() {
    this.list.hidden = true;
    this.input.blur();
  }

  fill() {
    const text = this.input.value.trim().toLowerCase();
    this.list.replaceChildren();
    this.at = 0;
    if (!text) {
      this.list.hidden = true;
      return;
    }
    const {side} = this.app, found = [];
    const seen = new Set();
    for (const leaf of side.graph.leaves) {
      leaf.nodes.forEach(name => seen.add(name));
      const computes = namesOf(leaf);
      const rank = computes.some(name => name.toLowerCase().includes(text)) ? 0 : leaf.label.toLowerCase().includes(text) ? 1
        : leaf.op && leaf.op.text.toLowerCase().includes(text) ? 2 : -1;
      if (rank >= 0)
        found.push({rank, label: leaf.label, names: computes.slice(0, 4).map(nodeText).join(', '), go: () => this.app.select(side, leaf)});
    }
    // Commands of other programs, as those in the body of a scan.
    if (side.graph.isPlan)
      for (const plan of side.program.plans())
        for (const command of plan.commands)
          if (plan.symbol !== side.symbol && command.op.kind === 'exec.launch' && command.target.toLowerCase().includes(text))
            found.push({rank: 3, label: command.target, names: plan.placeOf(command.index), go: () => this.app.selectCommand(plan, command)});
    found.sort((a, b) => a.rank - b.rank);
    for (const [name, number] of side.program.removals())
      if (!seen.has(name) && name.toLowerCase().includes(text))
        found.push({label: nodeText(name), names: number < 0 ? 'not in this graph' : `removed by ${number} ${side.program.steps[number].pass}`, go: () => this.app.selectNode(name)});
    for (const {label, names, go} of found.slice(0, 60)) {
      const item = element('li', {role: 'option'}, element('b', {}, label), element('span', {class: 'faint'}, '  ' + names));
      item.onclick = () => {
        this.close();
        this.app.openMain('graph');
        go();
      };
      this.list.append(item);
    }
    this.list.append(element('li', {class: 'faint'}, `${found.length} found`));
    this.list.hidden = false;
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === this.at)));
    if (this.list.children[this.at])
      this.list.children[this.at].scrollIntoView({block: 'nearest'});
  }

  key(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      event.preventDefault();
      this.at = Math.min(this.list.children.length - 2, Math.max(0, this.at + step));
      this.mark();
    } else if (event.key === 'Enter' && this.list.children[this.at] && this.list.children[this.at].onclick) {
      this.list.children[this.at].onclick();
    }
  }
}
