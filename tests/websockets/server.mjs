// A server of WebSockets of the package `ws` on a free port of 127.0.0.1, for the tests: as server.py.
//
// Called with the folder that has the package in its 'node_modules', and the parameters of permessage-deflate as their header has
// them, such as 'server_max_window_bits=9'.

import { createRequire } from "node:module";
import path from "node:path";

const seen = { messages: 0, bytes: 0, codes: [] };
let ws;
try {
  ws = createRequire(path.join(path.resolve(process.argv[2]), "index.js"))("ws");
} catch {
  console.error(`${process.argv[2]} has no ws ('npm install ws' in it)`);
  process.exit(77);
}
const terms = process.argv.slice(3).map((parameter) => {
  const [name, value] = parameter.split("=");
  const key = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return [key, value === undefined ? true : Number(value)];
});
const server = new ws.WebSocketServer({
  host: "127.0.0.1",
  port: 0,
  perMessageDeflate: { threshold: 0, ...Object.fromEntries(terms) },
  maxPayload: 1 << 24,
});
server.on("listening", () => console.log(server.address().port));
server.on("connection", (socket, request) => {
  socket.on("close", (code) => seen.codes.push(code));
  socket.on("message", (data, isBinary) => {
    seen.messages += 1;
    seen.bytes += data.length;
    const [, kind, code] = request.url.split("/");
    if (kind === "close") {
      socket.close(Number(code), "as asked");
    } else if (kind === "pieces") {
      socket.send(data.subarray(0, 3), { binary: isBinary, fin: false });
      socket.send(data.subarray(3), { binary: isBinary, fin: true });
    } else if (kind === "ping") {
      socket.once("pong", () => socket.send(data, { binary: isBinary }));
      socket.ping("are you there");
    } else {
      socket.send(data, { binary: isBinary });
    }
  });
});
process.stdin.resume();
process.stdin.on("end", () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
