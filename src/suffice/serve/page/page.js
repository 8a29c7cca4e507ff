// The page: reads what is asked, sends it, shows the answer. All numbers shown are the server's.

import { amount, get, make, short, visible } from "./elements.js";
import { curvePicture, pairPicture, shapePicture } from "./pictures.js";
import { pickRows, restoreRows, sayRows, showAll } from "./rows.js";
import { ask, NoToken, Problem, takeToken, TOKEN } from "./server.js";
import { restoreWhole, sayWhole, showWhole } from "./whole.js";

const SHAPES = 6;
const SHORT = 32; // letters that a table keeps in one line
const PAUSE = 60; // milliseconds without a change before a question is sent
const MANY = 12; // features from which on they can be searched

const state = { model: null, features: [], answer: null, current: null, asking: null, timer: 0, row: null, pinned: null, isFresh: true, view: "one" };

// --- what is asked ----------------------------------------------------------------------------------------------------

const roles = (role) => state.features.filter((one) => one.role.value === role).map((one) => one.name);

// Everything the page says; each question is sent the fields that it takes.
function question(name, own = {}) {
  const { fields } = [...state.model.questions, ...state.model.portfolio_questions].find((one) => one.name === name);
  const said = {
    row: Object.fromEntries(state.features.map((one) => [one.name, cell(one)])),
    radius: get("radius").value.trim(), unit: get("unit").value, categories: get("categories").value, claim: claim(),
    fix: roles("fix"), free: roles("free"), immutable: roles("immutable"), ...own,
  };
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

// --- the address: everything that is asked stands in it, so that it can be sent on and read again ------------------------

function written() {
  const said = new URLSearchParams();
  if (state.view === "all") said.set("view", "all");
  if (state.row !== null) said.set("row", state.row);
  said.set("radius", get("radius").value.trim());
  said.set("unit", get("unit").value);
  if (get("categories").value !== "free") said.set("categories", get("categories").value);
  for (const [name, value] of Object.entries(claim())) said.set(name === "kind" ? "claim" : `claim.${name}`, value);
  for (const role of ["fix", "free", "immutable"]) for (const name of roles(role)) said.append(role, name);
  for (const one of state.features) if (isEdited(one)) said.set(`set.${one.name}`, one.input.value);
  sayRows(said);
  sayWhole(said);
  return said;
}

function save() {
  history.replaceState(null, "", `${location.pathname}${location.search}#${written()}`);
}

function restore(said) {
  if (said.has("radius")) get("radius").value = get("slider").value = said.get("radius");
  const has = (select, value) => [...select.options].some((one) => one.value === value);
  for (const id of ["unit", "categories"]) if (has(get(id), said.get(id))) get(id).value = said.get(id);
  if (has(get("claim"), said.get("claim"))) get("claim").value = said.get("claim");
  if (said.has("claim")) state.isFresh = false;
  claimFields();
  restoreRows(said);
  restoreWhole(said, state.model);
  for (const input of get("claim-fields").children) if (said.has(`claim.${input.name}`)) input.value = said.get(`claim.${input.name}`);
  for (const role of ["fix", "free", "immutable"]) {
    for (const name of said.getAll(role)) for (const one of state.features) if (one.name === name) one.role.value = role;
  }
}

function restoreEdits(said) {
  for (const one of state.features) if (said.has(`set.${one.name}`)) put(one, said.get(`set.${one.name}`));
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
  get("more").hidden = get("added").hidden = true;
  state.features.forEach(mark);
  get("undo").hidden = !state.features.some(isEdited);
  save();
  state.timer = setTimeout(state.view === "all" && !isUntouched() ? explainAll : explain, PAUSE);
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
  if (answer !== null && suggest(answer)) return; // a better question is asked instead
  if (answer !== null) show(answer);
  complain(problem);
  withdraw(answer === null);
  busy(false);
  if (answer !== null && state.model.rows) compareWithAverage(asking).catch(() => {}); // beside the proof; never instead of it
}

// What each feature adds, compared with the average row; shown when it is the answer to what the page still asks.
async function compareWithAverage(asking) {
  const answer = await (await ask("v1/contributions", question("contributions"), asking.signal)).json();
  if (state.asking === asking) showContributions(answer);
}

const open = Object.assign((row) => { look("one"); pickRow(row).catch(fail); }, { save });
const whole = {
  question: (name) => question(name), save, pick: (rows, why) => pickRows(rows, why, open),
  fail: (error) => { if (error.name !== "AbortError") complain(error); }, get model() { return state.model; },
};

async function explainAll() {
  get("all-rows").hidden = false;
  try {
    complain(null);
    await showAll(question("rows"), open);
  } catch (error) {
    if (error.name === "AbortError") return;
    get("all-rows").hidden = true; // an older question's answer
    busy(false);
    complain(error);
  }
  busy(false);
  await showWhole(whole).catch(whole.fail);
}

// An answer that is not that of what the page says now is not shown.
function withdraw(isStale) {
  for (const id of ["proof", "rest"]) get(id).hidden = isStale;
  get("compared").hidden = isStale || state.pinned === null;
  get("pin").disabled = isStale && state.pinned === null; // there is nothing to compare with
}

function complain(error) {
  if (error !== null && !(error instanceof Problem)) throw error;
  get("problem").hidden = error === null;
  get("problem").textContent = error === null ? "" : visible(error.message);
}

function fail(error) {
  busy(false);
  withdraw(true);
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

const isUntouched = () => state.isFresh && state.model.task === "regression" && get("claim").value === "within";

// A regression has no class to keep: begin with a claim of a size that fits what it predicts. Says whether it asks again.
function suggest(answer) {
  const isFirst = isUntouched();
  state.isFresh = false;
  if (!isFirst) return false;
  const [input] = get("claim-fields").children;
  const tenth = String(Number((Math.abs(answer.prediction.float ?? 0) / 10).toPrecision(1)));
  const isBetter = Number(tenth) > 0 && tenth !== input.value;
  if (isBetter) input.value = tenth;
  if (isBetter || state.view === "all") changed();
  return isBetter || state.view === "all";
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
  const asked = question(name, OWN[name]?.());
  const answer = await (await ask(`v1/${name}`, asked)).json();
  const picture = answer.steps ? [curvePicture(answer.steps)] : [];
  const proof = make("button", { type: "button", id: "more-certificate", textContent: "Certificate of this answer" });
  proof.addEventListener("click", () => withButton(proof, () => download("v1/certificate", "certificate.json", { of: name, ...asked })));
  get("more").replaceChildren(make("h3", { textContent: title }), ...picture, ...answer.facts.map(factElement), proof);
  get("more").hidden = false;
}

async function download(path, name, body) {
  const content = await (await ask(path, body)).blob();
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function named() {
  const isEditedRow = state.features.some(isEdited);
  if (state.row === null) return "A row that was typed in";
  return `Row ${state.row}${isEditedRow ? ", edited" : ""}`;
}

function titled() {
  const table = state.model.table ? ` of ${state.model.table}` : "";
  const day = new Date().toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
  return `${named()}${table}, ${day}`;
}

// --- showing ----------------------------------------------------------------------------------------------------------

function show(answer) {
  state.answer = answer;
  state.current = { name: named(), answer, values: Object.fromEntries(state.features.map((one) => [one.name, one.input.value])) };
  const end = answer.facts.findIndex((one) => one.label === "Proven") + 1; // so far it is read out when it changes
  showVerdict(answer);
  get("said").replaceChildren(...answer.facts.slice(0, end).map(factElement));
  get("notes").replaceChildren(...answer.facts.slice(end).map(factElement));
  showDrops(answer);
  showCompared();
  get("shapes").replaceChildren(...answer.outlines.map(shapePicture), ...answer.pair_outlines.map(pairPicture));
}

const predictionOf = (answer) => (typeof answer.prediction === "object" && answer.prediction !== null ? amount(answer.prediction, 6) : visible(answer.prediction));
const probabilityOf = ({ probability: p }) => (p === null ? "" : p >= 0.9995 ? "above 0.999" : p < 0.0005 ? "below 0.001" : p.toFixed(3));

function showVerdict(answer) {
  get("outcome").textContent = predictionOf(answer);
  const { probability, probability_range: range } = answer;
  get("chance").hidden = probability === null;
  if (probability === null) return;
  const [low, high] = range ?? [probability, probability];
  const percent = (share) => `${100 * share}%`;
  get("chance-range").style.left = percent(low);
  get("chance-range").style.width = percent(high - low);
  get("chance-now").style.left = percent(probability);
  get("chance-said").textContent = `probability ${probabilityOf(answer)}`;
}

function factElement(fact) {
  if (fact.rows) return tableElement(fact);
  const className = { Proven: "proven", "In short": "short" }[fact.label] ?? "";
  return make("p", { className }, make("strong", { textContent: `${fact.label}:` }), ` ${fact.text}`);
}

function tableElement({ heads, rows }) {
  const cell = (tag, textContent) => make(tag, { textContent, className: textContent.length <= SHORT ? "short" : "" });
  const row = (tag, cells) => make("tr", {}, ...cells.map((text) => cell(tag, text)));
  const head = heads.some(Boolean) ? [make("thead", {}, row("th", heads))] : [];
  const table = make("table", {}, ...head, make("tbody", {}, ...rows.map((one) => row("td", one))));
  return make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: heads.filter(Boolean).join(", ") || "Changes" }, table);
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

function showContributions(answer) {
  const most = Math.max(...answer.contributions.map((one) => Math.abs(one.adds.float ?? 0)), 1e-300);
  const rows = answer.contributions.map(({ features, adds }) => {
    const value = adds.float ?? 0, bar = make("div", { className: value < 0 ? "bar against" : "bar" });
    bar.style.width = `${(50 * Math.abs(value)) / most}%`;
    bar.style.left = value < 0 ? `${50 - (50 * -value) / most}%` : "50%";
    const track = make("div", { className: "track both", ariaHidden: "true" }, bar);
    const said = `${value > 0 ? "+" : ""}${amount(adds)}`;
    return make("tr", {}, make("th", { scope: "row", textContent: features.join(" & ") }), make("td", { textContent: said }), make("td", {}, track));
  });
  get("adds").tBodies[0].replaceChildren(...rows);
  const [compared, together] = ["Compared with", "Together"].map((label) => answer.facts.find((one) => one.label === label).text);
  get("compared-with").textContent = visible(`Compared with ${compared} Together they add ${together}`);
  get("added").hidden = false;
}

// --- two rows side by side --------------------------------------------------------------------------------------------

function pin() {
  if (state.pinned !== null) state.pinned = null;
  else state.pinned = state.current;
  get("pin").textContent = state.pinned === null ? "Compare" : "Stop comparing";
  showCompared();
  withdraw(get("proof").hidden);
}

function showCompared() {
  if (state.pinned === null) return;
  const [was, is] = [state.pinned, { ...state.current, name: `${state.current.name} (shown)` }];
  const said = (one, name) => `${one.values[name] === "" ? "missing" : one.values[name]}${one.answer.features.includes(name) ? " (fixed)" : ""}`;
  const names = state.features.map((one) => one.name).filter((name) => said(was, name) !== said(is, name));
  const line = (head, ...cells) => make("tr", {}, make("th", { scope: "row", textContent: head }), ...cells.map((textContent) => make("td", { textContent })));
  const rows = [
    line("Prediction", predictionOf(was.answer), predictionOf(is.answer)),
    ...(is.answer.probability === null ? [] : [line("Probability", probabilityOf(was.answer), probabilityOf(is.answer))]),
    line("Features needed", String(was.answer.size), String(is.answer.size)),
    ...names.map((name) => line(name, said(was, name), said(is, name))),
  ];
  const head = make("tr", {}, make("td"), ...[was, is].map((one) => make("th", { scope: "col", textContent: one.name })));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  const same = names.length < state.features.length ? [make("p", { className: "hint", textContent: `The other ${state.features.length - names.length} features are the same in both.` })] : [];
  get("compared").replaceChildren(make("h2", { textContent: "Side by side" }), make("div", { className: "wide" }, table), ...same);
}

// --- features ---------------------------------------------------------------------------------------------------------

const ROLES = [["", "may move"], ["fix", "fix"], ["free", "free"], ["immutable", "cannot change"]];

function featureRow(feature, k) {
  const input = feature.domain.categories.length && !feature.domain.spans.length ? categoryInput(feature) : make("input", { type: "text", inputMode: "decimal", placeholder: "missing" });
  const role = make("select", {}, ...ROLES.map(([value, said]) => make("option", { value, textContent: said })));
  const slide = slideInput(feature);
  const undo = make("button", { type: "button", textContent: "undo", ariaLabel: `Undo the edit of ${visible(feature.name)}` });
  const was = make("span");
  input.id = `value-${k}`;
  input.setAttribute("aria-label", `Value of ${visible(feature.name)}`);
  role.setAttribute("aria-label", `May ${visible(feature.name)} move?`);
  const one = { name: feature.name, input, role, slide, was, cell: null, shown: null };
  input.addEventListener("input", () => { if (slide) slide.value = input.value; changed(); });
  slide?.addEventListener("input", () => { input.value = slide.value; changed(); });
  role.addEventListener("change", changed);
  undo.addEventListener("click", () => { put(one, one.shown); changed(); input.focus(); });
  const cell = make("td", {}, input, ...(slide ? [slide] : []), make("div", { className: "was" }, was, undo));
  one.element = make("tr", {}, make("th", { scope: "row", textContent: feature.name }), cell, make("td", {}, role));
  return one;
}

// A number whose domain has two ends can be slid through it.
function slideInput(feature) {
  const { spans } = feature.domain;
  const ends = spans.flatMap(({ low, high }) => [low?.float, high?.float]);
  if (!spans.length || ends.some((end) => typeof end !== "number")) return null;
  const slide = make("input", { type: "range", min: Math.min(...ends), max: Math.max(...ends), step: spans.every((span) => span.is_integers) ? 1 : "any" });
  slide.setAttribute("aria-label", `Slide ${visible(feature.name)}`);
  return slide;
}

function categoryInput(feature) {
  const values = [...feature.domain.categories, ...feature.domain.codes];
  const named = (value) => (value.missing ? "" : value.label ?? value.exact);
  return make("select", {}, ...values.map((value) => make("option", { value: named(value), textContent: named(value) || "missing" })));
}

const isEdited = (one) => one.shown !== null && one.input.value !== one.shown;

function mark(one) {
  one.element.classList.toggle("edited", isEdited(one));
  one.was.textContent = isEdited(one) ? `was ${one.shown === "" ? "missing" : visible(one.shown)}` : "";
}

function put(one, value) {
  one.input.value = value;
  if (one.slide && value !== "") one.slide.value = value;
}

function fill(one, value) {
  one.cell = value;
  put(one, value === null ? "" : String(value));
  one.shown = one.input.value; // a list of choices may not have it
}

function undoAll() {
  for (const one of state.features) put(one, one.shown);
  changed();
}

function find() {
  const text = get("find").value.toLowerCase();
  for (const one of state.features) one.element.hidden = !one.name.toLowerCase().includes(text);
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

// --- claims -----------------------------------------------------------------------------------------------------------

function claimOption({ kind, summary }) {
  return make("option", { value: kind, textContent: summary });
}

function claimFields() {
  const { kind, fields } = state.model.claims.find((one) => one.kind === get("claim").value);
  get("claim-fields").replaceChildren(...fields.map((name) => claimField(name, kind)));
}

function claimField(name, kind) {
  const input = name === "other" ? classInput() : make("input", { type: "text", size: 8, value: name === "p" ? "0.6" : usual(kind) });
  input.name = name;
  input.setAttribute("aria-label", "Value of the claim");
  input.addEventListener("input", () => { state.isFresh = false; changed(); });
  return input;
}

// A threshold a tenth away from what is predicted, so that the claim is true here.
function usual(kind) {
  const here = state.model.task === "regression" ? state.answer?.prediction.float : null;
  const side = { at_least: -1, at_most: 1 }[kind];
  if (typeof here !== "number" || here === 0) return "1";
  const tenth = Number((Math.abs(here) / 10).toPrecision(1));
  return String(side === undefined ? tenth : Number((here + side * tenth).toPrecision(3)));
}

function classInput() {
  const names = state.model.classes.map(String);
  const options = names.map((name) => make("option", { value: name, textContent: name }));
  const rival = names.find((name) => name !== String(state.answer?.prediction));
  return make("select", { className: "class" }, ...options.map((one) => Object.assign(one, { selected: one.value === rival })));
}

// --- starting ---------------------------------------------------------------------------------------------------------

function questionButton({ name, title }) {
  const said = TITLES[name] ?? title;
  const button = make("button", { type: "button", id: `ask-${name}`, textContent: said });
  button.addEventListener("click", () => withButton(button, () => showMore(name, said)));
  return button;
}

async function pickRow(wanted) {
  const last = state.model.rows - 1, text = String(wanted).trim(), row = Number(text);
  busy(true);
  cancel();
  if (!/^\d+$/.test(text) || row > last) {
    fail(new Problem(`There is no row ${text || "without a number"}; rows count from 0 to ${last}.`));
    return;
  }
  get("row").value = text;
  const { cells } = await (await ask(`v1/rows/${row}`)).json();
  if (get("row").value !== text) return; // another row was picked meanwhile
  state.row = row;
  for (const feature of state.features) fill(feature, cells[feature.name]);
  changed();
}

function step(by) {
  const last = state.model.rows - 1;
  pickRow(Math.min(Math.max((state.row ?? 0) + by, 0), last)).catch(fail);
}

function look(view) {
  state.view = view;
  for (const one of ["one", "all"]) get(`view-${one}`).setAttribute("aria-pressed", String(one === view));
  get("all").hidden = view !== "all";
  document.querySelector("main").classList.toggle("all", view === "all");
  for (const id of ["panel", "right"]) get(id).hidden = view === "all";
}

function listen() {
  get("slider").addEventListener("input", () => { get("radius").value = get("slider").value; changed(); });
  get("radius").addEventListener("input", () => { get("slider").value = get("radius").value; changed(); });
  for (const id of ["unit", "categories"]) get(id).addEventListener("change", changed);
  get("claim").addEventListener("change", () => { state.isFresh = false; claimFields(); changed(); });
  get("row").addEventListener("change", () => pickRow(get("row").value).catch(fail));
  get("previous").addEventListener("click", () => step(-1));
  get("next").addEventListener("click", () => step(1));
  get("undo").addEventListener("click", undoAll);
  get("find").addEventListener("input", find);
  get("pin").addEventListener("click", pin);
  for (const view of ["one", "all"]) get(`view-${view}`).addEventListener("click", () => { look(view); changed(); });
  get("ask").addEventListener("submit", (event) => event.preventDefault());
  get("certificate").addEventListener("click", () => withButton(get("certificate"), () => download("v1/certificate", "certificate.json", question("explain"))));
  get("report").addEventListener("click", () => withButton(get("report"), () => download("v1/report", "report.html", { ...question("explain"), title: titled() })));
  get("file").addEventListener("click", (event) => {
    if (sessionStorage.getItem(TOKEN) === null) return; // a plain link will do
    event.preventDefault();
    download("v1/model.safetensors", "model.safetensors").catch(complain);
  });
}

async function start() {
  const model = (state.model = await (await ask("v1/model")).json());
  complain(null);
  const said = new URLSearchParams(location.hash.slice(1));
  get("model").textContent = `A ${model.task} model of ${model.features.length} features; SHA-256 ${model.sha256.slice(0, 12)}…`;
  get("model").title = `SHA-256 ${model.sha256}`;
  state.features = model.features.map(featureRow);
  get("features").replaceChildren(...state.features.map((one) => one.element));
  get("find").hidden = model.features.length <= MANY;
  get("claim").replaceChildren(...model.claims.map(claimOption));
  get("questions").replaceChildren(...model.questions.filter((one) => one.name !== "explain").map(questionButton));
  const isMeasured = (domain) => domain.spans.length > 0 || domain.is_ordered;
  if (model.features.some((one) => isMeasured(one.domain) && one.deviation === null)) get("unit").value = "model";
  get("named").hidden = !model.features.some((one) => one.domain.categories.length > 1 && !one.domain.is_ordered);
  restore(said);
  listen();
  if (model.rows) {
    get("pick").hidden = get("views").hidden = false;
    get("rows").textContent = `0 to ${model.rows - 1}`;
    if (said.get("view") === "all") look("all");
    await pickRow(said.get("row") ?? 0);
  } else {
    state.features.forEach((one, k) => fill(one, typical(model.features[k])));
  }
  restoreEdits(said);
  if (!model.rows || state.row !== null) changed(); // else the row that the address names is not there
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
