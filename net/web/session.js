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

  // A worker owns the WebTransport. It sends the packets that have arrived in one message when the page has processed those before.
  // A busy page would otherwise receive one packet in each turn of its event loop.
  const webTransport = () => {
    if (typeof WebTransport === "undefined") throw new Error("this browser has no WebTransport");
    const source = URL.createObjectURL(new Blob([`(${inWorker})()`], { type: "text/javascript" }));
    const worker = new Worker(source);
    URL.revokeObjectURL(source);
    const stop = (reason) => { worker.terminate(); end(reason); };
    worker.onerror = (e) => stop(e.message);
    worker.onmessage = ({ data }) => {
      if (over) return;
      if (data.opened) opened();
      if (data.ended !== undefined) stop(data.ended);
      if (!data.packets) return;
      for (const packet of data.packets) if (!over) receive(packet);
      worker.postMessage({ more: true });
    };
    worker.postMessage({ url, hashes, maxPacket, lateAfter });
    return {
      send: (bytes) => worker.postMessage({ bytes }, [bytes.buffer]),
      close: () => stop("closed"),
    };
  };

  const inWorker = () => {
    const sizeWait = 1000; // milliseconds
    const mostWaiting = 512; // received packets that wait for the page
    let writer, waiting = [], asked = true;
    const deliver = () => {
      if (!asked || !waiting.length) return;
      asked = false;
      postMessage({ packets: waiting }, waiting.map((packet) => packet.buffer));
      waiting = [];
    };
    const open = async ({ url, hashes, maxPacket, lateAfter }) => {
      const options = { congestionControl: "low-latency", requireUnreliable: true };
      if (hashes.length) options.serverCertificateHashes = hashes.map((value) => ({ algorithm: "sha-256", value }));
      const transport = new WebTransport(url, options);
      transport.closed.catch(() => {}); // reading ends, too
      await transport.ready;
      const datagrams = transport.datagrams;
      // Firefox learns the size some time after the session is open.
      for (let waited = 0; datagrams.maxDatagramSize < maxPacket && waited < sizeWait; waited += 20) await new Promise((done) => setTimeout(done, 20));
      if (datagrams.maxDatagramSize < maxPacket) throw new Error(`datagrams of this browser have at most ${datagrams.maxDatagramSize} bytes`);
      datagrams.outgoingMaxAge = lateAfter;
      datagrams.incomingHighWaterMark = mostWaiting;
      writer = (datagrams.createWritable ? datagrams.createWritable() : datagrams.writable).getWriter();
      writer.closed.catch(() => {});
      const reader = datagrams.readable.getReader();
      postMessage({ opened: true });
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        if (waiting.length < mostWaiting) waiting.push(value.slice());
        deliver();
      }
    };
    onmessage = ({ data }) => {
      if (data.bytes) {
        if (writer && writer.desiredSize > -64) writer.write(data.bytes).catch(() => {});
      } else if (data.more) {
        asked = true;
        deliver();
      } else {
        open(data).then(() => postMessage({ ended: "closed" }), (error) => postMessage({ ended: String(error.message || error) }));
      }
    };
  };

  try {
    return url.startsWith("https:") ? webTransport() : webSocket();
  } catch (error) {
    queueMicrotask(() => end(error));
    return { send() {}, close() {} };
  }
};
