// A WebSocket of this server that reconnects by itself.
//
//   const s = stream("/live", {
//     message(value) {},          // each message, parsed from JSON
//     state(name, reason) {},     // "connecting", "open", "lost"; the reason is often ""
//   });
//   s.send({ rtt: 120 });         // false if it is not connected
//   s.close();

const firstWait = 500, longestWait = 8000; // ms

export function stream(path, { message = () => {}, state = () => {} } = {}) {
  const address = new URL(path, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let socket, timer, wait = firstWait, over = false, away = false;

  const connect = () => {
    let opened = false;
    const own = new WebSocket(address);
    socket = own;
    state("connecting", "");
    own.onopen = () => { opened = true; wait = firstWait; state("open", ""); };
    own.onmessage = (e) => message(JSON.parse(e.data));
    own.onclose = (e) => {
      if (over || own !== socket) return;
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
      if (reason && !over && of === socket) state("lost", reason);
    } catch { /* no response */ }
  };
  // A browser may keep a page that was left, with its connection, which counts against the limit of the server.
  addEventListener("pagehide", () => {
    away = true;
    clearTimeout(timer);
    socket.close();
  });
  addEventListener("pageshow", () => {
    if (!away || over) return;
    away = false;
    connect();
  });
  connect();

  return {
    send(value) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(value));
      return true;
    },
    close() {
      over = true;
      clearTimeout(timer);
      socket.close();
    },
  };
}
