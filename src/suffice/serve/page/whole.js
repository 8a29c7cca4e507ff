// Questions about the whole table: who depends on a feature, how stable decisions are, and the shapes of the model.

import { get, make, short } from "./elements.js";
import { wholePicture } from "./pictures.js";
import { ask } from "./server.js";

const RADII = ["0.1", "0.25", "0.5", "1", "2"];
const FIRST = 6; // shapes shown before all are asked for

const whole = { by: "", outcome: "", isOpen: false, asked: "", asking: null, found: null, stable: null, shapes: null };

export const sayWhole = (said) => {
  if (whole.by) said.set("without", whole.by);
  if (whole.outcome) said.set("shapes", whole.outcome);
};

export const restoreWhole = (said, model) => {
  const names = model.features.map((one) => one.name);
  if (names.includes(said.get("without"))) whole.by = said.get("without");
  if (model.classes.map(String).includes(said.get("shapes"))) whole.outcome = said.get("shapes");
};

// Show the cards. `question` gives the fields of a question, `pick` lists some rows, `save` writes the address.
export async function showWhole(context) {
  const asked = JSON.stringify(context.question("stability"));
  if (asked !== whole.asked) Object.assign(whole, { asked, found: null, stable: null }); // an older question's are stale
  render(context);
  if (whole.by && whole.found === null) await depend(context);
  if (whole.shapes === null) await load(context);
}

async function fetched(context, name, own) {
  const asked = whole.asked;
  const found = await (await ask(`v1/${name}`, { ...context.question(name), ...own })).json();
  return asked === whole.asked ? found : null;
}

async function depend(context) {
  const by = whole.by;
  const found = await fetched(context, "unaffected", { by: [by], radius: "inf" });
  if (found === null || whole.by !== by) return;
  whole.found = found;
  render(context);
}

async function load(context) {
  const outcome = whole.outcome;
  const asked = outcome ? { outcome: context.model.classes.find((one) => String(one) === outcome) } : {};
  const found = await (await ask("v1/shapes", asked)).json();
  if (whole.outcome !== outcome) return;
  whole.shapes = found;
  render(context);
}

function render(context) {
  const held = document.activeElement?.id;
  get("all-more").replaceChildren(
    make("div", { className: "grid" }, dependCard(context), stableCard(context)), shapesCard(context));
  if (held && get("all-more").querySelector(`#${CSS.escape(held)}`)) get(held).focus();
}

const hint = (textContent) => make("p", { className: "hint", textContent });
const card = (title, ...inside) => make("div", { className: "card facts" }, make("h2", { textContent: title }), ...inside);
const option = (value, textContent, chosen) => make("option", { value, textContent, selected: value === chosen });
const labelled = (said, id, input) => make("div", { className: "line" }, make("label", { textContent: said, htmlFor: id }), input);

function shares(rows) {
  return make("div", { className: "bars" }, ...rows.flatMap(([name, { count, rows: all }]) => {
    const length = make("div", { className: "length", ariaHidden: "true" });
    length.style.width = `${all ? (100 * count) / all : 0}%`;
    const tenths = all ? Math.floor((1000 * count) / all) : 0; // rounded down, for a share is proven
    return [make("span", { textContent: name }), make("div", {}, length),
      make("span", { className: "many", textContent: all ? `${count} of ${all} (${(tenths / 10).toFixed(1)} %)` : "no rows" })];
  }));
}

function dependCard(context) {
  const names = context.model.features.map((one) => one.name);
  const input = make("select", { id: "without" }, option("", "choose a feature", whole.by), ...names.map((name) => option(name, name, whole.by)));
  input.addEventListener("change", () => {
    Object.assign(whole, { by: input.value, found: null });
    context.pick(null);
    context.save();
    showWhole(context).catch(context.fail);
  });
  const place = card("Who is decided without a feature?",
    hint("Decisions that stay the same whatever values the feature takes, all else as it is in the row. Features that stand in for it are not covered."),
    labelled("Feature", "without", input));
  if (whole.found === null) return place;
  const { share, by_class: classes, affected } = whole.found;
  const rows = [["all rows", share], ...classes.map((one) => [String(one.class), one])];
  const button = make("button", { type: "button", id: "affected", textContent: affected.length === 1 ? "List the row that depends on it" : `List the ${affected.length} rows that depend on it` });
  button.addEventListener("click", () => context.pick(affected, whole.by));
  place.append(shares(rows), ...(affected.length ? [make("div", { className: "buttons" }, button)] : []));
  return place;
}

function stableCard(context) {
  const unit = { std: "standard deviations", raw: "the features' own units", model: "the model's scaled units" }[context.question("stability").unit];
  const place = card("How stable are the decisions?", hint("The share of rows that nothing within a radius changes, all features moving at once."));
  if (whole.stable !== null) {
    place.append(shares(whole.stable.radii.map((one, k) => [`radius ${RADII[k]}`, one.stable])), hint(`Radii in ${unit}.`));
    return place;
  }
  const button = make("button", { type: "button", id: "stable", textContent: "Find out" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      whole.stable = await fetched(context, "stability", { radii: RADII });
      render(context);
    } catch (error) {
      button.disabled = false;
      context.fail(error);
    }
  });
  place.append(make("div", { className: "buttons" }, button));
  return place;
}

function shapesCard(context) {
  const { classes, task } = context.model;
  const what = classes.length ? "score" : "prediction";
  const place = card("What each feature adds", hint(
    `What a feature adds to the ${what}, beyond the average of the rows; below, how many rows are where. Those that move it most come first.`));
  if (task === "multiclass") {
    const input = make("select", { id: "of-class" }, ...classes.map((one) => option(String(one), String(one), whole.outcome || String(classes[0]))));
    input.addEventListener("change", () => {
      Object.assign(whole, { outcome: input.value, shapes: null });
      context.save();
      showWhole(context).catch(context.fail);
    });
    place.append(labelled("Score for", "of-class", input));
  } else if (whole.shapes?.outcome !== null && whole.shapes !== null) {
    place.append(hint(`Up: towards ${whole.shapes.outcome}.`));
  }
  if (whole.shapes === null) return place;
  const every = whole.shapes.shapes, shown = whole.isOpen ? every : every.slice(0, FIRST);
  place.append(make("div", { className: "shapes" }, ...shown.map(wholePicture)));
  if (every.length > FIRST) {
    const more = make("button", { type: "button", id: "every-shape", textContent: whole.isOpen ? "Show fewer" : `Show all ${every.length}` });
    more.addEventListener("click", () => { whole.isOpen = !whole.isOpen; render(context); });
    place.append(make("div", { className: "buttons" }, more));
  }
  return place;
}
