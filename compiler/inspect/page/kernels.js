// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The kernels and their code.
'use strict';

const compact = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3});

// The least time by the limits of the machine, of all calls of a kernel: a fact of pages with a profile.
const BEST = 'at best, us';

class KernelPanes {
  constructor(app) { this.app = app; }

  // The table of generated kernels and library calls.
  fillTable() {
    const {program} = this.app.side;
    const filter = byId('kernelFilter').value.toLowerCase();
    const timeOf = kernel => kernel.commands.reduce((sum, {plan, index}) => sum + (plan.micros[index] || 0), 0);
    const kernels = program.kernels().filter(kernel => !kernel.isScan); // its commands do the work
    const callsOf = kernel => kernel.commands.reduce((sum, {plan}) => sum + plan.runs, 0);
    const hasTimes = kernels.some(timeOf);
    const bestOf = kernel => (program.kernelFacts[kernel.name] || {})[BEST];
    const hasBest = hasTimes && kernels.some(kernel => bestOf(kernel) !== undefined);
    const rows = kernels.filter(kernel => !filter || kernel.name.toLowerCase().includes(filter) || [...kernel.computes].some(name => name.toLowerCase().includes(filter)));
    if (hasTimes)
      rows.sort((a, b) => timeOf(b) - timeOf(a));
    const table = element('table', {}, element('tr', {}, element('th', {}, 'kernel'), element('th', {class: 'number'}, 'calls'), hasTimes ? element('th', {class: 'number'}, 'us') : null, hasBest ? element('th', {class: 'number'}, BEST) : null, element('th', {}, 'nodes')));
    for (const kernel of rows) {
      const nodes = [...kernel.computes];
      const facts = Object.entries(program.kernelFacts[kernel.name] || {}).filter(([name]) => name !== BEST).map(([name, value]) => `${name} ${typeof value === 'number' ? compact.format(value) : value}`).join(', ');
      table.append(element('tr', {onclick: () => this.app.showKernel(kernel.name)},
                           element('td', {}, element('a', {onclick: () => this.app.showKernel(kernel.name)}, shown(kernel.label)), facts ? element('div', {class: 'faint'}, facts) : null),
                           element('td', {class: 'number'}, String(callsOf(kernel))),
                           hasTimes ? element('td', {class: 'number'}, timeOf(kernel).toFixed(1)) : null,
                           hasBest ? element('td', {class: 'number'}, bestOf(kernel)?.toFixed(1) ?? '') : null,
                           element('td', {class: 'faint'}, nodes.slice(0, 6).map(nodeText).join(', ') + (nodes.length > 6 ? ` and ${nodes.length - 6} more` : ''))));
    }
    byId('kernelTable').replaceChildren(table);
    byId('kernelTotals').textContent = `${rows.length} of ${kernels.length}`;
  }

  // The code of the chosen kernel, below its nodes.
  fillCode() {
    const {program} = this.app.side, name = byId('kernel').value;
    const kernel = program.kernels().find(each => each.name === name);
    byId('codeNodes').replaceChildren(...(kernel ? [...kernel.computes].slice(0, MOST_LISTED).flatMap(name => [nodeLink(this.app, name), ' ']) : []));
    const forms = Object.keys(program.code).filter(form => program.code[form][name] !== undefined);
    if (program.versions.has(name))
      forms.unshift('ir');
    const select = byId('codeForm');
    const chosen = forms.includes(select.value) ? select.value : forms.includes('llvm') ? 'llvm' : forms[0];
    select.replaceChildren(...forms.map(form => element('option', {value: form}, {ir: 'IR', llvm: 'LLVM IR', ptx: 'PTX', asm: 'assembly', sass: 'SASS'}[form] || form)));
    select.value = chosen || '';
    byId('code').textContent = !forms.length ? this.callsOf(name)
      : chosen === 'ir' ? this.irOf(name) : program.code[chosen][name];
  }

  // What a library does, in place of code.
  callsOf(name) {
    const kernel = this.app.side.program.kernels().find(each => each.name === name);
    return !kernel ? '' : kernel.isGenerated ? 'The trace has no code of kernels; sinter-inspect view MODEL has.'
      : ['A library call or a copy: no code is generated for it.', ...kernel.commands.map(({plan, index, command}) =>
        `\n${plan.placeOf(index)}:\n${shown(command.op.line)}`)].join('\n');
  }

  irOf(symbol) {
    const {program} = this.app.side;
    const ops = program.ops(symbol, program.steps.length - 1) || [];
    return ops.map(op => '  '.repeat(op.depth) + shown(op.line) + (op.computes.length ? `   // ${shown(op.computes.join(', '))}` : '')).join('\n');
  }
}
