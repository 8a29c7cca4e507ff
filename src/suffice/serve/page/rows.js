// All rows of the table: how many features their explanations need, which features, and the rows themselves.

import { get, make, short } from "./elements.js";
import { ask } from "./server.js";

const MOST = 200; // rows listed at once
const SORTS = [
  ["row", "row", (one) => one.row], ["size", "most features first", (one) => -one.size],
  ["margin", "smallest margin first", (one) => one.margin], ["probability", "least probable first", (one) => one.probability ?? 2],
];

const view = { found: null, size: null, feature: null, prediction: "", text: "", sort: "row", only: null, asking: null, asked: "" };
const KEYS = ["size", "feature", "prediction", "text", "sort"];

// What is chosen here stands in the address too.
export function sayRows(said) {
  for (const key of KEYS) if (view[key] !== null && view[key] !== "" && !(key === "sort" && view.sort === "row")) said.set(`rows.${key}`, view[key]);
}

export function restoreRows(said) {
  for (const key of KEYS) if (said.has(`rows.${key}`)) view[key] = key === "size" ? Number(said.get("rows.size")) : said.get(`rows.${key}`);
  if (!SORTS.some(([name]) => name === view.sort)) view.sort = "row";
}

// List some rows only, and say why; all of them again if there are none.
export function pickRows(rows, why, open) {
  view.only = rows === null ? null : { rows: new Set(rows), why };
  if (view.found === null) return;
  render(get("all-rows"), open);
  if (rows !== null) get("listed").scrollIntoView();
}

// Ask about all rows, unless that was asked just now, and show what was found; `open` opens a row, `save` notes what is chosen.
export async function showAll(question, open) {
  const asked = JSON.stringify(question);
  const place = get("all-rows");
  if (view.asked !== asked) {
    view.asking?.abort();
    const asking = (view.asking = new AbortController());
    place.setAttribute("aria-busy", "true");
    const found = await (await ask("v1/rows", question, asking.signal)).json();
    if (view.asking !== asking) return;
    const isFirst = view.found === null; // what the address has chosen is kept
    Object.assign(view, { found, asked, only: null }, isFirst ? {} : { size: null, feature: null });
  }
  place.setAttribute("aria-busy", "false");
  render(place, open);
}

function rows() {
  const { found } = view;
  return found.sizes.map((size, k) => ({
    row: k, size, margin: found.margins[k], probability: found.probabilities?.[k], prediction: found.predictions[k],
    features: found.features[k].map((i) => found.names[i]), message: found.failed[k],
  }));
}

function chosen(one) {
  const isFound = !view.text || [one.row, one.prediction, ...one.features].join(" ").toLowerCase().includes(view.text.toLowerCase());
  return isFound && (view.only === null || view.only.rows.has(one.row)) && (view.size === null || one.size === view.size) && (view.feature === null || one.features.includes(view.feature))
    && (!view.prediction || String(one.prediction) === view.prediction);
}

function counts(keys) {
  const found = new Map();
  for (const key of keys) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

function render(place, open) {
  const every = rows(), read = every.filter((one) => one.message === undefined);
  const again = () => { open.save(); render(place, open); };
  const sizes = counts(read.map((one) => one.size)), needed = counts(read.flatMap((one) => one.features));
  const most = Math.max(...sizes.keys(), 0);
  const bySize = [...Array(most + 1).keys()].map((size) => [size, sizes.get(size) ?? 0]);
  const byFeature = [...needed].sort((a, b) => b[1] - a[1]);
  const never = view.found.names.length - byFeature.length;
  const pick = (key, value) => () => { view[key] = view[key] === value ? null : value; again(); };
  const share = (count) => `${((100 * count) / (read.length || 1)).toFixed(count && count < read.length ? 1 : 0)} %`;
  const facts = view.found.facts.map((one) => make("p", {}, make("strong", { textContent: `${one.label}:` }), ` ${one.text}`));
  place.replaceChildren(
    make("div", { className: "card facts" }, make("h2", { textContent: "All rows" }), ...facts),
    make("div", { className: "grid" },
      make("div", { className: "card" }, make("h2", { textContent: "How many features a decision needs" }),
        hint("Choose a bar to see its rows."), bars(bySize, view.size, (key) => (key === 1 ? "1 feature" : `${key} features`), share, (key) => pick("size", key))),
      make("div", { className: "card" }, make("h2", { textContent: "How often each feature is needed" }),
        hint(never ? `${never} of ${view.found.names.length} features are needed in no row.` : "Every feature is needed in some row."),
        scrolled(bars(byFeature, view.feature, String, share, (key) => pick("feature", key)), "How often each feature is needed"))),
    list(every, again, open));
}

const hint = (textContent) => make("p", { className: "hint", textContent });

function scrolled(inside, label) {
  const place = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: label }, inside);
  return place;
}

function bars(counted, picked, named, share, picking) {
  const most = Math.max(...counted.map(([, count]) => count), 1);
  return make("div", { className: "bars" }, ...counted.flatMap(([key, count]) => {
    const name = make("button", { type: "button", className: "pick", textContent: named(key), ariaPressed: String(picked === key) });
    name.addEventListener("click", picking(key));
    const length = make("div", { className: "length", ariaHidden: "true" });
    length.style.width = `${(100 * count) / most}%`;
    return [name, make("div", {}, length), make("span", { className: "many", textContent: `${count} (${share(count)})` })];
  }));
}

function list(every, again, open) {
  const sort = SORTS.find(([name]) => name === view.sort)[2];
  const found = every.filter(chosen).sort((a, b) => sort(a) - sort(b) || a.row - b.row);
  const search = make("input", { type: "search", value: view.text, placeholder: "row, class or feature", ariaLabel: "Search rows", id: "search-rows" });
  search.addEventListener("input", () => { view.text = search.value; again(); get("search-rows").focus(); });
  const order = make("select", { ariaLabel: "Sort rows", id: "sort-rows" }, ...SORTS.map(([value, said]) => make("option", { value, textContent: said, selected: value === view.sort })));
  order.addEventListener("change", () => { view.sort = order.value; again(); get("sort-rows").focus(); });
  const classes = [...new Set(every.map((one) => String(one.prediction)))];
  const which = make("select", { ariaLabel: "Which prediction", id: "which-rows" }, make("option", { value: "", textContent: "every prediction" }), ...(classes.length <= 20 ? classes : []).map((value) => make("option", { value, textContent: value, selected: value === view.prediction })));
  which.addEventListener("change", () => { view.prediction = which.value; again(); get("which-rows").focus(); });
  const more = found.length > MOST ? ` The first ${MOST} are listed.` : "";
  const heads = ["Row", "Prediction", ...(view.found.probabilities ? ["Probability"] : []), "Features", "Margin", "Needed"];
  const table = make("table", { id: "found" }, make("thead", {}, make("tr", {}, ...heads.map((textContent) => make("th", { scope: "col", textContent })))),
    make("tbody", {}, ...found.slice(0, MOST).map((one) => line(one, open))));
  const only = [];
  if (view.only !== null) {
    const all = make("button", { type: "button", textContent: "List all rows again" });
    all.addEventListener("click", () => { view.only = null; again(); });
    only.push(make("div", { className: "line" }, make("span", { textContent: `Only rows that depend on ${view.only.why}.` }), all));
  }
  return make("div", { className: "card", id: "listed" }, make("h2", { textContent: "Which rows?" }), make("div", { className: "line" }, search, order, which), ...only,
    make("p", { className: "hint", role: "status", textContent: `${found.length} of ${every.length} rows.${more}` }), scrolled(table, "Rows"));
}

function line(one, open) {
  const button = make("button", { type: "button", textContent: String(one.row), ariaLabel: `Open row ${one.row}` });
  button.addEventListener("click", () => open(one.row));
  const cells = one.message === undefined
    ? [predicted(one), ...(view.found.probabilities ? [one.probability === null ? "" : one.probability.toFixed(3)] : []), String(one.size), short(one.margin), one.features.join(", ")]
    : ["", ...(view.found.probabilities ? [""] : []), "", "", one.message];
  return make("tr", {}, make("th", { scope: "row" }, button), ...cells.map((textContent, k) => make("td", { textContent, className: k < cells.length - 1 ? "number" : "" })));
}

const predicted = (one) => (typeof one.prediction !== "number" || Number.isInteger(one.prediction) ? String(one.prediction) : short(one.prediction, 6));
