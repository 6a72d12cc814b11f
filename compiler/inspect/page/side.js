// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// One of the programs in the page, with its graph.
'use strict';

// One program in the page: its pass, its function and its graph.
class Side {
  constructor(app, program, parent) {
    this.app = app;
    this.program = program;
    this.step = program.steps.length - 1;
    this.symbol = '';
    this.isBefore = false;
    this.selected = null; // a node of the graph
    this.element = element('div', {class: 'side'});
    parent.append(this.element);
    this.view = new GraphView(this.element, {
      fill: box => this.overlay.color(box),
      mark: box => this.markOf(box),
      isSelected: box => this.isLit(box),
      select: box => app.select(this, box),
      hover: (box, x, y) => app.hoverNode(this, box, x, y),
      activate: () => app.activate(this),
      onKey: event => app.graphKey(event),
      onLayout: () => app.setStatus(),
      onShowQuiet: () => { byId('constants').checked = true; },
    });
    this.caption = element('div', {class: 'caption'});
    this.legend = element('div', {class: 'legend'});
    this.element.append(this.caption, this.legend);
  }

  // The functions and programs after the current step.
  symbols() {
    return this.program.symbols(this.step).filter(({kind}) => /^(func\.func|exec\.program|exec\.kernel)$/.test(kind));
  }

  chooseSymbol() {
    const symbols = this.symbols();
    const has = symbols.some(({name}) => name === this.symbol);
    if (has && this.symbol)
      return;
    const graphs = symbols.filter(({kind}) => kind !== 'exec.kernel').sort((a, b) => b.count - a.count);
    this.symbol = graphs.length ? graphs[0].name : symbols.length ? symbols[0].name : '';
  }

  // Rebuilds the graph after the step, the symbol or the overlay changed.
  refresh(keep) {
    this.chooseSymbol();
    const {program, step} = this;
    const hasBefore = step > 0 && program.ops(this.symbol, step - 1);
    this.changes = program.changes(this.symbol, step);
    const ops = this.isBefore && hasBefore ? program.ops(this.symbol, step - 1) : program.ops(this.symbol, step);
    const isSame = ops === this.ops && this.shownSymbol === this.symbol;
    this.ops = ops;
    const last = this.graph, isNamedSame = this.shownSymbol === this.symbol;
    this.shownSymbol = this.symbol;
    if (!isSame) {
      const selected = this.selected && this.selected.key;
      this.graph = new Graph(ops, program.stateNames());
      this.selected = this.graph.byKey.get(selected) || null;
    }
    const isKept = keep && isNamedSame && last && last.leaves.length && last.isPlan === this.graph.isPlan;
    this.setOverlay();
    this.marks = null;
    if (!isSame || !isKept) {
      const anchor = this.view.anchor();
      this.view.setGraph(this.graph, isKept);
      if (isKept)
        this.view.keepSight(this.selected, anchor);
    }
    this.view.draw();
    this.caption.textContent = `${this.app.sides.length > 1 ? program.title + '  ' : ''}@${this.symbol} ${this.isBefore && hasBefore ? 'before' : 'after'} ${program.steps[step].phase}: ${program.steps[step].pass.replace(/^sinter-/, '')}`;
  }

  setOverlay() {
    const kinds = overlaysOf(this).map(([kind]) => kind);
    this.overlay = new Overlay(kinds.includes(this.app.overlay) ? this.app.overlay : 'category', this);
    this.legend.replaceChildren(...this.overlay.legend().map(([color, name]) => {
      const sign = element('i');
      sign.style.background = color;
      return element('span', {}, sign, name);
    }));
  }

  // The change of an op, or of one inside a collapsed group.
  markOf(box) {
    if (!this.marks) {
      this.marks = new Map();
      // A pass that replaces everything has no change to point at.
      const isWhole = this.changes.added.size > 0.9 * (this.ops || []).length;
      const kinds = isWhole ? [] : this.isBefore ? [['removed', this.changes.removed], ['changed', this.changes.changed]]
        : [['changed', this.changes.changed], ['added', this.changes.added]];
      for (const [kind, map] of kinds)
        for (const id of map.keys()) {
          const node = this.graph.byKey.get('o' + id);
          for (let at = node; at && at.parent; at = at.parent)
            this.marks.set(at.key, at === node || !this.marks.has(at.key) ? kind : this.marks.get(at.key) === kind ? kind : 'changed');
        }
    }
    return this.marks.get(box.key) || '';
  }

  // Whether a box is selected, or shows something of the selected nodes.
  isLit(box) {
    if (this.selected && (box === this.selected))
      return true;
    if (this.app.lit !== this.litNames) {
      this.litNames = this.app.lit;
      this.litGraph = null;
    }
    if (this.litGraph !== this.graph) {
      this.litGraph = this.graph;
      this.litKeys = new Set();
      const names = new Set(this.app.lit);
      if (names.size)
        for (const leaf of this.graph.leaves)
          if (leaf.nodes.some(name => names.has(name)))
            for (let at = leaf; at && at.parent && !(at.isGroup && !at.isKernel); at = at.parent)
              this.litKeys.add(at.key);
    }
    if (box.isGroup && !box.isKernel)
      return !this.view.expanded.has(box.key) && !this.selected && this.app.lit.length > 0 && leavesOf(box).some(leaf => this.litKeys.has(leaf.key));
    return this.litKeys.has(box.key);
  }
}
