// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// The view of training runs: their curves, and a table of their numbers.
'use strict';

const CURVE_COLORS = ['#3b6fd4', '#c0612b', '#3f9152', '#b23a78', '#7a4fc9', '#0f8a8a', '#c98a1b', '#7d8794'];

const percentText = value => `${chartNumber(value * 100)} %`;
const RUN_CHARTS = [
  {key: 'loss', title: 'Loss', text: chartNumber, points: each => each[1], isSmoothed: true, canLog: true},
  {key: 'accuracy', title: 'Accuracy of evaluations', text: percentText, points: each => each[2]},
  {key: 'lr', title: 'Learning rate', text: chartNumber, canLog: true},
  {key: 'grad_norm', title: 'Norm of the gradient', text: chartNumber, isSmoothed: true, canLog: true},
  {key: 'weight_norm', title: 'Norm of the weights', text: chartNumber, canLog: true},
  {key: 'rows_per_second', title: 'Throughput, rows/s', text: chartNumber, byPercentiles: true},
  {key: 'steps_per_second', title: 'Throughput, steps/s', text: chartNumber, byPercentiles: true},
  {key: 'loss_scale', title: 'Loss scale', text: chartNumber, canLog: true},
  {key: 'host_peak_bytes', title: 'Memory of the host, peak so far', text: bytes => bytesText(bytes)},
];

// A run of the page's data, with the values of the chosen x axis.
class RunCurves {
  constructor(data, number) {
    Object.assign(this, data);
    this.color = CURVE_COLORS[number % CURVE_COLORS.length];
    this.isShown = true;
    this.axis = 'step';
  }

  xs() { return this.axis === 'epoch' && this.epochs ? this.epochs : this.axis === 'seconds' && this.seconds ? this.seconds : this.at; }
  // Steps between two buckets are in proportion.
  xOfStep(step) {
    const xs = this.xs();
    if (xs === this.at || !xs.length)
      return step;
    let i = nearest(this.at, step);
    if (this.at[i] < step && i + 1 < this.at.length)
      ++i;
    if (this.at[i] === step || i === 0)
      return xs[i] * (i === 0 && this.at[0] ? Math.min(1, step / this.at[0]) : 1);
    const share = (step - this.at[i - 1]) / (this.at[i] - this.at[i - 1]);
    return xs[i - 1] + Math.min(1, share) * (xs[i] - xs[i - 1]);
  }
}

class RunView {
  constructor({runs, reports = []}) {
    this.runs = runs.map((data, i) => new RunCurves(data, i));
    this.reports = reports;
    this.smoothing = 0.6;
    this.isLog = false;
    this.pointer = this.zoomed = null;
    const has = ({key, points}) => this.runs.some(run => run.curves[key] || (points && run.evaluations.some(each => points(each) !== null)));
    this.charts = RUN_CHARTS.filter(has).map(spec => new Chart(this, spec));
    byId('charts').append(...this.charts.map(chart => chart.canvas));
    byId('runAxis').onchange = event => this.setAxis(event.target.value);
    byId('smoothing').oninput = event => this.setSmoothing(Number(event.target.value));
    byId('runLog').onchange = event => {
      this.isLog = event.target.checked;
      this.draw();
    };
    byId('runReset').onclick = () => this.zoom(null);
    for (const axis of ['epoch', 'seconds'])
      byId('runAxis').querySelector(`[value=${axis}]`).disabled = !this.runs.every(run => run[axis === 'epoch' ? 'epochs' : axis]);
    this.setSmoothing(this.smoothing);
    this.fillLegend();
    this.fillNumbers(byId('runNumbers'));
    new ResizeObserver(() => this.draw()).observe(byId('charts'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  shownRuns() { return this.runs.filter(run => run.isShown); }

  range() {
    if (this.zoomed)
      return this.zoomed;
    let low = Infinity, high = -Infinity;
    for (const run of this.shownRuns())
      for (const x of [run.xs()[0], run.xs().at(-1), ...run.evaluations.map(each => run.xOfStep(each[0]))])
        if (x !== undefined)
          [low, high] = [Math.min(low, x), Math.max(high, x)];
    if (low > high)
      [low, high] = [0, 1];
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  draw() {
    const begin = performance.now();
    this.charts.forEach(chart => chart.draw());
    this.drawMs = performance.now() - begin;
    const largest = Math.max(1, ...this.runs.map(run => run.bucket));
    byId('runStatus').textContent = largest > 1 ?
      `Downsampled: a point is the mean of up to ${largest} steps, a vertical line goes from the least to the largest of them.` : '';
  }

  setAxis(axis) {
    byId('runAxis').value = axis;
    this.runs.forEach(run => { run.axis = axis; });
    this.zoomed = null;
    this.draw();
  }

  setSmoothing(share) {
    this.smoothing = share;
    byId('smoothing').value = share;
    byId('smoothingText').textContent = share.toFixed(2);
    this.draw();
  }

  zoom(range) {
    this.zoomed = range;
    this.draw();
  }

  // Shows the values of all runs at a place of the x axis; null: none.
  hover(x, chart, clientX, clientY) {
    this.pointer = x;
    this.draw();
    showTooltip(x === null ? '' : chart.describe(x), clientX, clientY);
  }

  fillLegend() {
    byId('runLegend').replaceChildren(...this.runs.map(run => {
      const box = element('input', {type: 'checkbox'});
      box.checked = run.isShown;
      box.onchange = () => {
        run.isShown = box.checked;
        this.draw();
      };
      const color = element('i');
      color.style.background = run.color;
      return element('label', {}, box, color, shown(run.title));
    }));
    const kinds = new Set(this.runs.flatMap(run => run.marks.map(mark => mark.kind)));
    byId('runMarks').replaceChildren(...[...kinds].map(kind => {
      const color = element('i');
      color.style.background = MARK_COLORS[kind];
      return element('span', {}, color, kind);
    }), ...(this.runs.some(run => run.evaluations.length) ? [element('span', {}, 'dashed, with dots: evaluations')] : []));
  }

  // A table with a column for each run; then notes, and settings.
  fillNumbers(pane) {
    const table = (rows, values) => {
      const head = element('tr', {}, element('th'), ...this.runs.map(run => element('th', {}, shown(run.title))));
      return element('div', {class: 'wide'}, element('table', {}, head, ...rows.map(name => element('tr', {}, element('td', {class: 'faint'}, shown(name)),
                     ...this.runs.map(run => element('td', {}, shown(values(run, name))))))));
    };
    const facts = this.runs.map(run => new Map(run.facts));
    const names = [...new Set(this.runs.flatMap(run => run.facts.map(([name]) => name)))];
    pane.append(element('h2', {}, 'Numbers'), table(names, (run, name) => facts[this.runs.indexOf(run)].get(name) || '-'));
    const notes = this.runs.flatMap(run => run.notes.map(note => this.runs.length > 1 ? `${run.title}: ${note}` : note));
    if (notes.length)
      pane.append(element('h2', {}, 'Notes'), listOf(notes, note => shown(note)));
    this.fillEvents(pane);
    const settings = [...new Set(this.runs.flatMap(run => Object.keys(run.settings)))].sort();
    // A setting that some runs do not have is not a difference between them.
    const isSame = name => new Set(this.runs.map(run => run.settings[name]).filter(value => value !== undefined)).size === 1;
    const isEverywhere = name => this.runs.every(run => run.settings[name] !== undefined);
    const value = (run, name) => run.settings[name] ?? '-';
    const different = settings.filter(name => !isSame(name)), same = settings.filter(name => isSame(name) && isEverywhere(name));
    const alone = settings.filter(name => isSame(name) && !isEverywhere(name));
    if (different.length)
      pane.append(element('h2', {}, 'Settings that differ'), table(different, value));
    if (same.length)
      pane.append(element('details', {}, element('summary', {}, `${this.runs.length > 1 ? 'Equal settings' : 'Settings'} (${same.length})`), table(same, value)));
    if (alone.length)
      pane.append(element('details', {}, element('summary', {}, `Settings that only some runs have (${alone.length})`), table(alone, value)));
    for (const report of this.reports) {
      const users = this.runs.filter(run => run.settings.build === report.build_id).map(run => shown(run.title));
      pane.append(element('h2', {}, shown(report.title)),
                  element('p', {class: 'faint'}, users.length ? `the program of ${users.join(', ')}` : 'not the program of these runs, or they do not say'),
                  element('pre', {class: 'op'}, report.text));
    }
  }

  fillEvents(pane) {
    const events = this.runs.flatMap(run => run.marks.filter(mark => mark.kind !== 'checkpoint').map(mark => ({run, mark})))
        .sort((a, b) => a.mark.step - b.mark.step);
    if (!events.length)
      return;
    const total = this.runs.reduce((sum, run) => sum + Object.entries(run.mark_counts).reduce((own, [kind, count]) => own + (kind === 'checkpoint' ? 0 : count), 0), 0);
    const listed = events.slice(0, MOST_LISTED);
    pane.append(element('h2', {}, `Events (${total})`),
                listed.length < total ? element('p', {class: 'faint'}, `The first ${listed.length} are shown.`) : '', listOf(listed, ({run, mark}) => [
      element('a', {onclick: () => this.showStep(run, mark.step)}, `step ${mark.step}`), ' ',
      (this.runs.length > 1 ? `${shown(run.title)}: ` : '') + shown(mark.text)]));
  }

  // Zooms to the steps around one.
  showStep(run, step) {
    const room = Math.max(10 * run.bucket, run.steps / 100);
    this.zoom([run.xOfStep(Math.max(0, step - room)), run.xOfStep(step + room)]);
  }

  // For a page that loads itself again.
  place() {
    return {axis: byId('runAxis').value, smoothing: this.smoothing, isLog: this.isLog, zoomed: this.zoomed,
            hidden: this.runs.filter(run => !run.isShown).map(run => run.title)};
  }

  setPlace({axis, smoothing, isLog, zoomed, hidden}) {
    this.setAxis(axis);
    this.setSmoothing(smoothing);
    this.isLog = byId('runLog').checked = isLog;
    this.runs.forEach(run => { run.isShown = !hidden.includes(run.title); });
    this.fillLegend();
    this.zoom(zoomed);
  }
}

// A page of runs alone.
class RunPage {
  constructor(data) {
    this.runs = new RunView(data);
    document.body.classList.add('noGraph', 'noTabs');
    byId('title').textContent = byId('title').title = this.runs.runs.map(run => run.title).join(' | ');
    byId('helpButton').onclick = () => byId('help').showModal();
    byId('graphTab').hidden = true;
    byId('runsTab').hidden = false;
    document.addEventListener('keydown', event => {
      if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT)$/.test(event.target.tagName))
        return;
      if (event.key === 'f' || event.key === 'Escape')
        this.runs.zoom(null);
      else if (event.key === '?')
        byId('help').showModal();
    });
    this.runs.draw();
  }
}
