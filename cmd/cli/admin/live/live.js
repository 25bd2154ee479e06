// The live page of a server shows its updates in tables and plots. It sends only the room that it selects.
import { stream } from "/assets/stream.js";

const by = (id) => document.getElementById(id);
const text = (id, t) => { const e = by(id); if (e.textContent !== t) e.textContent = t; };

const bytes = (n) => n >= 1 << 20 ? `${(n / (1 << 20)).toFixed(1)} MiB` : `${Math.round(n / 1024)} KiB`;
const kbit = (n) => n >= 1000 ? `${(n / 1000).toFixed(1)} Mbit/s` : `${n.toFixed(n < 10 ? 1 : 0)} kbit/s`;
const nanos = (n) => n >= 1e6 ? `${(n / 1e6).toFixed(2)} ms` : n >= 1e4 ? `${(n / 1e3).toFixed(0)} µs` : `${(n / 1e3).toFixed(2)} µs`;
const millis = (n) => `${n.toFixed(n < 10 ? 1 : 0)} ms`;
const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)} %`;
const count = (n) => n.toLocaleString("en");
const used = (c) => c.busy_ns / (Math.max(c.budget_ns, 1) * c.turns); // share of the budget
const again = (row) => row.phase === "resimulate" && Boolean(row.system);
const label = (row) => !row.system ? row.phase : again(row) ? `${row.system} (again)` : row.phase === "simulate" ? row.system : `${row.phase}/${row.system}`;
const span = (s) => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min` : s >= 60 ? `${Math.floor(s / 60)} min` : `${s} s`;

// rows fills the body of a table and reuses its rows. A cell is a text or a function that fills the cell.
function rows(id, empty, list, cells) {
  const body = by(id);
  while (body.rows.length > list.length) body.deleteRow(-1);
  list.forEach((item, i) => {
    const row = body.rows[i] ?? body.insertRow();
    cells(item, row).forEach((cell, k) => {
      const td = row.cells[k] ?? row.insertCell();
      if (typeof cell === "function") cell(td);
      else if (td.textContent !== cell) td.textContent = cell;
    });
  });
  by(empty).hidden = list.length > 0;
}

// The plots show two minutes, one point a second.
const points = 120;
const history = { at: [], busy: [], incoming: [], outgoing: [] };
const plots = [];

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function plot(id, names, series) {
  const box = by(id);
  let drawn;
  const make = () => {
    drawn?.destroy();
    const least = 20; // seconds on the axis, also when the page was just opened
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    drawn = new uPlot({
      width: Math.max(120, box.clientWidth), height: 180, cursor: { show: false }, legend: { live: false },
      scales: { x: { range: (_, low, high) => (high == null ? [low, high] : [Math.min(low, high - least), high]) }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } },
      axes: [{ ...axis, size: 32 }, { ...axis, size: 56 }],
      series: [{}, ...names.map((label, i) => ({ label, stroke: color(`--series-${i + 1}`), width: 2, points: { show: false } }))],
    }, data(), box);
  };
  const data = () => [history.at, ...series.map((s) => history[s])];
  make();
  new ResizeObserver(() => drawn.setSize({ width: Math.max(120, box.clientWidth), height: 180 })).observe(box);
  addEventListener("themechange", make);
  plots.push(() => drawn.setData(data()));
}

function remember(g) {
  history.at.push(Date.now() / 1000);
  history.busy.push(100 * used(g.costs));
  history.incoming.push(g.in);
  history.outgoing.push(g.out);
  for (const list of Object.values(history)) if (list.length > points) list.shift();
  for (const draw of plots) draw();
}

let last = null;
let chosen = "";
let ofRoom = false;

function showState(name, className) {
  text("state", name);
  by("state").className = `badge ${className}`;
}

const stateClass = { ready: "good", starting: "warn", stopping: "warn" };

function showServer(g) {
  text("title", `${g.game} server`);
  document.title = `${g.game}: ${g.total.players} players`;
  showState(g.state, stateClass[g.state] ?? "");
  text("about", [g.strategy, `${g.tick_rate} ticks/s`, g.build, `up ${span(g.up)}`].filter(Boolean).join(" · "));
  text("s-rooms", `${count(g.stats.rooms)} of ${count(g.stats.max_rooms)}`);
  text("s-players", count(g.total.players));
  text("s-in", kbit(g.in));
  text("s-out", kbit(g.out));
  text("s-late", count(g.total.late));
  by("s-late").classList.toggle("warn", g.total.late > 0);
  text("s-p99", g.costs.all > 0 ? nanos(g.costs.p99_ns) : "–");
  text("s-rings", bytes(g.total.ring_bytes));
  text("s-refused", count(g.stats.packets_refused));
}

function showRooms(g) {
  const wanted = by("find").value.trim().toLowerCase();
  const list = g.stats.table.filter((r) => r.name.toLowerCase().includes(wanted));
  const looked = g.room?.name;
  rows("t-rooms", "no-rooms", list, (r, row) => {
    row.setAttribute("aria-selected", String(r.name === looked));
    return [
      (td) => {
        const b = td.firstChild ?? td.appendChild(document.createElement("button"));
        b.type = "button";
        b.className = "pick";
        b.dataset.room = r.name;
        b.textContent = r.name;
        b.setAttribute("aria-pressed", String(r.name === looked));
      },
      r.strategy, count(r.tick), String(r.players), String(r.peers), percent(g.used[r.name] ?? 0), count(r.late), millis(r.most_late / 1e6), count(r.resyncs), bytes(r.ring_bytes),
    ];
  });
  text("no-rooms", wanted && g.stats.rooms > 0 ? "No room has this name." : "No room is open.");
}

function showPlayers(g) {
  const room = g.room;
  by("last").hidden = !room;
  if (room) by("last").href = `/last/?of=${encodeURIComponent(room.name)}`;
  text("h-room", room ? `Players of ${room.name}` : "Players");
  rows("t-players", "no-players", room?.players ?? [], (p, row) => [
    p.name || `connection ${p.peer}`, p.seat < 0 ? "–" : String(p.seat),
    (td) => { td.className = "left"; td.textContent = p.state; },
    p.rtt_ms > 0 ? millis(p.rtt_ms) : "–", p.loss < 0 ? "–" : percent(p.loss), kbit(p.in), kbit(p.out), p.margin.toFixed(1), count(p.made),
    p.client_id, ...["refused_inputs", "malformed", "limited", "floods", "desyncs"].map((name) => count(p.evidence[name])),
  ]);
  text("largest", room?.largest || "No turn yet.");
}

// bar fills a cell with a share, whose bar is relative to the largest one.
const bar = (share, most, again = false) => (td) => {
  td.className = again ? "left bar-cell again" : "left bar-cell";
  if (!td.firstChild) {
    const track = document.createElement("span"), fill = document.createElement("span");
    track.className = "track";
    fill.className = "fill";
    track.append(fill);
    td.append(track, "");
  }
  td.firstChild.firstChild.style.width = `${(100 * Math.max(0, share)) / most}%`;
  td.lastChild.textContent = `${(100 * share).toFixed(2)} %`;
};

// showBytes shows the bytes of messages since the page's last update, by component. costs.turns are those of all its rooms, so the
// figures are of one room, on average.
function showBytes(costs, rate, ofAll) {
  const all = costs.bytes ?? { total: 0, rows: [] }, seconds = costs.turns / rate;
  const most = Math.max(...all.rows.map((r) => r.bytes), 1) / Math.max(all.total, 1);
  rows("t-bytes", "no-bytes", all.rows, (r) => [
    r.kind || "–", (td) => { td.className = "left"; td.textContent = r.part; },
    bar(r.bytes / Math.max(all.total, 1), most), `${count(Math.round(r.bytes / seconds))} B`,
  ]);
  text("bytes-line", all.total > 0 ? `${kbit((all.total * 8) / 1000 / seconds)} of messages to the clients of ${ofAll ? "each room, on average" : "this room"}.` : "");
}

function showCosts(g) {
  const costs = ofRoom && g.room ? g.room.costs : g.costs;
  by("of-room").disabled = !g.room;
  const list = [...costs.rows].sort((a, b) => b.share - a.share);
  const most = Math.max(...list.map((r) => r.share), 1e-9);
  rows("t-costs", "no-costs", list, (r) => [
    label(r), bar(r.share, most, again(r)),
    (r.calls / costs.turns).toFixed(2), nanos(r.p50_ns), nanos(r.p99_ns), nanos(r.max_ns),
  ]);
  text("costs-line", costs.all > 0
    ? `${percent(used(costs))} of the ${nanos(g.costs.budget_ns)} of a tick; p99 ${nanos(costs.p99_ns)}, maximum ${nanos(costs.max_ns)}; ${count(costs.over)} of ${count(costs.all)} turns were over budget.`
    : "");
}

function show(g) {
  const one = ofRoom && g.room;
  showBytes(one ? g.room.costs : g.costs, g.tick_rate, !one);
  showServer(g);
  showRooms(g);
  showPlayers(g);
  showCosts(g);
}

plot("plot-busy", ["used"], ["busy"]);
plot("plot-net", ["in", "out"], ["incoming", "outgoing"]);

const live = stream("/live", {
  message(g) {
    show(g);
    if (last) remember(g); // the first update has no rates
    last = g;
  },
  state(name, reason) {
    if (name === "open" && chosen) live.send({ room: chosen });
    if (name === "connecting") showState("connecting", "");
    if (name === "lost") showState(reason || "connection lost", "bad");
  },
});

document.addEventListener("click", (e) => {
  const pick = e.target.closest?.("button.pick");
  if (pick) {
    chosen = pick.dataset.room;
    live.send({ room: chosen });
  }
});
by("find").addEventListener("input", () => last && show(last));
for (const [id, room] of [["of-all", false], ["of-room", true]]) {
  by(id).addEventListener("click", () => {
    ofRoom = room;
    by("of-all").setAttribute("aria-pressed", String(!ofRoom));
    by("of-room").setAttribute("aria-pressed", String(ofRoom));
    if (last) show(last);
  });
}
