// Loads the program and runs it. The program reads tendonJoin, and calls tendonState and tendonKeys.

const $ = (id) => document.getElementById(id);

// tendonState shows a line. part is how much is loaded, in [0, 1]; bad marks an error. An empty line shows the game.
globalThis.tendonState = (text, part, bad) => {
  $("start").hidden = text === "";
  $("state").textContent = text;
  $("state").classList.toggle("bad", !!bad);
  $("progress").hidden = part === undefined || !!bad;
  if (part >= 0) $("progress").value = part;
};

// tendonKeys shows a button for each key of the game where fingers are used: [{code: "Space", label: "dash"}].
globalThis.tendonKeys = (keys) => {
  if (!matchMedia("(pointer: coarse)").matches || !keys.length) return;
  $("touch").hidden = false;
  $("touch").replaceChildren(...keys.map(({ code, label }) => {
    const button = document.createElement("button");
    button.textContent = label;
    const send = (down) => (e) => {
      e.preventDefault();
      button.classList.toggle("down", down);
      document.dispatchEvent(new KeyboardEvent(down ? "keydown" : "keyup", { code, key: code, bubbles: true }));
    };
    button.addEventListener("pointerdown", (e) => { button.setPointerCapture(e.pointerId); send(true)(e); });
    for (const end of ["pointerup", "pointercancel"]) button.addEventListener(end, send(false));
    button.addEventListener("contextmenu", (e) => e.preventDefault());
    return button;
  }));
};

// The invitation leaves the address at once, so that it is not shared or stored with it. A reload uses the reconnect tokens.
const invitation = new URLSearchParams(location.hash.slice(1)).get("join");
if (invitation) {
  sessionStorage.removeItem("tendon-tokens");
  sessionStorage.setItem("tendon-join", invitation);
  history.replaceState(null, "", location.pathname + location.search);
}
globalThis.tendonJoin = sessionStorage.getItem("tendon-join") ?? "";

const missing = () => {
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") return "This browser is too old for the game: use a newer one.";
  const canvas = document.createElement("canvas");
  if (!canvas.getContext("webgl2") && !canvas.getContext("webgl")) return "This browser has no WebGL, which the game draws with: turn on hardware acceleration, or use another browser.";
  if (typeof WebTransport === "undefined" && typeof WebSocket === "undefined") return "This browser has neither WebTransport nor WebSocket: use another one.";
  if (!tendonJoin) return "This page needs an invitation: open the whole link that the server printed.";
  return "";
};

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
  tendonState("Connecting…");
  await go.run(program.instance);
};

const lack = missing();
if (lack) tendonState(lack, undefined, true);
else load().catch((error) => tendonState(String(error.message || error), undefined, true));
