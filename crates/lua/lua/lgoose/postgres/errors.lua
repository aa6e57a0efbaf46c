-- Errors of the server. A part of `lgoose.postgres`, kept with the first one.

local core = ...

local messages = core.keep "messages"
local broken = messages.broken

local FIELDS = {
  S = "severity",
  V = "severity",
  C = "code",
  M = "message",
  D = "detail",
  H = "hint",
  P = "position",
  W = "where",
  s = "schema",
  t = "table",
  c = "column",
  n = "constraint",
}

-- Reads an error of the server. Returns nil, its text and its parts.
return function(db, text, at, last)
  local parts = {}
  for key, value in text:sub(at, last):gmatch "([^\0])([^\0]*)\0" do
    -- V is what S is in the server's language.
    if FIELDS[key] then parts[FIELDS[key]] = value end
  end
  if not parts.code or not parts.message then return broken(db, messages.BROKEN) end
  db.last_error = parts
  local problem = parts.code .. ": " .. parts.message
  -- The server closes the connection.
  if parts.severity ~= "ERROR" then broken(db, problem) end
  return nil, problem, parts
end
