-- Why a server has closed the WebSocket. A part of `lgoose.graphql_ws`.

-- What the codes of the protocol mean with which a server closes the WebSocket.
local function reason_of(code)
  return ({
    [4400] = "invalid message",
    [4401] = "unauthorized",
    [4403] = "forbidden",
    [4406] = "subprotocol not acceptable",
    [4408] = "connection initialisation timeout",
    [4409] = "subscriber already exists",
    [4429] = "too many initialisation requests",
    [4499] = "terminated",
    [4500] = "internal server error",
    [4504] = "connection acknowledgement timeout",
  })[code]
end

return function(socket)
  local code = socket.close_code
  local known = code and reason_of(code)
  if not known then return socket.error end
  local text = socket.close_reason or ""
  return ("closed with code %d: %s%s"):format(code, known, text:lower() ~= known and text ~= "" and " (" .. text .. ")" or "")
end
