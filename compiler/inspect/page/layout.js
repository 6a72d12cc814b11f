// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
// A layered layout: longest paths give the layers, sweeps of barycenters the
// order in them (Sugiyama, Tagawa and Toda, Methods for Visual Understanding of
// Hierarchical System Structures, 1981), and a regression that keeps the order
// the places. An expanded group is laid out on its own, and is one box outside.
'use strict';

const NODE_HEIGHT = 38;
const GROUP_PADDING = 14;
const GROUP_HEADER = 24;
const LAYER_GAP = 30;
const NODE_GAP = 18;
const LANE_WIDTH = 12;  // of a long edge
const SWEEPS = 8;
const LABEL_FONT = '600 12px system-ui, sans-serif';
const CAPTION_FONT = '11px system-ui, sans-serif';

// Sets x, y, width, height (x and y are centers) of everything visible, and
// returns {width, height, edges}. `isHidden(leaf)`; `isExpanded(group)`.
function layoutGraph(graph, isExpanded, isHidden) {
  const visible = new Map(); // leaf -> the leaf or collapsed group that shows it
  const visit = (node, shownAs) => {
    const as = shownAs || (node.isGroup && node !== graph.root && !isExpanded(node) ? node : null);
    if (!node.isGroup) {
      if (!isHidden(node))
        visible.set(node, as || node);
      return;
    }
    node.children.forEach(child => visit(child, as));
  };
  visit(graph.root, null);

  // Edges between what is visible, each at the group that holds both ends.
  const edges = new Map();
  const local = new Map(); // group -> Map "from>to" -> [from, to]
  for (const [leaf, to] of visible)
    for (const input of leaf.inputs) {
      const from = visible.get(input);
      if (!from || from === to)
        continue;
      const key = from.key + '\n' + to.key;
      if (edges.has(key)) {
        ++edges.get(key).weight;
        continue;
      }
      const edge = {from, to, weight: 1, points: null};
      edges.set(key, edge);
      const [group, a, b] = commonGroup(from, to);
      if (!local.has(group))
        local.set(group, new Map());
      const pairs = local.get(group);
      const pair = a.key + '\n' + b.key;
      if (!pairs.has(pair))
        pairs.set(pair, {from: a, to: b, edges: []});
      pairs.get(pair).edges.push(edge);
    }
  const shown = new Set(visible.values());
  layoutGroup(graph.root, local, isExpanded, shown);
  moveTo(graph.root, graph.root.width / 2, graph.root.height / 2, shown, edges);
  return {width: graph.root.width, height: graph.root.height, edges: [...edges.values()], visible: shown};
}

// The group that holds `a` and `b`, and its children that hold each of them.
function commonGroup(a, b) {
  const depth = node => {
    let n = 0;
    for (; node.parent; node = node.parent)
      ++n;
    return n;
  };
  let da = depth(a), db = depth(b);
  for (; da > db; --da)
    a = a.parent;
  for (; db > da; --db)
    b = b.parent;
  while (a.parent !== b.parent) {
    a = a.parent;
    b = b.parent;
  }
  return [a.parent, a, b];
}

function layoutGroup(group, local, isExpanded, shown) {
  const items = [];
  for (const child of group.children) {
    if (child.isGroup && isExpanded(child)) {
      layoutGroup(child, local, isExpanded, shown);
      if (child.items.length)
        items.push(child);
    } else if (shown.has(child)) {
      child.items = null;
      child.height = NODE_HEIGHT;
      child.width = Math.min(230, (child.isGroup ? 42 : 24) + Math.max(36, textWidth(child.label, true), textWidth(captionOf(child), false)));
      items.push(child);
    }
  }
  group.items = items;
  const pairs = [...(local.get(group) || new Map()).values()];
  const size = layers(items, pairs);
  const isRoot = !group.parent;
  group.width = Math.max(size.width + 2 * GROUP_PADDING, isRoot ? 0 : 44 + textWidth(group.label, false));
  group.height = size.height + 2 * GROUP_PADDING + (isRoot ? 0 : GROUP_HEADER);
  group.pairs = pairs;
}

const measured = {true: new Map(), false: new Map()};
let measuring = null;

// The width of a line in a box.
function textWidth(text, isBold) {
  const known = measured[isBold];
  if (!known.has(text)) {
    measuring ||= document.createElement('canvas').getContext('2d');
    measuring.font = isBold ? LABEL_FONT : CAPTION_FONT;
    known.set(text, measuring.measureText(text).width);
  }
  return known.get(text);
}

// The second line in the box of a node.
function captionOf(node) {
  if (node.isGroup && !node.isKernel)
    return `${node.count} ops`;
  const name = node.nodes[0] || '';
  const short = name.split('/').filter(Boolean).pop() || '';
  const text = short.length > 26 ? short.slice(0, 25) + '\u2026' : short;
  return node.nodes.length > 1 ? `${text} +${node.nodes.length - 1}` : text;
}

// Places `items` relative to the center of their bounding box.
function layers(items, pairs) {
  items.sort((a, b) => a.order - b.order);
  items.forEach((item, i) => {
    item.slot = {item, rank: 0, index: i, width: item.width + NODE_GAP, up: [], down: [], x: 0};
  });
  const slots = items.map(item => item.slot);
  const links = [];
  for (const pair of pairs) {
    const from = pair.from.slot, to = pair.to.slot;
    // An edge against the order is drawn upwards.
    links.push(from.index <= to.index ? {from, to, pair} : {from: to, to: from, pair, isReversed: true});
  }
  rankSlots(slots, links);
  wrapRows(slots);
  const lanes = addLanes(slots, links);
  const rows = [];
  for (const slot of [...slots, ...lanes])
    (rows[slot.rank] ||= []).push(slot);
  for (let r = 0; r < rows.length; ++r)
    rows[r] ||= [];
  orderRows(rows);
  placeRows(rows);
  return measure(rows, links);
}

function rankSlots(slots, links) {
  const out = new Map(slots.map(slot => [slot, []])), into = new Map(slots.map(slot => [slot, []]));
  for (const link of links) {
    out.get(link.from).push(link.to);
    into.get(link.to).push(link.from);
  }
  for (const slot of slots)
    for (const to of out.get(slot))
      to.rank = Math.max(to.rank, slot.rank + 1);
  // What only feeds a later layer stands just above it.
  for (let i = slots.length - 1; i >= 0; --i) {
    const slot = slots[i], users = out.get(slot);
    if (!into.get(slot).length && users.length)
      slot.rank = Math.max(0, Math.min(...users.map(user => user.rank)) - 1);
  }
}

// Breaks layers that would be much wider than the whole is high into several.
function wrapRows(slots) {
  const rows = [];
  for (const slot of slots)
    (rows[slot.rank] ||= []).push(slot);
  const area = slots.reduce((sum, slot) => sum + slot.width * (slot.item.height + LAYER_GAP), 0);
  const most = Math.max(900, 1.5 * Math.sqrt(area));
  let rank = -1;
  for (const row of rows.filter(Boolean)) {
    let width = 0;
    ++rank;
    for (const slot of row) {
      if (width && width + slot.width > most) {
        ++rank;
        width = 0;
      }
      width += slot.width;
      slot.rank = rank;
    }
  }
}

// Gives each source of long edges a lane: one empty slot in each layer that its
// edges cross, up to a total. Longer edges get none; they are drawn as arcs.
function addLanes(slots, links) {
  const longest = new Map();
  for (const link of links)
    if (link.to.rank - link.from.rank > 1)
      longest.set(link.from, Math.max(longest.get(link.from) || 0, link.to.rank));
  let budget = 2000 + 3 * slots.length;
  const lanes = [], laneOf = new Map();
  const bySpan = [...longest].sort((a, b) => (a[1] - a[0].rank) - (b[1] - b[0].rank));
  for (const [from, last] of bySpan) {
    budget -= last - from.rank - 1;
    if (budget < 0)
      break;
    const chain = [];
    for (let rank = from.rank + 1; rank < last; ++rank) {
      const lane = {item: null, rank, width: LANE_WIDTH, up: [chain[chain.length - 1] || from], down: [], x: 0,
                    index: from.index + (rank - from.rank) * 1e-3};
      lane.up[0].down.push(lane);
      chain.push(lane);
      lanes.push(lane);
    }
    laneOf.set(from, chain);
  }
  for (const link of links) {
    const span = link.to.rank - link.from.rank;
    const chain = laneOf.get(link.from);
    link.lane = span > 1 && chain ? chain.slice(0, span - 1) : null;
    const last = link.lane ? link.lane[span - 2] : link.from;
    last.down.push(link.to);
    link.to.up.push(last);
  }
  return lanes;
}

function orderRows(rows) {
  const number = () => {
    for (const row of rows)
      row.forEach((slot, i) => { slot.at = (i + 0.5) / row.length; });
  };
  for (const row of rows)
    row.sort((a, b) => a.index - b.index);
  number();
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (let i = 0; i < rows.length; ++i) {
      const row = rows[isDown ? i : rows.length - 1 - i];
      for (const slot of row) {
        const near = isDown ? slot.up : slot.down;
        slot.weight = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : slot.at;
      }
      row.sort((a, b) => a.weight - b.weight);
      row.forEach((slot, k) => { slot.at = (k + 0.5) / row.length; });
    }
  }
}

// Gives each slot the mean place of its neighbors as far as the order allows
// (isotonic regression by pooling adjacent violators).
function placeRows(rows) {
  for (const row of rows) {
    let x = 0;
    for (const slot of row) {
      slot.x = x + slot.width / 2;
      x += slot.width;
    }
    for (const slot of row)
      slot.x -= x / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (let i = 0; i < rows.length; ++i)
      placeRow(rows[isDown ? i : rows.length - 1 - i], sweep + 1 === SWEEPS ? 'both' : isDown ? 'up' : 'down');
  }
}

function placeRow(row, side) {
  const blocks = [];
  let offset = 0;
  for (const slot of row) {
    const near = side === 'both' ? [...slot.up, ...slot.down] : slot[side];
    const wish = near.length ? near.reduce((sum, other) => sum + other.x, 0) / near.length : slot.x;
    const weight = near.length ? (slot.item ? 1 : 2) : 0.1;
    slot.offset = offset + slot.width / 2;
    offset += slot.width;
    blocks.push({sum: (wish - slot.offset) * weight, weight, slots: [slot]});
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
      if (before.sum / before.weight <= last.sum / last.weight)
        break;
      before.sum += last.sum;
      before.weight += last.weight;
      before.slots.push(...last.slots);
      blocks.pop();
    }
  }
  for (const block of blocks)
    for (const slot of block.slots)
      slot.x = block.sum / block.weight + slot.offset;
}

function measure(rows, links) {
  let left = Infinity, right = -Infinity, y = 0;
  for (const row of rows) {
    const height = Math.max(NODE_HEIGHT / 2, ...row.map(slot => slot.item ? slot.item.height : 0));
    for (const slot of row) {
      slot.y = y + height / 2;
      slot.height = height;
      left = Math.min(left, slot.x - slot.width / 2);
      right = Math.max(right, slot.x + slot.width / 2);
    }
    y += height + LAYER_GAP;
  }
  if (!rows.length)
    return {width: 0, height: 0};
  const height = y - LAYER_GAP;
  for (const row of rows)
    for (const slot of row) {
      slot.x -= (left + right) / 2;
      slot.y -= height / 2;
      if (slot.item) {
        slot.item.x = slot.x;
        slot.item.y = slot.y;
      }
    }
  for (const link of links) {
    link.pair.lane = link.lane && (link.isReversed ? [...link.lane].reverse() : link.lane);
    for (const edge of link.pair.edges)
      edge.lane = link.pair.lane;
  }
  return {width: right - left - NODE_GAP, height};
}

// Moves a group and what is in it, placed around its center, to (x, y).
function moveTo(group, x, y, shown, edges) {
  group.x = x;
  group.y = y;
  const top = group.parent ? GROUP_HEADER / 2 : 0;
  for (const pair of group.pairs)
    if (pair.lane) {
      const points = pair.lane.map(lane => [lane.x + x, lane.y + y + top, lane.height]);
      for (const edge of pair.edges)
        edge.points = points;
    }
  for (const item of group.items) {
    item.x += x;
    item.y += y + top;
    if (item.items)
      moveTo(item, item.x, item.y, shown, edges);
  }
}
