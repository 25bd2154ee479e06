// The replay page requests ticks and shows them. The server simulates.
import { stream } from "/assets/stream.js";
import { fit, paint, place } from "/assets/painter.js";
import { requests } from "./requests.js";
import { fieldRows, entityRows, playerRows, costRows, listEvents, eventLines, differenceRows } from "./tables.js";
import { plotter } from "./plot.js";
import { timeline } from "./marks.js";

const by = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);

let matches = [];           // as the server opened them
let at = [];                // the last tick that was shown, by match
let tick = 0, first = 0, last = 0, rate = 60;
let chosen = ["", ""];      // entity in each match
let plotted = "";           // the field that is drawn over time
let seen = null;            // the seat whose knowledge is shown, -1 for a spectator; null: everything
let pane = 0;               // the match whose entities, inputs, events and costs are listed
let playing = false, played = 0, since = 0; // since when, in ticks and ms
let divergence = null;         // the first tick in which two matches differ, if it is known
let held = false;           // playing has stopped there once

const line = requests(stream, {
  open() { badge("state", "open", "good"); open(); },
  connecting(progress) { badge("state", progress ? `loading ${progress}` : "connecting", ""); },
  lost(why) { pause(); badge("state", why || "no connection: trying again", "bad"); },
});

function badge(id, text, kind) {
  by(id).textContent = text;
  by(id).className = `badge ${kind}`;
}

function trouble(text) {
  by("trouble").hidden = !text;
  by("trouble").textContent = text;
}

// open opens the matches that the page's address names.
async function open() {
  const answer = await line.ask({ open: query.get("of") ?? "" });
  if (answer.error) { trouble(answer.error); return; }
  trouble("");
  matches = answer.matches;
  first = Math.min(...matches.map((m) => m.first));
  last = Math.max(...matches.map((m) => m.last));
  rate = matches[0].rate || 60;
  const names = matches.map((m) => m.name).join(" and ");
  document.title = `${matches[0].game}: ${names}`;
  by("title").textContent = matches[0].game;
  by("about").textContent = `${names} · ticks ${first} to ${last}, ${clock(last - first)} · seed ${matches[0].seed} · ${matches[0].build}`;
  const also = matches[0].also ?? "";
  by("also").hidden = !also;
  by("also").textContent = also && `Show ${also}`;
  by("also").href = `?${new URLSearchParams({ of: also })}`;
  by("reload").hidden = !query.has("of") || also !== "";
  for (const id of ["scrub", "tick"]) { by(id).min = first; by(id).max = last; }
  build();
  viewers();
  marked = "";
  await follow(first);
  if (matches.length === 2) compare();
}

// viewers fills the lists of viewers and of matches.
function viewers() {
  const option = (value, text) => Object.assign(document.createElement("option"), { value, textContent: text });
  const seats = Array.from({ length: matches[0].players }, (_, i) => option(String(i), `player ${i}`));
  by("seen").replaceChildren(option("", "everyone (the whole state)"), ...seats, option("-1", "a spectator"));
  by("seen").title = matches[0].hides ? "Values that the player does not know are zero or left out" : "This game has no private data: only the camera is that of the player";
  by("pane").replaceChildren(...matches.map((m, i) => option(String(i), m.name)));
  by("pane-label").hidden = matches.length < 2;
}

// link returns the fragment of the present view.
function link() {
  const parts = { tick, entity: chosen[0], plot: plotted, range: plotted ? by("range").value : "", seen: seen ?? "", pane: pane || "" };
  return `#${new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== ""))}`;
}

// follow shows the view that the fragment of the address describes. The default tick is that of usual.
async function follow(usual) {
  const view = new URLSearchParams(location.hash.slice(1)), number = (name) => Number.parseInt(view.get(name) ?? "", 10);
  const to = number("tick"), seat = number("seen");
  seen = seat >= -1 && seat < matches[0].players ? seat : null;
  pane = number("pane") === 1 && matches.length === 2 ? 1 : 0;
  by("seen").value = seen ?? "";
  by("pane").value = pane;
  if (["10", "60", "0"].includes(view.get("range"))) by("range").value = view.get("range");
  const entity = view.get("entity") ?? "", field = view.get("plot") ?? "";
  chosen = [entity, entity];
  if (marked !== `${pane} ${seen}`) findMarks();
  await go(Number.isFinite(to) ? to : usual);
  if (entity) life(entity);
  if (field && field !== plotted) drawField(entity, field);
}

// addressed is the time at which the address was last written. Browsers limit the rate.
let addressed = 0, writing = 0;

function address() {
  clearTimeout(writing);
  const wait = addressed + 500 - performance.now();
  if (playing || wait > 0) { writing = setTimeout(address, Math.max(wait, 100)); return; }
  addressed = performance.now();
  if (location.hash !== link()) history.replaceState(null, "", location.search + link());
}

let marked = ""; // the match and the viewer whose marks were requested; "" after matches were opened

// findMarks requests the marks of the listed match in the background.
async function findMarks() {
  marked = `${pane} ${seen}`;
  const answer = await line.ask({ marks: { match: pane, seen } }, marks.progress);
  marks.set(answer.marks, answer.error);
  if (at.length) marks.describe(tick, eventLines(at[pane].frame));
}

// build makes a pane for each match.
function build() {
  const box = by("stages");
  box.className = `stages ${matches.length === 2 ? "two" : "one"}`;
  box.replaceChildren(...matches.map((m, i) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("strong");
    name.textContent = m.name;
    const text = document.createElement("span");
    text.className = "soft small number";
    text.id = `caption-${i}`;
    caption.append(name, text);
    if (!m.drawn) {
      const none = document.createElement("p");
      none.className = "undrawn soft";
      none.textContent = "This game draws nothing: choose entities in the list.";
      figure.append(none, caption);
      return figure;
    }
    const canvas = document.createElement("canvas");
    canvas.id = `canvas-${i}`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The picture of ${m.name}. The list of entities below has the same content as text.`);
    canvas.addEventListener("click", (e) => chooseAt(i, e));
    figure.append(canvas, caption);
    return figure;
  }));
}

const clock = (ticks) => {
  const s = ticks / rate, m = Math.floor(s / 60);
  return m > 0 ? `${m} min ${(s - 60 * m).toFixed(1)} s` : `${s.toFixed(2)} s`;
};

function aspect() {
  const canvas = by("canvas-0");
  return canvas ? Math.min(5, Math.max(0.2, canvas.clientWidth / Math.max(1, canvas.clientHeight))) : 1.6;
}

let wanted = null, asking = false;
let aim = 0; // the tick that was requested last

// go shows a tick. While a request is on its way, the newest tick waits and older ones are dropped.
async function go(to) {
  aim = wanted = Math.min(Math.max(Math.round(to), first), last);
  if (asking) return;
  asking = true;
  try {
    while (wanted !== null) {
      const want = wanted;
      wanted = null;
      const answer = await line.ask({ go: { tick: want, aspect: aspect(), entity: chosen, find: by("find").value.trim(), seen } });
      if (answer.error) { trouble(answer.error); break; }
      tick = want;
      at = answer.at;
      show();
    }
  } finally { asking = false; }
}

function show() {
  by("scrub").value = tick;
  by("scrub").setAttribute("aria-valuetext", `tick ${tick}, ${clock(tick - first)}`);
  if (document.activeElement !== by("tick")) by("tick").value = tick;
  by("time").textContent = clock(tick - first);
  address();
  const texts = { yes: ["as recorded", "good"], no: ["not as recorded", "bad"], unknown: ["no checksum here", ""], unproven: ["looks back before the recording", "warn"] };
  const worst = at.find((s) => s.frame.match === "no") ?? at[0];
  badge("match", ...(texts[worst.frame.match] ?? [worst.frame.match, ""]));
  at.forEach((s, i) => { by(`caption-${i}`).textContent = `tick ${s.frame.tick} · checksum ${s.frame.checksum}${s.frame.recorded && s.frame.recorded !== s.frame.checksum ? `, recorded ${s.frame.recorded}` : ""}`; });
  draw();
  const here = at[pane];
  const differing = divergence && tick === divergence.state_tick ? divergence.differences : [];
  playerRows(by("t-players"), here.frame.players);
  listEvents(by("events"), by("no-events"), here.frame);
  costRows(by("t-costs"), here.frame.costs ?? [], matches[pane].budget);
  by("no-costs").hidden = (here.frame.costs ?? []).length > 0;
  entityRows(by("t-entities"), here.entities, chosen[0], choose, differing);
  by("listed").textContent = here.entities.length < here.count ? `${here.entities.length} of ${here.count} are listed.` : `${here.count} in this tick.`;
  fieldRows(by("t-resources"), at.map((s) => s.resources), (field) => drawField("", field), differing.filter((d) => !d.entity));
  showEntity(differing);
  plot.cursor(tick);
  if (!playing) marks.describe(tick, eventLines(here.frame));
}

function drawField(entity, field) {
  plotted = field;
  plot.field(field.includes(".") && isResource(field) ? "" : entity, field);
  address();
}

// isResource reports whether a field is one of a resource.
const isResource = (field) => at[0].resources.some((r) => field === r.name || field.startsWith(`${r.name}.`));

function showEntity(marks) {
  const name = chosen[0];
  by("h-entity").textContent = name ? `Entity ${name}` : "Entity";
  const whole = at.map((s) => s.entity?.components ?? []);
  by("no-entity").hidden = whole.some((c) => c.length > 0);
  if (name) by("no-entity").textContent = `${name} is not there in this tick.`;
  fieldRows(by("t-entity"), whole, (field) => drawField(name, field), marks.filter((d) => d.entity === name));
}

function draw() {
  at.forEach((s, i) => {
    const canvas = by(`canvas-${i}`);
    if (!canvas) return;
    const { width, height } = fit(canvas), c = canvas.getContext("2d");
    paint(c, s.picture, { width, height, background: "#12141a" });
    mark(c, s, width, height, i);
  });
}

// camera returns the last camera of a picture.
function camera(commands, width, height) {
  const probe = { getBoundingClientRect: () => ({ left: 0, top: 0, width, height }) };
  const zero = place({ clientX: 0, clientY: 0 }, probe, commands), one = place({ clientX: width, clientY: height }, probe, commands);
  return { x: (x) => ((x - zero.x) / (one.x - zero.x)) * width, y: (y) => ((y - zero.y) / (one.y - zero.y)) * height, unit: height / (one.y - zero.y) };
}

// mark rings the chosen entity, and what differs.
function mark(c, s, width, height, i) {
  const see = camera(s.picture, width, height);
  const marks = divergence && tick === divergence.state_tick ? divergence.differences.map((d) => d.entity) : [];
  for (const e of s.entities) {
    if (!e.at || (e.id !== chosen[i] && !marks.includes(e.id))) continue;
    c.beginPath();
    c.arc(see.x(e.at[0]), see.y(e.at[1]), Math.max(14, see.unit), 0, 2 * Math.PI);
    c.lineWidth = 3;
    c.strokeStyle = marks.includes(e.id) ? "#ff8f85" : "#5cc9b8";
    c.stroke();
  }
}

// chooseAt selects the entity that is nearest to a click.
function chooseAt(i, event) {
  const canvas = by(`canvas-${i}`), point = place(event, canvas, at[i].picture);
  let nearest = null, least = Infinity;
  for (const e of at[i].entities) {
    if (!e.at) continue;
    const d = Math.hypot(e.at[0] - point.x, e.at[1] - point.y);
    if (d < least) [nearest, least] = [e, d];
  }
  if (nearest) choose(nearest.id);
}

async function choose(name) {
  chosen = [name, name];
  await go(tick);
  life(name);
}

// life shows when an entity exists.
async function life(name) {
  by("life").textContent = "";
  const answer = await line.ask({ life: name });
  if (answer.life && chosen[0] === name) {
    const l = answer.life;
    by("life").textContent = l.alive ? `exists from tick ${l.from} on` : `exists from tick ${l.from} to ${l.to}`;
  }
}

const plot = plotter(by("plot"), by("plot-line"), {
  async ask(entity, field) { // one after the other: a newer request replaces an older one
    const half = Math.round((Number(by("range").value) * rate) / 2), list = [];
    const range = half > 0 ? { from: Math.max(first, tick - half), to: Math.min(last, tick + half) } : { from: first, to: last };
    for (let match = 0; match < matches.length; match++) list.push(await line.ask({ series: { match, entity, field, ...range, points: 1200, seen } }));
    return { range, series: list };
  },
  go(to) { pause(); go(to); },
  names: () => matches.map((m) => m.name),
});
by("range").addEventListener("change", () => { plot.again(); address(); });

const marks = timeline({
  canvas: by("marks"), line: by("marks-line"), filter: by("filter"), before: by("before"), after: by("after"),
  go(to) { pause(); go(to); }, at: () => aim, range: () => ({ first, last }),
});

by("seen").addEventListener("change", () => {
  seen = by("seen").value === "" ? null : Number(by("seen").value);
  go(tick);
  plot.again();
  findMarks();
});
by("pane").addEventListener("change", () => {
  pane = Number(by("pane").value);
  show();
  findMarks();
});
by("copy").addEventListener("click", async () => {
  const url = location.href.split("#")[0] + link();
  try {
    await navigator.clipboard.writeText(url);
    by("copy").textContent = "Link copied";
  } catch { // without permission, the address bar has the link
    history.replaceState(null, "", location.search + link());
    by("copy").textContent = "Copy the address bar";
  }
  setTimeout(() => { by("copy").textContent = "Copy link"; }, 2000);
});

// compare finds the tick in which two matches diverge.
async function compare() {
  by("differences").hidden = false;
  by("h-here").textContent = matches[0].name;
  by("h-there").textContent = matches[1].name;
  const answer = await line.ask({ compare: true }, (reached) => { by("differ-line").textContent = `Comparing: tick ${reached} of ${last}`; });
  if (answer.error) { by("differ-line").textContent = answer.error; return; }
  const found = answer.compare;
  divergence = found.divergence;
  if (!divergence) {
    by("differ-line").textContent = `They are equal from tick ${found.from} to ${found.to}.`;
    return;
  }
  by("differ-line").textContent = `They are equal up to tick ${divergence.tick - 1} and differ in tick ${divergence.tick}.` +
    (divergence.state_tick !== divergence.tick && divergence.state_tick ? ` The places are those of tick ${divergence.state_tick}, the next that both have stored.` : "");
  by("divergence").hidden = false;
  by("divergence").textContent = `First difference: tick ${divergence.tick}`;
  differenceRows(by("t-differences"), divergence.differences, choose);
  show();
}

function pause() {
  playing = false;
  by("play").textContent = "Play";
  by("play").setAttribute("aria-pressed", "false");
}

function play() {
  if (playing) { pause(); return; }
  playing = true;
  held = divergence !== null && tick >= divergence.tick;
  by("play").textContent = "Pause";
  by("play").setAttribute("aria-pressed", "true");
  played = tick >= last ? first : tick;
  since = performance.now();
  requestAnimationFrame(roll);
}

function roll(now) {
  if (!playing) return;
  let to = Math.floor(played + ((now - since) / 1000) * rate * Number(by("speed").value));
  if (divergence && !held && to >= divergence.tick) { // playing stops where they diverge
    held = true;
    to = divergence.tick;
    pause();
  }
  if (to >= last) { to = last; pause(); }
  if (to !== tick) go(to);
  requestAnimationFrame(roll);
}

const step = (by) => { pause(); go(aim + by); };
by("play").addEventListener("click", play);
by("back").addEventListener("click", () => step(-1));
by("forward").addEventListener("click", () => step(1));
by("speed").addEventListener("change", () => { played = tick; since = performance.now(); });
by("scrub").addEventListener("input", () => { pause(); go(Number(by("scrub").value)); });
by("tick").addEventListener("change", () => { pause(); go(Number(by("tick").value)); });
by("find").addEventListener("input", () => go(tick));
by("divergence").addEventListener("click", () => { pause(); go(divergence.tick); });
by("reload").addEventListener("click", () => { pause(); open(); });
addEventListener("resize", () => { if (at.length) go(tick); });
addEventListener("hashchange", () => { if (location.hash !== link()) { pause(); follow(tick); } });
addEventListener("keydown", (e) => {
  if (e.target.closest("input, select, textarea") || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = { ArrowLeft: () => step(e.shiftKey ? -rate : -1), ArrowRight: () => step(e.shiftKey ? rate : 1), Home: () => go(first), End: () => go(last), p: marks.previous, n: marks.next, P: marks.previous, N: marks.next };
  if (e.key === " " && !e.target.closest("button, a")) keys[" "] = play;
  if (!keys[e.key]) return;
  e.preventDefault();
  keys[e.key]();
});
