-- What a plan passes: its mistakes, as errors at its line. A part of `lgoose.mqtt`.

local core = ...

local find, match, sub = string.find, string.match, string.sub
local error, kind_of, pairs, tostring, type = error, math.type, pairs, tostring, type

local check = {}

local function is_option(kind, value)
  if kind == "duration" then return core.seconds_of(value), 'a duration such as 5 or "500ms"' end
  if kind == "version" then return value == 3 or value == 5, "3, for MQTT 3.1.1, or 5" end
  if kind == "qos" then return value == 0 or value == 1 or value == 2, "0, 1 or 2" end
  if kind == "count" then return kind_of(value) == "integer" and value > 0, "a whole number, at least 1" end
  if kind == "payload" then return core.keep("publish").payload_of(value), "a string, a number or a table" end
  return type(value) == kind, "a " .. kind
end

-- Raises an error at the plan's line unless these are options of the call.
function check.options(owner, options, known)
  if type(options) ~= "table" then error(owner .. ": the options are a table", 3) end
  for name, value in pairs(options) do
    local _, stop = find(known, " " .. tostring(name) .. "=", 1, true)
    if not stop then
      local names = sub(known:gsub("=%a+", ","), 2, -2)
      error(("%s: unknown option '%s'; options: %s"):format(owner, tostring(name), names), 3)
    end
    local is_valid, expected = is_option(match(known, "%a+", stop), value)
    if not is_valid then
      local shown = type(value) == "table" and "a table" or tostring(value)
      error(("%s: option '%s' must be %s, not %s"):format(owner, name, expected, shown), 3)
    end
  end
end

-- Raises an error unless this is a topic to publish to.
function check.topic(owner, topic, level)
  if type(topic) ~= "string" then error(owner .. ": the topic must be a string, not " .. type(topic), level) end
  if topic == "" then error(owner .. ": the topic is empty", level) end
  if #topic > 65535 then error(owner .. ": the topic has more than 65535 bytes", level) end
  if find(topic, "\0", 1, true) or not utf8.len(topic) then error(owner .. ": the topic must be UTF-8 without NUL", level) end
end

function check.name(owner, topic, level)
  check.topic(owner, topic, level + 1)
  if find(topic, "[+#]") then error(("%s: '%s' has a wildcard; only subscriptions take them"):format(owner, topic), level) end
end

-- Returns the topics as a list.
function check.filters(owner, topics)
  local list = type(topics) == "table" and topics or { topics }
  if #list == 0 then error(owner .. ": name a topic", 3) end
  for i = 1, #list do
    local topic = list[i]
    check.topic(owner, topic, 4)
    -- A wildcard is a level of its own, and # the last one.
    if find(topic, "[^/][+#]") or find(topic, "[+#][^/]") or find(topic, "#/", 1, true) then
      error(("%s: a wildcard in '%s' is not a level of its own, or # is not the last"):format(owner, topic), 3)
    end
  end
  return list
end

return check
