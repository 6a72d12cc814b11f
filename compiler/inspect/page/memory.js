// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The arena of a program over time: each buffer is a rectangle from its first
// to its last command and from its first to its last byte.
'use strict';

const AXIS_LEFT = 74, AXIS_BOTTOM = 34, AXIS_TOP = 10, CURVE_HEIGHT = 90, CURVE_GAP = 26;

// Round steps of an axis: about `count` of them up to `most`.
function axisSteps(most, count, isBytes) {
  const base = isBytes ? 2 : 10;
  let step = Math.pow(base, Math.floor(Math.log(Math.max(most, 1) / count) / Math.log(base)));
  for (const factor of isBytes ? [1, 2, 4] : [1, 2, 5, 10])
    if (most / (step * factor) <= count) {
      step *= factor;
      break;
    }
  step = Math.max(1, step);
  const steps = [];
  for (let value = 0; value <= most; value += step)
    steps.push(value);
  return steps;
}

class MemoryChart {
  constructor(app, canvas, peakPane, isOneOfSeveral) {
    this.isOneOfSeveral = isOneOfSeveral;
    this.app = app;
    this.canvas = canvas;
    this.peakPane = peakPane;
    this.place = 0;
    canvas.addEventListener('pointermove', event => {
      const buffer = this.hit(event.offsetX, event.offsetY);
      app.tooltip(buffer ? this.describe(buffer) : '', event.clientX, event.clientY);
    });
    canvas.addEventListener('pointerleave', () => app.tooltip(''));
    canvas.addEventListener('click', event => {
      const buffer = this.hit(event.offsetX, event.offsetY);
      if (buffer)
        app.selectBuffer(this.plan, buffer);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  describe(buffer) {
    return `${buffer.computes.map(nodeText).join(', ') || '(no node)'}\n${[buffer.type, bytesText(buffer.size)].filter(Boolean).join('  ')}\nbytes ${buffer.offset} to ${buffer.offset + buffer.size}, commands ${buffer.first} to ${buffer.last}` +
      (buffer.writer ? `\nwritten by ${shown(buffer.writer.target)}` : '');
  }

  set(plan, place) {
    this.plan = plan;
    this.place = place;
    this.live = plan ? plan.live(place) : [];
    this.buffers = plan ? plan.arena.filter(buffer => buffer.place === place) : [];
    this.peak = this.live.indexOf(Math.max(...this.live, 0));
    this.fillPeak();
    this.draw();
  }

  // "arena 3.0 KiB, peak 2.0 KiB live", with the device if there are several.
  totals() {
    return (this.isOneOfSeveral ? `${this.plan.deviceName(this.place)}: ` : '') +
      `arena ${bytesText(Math.max(0, ...this.buffers.map(endOf)))}, peak ${bytesText(Math.max(0, ...this.live))} live`;
  }

  // What tells buffers of the same nodes apart: "tensor<4xf32>, written by command 3, at 640; kept for /fc/Gemm".
  placeText({type, writer, offset, first, last}) {
    const kept = last > this.peak ? this.plan.commands[last].op.computes[0] : '';
    return [type, writer ? `written by command ${writer.index}` : `of command ${first}`, `at ${offset}`].filter(Boolean).join(', ') +
      (kept ? `; kept for ${nodeText(kept)}` : '');
  }

  // The time of a command's begin and end: microseconds of a profile, else one
  // for each command.
  prepareTimes() {
    const {plan} = this;
    this.begins = [0];
    for (let i = 0; i < plan.commands.length; ++i)
      this.begins.push(this.begins[i] + (plan.micros.length ? plan.micros[i] : 1));
    this.duration = Math.max(this.begins[this.begins.length - 1], 1e-9);
    this.bytes = Math.max(1, ...this.buffers.map(buffer => buffer.offset + buffer.size));
  }

  xOf(time) { return AXIS_LEFT + time / this.duration * (this.width - AXIS_LEFT - 12); }
  yOf(bytes) { return this.bottom - bytes / this.bytes * (this.bottom - this.top); }

  boxOf(buffer) {
    const x = this.xOf(this.begins[buffer.first]), y = this.yOf(buffer.offset + buffer.size);
    return [x, y, Math.max(1, this.xOf(this.begins[buffer.last + 1]) - x), Math.max(1, this.yOf(buffer.offset) - y)];
  }

  hit(px, py) {
    return this.plan && this.begins && this.buffers.find(buffer => {
      const [x, y, w, h] = this.boxOf(buffer);
      return px >= x && px <= x + w && py >= y && py <= y + h;
    });
  }

  draw() {
    if (!this.plan || !this.canvas.clientWidth)
      return;
    const {context, width, height} = prepareCanvas(this.canvas);
    this.width = width;
    this.top = AXIS_TOP + CURVE_HEIGHT + CURVE_GAP;
    this.bottom = height - AXIS_BOTTOM;
    this.prepareTimes();
    const colors = themeColors();
    context.font = '11px system-ui, sans-serif';
    this.drawAxes(context, colors);
    this.drawBuffers(context, colors);
    this.drawLive(context, colors);
  }

  drawAxes(context, colors) {
    context.strokeStyle = colors.line;
    context.fillStyle = colors.faint;
    context.lineWidth = 1;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const bytes of axisSteps(this.bytes, 8, true)) {
      const y = this.yOf(bytes);
      context.beginPath();
      context.moveTo(AXIS_LEFT, y);
      context.lineTo(this.width - 12, y);
      context.stroke();
      context.fillText(bytesText(bytes), AXIS_LEFT - 6, y);
    }
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (const time of axisSteps(this.duration, 10, false)) {
      const x = this.xOf(time);
      context.beginPath();
      context.moveTo(x, AXIS_TOP);
      context.lineTo(x, this.bottom + 3);
      context.stroke();
      context.fillText(String(time), x, this.bottom + 5);
    }
    context.fillText(this.plan.micros.length ? 'time of the profile, us' : 'command', (AXIS_LEFT + this.width) / 2, this.bottom + 19);
    context.textAlign = 'left';
    context.textBaseline = 'bottom';
    context.fillText('bytes of the arena' + (this.isOneOfSeveral ? ` of ${this.plan.deviceName(this.place)}` : ''), AXIS_LEFT, this.top - 3);
  }

  drawBuffers(context, colors) {
    context.textBaseline = 'middle';
    for (const buffer of this.buffers) {
      const [x, y, w, h] = this.boxOf(buffer);
      const isAtPeak = buffer.first <= this.peak && this.peak <= buffer.last;
      const isSelected = buffer.nodes.some(name => this.app.names.includes(name));
      context.globalAlpha = isAtPeak ? 0.85 : 0.5;
      context.fillStyle = CATEGORY_COLORS[categoryOf(buffer.writer ? buffer.writer.op.kind : '')];
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
      context.strokeStyle = isSelected ? colors.accent : colors.background;
      context.lineWidth = isSelected ? 2.5 : 0.5;
      context.strokeRect(x, y, w, h);
      if (h >= 12 && w >= 40) {
        const full = buffer.computes[0] || buffer.type, node = nodeOfName(full);
        const short = shown(node.split('/').filter(Boolean).slice(-2).join('/'));
        const name = node === full ? short : `grad(${short})`;
        context.fillStyle = '#fff';
        context.fillText(clipText(context, shown(name), w - 6), x + 3, y + h / 2);
      }
    }
  }

  drawLive(context, colors) {
    const most = Math.max(1, ...this.live), bottom = AXIS_TOP + CURVE_HEIGHT;
    const y = bytes => bottom - bytes / most * (CURVE_HEIGHT - 12);
    context.beginPath();
    context.moveTo(this.xOf(0), bottom);
    this.live.forEach((bytes, i) => {
      context.lineTo(this.xOf(this.begins[i]), y(bytes));
      context.lineTo(this.xOf(this.begins[i + 1]), y(bytes));
    });
    context.lineTo(this.xOf(this.duration), bottom);
    context.closePath();
    context.globalAlpha = 0.3;
    context.fillStyle = colors.accent;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.lineWidth = 1.2;
    context.stroke();
    context.fillStyle = colors.faint;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(bytesText(most), AXIS_LEFT - 6, y(most));
    context.fillText('0 B', AXIS_LEFT - 6, bottom);
    context.textAlign = 'left';
    context.fillText('live bytes', AXIS_LEFT + 4, AXIS_TOP + 2);
    if (this.peak >= 0) {
      const x = this.xOf((this.begins[this.peak] + this.begins[this.peak + 1]) / 2);
      context.strokeStyle = colors.removed;
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(x, AXIS_TOP);
      context.lineTo(x, this.bottom);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colors.removed;
      context.textAlign = x > this.width - 80 ? 'right' : 'left';
      context.fillText(' peak ', x, AXIS_TOP + 14);
      context.textAlign = 'left';
    }
  }

  fillPeak() {
    this.peakPane.replaceChildren();
    if (!this.plan || this.peak < 0 || !this.buffers.length) {
      this.peakPane.append(element('p', {class: 'faint'}, this.plan ? 'This program keeps no values in the arena.' : 'There is no plan: the trace ends before the phase "plan".'));
      return;
    }
    const at = this.buffers.filter(buffer => buffer.first <= this.peak && this.peak <= buffer.last).sort((a, b) => b.size - a.size);
    const command = this.plan.commands[this.peak];
    this.peakPane.append(element('h2', {}, `Peak: ${bytesText(this.live[this.peak])} at command ${this.peak}`),
                         element('p', {}, element('a', {onclick: () => this.app.selectCommand(this.plan, command)}, shown(command.target))));
    const table = element('table', {}, element('tr', {}, element('th', {class: 'number'}, 'bytes'), element('th', {}, 'tensor')));
    for (const buffer of at.slice(0, MOST_LISTED))
      table.append(element('tr', {}, element('td', {class: 'number'}, bytesText(buffer.size)),
                           element('td', {}, element('a', {onclick: () => this.app.selectBuffer(this.plan, buffer)}, nodeText(buffer.computes[0] || '(no node)')),
                                   buffer.computes.length > 1 ? ` +${buffer.computes.length - 1}` : '',
                                   element('div', {class: 'faint'}, this.placeText(buffer)))));
    this.peakPane.append(table);
  }
}

// The memory panel: a picture for each device of the chosen program. `owner`
// has the selection: names, tooltip(), selectBuffer() and selectCommand().
class MemoryPane {
  constructor(owner) {
    this.owner = owner;
    this.charts = [];
    this.plans = [];
    byId('program').onchange = () => this.show();
  }

  // The programs to choose from. At first the one with most commands is shown.
  set(plans) {
    if (this.plans !== plans) {
      this.plans = plans;
      const select = byId('program');
      select.replaceChildren(...plans.map(({title, symbol}, i) => element('option', {value: i}, shown(title || '@' + symbol))));
      select.value = String(plans.reduce((best, plan, i) => plan.commands.length > plans[best].commands.length ? i : best, 0));
    }
    this.show();
  }

  show() {
    const plan = this.plans[Number(byId('program').value) || 0] || null;
    if (this.plan !== plan || !this.charts.length)
      this.fill(plan);
    this.draw();
  }

  fill(plan) {
    this.plan = plan;
    const places = plan ? [...new Set(plan.arena.map(buffer => buffer.place))].sort((a, b) => a - b) : [];
    byId('memoryBody').replaceChildren();
    this.charts = (places.length ? places : [0]).map((place, i) => {
      const canvas = element('canvas', {tabindex: 0, 'aria-label': `Memory over time, ${plan ? plan.deviceName(place) : 'no plan'}`});
      const peak = element('div', {class: 'peak', ...(i ? {} : {id: 'peak'})});
      byId('memoryBody').append(element('div', {class: 'device'}, element('div', {class: 'picture'}, canvas), peak));
      const chart = new MemoryChart(this.owner, canvas, peak, places.length > 1);
      chart.set(plan, place);
      return chart;
    });
    byId('memoryTotals').textContent = plan ? this.charts.map(chart => chart.totals()).join('; ') + `; ${plan.commands.length} commands` : 'no plan';
  }

  draw() { this.charts.forEach(chart => chart.draw()); }
}

// The page of compiled programs, of which only the memory is known.
class PlanPage {
  constructor(data) {
    this.names = []; // the selected nodes
    document.body.classList.add('noGraph', 'noTabs');
    byId('title').textContent = byId('title').title = shown(data.title);
    byId('helpButton').onclick = () => byId('help').showModal();
    byId('graphTab').hidden = true;
    byId('memoryTab').hidden = false;
    const targets = new Set(data.plans.map(({target}) => target));
    this.memory = new MemoryPane(this);
    this.memory.set(data.plans.map(record => Plan.ofCompiled(record, targets.size > 1)));
    document.addEventListener('keydown', event => {
      if (event.key === 'Escape')
        this.setNames([]);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.memory.draw());
  }

  tooltip(text, x, y) { showTooltip(text, x, y); }
  selectBuffer(plan, buffer) { this.setNames(buffer.nodes); }
  selectCommand(plan, command) { this.setNames(command.op.nodes); }
  setNames(names) {
    this.names = names;
    this.memory.draw();
  }
}
