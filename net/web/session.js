// tendonOpen opens a session to a server: WebTransport for a URL of the scheme https, else a WebSocket. It returns an object
// with send(bytes) and close(). receive(bytes) is called for each packet, opened() once, and ended(reason) once.
// Packets that would be late are dropped: a newer one follows.
globalThis.tendonOpen = (url, hashes, maxPacket, opened, receive, ended) => {
  const lateAfter = 100; // milliseconds
  const mostBuffered = 16 << 10; // bytes that a WebSocket may hold
  let over = false;
  const end = (reason) => {
    if (over) return;
    over = true;
    ended(String(reason && reason.message || reason || "closed"));
  };

  const webSocket = () => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { if (!over) opened(); };
    socket.onmessage = (e) => { if (!over && e.data instanceof ArrayBuffer) receive(new Uint8Array(e.data)); };
    socket.onerror = () => end("the WebSocket failed");
    socket.onclose = (e) => end(e.reason);
    return {
      send: (bytes) => { if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount <= mostBuffered) socket.send(bytes); },
      close: () => { socket.close(); end("closed"); },
    };
  };

  const webTransport = () => {
    if (typeof WebTransport === "undefined") throw new Error("this browser has no WebTransport");
    const options = { congestionControl: "low-latency", requireUnreliable: true };
    if (hashes.length) options.serverCertificateHashes = hashes.map((value) => ({ algorithm: "sha-256", value }));
    const transport = new WebTransport(url, options);
    let writer;
    transport.closed.then(() => end("closed"), end);
    transport.ready.then(async () => {
      const datagrams = transport.datagrams;
      if (datagrams.maxDatagramSize < maxPacket) throw new Error(`datagrams of this browser have at most ${datagrams.maxDatagramSize} bytes`);
      datagrams.outgoingMaxAge = lateAfter;
      writer = (datagrams.createWritable ? datagrams.createWritable() : datagrams.writable).getWriter();
      writer.closed.catch(() => {});
      const reader = datagrams.readable.getReader();
      if (over) return;
      opened();
      for (;;) {
        const { value, done } = await reader.read();
        if (done || over) break;
        receive(value);
      }
      end("closed");
    }).catch((error) => { end(error); transport.close(); });
    return {
      send: (bytes) => { if (writer && writer.desiredSize > -64) writer.write(bytes).catch(() => {}); },
      close: () => { try { transport.close(); } catch { /* it is not open yet */ } end("closed"); },
    };
  };

  try {
    return url.startsWith("https:") ? webTransport() : webSocket();
  } catch (error) {
    queueMicrotask(() => end(error));
    return { send() {}, close() {} };
  }
};
