// A server of GraphQL over WebSockets (npm's `graphql-ws`) on a free port of 127.0.0.1, for the tests.
//
// Called with the folder that has `graphql-ws`, `graphql` and `ws` in its 'node_modules'. Prints its port when it is ready. When standard
// input is closed, it prints what it has seen as JSON, and ends: how many operations, messages of each type both ways, and the codes with
// which sockets were closed.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const seen = { connections: 0, operations: 0, completed: 0, nexts: 0, frames: { received: 0, sent: 0 }, codes: [], said: 0 };
let ws, graphql, makeServer, CloseCode;
try {
  const load = createRequire(path.join(path.resolve(process.argv[2]), "index.js"));
  ws = load("ws");
  graphql = load("graphql");
  ({ makeServer, CloseCode } = load("graphql-ws"));
} catch {
  console.error(`${process.argv[2]} has no graphql-ws ('npm install graphql-ws graphql ws' in it)`);
  process.exit(77);
}

const schema = graphql.buildSchema(`
  type Query { hello(name: String): String!, sum(values: [Int!]!): Int!, fail: String, half: Half, slow(ms: Int!): String }
  type Half { good: Int, bad: Int }
  type Mutation { say(text: String!): Int! }
  type Subscription { count(to: Int!, ms: Int = 0): Int!, said: String!, broken: Int, never: Int }
`);

// What is said goes to all who listen.
const listeners = new Set();
const later = (ms) => new Promise((over) => setTimeout(over, ms));

function listen() {
  const waiting = [];
  let wake;
  const listener = (text) => {
    waiting.push(text);
    wake?.();
  };
  listeners.add(listener);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      while (waiting.length === 0) await new Promise((resolve) => (wake = resolve));
      return { done: false, value: { said: waiting.shift() } };
    },
    async return() {
      listeners.delete(listener);
      return { done: true };
    },
  };
}

const rootValue = {
  hello: ({ name }) => `hello ${name ?? "you"}`,
  sum: ({ values }) => values.reduce((sum, value) => sum + value, 0),
  fail: () => {
    throw new Error("it failed");
  },
  half: () => ({
    good: 1,
    bad: () => {
      throw new Error("half of it failed");
    },
  }),
  slow: async ({ ms }) => {
    await later(ms);
    return "at last";
  },
  say: ({ text }) => {
    for (const listener of listeners) listener(text);
    seen.said += listeners.size;
    return listeners.size;
  },
  count: async function* ({ to, ms }) {
    for (let n = 1; n <= to; n += 1) {
      if (ms) await later(ms);
      yield { count: n };
    }
  },
  said: listen,
  never: async function* () {
    await later(1e9);
  },
  broken: async function* () {
    yield { broken: 1 };
    throw new Error("the source is broken");
  },
};

const graphqlServer = makeServer({
  schema,
  roots: { query: rootValue, mutation: rootValue, subscription: rootValue },
  connectionInitWaitTimeout: 500,
  onConnect: ({ connectionParams }) => {
    if (connectionParams?.authorization === "wrong") return false;
    return { welcome: connectionParams?.authorization ?? "nobody" };
  },
  onSubscribe: () => void (seen.operations += 1),
  onNext: () => void (seen.nexts += 1),
  onComplete: () => void (seen.completed += 1),
});

const http = createServer();
const server = new ws.WebSocketServer({ server: http, handleProtocols: (offered) => offered.has("graphql-transport-ws") && "graphql-transport-ws" });
server.on("connection", (socket, request) => {
  seen.connections += 1;
  socket.on("message", () => (seen.frames.received += 1));
  const send = (data) =>
    new Promise((resolve, reject) => {
      seen.frames.sent += 1;
      socket.send(data, (error) => (error ? reject(error) : resolve()));
    });
  const url = new URL(request.url, "http://localhost");
  const closed = graphqlServer.opened(
    {
      protocol: socket.protocol,
      send,
      close: (code, reason) => socket.close(code, reason),
      onMessage: (act) => socket.on("message", (data) => act(String(data)).catch((error) => socket.close(CloseCode.InternalServerError, error.message))),
    },
    { socket, request },
  );
  socket.on("close", (code, reason) => {
    seen.codes.push(code);
    closed(code, String(reason));
  });
  if (url.searchParams.has("ping")) setInterval(() => socket.readyState === 1 && send(JSON.stringify({ type: "ping", payload: { n: 1 } })), 50).unref();
  if (url.searchParams.has("close")) setTimeout(() => socket.close(Number(url.searchParams.get("close")), "as asked"), 200);
});
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
process.stdin.resume();
process.stdin.on("end", () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
