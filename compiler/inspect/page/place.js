// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The place in the page (pass, function, node) that an address names, or that
// stays when a page of `sinter-inspect serve` loads itself again because its file
// has changed.
'use strict';

const PLACE_KEY = 'sinter-place';

function savePlace(app) {
  const {side} = app, place = {runs: app.runs?.place(), isOnRuns: !byId('runsTab').hidden};
  if (side)
    Object.assign(place, {step: side.step, symbol: side.symbol, names: app.names, isLast: side.step === side.program.steps.length - 1});
  sessionStorage.setItem(PLACE_KEY, JSON.stringify(place));
}

// The place in an address: page.html#pass=11&function=step&node=/3/Conv.
function placeOfAddress() {
  const words = new URLSearchParams(location.hash.slice(1).replace(/\+/g, '%2B'));
  const step = words.get('pass');
  return {step: step === null ? null : Number(step), symbol: words.get('function'), names: words.getAll('node')};
}

// Whether an op of any step, or something in a graph in sight, has this name.
function hasNode(app, name) {
  const node = nodeOfName(name);
  return app.sides.some(({program, graph}) => graph.leaves.some(leaf => leaf.nodes.includes(node)) || program.removals().has(node));
}

// The last step with a function that has an op of a node; plans have only commands. -1 if none has.
function lastStepOf(program, name) {
  for (let step = program.steps.length - 1; step >= 0; --step)
    for (const {name: symbol, kind} of program.symbols(step))
      if (kind === 'func.func' && program.ops(symbol, step).some(op => op.nodes.includes(name) || op.computes.includes(name)))
        return step;
  return -1;
}

function openPlace(app, {step, symbol, names}) {
  if (!app.side)
    return;
  // An address that names a node alone is about the node and its ops, not only its kernels.
  if (step === null && symbol === null && names.length === 1)
    step = Math.max(0, lastStepOf(app.side.program, names[0]));
  if (Number.isInteger(step))
    app.goTo(step);
  if (symbol !== app.side.symbol && app.side.symbols().some(({name}) => name === symbol))
    app.setSymbol(app.side, symbol);
  const isUnknown = names.length === 1 && !hasNode(app, names[0]);
  if (names.length === 1)
    isUnknown ? app.escape() : app.selectNode(names[0]);
  if (isUnknown)
    app.report(`The address names the node '${shown(names[0])}', but no op of ${shown(app.side.program.title)} comes from a node of that name.`);
  else if (symbol && symbol !== app.side.symbol)
    app.report(`The address names the function '${shown(symbol)}', which ${shown(app.side.program.title)} does not have after pass ${app.side.step}.`);
}

function restorePlace(app) {
  const place = JSON.parse(sessionStorage.getItem(PLACE_KEY) || 'null');
  sessionStorage.removeItem(PLACE_KEY);
  if (!place)
    return;
  if (place.runs && app.runs)
    app.runs.setPlace(place.runs);
  if (place.names)
    openPlace(app, place.isLast ? {...place, step: null} : place);
  if (place.isOnRuns && app.side && app.runs)
    app.openMain('runs');
}

async function watchVersion(app) {
  let version = '';
  while (true) {
    try {
      const text = await (await fetch('version')).text();
      const now = text.split(' ')[0];
      if (version && now !== version) {
        savePlace(app);
        location.reload();
        return;
      }
      version = now;
      if (text.endsWith(' old'))
        byId('status').textContent = 'The file has changed, but no page could be made of it; the terminal says why.';
    } catch {
      byId('status').textContent = 'sinter-inspect serve has ended.';
      return;
    }
    await new Promise(done => setTimeout(done, 1000));
  }
}
