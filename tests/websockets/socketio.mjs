// A server of Socket.IO (npm's `socket.io`) on a free port of 127.0.0.1, for the tests, with a client of `socket.io-client` beside it that
// is in the room 'hall' of each namespace.
//
// Called with the folder that has both packages in its 'node_modules', and the interval of its pings in milliseconds. Prints its port when
// it is ready. When standard input is closed, it prints what it has seen as JSON, and ends: how many packets of each event it has received
// and sent, how many packets of the engine, and what the client has heard.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const seen = { connections: 0, received: {}, sent: {}, answers: [], packets: { received: 0, sent: 0 }, heard: 0, reasons: {} };
const count = (counts, name, more = 1) => (counts[name] = (counts[name] ?? 0) + more);
let Server, client;
try {
  const load = createRequire(path.join(path.resolve(process.argv[2]), "index.js"));
  ({ Server } = load("socket.io"));
  client = load("socket.io-client").io;
} catch {
  console.error(`${process.argv[2]} has no socket.io ('npm install socket.io socket.io-client' in it)`);
  process.exit(77);
}
const pingInterval = Number(process.argv[3] ?? 25000);

function emit(socket, name, ...values) {
  count(seen.sent, name);
  socket.emit(name, ...values);
}

function handle(space, socket) {
  seen.connections += 1;
  socket.onAny((name) => count(seen.received, name));
  socket.on("disconnect", (reason) => count(seen.reasons, reason));
  socket.on("echo", (...values) => values.pop()(...values));
  socket.on("bounce", (...values) => emit(socket, "bounced", ...values));
  socket.on("whoami", (reply) => reply({ auth: socket.handshake.auth, query: socket.handshake.query, agent: socket.handshake.headers["x-agent"] }));
  socket.on("join", (room, reply) => {
    socket.join(room);
    reply("joined", room);
  });
  socket.on("say", (room, text, reply) => {
    const members = space.adapter.rooms.get(room)?.size ?? 0;
    count(seen.sent, "said", members);
    space.to(room).emit("said", socket.id, text);
    reply(members);
  });
  socket.on("ask me", (...question) => {
    count(seen.sent, "question");
    socket.timeout(2000).emit("question", ...question, (error, ...answer) => {
      seen.answers.push(error ? "none" : answer);
      emit(socket, "answered", error ? "none" : answer);
    });
  });
  socket.on("flood", async (messages, reply) => {
    for (let n = 1; n <= messages; n += 1) {
      socket.volatile.emit("tick", n);
      // Volatile events are dropped while the connection takes no more.
      if (n % 10 === 0) await new Promise(setImmediate);
    }
    reply(messages);
  });
  socket.on("burst", (messages) => {
    for (let n = 1; n <= messages; n += 1) emit(socket, "tick", n);
    emit(socket, "over", messages);
  });
  socket.on("never", () => {});
  socket.on("kick", () => socket.disconnect());
  socket.on("close", () => socket.disconnect(true));
  socket.on("no pings", () => clearTimeout(socket.conn.pingIntervalTimer));
  socket.on("restart", restart);
}

let http, io, hall;
async function start(port) {
  http = createServer();
  io = new Server(http, { pingInterval, pingTimeout: pingInterval, maxHttpBufferSize: 1 << 24, serveClient: false });
  io.engine.on("connection", (raw) => {
    // Its first packet was the one that says it is open.
    seen.packets.sent += raw.request._query.beside ? 0 : 1;
    if (raw.request._query.beside) return;
    raw.on("packetCreate", () => (seen.packets.sent += 1));
    raw.on("packet", () => (seen.packets.received += 1));
  });
  for (const name of ["/", "/chat", "/admin"]) {
    const space = io.of(name);
    if (name === "/admin") {
      space.use((socket, next) => {
        if (socket.handshake.auth.token === "secret") return next();
        const refused = new Error("not allowed");
        refused.data = { code: 401, needs: "a token" };
        next(refused);
      });
    }
    space.on("connection", (socket) => {
      if (socket.handshake.query.beside) socket.join("hall");
      else handle(space, socket);
    });
  }
  await new Promise((ready) => http.listen(port, "127.0.0.1", ready));
  return http.address().port;
}

async function restart() {
  const { port } = http.address();
  await io.close();
  http.closeAllConnections();
  await new Promise((over) => setTimeout(over, 200));
  await start(port);
}

const port = await start(0);
hall = client(`http://127.0.0.1:${port}/chat`, { transports: ["websocket"], query: { beside: "1" } });
hall.on("said", () => (seen.heard += 1));
await new Promise((ready) => hall.once("connect", ready));
console.log(port);
process.stdin.resume();
process.stdin.on("end", () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
