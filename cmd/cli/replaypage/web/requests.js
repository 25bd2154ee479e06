// Requests and answers over a stream. Each request has a number, which its answer repeats.
export function requests(stream, { open, connecting, lost }) {
  const waiting = new Map();
  let number = 0;
  // The worker of an exported page has one page, at any path.
  const exported = document.querySelector("meta[name=tendon-worker]");
  const line = stream(exported ? "/stream" : new URL("stream", location.href.split(/[?#]/)[0]).pathname, {
    message(m) {
      const w = waiting.get(m.id);
      if (!w) return;
      if (m.progress !== undefined) { w.progress(m.progress); return; }
      waiting.delete(m.id);
      w.answer(m);
    },
    state(name, reason) {
      if (name === "open") open();
      if (name === "connecting") connecting(reason);
      if (name !== "lost") return;
      for (const w of waiting.values()) w.answer({ error: "the connection is gone" });
      waiting.clear();
      lost(reason);
    },
  });
  return {
    // ask returns the answer, which has an error if the request fails. A request that a newer one replaced is never
    // answered.
    ask(question, progress = () => {}) {
      const id = ++number;
      return new Promise((answer) => {
        waiting.set(id, { answer, progress });
        if (line.send({ id, ...question })) return;
        waiting.delete(id);
        answer({ error: "there is no connection" });
      });
    },
  };
}
