-- A WebSocket in place of a TCP connection. A part of `lgoose.mqtt`.

-- A WebSocket as the socket of a client: each of its messages has some bytes of packets.
return function(user, options)
  local socket = user:websocket(options.websocket, {
    name = options.name or "mqtt",
    subprotocols = { "mqtt" },
    timeout = options.timeout,
    max_buffer = options.max_buffer,
    tags = options.tags,
  })
  return {
    ok = socket.ok,
    error = socket.error,
    send = function(_, data)
      if socket:send_binary(type(data) == "table" and table.concat(data) or data) then return true end
      return nil, socket.error or "closed early: the server has closed the WebSocket"
    end,
    receive = function(_, _, rules)
      local message = socket:receive(rules)
      if message then return message.data end
      if socket.ok and not socket.close_code then return nil, "timeout" end
      return nil, socket.error or "closed early: the server has closed the WebSocket"
    end,
    close = function() socket:close() end,
  }
end
