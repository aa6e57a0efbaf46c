-- gRPC: messages of edition 2023 and its features, with a server of another library.

local same = require("test").same

if env("SCHEMA", "loaded") == "loaded" then
  grpc.load { "edition_2023.proto", "kinds.proto", paths = { "protos" } }
else
  grpc.reflect()
end

-- Messages, and what they are in JSON for another library.
local TEXT, LEVELS = "test.v5.Text", "parts.Levels"
local MESSAGES = {
  { TEXT, {}, "{}" },
  { TEXT, { text = "", plain = "" }, [[{"text": ""}]] },
  { TEXT, { plain = "a", some_bytes = "" }, [[{"plain": "a", "some_bytes": ""}]] },
  { TEXT, { packed = { 1, 2, 300 }, loose = { 1, 2, 300 } }, [[{"loose": [1, 2, 300], "packed": [1, 2, 300]}]] },
  { TEXT, { group = { text = "a", group = {} }, groups = { { text = "b" }, {} } },
    [[{"group": {"group": {}, "text": "a"}, "groups": [{"text": "b"}, {}]}]] },
  { TEXT, { by_name = { a = { text = "" } }, children = { { number_choice = 0 }, {} } },
    [[{"by_name": {"a": {"text": ""}}, "children": [{"number_choice": 0}, {}]}]] },
  { TEXT, { strict = { number = 0, flag = false } }, [[{"strict": {"flag": false, "number": 0}}]] },
  { TEXT, { level = "LEVEL_LOW", kind = "KIND_UNKNOWN", kinds = { "KIND_OTHER", 9 }, implicit_kind = "KIND_UNKNOWN" },
    [[{"kind": "KIND_UNKNOWN", "kinds": ["KIND_OTHER", 9], "level": "LEVEL_LOW"}]] },
  { LEVELS, { levels = { "LEVEL_LOW", "LEVEL_HIGH" }, packed = { 0.5, 1.5 }, level = "LEVEL_HIGH" },
    [[{"level": "LEVEL_HIGH", "levels": ["LEVEL_LOW", "LEVEL_HIGH"], "packed": [0.5, 1.5]}]] },
}

task { "messages", function(user)
  local call = user:grpc("test.v5.Featured/Echo", { text = "", groups = { {} } }, { name = "echo" })
  same(call.error, nil, "echo")
  same(call.message.text, "", "set")
  same(call.message.kind, nil, "not set")
  same(call.message.plain, "", "without presence")
  same(call.message.implicit_kind, "KIND_UNKNOWN", "without presence")
  same(#call.message.groups, 1, "groups")
  for place, case in ipairs(MESSAGES) do
    local type, value, text = table.unpack(case)
    local bytes = grpc.encode(type, value)
    local judged = user:grpc("test.v1.Kinds/Judge", { type = type, bytes = bytes }, { name = "judge" })
    same(judged.error, nil, place)
    same(judged.message.json, text, place)
    same(judged.message.bytes, bytes, place .. ": the same bytes")
    same(grpc.encode(type, grpc.decode(type, judged.message.bytes)), bytes, place .. ": back")
  end
end }
