// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The state of the page, and what links its parts: a selection in one of them
// is shown in all.
'use strict';

class App {
  constructor(data) {
    this.names = []; // of the selected nodes of the model
    this.problem = ''; // what the address names and the file does not have
    this.lit = [];   // those that all graphs light up
    this.overlay = 'category';
    this.sides = [];
    const parent = byId('graphTab');
    for (const program of data.programs)
      this.sides.push(new Side(this, new Program(program), parent));
    this.side = this.sides[0];
    this.ir = new IrPane(this, byId('irTab'));
    this.memory = new MemoryPane(this);
    this.search = new Search(this);
    this.kernels = new KernelPanes(this);
    this.runs = data.runs ? new RunView(data) : null;
    byId('runsButton').hidden = !this.runs;
    byId('title').textContent = this.sides.map(side => side.program.title).join(' | ');
    byId('title').title = byId('title').textContent;
    this.listen();
    this.activate(this.side);
    for (const side of this.sides)
      side.refresh(false);
    this.fillAll();
    this.kernels.fillTable();
  }

  listen() {
    for (const [tabs, ids] of [['mainTabs', {graph: 'graphTab', memory: 'memoryTab', kernels: 'kernelsTab', runs: 'runsTab'}],
                               ['sideTabs', {selection: 'selectionTab', pass: 'passTab', ir: 'irTab', code: 'codeTab'}]])
      for (const button of byId(tabs).children)
        button.onclick = () => this.openTab(tabs, ids, button.dataset.tab);
    byId('slider').oninput = event => this.goTo(Number(event.target.value));
    byId('stepList').onchange = event => this.goTo(Number(event.target.value));
    byId('previous').onclick = () => this.goToChange(-1);
    byId('next').onclick = () => this.goToChange(1);
    byId('before').onchange = event => this.setBefore(event.target.checked);
    byId('symbol').onchange = event => this.setSymbol(this.side, event.target.value);
    byId('overlay').onchange = event => this.setOverlay(event.target.value);
    byId('constants').onchange = event => {
      for (const side of this.sides) {
        side.view.showsQuiet = event.target.checked;
        side.view.relayout();
      }
    };
    byId('collapse').onclick = () => this.side.view.expandAll(false);
    byId('expand').onclick = () => this.side.view.expandAll(true);
    byId('fit').onclick = () => this.side.view.fitWhole();
    byId('helpButton').onclick = () => byId('help').showModal();
    byId('kernel').onchange = event => this.showKernel(event.target.value);
    byId('codeForm').onchange = () => this.kernels.fillCode();
    byId('kernelGraph').onclick = () => this.showKernelGraph(byId('kernel').value);
    byId('kernelFilter').oninput = () => this.kernels.fillTable();
    this.listenDivider();
    document.addEventListener('keydown', event => this.pageKey(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.sides.forEach(side => side.view.draw());
      this.memory.draw();
      this.drawTicks();
    });
    new ResizeObserver(() => this.drawTicks()).observe(byId('ticks'));
  }

  listenDivider() {
    const divider = byId('divider'), aside = document.querySelector('aside');
    divider.onpointerdown = event => {
      divider.setPointerCapture(event.pointerId);
      divider.onpointermove = move => {
        aside.style.width = `${Math.min(window.innerWidth - 300, Math.max(240, window.innerWidth - move.clientX))}px`;
      };
    };
    divider.onpointerup = () => { divider.onpointermove = null; };
  }

  openTab(tabs, ids, name) {
    for (const button of byId(tabs).children)
      button.setAttribute('aria-selected', String(button.dataset.tab === name));
    for (const [tab, id] of Object.entries(ids))
      byId(id).hidden = tab !== name;
    if (name === 'memory')
      this.memory.draw();
    if (name === 'ir')
      this.ir.show();
    if (tabs === 'mainTabs')
      document.body.classList.toggle('noGraph', name === 'runs');
  }

  openMain(name) { byId('mainTabs').querySelector(`[data-tab=${name}]`).click(); }
  openSide(name) { byId('sideTabs').querySelector(`[data-tab=${name}]`).click(); }

  // Makes a side the one that the panes and the slider are about.
  activate(side) {
    const isNew = this.side !== side || !side.element.classList.contains('active');
    this.side = side;
    this.sides.forEach(each => each.element.classList.toggle('active', each === side && this.sides.length > 1));
    if (isNew && side.graph) {
      this.fillAll();
      this.kernels.fillTable();
    }
  }

  // Everything that depends on the active side's step and symbol.
  fillAll() {
    this.fillSteps();
    this.fillSymbols();
    this.fillPanes();
    this.fillMemory();
    this.setStatus();
  }

  setStatus() {
    const {graph, view, changes} = this.side || this.sides[0] || {};
    if (!graph)
      return;
    byId('status').textContent = `${graph.leaves.length} ops and inputs, ${view.boxes.length} boxes shown, layout ${view.layoutMs.toFixed(0)} ms` +
      ` - this pass: ${changes.added.size} added, ${changes.changed.size} changed, ${changes.removed.size} removed`;
  }

  fillPanes() {
    fillSelection(this, byId('selectionTab'));
    fillPass(this, byId('passTab'));
    this.ir.fill();
    this.ir.show();
  }

  fillSteps() {
    const {program, step} = this.side;
    const slider = byId('slider'), list = byId('stepList');
    if (this.stepsOf !== program) {
      this.stepsOf = program;
      slider.max = program.steps.length - 1;
      list.replaceChildren(...program.steps.map((each, i) =>
        element('option', {value: i}, `${i}  ${each.phase}: ${each.pass.replace(/^sinter-/, '')}${each.changes.length ? '' : '  (no change)'}`)));
    }
    slider.value = list.value = step;
    slider.setAttribute('aria-valuetext', list.options[step] ? list.options[step].text : '');
    byId('before').checked = this.side.isBefore;
    this.drawTicks();
  }

  // A mark for each pass: as high as it changed much, by phase.
  drawTicks() {
    const {context, width, height} = prepareCanvas(byId('ticks'));
    const {program, step} = this.side, colors = themeColors();
    const count = program.steps.length;
    const x = i => 8 + (width - 16) * (count > 1 ? i / (count - 1) : 0.5);
    context.font = '10px system-ui, sans-serif';
    program.steps.forEach((each, i) => {
      const size = each.changes.reduce((sum, change) => sum + (change.gone ? 1 : change.ops.filter(Array.isArray).length), 0);
      context.fillStyle = i === step ? colors.accent : size ? colors.text : colors.line;
      const bar = size ? 3 + 7 * Math.min(1, Math.log10(1 + size) / 3) : 2;
      context.fillRect(x(i) - 1, height - bar, 2.5, bar);
    });
    this.drawPhases(context, program.steps, x, width);
  }

  // The name of each phase where it begins. Where names would overlap, the phase with more passes has its own.
  drawPhases(context, steps, x, width) {
    const phases = [];
    steps.forEach(({phase}, i) => {
      if (phases.at(-1)?.phase !== phase)
        phases.push({phase, begin: i, count: 0});
      ++phases.at(-1).count;
    });
    const drawn = [];
    context.fillStyle = themeColors().faint;
    for (const {phase, begin} of phases.sort((a, b) => b.count - a.count)) {
      const length = context.measureText(phase).width, left = Math.min(x(begin), width - length - 2);
      if (drawn.some(other => left < other.right + 6 && other.left < left + length + 6))
        continue;
      drawn.push({left, right: left + length});
      context.fillText(phase, left, 8);
    }
  }

  fillSymbols() {
    const {side} = this;
    const symbols = side.symbols();
    byId('symbol').replaceChildren(...symbols.map(({name}) => element('option', {value: name}, '@' + shown(name))));
    byId('symbol').value = side.symbol;
    const overlays = overlaysOf(side);
    byId('overlay').replaceChildren(...overlays.map(([kind, name]) => element('option', {value: kind}, name)));
    byId('overlay').value = side.overlay.kind;
    if (this.kernelsOf !== side.program) {
      this.kernelsOf = side.program;
      byId('kernel').replaceChildren(...side.program.kernels().map(({name, label}) => element('option', {value: name}, shown(label))));
      this.kernels.fillCode();
    }
  }

  fillMemory() {
    const {program} = this.side;
    this.memory.set(program.plans());
  }

  // Shows the code of a kernel. Its nodes are selected, unless one of them is.
  showKernel(name) {
    const kernel = this.side.program.kernels().find(each => each.name === name);
    if (!kernel)
      return;
    byId('kernel').value = name;
    if (!this.names.some(node => kernel.nodes.has(node)))
      this.setNames([...kernel.nodes]);
    this.kernels.fillCode();
    this.openSide('code');
  }

  // The graph of a generated kernel; a library call in its program.
  showKernelGraph(name) {
    const {side} = this;
    const kernel = side.program.kernels().find(each => each.name === name);
    if (!kernel)
      return;
    this.openMain('graph');
    const [first] = kernel.commands;
    this.showPlan(first.plan);
    if (kernel.isGenerated)
      this.setSymbol(side, name);
    else
      this.selectOp(side, first.command.op.id);
  }

  // Selects a node of the graph, null: nothing.
  select(side, box) {
    this.activate(side);
    side.selected = box;
    this.setNames(box ? box.isGroup && !box.isKernel ? [...new Set(leavesOf(box).flatMap(leaf => leaf.nodes))] : box.nodes : [], !box || !box.isGroup || box.isKernel);
    if (box) {
      if (side.view.boxOf(box) !== box || box.x === undefined || !side.view.isInSight(box))
        side.view.reveal(box);
      this.codeOf(side, box);
    }
    this.redraw();
  }

  // The code pane follows the selection.
  codeOf(side, box) {
    const [first] = box.isGroup && !box.isKernel ? [] : commandsOf(box, side.program, side.graph, side.symbol);
    if (first) {
      byId('kernel').value = first.command.name;
      this.kernels.fillCode();
    }
  }

  setNames(names, isLit = true) {
    this.problem = '';
    this.names = names;
    this.lit = isLit ? names : [];
    this.redraw();
  }

  redraw() {
    this.sides.forEach(side => side.view.draw());
    fillSelection(this, byId('selectionTab'));
    this.ir.show();
    this.memory.draw();
  }

  selectOp(side, id) {
    const node = side.graph.byKey.get('o' + id);
    if (node)
      this.select(side, node);
  }

  // Selects a node of the model in all sides, where they have it; of
  // "grad(NODE)" an op that computes the gradient.
  selectNode(name) {
    this.setNames([nodeOfName(name)]);
    for (const side of this.sides) {
      const {leaves} = side.graph, computing = leaves.filter(each => namesOf(each).includes(name));
      const found = computing.length ? computing : leaves.filter(each => each.nodes.includes(nodeOfName(name)));
      const leaf = found.find(each => !each.isQuiet) || found[0];
      side.selected = leaf || null;
      if (leaf)
        side.view.reveal(leaf);
      if (leaf && side === this.side)
        this.codeOf(side, leaf);
    }
    this.redraw();
  }

  // Says that the page cannot show what its address asks for.
  report(problem) {
    this.problem = problem;
    this.openSide('selection');
    this.redraw();
  }

  selectCommand(plan, command) {
    this.showPlan(plan);
    this.selectOp(this.side, command.op.id);
  }

  selectBuffer(plan, buffer) {
    if (buffer.writer && this.side.graph.isPlan && this.side.symbol === plan.symbol)
      this.selectOp(this.side, buffer.writer.op.id);
    else
      this.setNames(buffer.nodes);
    this.openSide('selection');
  }

  // The graph of a planned program.
  showPlan(plan) {
    const {side} = this;
    side.step = side.program.steps.length - 1;
    side.symbol = plan.symbol;
    side.isBefore = false;
    side.refresh(true);
    this.fillAll();
  }

  setSymbol(side, symbol) {
    this.activate(side);
    side.symbol = symbol;
    side.refresh(false);
    this.fillAll();
  }

  setOverlay(kind) {
    this.overlay = kind;
    byId('overlay').value = kind;
    for (const side of this.sides) {
      side.setOverlay();
      side.view.draw();
    }
  }

  setBefore(isBefore) {
    this.side.isBefore = isBefore;
    this.side.refresh(true);
    this.fillAll();
  }

  // To the pass `number`, with the selection kept where it is still there.
  goTo(number) {
    const {side} = this;
    side.step = Math.min(side.program.steps.length - 1, Math.max(0, number));
    side.isBefore = false;
    side.refresh(true);
    this.fillAll();
    if (this.sides.length === 2)
      this.followStep(side);
  }

  // The other side goes to the last pass of the same name and turn.
  followStep(side) {
    const other = this.sides.find(each => each !== side);
    const {phase, pass} = side.program.steps[side.step];
    const same = steps => steps.map((step, i) => step.phase === phase && step.pass === pass ? i : -1).filter(i => i >= 0);
    const turn = same(side.program.steps).indexOf(side.step), there = same(other.program.steps);
    if (!there.length)
      return;
    other.step = there[Math.min(turn, there.length - 1)];
    other.isBefore = false;
    other.refresh(true);
  }

  // To the next pass that changed the function in sight.
  goToChange(direction) {
    const {side} = this, {steps} = side.program;
    for (let i = side.step + direction; i >= 0 && i < steps.length; i += direction)
      if (steps[i].changes.some(change => change.name === side.symbol) || !side.program.ops(side.symbol, i))
        return this.goTo(i);
  }

  hoverNode(side, box, x, y) {
    side.view.canvas.style.cursor = box ? 'pointer' : 'grab';
    if (!box)
      return this.tooltip('');
    const value = side.overlay.valueOfBox(box);
    const lines = [box.label + (box.isGroup ? ` (${box.count} ops)` : ''), ...box.nodes.slice(0, 8).map(nodeText)];
    if (box.nodes.length > 8)
      lines.push(`and ${box.nodes.length - 8} more`);
    if (box.type)
      lines.push(box.type);
    lines.push(side.overlay.isSum ? side.overlay.text(value) : String(value || ''));
    this.tooltip(lines.filter(Boolean).join('\n'), x, y);
  }

  tooltip(text, x, y) { showTooltip(text, x, y); }

  // Keys of the whole page, except in fields of text.
  pageKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.key !== 'Escape')
      return;
    const {view} = this.side;
    const actions = {
      '/': () => byId('search').focus(), '[': () => this.goToChange(-1), ']': () => this.goToChange(1),
      b: () => this.setBefore(!this.side.isBefore), f: () => byId('runsTab').hidden ? view.fitWhole() : this.runs.zoom(null), c: () => view.expandAll(false), e: () => view.expandAll(true),
      '+': () => view.zoom(1.3), '=': () => view.zoom(1.3), '-': () => view.zoom(1 / 1.3), '?': () => byId('help').showModal(),
      g: () => this.openMain('graph'), m: () => this.openMain('memory'), k: () => this.openMain('kernels'), r: () => this.runs && this.openMain('runs'),
      1: () => this.openSide('selection'), 2: () => this.openSide('pass'), 3: () => this.openSide('ir'), 4: () => this.openSide('code'),
      Escape: () => this.escape(),
    };
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  }

  escape() {
    if (this.search.isOpen())
      return this.search.close();
    for (const side of this.sides)
      side.selected = null;
    this.setNames([]);
  }

  // Arrow keys walk along edges; Enter opens and closes a group.
  graphKey(event) {
    const {side} = this, {view} = side;
    const box = side.selected && view.boxOf(side.selected);
    if (event.key === 'Enter' && box && box.isGroup) {
      event.preventDefault();
      return view.toggle(box);
    }
    if (!event.key.startsWith('Arrow'))
      return;
    event.preventDefault();
    const next = box ? this.neighbor(view, box, event.key) : view.boxes.find(each => !each.items);
    if (next)
      this.select(side, next);
  }

  neighbor(view, box, key) {
    const ends = view.layout.edges;
    const nearest = list => list.sort((a, b) => Math.hypot(a.x - box.x, a.y - box.y) - Math.hypot(b.x - box.x, b.y - box.y))[0];
    if (key === 'ArrowUp')
      return nearest(ends.filter(edge => edge.to === box).map(edge => edge.from));
    if (key === 'ArrowDown')
      return nearest(ends.filter(edge => edge.from === box).map(edge => edge.to));
    const sign = key === 'ArrowRight' ? 1 : -1;
    return nearest(view.boxes.filter(each => !each.items && each !== box && (each.x - box.x) * sign > 0 && Math.abs(each.y - box.y) < NODE_HEIGHT));
  }
}

readData().then(data => {
  window.app = data.programs.length ? new App(data) : data.plans ? new PlanPage(data) : new RunPage(data);
  openPlace(window.app, placeOfAddress());
  addEventListener('hashchange', () => openPlace(window.app, placeOfAddress()));
  if (location.protocol === 'http:') {
    restorePlace(window.app);
    watchVersion(window.app);
  }
}).catch(problem => {
  document.getElementById('status').textContent = `This page cannot be shown: ${problem.message}`;
  console.error(problem);
});
