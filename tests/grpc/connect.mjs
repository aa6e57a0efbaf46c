// A server of Connect on a free port of 127.0.0.1, for the tests, of the packages @connectrpc/connect-node and @bufbuild/protobuf:
// FOLDER, in which they are installed. Prints its port when it is ready. When standard input is closed, it prints as JSON how many calls it has
// had by each method, and ends. Exits with 77 and says why if a package is missing.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = createRequire(join(resolve(process.argv[2]), "package.json"));
async function load(name) {
  return import(pathToFileURL(folder.resolve(name)));
}
let connect, node, protobuf, types;
try {
  [connect, node, protobuf, types] = await Promise.all(
    ["@connectrpc/connect", "@connectrpc/connect-node", "@bufbuild/protobuf", "@bufbuild/protobuf/wkt"].map(load),
  );
} catch (error) {
  console.error(`${error.message} ('npm install' it in ${process.argv[2]})`);
  process.exit(77);
}

// tests/lua/protos/connect.proto, whose file this server does not read.
const field = (name, number, type) => ({ name, number, type, label: 1, jsonName: name });
const method = (name) => ({ name, inputType: ".test.v1.Ask", outputType: ".test.v1.Ask" });
const set = protobuf.create(types.FileDescriptorSetSchema, {
  file: [
    {
      name: "connect.proto",
      package: "test.v1",
      syntax: "proto3",
      messageType: [{ name: "Ask", field: [field("text", 1, 9), field("id", 2, 3), field("data", 3, 12)] }],
      service: [{ name: "Connected", method: [method("Say"), method("Fail")] }],
    },
  ],
});
const registry = protobuf.createFileRegistry(set);
const desc = registry.getMessage("test.v1.Ask");
const counts = { Say: 0, Fail: 0 };
const routes = (router) =>
  router.service(registry.getService("test.v1.Connected"), {
    say(asked, context) {
      counts.Say += 1;
      context.responseHeader.set("x-head", context.requestHeader.get("x-sent") ?? "");
      context.responseTrailer.set("x-end", String(context.timeoutMs() !== undefined));
      return asked;
    },
    fail(asked) {
      counts.Fail += 1;
      const { ConnectError, Code } = connect;
      throw new ConnectError("gone: café, 100 %", Code.NotFound, { "x-meta": "m" }, [{ desc, value: { text: asked.text } }]);
    },
  });
const server = createServer(node.connectNodeAdapter({ routes }));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => {
  console.log(JSON.stringify(counts));
  process.exit(0);
});
process.stdin.resume();
