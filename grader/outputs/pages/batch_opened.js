// The candidate who is opened. The only HTML that is set is that of the reports, which our own
// template has escaped.
const title = document.title;
let opened = null;
let openings = 0; // what was asked for before the last of them is dropped
let scrolled = 0; // where the overview was
let pushed = false; // whether Back leads to the overview

// What is packed is deflated with a dictionary, after words became codes: see Shelf. Null where nothing was graded.
async function unfold(shelf, place) {
  const packed = find(`packed-${shelf}-${place}`);
  if (!packed) return null;
  const common = find(`common-${shelf}`);
  const bytes = [common, packed].map(one => Uint8Array.from(atob(one.textContent), c => c.charCodeAt(0)));
  const stream = new Blob(bytes).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const whole = await new Response(stream).arrayBuffer();
  const text = new TextDecoder().decode(new Uint8Array(whole, Number(common.dataset.size)));
  const words = JSON.parse(find(`words-${shelf}`).textContent);
  // The last first: a word may hold codes of those before it.
  return words.reduceRight((longer, [code, word]) => longer.replaceAll(code, () => word), text);
}

function element(tag, kind, ...content) {
  const made = document.createElement(tag);
  made.className = kind;
  made.append(...content);
  return made;
}

function entitle(one) {
  find("who").replaceChildren(element("bdi", "", nameOf(one)));
  if (reveal.checked) find("who").append(" ", element("small", "soft", aliasOf(one)));
  document.title = `${nameOf(one)} · ${title}`;
}

function head(one) {
  entitle(one);
  const facts = [["total", one.total === null ? "–" : `${one.total.toFixed(2)} %`]];
  figures.exercises.forEach((name, i) => facts.push([name, one.row.cells[i + 2].textContent]));
  find("sums").replaceChildren(...facts.map(([name, value]) =>
    element("div", "", element("dt", "", name), element("dd", "", value))));
  const at = listed.indexOf(one);
  if (at >= 0) standAt(at);
  find("place").textContent = at < 0 ? "" : `${many(at + 1)} of ${many(listed.length)} in the list`;
  find("previous").disabled = at < 1;
  find("next").disabled = at < 0 || at + 1 >= listed.length;
}

async function fill(one) {
  const mine = ++openings;
  find("parts").replaceChildren();
  for (const [shelf, exercise] of figures.exercises.entries()) {
    let part;
    try {
      const html = await unfold(shelf, one.place);
      part = element("div", "");
      if (html !== null) part.innerHTML = html;
      else part = element("p", "card", `${exercise}: ${one.scores[shelf][1]}`);
    } catch (error) {
      part = element("p", "card", `This browser cannot unfold the report of ${exercise}: ${error.message}`);
    }
    if (mine !== openings) return; // another was asked for meanwhile
    find("parts").append(part);
  }
}

function open(one) {
  if (!opened) scrolled = scrollY;
  opened = one;
  head(one);
  find("overview").hidden = true;
  find("candidate").hidden = false;
  scrollTo(0, 0);
  find("who").focus({ preventScroll: true });
  fill(one);
}

function shut() {
  if (!opened) return;
  const { link } = opened;
  openings += 1;
  opened = null;
  find("parts").replaceChildren();
  find("candidate").hidden = true;
  find("overview").hidden = false;
  document.title = title;
  scrollTo(0, scrolled);
  if (link.isConnected) link.focus();
}

// The address says who is opened, so that Back closes, and a link leads to a candidate.
function route() {
  const number = /^#candidate=(\d+)$/.exec(location.hash)?.[1];
  const one = people[number - 1];
  if (one && one !== opened) open(one);
  if (!one) shut();
  find("said").textContent = number && !one ? `there is no candidate ${number} here` : "";
}

function goTo(hash) {
  history.replaceState(null, "", hash);
  route();
}

function back() {
  if (pushed) history.back();
  else goTo("#");
}

function turn(by) {
  const one = listed[listed.indexOf(opened) + by];
  if (listed.includes(opened) && one) goTo(`#candidate=${one.number}`);
}

// A link within a report: the address stays that of the candidate.
function aim(link) {
  const target = find(link.getAttribute("href").slice(1));
  if (!target) return;
  for (let around = target.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
  find("parts").querySelector(".aimed")?.classList.remove("aimed");
  target.classList.add("aimed");
  target.tabIndex = -1;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && opened) return back();
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  if (event.key === "j" || event.key === "k") {
    const by = event.key === "j" ? 1 : -1;
    if (opened) turn(by);
    else step(document.activeElement === reached ? by : 0);
  }
  if (event.key === "/" && !opened) {
    event.preventDefault();
    find("find").focus();
  }
}

function startOpened() {
  history.scrollRestoration = "manual"; // the browser would scroll before the overview is back
  addEventListener("hashchange", () => {
    pushed = opened ? pushed : true;
    route();
  });
  document.addEventListener("keydown", onKey);
  find("back").addEventListener("click", back);
  find("previous").addEventListener("click", () => turn(-1));
  find("next").addEventListener("click", () => turn(1));
  find("parts").addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    event.preventDefault();
    aim(link);
  });
  reveal.addEventListener("change", () => opened && head(opened));
  route();
}

startList();
startOpened();
