// Runs the program of the page, and loads it first: {progress} is the part that is loaded, in [0, 1].
importScripts("wasm_exec.js");
globalThis.tendonPage = self.name; // the path of the stream

// load requests a file beside this one, and posts its progress.
async function load(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name} cannot be loaded: ${answer.status}`);
  const size = +answer.headers.get("Content-Length");
  let loaded = 0;
  const body = answer.body.pipeThrough(new TransformStream({
    transform(part, out) {
      loaded += part.length;
      if (size) postMessage({ progress: Math.min(1, loaded / size) });
      out.enqueue(part);
    },
  }));
  return { body, zipped: answer.headers.get("Content-Encoding") === "gzip" };
}

// tendonFile returns the content of a file, for the program.
globalThis.tendonFile = async (name) => {
  const { body } = await load(name);
  return new Uint8Array(await new Response(body).arrayBuffer());
};

(async () => {
  const { body, zipped } = await load("program.wasm.gz");
  const bytes = zipped ? body : body.pipeThrough(new DecompressionStream("gzip"));
  const go = new Go();
  const program = await WebAssembly.instantiateStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }), go.importObject);
  await go.run(program.instance);
})().catch((error) => postMessage({ ended: String(error.message || error) }));
