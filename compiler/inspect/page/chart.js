// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// A chart with a curve for each training run. All charts of the page have the
// same x axis and the same zoom.
'use strict';

const CHART_LEFT = 66, CHART_RIGHT = 26, CHART_TOP = 24, CHART_BOTTOM = 30;
const MARK_COLORS = {'not finite': '#d0272e', skipped: '#c98a1b', checkpoint: '#7d8794', resume: '#7a4fc9'};

// Round numbers from `low` to `high`, about `count` of them; powers of ten if
// the scale is logarithmic over more than two of them.
function chartTicks(low, high, count, isLog) {
  const ticks = [];
  if (isLog && high / low > 100) {
    const every = Math.max(1, Math.ceil(Math.log10(high / low) / count));
    for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high) + 1e-9; power += every)
      ticks.push(10 ** power);
    return ticks;
  }
  const raw = (high - low) / count, base = 10 ** Math.floor(Math.log10(raw));
  const step = base * ([1, 2, 5, 10].find(factor => base * factor >= raw) || 10);
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; ++i)
    ticks.push(i * step);
  return ticks;
}

function chartNumber(value) {
  if (value === null || value === undefined)
    return '-';
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(3).replace(/\.?0+e/, 'e') : String(Number(value.toPrecision(5)));
}

// An exponential average, with the correction for its beginning of Kingma and Ba (Adam); a
// bucket of n steps counts as n equal steps.
function smoothed(values, share, stepsEach) {
  const keep = share ** stepsEach, result = [];
  let sum = 0, weight = 0;
  for (const value of values) {
    if (value !== null) {
      sum = keep * sum + (1 - keep) * value;
      weight = keep * weight + (1 - keep);
    }
    result.push(value === null || !weight ? null : sum / weight);
  }
  return result;
}

class Chart {
  // `spec`: {key, title, text: of a number, points: of a run's evaluations,
  // isSmoothed, canLog}.
  constructor(view, spec) {
    this.view = view;
    this.spec = spec;
    this.canvas = element('canvas', {'aria-label': spec.title, 'data-chart': spec.key, tabindex: 0});
    this.canvas.onpointerdown = event => {
      this.dragFrom = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    };
    this.canvas.onpointermove = event => this.move(event);
    this.canvas.onpointerup = event => this.release(event);
    this.canvas.onpointerleave = () => view.hover(null);
    this.canvas.ondblclick = () => view.zoom(null);
  }

  xOf(value) { return CHART_LEFT + (value - this.x0) / (this.x1 - this.x0) * (this.width - CHART_LEFT - CHART_RIGHT); }
  valueAt(x) { return this.x0 + (x - CHART_LEFT) / (this.width - CHART_LEFT - CHART_RIGHT) * (this.x1 - this.x0); }
  yOf(value) {
    const share = this.isLog ? Math.log(value / this.y0) / Math.log(this.y1 / this.y0) : (value - this.y0) / (this.y1 - this.y0);
    return this.bottom - share * (this.bottom - CHART_TOP);
  }

  move(event) {
    if (this.dragFrom !== undefined)
      this.dragTo = event.offsetX;
    this.view.hover(this.valueAt(event.offsetX), this, event.clientX, event.clientY);
  }

  release(event) {
    const [from, to] = [this.dragFrom, event.offsetX].sort((a, b) => a - b);
    this.dragFrom = this.dragTo = undefined;
    if (to - from > 4)
      this.view.zoom([this.valueAt(from), this.valueAt(to)]);
  }

  // The curve of a run: {x, mean, min, max, points}; null if it has none.
  curve(run) {
    const curve = run.curves[this.spec.key];
    const points = this.spec.points ? run.evaluations.map(each => [run.xOfStep(each[0]), this.spec.points(each)]).filter(each => each[1] !== null) : [];
    return curve || points.length ? {mean: [], ...curve, x: run.xs(), points} : null;
  }

  // The y axis has all finite values in sight, also the ends of the buckets.
  scale(curves) {
    let low = Infinity, high = -Infinity;
    this.isLog = this.spec.canLog && this.view.isLog;
    const add = value => {
      if (value !== null && value !== undefined && (!this.isLog || value > 0)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    };
    for (const {curve} of curves) {
      curve.x.forEach((x, i) => {
        if (x >= this.x0 && x <= this.x1) {
          add((curve.min || curve.mean)[i]);
          add((curve.max || curve.mean)[i]);
        }
      });
      curve.points.forEach(([x, value]) => { if (x >= this.x0 && x <= this.x1) add(value); });
    }
    if (low > high)
      [low, high] = [this.isLog ? 0.1 : 0, 1];
    [low, high] = this.withoutOutliers(curves, low, high);
    const room = low === high ? Math.abs(low) / 2 || 1 : (high - low) * 0.05;
    [this.y0, this.y1] = this.isLog ? [low / 1.1, high * 1.1] : [low - room, high + room];
  }

  // Of a spec with percentiles: from the 5th to the 95th, and half as much on both sides. The first steps
  // are slow, and would take most of the axis.
  withoutOutliers(curves, low, high) {
    this.outliers = 0;
    if (!this.spec.byPercentiles)
      return [low, high];
    const values = curves.flatMap(({curve}) => curve.mean.filter((value, i) => value !== null && curve.x[i] >= this.x0 && curve.x[i] <= this.x1));
    values.sort((a, b) => a - b);
    if (values.length < 20)
      return [low, high];
    const at = share => values[Math.round(share * (values.length - 1))], room = (at(0.95) - at(0.05)) / 2;
    [low, high] = [Math.max(low, at(0.05) - room), Math.min(high, at(0.95) + room)];
    this.outliers = values.filter(value => value < low || value > high).length;
    return [low, high];
  }

  draw() {
    if (!this.canvas.clientWidth)
      return;
    const {context, width, height} = prepareCanvas(this.canvas);
    const colors = themeColors();
    this.width = width;
    this.bottom = height - CHART_BOTTOM;
    [this.x0, this.x1] = this.view.range();
    const curves = this.view.shownRuns().map(run => ({run, curve: this.curve(run)})).filter(({curve}) => curve);
    this.scale(curves);
    context.font = '11px system-ui, sans-serif';
    this.drawAxes(context, colors);
    context.save();
    context.beginPath();
    context.rect(CHART_LEFT, CHART_TOP - 6, width - CHART_LEFT - CHART_RIGHT, this.bottom - CHART_TOP + 12);
    context.clip();
    for (const {run, curve} of curves) {
      this.drawMarks(context, run);
      this.drawCurve(context, run, curve);
      this.drawBad(context, run, curve);
    }
    this.drawPointer(context, colors);
    context.restore();
  }

  drawAxes(context, colors) {
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.fillStyle = colors.faint;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const value of chartTicks(this.y0, this.y1, 5, this.isLog)) {
      const y = this.yOf(value);
      context.beginPath();
      context.moveTo(CHART_LEFT, y);
      context.lineTo(this.width - CHART_RIGHT, y);
      context.stroke();
      context.fillText(this.spec.text(value), CHART_LEFT - 6, y);
    }
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (const value of chartTicks(this.x0, this.x1, 6, false)) {
      context.fillText(chartNumber(value), this.xOf(value), this.bottom + 5);
      context.fillRect(this.xOf(value), this.bottom, 1, 4);
    }
    context.textAlign = 'left';
    context.textBaseline = 'top';
    context.fillStyle = colors.text;
    context.font = '600 12px system-ui, sans-serif';
    context.fillText(this.spec.title + (this.isLog ? ', log scale' : '') + (this.outliers ? ` (${this.outliers} points out of sight)` : ''), 8, 4);
    context.font = '11px system-ui, sans-serif';
  }

  line(context, xs, ys) {
    context.beginPath();
    let isDown = false;
    xs.forEach((x, i) => {
      const value = ys[i];
      if (value === null || value === undefined || (this.isLog && value <= 0)) {
        isDown = false;
        return;
      }
      const px = this.xOf(x), py = this.yOf(value);
      if (isDown)
        context.lineTo(px, py);
      else
        context.moveTo(px, py), context.lineTo(px + 0.5, py);
      isDown = true;
    });
    context.stroke();
  }

  drawCurve(context, run, curve) {
    context.strokeStyle = context.fillStyle = run.color;
    const smooth = this.spec.isSmoothed ? this.view.smoothing : 0;
    if (curve.max) {
      context.globalAlpha = smooth ? 0.4 : 0.6;
      context.lineWidth = 1;
      context.beginPath();
      curve.x.forEach((x, i) => {
        if (curve.min[i] === null || (this.isLog && curve.max[i] <= 0))
          return;
        context.moveTo(this.xOf(x), this.yOf(curve.max[i]));
        context.lineTo(this.xOf(x), this.yOf(this.isLog && curve.min[i] <= 0 ? this.y0 : curve.min[i]) + 0.5);
      });
      context.stroke();
    }
    context.globalAlpha = smooth ? 0.3 : 1;
    context.lineWidth = 1.3;
    this.line(context, curve.x, curve.mean);
    context.globalAlpha = 1;
    context.lineWidth = 1.8;
    if (smooth)
      this.line(context, curve.x, smoothed(curve.mean, smooth, run.bucket));
    context.setLineDash([5, 3]);
    this.line(context, curve.points.map(point => point[0]), curve.points.map(point => point[1]));
    context.setLineDash([]);
    for (const [x, value] of curve.points)
      if (!this.isLog || value > 0) {
        context.beginPath();
        context.arc(this.xOf(x), this.yOf(value), 3, 0, 7);
        context.fill();
      }
  }

  // Values that are not finite: a red mark at the top.
  drawBad(context, run, curve) {
    context.fillStyle = MARK_COLORS['not finite'];
    for (let i = 0; i < (curve.bad || []).length; i += 2) {
      const x = this.xOf(curve.x[curve.bad[i]]);
      context.beginPath();
      context.moveTo(x - 4, CHART_TOP - 6);
      context.lineTo(x + 4, CHART_TOP - 6);
      context.lineTo(x, CHART_TOP + 3);
      context.fill();
    }
  }

  drawMarks(context, run) {
    for (const {kind, step} of run.marks) {
      const x = this.xOf(run.xOfStep(step));
      if (kind === 'not finite' || x < CHART_LEFT)
        continue;
      context.strokeStyle = context.fillStyle = MARK_COLORS[kind];
      if (kind === 'resume') {
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(x, CHART_TOP);
        context.lineTo(x, this.bottom);
        context.stroke();
        context.setLineDash([]);
      } else {
        context.fillRect(x - 1, this.bottom - (kind === 'skipped' ? 8 : 5), 2, kind === 'skipped' ? 8 : 5);
      }
    }
  }

  drawPointer(context, colors) {
    if (this.dragTo !== undefined) {
      context.fillStyle = colors.accent;
      context.globalAlpha = 0.2;
      context.fillRect(this.dragFrom, CHART_TOP, this.dragTo - this.dragFrom, this.bottom - CHART_TOP);
      context.globalAlpha = 1;
    }
    if (this.view.pointer === null)
      return;
    context.fillStyle = colors.faint;
    context.fillRect(this.xOf(this.view.pointer), CHART_TOP, 1, this.bottom - CHART_TOP);
  }

  // The values of all runs at `x`, a line for each.
  describe(x) {
    return this.view.shownRuns().map(run => {
      const curve = this.curve(run);
      if (!curve)
        return null;
      const i = nearest(curve.x, x), text = this.spec.text;
      if (i < 0)
        return null;
      let line = `${shown(run.title)}: step ${run.bucket > 1 ? `${Math.max(1, run.at[i] - run.bucket + 1)} to ` : ''}${run.at[i]}`;
      if (curve.mean.length)
        line += `  ${text(curve.mean[i])}`;
      if (curve.max && curve.mean[i] !== null)
        line += ` (${text(curve.min[i])} to ${text(curve.max[i])})`;
      if (curve.mean.length && this.spec.isSmoothed && this.view.smoothing)
        line += `, smoothed ${text(smoothed(curve.mean, this.view.smoothing, run.bucket)[i])}`;
      const bad = (curve.bad || []).findIndex((each, place) => place % 2 === 0 && each === i);
      if (bad >= 0)
        line += `, ${curve.bad[bad + 1]} not finite`;
      const point = nearest(curve.points.map(each => each[0]), x);
      if (point >= 0)
        line += `, evaluation ${text(curve.points[point][1])}`;
      return line;
    }).filter(Boolean).join('\n');
  }
}

// The place of the number in a rising list that is nearest to `x`; -1 without one.
function nearest(list, x) {
  let low = 0, high = list.length - 1;
  if (high < 0)
    return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  return Math.abs(list[low] - x) <= Math.abs(list[high] - x) ? low : high;
}
