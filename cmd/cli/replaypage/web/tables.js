// Fills the tables. Everything is written as text, never as markup: names and values come from strangers.
const element = (name, text = "", className = "") => {
  const e = document.createElement(name);
  if (text) e.textContent = text;
  if (className) e.className = className;
  return e;
};

// keyed fills a body with one row per item and keeps rows whose key stays, so that focus does, too.
function keyed(body, list, key, fill) {
  const old = new Map([...body.rows].map((r) => [r.dataset.key, r]));
  const rows = list.map((item) => {
    const k = key(item);
    let row = old.get(k);
    if (row) old.delete(k);
    else {
      row = document.createElement("tr");
      row.dataset.key = k;
    }
    fill(row, item);
    return row;
  });
  for (const r of old.values()) r.remove();
  rows.forEach((r, i) => { if (body.rows[i] !== r) body.insertBefore(r, body.rows[i] ?? null); });
}

function cells(row, n) {
  while (row.cells.length < n) row.append(document.createElement("td"));
  return row.cells;
}

const put = (cell, text, className = "") => {
  if (cell.textContent !== text) cell.textContent = text;
  if (cell.className !== className) cell.className = className;
};

// fieldRows lists components with their fields, side by side for two matches. A number has a button that plots it.
export function fieldRows(body, sides, plot, marks) {
  const list = [], places = new Map();
  sides.forEach((components, side) => {
    for (const c of components) {
      for (const f of c.fields) {
        const path = f.path ? `${c.name}.${f.path}` : c.name;
        let item = places.get(path);
        if (!item) {
          item = { path, component: c.name, field: f.path, values: [], number: false };
          places.set(path, item);
          list.push(item);
        }
        item.values[side] = f.text;
        item.number ||= f.number !== null;
      }
    }
  });
  keyed(body, list, (i) => i.path, (row, item) => {
    const c = cells(row, sides.length + 2);
    put(c[0], item.path, "left mono");
    sides.forEach((_, side) => put(c[side + 1], item.values[side] ?? "does not exist", "value"));
    const differs = marks.some((d) => d.component === item.component && (d.field === item.field || d.field === "exists"));
    row.classList.toggle("differs", differs || (sides.length === 2 && item.values[0] !== item.values[1]));
    const last = c[sides.length + 1];
    if (item.number && !last.firstChild) {
      const b = element("button", "Plot", "pick");
      b.type = "button";
      b.setAttribute("aria-label", `Plot ${item.path}`);
      last.append(b);
    }
    if (last.firstChild) last.firstChild.onclick = () => plot(item.path);
    while (row.cells.length > sides.length + 2) row.deleteCell(-1);
  });
}

// entityRows lists entities, each with a button that chooses it.
export function entityRows(body, list, chosen, choose, marks) {
  keyed(body, list, (e) => e.id, (row, e) => {
    const c = cells(row, 3);
    if (!c[0].firstChild) {
      const b = element("button", e.id, "pick mono");
      b.type = "button";
      b.addEventListener("click", () => choose(e.id));
      c[0].append(b);
    }
    put(c[1], e.owner, "left");
    put(c[2], e.components.join(", "), "left soft");
    row.setAttribute("aria-selected", String(e.id === chosen));
    row.classList.toggle("differs", marks.some((d) => d.entity === e.id));
  });
}

export function playerRows(body, players) {
  keyed(body, players, (p) => String(p.player), (row, p) => {
    const c = cells(row, 2);
    put(c[0], `player ${p.player}${p.in ? "" : " (gone)"}${p.late ? " (late: substituted)" : ""}`, "left");
    put(c[1], p.hidden ? "not known to this player" : p.input.map((f) => `${f.path} ${f.text}`).join(" · "), "left wraps");
    row.classList.toggle("differs", p.late);
  });
}

const fieldsOf = (list) => list.map((f) => `${f.path} ${f.text}`).join(", ");

// eventLines returns the orders and events of a tick as text.
export const eventLines = (frame) => [
    ...frame.orders.map((o) => o.strategy ? `switch to ${o.strategy}` : o.build ? `change of the rules, after build ${o.build}` : `${o.kind}${o.operator ? (o.kind === "pause" ? " of the operator" : "") : ` of player ${o.player}`}${o.entity ? ` to ${o.entity}` : ""}${o.seen ? `, who saw tick ${o.seen.toFixed(2)}` : ""}${o.name ? `, ${o.name} ${fieldsOf(o.fields || [])}` : ""}${o.payload ? `: ${o.payload}` : ""}${o.refused ? `; refused: ${o.refused}` : ""}`),
    ...frame.events.map((e) => `${e.name}${e.irreversible ? " (irreversible)" : ""}${e.entity ? ` of ${e.entity}` : ""} ${fieldsOf(e.fields)}`),
];

export function listEvents(box, none, frame) {
  const lines = eventLines(frame);
  box.replaceChildren(...lines.map((l) => element("li", l)));
  none.hidden = lines.length > 0;
}

const micros = (ns) => ns >= 1e6 ? `${(ns / 1e6).toFixed(2)} ms` : `${(ns / 1e3).toFixed(2)} µs`;

export function costRows(body, costs, budget) {
  const most = Math.max(1, ...costs.map((c) => c.ns));
  let n = 0;
  keyed(body, costs.map((c) => ({ ...c, key: `${n++} ${c.section}` })), (c) => c.key, (row, c) => {
    const td = cells(row, 3);
    put(td[0], c.section, "left");
    if (!td[1].firstChild) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("width", "120");
      svg.setAttribute("height", "8");
      svg.setAttribute("aria-hidden", "true");
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      bar.setAttribute("height", "8");
      bar.setAttribute("rx", "4");
      bar.setAttribute("fill", "var(--accent)");
      svg.append(bar);
      td[1].append(svg);
    }
    td[1].className = "left";
    td[1].firstChild.firstChild.setAttribute("width", String(Math.max(2, (120 * c.ns) / most)));
    put(td[2], `${micros(c.ns)}, ${((100 * c.ns) / budget).toFixed(2)} % of a tick`);
  });
}

export function differenceRows(body, list, choose) {
  body.replaceChildren(...list.map((d) => {
    const row = element("tr", "", "differs");
    const entity = element("td", "", "left");
    if (d.entity) {
      const b = element("button", d.entity, "pick mono");
      b.type = "button";
      b.addEventListener("click", () => choose(d.entity));
      entity.append(b);
    } else entity.textContent = "–";
    row.append(element("td", d.component, "left"), entity, element("td", d.field, "left mono"), element("td", d.here, "value"), element("td", d.there, "value"));
    return row;
  }));
}
