// The lab: holds the settings, the panels and the keys together.

import { stream } from "/assets/stream.js";
import { place } from "/assets/painter.js";
import { Panel } from "/panel.js";
import { Plots } from "/plots.js";
import { Hands } from "/hands.js";
import { methods, outcome, milliseconds } from "/methods.js";
import { read, write, tour, texts } from "/settings.js";
import { after, list, mark } from "/tour.js";

const $ = (id) => document.getElementById(id);
const inputs = [...document.querySelectorAll("input[name]")];
const plots = new Plots($("plots"), $("plot-legend"));
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
let hello = null, settings = null, said = 0, panels = [], epoch = 0, paused = calm, due = false, reported = "", step = 0, apart = false;

// change uses new settings, sends them to the server and puts them into the address.
function change(changes) {
  settings = { ...settings, ...changes };
  history.replaceState(null, "", `#${write(settings, step)}`);
  show();
  line.send({ k: "set", settings, number: ++said });
}

// follow uses the settings of the link, and shows its step of the tour. The end of the tour restores the settings of the beginning.
function follow(begin) {
  const before = step;
  step = tour(location.hash);
  if (step && apart) line.send({ k: "again" }); // the pictures of a step show the same thing
  change({ ...(begin || (before && !step) ? hello.settings : {}), ...read(location.hash) });
}

// show puts the settings into the controls.
function show() {
  mark($("tour").firstElementChild, $("say"), step);
  const preset = hello.networks.find((n) => n.name === settings.net), network = preset ?? settings;
  $("net").value = preset ? preset.name : "";
  $("net-plain").textContent = preset ? preset.plain : "Set by hand with the sliders.";
  for (const e of inputs) {
    const n = e.name;
    if (e.type === "checkbox") {
      e.checked = settings[n];
      continue;
    }
    const x = n in texts && n in network ? network[n] : settings[n];
    e.value = x;
    const text = texts[n](Math.round(x * 10) / 10, hello.rate);
    e.parentElement.querySelector("output").textContent = text;
    e.setAttribute("aria-valuetext", text);
  }
  for (const box of document.querySelectorAll("[data-method]")) {
    box.checked = settings.sync.includes(box.dataset.method);
    box.disabled = box.checked && settings.sync.length <= 1;
  }
  const has = (...names) => names.some((n) => settings.sync.includes(n));
  const ahead = has(...hello.predict);
  $("panels").classList.toggle("more", settings.server || settings.other);
  $("controls").classList.toggle("point", step === 4);
  const use = { prediction: ahead, delay: ahead, reconciliation: has("predict"), interpolation: has("predict"), lagcomp: has("predict") };
  for (const [n, used] of Object.entries(use)) document.querySelector(`input[name=${n}]`).closest("label").classList.toggle("idle", !used);
}

// greet sets up the page with the server's offer.
function greet(m) {
  hello = m;
  for (const name of m.strategies) methods[name] ??= { title: name, series: 6, plain: "" };
  $("game").textContent = `· ${m.game}`;
  const own = new Option("By hand", "");
  $("net").replaceChildren(own, ...m.networks.map((n) => new Option(n.title, n.name)));
  $("methods").replaceChildren(...m.strategies.map((name) => {
    const label = document.createElement("label"), box = document.createElement("input"), b = document.createElement("b");
    label.className = `check series-${methods[name].series}`;
    box.type = "checkbox";
    box.dataset.method = name;
    b.textContent = methods[name].title;
    label.append(box, b);
    return label;
  }));
  document.querySelector("input[name=players]").max = m.players;
  for (const e of ["pad", "who", "auto"]) $(e).hidden = !m.controls;
  follow(true);
  pause(paused);
}

// begin shows new matches. Their settings are those of the page, unless somebody has changed it since.
function begin(m) {
  epoch = m.epoch;
  if (m.number === said) settings = m.settings;
  arrange(m.settings.sync);
  $("report").replaceChildren();
  reported = "";
  history.replaceState(null, "", `#${write(settings, step)}`);
  show();
  running();
}

// arrange makes the panels of these strategies.
function arrange(names) {
  panels = names.map((name) => new Panel(name));
  $("panels").replaceChildren(...panels.map((p) => p.element));
  $("facts").replaceChildren(...panels.map((p) => p.details));
  $("panels").style.setProperty("--columns", names.length === 4 ? 2 : Math.min(names.length, 3));
  $("panels").style.setProperty("--rows", names.length > 3 ? 2 : 1);
  plots.begin(names);
}

// running shows whether the matches run.
function running() {
  status(paused ? "paused" : "running", paused ? "" : "good");
}

function frame(m) {
  if (m.epoch !== epoch) return;
  apart = m.apart;
  rename(m.panels);
  m.panels.forEach((p, i) => panels[i].take(p));
  if (m.link) measure(m);
  if (!due) {
    due = true;
    requestAnimationFrame(() => {
      due = false;
      for (const p of panels) p.draw({ ghosts: $("ghosts").checked, hud: $("hud").checked });
      hands.follow(panels, place);
    });
  }
}

// rename replaces the panels of matches that continue with another strategy.
function rename(list) {
  const names = list.map((p, i) => p.reading?.strategy || panels[i].name);
  if (names.every((name, i) => name === panels[i].name)) return;
  arrange(names);
}

// measure shows what was measured since the last time.
function measure(m) {
  const k = m.link;
  $("rtt").textContent = k.lost_percent === 100 ? "—" : `${Math.round(k.rtt_ms)} ms`;
  $("jitter").textContent = `${Math.round(k.jitter_ms)} ms`;
  $("lost").textContent = `${k.lost_percent.toFixed(k.lost_percent < 10 ? 1 : 0)} %`;
  const readings = panels.map((p) => p.reading);
  plots.add(m.at, readings);
  table(readings);
  report(readings);
  if (m.pace < 0.9 && !paused) status(`${Math.round(m.pace * 100)} % of real time: this machine is busy`, "warn");
  else running();
}

const columns = [
  ["Own key", (r) => (r.pressed ? milliseconds(r.display_ms) : "—")], ["Others' age", (r) => (r.aged ? milliseconds(r.remote_ms) : "—")], ["Others off", (r) => r.error.toFixed(2)],
  ["You off", (r) => r.own_error.toFixed(2)], ["Fixes/s", (r) => r.corrections * 4], ["Largest", (r) => r.correction_size.toFixed(2)], ["Depth", (r) => r.depth],
  ["Predicted", (r) => `${Math.round(r.window)} ticks`], ["Delay", (r) => `${r.delay} ticks`], ["Stalled", (r) => `${Math.round(r.stalled_ms * 4)} ms/s`],
  ["Aim", (r) => (r.hits_percent ? `${Math.round(r.hits_percent)} %` : "—")], ["Up", (r) => `${Math.round(r.up_kbps)} kbit/s`], ["Down", (r) => `${Math.round(r.down_kbps)} kbit/s`], ["Client", (r) => `${Math.round(r.client_us)} µs`],
  ["Server", (r) => `${Math.round(r.server_us)} µs`], ["Its RTT", (r) => milliseconds(r.rtt_ms)],
];

function table(readings) {
  const t = $("numbers");
  if (!t.checkVisibility()) return;
  const row = (tag, cells) => {
    const tr = document.createElement("tr");
    tr.append(...cells.map((text, i) => {
      const c = document.createElement(i === 0 ? "th" : tag);
      if (i === 0 || tag === "th") c.scope = tag === "th" ? "col" : "row";
      c.textContent = text;
      return c;
    }));
    return tr;
  };
  t.tHead.replaceChildren(row("th", ["Strategy", ...columns.map((c) => c[0])]));
  t.tBodies[0].replaceChildren(...readings.flatMap((r) => (r ? [row("td", [methods[r.strategy].title, ...columns.map((c) => c[1](r))])] : [])));
}

// report shows the outcome of the desync.
function report(readings) {
  const now = readings.flatMap((r) => (r && r.desync.outcome ? [[r.strategy, r.desync]] : []));
  const text = JSON.stringify(now);
  if (text === reported) return;
  reported = text;
  $("report").replaceChildren(...now.map(([name, f]) => {
    const box = document.createElement("div"), b = document.createElement("b");
    box.className = `notice${{ found: " bad", pending: " warn" }[f.outcome] ?? ""}`;
    box.dataset.outcome = f.outcome;
    box.dataset.of = name;
    b.textContent = `${methods[name].title}. `;
    box.append(b, outcome(f));
    if (f.field && f.outcome !== "pending") {
      const list = document.createElement("dl");
      for (const [dt, dd] of [["component", f.component], ["entity", f.entity || "the match itself"], ["field", f.field], ["on your machine", f.here], ["on the server", f.there], ["first in tick", f.tick]]) {
        const a = document.createElement("dt"), z = document.createElement("dd");
        a.textContent = dt;
        z.textContent = dd;
        z.dataset.named = dt;
        list.append(a, z);
      }
      box.append(list);
    }
    return box;
  }));
}

function status(text, look) {
  if ($("state").textContent === text) return;
  $("state").textContent = text;
  $("state").className = `badge ${look}`;
}

function note(m) {
  $("note").textContent = m.text;
  $("note").className = `notice ${m.bad ? "bad" : "warn"}`;
  $("note").hidden = false;
  clearTimeout(note.timer);
  note.timer = setTimeout(() => { $("note").hidden = true; }, 12000);
}

function pause(on) {
  paused = on;
  $("pause").textContent = on ? "Go on" : "Pause";
  $("pause").setAttribute("aria-pressed", String(on));
  line.send({ k: "pause", on });
  running();
}

list($("tour").firstElementChild);
mark($("tour").firstElementChild, $("say"), tour(location.hash));

const line = stream("/lab", {
  message(m) {
    ({ hello: greet, begin, frame, note })[m.k]?.(m);
  },
  state(name, reason) {
    if (name === "open") status("starting", "");
    else if (name === "lost") status(reason || "no connection: trying again", "bad");
    else status("connecting", "");
  },
});

const hands = new Hands({
  panels: $("panels"),
  pad: $("pad"),
  send(h) {
    if (!hello?.controls) return;
    line.send({ k: "hands", ...h });
    $("who").textContent = "you play";
    $("who").className = "badge good";
    $("auto").disabled = false;
  },
  pressed(number) {
    for (const p of panels) p.press(number);
  },
});

for (const e of inputs) {
  e.addEventListener("input", () => {
    const n = e.name;
    if (e.type === "checkbox") return change({ [n]: e.checked });
    const changes = { [n]: Number(e.value) }, preset = hello.networks.find((x) => x.name === settings.net);
    if (preset && n in preset) {
      for (const k of ["rtt", "jitter", "loss", "duplicate", "reorder"]) changes[k] ??= preset[k];
      changes.net = "";
    }
    change(changes);
  });
}
$("net").addEventListener("change", () => {
  const preset = hello.networks.find((n) => n.name === $("net").value);
  change(preset ? { net: preset.name } : { net: "" });
});
$("methods").addEventListener("change", (e) => {
  const sync = hello.strategies.filter((n) => (n === e.target.dataset.method ? e.target.checked : settings.sync.includes(n)));
  change({ sync });
});
for (const kind of ["spike", "unplug", "desync"]) $(kind).addEventListener("click", () => line.send({ k: kind }));
const swap = () => line.send({ k: "swap" });
$("swap").addEventListener("click", swap);
const shortcuts = { F1() { location.hash = `#tour=${after(step)}`; }, F2: swap };
addEventListener("keydown", (e) => {
  if (!(e.key in shortcuts)) return;
  e.preventDefault();
  if (!e.repeat) shortcuts[e.key]();
});
$("again").addEventListener("click", () => line.send({ k: "again" }));
$("pause").addEventListener("click", () => pause(!paused));
$("auto").addEventListener("click", () => {
  line.send({ k: "auto" });
  hands.release();
  $("who").textContent = "a bot plays for you";
  $("who").className = "badge";
  $("auto").disabled = true;
});
$("share").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    $("share").textContent = "Copied";
  } catch {
    note({ text: `This is the link: ${location.href}` });
  }
  setTimeout(() => { $("share").textContent = "Copy link"; }, 2000);
});
document.addEventListener("visibilitychange", () => line.send({ k: "pause", on: paused || document.hidden })); // nobody sees it
addEventListener("hashchange", () => {
  if (hello) follow(false);
});
