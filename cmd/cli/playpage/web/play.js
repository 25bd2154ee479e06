// Loads the program and runs it. The program reads tendonJoin or tendonWatch, and calls tendonState, tendonNews and tendonKeys.

const $ = (id) => document.getElementById(id);

// tendonState shows a line. part is the part that is loaded, in [0, 1]; bad marks an error. An empty line shows the game.
globalThis.tendonState = (text, part, bad) => {
  $("start").hidden = text === "";
  $("state").textContent = text;
  $("state").classList.toggle("bad", !!bad);
  $("progress").hidden = part === undefined || !!bad;
  if (part >= 0) $("progress").value = part;
  const canvas = document.querySelector("canvas");
  if (text === "" && canvas) {
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `${document.title}: the picture of the match. F1 shows the keys.`);
  }
};

// tendonNews announces a line to screen readers, which cannot read the picture of the game.
globalThis.tendonNews = (text) => { $("news").textContent = text; };

// tendonKeys shows the controls of the game where fingers are used: [{key: "Space", stick: -1, label: "dash"}]. set(key, down) is
// called for a button, and set(stick, x, y) for a stick, whose number is not negative.
globalThis.tendonKeys = (controls, set) => {
  if (!matchMedia("(pointer: coarse)").matches || !controls.length) return;
  const control = ({ label }, kind) => {
    const e = document.createElement("button");
    e.type = "button";
    e.className = kind;
    e.setAttribute("aria-label", label);
    e.addEventListener("contextmenu", (event) => event.preventDefault());
    return e;
  };
  // follow calls move(event) while a finger is on an element, and end() after it. Each element follows one finger.
  const follow = (e, move, end) => {
    let finger;
    e.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      if (finger !== undefined) return;
      finger = event.pointerId;
      e.setPointerCapture(finger);
      e.classList.add("down");
      move(event);
    });
    e.addEventListener("pointermove", (event) => { if (event.pointerId === finger) move(event); });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
      e.addEventListener(name, (event) => {
        if (event.pointerId !== finger) return;
        finger = undefined;
        e.classList.remove("down");
        end();
      });
    }
  };
  const button = (c) => {
    const e = control(c, "button");
    e.textContent = c.label;
    follow(e, () => set(c.key, true), () => set(c.key, false));
    return e;
  };
  const stick = (c) => {
    const e = control(c, "stick"), knob = document.createElement("span"), name = document.createElement("small");
    name.textContent = c.label;
    e.append(knob, name);
    const put = (x, y) => {
      knob.style.transform = `translate(${50 * x}%, ${50 * y}%)`;
      set(c.stick, x, y);
    };
    follow(e, (event) => {
      const box = e.getBoundingClientRect();
      let x = 2 * (event.clientX - box.left) / box.width - 1, y = 2 * (event.clientY - box.top) / box.height - 1;
      const length = Math.max(1, Math.hypot(x, y));
      put(x / length, y / length);
    }, () => put(0, 0));
    return e;
  };
  const group = document.createElement("div");
  group.append(...controls.filter((c) => c.stick < 0).map(button));
  const sticks = controls.filter((c) => c.stick >= 0).map(stick);
  $("touch").replaceChildren(...sticks.slice(0, 1), group, ...sticks.slice(1));
  $("touch").hidden = false;
};

// tendonFetch loads a file of at most max bytes in 15 s. It returns the status, and the bytes if that is 200.
globalThis.tendonFetch = async (url, max) => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(15000) });
  if (answer.status !== 200) return { status: answer.status };
  const parts = [], reader = answer.body.getReader();
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > max) {
      reader.cancel();
      throw new Error(`${url} has more than ${max} bytes`);
    }
    parts.push(value);
  }
  return { status: 200, bytes: new Uint8Array(await new Blob(parts).arrayBuffer()) };
};

// The invitation leaves the address at once, so that it is not shared or stored with it. A reload uses the reconnect tokens.
const fragment = new URLSearchParams(location.hash.slice(1)), invitation = fragment.get("join");
if (invitation || fragment.get("backend")) {
  for (const name of ["tendon-tokens", "tendon-endpoints", "tendon-join", "tendon-lobby"]) sessionStorage.removeItem(name);
  if (invitation) sessionStorage.setItem("tendon-join", invitation);
  else sessionStorage.setItem("tendon-lobby", JSON.stringify(Object.fromEntries(fragment)));
  history.replaceState(null, "", location.pathname + location.search);
}
// The address of a broadcast is not secret: it stays in the address, and may be relative to the page.
const broadcast = fragment.get("watch");
globalThis.tendonWatch = "";
try {
  if (broadcast) tendonWatch = new URL(broadcast, location.href).href;
} catch { /* missing reports it */ }
addEventListener("hashchange", () => location.reload()); // another invitation was opened in this tab
globalThis.tendonJoin = sessionStorage.getItem("tendon-join") ?? "";

// The link of a backend is #backend=URL&queue=NAME, with a key or JWT after &key=, and the player's id after &player= unless a JWT has it.
const lobby = tendonJoin ? null : JSON.parse(sessionStorage.getItem("tendon-lobby"));

// request sends a request to the backend. It returns undefined if the backend cannot answer now.
const request = async (method, path, body, id) => {
  const headers = { ...(lobby.key && { Authorization: `Bearer ${lobby.key}` }), ...(body && { "Content-Type": "application/json" }), ...(id && { "Idempotency-Key": id }) };
  let answer, reply;
  try {
    answer = await fetch(lobby.backend.replace(/\/$/, "") + path, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(40000) });
    reply = await answer.json();
  } catch {
    return undefined;
  }
  if (answer.ok) return reply;
  if (answer.status === 409 && reply.id) return { id: reply.id }; // the player waits already
  if ([429, 502, 503, 504].includes(answer.status)) return undefined;
  throw new Error(reply.error ?? `the backend refuses the request: ${answer.status}`);
};

// queued queues at the backend, and sets the invitation of the match.
const queued = async () => {
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16).padStart(2, "0")).join("");
  const player = lobby.player ?? (lobby.key?.split(".").length === 3 ? undefined : `guest-${random()}`), id = random(), since = Date.now();
  const pause = () => new Promise((done) => setTimeout(done, 1000));
  const leave = () => { if (ticket) fetch(`${lobby.backend.replace(/\/$/, "")}/v1/tickets/${ticket.id}`, { method: "DELETE", keepalive: true, headers: lobby.key ? { Authorization: `Bearer ${lobby.key}` } : {} }); };
  let ticket;
  addEventListener("pagehide", leave);
  for (tendonState("Connecting to the backend…"); !ticket?.match;) {
    const next = ticket ? await request("GET", `/v1/tickets/${ticket.id}?wait=2`) : await request("POST", "/v1/tickets", { player, queue: lobby.queue, name: lobby.name }, id);
    if (!next) tendonState("The backend does not answer; trying again…");
    else if (next.state === "cancelled") throw new Error(`The ticket was cancelled: ${next.reason}`);
    else if (next.state === "queued") tendonState(`Queued, ${next.waiting} waiting, ${Math.round((Date.now() - since) / 1000)} s${next.reason ? `; ${next.reason}` : ""}`);
    if (!next || next.state === "matched" && !next.match) await pause();
    ticket = next ?? ticket;
  }
  removeEventListener("pagehide", leave);
  if (!ticket.match.invitation) throw new Error("The server of the match has no port for browsers.");
  globalThis.tendonJoin = ticket.match.invitation;
  sessionStorage.setItem("tendon-join", tendonJoin);
};

const missing = () => {
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") return "This browser is too old for the game: use a newer one.";
  const canvas = document.createElement("canvas");
  if (!canvas.getContext("webgl2") && !canvas.getContext("webgl")) return "This browser has no WebGL, which the game draws with: turn on hardware acceleration, or use another browser.";
  if (broadcast && !/^https?:/.test(tendonWatch)) return `The link has no address of a broadcast after #watch=, but "${broadcast}": open the whole link that the server printed.`;
  if (tendonWatch) return "";
  if (typeof WebTransport === "undefined" && typeof WebSocket === "undefined") return "This browser has neither WebTransport nor WebSocket: use another one.";
  if (!tendonJoin && !lobby) return "This page needs an invitation: open the whole link that the server printed.";
  return "";
};

// Without WebTransport the game works, but the page explains why it may be slow.
if (typeof WebTransport === "undefined" && !tendonWatch) {
  $("hint").textContent = (isSecureContext ? "This browser has no WebTransport." : "This page was not loaded with https, so the browser has no WebTransport.")
    + " The game uses a WebSocket instead, which adds delay on a bad network.";
  $("hint").hidden = false;
}

const load = async () => {
  const answer = await fetch("program.wasm.gz");
  if (!answer.ok) throw new Error(`the program cannot be loaded: ${answer.status}`);
  const size = +answer.headers.get("Content-Length");
  let loaded = 0;
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(part, out) {
      loaded += part.length;
      if (size) tendonState("Loading…", Math.min(1, loaded / size));
      out.enqueue(part);
    },
  }));
  const bytes = answer.headers.get("Content-Encoding") === "gzip" ? counted : counted.pipeThrough(new DecompressionStream("gzip"));
  const go = new Go();
  const program = await WebAssembly.instantiateStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }), go.importObject);
  if (lobby && !tendonWatch) await queued();
  tendonState("Connecting…");
  await go.run(program.instance);
};

const lack = missing();
if (lack) tendonState(lack, undefined, true);
else load().catch((error) => tendonState(String(error.message || error), undefined, true));
