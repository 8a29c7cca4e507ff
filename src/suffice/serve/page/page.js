// The page: reads what is asked, sends it, shows the answer. Everything that comes from data goes in as text, never as
// markup. All numbers shown are the server's.

const get = (id) => document.getElementById(id);
const SHAPES = 6;
const SHORT = 32; // letters that a table keeps in one line
const PAUSE = 60; // milliseconds without a change before a question is sent

const state = { model: null, features: [], answer: null, asking: null, timer: 0 };

// --- building elements ------------------------------------------------------------------------------------------------

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element[name] = value;
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const short = (number, digits = 4) => Number(number.toPrecision(digits)).toString();
const amount = (number) => (number.exact === "inf" ? "any amount" : number.float === null ? number.exact : short(number.float));

// --- talking to the server --------------------------------------------------------------------------------------------

class Problem extends Error {}
class NoToken extends Problem {}

// A token comes from the address, after "#token=", where no server and no log sees it; or it is typed in. It is kept
// until the tab is closed.
const TOKEN = "suffice-token";

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname);
}

async function ask(path, body, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = body === undefined ? { headers } : {
    method: "POST", body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" },
  };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (token !== null && !/^[\x20-\x7e]*$/.test(token)) throw new NoToken("This is not the server's token.");
    throw new Problem("The server cannot be reached; is it still running?");
  }
  if (response.ok) return response;
  if (response.status === 401) throw new NoToken(token === null ? "This server needs its token." : "This is not the server's token.");
  const problem = await response.json().catch(() => ({}));
  throw new Problem(problem.detail || `The server answered with ${response.status}.`);
}

const roles = (role) => state.features.filter((one) => one.role.value === role).map((one) => one.name);

// Everything the page says; each question is sent the fields that it takes.
function question(name, own = {}) {
  const row = Object.fromEntries(state.features.map((one) => [one.name, cell(one)]));
  const said = {
    row, radius: get("radius").value.trim(), unit: get("unit").value, claim: claim(),
    fix: roles("fix"), free: roles("free"), immutable: roles("immutable"), ...own,
  };
  const { fields } = state.model.questions.find((one) => one.name === name);
  return Object.fromEntries(Object.entries(said).filter(([field]) => fields.includes(field)));
}

function cell(feature) {
  const text = feature.input.value;
  if (text === feature.shown) return feature.cell; // as the table has it, to the last bit
  return text.trim() === "" ? null : text.trim();
}

function claim() {
  const inputs = [...get("claim-fields").children];
  return Object.fromEntries([["kind", get("claim").value], ...inputs.map((one) => [one.name, one.value.trim()])]);
}

// --- asking -----------------------------------------------------------------------------------------------------------

function busy(isBusy) {
  get("answer").setAttribute("aria-busy", String(isBusy));
}

function cancel() {
  clearTimeout(state.timer);
  state.asking?.abort();
  state.asking = null;
}

function changed() {
  busy(true);
  cancel(); // what is on its way answers an older question
  get("more").hidden = true;
  state.timer = setTimeout(explain, PAUSE);
}

async function explain() {
  const asking = (state.asking = new AbortController());
  let answer = null, problem = null;
  try {
    const response = await ask("v1/explain", question("explain", { outlines: SHAPES }), asking.signal);
    answer = await response.json();
  } catch (error) {
    problem = error;
  }
  if (state.asking !== asking) return; // a newer question was asked meanwhile
  if (answer !== null) show(answer);
  complain(problem);
  busy(false);
}

function complain(error) {
  if (error !== null && !(error instanceof Problem)) throw error;
  get("problem").hidden = error === null;
  get("problem").textContent = error === null ? "" : error.message;
}

function fail(error) {
  busy(false);
  complain(error);
}

async function withButton(button, work) {
  button.disabled = true;
  try {
    await work();
    complain(null);
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
    button.focus();
  }
}

// What some questions take beside the question itself.
const OWN = {
  sufficiency: () => ({ features: roles("fix") }),
  radius: () => ({ features: state.answer.features }),
  curve: () => ({ until: until() }),
};

// One is about a set that has another name here.
const TITLES = { sufficiency: "Is my fixed set enough?" };

function until() {
  const [above, below = 1] = get("radius").value.split("/").map(Number);
  const radius = above / below;
  return Number.isFinite(radius) ? String(Math.max(2 * radius, 1)) : "3";
}

async function showMore(name, title) {
  const answer = await (await ask(`v1/${name}`, question(name, OWN[name]?.()))).json();
  const picture = answer.steps ? [curvePicture(answer.steps)] : [];
  get("more").replaceChildren(make("h3", { textContent: title }), ...picture, ...answer.facts.map(factElement));
  get("more").hidden = false;
}

async function download(path, name, body) {
  const content = await (await ask(path, body)).blob();
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// --- showing ----------------------------------------------------------------------------------------------------------

function show(answer) {
  state.answer = answer;
  const end = answer.facts.findIndex((one) => one.label === "Proven") + 1; // so far it is read out when it changes
  get("said").replaceChildren(...answer.facts.slice(0, end).map(factElement));
  get("notes").replaceChildren(...answer.facts.slice(end).map(factElement));
  showDrops(answer);
  get("shapes").replaceChildren(...answer.outlines.map(shapePicture), ...answer.pair_outlines.map(pairPicture));
}

function factElement(fact) {
  if (fact.rows) return tableElement(fact);
  const className = fact.label === "Proven" ? "proven" : "";
  return make("p", { className }, make("strong", { textContent: `${fact.label}:` }), ` ${fact.text}`);
}

function tableElement({ heads, rows }) {
  const cell = (tag, textContent) => make(tag, { textContent, className: textContent.length <= SHORT ? "short" : "" });
  const row = (tag, cells) => make("tr", {}, ...cells.map((text) => cell(tag, text)));
  const head = heads.some(Boolean) ? [make("thead", {}, row("th", heads))] : [];
  return make("div", { className: "wide" }, make("table", {}, ...head, make("tbody", {}, ...rows.map((one) => row("td", one)))));
}

function showDrops(answer) {
  const drop = (name) => answer.drops[name].float ?? Infinity;
  const ascending = (names) => [...names].sort((a, b) => drop(a) - drop(b));
  const margin = answer.margin.float;
  const fallen = margin - answer.slack.float; // what the free ones take together, as the server says
  const rows = [];
  let start = 0;
  for (const name of ascending(answer.free)) {
    const end = answer.adds_up ? Math.min(start + drop(name), fallen) : drop(name);
    rows.push({ name, start, end, kind: "" });
    start = answer.adds_up ? end : 0;
  }
  // Where features act together each bar is that of the feature alone, and one more that of all free ones at once.
  if (!answer.adds_up) rows.push({ name: "all free ones together", start: 0, end: fallen, kind: "", said: short(fallen) });
  const first = answer.adds_up ? fallen : 0;
  for (const name of ascending(answer.features)) rows.push({ name, start: first, end: first + drop(name), kind: "fixed" });
  const ends = rows.map((row) => row.end).filter(Number.isFinite);
  const reach = (margin > 0 ? Math.min(Math.max(margin, ...ends), 5 * margin) : Math.max(1e-9, ...ends)) * 1.05;
  get("parts").hidden = answer.parts.length < 2;
  get("stacked").hidden = !answer.adds_up;
  get("together").hidden = answer.adds_up;
  get("maps").hidden = !answer.pair_outlines.length;
  get("margin").textContent = `margin ${amount(answer.margin)}`;
  rows.reverse(); // what matters most on top
  get("drops").tBodies[0].replaceChildren(...rows.map((row) => dropRow(row, answer, margin, reach)));
}

function dropRow(row, answer, margin, reach) {
  const share = (value) => `${(100 * Math.min(value, reach)) / reach}%`;
  const bar = make("div", { className: "bar" });
  bar.style.left = share(row.start);
  bar.style.width = `${(100 * (Math.min(row.end, reach) - row.start)) / reach}%`;
  const limit = make("div", { className: "limit" });
  limit.style.left = share(margin);
  const track = make("div", { className: "track", ariaHidden: "true" }, bar, limit);
  const name = make("th", { scope: "row", textContent: row.kind ? `${row.name} (fixed)` : row.name });
  return make("tr", { className: row.kind }, name, make("td", { textContent: row.said ?? amount(answer.drops[row.name]) }), make("td", {}, track));
}

// --- pictures ---------------------------------------------------------------------------------------------------------

const WIDTH = 300, HEIGHT = 170, LEFT = 54, RIGHT = 8, TOP = 8, BOTTOM = 26;

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function frame(label) {
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
}

function text(x, y, said, anchor = "middle") {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = said;
  return element;
}

function shapePicture(shape) {
  const points = [...shape.lines.flat(), ...shape.dots, shape.row, ...(shape.worst ? [shape.worst] : [])];
  const heights = points.map((point) => point[1]);
  const low = Math.min(...heights), high = Math.max(...heights);
  const x = scale(shape.window[0], shape.window[1], LEFT, WIDTH - RIGHT);
  const y = scale(low, high === low ? low + 1 : high, HEIGHT - BOTTOM - 8, TOP + 8);
  const takes = shape.drop === null ? "any amount" : short(shape.drop);
  const told = `${shape.name}: ${shape.is_fixed ? "fixed" : "free"}, can take ${takes} from the margin`;
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

// What two features do together: the darker, the more they take from the margin beyond what each takes alone.
function pairPicture(pair) {
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
    full.textContent = tick.text;
    label.append(full);
    return label;
  })];
}

function curvePicture(steps) {
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

// --- starting ---------------------------------------------------------------------------------------------------------

const ROLES = [["", "may move"], ["fix", "fix"], ["free", "free"], ["immutable", "cannot change"]];

function featureRow(feature, k) {
  const input = feature.domain.categories.length && !feature.domain.spans.length ? categoryInput(feature) : make("input", { type: "text", inputMode: "decimal", placeholder: "missing" });
  const role = make("select", {}, ...ROLES.map(([value, said]) => make("option", { value, textContent: said })));
  input.id = `value-${k}`;
  input.setAttribute("aria-label", `Value of ${feature.name}`);
  role.setAttribute("aria-label", `May ${feature.name} move?`);
  input.addEventListener("input", changed);
  role.addEventListener("change", changed);
  const one = { name: feature.name, input, role, cell: null, shown: null };
  one.element = make("tr", {}, make("th", { scope: "row", textContent: feature.name }), make("td", {}, input), make("td", {}, role));
  return one;
}

function categoryInput(feature) {
  const values = [...feature.domain.categories, ...feature.domain.codes];
  const named = (value) => (value.missing ? "" : value.label ?? value.exact);
  return make("select", {}, ...values.map((value) => make("option", { value: named(value), textContent: named(value) || "missing" })));
}

function claimOption({ kind, summary }) {
  return make("option", { value: kind, textContent: summary });
}

function claimFields() {
  const { fields } = state.model.claims.find((one) => one.kind === get("claim").value);
  get("claim-fields").replaceChildren(...fields.map(claimField));
}

function claimField(name) {
  const input = name === "other" ? classInput() : make("input", { type: "text", size: 8, value: name === "p" ? "0.6" : "1" });
  input.name = name;
  input.setAttribute("aria-label", "Value of the claim");
  input.addEventListener("input", changed);
  return input;
}

function classInput() {
  const names = state.model.classes.map(String);
  const options = names.map((name) => make("option", { value: name, textContent: name }));
  const rival = names.find((name) => name !== String(state.answer?.prediction));
  return make("select", { className: "class" }, ...options.map((one) => Object.assign(one, { selected: one.value === rival })));
}

function questionButton({ name, title }) {
  const said = TITLES[name] ?? title;
  const button = make("button", { type: "button", id: `ask-${name}`, textContent: said });
  button.addEventListener("click", () => withButton(button, () => showMore(name, said)));
  return button;
}

async function pickRow(k) {
  const last = state.model.rows - 1;
  const wanted = Math.min(Math.max(Number.isInteger(k) ? k : 0, 0), last);
  get("row").value = wanted;
  busy(true);
  cancel();
  const { cells } = await (await ask(`v1/rows/${wanted}`)).json();
  if (get("row").valueAsNumber !== wanted) return; // another row was picked meanwhile
  for (const feature of state.features) fill(feature, cells[feature.name]);
  changed();
}

function fill(feature, value) {
  feature.cell = value;
  feature.input.value = value === null ? "" : String(value);
  feature.shown = feature.input.value; // a list of choices may not have it
}

function typical(feature) {
  // Without a table, something to begin with: the middle of the model's scaling, or the first category.
  const { spans, categories, codes } = feature.domain;
  if (!spans.length) {
    const first = categories[0] ?? codes[0];
    return first.missing ? null : first.label ?? first.exact;
  }
  let value = feature.center.float ?? 0;
  const { low, high, is_integers } = spans[0];
  if (is_integers) value = Math.round(value);
  if (low && value < low.float) value = low.float;
  if (high && value > high.float) value = high.float;
  return value;
}

function listen() {
  get("slider").addEventListener("input", () => { get("radius").value = get("slider").value; changed(); });
  get("radius").addEventListener("input", () => { get("slider").value = get("radius").value; changed(); });
  get("unit").addEventListener("change", changed);
  get("claim").addEventListener("change", () => { claimFields(); changed(); });
  get("row").addEventListener("change", () => pickRow(get("row").valueAsNumber).catch(fail));
  get("previous").addEventListener("click", () => pickRow(get("row").valueAsNumber - 1).catch(fail));
  get("next").addEventListener("click", () => pickRow(get("row").valueAsNumber + 1).catch(fail));
  get("ask").addEventListener("submit", (event) => event.preventDefault());
  const files = { certificate: "certificate.json", report: "report.html" };
  for (const [id, name] of Object.entries(files)) get(id).addEventListener("click", () => withButton(get(id), () => download(`v1/${id}`, name, question("explain"))));
  get("file").addEventListener("click", (event) => {
    if (sessionStorage.getItem(TOKEN) === null) return; // a plain link will do
    event.preventDefault();
    download("v1/model.safetensors", "model.safetensors").catch(complain);
  });
}

async function start() {
  const model = (state.model = await (await ask("v1/model")).json());
  get("model").textContent = `A ${model.task} model of ${model.features.length} features; SHA-256 ${model.sha256}`;
  state.features = model.features.map(featureRow);
  get("features").replaceChildren(...state.features.map((one) => one.element));
  get("claim").replaceChildren(...model.claims.map(claimOption));
  get("questions").replaceChildren(...model.questions.filter((one) => one.name !== "explain").map(questionButton));
  if (model.features.some((one) => one.domain.spans.length && !one.deviation)) get("unit").value = "model";
  claimFields();
  listen();
  if (model.rows) {
    get("pick").hidden = false;
    get("row").max = model.rows - 1;
    await pickRow(0);
  } else {
    state.features.forEach((one, k) => fill(one, typical(model.features[k])));
    changed();
  }
}

// The question for the token stands where the page begins, until the server takes it.
async function enter() {
  try {
    await start();
    get("enter").hidden = true;
  } catch (error) {
    fail(error);
    if (!(error instanceof NoToken)) return;
    get("enter").hidden = false;
    get("token").focus();
  }
}

get("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, get("token").value.trim());
  get("token").value = "";
  complain(null);
  enter();
});
window.addEventListener("hashchange", () => { takeToken(); if (state.model === null) enter(); });
takeToken();
enter();
