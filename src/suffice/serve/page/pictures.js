// Pictures of shapes, of pairs of features and of curves. Numbers are the server's; nothing is sampled.

import { draw, make, short, visible } from "./elements.js";

const WIDTH = 300, HEIGHT = 170, LEFT = 54, RIGHT = 8, TOP = 8, BOTTOM = 26;

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function frame(label) {
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": visible(label) });
}

function text(x, y, said, anchor = "middle") {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = visible(said);
  return element;
}

export function shapePicture(shape) {
  const points = [...shape.lines.flat(), ...shape.dots, shape.row, ...(shape.worst ? [shape.worst] : [])];
  const heights = points.map((point) => point[1]);
  const low = Math.min(...heights), high = Math.max(...heights);
  const x = scale(shape.window[0], shape.window[1], LEFT, WIDTH - RIGHT);
  const y = scale(low, high === low ? low + 1 : high, HEIGHT - BOTTOM - 8, TOP + 8);
  const told = `${shape.name}: ${shape.is_fixed ? "fixed" : "free"}, can take ${shape.takes} from the margin`;
  const svg = frame(told);
  const band = (from, to) => draw("rect", { class: "region", x: x(from), y: TOP, width: Math.max(x(to) - x(from), 1), height: HEIGHT - TOP - BOTTOM });
  svg.append(...shape.region.map(([from, to]) => band(from, to)));
  const half = (shape.window[1] - shape.window[0]) / 40;
  svg.append(...shape.ticks.filter((tick) => tick.is_in_region).map((tick) => band(tick.x - half, tick.x + half)));
  svg.append(draw("line", { class: "zero", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) }));
  for (const line of shape.lines) svg.append(draw("polyline", { class: "shape", points: line.map((p) => `${x(p[0])},${y(p[1])}`).join(" ") }));
  for (const dot of shape.dots) svg.append(draw("circle", { class: "dot", cx: x(dot[0]), cy: y(dot[1]), r: 2.2 }));
  svg.append(...heightTicks(low, high, y), ...placeTicks(shape, x));
  svg.append(draw("circle", { class: "here", cx: x(shape.row[0]), cy: y(shape.row[1]), r: 4.5 }));
  if (shape.worst && (shape.worst[0] !== shape.row[0] || shape.worst[1] !== shape.row[1])) {
    const [a, b] = [x(shape.worst[0]), y(shape.worst[1])];
    const kind = shape.is_attained ? "worst" : "worst open";
    svg.append(draw("polygon", { class: kind, points: `${a - 5},${b - 4} ${a + 5},${b - 4} ${a},${b + 5}` }));
  }
  return make("figure", { className: shape.is_fixed ? "fixed" : "" }, svg, make("figcaption", { textContent: told }));
}

// What a feature adds wherever it is, above how many rows of the table are there.
export function wholePicture(shape) {
  const points = [...shape.lines.flat(), ...shape.dots];
  const heights = [...points.map((point) => point[1]), 0];
  const low = Math.min(...heights), high = Math.max(...heights);
  const x = scale(shape.window[0], shape.window[1], LEFT, WIDTH - RIGHT);
  const y = scale(low, high === low ? low + 1 : high, HEIGHT - BOTTOM - 30, TOP + 8);
  const most = Math.max(...shape.heaps.map(([, , rows]) => rows), 1);
  const told = `${shape.name}: moves the score by ${short(shape.weight, 3)} on average`;
  const svg = frame(told);
  for (const [from, to, rows] of shape.heaps) {
    const tall = Math.max((24 * rows) / most, 1), left = Math.max(x(from), LEFT), right = Math.min(x(to), WIDTH - RIGHT);
    const heap = draw("rect", { class: "heap", x: left, y: HEIGHT - BOTTOM - tall, width: Math.max(right - left, 1), height: tall });
    const full = draw("title");
    full.textContent = rows === 1 ? "1 row" : `${rows} rows`;
    heap.append(full);
    svg.append(heap);
  }
  svg.append(draw("line", { class: "zero", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) }));
  for (const line of shape.lines) svg.append(draw("polyline", { class: "shape", points: line.map((p) => `${x(p[0])},${y(p[1])}`).join(" ") }));
  for (const dot of shape.dots) svg.append(draw("circle", { class: "dot", cx: x(dot[0]), cy: y(dot[1]), r: 2.2 }));
  const ticks = shape.ticks.map(([at, said]) => ({ x: at, text: said }));
  svg.append(...heightTicks(low, high, y), ...placeTicks({ ...shape, ticks, region: [] }, x));
  return make("figure", {}, svg, make("figcaption", { textContent: told }));
}

// What two features do together: the darker, the more they take from the margin beyond what each takes alone.
export function pairPicture(pair) {
  const [first, second] = pair.sides;
  const heights = pair.heights.flat();
  const low = Math.min(...heights), high = Math.max(...heights);
  const x = scale(first.window[0], first.window[1], LEFT, WIDTH - RIGHT);
  const y = scale(second.window[0], second.window[1], HEIGHT - BOTTOM, TOP);
  const role = (side) => `${side.name} (${side.is_fixed ? "fixed" : "free"})`;
  const worst = pair.worst === null ? "" : `, ${short(pair.worst)} in the worst case of all`;
  const told = `${role(first)} and ${role(second)}: change the margin by ${short(low)} to ${short(high)}${worst}`;
  const svg = frame(told);
  const box = (kind, [left, right], [bottom, top], more) =>
    draw("rect", { class: kind, x: x(left), y: y(top), width: Math.max(x(right) - x(left), 0.5), height: Math.max(y(bottom) - y(top), 0.5), ...more });
  const share = scale(low, high === low ? low + 1 : high, 1, 0.05);
  first.edges.forEach((across, i) => second.edges.forEach((along, j) => svg.append(box("cell", across, along, { "fill-opacity": share(pair.heights[i][j]) }))));
  for (const across of reached(first)) for (const along of reached(second)) svg.append(box("frame", across, along));
  svg.append(...placeTicks({ ...first, lines: first.region }, x), ...sideTicks(second, y));
  if (first.worst !== null && second.worst !== null) {
    const [a, b] = [x(first.worst), y(second.worst)];
    svg.append(draw("polygon", { class: pair.is_attained ? "worst" : "worst open", points: `${a - 5},${b - 4} ${a + 5},${b - 4} ${a},${b + 5}` }));
  }
  svg.append(draw("circle", { class: "here", cx: x(first.row), cy: y(second.row), r: 4.5 }));
  return make("figure", {}, svg, make("figcaption", { textContent: told }));
}

function reached(side) {
  const inside = side.ticks.filter((tick) => tick.is_in_region).map((tick) => tick.x);
  return [...side.region, ...side.edges.filter(([from, to]) => inside.some((at) => from <= at && at <= to))];
}

function sideTicks(side, y) {
  const ends = side.region.length || !side.ticks.length ? [[side.window[0], short(side.window[0], 3)]] : [];
  if (!side.ticks.length) ends.push([side.window[1], short(side.window[1], 3)]);
  const names = side.ticks.map((tick) => [tick.x, tick.text.length > 7 ? `${tick.text.slice(0, 6)}…` : tick.text]);
  return [...ends, ...names].map(([at, said]) => text(LEFT - 4, y(at) + 4, said, "end"));
}

function heightTicks(low, high, y) {
  const shown = high === low ? [low] : [low, high];
  return shown.map((value) => text(LEFT - 4, y(value) + 4, short(value, 3), "end"));
}

function placeTicks(shape, x) {
  const bottom = HEIGHT - BOTTOM + 14;
  if (!shape.ticks.length) return [text(x(shape.window[0]), bottom, short(shape.window[0]), "start"), text(x(shape.window[1]), bottom, short(shape.window[1]), "end")];
  const first = shape.lines.length || shape.region.length ? [text(LEFT, bottom, short(shape.window[0]), "start")] : [];
  const room = Math.max(first.length ? 7 : 3, Math.floor((WIDTH - LEFT) / shape.ticks.length / 6.5));
  return [...first, ...shape.ticks.map((tick, k) => {
    const fits = first.length ? Math.min(room, 8) : room;
    const said = tick.text.length > fits ? `${tick.text.slice(0, fits - 1)}…` : tick.text;
    const label = text(x(tick.x), bottom + (first.length && k % 2 ? 10 : 0), said);
    const full = draw("title");
    full.textContent = visible(tick.text);
    label.append(full);
    return label;
  })];
}

export function curvePicture(steps) {
  const size = (step) => (typeof step.cost === "number" ? step.cost : step.cost.float);
  const finite = steps.map((step) => step.radius.float).filter((end) => end !== null);
  const last = finite.length ? finite[finite.length - 1] * (finite.length < steps.length ? 1.15 : 1) || 1 : 1;
  const most = Math.max(...steps.map(size), 1);
  const x = scale(0, last, LEFT, WIDTH - RIGHT - 6), y = scale(0, most, HEIGHT - BOTTOM - 6, TOP + 6);
  const svg = frame("Size of the smallest set against the radius");
  let begin = 0;
  for (const step of steps) {
    const end = step.radius.float ?? last;
    svg.append(draw("line", { class: "step", x1: x(begin), x2: x(end), y1: y(size(step)), y2: y(size(step)) }));
    if (step.radius.float !== null) svg.append(draw("circle", { class: step.is_attained ? "end" : "end open", cx: x(end), cy: y(size(step)), r: 3 }));
    begin = end;
  }
  svg.append(text(LEFT - 6, y(0) + 4, "0", "end"), text(LEFT - 6, y(most) + 4, String(most), "end"));
  svg.append(text(LEFT, HEIGHT - 10, "0"), text(WIDTH - RIGHT, HEIGHT - 10, short(last), "end"), text(WIDTH / 2, HEIGHT - 10, "radius"));
  return make("figure", {}, svg);
}
