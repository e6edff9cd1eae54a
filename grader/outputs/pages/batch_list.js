// The table of candidates: sorted, filtered, walked through. All text is set as text.
const find = id => document.getElementById(id);
const figures = JSON.parse(find("figures").textContent);
const reveal = find("reveal");
const groups = [...find("table").tBodies];
const together = Math.max(1, ...groups.map(group => group.rows.length));
const people = groups.flatMap(group => [...group.rows]).map((row, i) => {
  const [number, total, scores, mistakes, ideas] = figures[i];
  const real = row.querySelector(".real"); // within the link, where there is a page to go to
  const name = real.textContent.trim();
  return { number, name, real, row, link: real.parentElement, total, scores, mistakes, ideas };
});
const compareNames = new Intl.Collator(undefined, { numeric: true }).compare;
const folded = text => text.normalize("NFKC").toLowerCase();
const many = count => count.toLocaleString("en");

let sorting = { key: "who", up: true };
let sorted = people; // all of them
let listed = people; // those who fit the filter
let current = 0; // in `listed`: whose link is reached by Tab

const aliasOf = one => `candidate ${one.number}`;
const nameOf = one => (reveal.checked ? one.name : aliasOf(one));

// Rows that are far from sight have no style yet, so that a screen reader would read hidden names.
function showNames() {
  for (const one of people) one.real.textContent = reveal.checked ? `${one.name} ` : "";
}

function sort() {
  const { key, up } = sorting;
  const byValue = value => (a, b) => value(a) - value(b);
  const idea = /^idea(\d+)$/.exec(key)?.[1];
  let compare = byValue(one => (idea ? one.ideas[idea] : one.scores[key]?.[0]));
  if (key === "total") compare = byValue(one => one.total ?? -1); // null: not all is graded
  // While names are hidden, their order must not tell them.
  if (key === "who") compare = reveal.checked ? (a, b) => compareNames(a.name, b.name) : () => 0;
  const sign = up ? 1 : -1;
  const drawn = key === "who" ? sign : 1;
  sorted = [...people].sort((a, b) => sign * compare(a, b) || drawn * (a.number - b.number));
  for (const button of document.querySelectorAll("[data-key]")) {
    const order = button.dataset.key === key ? (up ? "ascending" : "descending") : "none";
    button.closest("th").setAttribute("aria-sort", order);
  }
}

function bound(id, none) {
  const number = find(id).valueAsNumber;
  return Number.isNaN(number) ? none : number;
}

// Whether a candidate fits what the filter says now.
function fitting() {
  const text = folded(find("find").value.trim());
  const mistake = find("mistake").value;
  const [, exercise, status] = /^(\d+):(.*)$/.exec(find("status").value) ?? [];
  const least = bound("least", -Infinity), most = bound("most", Infinity);
  return one =>
    (!text || aliasOf(one).includes(text) || (reveal.checked && folded(one.name).includes(text))) &&
    (!status || one.scores[exercise][1] === status) &&
    (!mistake || one.mistakes.includes(Number(mistake))) &&
    (one.total === null
      ? least === -Infinity && most === Infinity
      : least <= one.total && one.total <= most);
}

function list() {
  const before = listed[current];
  listed = sorted.filter(fitting());
  groups.forEach((group, i) => {
    const part = listed.slice(i * together, (i + 1) * together);
    group.replaceChildren(...part.map(one => one.row));
    group.hidden = part.length === 0;
  });
  standAt(Math.max(0, listed.indexOf(before)));
  const all = listed.length === people.length;
  find("shown").value = all ? `all ${many(people.length)}`
    : `${many(listed.length)} of ${many(people.length)}`;
  find("nobody").hidden = all || listed.length > 0;
}

let waiting = 0;
function listSoon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(list);
}

// One link of the table is reached by Tab: thousands would bar the way to what comes after.
let reached = null;
function standAt(next) {
  if (reached) reached.tabIndex = -1;
  current = next;
  reached = listed[current]?.link ?? null;
  if (reached) reached.tabIndex = 0;
}

function step(by) {
  standAt(Math.min(Math.max(current + by, 0), Math.max(listed.length - 1, 0)));
  reached?.focus();
}

function clearFilter() {
  find("filter").reset();
  list();
  find("find").focus();
}

function showMistake(number) {
  find("filter").reset();
  find("mistake").value = number;
  list();
  find("candidates").scrollIntoView();
  find("mistake").focus({ preventScroll: true });
}

// What a spreadsheet would take for a formula begins with an apostrophe, also after a semicolon:
// where commas are for decimals, lines are cut there, whatever is in quotes.
function cell(text) {
  const plain = text.replace(/\s+/g, " ").trim();
  const safe = plain.replace(/(^|;)([ "]*)(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g, "$1$2'");
  return `"${safe.replaceAll('"', '""')}"`;
}

// The table as it is listed now: names as long as they are revealed.
function save() {
  const heads = [...[...find("table").tHead.rows[0].cells].map(one => one.innerText), "decision"];
  const decision = row => row.querySelector(".decision")?.textContent ?? "";
  const lines = listed.map(one =>
    [nameOf(one), ...[...one.row.cells].slice(1).map(c => c.textContent), decision(one.row)]);
  const text = [heads, ...lines].map(line => line.map(cell).join(",") + "\r\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "candidates.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  if (event.key === "j" || event.key === "k") {
    const by = event.key === "j" ? 1 : -1;
    step(document.activeElement === reached ? by : 0);
  }
  if (event.key === "/") {
    event.preventDefault();
    find("find").focus();
  }
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

function startList() {
  document.body.classList.add("live");
  for (const { link } of people) link.tabIndex = -1;
  find("table").tHead.addEventListener("click", event => {
    const key = event.target.closest("[data-key]")?.dataset.key;
    if (key === undefined) return;
    // Scores are of more interest from the top, names and numbers from the beginning.
    sorting = { key, up: sorting.key === key ? !sorting.up : key === "who" };
    sort();
    list();
  });
  find("table").addEventListener("keydown", event => {
    const by = STEPS[event.key];
    if (by === undefined || !event.target.closest("tbody")) return;
    event.preventDefault();
    step(by === -Infinity ? -current : by === Infinity ? listed.length : by);
  });
  find("save").addEventListener("click", save);
  document.addEventListener("keydown", onKey);
  find("filter").addEventListener("submit", event => event.preventDefault());
  find("filter").addEventListener("input", listSoon);
  for (const button of document.querySelectorAll(".clear")) button.addEventListener("click", clearFilter);
  find("mistakes").addEventListener("click", event => {
    const number = event.target.closest("[data-mistake]")?.dataset.mistake;
    if (number !== undefined) showMistake(number);
  });
  reveal.addEventListener("change", () => {
    if (sorting.key === "who") sorting.up = true;
    showNames();
    sort();
    list();
  });
  showNames();
  list();
}

startList();
