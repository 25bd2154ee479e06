// Messages of a page with the program: over a WebSocket of this server, which reconnects by itself, or with a worker that runs
// the program, where the page is exported.
//
//   const s = stream("/live", {
//     message(value) {},          // each message, parsed from JSON
//     state(name, reason) {},     // "connecting", "open", "lost"; the reason is often "", or "40 %" of a program that loads
//   });
//   s.send({ rtt: 120 });         // false if it is not connected
//   s.close();

const firstWait = 500, longestWait = 8000; // ms

export function stream(path, { message = () => {}, state = () => {} } = {}) {
  const exported = document.querySelector("meta[name=tendon-worker]");
  return exported ? worker(exported.content, path, message, state) : socket(path, message, state);
}

function worker(script, path, message, state) {
  const program = new Worker(script, { name: path });
  let open = false;
  state("connecting", "");
  program.onmessage = ({ data }) => {
    if (data.text !== undefined) {
      message(JSON.parse(data.text));
      program.postMessage({ done: true }); // the next one may follow
    } else if (data.progress !== undefined) {
      state("connecting", `${Math.round(100 * data.progress)} %`);
    } else if (data.open) {
      open = true;
      state("open", "");
    } else {
      open = false;
      state("lost", data.ended);
    }
  };
  program.onerror = (e) => state("lost", e.message ?? "the program cannot be loaded");
  return {
    send(value) {
      if (open) program.postMessage({ text: JSON.stringify(value) });
      return open;
    },
    close() {
      program.terminate();
    },
  };
}

function socket(path, message, state) {
  const address = new URL(path, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let line, timer, wait = firstWait, over = false, away = false;

  const connect = () => {
    let opened = false;
    const own = new WebSocket(address);
    line = own;
    state("connecting", "");
    own.onopen = () => { opened = true; wait = firstWait; state("open", ""); };
    own.onmessage = (e) => message(JSON.parse(e.data));
    own.onclose = (e) => {
      if (over || own !== line) return;
      state("lost", e.reason);
      if (!opened) refused(own);
      if (away) return;
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, longestWait);
    };
  };
  // Browsers hide why a server refused a WebSocket. A request of the same address shows it.
  const refused = async (of) => {
    try {
      const answer = await fetch(path);
      const reason = answer.status === 503 ? (await answer.text()).trim() : "";
      if (reason && !over && of === line) state("lost", reason);
    } catch { /* no response */ }
  };
  // A browser may keep a page that was left, with its connection, which counts against the limit of the server.
  addEventListener("pagehide", () => {
    away = true;
    clearTimeout(timer);
    line.close();
  });
  addEventListener("pageshow", () => {
    if (!away || over) return;
    away = false;
    connect();
  });
  connect();

  return {
    send(value) {
      if (line.readyState !== WebSocket.OPEN) return false;
      line.send(JSON.stringify(value));
      return true;
    },
    close() {
      over = true;
      clearTimeout(timer);
      line.close();
    },
  };
}
