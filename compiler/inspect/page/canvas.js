// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// Draws a graph on a canvas: pan, zoom, hit tests, keys.
'use strict';

// A graph with more ops begins with its modules closed.
const MOST_EXPANDED = 250;
// An edge over so many units is drawn faintly.
const LONG_EDGE = 1500;

const CATEGORY_COLORS = {
  contraction: '#3b6fd4', convolution: '#7a4fc9', kernel: '#0f8a8a', reduction: '#c0612b', shape: '#7d8794',
  input: '#9a8a3c', optimizer: '#b23a78', elementwise: '#3f9152',
};

// The colors of the page, from its style sheet.
function themeColors() {
  const style = getComputedStyle(document.documentElement);
  const colors = {};
  for (const name of ['background', 'panel', 'text', 'faint', 'line', 'accent', 'added', 'changed', 'removed'])
    colors[name] = style.getPropertyValue('--' + name).trim();
  return colors;
}

// Makes the backing store of a canvas fit its box; returns the context in CSS
// pixels and its size.
function prepareCanvas(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width, height};
}

class GraphView {
  // `host` tells what to draw and hears what the user does: fill(node),
  // mark(node), isSelected(node), select(node), hover(node, x, y), onKey(event), onLayout().
  constructor(element, host) {
    this.host = host;
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('aria-label', 'Graph');
    element.append(this.canvas);
    this.scale = 1;
    this.x = this.y = 0; // of the graph at the center of the canvas
    this.expanded = new Set(); // keys of groups
    this.known = new Set();    // keys of groups that were in a graph before
    this.showsQuiet = false;
    this.graph = null;
    this.layout = null;
    this.isDue = false;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(element);
  }

  // Shows `graph`. Groups keep their state by key; `keep`: also the window.
  setGraph(graph, keep) {
    this.graph = graph;
    if (!keep) {
      this.expanded.clear();
      this.known.clear();
    }
    this.expandNew();
    this.relayout();
    if (!keep)
      this.fit();
  }

  // The box nearest to the center of the window, and where it is from there.
  anchor() {
    let best = null, least = Infinity;
    for (const box of this.boxes || []) {
      const distance = Math.hypot(box.x - this.x, box.y - this.y);
      if (!box.items && distance < least) {
        best = {key: box.key, dx: box.x - this.x, dy: box.y - this.y};
        least = distance;
      }
    }
    return best;
  }

  // After a change of the graph: moves to `node`; without one, what was in the
  // center stays there. If nothing is in sight, shows the whole graph.
  keepSight(node, anchor) {
    const box = node && this.boxOf(node), same = anchor && this.graph.byKey.get(anchor.key);
    if (box && this.boxes.includes(box)) {
      this.x = box.x;
      this.y = box.y;
    } else if (same && this.boxes.includes(same)) {
      this.x = same.x - anchor.dx;
      this.y = same.y - anchor.dy;
    }
    if (!this.boxes.some(each => !each.items && this.isInSight(each)))
      this.fit();
    this.draw();
  }

  isInSight(box) {
    return Math.abs(box.x - this.x) * this.scale < this.canvas.clientWidth / 2 - 20 &&
      Math.abs(box.y - this.y) * this.scale < this.canvas.clientHeight / 2 - 20;
  }

  // Small graphs are shown whole, large ones by their outermost modules. What
  // the user opened or closed stays so.
  expandNew() {
    const count = this.graph.leaves.filter(leaf => !leaf.isQuiet).length;
    const visit = group => {
      for (const child of group.children) {
        if (!child.isGroup)
          continue;
        const isSmall = count <= MOST_EXPANDED || child.key === '/backward' || child.key === '/optimizer' && child.count <= MOST_EXPANDED / 5;
        if (!this.known.has(child.key) && !child.isKernel && isSmall)
          this.expanded.add(child.key);
        this.known.add(child.key);
        visit(child);
      }
    };
    visit(this.graph.root);
  }

  relayout() {
    const begin = performance.now();
    this.layout = layoutGraph(this.graph, group => this.expanded.has(group.key), leaf => leaf.isQuiet && !this.showsQuiet);
    this.layoutMs = performance.now() - begin;
    this.boxes = [];
    const collect = group => {
      for (const item of group.items) {
        this.boxes.push(item);
        if (item.items)
          collect(item);
      }
    };
    collect(this.graph.root);
    this.host.onLayout();
    this.draw();
  }

  toggle(group) {
    if (this.expanded.has(group.key))
      this.expanded.delete(group.key);
    else
      this.expanded.add(group.key);
    const [x, y] = [group.x - this.x, group.y - this.y];
    this.relayout();
    // The group stays where it was on the screen.
    this.x = group.x - x;
    this.y = group.y - y;
    this.draw();
  }

  expandAll(isExpanded, withKernels = false) {
    this.expanded.clear();
    const visit = group => {
      for (const child of group.children)
        if (child.isGroup && (withKernels || !child.isKernel)) {
          this.expanded.add(child.key);
          visit(child);
        }
    };
    if (isExpanded)
      visit(this.graph.root);
    this.relayout();
    this.fit();
  }

  fit() {
    const {clientWidth: width, clientHeight: height} = this.canvas;
    this.scale = Math.min(1.2, Math.max(0.01, Math.min((width - 40) / this.layout.width, (height - 60) / this.layout.height)));
    // A long graph is shown from its top, in a size that can be read.
    this.x = this.layout.width / 2;
    this.y = this.layout.height / 2;
    if (this.scale < 0.35) {
      this.scale = Math.min(0.8, Math.max(0.35, (width - 40) / this.layout.width));
      const top = this.boxes.filter(box => !box.items && box.y < height / this.scale);
      if (top.length && this.layout.width * this.scale > width)
        this.x = top.reduce((sum, box) => sum + box.x, 0) / top.length;
      this.y = height / 2 / this.scale - 40;
    }
    this.draw();
  }

  // The whole graph, however small.
  fitWhole() {
    const {clientWidth: width, clientHeight: height} = this.canvas;
    this.scale = Math.min(1.2, (width - 40) / this.layout.width, (height - 60) / this.layout.height);
    this.x = this.layout.width / 2;
    this.y = this.layout.height / 2;
    this.draw();
  }

  // The box that shows `node`: itself or the collapsed group around it.
  boxOf(node) {
    let box = node;
    for (let group = node.parent; group && group.parent; group = group.parent)
      if (!this.expanded.has(group.key))
        box = group;
    return box;
  }

  // Expands what hides `node` and moves it to the center.
  reveal(node) {
    let isNew = false;
    for (let group = node.parent; group && group.parent; group = group.parent)
      if (!this.expanded.has(group.key)) {
        this.expanded.add(group.key);
        isNew = true;
      }
    if (node.isQuiet && !this.showsQuiet) {
      this.showsQuiet = isNew = true;
      this.host.onShowQuiet();
    }
    if (isNew)
      this.relayout();
    this.center(node);
  }

  center(node) {
    const box = this.boxOf(node);
    if (box.x === undefined)
      return;
    this.scale = Math.max(this.scale, 0.7);
    this.x = box.x;
    this.y = box.y;
    this.draw();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const [gx, gy] = this.toGraph(px, py);
    this.scale = Math.min(4, Math.max(0.005, this.scale * factor));
    this.x = gx - (px - this.canvas.clientWidth / 2) / this.scale;
    this.y = gy - (py - this.canvas.clientHeight / 2) / this.scale;
    this.draw();
  }

  toGraph(px, py) {
    return [this.x + (px - this.canvas.clientWidth / 2) / this.scale, this.y + (py - this.canvas.clientHeight / 2) / this.scale];
  }

  // The innermost box at a point of the canvas.
  hit(px, py) {
    const [x, y] = this.toGraph(px, py);
    let found = null;
    for (const box of this.boxes || [])
      if (Math.abs(box.x - x) <= box.width / 2 && Math.abs(box.y - y) <= box.height / 2)
        found = box;
    return found;
  }

  listen() {
    let drag = null;
    this.canvas.addEventListener('pointerdown', event => {
      drag = {px: event.offsetX, py: event.offsetY, x: this.x, y: this.y, hasMoved: false};
      this.canvas.setPointerCapture(event.pointerId);
      this.host.activate();
    });
    this.canvas.addEventListener('pointermove', event => {
      if (!drag)
        return this.host.hover(this.hit(event.offsetX, event.offsetY), event.clientX, event.clientY);
      const dx = event.offsetX - drag.px, dy = event.offsetY - drag.py;
      drag.hasMoved ||= Math.hypot(dx, dy) > 4;
      this.x = drag.x - dx / this.scale;
      this.y = drag.y - dy / this.scale;
      this.draw();
    });
    this.canvas.addEventListener('pointerup', event => {
      const wasClick = drag && !drag.hasMoved;
      drag = null;
      if (wasClick)
        this.click(event.offsetX, event.offsetY);
    });
    this.canvas.addEventListener('pointerleave', () => this.host.hover(null));
    this.canvas.addEventListener('dblclick', event => {
      const box = this.hit(event.offsetX, event.offsetY);
      if (box && box.isGroup)
        this.toggle(box);
    });
    this.canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
    }, {passive: false});
    this.canvas.addEventListener('keydown', event => this.host.onKey(event));
  }

  // A click on the sign of a group expands or collapses it.
  click(px, py) {
    const box = this.hit(px, py);
    if (box && box.isGroup) {
      const [x, y] = this.toGraph(px, py);
      const isSign = x > box.x + box.width / 2 - 22 && y < box.y - box.height / 2 + 24;
      if (isSign)
        return this.toggle(box);
    }
    this.host.select(box);
  }

  draw() {
    if (this.isDue || !this.layout)
      return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  paint() {
    const {context, width, height} = prepareCanvas(this.canvas);
    const colors = themeColors();
    context.translate(width / 2, height / 2);
    context.scale(this.scale, this.scale);
    context.translate(-this.x, -this.y);
    const [left, top] = this.toGraph(0, 0), [right, bottom] = this.toGraph(width, height);
    const isInside = (x0, y0, x1, y1) => x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
    const isBoxInside = box => isInside(box.x - box.width / 2, box.y - box.height / 2, box.x + box.width / 2, box.y + box.height / 2);
    const seen = this.boxes.filter(isBoxInside);
    for (const box of seen)
      if (box.items)
        this.paintGroup(context, box, colors);
    this.paintEdges(context, colors, isInside);
    for (const box of seen)
      if (!box.items)
        this.paintNode(context, box, colors);
  }

  paintGroup(context, box, colors) {
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    context.globalAlpha = 0.6;
    context.fillStyle = colors.panel;
    context.beginPath();
    context.roundRect(x, y, box.width, box.height, 8);
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = this.host.isSelected(box) ? colors.accent : colors.line;
    context.lineWidth = this.host.isSelected(box) ? 2.5 : 1;
    context.stroke();
    if (this.scale < 0.18)
      return;
    context.fillStyle = colors.faint;
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillText(box.label, x + 10, y + 13, box.width - 34);
    this.paintSign(context, x + box.width - 14, y + 13, false, colors);
  }

  paintSign(context, x, y, isPlus, colors) {
    context.strokeStyle = colors.faint;
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
    if (isPlus) {
      context.moveTo(x, y - 4);
      context.lineTo(x, y + 4);
    }
    context.stroke();
  }

  paintEdges(context, colors, isInside) {
    const isFar = this.scale < 0.12;
    const strong = [], long = [];
    context.lineWidth = Math.max(1, 0.6 / this.scale);
    context.strokeStyle = colors.faint;
    context.globalAlpha = isFar ? 0.25 : 0.55;
    context.beginPath();
    for (const edge of this.layout.edges) {
      const {from, to} = edge;
      const x0 = Math.min(from.x, to.x), x1 = Math.max(from.x, to.x), y0 = Math.min(from.y, to.y), y1 = Math.max(from.y, to.y);
      if (!isInside(x0 - 300, y0, x1 + 300, y1))
        continue;
      if (this.host.isSelected(from) || this.host.isSelected(to))
        strong.push(edge);
      else if (y1 - y0 > LONG_EDGE)
        long.push(edge);
      else
        this.traceEdge(context, edge, isFar);
    }
    context.stroke();
    // Faint: they cross much that they have nothing to do with.
    context.globalAlpha = isFar ? 0.05 : 0.15;
    context.beginPath();
    for (const edge of long)
      this.traceEdge(context, edge, isFar);
    context.stroke();
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.lineWidth = Math.max(1.8, 1.2 / this.scale);
    context.beginPath();
    for (const edge of strong)
      this.traceEdge(context, edge, isFar);
    context.stroke();
  }

  traceEdge(context, edge, isFar) {
    const {from, to, points} = edge;
    const isUp = from.y > to.y;
    const x0 = from.x, y0 = from.y + (isUp ? -1 : 1) * from.height / 2;
    const x1 = to.x, y1 = to.y - (isUp ? -1 : 1) * to.height / 2;
    context.moveTo(x0, y0);
    if (isFar)
      return context.lineTo(x1, y1);
    let x = x0, y = y0;
    const to2 = (nx, ny) => {
      const middle = (y + ny) / 2;
      context.bezierCurveTo(x, middle, nx, middle, nx, ny);
      [x, y] = [nx, ny];
    };
    if (points && points.length) {
      for (const [px, py, height] of points) {
        const half = height / 2 * (isUp ? -1 : 1);
        if (Math.sign(py - half - y) !== (isUp ? 1 : -1))
          to2(px, py - half);
        context.lineTo(px, py + half);
        [x, y] = [px, py + half];
      }
      to2(x1, y1);
    } else if (Math.abs(y1 - y0) > 3 * (NODE_HEIGHT + LAYER_GAP)) {
      // No lane: an arc beside the nodes between.
      const side = Math.max(from.width, to.width) / 2 + Math.min(260, Math.abs(y1 - y0) / 8);
      const out = Math.max(x0, x1) + side;
      context.bezierCurveTo(out, y0 + (y1 - y0) * 0.1, out, y1 - (y1 - y0) * 0.1, x1, y1);
      [x, y] = [x1, y1];
    } else {
      to2(x1, y1);
    }
    if (this.scale > 0.3) {
      const tip = isUp ? 5 : -5;
      context.moveTo(x1 - 3.5, y1 + tip);
      context.lineTo(x1, y1);
      context.lineTo(x1 + 3.5, y1 + tip);
    }
  }

  paintNode(context, box, colors) {
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    const isSelected = this.host.isSelected(box);
    const mark = this.host.mark(box);
    const fill = this.host.fill(box);
    context.fillStyle = colors.background;
    context.beginPath();
    context.roundRect(x, y, box.width, box.height, box.isGroup ? 9 : 5);
    context.fill();
    if (fill) {
      context.globalAlpha = this.scale < 0.3 ? 0.75 : 0.28;
      context.fillStyle = fill;
      context.fill();
      context.globalAlpha = 1;
    }
    context.lineWidth = mark ? 2.5 : 1;
    context.strokeStyle = mark ? colors[mark] : box.isGroup ? colors.faint : colors.line;
    context.stroke();
    if (isSelected) {
      context.lineWidth = 2.5;
      context.strokeStyle = colors.accent;
      context.beginPath();
      context.roundRect(x - 3, y - 3, box.width + 6, box.height + 6, box.isGroup ? 11 : 7);
      context.stroke();
    }
    if (fill && this.scale >= 0.3) {
      context.fillStyle = fill;
      context.beginPath();
      context.roundRect(x, y, 5, box.height, [5, 0, 0, 5]);
      context.fill();
    }
    if (this.scale < 0.3)
      return;
    const caption = captionOf(box), room = box.width - 18 - (box.isGroup ? 16 : 0);
    context.textBaseline = 'middle';
    context.fillStyle = colors.text;
    context.font = LABEL_FONT;
    context.fillText(clipText(context, box.label, room), x + 11, box.y - (caption ? 8 : 0));
    if (caption) {
      context.fillStyle = colors.faint;
      context.font = CAPTION_FONT;
      context.fillText(clipText(context, caption, room), x + 11, box.y + 8);
    }
    if (box.isGroup)
      this.paintSign(context, x + box.width - 13, y + 13, true, colors);
  }
}

// `text`, cut with an ellipsis to fit `room`.
function clipText(context, text, room) {
  if (context.measureText(text).width <= room)
    return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '\u2026').width <= room)
      low = middle;
    else
      high = middle - 1;
  }
  return text.slice(0, low) + '\u2026';
}
