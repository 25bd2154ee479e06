// A WebSocket of this server that comes back by itself.
//
//   const s = stream("/live", {
//     message(value) {},          // each message, parsed from JSON
//     state(name, reason) {},     // "connecting", "open", "lost": for a line that tells the person; a reason is known seldom
//   });
//   s.send({ rtt: 120 });         // false if there is no connection now
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
  // A browser does not say why a server took no WebSocket. The same address, asked as a page, does.
  const refused = async (of) => {
    try {
      const answer = await fetch(path);
      const reason = answer.status === 503 ? (await answer.text()).trim() : "";
      if (reason && !over && of === socket) state("lost", reason);
    } catch { /* nobody answers at all */ }
  };
  // A browser may keep a page that was left, for the way back, and its connection with it: others wait for that.
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
