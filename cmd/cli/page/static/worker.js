// Runs the program of the page, and loads it first: {progress} is the part that is loaded, in [0, 1].
importScripts("wasm_exec.js");
globalThis.tendonPage = self.name; // the path of the stream

(async () => {
  const answer = await fetch("program.wasm.gz");
  if (!answer.ok) throw new Error(`the program cannot be loaded: ${answer.status}`);
  const size = +answer.headers.get("Content-Length");
  let loaded = 0;
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(part, out) {
      loaded += part.length;
      if (size) postMessage({ progress: Math.min(1, loaded / size) });
      out.enqueue(part);
    },
  }));
  const bytes = answer.headers.get("Content-Encoding") === "gzip" ? counted : counted.pipeThrough(new DecompressionStream("gzip"));
  const go = new Go();
  const program = await WebAssembly.instantiateStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }), go.importObject);
  await go.run(program.instance);
})().catch((error) => postMessage({ ended: String(error.message || error) }));
