// Elements of the page. Everything that comes from data goes in as text, never as markup.

export const get = (id) => document.getElementById(id);

// Names may hold marks that hide or reorder what is beside them; these are shown as what they are, as in the terminal.
const ENDS = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visible(text) {
  return String(text).replace(/(?! )[\p{C}\p{Z}]/gu, (mark) => {
    const code = mark.codePointAt(0);
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return ENDS[mark] ?? `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
}

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element[name] = name === "textContent" ? visible(value) : value;
  element.append(...children);
  return element;
}

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const short = (number, digits = 4) => Number(number.toPrecision(digits)).toString();
export const amount = (number, digits = 4) => {
  if (number.exact === "inf") return "any amount";
  if (number.float === null) return number.exact;
  return number.float === 0 && number.exact !== "0" ? "next to 0" : short(number.float, digits);
};
