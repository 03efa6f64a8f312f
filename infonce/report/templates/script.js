"use strict";
const root = document.documentElement;
const selector = document.querySelector(".selector");
const names = ["dataset", "positives", "encoder", "loss"];
const rows = [...document.querySelectorAll("tr[data-selection]")];
const selections = rows.map((row) => JSON.parse(row.dataset.axes));
const blocks = [...document.querySelectorAll(".block")];
const contents = [Object.fromEntries(blocks.map((block) => [block.dataset.block, block.innerHTML]))];
let current = 0;

// Selections other than the first are stored compressed.
async function content(index) {
  if (!contents[index]) {
    const packed = document.querySelectorAll("script.packed")[index - 1].textContent;
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    contents[index] = JSON.parse(await new Response(stream).text());
  }
  return contents[index];
}

async function show(index) {
  const parts = await content(index);
  current = index;
  for (const block of blocks) {
    if (block.dataset.shown !== String(index)) block.innerHTML = parts[block.dataset.block];
    block.dataset.shown = String(index);
    block.querySelectorAll(".table").forEach(enliven);
  }
  for (const name of names) selector.elements[name].value = selections[index][name];
  rows.forEach((row, i) => row.setAttribute("aria-current", String(i === index)));
  const text = rows[index].querySelector("button").textContent;
  document.getElementById("said").textContent = `Shown: ${text}`;
  document.querySelectorAll(".shown").forEach((place) => { place.textContent = `Shown: ${text}.`; });
  root.dataset.shown = String(index);
}

// The selection that has the changed value and agrees in most of the others.
function nearest(wanted, changed) {
  let best = -1, most = -1;
  selections.forEach((selection, index) => {
    if (changed && selection[changed] !== wanted[changed]) return;
    const agreeing = names.filter((name) => selection[name] === wanted[name]).length;
    if (agreeing > most) { most = agreeing; best = index; }
  });
  return best;
}

// Deep links: #section, or #section?dataset=digits&loss=dcl
function parsed() {
  const [section, query] = decodeURIComponent(location.hash.slice(1)).split("?");
  return { section, wanted: Object.fromEntries(new URLSearchParams(query || "")) };
}

function remember(section) {
  const query = selections.length > 1 ? "?" + new URLSearchParams(selections[current]) : "";
  history.replaceState(null, "", `#${section || "summary"}${query}`);
}

async function follow() {
  const { section, wanted } = parsed();
  if (Object.keys(wanted).length) await show(nearest(wanted));
  const target = section && document.getElementById(section);
  if (target) target.scrollIntoView();
}

selector.addEventListener("change", async (event) => {
  const wanted = Object.fromEntries(names.map((name) => [name, selector.elements[name].value]));
  await show(nearest(wanted, event.target.name));
  remember(parsed().section);
});
selector.addEventListener("submit", (event) => event.preventDefault());
rows.forEach((row, index) => row.querySelector("button").addEventListener("click", async () => {
  await show(index);
  remember("summary");
}));
window.addEventListener("hashchange", follow);

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

function enliven(place) {
  if (place.dataset.lively) return;
  place.dataset.lively = "yes";
  const body = place.querySelector("tbody");
  place.querySelectorAll("th").forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => sort(place, body, heading, column));
  });
  const filter = place.querySelector("input");
  if (filter) filter.addEventListener("input", () => select(place, body, filter.value));
}

function sort(place, body, heading, column) {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  place.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const sign = descending ? -1 : 1;
  const keyed = [...body.rows].map((row) => {
    const cell = row.cells[column];
    return { row, text: cell.textContent, value: "value" in cell.dataset ? parseFloat(cell.dataset.value) : null };
  });
  keyed.sort((a, b) => {
    if (a.value === null) return sign * a.text.localeCompare(b.text);
    if (Number.isNaN(a.value) || Number.isNaN(b.value)) return Number.isNaN(a.value) - Number.isNaN(b.value);
    return sign * (a.value - b.value);
  });
  body.append(...keyed.map((entry) => entry.row));
}

function select(place, body, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let matches = 0;
  for (const row of body.rows) {
    const content = [...row.cells].map((cell) => cell.textContent.toLowerCase());
    row.hidden = !words.every((word) => content.some((cell) => cell.includes(word)));
    matches += !row.hidden;
  }
  place.querySelector(".matches").textContent = words.length ? `${matches} of ${body.rows.length} rows` : "";
}

if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
if (selections.length) show(0).then(follow);
