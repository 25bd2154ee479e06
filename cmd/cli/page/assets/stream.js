// A WebSocket of this server that comes back by itself.
//
//   const s = stream("/live", {
//     message(value) {},          // each message, parsed from JSON
//     state(name, reason) {},     // "connecting", "open", "lost": for a line that tells the person
//   });
//   s.send({ rtt: 120 });         // false if there is no connection now
//   s.close();

const firstWait = 500, longestWait = 8000; // ms

export function stream(path, { message = () => {}, state = () => {} } = {}) {
  const address = new URL(path, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let socket, timer, wait = firstWait, over = false;

  const connect = () => {
    state("connecting", "");
    socket = new WebSocket(address);
    socket.onopen = () => { wait = firstWait; state("open", ""); };
    socket.onmessage = (e) => message(JSON.parse(e.data));
    socket.onclose = (e) => {
      if (over) return;
      state("lost", e.reason);
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, longestWait);
    };
  };
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
