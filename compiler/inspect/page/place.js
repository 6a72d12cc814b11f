// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The place in the page (pass, function, node) that an address names, or that
// stays when a page of `sinter-inspect serve` loads itself again because its file
// has changed.
'use strict';

const PLACE_KEY = 'sinter-place';

function savePlace(app) {
  sessionStorage.setItem(PLACE_KEY, JSON.stringify({step: app.side.step, symbol: app.side.symbol, names: app.names,
                                                    isLast: app.side.step === app.side.program.steps.length - 1}));
}

// The place in an address: page.html#pass=11&function=step&node=/3/Conv.
function placeOfAddress() {
  const words = new URLSearchParams(location.hash.slice(1).replace(/\+/g, '%2B'));
  const step = words.get('pass');
  return {step: step === null ? null : Number(step), symbol: words.get('function'), names: words.getAll('node')};
}

function openPlace(app, {step, symbol, names}) {
  if (Number.isInteger(step))
    app.goTo(step);
  if (symbol !== app.side.symbol && app.side.symbols().some(({name}) => name === symbol))
    app.setSymbol(app.side, symbol);
  if (names.length === 1)
    app.selectNode(names[0]);
}

function restorePlace(app) {
  const place = JSON.parse(sessionStorage.getItem(PLACE_KEY) || 'null');
  sessionStorage.removeItem(PLACE_KEY);
  if (place)
    openPlace(app, place.isLast ? {...place, step: null} : place);
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
